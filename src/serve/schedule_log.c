#include "serve/schedule_log.h"

#include "base/i18n.h"
#include "text/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *const endpoint_names[] = {
	[API_COMPLETIONS] = "completions",
	[API_CHAT] = "chat",
	[API_EMBEDDINGS] = "embeddings",
	[API_RERANK] = "rerank",
	[API_CLASSIFY] = "classify",
	[API_INFER] = "infer",
	[API_FORWARDED] = "forwarded",
};

bool schedule_log_open(
        struct schedule_log *log, const char *path, void (*on_failure)(int failed), struct err *err)
{
	*log = (struct schedule_log){ .fd = -1, .on_failure = on_failure };
	pthread_mutex_init(&log->lock, NULL);
	if (!path)
		return true;
	log->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (log->fd < 0)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
	return true;
}

static void put_time(struct json *j, const char *name, int64_t ns)
{
	if (ns)
		json_put_int(j, name, ns);
	else
		json_put_string(j, name, NULL);
}

static void format(const struct job *job, struct buf *out)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "id", job->id);
	json_put_string(&j, "endpoint", endpoint_names[job->endpoint]);
	json_put_bool(&j, "stream", job->request.stream);
	json_put_int(&j, "status", job->status);
	json_put_string(&j, "outcome", job_end_name(job->end));
	json_put_int(&j, "prompt_tokens", job->n_prompt);
	json_put_int(&j, "output_tokens", (int64_t)job->n_tokens);
	json_put_int(&j, "received_ns", job->received_ns);
	put_time(&j, "queued_ns", job->queued_ns);
	put_time(&j, "started_ns", job->started_ns);
	put_time(&j, "first_token_ns", job->n_tokens ? job->token_ns[0] : 0);
	put_time(&j, "due_ns", job->due_ns);
	put_time(&j, "made_ns", job->made_ns);
	put_time(&j, "first_sent_ns", job->sent_first_ns);
	put_time(
	        &j, "done_ns", job->sent_last_ns > job->made_ns ? job->sent_last_ns : job->made_ns);
	json_key(&j, "token_ns");
	json_array_open(&j);
	for (size_t i = 0; i < job->n_tokens; i++)
		json_int(&j, job->token_ns[i]);
	json_array_close(&j);
	json_object_close(&j);
	buf_add_char(out, '\n');
}

static int write_all(int fd, struct str text)
{
	while (text.len > 0) {
		ssize_t n = write(fd, text.s, text.len);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			text.s += n;
			text.len -= (size_t)n;
		}
	}
	return 0;
}

void schedule_log_write(struct schedule_log *log, struct job *job)
{
	if (log->fd < 0)
		return;
	AUTO(auto_buf) struct buf line = { 0 };
	pthread_mutex_lock(&job->lock);
	format(job, &line);
	pthread_mutex_unlock(&job->lock);

	pthread_mutex_lock(&log->lock);
	int failed = write_all(log->fd, buf_str(&line));
	bool first = failed && !log->failed;
	if (first)
		log->failed = failed;
	pthread_mutex_unlock(&log->lock);
	if (first)
		log->on_failure(failed);
}

bool schedule_log_close(struct schedule_log *log, struct err *err)
{
	auto_fd(&log->fd);
	pthread_mutex_destroy(&log->lock);
	if (log->failed)
		return err_set(err, ERR_SYSTEM, _("the schedule log is incomplete: %s"),
		        strerror(log->failed));
	return true;
}
