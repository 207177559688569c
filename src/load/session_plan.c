#include "load/session_plan.h"

#include "base/i18n.h"
#include "load/request_frame.h"

#include <assert.h>
#include <string.h>

/* First requests of so many sessions are written out, for who wants requests without sessions. */
enum { ITEMS_MAX = 16 };

static bool need_turns(const struct load_config *c, struct err *err)
{
	const struct {
		const char *name;
		bool given;
	} options[] = {
		{ "--think", c->think != NULL },
		{ "--history", c->history != NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].given)
			return err_set(
			        err, ERR_USAGE, _("'%s' goes with '--turns'"), options[i].name);
	return true;
}

static bool check(const struct load_config *c, const struct endpoint *endpoint, bool own_answers,
        bool all_turns, struct err *err)
{
	const struct schedule *s = c->schedule;
	if (!endpoint->can_stream || !endpoint->makes_tokens)
		return err_set(
		        err, ERR_USAGE, _("'--turns' does not go with '--api %s'"), endpoint->name);
	if (!c->input_file && all_turns)
		return err_set(
		        err, ERR_USAGE, _("'--turns all' needs '--input' with conversations"));
	if (!c->input_file && !own_answers)
		return err_set(err, ERR_USAGE,
		        _("'--history recorded' needs '--input' with conversations"));
	if (!c->input_file && s && s->has_lengths && !(c->input_tokens && c->output_tokens))
		return err_set(err, ERR_USAGE,
		        _("'--turns' does not go with the lengths of a schedule: give "
		          "'--input-tokens' and '--output-tokens'"));
	return true;
}

bool session_plan_open(const struct load_config *config, const struct endpoint *endpoint,
        struct arena *run, struct session_plan **ret_plan, struct err *err)
{
	*ret_plan = NULL;
	if (!config->turns)
		return need_turns(config, err);
	struct session_plan *p = arena_new(run, struct session_plan);
	*p = (struct session_plan){
		.messages = endpoint->takes_messages,
		.own_answers = !config->history || strcmp(config->history, "own") == 0,
		.all_turns = strcmp(config->turns, "all") == 0,
		.thinks = config->think != NULL,
	};
	if (!check(config, endpoint, p->own_answers, p->all_turns, err))
		return false;
	if (!p->all_turns && !dist_parse(config->turns, 1, run, &p->turns, err))
		return err_wrap(err, "'--turns'");
	if (p->thinks && !dist_parse_duration(config->think, run, &p->think, err))
		return err_wrap(err, "'--think'");
	*ret_plan = p;
	return true;
}

struct prompt session_plan_around(const struct session_plan *p)
{
	static const struct str list = STR_INIT("[" REQUEST_FRAME_MARK "]");
	struct prompt around = { .input_tokens = 1 };
	if (p->messages)
		around.messages = list;
	else
		around.text = request_frame_mark;
	return around;
}

static void write_items(struct builder *b, struct workload *w)
{
	const struct session_plan *p = w->sessions;
	w->n = p->n < ITEMS_MAX ? p->n : ITEMS_MAX;
	w->items = arena_new_n(b->run, struct workload_item, w->n);
	for (size_t i = 0; i < w->n; i++) {
		const struct turn *first = &p->conversations[i].turns[0];
		request_frame_open(&w->frames[first->frame], &b->request);
		buf_add(&b->request, first->asks);
		w->items[i].request =
		        str_dup(request_frame_close(&w->frames[first->frame], &b->request), b->run);
		w->items[i].salt_at = -1;
	}
}

bool session_plan_frames(struct builder *b, struct workload *w, struct err *err)
{
	const struct session_plan *p = w->sessions;
	const struct prompt around = session_plan_around(p);
	size_t n = 0, i = 0;
	bool framed;
	for (size_t c = 0; c < p->n; c++)
		n += p->conversations[c].n;
	AUTO(auto_free) uint32_t *lengths = mem_realloc(NULL, n * sizeof(*lengths));
	for (size_t c = 0; c < p->n; c++)
		for (size_t t = 0; t < p->conversations[c].n; t++)
			lengths[i++] = p->conversations[c].turns[t].frame;
	if (!request_frames_build(b, &around, lengths, n, w, &framed, err))
		return false;
	assert(framed); /* as every API that generates text is */
	for (size_t c = 0; c < p->n; c++)
		for (size_t t = 0; t < p->conversations[c].n; t++) {
			struct turn *turn = &p->conversations[c].turns[t];
			turn->frame = request_frame_find(w, turn->frame);
		}
	write_items(b, w);
	return true;
}
