#include "stats/dist.h"

#include "base/i18n.h"
#include "base/str.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

/* How far from 1 the weights of a mixture may add up, for those who write 0.333. */
static const double weight_slack = 1e-3;

static bool wrong(const struct dist *d, const char *form, struct err *err)
{
	return err_set(err, ERR_USAGE, _("'%s' is not of the form %s"), d->text, form);
}

static bool in_range(const struct dist *d, double value, struct err *err)
{
	if (value >= d->min && value <= DIST_VALUE_MAX)
		return true;
	return err_set(err, ERR_USAGE, _("'%s': %.15g is not between %.15g and %.15g"), d->text,
	        value, d->min, DIST_VALUE_MAX);
}

typedef bool (*read_number_fn)(struct str text, double *ret_value);

static bool read_duration(struct str text, double *ret_ns)
{
	int64_t ns;
	if (!units_parse_duration(text, &ns))
		return false;
	*ret_ns = (double)ns;
	return true;
}

/* How a value is written; a spread, a weight or a share is a plain number always. */
static read_number_fn value_reader(const struct dist *d)
{
	return d->durations ? read_duration : str_to_double;
}

/* "A<sep>B"; false when it is anything else. */
static bool two_numbers(struct str text, const char *sep, read_number_fn read_a,
        read_number_fn read_b, double *ret_a, double *ret_b)
{
	ptrdiff_t at = str_find(text, str_of(sep));
	if (at < 0)
		return false;
	size_t after = (size_t)at + strlen(sep);
	struct str a = { text.s, (size_t)at };
	struct str b = { text.s + after, text.len - after };
	return read_a(str_trim(a), ret_a) && read_b(str_trim(b), ret_b);
}

static bool parse_constant(struct str rest, struct arena *run, struct dist *d, struct err *err)
{
	(void)run;
	if (value_reader(d)(rest, &d->a))
		return in_range(d, d->a, err);
	if (d->durations) {
		err_set(err, ERR_USAGE, _("'%s' is neither a duration nor a distribution"), d->text);
		return err_hint(err, _("write a duration such as 2s, uniform:LOW..HIGH, "
		                       "normal:MEAN,SD, lognormal:MEAN,CV, mix:WEIGHT*VALUE,... or "
		                       "file:PATH"));
	}
	err_set(err, ERR_USAGE, _("'%s' is neither a number nor a distribution"), d->text);
	return err_hint(err, _("write a number, uniform:LOW..HIGH, normal:MEAN,SD, "
	                       "lognormal:MEAN,CV, mix:WEIGHT*VALUE,... or file:PATH"));
}

static bool parse_uniform(struct str rest, struct arena *run, struct dist *d, struct err *err)
{
	read_number_fn read = value_reader(d);
	(void)run;
	if (!two_numbers(rest, "..", read, read, &d->a, &d->b))
		return wrong(d, "uniform:LOW..HIGH", err);
	if (d->a > d->b)
		return err_set(
		        err, ERR_USAGE, _("'%s': the low end is above the high end"), d->text);
	return in_range(d, d->a, err) && in_range(d, d->b, err);
}

/* Spreads have no least value but 0, whatever the samples are. */
static bool parse_spread(struct dist *d, struct err *err)
{
	if (d->b >= 0 && d->b <= DIST_VALUE_MAX)
		return in_range(d, d->a, err);
	return err_set(err, ERR_USAGE, _("'%s': the spread %.15g is not between 0 and %.15g"),
	        d->text, d->b, DIST_VALUE_MAX);
}

static bool parse_normal(struct str rest, struct arena *run, struct dist *d, struct err *err)
{
	read_number_fn read = value_reader(d);
	(void)run;
	if (!two_numbers(rest, ",", read, read, &d->a, &d->b))
		return wrong(d, "normal:MEAN,SD", err);
	return parse_spread(d, err);
}

static bool parse_lognormal(struct str rest, struct arena *run, struct dist *d, struct err *err)
{
	(void)run;
	if (!two_numbers(rest, ",", value_reader(d), str_to_double, &d->a, &d->b))
		return wrong(d, "lognormal:MEAN,CV", err);
	if (d->a <= 0)
		return err_set(
		        err, ERR_USAGE, _("'%s': the mean of a lognormal is above 0"), d->text);
	return parse_spread(d, err);
}

static size_t count_lines(struct str text)
{
	size_t n = 0;
	while (text.len)
		n += str_trim(str_cut(text, '\n', &text)).len > 0;
	return n;
}

static bool parse_file(struct str rest, struct arena *run, struct dist *d, struct err *err)
{
	AUTO(arena_release) struct arena tmp = { 0 };
	struct str text;
	const char *path = str_c(rest, run);
	if (rest.len == 0)
		return wrong(d, "file:PATH", err);
	if (!str_read_file(path, DIST_FILE_MAX_BYTES, &tmp, &text, err))
		return false;
	size_t n = count_lines(text);
	if (n == 0)
		return err_set(err, ERR_INPUT, _("'%s' holds no number"), path);
	d->values = arena_new_n(run, double, n);
	for (int number = 1; text.len; number++) {
		struct str line = str_trim(str_cut(text, '\n', &text));
		double value;
		if (line.len == 0)
			continue;
		if (!value_reader(d)(line, &value))
			return err_set(err, ERR_INPUT,
			        d->durations ? _("'%s', line %d: '%.*s' is not a duration")
			                     : _("'%s', line %d: '%.*s' is not a number"),
			        path, number, line.len < 40 ? (int)line.len : 40, line.s);
		if (value < d->min || value > DIST_VALUE_MAX)
			return err_set(err, ERR_INPUT,
			        _("'%s', line %d: %.15g is not between %.15g and %.15g"), path,
			        number, value, d->min, DIST_VALUE_MAX);
		d->values[d->n++] = value;
	}
	return true;
}

static bool parse_mix(struct str rest, struct arena *run, struct dist *d, struct err *err)
{
	double total = 0;
	d->values = arena_new_n(run, double, DIST_MIX_MAX);
	d->weights = arena_new_n(run, double, DIST_MIX_MAX);
	do {
		double weight;
		if (d->n == DIST_MIX_MAX)
			return err_set(err, ERR_USAGE, _("'%s' has more than %d parts"), d->text,
			        DIST_MIX_MAX);
		if (!two_numbers(str_cut(rest, ',', &rest), "*", str_to_double, value_reader(d),
		            &weight, &d->values[d->n]) ||
		        !(weight >= 0))
			return wrong(d, "mix:WEIGHT*VALUE,WEIGHT*VALUE", err);
		if (!in_range(d, d->values[d->n], err))
			return false;
		total += weight;
		d->weights[d->n++] = total;
	} while (rest.len);
	if (fabs(total - 1) > weight_slack)
		return err_set(err, ERR_USAGE, _("'%s': the weights add up to %.6g, not to 1"),
		        d->text, total);
	for (size_t i = 0; i < d->n; i++)
		d->weights[i] /= total;
	return true;
}

static const struct {
	const char *prefix;
	enum dist_kind kind;
	bool (*parse)(struct str rest, struct arena *run, struct dist *d, struct err *err);
} kinds[] = {
	{ "uniform:", DIST_UNIFORM, parse_uniform }, { "normal:", DIST_NORMAL, parse_normal },
	{ "lognormal:", DIST_LOGNORMAL, parse_lognormal }, { "file:", DIST_FILE, parse_file },
	{ "mix:", DIST_MIX, parse_mix },
	{ "", DIST_CONSTANT, parse_constant }, /* last: every text starts with nothing */
};

static bool parse(
        const char *text, struct dist d, struct arena *run, struct dist *ret_dist, struct err *err)
{
	struct str all = str_trim(str_of(text));
	size_t i = 0;
	while (!str_starts(all, str_of(kinds[i].prefix)))
		i++;
	size_t skip = strlen(kinds[i].prefix);
	d.kind = kinds[i].kind;
	if (!kinds[i].parse((struct str){ all.s + skip, all.len - skip }, run, &d, err))
		return false;
	*ret_dist = d;
	return true;
}

bool dist_parse(
        const char *text, double min, struct arena *run, struct dist *ret_dist, struct err *err)
{
	const struct dist d = { .min = min, .text = arena_strdup(run, text) };
	return parse(text, d, run, ret_dist, err);
}

bool dist_parse_duration(
        const char *text, struct arena *run, struct dist *ret_dist, struct err *err)
{
	const struct dist d = { .durations = true, .text = arena_strdup(run, text) };
	return parse(text, d, run, ret_dist, err);
}

/* Mean and deviation of the logarithm of a lognormal with mean a and coefficient of variation b. */
static void log_moments(const struct dist *d, double *ret_mean, double *ret_sd)
{
	double variance = log1p(d->b * d->b);
	*ret_mean = log(d->a) - variance / 2;
	*ret_sd = sqrt(variance);
}

static double sample_lognormal(const struct dist *d, struct rng *rng)
{
	double mean, sd;
	log_moments(d, &mean, &sd);
	return exp(mean + sd * rng_normal(rng));
}

static double sample_mix(const struct dist *d, struct rng *rng)
{
	double u = rng_uniform(rng);
	size_t i = 0;
	while (i + 1 < d->n && u >= d->weights[i])
		i++;
	return d->values[i];
}

double dist_sample(const struct dist *d, struct rng *rng)
{
	switch (d->kind) {
	case DIST_CONSTANT:
		break;
	case DIST_UNIFORM:
		return d->a + (d->b - d->a) * rng_uniform(rng);
	case DIST_NORMAL:
		return fmax(d->min, d->a + d->b * rng_normal(rng));
	case DIST_LOGNORMAL:
		return fmax(d->min, sample_lognormal(d, rng));
	case DIST_FILE:
		return d->values[rng_below(rng, d->n)];
	case DIST_MIX:
		return sample_mix(d, rng);
	}
	return d->a;
}

/* P(Z <= z) of the standard normal. */
static double normal_cdf(double z)
{
	return erfc(-z * M_SQRT1_2) / 2;
}

static double mean_normal(const struct dist *d)
{
	if (d->b == 0)
		return fmax(d->min, d->a);
	double z = (d->a - d->min) / d->b;
	double density = exp(-z * z / 2) / sqrt(2 * M_PI);
	return d->min + (d->a - d->min) * normal_cdf(z) + d->b * density;
}

static double mean_lognormal(const struct dist *d)
{
	double mean, sd;
	log_moments(d, &mean, &sd);
	if (d->min <= 0 || sd == 0)
		return fmax(d->min, d->a);
	double z = (log(d->min) - mean) / sd;
	return d->min * normal_cdf(z) + d->a * normal_cdf(sd - z);
}

static double mean_file(const struct dist *d)
{
	double sum = 0;
	for (size_t i = 0; i < d->n; i++)
		sum += d->values[i];
	return sum / (double)d->n;
}

static double mean_mix(const struct dist *d)
{
	double mean = 0;
	for (size_t i = 0; i < d->n; i++)
		mean += d->values[i] * (d->weights[i] - (i > 0 ? d->weights[i - 1] : 0));
	return mean;
}

double dist_mean(const struct dist *d)
{
	switch (d->kind) {
	case DIST_CONSTANT:
		break;
	case DIST_UNIFORM:
		return (d->a + d->b) / 2;
	case DIST_NORMAL:
		return mean_normal(d);
	case DIST_LOGNORMAL:
		return mean_lognormal(d);
	case DIST_FILE:
		return mean_file(d);
	case DIST_MIX:
		return mean_mix(d);
	}
	return d->a;
}
