/*
 * shapes.h - the shapes and types of an operator's inputs, read from the texts that profilers
 * write: "Input Dims", "Input type" and "Concrete Inputs" of PyTorch, input_type_shape of ONNX
 * Runtime.
 *
 * Fixed in size: what goes beyond the limits is left out and said (cut). Damage gives what stands
 * before it.
 */
#ifndef VENTURI_TRACE_SHAPES_H
#define VENTURI_TRACE_SHAPES_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SHAPE_MAX_RANK = 8,
	SHAPE_MAX_INPUTS = 16,
	SHAPE_MAX_TEXT = 64 * 1024, /* bytes of a text that are looked at */
};
/* Sizes beyond this are damage. */
#define SHAPE_MAX_ELEMENTS (INT64_C(1) << 48)

enum element_type {
	ELEMENT_UNKNOWN,
	ELEMENT_FLOAT64,
	ELEMENT_FLOAT32,
	ELEMENT_TFLOAT32, /* float32 inputs of a product that is taken with ten bits of mantissa */
	ELEMENT_FLOAT16,
	ELEMENT_BFLOAT16,
	ELEMENT_FLOAT8,
	ELEMENT_FLOAT4,
	ELEMENT_INT64,
	ELEMENT_INT32,
	ELEMENT_INT16,
	ELEMENT_INT8,
	ELEMENT_BOOL,
	N_ELEMENT_TYPES,
};
/* "unknown", "float64", "float32", "tf32", "float16", ... */
extern const char *const element_type_names[N_ELEMENT_TYPES];

/* Of any spelling: "c10::BFloat16", "float", "long int", "float8e4m3fn". */
enum element_type element_type_of(struct str text);
/* Bytes of n elements; unknown types count as none. */
double element_bytes(enum element_type type, double n);

/* One input: a tensor, a list of tensors, or neither. */
struct shape {
	int rank;                     /* 0: a scalar, or no tensor at all */
	int64_t dims[SHAPE_MAX_RANK]; /* of the first of a list */
	int n_tensors;                /* 1; in a list as many as it has */
	int64_t elements;             /* of all tensors of the list; 0 where the rank is 0 */
	enum element_type type;
	struct str value; /* "Concrete Inputs": "[2, 2]", "False"; a view into the text */
};

struct shapes {
	size_t n;
	struct shape v[SHAPE_MAX_INPUTS];
	bool cut; /* something did not fit, or is no shape */
};

/*
 * Texts may be empty. dims is [[8,64],[],[[2,3],[4,3]]] or [{"float":[8,64]}, ...]; the latter
 * brings its types. The views of values point into the text.
 */
void shapes_parse(struct shapes *s, struct str dims, struct str types, struct str values);

/* The whole numbers of a value, "[2, 2]" or "2"; returns how many, at most max. */
size_t shape_numbers(struct str value, int64_t *ret, size_t max);

/* The text without the blanks and line ends that some writers put into it. */
struct str shapes_compact(struct str text, struct arena *arena);

/* The product of dims[from..to), 1 for none; saturates at SHAPE_MAX_ELEMENTS. */
int64_t shape_product(const struct shape *s, int from, int to);

#endif
