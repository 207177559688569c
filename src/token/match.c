#define PCRE2_CODE_UNIT_WIDTH 8
#include "token/match.h"

#include "base/i18n.h"
#include "base/utf8.h"

#include <pcre2.h>
#include <string.h>

enum {
	BACKTRACKS_MAX = 1000000, /* of one match; an expression that needs more finds nothing */
	QUOTE_BYTES = 200,
};

/* White_Space, which PCRE2 has one character more of. */
#define SPACES                                                                                     \
	"\\t-\\r\\x20\\x85\\xA0\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"   \
	"\\x{3000}"
/* A character of a word in Oniguruma. */
#define WORDS "\\p{L}\\p{M}\\p{Nd}\\p{Pc}"

/* ---- expressions of Oniguruma for PCRE2 ---- */

struct rewriting {
	struct str left;
	bool in_class;
	bool after_interval; /* just behind {n,m} */
	struct buf out;
};

static bool refuse(struct err *err, const char *what)
{
	return err_set(err, ERR_INPUT, _("'%s' in it is not supported"), what);
}

/* What stands for \x, inside a class and outside; NULL: itself. */
struct escape {
	char c;
	const char *inside, *outside;
};

static const struct escape escapes[] = {
	{ 's', SPACES, "[" SPACES "]" },
	{ 'S', NULL, "[^" SPACES "]" },
	{ 'w', WORDS, "[" WORDS "]" },
	{ 'W', NULL, "[^" WORDS "]" },
};

/* Takes an escape: its backslash and at least one more byte. */
static bool rewrite_escape(struct rewriting *r, struct err *err)
{
	static const char refused[] = "hHKyYRXGkgNO";
	if (r->left.len < 2)
		return refuse(err, "\\");
	char c = r->left.s[1];
	const char name[] = { '\\', c, '\0' };
	size_t n = 2;
	if (strchr(refused, c))
		return refuse(err, name);
	ptrdiff_t brace = str_find(r->left, STR("}"));
	r->after_interval = false;
	if (strchr("pPx", c) && r->left.len > 2 && r->left.s[2] == '{' && brace > 0) {
		/* \p{L}, \x{41} */
		n = (size_t)brace + 1;
		buf_add(&r->out, (struct str){ r->left.s, n });
	} else if (c == 'u' && r->left.len >= 6) {
		buf_printf(&r->out, "\\x{%.4s}", r->left.s + 2);
		n = 6;
	} else {
		size_t i = 0;
		while (i < ARRAY_LEN(escapes) && escapes[i].c != c)
			i++;
		if (i == ARRAY_LEN(escapes))
			buf_add(&r->out, (struct str){ r->left.s, 2 });
		else if (r->in_class && !escapes[i].inside)
			return refuse(err, name);
		else
			buf_add_c(&r->out, r->in_class ? escapes[i].inside : escapes[i].outside);
	}
	r->left.s += n;
	r->left.len -= n;
	return true;
}

/* Takes one character that is no escape. */
static bool rewrite_plain(struct rewriting *r, struct err *err)
{
	struct str s = r->left;
	if (r->in_class && (s.s[0] == '[' || str_starts(s, STR("&&"))))
		return refuse(err, s.s[0] == '[' ? "[...[...]]" : "&&");
	if (r->after_interval && s.s[0] == '+')
		return refuse(err, "{...}+");
	r->after_interval = !r->in_class && s.s[0] == '}';
	size_t n = 1;
	if (!r->in_class && s.s[0] == '[') {
		r->in_class = true;
		/* A bracket that comes first is a character. */
		n += s.len > n && s.s[n] == '^';
		n += s.len > n && s.s[n] == ']';
	} else if (s.s[0] == ']') {
		r->in_class = false;
	}
	buf_add(&r->out, (struct str){ s.s, n });
	r->left.s += n;
	r->left.len -= n;
	return true;
}

static bool rewrite(struct rewriting *r, struct err *err)
{
	while (r->left.len > 0) {
		bool ok = r->left.s[0] == '\\' ? rewrite_escape(r, err) : rewrite_plain(r, err);
		if (!ok)
			return false;
	}
	return true;
}

static bool compile(struct str expression, void **ret_code, struct err *err)
{
	int number;
	PCRE2_SIZE at;
	unsigned char text[QUOTE_BYTES];
	struct rewriting r = { .left = expression };
	if (!rewrite(&r, err)) {
		buf_release(&r.out);
		return false;
	}
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	if (context)
		pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)r.out.s, r.out.len,
	        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &number, &at,
	        context);
	pcre2_compile_context_free(context);
	buf_release(&r.out);
	if (!code) {
		pcre2_get_error_message(number, text, sizeof(text));
		return err_set(err, ERR_INPUT, "%s", (const char *)text);
	}
	/* Where there is no compiler for this machine it is interpreted. */
	(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	*ret_code = code;
	return true;
}

bool pattern_compile(struct str expression, struct arena *run, struct pattern **list,
        struct pattern **ret_pattern, struct err *err)
{
	AUTO(auto_buf) struct buf quoted = { 0 };
	void *code = NULL;
	if (expression.len > MATCH_PATTERN_BYTES_MAX)
		return err_set(err, ERR_INPUT,
		        _("a regular expression has %zu bytes, more than the limit of %d"),
		        expression.len, MATCH_PATTERN_BYTES_MAX);
	if (!compile(expression, &code, err)) {
		utf8_add_line(&quoted, expression);
		return err_wrap(err, _("the regular expression '%.*s'"), QUOTE_BYTES,
		        quoted.s ? quoted.s : "");
	}
	struct pattern *p = arena_new(run, struct pattern);
	*p = (struct pattern){ .code = code, .next = *list };
	*list = *ret_pattern = p;
	return true;
}

struct pattern *pattern_of_literal(struct str literal, struct arena *run)
{
	struct pattern *p = arena_new(run, struct pattern);
	p->literal = str_dup(literal, run);
	return p;
}

struct pattern *pattern_of_kind(char_kind *kind, struct arena *run)
{
	struct pattern *p = arena_new(run, struct pattern);
	p->kind = kind;
	return p;
}

void pattern_release(struct pattern *list)
{
	for (; list; list = list->next)
		pcre2_code_free(list->code);
}

/* ---- matching ---- */

void match_begin(struct match_scan *scan, const struct pattern *pattern, struct str text)
{
	*scan = (struct match_scan){
		.pattern = pattern,
		.text = text,
		.data = scan->data,
		.limits = scan->limits,
		.last_end = text.len + 1,
	};
}

void match_release(struct match_scan *scan)
{
	pcre2_match_data_free(scan->data);
	pcre2_match_context_free(scan->limits);
	scan->data = scan->limits = NULL;
}

static bool next_of_kind(struct match_scan *scan, size_t *ret_start, size_t *ret_end)
{
	while (scan->at < scan->text.len) {
		struct str left = { scan->text.s + scan->at, scan->text.len - scan->at };
		uint32_t c;
		size_t step = utf8_decode(left, &c), start = scan->at;
		scan->at += step ? step : 1;
		if (step && scan->pattern->kind(c)) {
			*ret_start = start;
			*ret_end = scan->at;
			return true;
		}
	}
	return false;
}

static bool next_literal(struct match_scan *scan, size_t *ret_start, size_t *ret_end)
{
	const struct str wanted = scan->pattern->literal;
	const char *found = scan->at <= scan->text.len
	                            ? memmem(scan->text.s + scan->at, scan->text.len - scan->at,
	                                      wanted.s, wanted.len)
	                            : NULL;
	if (!found)
		return false;
	*ret_start = (size_t)(found - scan->text.s);
	*ret_end = scan->at = *ret_start + wanted.len;
	return true;
}

/* Finds the next stretch of whole characters, where the one that was walked has ended. */
static bool next_stretch(struct match_scan *scan)
{
	const struct str text = scan->text;
	if (scan->at < scan->until)
		return true;
	while (scan->at < text.len && utf8_char(text.s + scan->at, text.len - scan->at) <= 0)
		scan->at++;
	scan->from = scan->until = scan->at;
	while (scan->until < text.len) {
		int step = utf8_char(text.s + scan->until, text.len - scan->until);
		if (step <= 0)
			break;
		scan->until += (size_t)step;
	}
	return scan->at < scan->until;
}

/* One search in the stretch, from scan->at on. */
static bool search(struct match_scan *scan, size_t *ret_start, size_t *ret_end)
{
	const pcre2_code *code = scan->pattern->code;
	PCRE2_SPTR text = (PCRE2_SPTR)scan->text.s + scan->from;
	size_t n = scan->until - scan->from, at = scan->at - scan->from;
	if (!scan->data) {
		scan->data = pcre2_match_data_create(1, NULL);
		scan->limits = pcre2_match_context_create(NULL);
		if (!scan->data || !scan->limits)
			return false;
		pcre2_set_match_limit(scan->limits, BACKTRACKS_MAX);
	}
	int got = pcre2_match(code, text, n, at, PCRE2_NO_UTF_CHECK, scan->data, scan->limits);
	if (got == PCRE2_ERROR_JIT_STACKLIMIT)
		got = pcre2_match(code, text, n, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, scan->data,
		        scan->limits);
	if (got < 0)
		return false;
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(scan->data);
	*ret_start = scan->from + ends[0];
	*ret_end = scan->from + (ends[1] > ends[0] ? ends[1] : ends[0]);
	return true;
}

static void step_over_char(struct match_scan *scan)
{
	int step = scan->at < scan->text.len
	                   ? utf8_char(scan->text.s + scan->at, scan->text.len - scan->at)
	                   : 1;
	scan->at += step > 0 ? (size_t)step : 1;
}

static bool next_regex(struct match_scan *scan, size_t *ret_start, size_t *ret_end)
{
	while (next_stretch(scan)) {
		size_t start, end;
		if (!search(scan, &start, &end)) {
			scan->at = scan->until;
			continue;
		}
		bool empty = start == end, again = empty && start == scan->last_end;
		scan->at = end;
		if (empty)
			step_over_char(scan);
		if (again)
			continue;
		scan->last_end = *ret_end = end;
		*ret_start = start;
		return true;
	}
	return false;
}

bool match_next(struct match_scan *scan, size_t *ret_start, size_t *ret_end)
{
	if (scan->pattern->kind)
		return next_of_kind(scan, ret_start, ret_end);
	if (scan->pattern->literal.len > 0)
		return next_literal(scan, ret_start, ret_end);
	return next_regex(scan, ret_start, ret_end);
}
