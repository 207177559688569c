/*
 * records_read.c - bytes into records. Nothing that the file says is believed before it was
 * checked: sums, lengths, and the range of every number, so that none of them overflows later.
 */
#include "record/records_format.h"

#include "base/i18n.h"
#include "text/json_scan.h"

#include <errno.h>

/* Half of what an int64_t holds: the difference of any two fits. */
static const int64_t value_max = INT64_MAX / 4;

/* ---- numbers ---- */

struct cursor {
	const uint8_t *p, *end;
	bool failed;
};

static uint64_t get_raw(struct cursor *c)
{
	uint64_t value = 0;
	for (int shift = 0; c->p < c->end && shift < 7 * RECORDS_VARINT_MAX; shift += 7) {
		uint8_t byte = *c->p++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	c->failed = true;
	return 0;
}

static int64_t in_range(struct cursor *c, int64_t value)
{
	if (value >= -value_max && value <= value_max)
		return value;
	c->failed = true;
	return 0;
}

static int64_t get(struct cursor *c)
{
	uint64_t value = get_raw(c);
	return in_range(c, value <= INT64_MAX ? (int64_t)value : INT64_MAX);
}

/* A number that is told as its difference to base, itself in range. */
static int64_t get_from(struct cursor *c, int64_t base)
{
	return in_range(c, base + in_range(c, records_unzigzag(get_raw(c))));
}

/* The same for one that is taken off: a base of an end gives a beginning. */
static int64_t get_before(struct cursor *c, int64_t base)
{
	return in_range(c, base - in_range(c, records_unzigzag(get_raw(c))));
}

/* ---- entries ---- */

/* ret_sum_ns: of the gaps. */
static void get_gaps(struct cursor *c, struct records_gaps *gaps, int64_t *ret_sum_ns)
{
	int64_t sum = 0;
	gaps->n_before = get(c);
	gaps->n = get(c);
	gaps->bytes = c->p;
	for (int64_t i = 0; i < gaps->n && !c->failed; i++)
		sum = in_range(c, sum + get(c));
	gaps->len = (size_t)(c->p - gaps->bytes);
	*ret_sum_ns = sum;
}

static void get_tokens(struct cursor *c, struct records_request *r)
{
	int64_t sum;
	r->first_token_ns = get_from(c, r->sent_ns);
	r->last_token_ns = get_from(c, r->first_token_ns);
	r->worst_gap_ns = get(c);
	r->token_events = get(c);
	r->first_tokens = get(c);
	get_gaps(c, &r->gaps, &sum);
	r->gaps.from_ns = in_range(c, r->last_token_ns - sum);
}

static void get_request(
        struct records_reader *reader, struct cursor *c, int64_t flags, struct records_request *r)
{
	int64_t outcome = flags >> RECORDS_OUTCOME_SHIFT;
	int source = (int)(flags >> RECORDS_SOURCE_SHIFT) & 3;
	if (outcome >= RECORDS_N_OUTCOMES || source >= LOAD_N_TOKEN_SOURCES) {
		c->failed = true;
		return;
	}
	*r = (struct records_request){
		.outcome = (int)outcome,
		.source = (enum load_token_source)source,
		.in_window = flags & RECORDS_IN_WINDOW,
		.retried = flags & RECORDS_RETRIED,
		.stream = flags & RECORDS_STREAM,
		.worker = reader->worker,
		.first_byte_ns = RECORDS_NONE,
		.first_token_ns = RECORDS_NONE,
		.first_visible_ns = RECORDS_NONE,
		.last_token_ns = RECORDS_NONE,
		.input_tokens = RECORDS_NONE,
		.output_tokens = RECORDS_NONE,
	};
	r->ticket = reader->ticket = get_from(c, reader->ticket);
	r->connection = get(c);
	r->target = get(c);
	r->status = get(c);
	r->end_ns = reader->ns = get_from(c, reader->ns);
	r->sent_ns = get_before(c, r->end_ns);
	r->planned_ns = get_before(c, r->sent_ns);
	if (flags & RECORDS_HAS_BYTE)
		r->first_byte_ns = get_from(c, r->sent_ns);
	if (flags & RECORDS_HAS_TOKEN)
		get_tokens(c, r);
	if (flags & RECORDS_HAS_VISIBLE)
		r->first_visible_ns = get_from(c, r->sent_ns);
	if (flags & RECORDS_HAS_INPUT)
		r->input_tokens = get(c);
	if (flags & RECORDS_HAS_OUTPUT)
		r->output_tokens = get(c);
}

static void get_piece(
        struct records_reader *reader, struct cursor *c, int64_t flags, struct records_piece *p)
{
	int64_t sum;
	*p = (struct records_piece){
		.worker = reader->worker,
		.in_window = flags & RECORDS_IN_WINDOW,
	};
	p->ticket = reader->ticket = get_from(c, reader->ticket);
	p->gaps.from_ns = reader->ns = get_from(c, reader->ns);
	get_gaps(c, &p->gaps, &sum);
	in_range(c, p->gaps.from_ns + sum);
}

bool records_gap_next(struct records_gaps *gaps, int64_t *ret_gap_ns)
{
	struct cursor c = { gaps->bytes, gaps->bytes + gaps->len, false };
	if (gaps->n <= 0)
		return false;
	*ret_gap_ns = get(&c);
	gaps->len -= (size_t)(c.p - gaps->bytes);
	gaps->bytes = c.p;
	gaps->n--;
	gaps->n_before++;
	gaps->from_ns += *ret_gap_ns;
	return true;
}

/* ---- blocks ---- */

static enum records_result damaged(
        const struct records_reader *r, int64_t offset, const char *why, struct err *err)
{
	err_set(err, ERR_INPUT, _("'%s' is damaged at byte %lld: %s"), r->name, (long long)offset,
	        why);
	return RECORDS_DAMAGED;
}

/* Reads n bytes behind what the buffer holds; fewer at the end of the file. */
static bool read_bytes(struct records_reader *r, size_t n, struct err *err)
{
	buf_reserve(&r->block, n);
	r->block.len += fread(r->block.s + r->block.len, 1, n, r->file);
	if (!ferror(r->file))
		return true;
	return err_set(err, ERR_SYSTEM, _("cannot read '%s': %s"), r->name, strerror(errno));
}

/*
 * The next block with its frame; RECORDS_END when the file ends inside it or before it. What was
 * read is whole_bytes and the block.
 */
static enum records_result read_block(struct records_reader *r, struct err *err)
{
	const uint8_t *frame;
	buf_clear(&r->block);
	r->block_offset = r->whole_bytes;
	if (!read_bytes(r, RECORDS_FRAME_BYTES, err))
		return RECORDS_DAMAGED;
	if (r->block.len < RECORDS_FRAME_BYTES)
		return RECORDS_END;
	size_t content = records_get_u32((const uint8_t *)r->block.s + 4);
	if (content > RECORDS_BLOCK_MAX)
		return damaged(r, r->block_offset, _("a block is longer than the limit"), err);
	if (!read_bytes(r, content, err))
		return RECORDS_DAMAGED;
	if (r->block.len < RECORDS_FRAME_BYTES + content)
		return RECORDS_END;
	frame = (const uint8_t *)r->block.s;
	if (records_crc(frame, content) != records_get_u32(frame + 8))
		return damaged(r, r->block_offset, _("the checksum of a block is wrong"), err);
	r->whole_bytes += (int64_t)r->block.len;
	return RECORDS_ENTRY;
}

static bool is_kind(const struct records_reader *r, const char *kind)
{
	return memcmp(r->block.s, kind, 4) == 0;
}

static struct cursor cursor_at(const struct records_reader *r, size_t at)
{
	const uint8_t *bytes = (const uint8_t *)r->block.s;
	return (struct cursor){ bytes + at, bytes + r->block.len, false };
}

static size_t place_of(const struct records_reader *r, const struct cursor *c)
{
	return (size_t)(c->p - (const uint8_t *)r->block.s);
}

static bool start_entries(struct records_reader *r)
{
	struct cursor c = cursor_at(r, RECORDS_FRAME_BYTES);
	r->worker = get(&c);
	r->ticket = r->ns = 0;
	r->at = place_of(r, &c);
	return !c.failed;
}

/* Later versions may say more behind these. */
static bool read_done(struct records_reader *r)
{
	struct cursor c = cursor_at(r, RECORDS_FRAME_BYTES);
	r->done.partial = get(&c) != 0;
	r->done.window_start_ns = get_from(&c, 0);
	r->done.window_end_ns = get_from(&c, 0);
	r->done.requests = get(&c);
	r->done.lost_requests = get(&c);
	r->done.lost_gaps = get(&c);
	r->at = r->block.len;
	return !c.failed;
}

/* Nothing follows the last block. */
static enum records_result after_done(struct records_reader *r, struct err *err)
{
	buf_clear(&r->block);
	r->at = 0;
	if (!read_bytes(r, 1, err))
		return RECORDS_DAMAGED;
	if (r->block.len == 0)
		return RECORDS_END;
	return damaged(r, r->whole_bytes, _("there is more behind the last block"), err);
}

/* The next block with entries: RECORDS_ENTRY when there is one. */
static enum records_result next_block(struct records_reader *r, struct err *err)
{
	while (!r->is_whole) {
		enum records_result result = read_block(r, err);
		if (result != RECORDS_ENTRY) {
			buf_clear(&r->block);
			r->at = 0;
			return result;
		}
		r->at = r->block.len; /* blocks of other kinds are skipped */
		if (is_kind(r, RECORDS_KIND_ENTRIES)) {
			if (start_entries(r))
				return RECORDS_ENTRY;
		} else if (!is_kind(r, RECORDS_KIND_DONE)) {
			continue;
		} else if (read_done(r)) {
			r->is_whole = true;
			continue;
		}
		return damaged(r, r->block_offset, _("a block is not well formed"), err);
	}
	return after_done(r, err);
}

enum records_result records_next(
        struct records_reader *r, struct records_entry *ret_entry, struct err *err)
{
	while (r->at >= r->block.len) {
		enum records_result result = next_block(r, err);
		if (result != RECORDS_ENTRY)
			return result;
	}
	struct cursor c = cursor_at(r, r->at);
	int64_t flags = get(&c);
	if (flags & RECORDS_IS_PIECE) {
		ret_entry->kind = RECORDS_PIECE;
		get_piece(r, &c, flags, &ret_entry->piece);
	} else {
		ret_entry->kind = RECORDS_REQUEST;
		get_request(r, &c, flags, &ret_entry->request);
	}
	if (c.failed)
		return damaged(
		        r, r->block_offset + (int64_t)r->at, _("an entry is not well formed"), err);
	r->at = place_of(r, &c);
	return RECORDS_ENTRY;
}

/* ---- header ---- */

static void get_text(struct json_scan *s, struct buf *out)
{
	struct str raw;
	buf_clear(out);
	if (!json_scan_string(s, &raw))
		json_scan_skip(s);
	else
		(void)json_unescape(raw, out);
}

static void get_stamp(struct json_scan *s, int64_t *ret_ns)
{
	if (!json_scan_int(s, ret_ns))
		json_scan_skip(s);
}

/* The first target is the one that is named. */
static void get_targets(struct json_scan *s, struct buf *out)
{
	bool first = true;
	if (!json_scan_array(s)) {
		json_scan_skip(s);
		return;
	}
	while (json_scan_element(s)) {
		if (first)
			get_text(s, out);
		else
			json_scan_skip(s);
		first = false;
	}
}

static bool read_header(struct records_reader *r)
{
	struct records_head *head = &r->head;
	struct str key;
	buf_add(&r->head_text, (struct str){ r->block.s + RECORDS_FRAME_BYTES,
	                               r->block.len - RECORDS_FRAME_BYTES });
	*head = (struct records_head){
		.json = buf_str(&r->head_text),
		.monotonic_ns = RECORDS_NONE,
		.realtime_ns = RECORDS_NONE,
	};
	struct json_scan s = json_scan_of(head->json);
	if (!json_scan_object(&s))
		return false;
	while (json_scan_key(&s, &key)) {
		if (str_eq(key, STR("targets")))
			get_targets(&s, &r->url);
		else if (str_eq(key, STR("started_at")))
			get_text(&s, &r->started_at);
		else if (str_eq(key, STR("start_monotonic_ns")))
			get_stamp(&s, &head->monotonic_ns);
		else if (str_eq(key, STR("start_realtime_ns")))
			get_stamp(&s, &head->realtime_ns);
		else
			json_scan_skip(&s);
	}
	head->url = buf_str(&r->url);
	head->started_at = buf_str(&r->started_at);
	return json_scan_ended(&s);
}

static bool read_prefix(struct records_reader *r, struct err *err)
{
	if (!read_bytes(r, RECORDS_PREFIX_BYTES, err))
		return false;
	size_t n = r->block.len < RECORDS_MAGIC_BYTES ? r->block.len : RECORDS_MAGIC_BYTES;
	if (n == 0 || memcmp(r->block.s, RECORDS_MAGIC, n) != 0) {
		err_set(err, ERR_INPUT, _("'%s' is no file of records"), r->name);
		return err_hint(err, _("'venturi load --records FILE' writes one"));
	}
	if (r->block.len < RECORDS_PREFIX_BYTES)
		return err_set(err, ERR_INPUT, _("'%s' ends before its header"), r->name);
	uint32_t version = records_get_u32((const uint8_t *)r->block.s + RECORDS_MAGIC_BYTES);
	if (version != RECORDS_VERSION)
		return err_set(err, ERR_INPUT,
		        _("'%s' has version %u of the format, which this venturi does not read"),
		        r->name, version);
	r->whole_bytes = RECORDS_PREFIX_BYTES;
	return true;
}

static bool read_head(struct records_reader *r, struct err *err)
{
	if (!read_prefix(r, err))
		return false;
	enum records_result result = read_block(r, err);
	if (result == RECORDS_END)
		return err_set(err, ERR_INPUT, _("'%s' ends before its header"), r->name);
	if (result == RECORDS_DAMAGED)
		return false;
	if (is_kind(r, RECORDS_KIND_HEAD) && read_header(r)) {
		r->at = r->block.len;
		return true;
	}
	damaged(r, r->block_offset, _("its header is not well formed"), err);
	return false;
}

bool records_open(struct records_reader *r, FILE *file, const char *name, struct err *err)
{
	*r = (struct records_reader){ .name = name, .file = file };
	if (read_head(r, err))
		return true;
	records_close(r);
	return false;
}

void records_close(struct records_reader *r)
{
	buf_release(&r->head_text);
	buf_release(&r->url);
	buf_release(&r->started_at);
	buf_release(&r->block);
}
