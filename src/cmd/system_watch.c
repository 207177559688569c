#include "cmd/system_watch.h"

#include "cmd/common.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "net/conn.h"
#include "watch/sockets/listener.h"
#include "watch/sampler.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t interval_ns = 100 * NS_PER_MS;
static const int64_t resolve_timeout_ns = 2 * NS_PER_S;

#define PROFILE_ROW                                                                                \
	{                                                                                          \
		OPT(struct system_watch_options, profile, OPT_FLAG, 0, "profile", NULL,            \
		        N_("also take samples of where the watched processes are (perf events)"))  \
	}

const struct opt system_watch_load_rows[] = {
	{ OPT_HEADING, .help = N_("System side:") },
	{ OPT(struct system_watch_options, processes, OPT_LIST, 0, "watch", "PID|auto|none",
	        N_("watch the machine and this process with its children during the window; may be "
	           "repeated; 'auto' finds who listens at the target (default none)")) },
	PROFILE_ROW,
};
const size_t system_watch_load_n_rows = ARRAY_LEN(system_watch_load_rows);

const struct opt system_watch_diagnose_rows[] = {
	{ OPT_HEADING, .help = N_("System side:") },
	{ OPT(struct system_watch_options, processes, OPT_LIST, 0, "pid", "PID|auto|none",
	        N_("process of the service, watched with its children and the machine; may be "
	           "repeated (default auto: who listens at the target, when that is on this "
	           "machine)")) },
	PROFILE_ROW,
};
const size_t system_watch_diagnose_n_rows = ARRAY_LEN(system_watch_diagnose_rows);

struct system_watch {
	struct sampler *sampler;
	int pids[WATCH_PIDS_MAX];
	size_t n_pids;
	int port;
	bool seen; /* a window has opened since the last report */
};

/* An address is this machine's own when a socket can be bound to it. */
static bool is_here(const struct url *url, struct arena *run)
{
	struct conn_target target = { 0 };
	struct err ignored;
	struct url plain = *url;
	if (url->unix_socket)
		return true;
	plain.tls = false; /* only the address is asked for */
	if (!conn_target_open(&plain, true, resolve_timeout_ns, run, &target, &ignored))
		return false;
	struct sockaddr_storage any_port = target.address;
	if (target.family == AF_INET)
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	else if (target.family == AF_INET6)
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	AUTO(auto_fd) int fd = socket(target.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool here = fd >= 0 && bind(fd, (struct sockaddr *)&any_port, target.address_len) == 0;
	conn_target_close(&target);
	return here;
}

static void add_pid(struct system_watch *w, int pid)
{
	for (size_t i = 0; i < w->n_pids; i++)
		if (w->pids[i] == pid)
			return;
	if (w->n_pids < WATCH_PIDS_MAX)
		w->pids[w->n_pids++] = pid;
}

/* said: the user asked for it, and wants to know when nobody is found. */
static void find_listeners(struct system_watch *w, const struct url *url, bool here, bool said)
{
	int pids[WATCH_PIDS_MAX];
	size_t n = here ? listener_find("", url->port, url->unix_socket, pids, WATCH_PIDS_MAX) : 0;
	for (size_t i = 0; i < n; i++)
		add_pid(w, pids[i]);
	if (n == 0 && said)
		cmd_warn(here ? _("no process that may be looked into listens at '%s'; only the "
		                  "machine is watched; name the process by its PID")
		              : _("'%s' is on another machine; what is watched is this one"),
		        url->text);
}

static bool read_options(struct system_watch *w, const struct opt_list *words,
        const struct url *url, bool here, struct err *err)
{
	if (words->n > WATCH_PIDS_MAX)
		return err_set(
			err, ERR_USAGE, _("more than %d processes to watch"), WATCH_PIDS_MAX);
	for (size_t i = 0; i < words->n; i++) {
		struct str word = str_of(words->items[i]);
		int64_t pid;
		if (str_eq(word, STR("auto")))
			find_listeners(w, url, here, true);
		else if (str_to_i64(word, &pid) && pid > 0 && pid <= INT32_MAX)
			add_pid(w, (int)pid);
		else
			return err_set(err, ERR_USAGE, _("'%s' is no PID, nor 'auto' or 'none'"),
			        words->items[i]);
	}
	return true;
}

static bool says_none(const struct opt_list *words)
{
	return words->n == 1 && str_eq(str_of(words->items[0]), STR("none"));
}

bool system_watch_open(const struct system_watch_options *options, const struct load_config *config,
        bool by_default, struct arena *run, struct system_watch **ret_watch, struct err *err)
{
	struct system_watch *w = arena_new(run, struct system_watch);
	const struct opt_list *words = &options->processes;
	struct url url;
	*ret_watch = NULL;
	if (says_none(words) || (words->n == 0 && !by_default))
		return true;
	if (!url_parse(config->url, run, &url, err))
		return false;
	url.unix_socket = config->unix_socket;
	bool here = is_here(&url, run);
	if (words->n == 0 && !here)
		return true;
	if (words->n == 0)
		find_listeners(w, &url, here, false);
	else if (!read_options(w, words, &url, here, err))
		return false;
	w->port = url.port;
	const struct watch_config watch = {
		.root = "",
		.pids = w->pids,
		.n_pids = w->n_pids,
		.ports = &w->port,
		.n_ports = here && !url.unix_socket ? 1 : 0,
		.interval_ns = interval_ns,
		.profile = options->profile,
	};
	if (!sampler_open(&watch, run, &w->sampler, err))
		return false;
	if (!sampler_start(w->sampler, err)) {
		sampler_close(w->sampler);
		return false;
	}
	*ret_watch = w;
	return true;
}

void system_watch_close(struct system_watch *w)
{
	if (w)
		sampler_close(w->sampler);
}

void system_watch_window(struct system_watch *w, bool opened)
{
	if (!w)
		return;
	w->seen = true;
	if (opened)
		sampler_begins(w->sampler);
	else
		sampler_ends(w->sampler);
}

const struct signal_system *system_watch_report(
        struct system_watch *w, int64_t start_ns, struct arena *run)
{
	if (!w || !w->seen)
		return NULL;
	struct signal_system *system = arena_new(run, struct signal_system);
	sampler_report(w->sampler, start_ns, run, system);
	w->seen = false;
	return system;
}
