/*
 * The list of readers, and which of them reads a file.
 */
#include "trace/reader.h"

#include "base/i18n.h"
#include "trace/readers/readers.h"

#include <string.h>

/* From the exact to the general: the first that recognises the file reads it. */
const struct trace_reader *const trace_readers[] = {
	&nsys_sqlite_reader,
	&nsys_stats_reader,
	&ncu_reader,
	&rocprof_json_reader,
	&rocprof_csv_reader,
	&xplane_reader,
	&xprof_json_reader,
	&kineto_reader,
	&torch_legacy_reader,
	&ort_reader,
	&llama_opencl_reader,
	&chrome_reader,
	NULL,
};

static const struct trace_reader *reader_of(const struct source *source)
{
	for (size_t i = 0; trace_readers[i]; i++)
		if (trace_readers[i]->recognises(source))
			return trace_readers[i];
	return NULL;
}

bool trace_is_known(const char *path)
{
	struct source source;
	struct err err;
	if (!source_open(&source, path, &err))
		return false;
	bool known = reader_of(&source) != NULL;
	source_close(&source);
	return known;
}

/* Files of profilers that keep their format to themselves, and what makes a readable one of them.
 */
static const struct {
	struct str suffix;
	const char *hint;
} exports[] = {
	{ STR_INIT(".nsys-rep"), N_("export it: nsys export --type sqlite FILE") },
	{ STR_INIT(".qdrep"), N_("export it: nsys export --type sqlite FILE") },
	{ STR_INIT(".ncu-rep"), N_("export it: ncu --import FILE --csv --page details") },
	{ STR_INIT(".pftrace"), N_("record it as JSON or CSV: rocprofv3 --output-format json") },
	{ STR_INIT(".rocpd"), N_("record it as JSON or CSV: rocprofv3 --output-format json") },
};

static bool unknown_format(const char *path, struct err *err)
{
	const char *hint = N_("known are traces of PyTorch, ONNX Runtime, JAX and TensorFlow "
	                      "(XPlane), Nsight Systems (SQLite, CSV), Nsight Compute (CSV), "
	                      "rocprof (JSON, CSV) and other Chrome traces");
	for (size_t i = 0; i < ARRAY_LEN(exports); i++)
		if (str_ends(str_of(path), exports[i].suffix))
			hint = exports[i].hint;
	err_set(err, ERR_INPUT, _("'%s' is no trace of a profiler that is known"), path);
	return err_hint(err, "%s", _(hint));
}

bool trace_read_file(const char *path, struct timeline *t, struct err *err)
{
	struct source source;
	if (!source_open(&source, path, err))
		return false;
	const struct trace_reader *reader = reader_of(&source);
	bool ok;
	if (reader) {
		timeline_init(t, path, reader->name);
		ok = reader->read(&source, t, err);
		t->truncated |= source.damaged;
		/* What SQLite reads by itself is of the size of the file. */
		t->n_bytes = source.n_read ? source.n_read : source.size;
		if (ok)
			timeline_drop_duplicates(t);
	} else {
		ok = unknown_format(path, err);
	}
	source_close(&source);
	return ok;
}
