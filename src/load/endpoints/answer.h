/*
 * answer.h - what the endpoints share to read answers: an object is a table of the fields that say
 * something, whatever else it holds is skipped.
 *
 * One struct answer is one event of a stream or one whole body. What its fields say is gathered
 * there and booked into the reply at its end, so that an event counts once however many of its
 * fields bear a token.
 */
#ifndef VENTURI_LOAD_ENDPOINTS_ANSWER_H
#define VENTURI_LOAD_ENDPOINTS_ANSWER_H

#include "load/endpoint.h"
#include "text/json_scan.h"

struct answer {
	struct reply *reply;
	bool bears_token;
	bool is_visible; /* bears one that is not reasoning */
	bool has_usage;
	int64_t n_ids;    /* tokens by ids or logprobs; 0: not told */
	bool has_number;  /* it gave a number of tokens */
	int64_t n_filled; /* texts, arrays and objects that bear a token */
	struct str text;  /* the latest of those texts; s NULL: none */
};

/* One field of an object; read must consume its value. */
struct answer_field {
	struct str key;
	void (*read)(struct answer *a, struct json_scan *s);
};

/* Reads data, which must begin with an object; anything else is an error inside the answer. */
void answer_read(struct reply *reply, struct str data, const struct answer_field *fields, size_t n);

/*
 * Reads data that is an array of results; the object that may stand in its place is read for its
 * "error".
 */
void answer_read_results(struct reply *reply, struct str data);

/* An object inside the answer; a value of another type is skipped. */
void answer_object(
        struct answer *a, struct json_scan *s, const struct answer_field *fields, size_t n);

/* ---- readers of fields ---- */

/* Generated text, or calls of tools: a token when a string, array or object is not empty. */
void answer_visible(struct answer *a, struct json_scan *s);
/* The same of reasoning. */
void answer_hidden(struct answer *a, struct json_scan *s);
/* An array with one element for each token. */
void answer_ids(struct answer *a, struct json_scan *s);
/* Numbers of a usage; what is no whole number from 0 up is passed over. */
void answer_input_tokens(struct answer *a, struct json_scan *s);
void answer_output_tokens(struct answer *a, struct json_scan *s);
/* {"message": ...} or a string; null is no error. */
void answer_error(struct answer *a, struct json_scan *s);
/* true is the finish marker. */
void answer_done(struct answer *a, struct json_scan *s);
/* Any string is the finish marker: the reason for the end. */
void answer_reason(struct answer *a, struct json_scan *s);
/* An array of results, each of which counts as a token event; it is the finish marker too. */
void answer_results(struct answer *a, struct json_scan *s);

#endif
