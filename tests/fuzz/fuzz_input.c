/*
 * fuzz_input.c - any bytes as --input: what is taken becomes requests that are HTTP and whose body is
 * as long as they say.
 */
#include "load/workload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool ok)
{
	if (!ok)
		abort();
}

static void check_request(struct str r)
{
	ptrdiff_t head = str_find(r, STR("\r\n\r\n")), at = str_find(r, STR("Content-Length: "));
	need(head > 0 && at > 0 && at < head);
	need(strtoul(r.s + at + 16, NULL, 10) == r.len - (size_t)head - 4);
}

static void check(const char *path, const struct endpoint *e)
{
	static const struct url url = {
		.text = "http://h:1", .host = "h", .port = 1, .path = "/", .authority = "h:1"
	};
	const struct load_config config = { .seed = 1, .input_file = path };
	struct arena run = { 0 };
	struct workload w;
	struct err err = { 0 };
	if (workload_build(&config, e, "m", NULL, &url, &run, &w, &err)) {
		need(w.n > 0 && w.n_prompts == 0);
		for (size_t i = 0; i < w.n; i++)
			check_request(workload_request(&w, (int64_t)i, 0, 1, NULL));
	} else {
		need(err.kind == ERR_INPUT || err.kind == ERR_USAGE);
		need(err.text[0] != '\0');
	}
	arena_release(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("input", MFD_CLOEXEC);
	need(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(path, &endpoint_openai_chat);
	check(path, &endpoint_openai_completions);
	check(path, &endpoint_openai_rerank);
	check(path, &endpoint_http);
	close(fd);
	return 0;
}
