#include "trace/export/export_args.h"

#include "text/json_scan.h"

/* ---- values ---- */

void export_id(struct json *j, struct str text)
{
	int64_t number;
	AUTO(auto_buf) struct buf again = { 0 };
	if (str_to_i64(text, &number)) {
		buf_printf(&again, "%lld", (long long)number);
		if (str_eq(buf_str(&again), text)) { /* "007" is no 7 */
			json_int(j, number);
			return;
		}
	}
	json_str(j, text);
}

/* Whether text is JSON that every reader takes: no control characters, and UTF-8 is not asked
 * for. */
static bool is_json(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.s[i];
		if (c >= 0x80 || (c < ' ' && c != '\n' && c != '\r' && c != '\t'))
			return false;
	}
	struct json_scan s = json_scan_of(text);
	json_scan_skip(&s);
	return json_scan_ended(&s);
}

/* JSON without the blanks and line ends of its writer; a damaged text becomes a string. */
static void put_json(struct json *j, const char *key, struct str text)
{
	AUTO(auto_buf) struct buf compact = { 0 };
	bool quoted = false;
	if (text.len == 0)
		return;
	json_key(j, key);
	if (!is_json(text)) {
		json_str(j, text);
		return;
	}
	for (size_t i = 0; i < text.len; i++) {
		char c = text.s[i];
		if (quoted && c == '\\' && i + 1 < text.len) {
			buf_add_char(&compact, c);
			c = text.s[++i];
		} else {
			quoted ^= c == '"';
		}
		if (quoted || (c != ' ' && c != '\n' && c != '\r' && c != '\t'))
			buf_add_char(&compact, c);
	}
	json_raw(j, buf_str(&compact));
}

static void put_text(struct json *j, const char *key, struct str text)
{
	if (text.len == 0)
		return;
	json_key(j, key);
	json_str(j, text);
}

static void put_id(struct json *j, const char *key, struct str text)
{
	if (text.len == 0)
		return;
	json_key(j, key);
	export_id(j, text);
}

/* -1 is not told. */
static void put_known(struct json *j, const char *key, int64_t value)
{
	if (value >= 0)
		json_put_int(j, key, value);
}

/* ---- details ---- */

static void put_triple(struct json *j, const char *key, const int64_t v[3])
{
	if (v[0] < 0 || v[1] < 0 || v[2] < 0)
		return;
	json_key(j, key);
	json_array_open(j);
	for (int i = 0; i < 3; i++)
		json_int(j, v[i]);
	json_array_close(j);
}

/* A grid in the unit that the reader will take it for. */
static void put_grid(struct json *j, const struct kernel_detail *d, bool items)
{
	int64_t grid[3];
	for (int i = 0; i < 3; i++) {
		int64_t block = d->block[i] > 0 ? d->block[i] : 1;
		grid[i] = d->grid[i];
		if (d->grid_in_items == GRID_IN_ITEMS && !items && grid[i] >= 0)
			grid[i] = grid[i] / block + (grid[i] % block != 0);
		else if (d->grid_in_items == GRID_IN_BLOCKS && items && grid[i] >= 0 &&
		         grid[i] <= INT64_MAX / block)
			grid[i] *= block;
	}
	put_triple(j, "grid", grid);
	put_triple(j, "block", d->block);
}

static void put_kernel(struct json *j, const struct timeline *t, const struct event *e, bool items)
{
	const struct kernel_detail *d = timeline_kernel(t, e);
	if (t->is_amd)
		json_put_string(j, "kind", "Dispatch Kernel");
	if (!d)
		return;
	put_grid(j, d, items);
	put_known(j, "registers per thread", d->registers);
	put_known(j, "shared memory", d->shared_bytes);
	put_known(j, "est. achieved occupancy %", d->occupancy_percent);
	put_id(j, "graph id", timeline_name_of(t, d->graph));
	put_text(j, "op", timeline_name_of(t, d->op));
	put_text(j, "category", timeline_name_of(t, d->category));
	put_known(j, "flops", d->flops);
	put_known(j, "bytes_accessed", d->bytes);
}

static void put_copy(struct json *j, const struct timeline *t, const struct event *e)
{
	const struct copy_detail *d = timeline_copy(t, e);
	if (!d)
		return;
	put_known(j, "bytes", d->bytes);
	put_text(j, "kind", timeline_name_of(t, d->kind_name));
}

static void put_operator(struct json *j, const struct timeline *t, const struct event *e)
{
	const struct operator_detail *d = timeline_operator(t, e);
	if (!d)
		return;
	put_json(j, "Input Dims", timeline_name_of(t, d->dims));
	put_json(j, "Input type", timeline_name_of(t, d->types));
	put_json(j, "Input Strides", timeline_name_of(t, d->strides));
	put_json(j, "Concrete Inputs", timeline_name_of(t, d->values));
	put_known(j, "Sequence number", d->sequence);
	put_text(j, "op_name", timeline_name_of(t, d->op_type));
	put_text(j, "provider", timeline_name_of(t, d->provider));
}

static void put_sync(struct json *j, const struct timeline *t, const struct event *e)
{
	static const char *const kinds[] = {
		[SYNC_STREAM] = "Stream Sync",
		[SYNC_CONTEXT] = "Context Sync",
		[SYNC_EVENT] = "Event Sync",
		[SYNC_STREAM_WAIT] = "Stream Wait Event",
	};
	const struct sync_detail *d = timeline_sync(t, e);
	if (!d)
		return;
	if (d->kind < ARRAY_LEN(kinds) && kinds[d->kind])
		json_put_string(j, "cuda_sync_kind", kinds[d->kind]);
	put_id(j, "wait_on_stream", timeline_name_of(t, d->waits_on_stream));
	put_known(j, "wait_on_cuda_event_id", d->event);
}

static void put_memory(struct json *j, const struct timeline *t, const struct event *e)
{
	const struct memory_detail *d = timeline_memory(t, e);
	if (!d)
		return;
	json_put_int(j, "Bytes", d->bytes);
	json_put_int(j, "Addr", d->address);
	put_known(j, "Total Allocated", d->total_allocated);
	put_known(j, "Total Reserved", d->total_reserved);
	json_put_int(j, "Device Type", d->device_type);
	json_put_int(j, "Device Id", d->device);
}

void export_args(struct json *j, const struct timeline *t, enum event_group group,
        const struct event *e, bool items)
{
	const struct track *k = timeline_track_of(t, e->track);
	if (k->device != TRACE_NONE) {
		json_put_int(j, "device", k->device);
		put_id(j, "stream", timeline_name_of(t, k->stream));
	}
	if (e->link) /* JSON's readers hold 63 bits; that is as good as all 64 to tell links apart
	              */
		json_put_int(j, "correlation", (int64_t)(e->link & INT64_MAX));
	switch (group) {
	case GROUP_DEVICE:
		if (e->kind == DEVICE_KERNEL)
			put_kernel(j, t, e, items);
		else
			put_copy(j, t, e);
		break;
	case GROUP_OPERATOR:
		put_operator(j, t, e);
		break;
	case GROUP_SYNC:
		put_sync(j, t, e);
		break;
	case GROUP_MEMORY:
		put_memory(j, t, e);
		break;
	default:
		break;
	}
}

/* ---- names ---- */

static const char *memory_word(uint32_t kind)
{
	static const char *const words[] = {
		[MEMORY_UNKNOWN] = "Unknown",
		[MEMORY_PAGEABLE] = "Pageable",
		[MEMORY_PINNED] = "Pinned",
		[MEMORY_DEVICE] = "Device",
		[MEMORY_MANAGED] = "Managed",
	};
	return kind < ARRAY_LEN(words) ? words[kind] : words[MEMORY_UNKNOWN];
}

struct str export_name(
        const struct timeline *t, enum event_group group, const struct event *e, struct buf *tmp)
{
	struct str name = timeline_name_of(t, e->name);
	if (group == GROUP_MEMORY)
		return STR("[memory]");
	if (group != GROUP_DEVICE || e->kind != DEVICE_MEMCPY || str_starts(name, STR("Memcpy ")))
		return name;
	const struct copy_detail *d = timeline_copy(t, e);
	if (!d || d->kind_name == 0 || (d->from == MEMORY_UNKNOWN && d->to == MEMORY_UNKNOWN))
		return name;
	buf_clear(tmp);
	buf_printf(tmp, "Memcpy %.*s (%s -> %s)", STR_ARG(timeline_name_of(t, d->kind_name)),
	        memory_word(d->from), memory_word(d->to));
	return buf_str(tmp);
}
