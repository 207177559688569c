/*
 * gguf.h - reads GGUF, versions 2 and 3: keys with values, and tensors, in one file.
 *
 * The file is not trusted. Opening it checks every count, size, type and offset against the bytes
 * that are there, so that whatever the functions below hand out lies inside the file; memory use
 * grows with the file, not with what the file claims. Which keys and shapes a model needs is the
 * caller's to check.
 *
 * Views point into the file and live until gguf_close. A file is read-only after it was opened and
 * may be shared by threads; it must not be shortened by others while it is open.
 *
 * Source: the GGUF specification in the documentation of ggml.
 */
#ifndef VENTURI_TOKEN_GGUF_H
#define VENTURI_TOKEN_GGUF_H

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GGUF_KEYS_MAX = 1 << 16,
	GGUF_TENSORS_MAX = 1 << 16,
	GGUF_NAME_BYTES_MAX = 65535, /* of a key or a tensor */
	GGUF_ARRAY_MAX = 1 << 24,    /* elements */
	GGUF_DIMS_MAX = 4,
	GGUF_ALIGNMENT_MAX = 1 << 16,
	GGUF_QUOTE = 96,
};

/* Types of values, as numbered in the file. */
enum gguf_type {
	GGUF_U8,
	GGUF_I8,
	GGUF_U16,
	GGUF_I16,
	GGUF_U32,
	GGUF_I32,
	GGUF_F32,
	GGUF_BOOL,
	GGUF_STRING,
	GGUF_ARRAY,
	GGUF_U64,
	GGUF_I64,
	GGUF_F64,
};

/* Types of tensors whose bytes are read here, as numbered in the file. */
enum gguf_tensor_type {
	GGUF_TENSOR_F32 = 0,
	GGUF_TENSOR_F16 = 1,
	GGUF_TENSOR_BF16 = 30,
};

struct gguf_value {
	struct str key;
	enum gguf_type type;
	enum gguf_type of;       /* of an array's elements, else the type again */
	uint64_t n;              /* elements of an array, else 1 */
	const unsigned char *at; /* the first element, not aligned */
};

struct gguf_tensor {
	struct str name;
	uint32_t type;
	int n_dims;
	uint64_t dims[GGUF_DIMS_MAX]; /* fastest first; 1 from n_dims on */
	uint64_t n_elements;
	uint64_t offset;           /* from the start of the data */
	size_t bytes;              /* 0 for a type that is not read here */
	const unsigned char *data; /* aligned to 8 */
};

struct gguf;

/* errors   ERR_INPUT that names the file and the key or tensor that is wrong */
bool gguf_open(const char *path, struct gguf **ret_file, struct err *err) NODISCARD;

/* The same for n bytes in memory, aligned to 8, that outlive the file; errors name no file. */
bool gguf_parse(const void *bytes, size_t n, struct gguf **ret_file, struct err *err) NODISCARD;
void gguf_close(struct gguf *file);

/* NULL when there is none; key and name are C strings. */
const struct gguf_value *gguf_value(const struct gguf *file, const char *key);
const struct gguf_tensor *gguf_tensor(const struct gguf *file, const char *name);

/* All tensors, sorted by name. */
const struct gguf_tensor *gguf_tensors(const struct gguf *file, size_t *ret_n);

/*
 * One value. An absent key, another type, or a number outside min to max or not finite is an
 * ERR_INPUT that names the key.
 *
 * int      any of the whole-number types
 * real     F32 or F64
 * array    n elements of the type, or any number of them where n is 0
 */
bool gguf_int(const struct gguf *file, const char *key, int64_t min, int64_t max,
        int64_t *ret_value, struct err *err) NODISCARD;
bool gguf_real(const struct gguf *file, const char *key, double min, double max, double *ret_value,
        struct err *err) NODISCARD;
bool gguf_bool(
        const struct gguf *file, const char *key, bool *ret_value, struct err *err) NODISCARD;
bool gguf_string(
        const struct gguf *file, const char *key, struct str *ret_value, struct err *err) NODISCARD;
bool gguf_array(const struct gguf *file, const char *key, enum gguf_type of, uint64_t n,
        const struct gguf_value **ret_value, struct err *err) NODISCARD;

/* Element i of an array of that type. */
float gguf_array_f32(const struct gguf_value *array, uint64_t i);
int32_t gguf_array_i32(const struct gguf_value *array, uint64_t i);

/* Takes the next string of an array: *at starts as array->at and moves on; n times at most. */
struct str gguf_array_next_string(const unsigned char **at);

/* "F32", "Q4_K"; NULL for a number that names no type. */
const char *gguf_tensor_type_name(uint32_t type);

/* Whether gguf_read_f32 reads this type; ERR_INPUT that names it when not. */
bool gguf_check_readable(const struct gguf_tensor *tensor, struct err *err) NODISCARD;

/*
 * The values of a tensor as float32.
 *
 * ret_values  [n_elements]
 * errors      those of gguf_check_readable, and ERR_INPUT for a value that is not finite
 */
bool gguf_read_f32(const struct gguf_tensor *tensor, float *ret_values, struct err *err) NODISCARD;

/* A name from the file as a message can show it: without control characters, and not too long. */
const char *gguf_quote(struct str name, char out[GGUF_QUOTE]);

#endif
