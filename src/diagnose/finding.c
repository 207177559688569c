#include "diagnose/finding.h"

#include "base/i18n.h"

#include <stdarg.h>
#include <stdio.h>

static const char *source_of(const struct load_run *r, struct arena *run)
{
	if (!r)
		return arena_strdup(run, _("load, all runs"));
	if (r->concurrency > 0)
		return arena_printf(run, _("load, concurrency %lld"), (long long)r->concurrency);
	return arena_printf(run, _("load, %.4g requests per second"), r->rate_per_s);
}

static void add(struct cause_finding *f, struct fact fact)
{
	if (f->n_facts < CAUSE_MAX_FACTS && isfinite(fact.value))
		f->facts[f->n_facts++] = fact;
}

void finding_add(struct examination *x, const char *name, double value, const char *unit,
        int anchor_or, const struct load_run *r, int64_t n)
{
	add(x->finding, (struct fact){
	                        .name = name,
	                        .value = value,
	                        .unit = unit,
	                        .threshold = anchor_or == NO_ANCHOR ? NAN : anchor(anchor_or),
	                        .source = source_of(r, x->run),
	                        .n = n,
	                        .state = FACT_MEASURED,
	                });
}

void finding_effect(struct examination *x, const char *name, const struct effect *e)
{
	add(x->finding,
	        (struct fact){
	                .name = name,
	                .value = e->ratio,
	                .unit = "ratio",
	                .threshold = e->ratio < 1 ? 1 - e->noise : 1 + e->noise,
	                .source = arena_printf(x->run, _("load, %d interleaved pairs"), e->n),
	                .n = e->n,
	                .state = FACT_MEASURED,
	        });
}

void finding_cite(struct examination *x, const struct fact *fact, const char *source)
{
	struct fact cited = *fact;
	cited.source = source;
	add(x->finding, cited);
}

void finding_conclude(struct examination *x, enum cause_state state, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	x->finding->state = state;
	x->finding->why = arena_strdup(x->run, text);
	if (state != CAUSE_NOT_EXAMINED)
		x->finding->needs = NULL;
}

void finding_needs(struct examination *x, const char *needs)
{
	x->finding->state = CAUSE_NOT_EXAMINED;
	x->finding->needs = needs;
}

void finding_predict(struct examination *x, const char *metric, double low, double high,
        const char *unit, const char *rule)
{
	x->finding->predicted = (struct prediction){
		.present = true,
		.metric = metric,
		.low = low,
		.high = high,
		.unit = unit,
		.rule = rule,
	};
}
