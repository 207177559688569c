/*
 * nsys_info.c - what an Nsight Systems database says besides events: its version, when it was
 * recorded, the devices, and the sampled counters of devices.
 */
#include "trace/readers/nsys.h"

#include <stdlib.h>
#include <string.h>

enum { META_NAME, META_VALUE };
static const char *const meta_columns[] = { [META_NAME] = "name", [META_VALUE] = "value" };

/* The version; a schema's version where the table is from before there was one of the product. */
static void read_version(struct nsys *n, const char *table)
{
	struct nsys_scan s;
	AUTO(auto_buf) struct buf product = { 0 }, schema = { 0 };
	if (!nsys_scan_open(&s, &n->db, table, meta_columns, 2))
		return;
	while (nsys_scan_next(&s)) {
		struct str name = nsys_text(&s, META_NAME);
		struct buf *to = str_eq(name, STR("EXPORT_PRODUCT_VERSION"))  ? &product
		                 : str_eq(name, STR("EXPORT_SCHEMA_VERSION")) ? &schema
		                                                              : NULL;
		if (to) {
			buf_clear(to);
			buf_add(to, nsys_text(&s, META_VALUE));
		}
	}
	nsys_scan_close(&s);
	buf_clear(&n->scratch);
	buf_add_c(&n->scratch, "Nsight Systems");
	if (product.len)
		buf_printf(&n->scratch, " %s", product.s);
	else if (schema.len)
		buf_printf(&n->scratch, " (schema %s)", schema.s);
	n->t->software = timeline_name(n->t, buf_str(&n->scratch));
}

static void read_session_start(struct nsys *n)
{
	static const char *const columns[] = { "utcEpochNs" };
	struct nsys_scan s;
	int64_t epoch;
	if (!nsys_scan_open(&s, &n->db, "TARGET_INFO_SESSION_START_TIME", columns, 1))
		return;
	if (nsys_scan_next(&s) && nsys_number(&s, 0, &epoch) && epoch > 0)
		n->t->base_unix_ns = epoch;
	nsys_scan_close(&s);
}

enum gpu_column {
	GPU_ID,
	GPU_CUDA_ID,
	GPU_NAME,
	GPU_SMS,
	GPU_MEMORY,
	GPU_MAJOR,
	GPU_MINOR,
	GPU_WARPS_PER_SM,
	GPU_THREADS_PER_WARP,
	GPU_THREADS_PER_BLOCK,
	GPU_REGISTERS_PER_SM,
	GPU_SHARED_PER_SM,
	N_GPU_COLUMNS,
};

static const char *const gpu_columns[N_GPU_COLUMNS] = {
	[GPU_ID] = "id",
	[GPU_CUDA_ID] = "cuDevice",
	[GPU_NAME] = "name",
	[GPU_SMS] = "smCount",
	[GPU_MEMORY] = "totalMemory",
	[GPU_MAJOR] = "computeMajor",
	[GPU_MINOR] = "computeMinor",
	[GPU_WARPS_PER_SM] = "maxWarpsPerSm",
	[GPU_THREADS_PER_WARP] = "threadsPerWarp",
	[GPU_THREADS_PER_BLOCK] = "maxThreadsPerBlock",
	[GPU_REGISTERS_PER_SM] = "maxRegistersPerSm",
	[GPU_SHARED_PER_SM] = "maxShmemPerSm",
};

static int64_t above_zero(const struct nsys_scan *s, enum gpu_column column)
{
	int64_t value = nsys_int(s, (int)column, -1);
	return value > 0 ? value : -1;
}

static void gpu_row(struct nsys *n, const struct nsys_scan *s)
{
	int64_t id;
	if (!nsys_number(s, GPU_CUDA_ID, &id) && !nsys_number(s, GPU_ID, &id))
		return;
	struct device_info *d = timeline_device(n->t, id);
	struct str name = nsys_text(s, GPU_NAME);
	int64_t warps = above_zero(s, GPU_WARPS_PER_SM);
	int64_t threads = above_zero(s, GPU_THREADS_PER_WARP);
	d->name = name.len ? timeline_name(n->t, name) : 0;
	d->n_sm = above_zero(s, GPU_SMS);
	d->memory_bytes = above_zero(s, GPU_MEMORY);
	d->compute_major = above_zero(s, GPU_MAJOR);
	d->compute_minor = nsys_int(s, GPU_MINOR, -1);
	d->warp_size = threads;
	d->max_threads_per_block = above_zero(s, GPU_THREADS_PER_BLOCK);
	d->registers_per_sm = above_zero(s, GPU_REGISTERS_PER_SM);
	d->shared_bytes_per_sm = above_zero(s, GPU_SHARED_PER_SM);
	if (warps > 0 && warps < 1024 && threads > 0 && threads < 1024)
		d->max_threads_per_sm = warps * threads;
}

enum { MAX_DEVICES = 1024 };

static void read_devices(struct nsys *n)
{
	struct nsys_scan s;
	if (!nsys_scan_open(&s, &n->db, "TARGET_INFO_GPU", gpu_columns, N_GPU_COLUMNS))
		return;
	while (nsys_scan_next(&s) && s.n_rows <= MAX_DEVICES)
		gpu_row(n, &s);
	nsys_scan_close(&s);
}

void nsys_read_info(struct nsys *n)
{
	static const char *const tables[] = { "META_DATA_EXPORT", "EXPORT_META_DATA" };
	for (size_t i = 0; i < 2 && n->t->software == 0; i++)
		read_version(n, tables[i]);
	read_session_start(n);
	read_devices(n);
}

/* A counter is named by two numbers together. */
struct metric {
	int64_t type, id;
	uint32_t name;
};

static int by_type_and_id(const void *a, const void *b)
{
	const struct metric *x = a, *y = b;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

enum { METRIC_TYPE, METRIC_ID, METRIC_NAME, METRIC_TIME, METRIC_VALUE, N_METRIC_COLUMNS };

static const char *const metric_columns[N_METRIC_COLUMNS] = {
	[METRIC_TYPE] = "typeId",
	[METRIC_ID] = "metricId",
	[METRIC_NAME] = "metricName",
	[METRIC_TIME] = "timestamp",
	[METRIC_VALUE] = "value",
};

enum { MAX_METRICS = 1 << 16 };

static size_t read_metric_names(struct nsys *n, struct metric **ret)
{
	struct nsys_scan s;
	struct metric *v = NULL;
	size_t n_metrics = 0;
	if (!nsys_scan_open(
	            &s, &n->db, "TARGET_INFO_GPU_METRICS", metric_columns, N_METRIC_COLUMNS))
		return 0;
	v = mem_zeroed(MAX_METRICS, sizeof *v);
	while (n_metrics < MAX_METRICS && nsys_scan_next(&s)) {
		struct metric m = { 0 };
		struct str name = nsys_text(&s, METRIC_NAME);
		if (!nsys_number(&s, METRIC_TYPE, &m.type) || !nsys_number(&s, METRIC_ID, &m.id))
			continue;
		m.name = timeline_name(n->t, name);
		v[n_metrics++] = m;
	}
	nsys_scan_close(&s);
	qsort(v, n_metrics, sizeof *v, by_type_and_id);
	*ret = v;
	return n_metrics;
}

/* typeId names a device in its lowest 8 bits. */
enum { DEVICE_OF_TYPE = 0xFF };

static void metric_row(
        struct nsys *n, const struct nsys_scan *s, const struct metric *metrics, size_t n_metrics)
{
	struct metric key = { 0 };
	struct counter_sample sample = { 0 };
	if (!nsys_number(s, METRIC_TIME, &sample.time_ns) || sample.time_ns > TRACE_MAX_TIME_NS ||
	        sample.time_ns < -TRACE_MAX_TIME_NS) {
		n->t->lost[LOST_NO_TIME]++;
		return;
	}
	if (!nsys_number(s, METRIC_TYPE, &key.type) || !nsys_number(s, METRIC_ID, &key.id)) {
		n->t->lost[LOST_BAD_NUMBER]++;
		return;
	}
	const struct metric *found =
	        n_metrics ? bsearch(&key, metrics, n_metrics, sizeof key, by_type_and_id) : NULL;
	sample.device = key.type & DEVICE_OF_TYPE;
	sample.name = found ? found->name : nsys_number_name(n, key.id);
	sample.value = nsys_double(s, METRIC_VALUE, 0);
	timeline_counter(n->t, &sample);
}

void nsys_read_gpu_metrics(struct nsys *n)
{
	struct nsys_scan s;
	AUTO(auto_free) struct metric *metrics = NULL;
	if (!nsys_scan_open(&s, &n->db, "GPU_METRICS", metric_columns, N_METRIC_COLUMNS))
		return;
	size_t n_metrics = read_metric_names(n, &metrics);
	while (nsys_scan_next(&s))
		metric_row(n, &s, metrics, n_metrics);
	nsys_scan_close(&s);
	tallies_add(&n->t->rows, timeline_name(n->t, STR("GPU_METRICS")), s.n_rows);
	n->t->n_events += s.n_rows;
}
