/*
 * records_write.c - records into bytes.
 */
#include "record/records_format.h"

#include "text/json.h"

static void put(struct records_block *b, int64_t value)
{
	b->len += records_put_varint(b->bytes + b->len, value > 0 ? (uint64_t)value : 0);
}

static void put_signed(struct records_block *b, int64_t value)
{
	b->len += records_put_varint(b->bytes + b->len, records_zigzag(value));
}

void records_block_begin(struct records_block *b, int64_t worker)
{
	*b = (struct records_block){ .bytes = b->bytes, .len = RECORDS_FRAME_BYTES };
	put(b, worker);
}

static void put_ticket(struct records_block *b, int64_t ticket)
{
	put_signed(b, ticket - b->ticket);
	b->ticket = ticket;
}

/* The stamp that the next entry is told against. */
static void put_anchor(struct records_block *b, int64_t ns)
{
	put_signed(b, ns - b->ns);
	b->ns = ns;
}

static void put_gaps(struct records_block *b, const struct records_gaps *gaps)
{
	put(b, gaps->n_before);
	put(b, gaps->n);
	if (gaps->len)
		memcpy(b->bytes + b->len, gaps->bytes, gaps->len);
	b->len += gaps->len;
	b->n_gaps += gaps->n;
}

static unsigned flag(bool on, enum records_flag f)
{
	return on ? (unsigned)f : 0;
}

static int64_t request_flags(const struct records_request *r)
{
	bool has_output = r->output_tokens != RECORDS_NONE;
	return flag(r->in_window, RECORDS_IN_WINDOW) | flag(r->retried, RECORDS_RETRIED) |
	       flag(r->stream, RECORDS_STREAM) |
	       flag(r->first_byte_ns != RECORDS_NONE, RECORDS_HAS_BYTE) |
	       flag(r->first_token_ns != RECORDS_NONE, RECORDS_HAS_TOKEN) |
	       flag(r->first_visible_ns != RECORDS_NONE, RECORDS_HAS_VISIBLE) |
	       flag(r->input_tokens != RECORDS_NONE, RECORDS_HAS_INPUT) |
	       flag(has_output, RECORDS_HAS_OUTPUT) |
	       (has_output ? (unsigned)r->source << RECORDS_SOURCE_SHIFT : 0) |
	       (unsigned)r->outcome << RECORDS_OUTCOME_SHIFT;
}

static void put_tokens(struct records_block *b, const struct records_request *r)
{
	put_signed(b, r->first_token_ns - r->sent_ns);
	put_signed(b, r->last_token_ns - r->first_token_ns);
	put(b, r->worst_gap_ns);
	put(b, r->token_events);
	put(b, r->first_tokens);
	put_gaps(b, &r->gaps);
}

void records_put_request(struct records_block *b, const struct records_request *r)
{
	put(b, request_flags(r));
	put_ticket(b, r->ticket);
	put(b, r->connection);
	put(b, r->target);
	put(b, r->status);
	put_anchor(b, r->end_ns);
	put_signed(b, r->end_ns - r->sent_ns);
	put_signed(b, r->sent_ns - r->planned_ns);
	if (r->first_byte_ns != RECORDS_NONE)
		put_signed(b, r->first_byte_ns - r->sent_ns);
	if (r->first_token_ns != RECORDS_NONE)
		put_tokens(b, r);
	if (r->first_visible_ns != RECORDS_NONE)
		put_signed(b, r->first_visible_ns - r->sent_ns);
	if (r->input_tokens != RECORDS_NONE)
		put(b, r->input_tokens);
	if (r->output_tokens != RECORDS_NONE)
		put(b, r->output_tokens);
	b->n_requests++;
}

void records_put_piece(struct records_block *b, const struct records_piece *p)
{
	put(b, RECORDS_IS_PIECE | flag(p->in_window, RECORDS_IN_WINDOW));
	put_ticket(b, p->ticket);
	put_anchor(b, p->gaps.from_ns);
	put_gaps(b, &p->gaps);
}

static void seal(uint8_t *frame, const char *kind, size_t content_bytes)
{
	memcpy(frame, kind, 4);
	records_put_u32(frame + 4, (uint32_t)content_bytes);
	records_put_u32(frame + 8, records_crc(frame, content_bytes));
}

void records_block_seal(struct records_block *b)
{
	seal(b->bytes, RECORDS_KIND_ENTRIES, b->len - RECORDS_FRAME_BYTES);
}

/* Room for the frame of a block whose content is appended to the buffer. */
static size_t open_frame(struct buf *out)
{
	static const char frame[RECORDS_FRAME_BYTES];
	buf_add(out, (struct str){ frame, sizeof(frame) });
	return out->len;
}

static void close_frame(struct buf *out, size_t content, const char *kind)
{
	seal((uint8_t *)out->s + content - RECORDS_FRAME_BYTES, kind, out->len - content);
}

static void put_header_json(
        struct buf *out, const struct load_run *r, const struct records_start *start)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	json_put_string(&j, "schema", "venturi.records/1");
	json_put_string(&j, "started_at", r->started_at);
	json_put_int(&j, "start_monotonic_ns", start->monotonic_ns);
	json_put_int(&j, "start_realtime_ns", start->realtime_ns);
	json_put_int(&j, "threads", start->threads);
	json_key(&j, "targets");
	json_array_open(&j);
	if (!r->targets)
		json_str_c(&j, r->url);
	for (int i = 0; r->targets && i < r->n_targets; i++)
		json_str_c(&j, r->targets[i].url);
	json_array_close(&j);
	json_key(&j, "fingerprint");
	json_object_open(&j);
	for (size_t i = 0; i < r->fingerprint.n; i++)
		json_put_string(
		        &j, r->fingerprint.entries[i].name, r->fingerprint.entries[i].value);
	json_object_close(&j);
	json_object_close(&j);
}

void records_put_magic(struct buf *out)
{
	uint8_t version[4];
	records_put_u32(version, RECORDS_VERSION);
	buf_add(out, (struct str){ RECORDS_MAGIC, RECORDS_MAGIC_BYTES });
	buf_add(out, (struct str){ (const char *)version, sizeof(version) });
}

void records_put_head(struct buf *out, const struct load_run *r, const struct records_start *start)
{
	size_t content = open_frame(out);
	put_header_json(out, r, start);
	close_frame(out, content, RECORDS_KIND_HEAD);
}

void records_put_done(struct buf *out, const struct records_done *done)
{
	uint8_t bytes[6 * 10];
	size_t n = 0, content = open_frame(out);
	n += records_put_varint(bytes + n, done->partial);
	n += records_put_varint(bytes + n, records_zigzag(done->window_start_ns));
	n += records_put_varint(bytes + n, records_zigzag(done->window_end_ns));
	n += records_put_varint(bytes + n, (uint64_t)done->requests);
	n += records_put_varint(bytes + n, (uint64_t)done->lost_requests);
	n += records_put_varint(bytes + n, (uint64_t)done->lost_gaps);
	buf_add(out, (struct str){ (const char *)bytes, n });
	close_frame(out, content, RECORDS_KIND_DONE);
}
