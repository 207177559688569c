/*
 * reference.h - what the tales model must answer, from models/tales/reference.json.
 */
#ifndef VENTURI_TESTS_REFERENCE_H
#define VENTURI_TESTS_REFERENCE_H

#include "tap.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A file of the models that come with the project, wherever the test runs. */
static inline const char *reference_path(const char *name)
{
	static char path[4096];
	const char *root = getenv("VENTURI_SOURCE_ROOT");
	snprintf(path, sizeof(path), "%s/models/tales/%s", root ? root : ".", name);
	return path;
}

/* The whole of it, for json_decref; NULL fails the test. */
static inline json_t *reference_load(void)
{
	json_error_t e;
	json_t *all = json_load_file(reference_path("reference.json"), 0, &e);
	if (!CHECK(all != NULL))
		printf("#   %s: %s\n", e.source, e.text);
	return all;
}

static inline const char *reference_text(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* Whether the ids are those of the array. */
static inline bool reference_ids_equal(const json_t *array, const int32_t *ids, size_t n)
{
	if (!CHECK_INT(n, json_array_size(array)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!CHECK_INT(ids[i], json_integer_value(json_array_get(array, i))))
			return false;
	return true;
}

#endif
