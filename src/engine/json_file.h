/*
 * json_file.h - small JSON files that say how a model is to be understood: their fields with the
 * types and ranges that they must have.
 *
 * errors   ERR_INPUT that names the key, not the file, unless said otherwise
 */
#ifndef VENTURI_ENGINE_JSON_FILE_H
#define VENTURI_ENGINE_JSON_FILE_H

#include "base/attr.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_FILE_QUOTE = 100 }; /* bytes of a value that are shown in an error */

/*
 * ret      json_decref'd by the caller
 * errors   ERR_INPUT that names the file and the line; a key that stands twice is one, and so is a
 *          file of more than max_bytes
 */
bool json_file_load(const char *path, size_t max_bytes, json_t **ret, struct err *err) NODISCARD;

/* A whole number from min to max; where there is none (or null) *ret stays as it is if optional. */
bool json_file_int(const json_t *object, const char *key, bool optional, int64_t min, int64_t max,
        int *ret, struct err *err) NODISCARD;
/* Above 0 and below 1; *ret stays as it is where there is none. */
bool json_file_ratio(const json_t *object, const char *key, double *ret, struct err *err) NODISCARD;
/* *ret stays as it is where there is none. */
bool json_file_bool(const json_t *object, const char *key, bool *ret, struct err *err) NODISCARD;
/* NULL in *ret where there is none; lives as long as the object. */
bool json_file_text(
        const json_t *object, const char *key, const char **ret, struct err *err) NODISCARD;

#endif
