#include "load/conversation.h"

#include "tap.h"

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ANSWER(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SYSTEM(text) "{\"role\":\"system\",\"content\":\"" text "\"}"
#define HUMAN(text) "{\"from\":\"human\",\"value\":\"" text "\"}"
#define GPT(text) "{\"from\":\"gpt\",\"value\":\"" text "\"}"
#define TOOL "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"4\"}"
#define CALL "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\"}]}"

enum { TURNS = 3 };

static void a_turn_is_everything_until_the_assistant_answers(void)
{
	static const struct {
		const char *list;
		bool messages;
		size_t n;
		const char *asks[TURNS], *answers[TURNS];
	} cases[] = {
		{ "[" USER("a") "," ANSWER("b") "," USER("c") "]", true, 2,
		        { USER("a"), USER("c") }, { ANSWER("b"), "" } },
		/* what is no message is nothing, blanks inside stay */
		{ "[ {\"role\": \"user\", \"content\": \"a\"} , 7, null ]", true, 1,
		        { "{\"role\": \"user\", \"content\": \"a\"}" }, { "" } },
		{ "[" SYSTEM("s") "," USER("a") "," USER("b") "," ANSWER("c") "]", true, 1,
		        { SYSTEM("s") "," USER("a") "," USER("b") }, { ANSWER("c") } },
		/* an assistant that answers nothing belongs to what comes before the question */
		{ "[" ANSWER("x") "," USER("a") "," ANSWER("b") "," ANSWER("c") "," USER("d") "]",
		        true, 2, { ANSWER("x") "," USER("a"), ANSWER("c") "," USER("d") },
		        { ANSWER("b"), "" } },
		/* what a tool says wants an answer too */
		{ "[" USER("2+2") "," CALL "," TOOL "," ANSWER("4") "," USER("d") "]", true, 3,
		        { USER("2+2"), TOOL, USER("d") }, { CALL, ANSWER("4"), "" } },
		{ "[" SYSTEM("s") "]", true, 0, { NULL }, { NULL } },
		{ "[]", true, 0, { NULL }, { NULL } },
		/* ShareGPT */
		{ "[" GPT("x") "," HUMAN("a") "," GPT("b") "," GPT("c") "," HUMAN("d\\u00e9") "]",
		        true, 2, { USER("a"), USER("d\xc3\xa9") }, { ANSWER("b"), "" } },
		{ "[{\"from\":\"system\",\"value\":\"s\"}," HUMAN("a") "," HUMAN("") "]", true, 1,
		        { SYSTEM("s") "," USER("a") }, { "" } },
		/* for an API of text */
		{ "[" SYSTEM("s") "," USER("a\\n") "," ANSWER("b") "," USER("c") "]", false, 2,
		        { "s\\na\\n", "c" }, { "b", "" } },
		{ "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}]", false, 0, { NULL },
		        { NULL } },
		{ "[" HUMAN("a") "," GPT("b") "," HUMAN("c") "]", false, 2, { "a", "c" },
		        { "b", "" } },
	};
	AUTO(arena_release) struct arena run = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct conversation c;
		struct err err;
		if (!CHECK(conversation_read(
		            str_of(cases[i].list), cases[i].messages, &run, &c, &err)))
			continue;
		if (!CHECK_INT(c.n, cases[i].n))
			printf("#   of %s\n", cases[i].list);
		for (size_t t = 0; t < c.n && t < cases[i].n; t++) {
			CHECK_STR(str_c(c.turns[t].asks, &run), cases[i].asks[t]);
			CHECK_STR(str_c(c.turns[t].answer, &run), cases[i].answers[t]);
		}
	}
}

static void a_wrong_escape_is_refused_where_it_has_to_be_understood(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct conversation c;
	struct err err = { 0 };
	CHECK(!conversation_read(STR("[" HUMAN("\\ud83d") "]"), true, &run, &c, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK_STR(err.text, "a string with a wrong escape");
}

static void more_turns_than_a_session_has_are_refused(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	AUTO(auto_buf) struct buf list = { 0 };
	struct conversation c;
	struct err err = { 0 };
	for (int i = 0; i < SESSION_TURNS_MAX; i++)
		buf_add_c(&list, i ? "," USER("a") "," ANSWER("b") : "[" USER("a") "," ANSWER("b"));
	size_t end = list.len;
	buf_add_char(&list, ']');
	CHECK(conversation_read(buf_str(&list), true, &run, &c, &err));
	CHECK_INT(c.n, SESSION_TURNS_MAX);
	list.len = end;
	buf_add_c(&list, "," USER("a") "]");
	CHECK(!conversation_read(buf_str(&list), true, &run, &c, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK_STR(err.text, "a conversation has more than 10000 turns");
}

static void a_turn_over_the_limit_of_a_history_is_refused(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	AUTO(auto_buf) struct buf list = { 0 };
	struct conversation c;
	struct err err = { 0 };
	buf_add_c(&list, "[{\"role\":\"user\",\"content\":\"");
	buf_add_blanks(&list, SESSION_HISTORY_MAX);
	buf_add_c(&list, "\"}]");
	CHECK(!conversation_read(buf_str(&list), true, &run, &c, &err));
	CHECK_INT(err.kind, ERR_INPUT);
	CHECK_STR(err.text, "a turn of a conversation has more than 16 MiB");
}

static void a_text_alone_is_a_conversation_of_one_turn(void)
{
	AUTO(arena_release) struct arena run = { 0 };
	struct conversation c;
	conversation_of_text(STR("a\n"), true, &run, &c);
	CHECK_INT(c.n, 1);
	CHECK_STR(str_c(c.turns[0].asks, &run), USER("a\\n"));
	CHECK_INT(c.turns[0].answer.len, 0);
}

int main(void)
{
	TAP_RUN(a_turn_is_everything_until_the_assistant_answers);
	TAP_RUN(a_wrong_escape_is_refused_where_it_has_to_be_understood);
	TAP_RUN(more_turns_than_a_session_has_are_refused);
	TAP_RUN(a_turn_over_the_limit_of_a_history_is_refused);
	TAP_RUN(a_text_alone_is_a_conversation_of_one_turn);
	return tap_done();
}
