#include "diagnose/cause.h"

#include "base/i18n.h"

#include <assert.h>
#include <string.h>

static const struct cause_group *const groups[] = {
	&cause_group_measurement,
	&cause_group_pipeline,
	&cause_group_batching,
	&cause_group_memory,
	&cause_group_system,
	&cause_group_operators,
	&cause_group_limits,
};

static const struct cause_group *group_of(size_t *i)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		if (*i < groups[g]->n)
			return groups[g];
		*i -= groups[g]->n;
	}
	return NULL;
}

const struct cause *cause_at(size_t i)
{
	const struct cause_group *group = group_of(&i);
	return group ? &group->causes[i] : NULL;
}

const struct cause *cause_by_id(const char *id)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		if (strcmp(cause_at(i)->id, id) == 0)
			return cause_at(i);
	return NULL;
}

char cause_letter_at(size_t i)
{
	const struct cause_group *group = group_of(&i);
	return group ? group->letter : 0;
}

const char *cause_layer_name(char layer)
{
	static const struct {
		char letter;
		const char *name;
	} layers[] = {
		{ 'C', "client" },
		{ 'S', "system" },
		{ 'F', "framework" },
		{ 'O', "operator" },
		{ 'A', "algorithm" },
	};
	for (size_t i = 0; i < ARRAY_LEN(layers); i++)
		if (layers[i].letter == layer)
			return layers[i].name;
	return NULL;
}

void causes_examine(const struct evidence *ev, const struct figures *fig, struct arena *run,
        struct cause_finding *findings, double *gains)
{
	for (size_t i = 0; i < CAUSE_COUNT; i++) {
		const struct cause *cause = cause_at(i);
		assert(cause);
		findings[i] = (struct cause_finding){
			.id = cause->id,
			.name = _(cause->name),
			.layer = cause_layer_name(cause->layer),
			.state = CAUSE_NOT_EXAMINED,
			.needs = _(cause->needs),
			.fix = _(cause->fix),
			.experiment = _(cause->experiment),
		};
		struct examination x = { ev, fig, run, &findings[i], 1 };
		if (cause->examine)
			cause->examine(&x);
		gains[i] = x.throughput_gain;
	}
}
