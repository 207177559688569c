#include "load/conversation.h"

#include "base/i18n.h"
#include "load/history.h"
#include "text/json_scan.h"

#include <string.h>

/* What somebody who has a role does in a conversation, and the role's name in a chat. */
static const struct role {
	struct str name;
	const char *chat;
	bool asks, answers;
} roles[] = {
	{ STR_INIT("user"), "user", true, false }, { STR_INIT("human"), "user", true, false },
	{ STR_INIT("tool"), "tool", true, false },
	{ STR_INIT("function"), "function", true, false },
	{ STR_INIT("system"), "system", false, false },
	{ STR_INIT("developer"), "developer", false, false },
	{ { NULL, 0 }, "assistant", false, true }, /* last: gpt, bing, model and all others */
};

static const struct role *role_of(struct str name)
{
	size_t i = 0;
	while (i + 1 < ARRAY_LEN(roles) && !str_eq(name, roles[i].name))
		i++;
	return &roles[i];
}

struct message {
	const struct role *role;
	struct str raw;  /* the whole object */
	struct str text; /* escapes unresolved; s is NULL where there is none */
	bool renamed;    /* in the manner of ShareGPT */
};

/* False for an element that is no object. */
static bool read_message(struct str raw, struct message *m)
{
	struct str key, who = { 0 };
	struct json_scan s = json_scan_of(raw);
	*m = (struct message){ .raw = raw };
	if (!json_scan_object(&s))
		return false;
	while (json_scan_key(&s, &key)) {
		bool from = str_eq(key, STR("from"));
		bool text = str_eq(key, STR("value")) || str_eq(key, STR("content"));
		struct str *to = from || str_eq(key, STR("role")) ? &who : text ? &m->text : NULL;
		m->renamed |= from;
		if (!to || !json_scan_string(&s, to))
			json_scan_skip(&s);
	}
	m->role = role_of(who);
	return true;
}

/* The turns so far, and the one that is being read. */
struct reading {
	bool messages;
	struct turn *turns;
	size_t n, cap;
	struct buf asks, text;
	bool asked;
};

/* Appends a message to a part of the history. */
static bool add_message(struct reading *r, struct buf *to, const struct message *m, struct err *err)
{
	if (r->messages && !m->renamed) {
		history_add(to, true, m->raw);
	} else {
		buf_clear(&r->text);
		if (!json_unescape(m->text, &r->text))
			return err_set(err, ERR_INPUT, _("a string with a wrong escape"));
		history_add_text(to, r->messages, m->role->chat, buf_str(&r->text));
	}
	return to->len <= SESSION_HISTORY_MAX ||
	       err_set(err, ERR_INPUT, _("a turn of a conversation has more than %d MiB"),
	               SESSION_HISTORY_MAX >> 20);
}

static bool end_turn(
        struct reading *r, const struct message *answer, struct arena *run, struct err *err)
{
	struct turn t = { .asks = str_dup(buf_str(&r->asks), run) };
	if (r->n == SESSION_TURNS_MAX)
		return err_set(err, ERR_INPUT, _("a conversation has more than %d turns"),
		        SESSION_TURNS_MAX);
	if (answer) {
		buf_clear(&r->asks);
		if (!add_message(r, &r->asks, answer, err))
			return false;
		t.answer = str_dup(buf_str(&r->asks), run);
		t.answer_raw = answer->text;
	}
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 8;
		r->turns = mem_realloc(r->turns, r->cap * sizeof(*r->turns));
	}
	r->turns[r->n++] = t;
	buf_clear(&r->asks);
	r->asked = false;
	return true;
}

static bool take_message(
        struct reading *r, const struct message *m, struct arena *run, struct err *err)
{
	bool says = m->text.len > 0;
	if (m->role->answers && r->asked)
		return end_turn(r, m, run, err);
	if (m->renamed && (m->role->answers || !says))
		return true;
	r->asked |= m->role->asks && (says || r->messages);
	return add_message(r, &r->asks, m, err);
}

bool conversation_read(struct str list, bool messages, struct arena *run,
        struct conversation *ret_conversation, struct err *err)
{
	struct reading r = { .messages = messages };
	struct json_scan s = json_scan_of(list);
	bool ok = true;
	if (json_scan_array(&s))
		while (ok && json_scan_element(&s)) {
			struct message m;
			ok = !read_message(json_scan_raw(&s), &m) || take_message(&r, &m, run, err);
		}
	if (ok && r.asked)
		ok = end_turn(&r, NULL, run, err);
	if (ok) {
		struct turn *turns = arena_new_n(run, struct turn, r.n);
		if (r.n)
			memcpy(turns, r.turns, r.n * sizeof(*turns));
		*ret_conversation = (struct conversation){ turns, r.n };
	}
	auto_free(&r.turns);
	buf_release(&r.asks);
	buf_release(&r.text);
	return ok;
}

void conversation_of_text(
        struct str text, bool messages, struct arena *run, struct conversation *ret_conversation)
{
	AUTO(auto_buf) struct buf asks = { 0 };
	struct turn *turn = arena_new(run, struct turn);
	history_add_text(&asks, messages, "user", text);
	*turn = (struct turn){ .asks = str_dup(buf_str(&asks), run) };
	*ret_conversation = (struct conversation){ turn, 1 };
}
