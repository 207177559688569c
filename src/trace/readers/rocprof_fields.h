/*
 * rocprof_fields.h - the members of an object of rocprofv3's JSON that are wanted, as views.
 */
#ifndef VENTURI_TRACE_READERS_ROCPROF_FIELDS_H
#define VENTURI_TRACE_READERS_ROCPROF_FIELDS_H

#include "trace/input/loose_json.h"

#include <stddef.h>

enum rocprof_shape {
	SHAPE_PLAIN,
	SHAPE_HANDLE, /* {"handle": 7}, {"internal": 7, "external": 0}: the 7 */
	SHAPE_XYZ,    /* {"x": 1, "y": 1, "z": 1}: three views */
	SHAPE_GROUP,  /* an object whose members count as those of the object around it */
};

/* A member, and where in the struct its view goes. */
struct rocprof_field {
	struct str key;
	enum rocprof_shape shape;
	size_t offset; /* of a struct str; of struct str[3] for SHAPE_XYZ */
};

/*
 * Reads the object that the cursor stands before into the struct at ret; another value is passed
 * over and counted as broken.
 */
void rocprof_read_object(
        struct loose_json *j, const struct rocprof_field *fields, size_t n, void *ret);

#endif
