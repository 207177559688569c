#include "engine/profile.h"

#include "base/i18n.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROFILE_BUFFER_BYTES = 1 << 18 };

struct profile {
	FILE *f;
	char *buffer;
	int64_t start_ns; /* of the trace's axis */
	bool any;
};

bool profile_open(const char *path, struct profile **ret_profile, struct err *err)
{
	struct timespec wall;
	FILE *f = fopen(path, "we");
	if (!f)
		return err_set(err, ERR_SYSTEM, _("cannot write '%s': %s"), path, strerror(errno));
	struct profile *p = mem_realloc(NULL, sizeof(*p));
	*p = (struct profile){ .f = f, .start_ns = clock_now_ns() };
	p->buffer = mem_realloc(NULL, PROFILE_BUFFER_BYTES);
	setvbuf(f, p->buffer, _IOFBF, PROFILE_BUFFER_BYTES);
	clock_gettime(CLOCK_REALTIME, &wall);
	fprintf(f,
	        "{\"schemaVersion\":1,\"record_shapes\":1,\"profile_memory\":0,\"with_stack\":0,"
	        "\"baseTimeNanoseconds\":%" PRId64 ",\n\"traceEvents\":[",
	        (int64_t)wall.tv_sec * NS_PER_S + wall.tv_nsec);
	*ret_profile = p;
	return true;
}

bool profile_close(struct profile *p, struct err *err)
{
	if (!p)
		return true;
	fputs("\n]}\n", p->f);
	bool ok = !ferror(p->f);
	ok &= fclose(p->f) == 0;
	int failed = errno;
	free(p->buffer);
	free(p);
	return ok || err_set(err, ERR_SYSTEM, _("the profile is incomplete: %s"), strerror(failed));
}

/* Microseconds with three decimals, as Kineto writes them. */
static void put_time(FILE *f, const char *key, int64_t ns)
{
	fprintf(f, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

/* All of an event but its args; the caller closes it. */
static void begin(struct profile *p, const char *category, const char *name, int64_t start_ns)
{
	int64_t end_ns = clock_now_ns();
	fprintf(p->f, "%s\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d",
	        p->any ? "," : "", category, name, (int)getpid(), (int)gettid());
	put_time(p->f, "ts", start_ns - p->start_ns);
	put_time(p->f, "dur", end_ns - start_ns);
	p->any = true;
}

static void put_dims(FILE *f, const int64_t *dims)
{
	fputc('[', f);
	for (int i = 0; i < PROFILE_DIMS && dims[i]; i++)
		fprintf(f, "%s%" PRId64, i ? "," : "", dims[i]);
	fputc(']', f);
}

/* As PyTorch calls them. */
static const char *type_name(enum dtype type)
{
	static const char *const names[] = {
		[DTYPE_F32] = "float",
		[DTYPE_BF16] = "c10::BFloat16",
		[DTYPE_U8] = "unsigned char",
		[DTYPE_S8] = "signed char",
		[DTYPE_S32] = "int",
	};
	return names[type];
}

void profile_operator(
        struct profile *p, const char *name, int64_t start_ns, const struct profile_inputs *inputs)
{
	if (!p)
		return;
	int n = 0;
	begin(p, "cpu_op", name, start_ns);
	fputs(",\"args\":{\"Input Dims\":[", p->f);
	for (; n < PROFILE_INPUTS && inputs->dims[n][0]; n++) {
		fputs(n ? "," : "", p->f);
		put_dims(p->f, inputs->dims[n]);
	}
	fputs("],\"Input type\":[", p->f);
	for (int i = 0; i < n; i++)
		fprintf(p->f, "%s\"%s\"", i ? "," : "", type_name(inputs->types[i]));
	fputs("]}}", p->f);
}

void profile_copy(struct profile *p, bool to_device, int64_t bytes, int64_t start_ns)
{
	if (!p)
		return;
	begin(p, "gpu_memcpy",
	        to_device ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy DtoH (Device -> Pageable)",
	        start_ns);
	fprintf(p->f, ",\"args\":{\"device\":0,\"stream\":7,\"bytes\":%" PRId64 "}}", bytes);
}

void profile_step(struct profile *p, const char *name, int n_tokens, int64_t start_ns)
{
	char text[64];
	if (!p)
		return;
	snprintf(text, sizeof text, "%s(%d)", name, n_tokens);
	begin(p, "user_annotation", text, start_ns);
	fputc('}', p->f);
}
