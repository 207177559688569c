#include "diagnose/sla.h"

#include "base/clock.h"
#include "base/i18n.h"
#include "base/str.h"
#include "base/units.h"
#include "stats/quantile.h"

#include <math.h>

static const struct {
	const char *prefix;
	enum load_metric metric;
} prefixes[] = {
	{ "", LOAD_LATENCY },
	{ "latency_", LOAD_LATENCY },
	{ "e2e_", LOAD_LATENCY },
	{ "response_", LOAD_RESPONSE },
	{ "ttfb_", LOAD_TTFB },
	{ "ttft_", LOAD_TTFT },
	{ "itl_", LOAD_ITL },
	{ "tpot_", LOAD_TPOT },
};

/* "50" and "99.9" are percent, "999" is how people write 99.9. */
static bool parse_quantile(struct str digits, double *ret)
{
	double percent;
	for (size_t i = 0; i < digits.len; i++)
		if ((digits.s[i] < '0' || digits.s[i] > '9') && digits.s[i] != '.')
			return false;
	if (digits.len < 2 || digits.len > 6 || !str_to_double(digits, &percent))
		return false;
	if (str_find(digits, STR(".")) < 0)
		percent /= pow(10, (double)digits.len - 2);
	if (!(percent > 0 && percent < 100))
		return false;
	*ret = percent / 100;
	return true;
}

static bool parse_metric(struct str name, struct sla_target *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct str prefix = str_of(prefixes[i].prefix);
		if (!str_starts(name, prefix))
			continue;
		struct str rest = { name.s + prefix.len, name.len - prefix.len };
		if (rest.len < 1 || rest.s[0] != 'p')
			continue;
		ret->metric = prefixes[i].metric;
		return parse_quantile((struct str){ rest.s + 1, rest.len - 1 }, &ret->quantile);
	}
	return false;
}

bool sla_parse(const char *text, struct arena *run, struct sla_target *ret, struct err *err)
{
	struct sla_target sla = { .present = true };
	struct str duration;
	struct str name = str_cut(str_trim(str_of(text)), '=', &duration);
	if (!parse_metric(name, &sla)) {
		err_set(err, ERR_USAGE, _("the target '%s' names no latency that is known"), text);
		return err_hint(err, _("write it as p99=150ms, ttft_p99=200ms or itl_p50=50ms"));
	}
	if (!units_parse_duration(duration, &sla.target_ns) || sla.target_ns <= 0) {
		err_set(err, ERR_USAGE, _("the target '%s' has no duration after the ="), text);
		return err_hint(err, _("write it as p99=150ms, ttft_p99=200ms or itl_p50=50ms"));
	}
	sla.text = str_c(name, run);
	*ret = sla;
	return true;
}

/* In an open loop a user waits from the planned moment on, not from the moment of sending. */
static const struct hist *metric_of(const struct sla_target *sla, const struct load_run *r)
{
	bool open_loop = r->concurrency == 0;
	if (sla->metric == LOAD_LATENCY && open_loop && r->metrics[LOAD_RESPONSE].n > 0)
		return &r->metrics[LOAD_RESPONSE];
	if (sla->metric == LOAD_RESPONSE && r->metrics[LOAD_RESPONSE].n == 0)
		return &r->metrics[LOAD_LATENCY];
	return &r->metrics[sla->metric];
}

double sla_measure(const struct sla_target *sla, const struct load_run *const *runs, int n_runs,
        struct arena *tmp, int64_t *ret_n)
{
	struct hist all = { 0 };
	hist_init(&all, tmp);
	double n_failed = 0;
	for (int i = 0; i < n_runs; i++) {
		const struct hist *h = metric_of(sla, runs[i]);
		hist_merge(&all, h);
		/* a failed request weighs as many values as an answered one */
		if (runs[i]->requests.ok > 0)
			n_failed += (double)runs[i]->requests.failed * (double)h->n /
			            (double)runs[i]->requests.ok;
	}
	*ret_n = all.n;
	if (all.n == 0)
		return NAN;
	int64_t rank = quantile_rank(all.n + (int64_t)n_failed, sla->quantile);
	if (rank > all.n)
		return INFINITY;
	return (double)hist_rank(&all, rank) / NS_PER_MS;
}
