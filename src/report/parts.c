#include "report/parts.h"

#include "base/i18n.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

double part_max(const struct signal *s)
{
	return s->max;
}

double part_p95(const struct signal *s)
{
	return s->p95;
}

double part_delta(const struct signal *s)
{
	return s->delta;
}

static bool has_values(const struct signal *s)
{
	return (s->state == SIGNAL_MEASURED || s->state == SIGNAL_ESTIMATED) && s->n > 0 &&
	       !isnan(s->mean);
}

bool part_values(const struct part *part, const struct signal *signals, size_t n, double *ret_mean,
        double *ret_second)
{
	const struct signal *shown = NULL;
	double sum = 0;
	int n_instances = 0;
	bool has_whole = false;
	for (size_t i = 0; i < n; i++) {
		const struct signal *s = &signals[i];
		if (strcmp(s->name, part->name) != 0 || !has_values(s) || has_whole)
			continue;
		if (!s->instance) {
			has_whole = true;
			n_instances = 0;
			shown = NULL;
		}
		sum += s->mean;
		n_instances++;
		if (!shown || s->mean > shown->mean)
			shown = s;
	}
	if (!shown)
		return false;
	bool summed = part->fold == PART_SUM && n_instances > 1;
	*ret_mean = summed ? sum : shown->mean;
	*ret_second = summed || !part->second ? NAN : part->second(shown);
	return true;
}

static const char *quantity(const struct part *part, double value, char out[LAYOUT_NUMBER])
{
	if (part->is_bytes && !isnan(value))
		return units_size(value, out);
	return layout_number(part->scale * value, out);
}

void parts_add(struct fields *f, const char *label, const struct signal *signals, size_t n,
        const struct part *parts, size_t n_parts)
{
	AUTO(auto_buf) struct buf list = { 0 };
	char mean[LAYOUT_NUMBER], second[LAYOUT_NUMBER];
	for (size_t i = 0; i < n_parts; i++) {
		const struct part *part = &parts[i];
		double value, other;
		if (!part_values(part, signals, n, &value, &other) ||
		        (part->only_above_0 && !(value > 0)))
			continue;
		buf_add_c(&list, list.len > 0 ? _(", ") : "");
		quantity(part, value, mean);
		quantity(part, other, second);
		if (part->bare && isnan(other))
			buf_printf(&list, _(part->bare), mean);
		else
			buf_printf(&list, _(part->fmt), mean, second);
	}
	fields_add_present(f, label, list.len ? list.s : NULL);
}
