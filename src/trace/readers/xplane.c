/*
 * The reader of XPlane files: what the profilers of JAX, TensorFlow and XLA write.
 */
#include "trace/readers/xplane.h"

#include "trace/readers/readers.h"

#include "base/i18n.h"

#include <errno.h>
#include <sys/mman.h>

/* Protocol buffers end at 2 GiB; unpacked from gzip, no more is taken either. */
static const int64_t max_bytes = INT64_C(1) << 31;
/* Times of the line's start below this are since the start of the profile, above since 1970. */
static const int64_t unix_from_ns = INT64_C(100000) * 24 * 3600 * 1000;
/* Names of planes are short. */
enum { PLANE_NAME_MAX = 256 };

static bool is_plain_text(struct str text)
{
	if (text.len == 0 || text.len > PLANE_NAME_MAX)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.s[i] < ' ' || (unsigned char)text.s[i] > '~')
			return false;
	return true;
}

/* An XSpace begins with a plane, and a plane with its id (which may be left out) and name. */
static bool recognises(const struct source *source)
{
	struct pb space = pb_of(source->head);
	struct pb_field f;
	if (!pb_next(&space, &f) || f.number != 1 || f.wire != PB_BYTES)
		return false;
	struct pb plane = pb_of(f.bytes);
	if (!pb_next(&plane, &f))
		return false;
	if (f.number == 1 && f.wire == PB_VARINT && !pb_next(&plane, &f))
		return false;
	return f.number == 2 && f.wire == PB_BYTES && is_plain_text(f.bytes);
}

static void add_device(struct xplane *p)
{
	const struct xstats *s = &p->own;
	if (p->use != XPLANE_DEVICE || p->device == TRACE_NONE)
		return;
	struct device_info *d = timeline_device(p->t, p->device);
	d->name = xstats_name(s, XSTAT_DEVICE_TYPE, p->t);
	d->n_sm = xstats_number(s, XSTAT_CORE_COUNT, -1);
	d->memory_bytes = xstats_number(s, XSTAT_MEMORY_BYTES, -1);
	d->compute_major = xstats_number(s, XSTAT_MAJOR, -1);
	d->compute_minor = xstats_number(s, XSTAT_MINOR, -1);
	if (xstats_has(s, XSTAT_DEVICE_VENDOR) &&
	        str_eq_nocase(s->text[XSTAT_DEVICE_VENDOR], STR("AMD")))
		p->t->is_amd = true;
}

static void read_plane(
        struct timeline *t, struct str message, struct xline_scratch *scratch, int64_t *start_ns)
{
	struct xplane p = { .t = t };
	struct pb_field f;
	int64_t n_before = t->n_events;
	xplane_read_meta(&p, message);
	add_device(&p);
	*start_ns = xstats_number(&p.own, XSTAT_PROFILE_START, *start_ns);
	struct pb r = pb_of(message);
	while (pb_next(&r, &f))
		if (f.number == 3 && f.wire == PB_BYTES)
			xline_read(&p, f.bytes, scratch);
	if (t->n_events > n_before)
		tallies_add(&t->rows, p.name, t->n_events - n_before);
	xplane_release(&p);
}

static void read_space(struct timeline *t, struct str space)
{
	struct xline_scratch scratch = { 0 };
	int64_t start_ns = TRACE_NONE;
	struct pb r = pb_of(space);
	struct pb_field f;
	while (pb_next(&r, &f))
		if (f.number == 1 && f.wire == PB_BYTES)
			read_plane(t, f.bytes, &scratch, &start_ns);
	t->truncated |= r.cut;
	t->lost[LOST_BROKEN] += r.broken;
	xline_scratch_release(&scratch);
	xplane_resolve_frees(t);
	if (t->span_start_ns <= t->span_end_ns)
		t->base_unix_ns = t->span_start_ns > unix_from_ns ? 0 : start_ns;
}

static bool read_mapped(struct source *source, struct timeline *t, struct err *err)
{
	size_t n = (size_t)source->size;
	if (source->size > max_bytes)
		return err_set(err, ERR_INPUT,
		        _("'%s' has more than %lld bytes, too many for this format"), source->path,
		        (long long)max_bytes);
	void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, source->fd, 0);
	if (bytes == MAP_FAILED)
		return err_set(
		        err, ERR_INPUT, _("cannot read '%s': %s"), source->path, strerror(errno));
	read_space(t, (struct str){ bytes, n });
	munmap(bytes, n);
	return true;
}

static bool read(struct source *source, struct timeline *t, struct err *err)
{
	if (!source->packed)
		return read_mapped(source, t, err);
	AUTO(auto_buf) struct buf text = { 0 };
	if (!source_read_all(source, max_bytes, &text, err))
		return false;
	read_space(t, buf_str(&text));
	return true;
}

const struct trace_reader xplane_reader = { "xplane-pb", recognises, read };
