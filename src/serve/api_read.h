/*
 * api_read.h - what the parsers of the APIs have in common: the members of a body's object as rows
 * of a table, read in place, without a tree.
 *
 * Private to api*.c. A reading function stands before the value of its member, which is not null,
 * and reads or refuses it. Texts are views into the body where they have no escapes.
 */
#ifndef VENTURI_SERVE_API_READ_H
#define VENTURI_SERVE_API_READ_H

#include "serve/api.h"
#include "text/json_scan.h"

struct api_reader {
	struct api_form *form;
	struct str body;
	struct arena *run;
	struct api_request *request;
	struct api_error *error;
	struct json_scan scan;
	void *target; /* of the members' offsets: the request, or a part of it */
};

struct api_member {
	const char *name;
	bool (*read)(struct api_reader *reader, const struct api_member *member);
	size_t offset;
	int64_t min, max;
	bool required;
};

/*
 * The object that the scanner stands before, into target. Members that are not in the table are
 * skipped, null is as good as absent, and a name that comes twice is refused.
 *
 * name     of the object in errors; NULL: it is the body
 */
bool api_read_members(struct api_reader *reader, const struct api_member *members, size_t n,
        void *target, const char *name) NODISCARD;

/* The body is one such object. */
bool api_read_body(struct api_reader *reader, const struct api_member *members, size_t n,
        void *target) NODISCARD;

/* The text that the scanner stands before, without its escapes. */
bool api_read_text(struct api_reader *reader, const char *name, struct str *ret_text) NODISCARD;

/* How many elements the array has that the scanner stands before. */
size_t api_count(const struct api_reader *reader);

/* Refuses more than max of a member. */
bool api_check_count(struct api_reader *reader, const char *name, size_t n, size_t max) NODISCARD;

/* Refuses with status 400; fmt has one %s, the member's name. Returns false. */
bool api_bad(struct api_reader *reader, const char *fmt, const char *name);

/* Readers for tables: bool, int64_t from min to max, struct str, const char * of a model. */
bool api_member_bool(struct api_reader *reader, const struct api_member *member);
bool api_member_int(struct api_reader *reader, const struct api_member *member);
bool api_member_name(struct api_reader *reader, const struct api_member *member);
bool api_member_model(struct api_reader *reader, const struct api_member *member);
/* Texts, ids, or lists of them: the request's inputs. */
bool api_member_inputs(struct api_reader *reader, const struct api_member *member);
/* "truncate", true or false; and how many tokens are left, -1 for what the model takes. */
bool api_member_truncate(struct api_reader *reader, const struct api_member *member);
bool api_member_truncate_tokens(struct api_reader *reader, const struct api_member *member);
/* "Right" alone. */
bool api_member_truncate_side(struct api_reader *reader, const struct api_member *member);
/* What would change the answer and is not implemented. */
bool api_member_refused(struct api_reader *reader, const struct api_member *member);

/* A row whose reader needs a place in the request. */
#define API_MEMBER(name_, read_, field)                                                            \
	{                                                                                          \
		.name = (name_), .read = (read_), .offset = offsetof(struct api_request, field)    \
	}
#define API_MEMBER_INT(name_, field, min_, max_)                                                   \
	{                                                                                          \
		.name = (name_), .read = api_member_int,                                           \
		.offset = offsetof(struct api_request, field), .min = (min_), .max = (max_)        \
	}

/* One per endpoint, see api.c. */
bool api_read_generation(struct api_reader *reader) NODISCARD;
bool api_read_embeddings(struct api_reader *reader) NODISCARD;
bool api_read_rerank(struct api_reader *reader) NODISCARD;
bool api_read_classify(struct api_reader *reader) NODISCARD;
bool api_read_infer(struct api_reader *reader) NODISCARD;

#endif
