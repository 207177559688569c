/*
 * records_rows.c - records as rows of CSV or JSONL, of requests or of token events. Stamps are ns
 * since the start; what a request has not got is an empty field, or null.
 */
#include "report/records.h"

#include "text/json.h"

#include <stddef.h>

enum column_type {
	COLUMN_INT, /* int64_t; absent when RECORDS_NONE */
	COLUMN_BOOL,
	COLUMN_OUTCOME, /* int */
	COLUMN_SOURCE,  /* enum load_token_source; absent without output tokens */
};

struct column {
	const char *name;
	enum column_type type;
	size_t offset;
};

#define COLUMN(name_, type_, field)                                                                \
	{                                                                                          \
		name_, type_, offsetof(struct records_request, field)                              \
	}
#define COLUMN_OF(field) COLUMN(#field, COLUMN_INT, field)

static const struct column request_columns[] = {
	COLUMN_OF(ticket),
	COLUMN("thread", COLUMN_INT, worker),
	COLUMN_OF(connection),
	COLUMN_OF(target),
	COLUMN("in_window", COLUMN_BOOL, in_window),
	COLUMN("outcome", COLUMN_OUTCOME, outcome),
	COLUMN_OF(status),
	COLUMN("retried", COLUMN_BOOL, retried),
	COLUMN("stream", COLUMN_BOOL, stream),
	COLUMN_OF(planned_ns),
	COLUMN_OF(sent_ns),
	COLUMN_OF(first_byte_ns),
	COLUMN_OF(first_token_ns),
	COLUMN_OF(first_visible_ns),
	COLUMN_OF(last_token_ns),
	COLUMN_OF(end_ns),
	COLUMN_OF(worst_gap_ns),
	COLUMN_OF(token_events),
	COLUMN_OF(input_tokens),
	COLUMN_OF(output_tokens),
	COLUMN("tokens_source", COLUMN_SOURCE, source),
};

/* A token event, in the same form: event stands in token_events, its moment in last_token_ns. */
static const struct column token_columns[] = {
	COLUMN_OF(ticket),
	COLUMN("thread", COLUMN_INT, worker),
	COLUMN("in_window", COLUMN_BOOL, in_window),
	COLUMN("event", COLUMN_INT, token_events),
	COLUMN("at_ns", COLUMN_INT, last_token_ns),
	COLUMN("gap_ns", COLUMN_INT, worst_gap_ns),
};

struct columns {
	const struct column *rows;
	size_t n;
};

static struct columns columns_of(bool tokens)
{
	if (tokens)
		return (struct columns){ token_columns, ARRAY_LEN(token_columns) };
	return (struct columns){ request_columns, ARRAY_LEN(request_columns) };
}

static int64_t int_of(const struct column *c, const struct records_request *r)
{
	return *(const int64_t *)((const char *)r + c->offset);
}

static bool bool_of(const struct column *c, const struct records_request *r)
{
	return *(const bool *)((const char *)r + c->offset);
}

/* NULL: absent */
static const char *name_of(const struct column *c, const struct records_request *r)
{
	if (c->type == COLUMN_OUTCOME)
		return records_outcome_name(r->outcome);
	return r->output_tokens == RECORDS_NONE ? NULL : load_token_source_names[r->source];
}

static void put_csv(const struct columns *columns, const struct records_request *r, struct buf *out)
{
	for (size_t i = 0; i < columns->n; i++) {
		const struct column *c = &columns->rows[i];
		const char *name;
		if (i)
			buf_add_char(out, ',');
		if (c->type == COLUMN_INT && int_of(c, r) != RECORDS_NONE)
			buf_printf(out, "%lld", (long long)int_of(c, r));
		else if (c->type == COLUMN_BOOL)
			buf_add_char(out, bool_of(c, r) ? '1' : '0');
		else if (c->type != COLUMN_INT && (name = name_of(c, r)))
			buf_add_c(out, name);
	}
	buf_add_char(out, '\n');
}

static void put_jsonl(
        const struct columns *columns, const struct records_request *r, struct buf *out)
{
	struct json j;
	json_init(&j, out, false);
	json_object_open(&j);
	for (size_t i = 0; i < columns->n; i++) {
		const struct column *c = &columns->rows[i];
		json_key(&j, c->name);
		if (c->type == COLUMN_BOOL)
			json_bool(&j, bool_of(c, r));
		else if (c->type != COLUMN_INT)
			json_str_c(&j, name_of(c, r));
		else if (int_of(c, r) != RECORDS_NONE)
			json_int(&j, int_of(c, r));
		else
			json_nil(&j);
	}
	json_object_close(&j);
	buf_add_char(out, '\n');
}

static void put_row(
        const struct report_rows *rows, const struct records_request *r, struct buf *out)
{
	struct columns columns = columns_of(rows->tokens);
	if (rows->jsonl)
		put_jsonl(&columns, r, out);
	else
		put_csv(&columns, r, out);
}

void report_records_head(const struct report_rows *rows, struct buf *out)
{
	struct columns columns = columns_of(rows->tokens);
	if (rows->jsonl)
		return;
	for (size_t i = 0; i < columns.n; i++)
		buf_printf(out, i ? ",%s" : "%s", columns.rows[i].name);
	buf_add_char(out, '\n');
}

/* The first event belongs to the entry with no gap before its own. */
static void put_events(const struct report_rows *rows, struct records_request *event,
        struct records_gaps gaps, struct buf *out)
{
	event->token_events = 0;
	event->last_token_ns = gaps.from_ns;
	event->worst_gap_ns = RECORDS_NONE;
	if (gaps.n_before == 0)
		put_row(rows, event, out);
	while (records_gap_next(&gaps, &event->worst_gap_ns)) {
		event->token_events = gaps.n_before;
		event->last_token_ns = gaps.from_ns;
		put_row(rows, event, out);
	}
}

static void put_tokens(
        const struct report_rows *rows, const struct records_entry *entry, struct buf *out)
{
	const struct records_piece *p = &entry->piece;
	const struct records_request *r = &entry->request;
	struct records_request event = { 0 };
	if (entry->kind == RECORDS_PIECE) {
		event.ticket = p->ticket;
		event.worker = p->worker;
		event.in_window = p->in_window;
		put_events(rows, &event, p->gaps, out);
	} else if (r->first_token_ns != RECORDS_NONE) {
		event.ticket = r->ticket;
		event.worker = r->worker;
		event.in_window = r->in_window;
		put_events(rows, &event, r->gaps, out);
	}
}

void report_records_rows(
        const struct report_rows *rows, const struct records_entry *entry, struct buf *out)
{
	if (rows->tokens) {
		put_tokens(rows, entry, out);
		return;
	}
	if (entry->kind != RECORDS_REQUEST)
		return;
	struct records_request r = entry->request;
	/* In the file these are 0 when there is none. */
	if (r.status == 0)
		r.status = RECORDS_NONE;
	if (r.connection == 0)
		r.connection = RECORDS_NONE;
	if (r.token_events < 2)
		r.worst_gap_ns = RECORDS_NONE;
	if (r.first_token_ns == RECORDS_NONE)
		r.token_events = RECORDS_NONE;
	put_row(rows, &r, out);
}
