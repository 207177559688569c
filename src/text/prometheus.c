#include "text/prometheus.h"

#include <math.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct str rest_from(struct str text, size_t n)
{
	return (struct str){ text.s + n, text.len - n };
}

static void skip_blanks(struct str *line)
{
	size_t n = 0;
	while (n < line->len && is_blank(line->s[n]))
		n++;
	*line = rest_from(*line, n);
}

/* Takes one character when it is there. */
static bool take(struct str *line, char c)
{
	if (line->len == 0 || line->s[0] != c)
		return false;
	*line = rest_from(*line, 1);
	return true;
}

/* Takes what stands before the next blank; empty at the end. */
static struct str take_word(struct str *line)
{
	size_t n = 0;
	skip_blanks(line);
	while (n < line->len && !is_blank(line->s[n]))
		n++;
	struct str word = { line->s, n };
	*line = rest_from(*line, n);
	return word;
}

/* [a-zA-Z_:][a-zA-Z0-9_:]*, of a label without the colons; empty when there is none. */
static struct str take_name(struct str *line, bool colons)
{
	size_t n = 0;
	while (n < line->len && (is_letter(line->s[n]) || (colons && line->s[n] == ':') ||
	                                (n > 0 && is_digit(line->s[n]))))
		n++;
	struct str name = { line->s, n };
	*line = rest_from(*line, n);
	return name;
}

/* A text in double quotes, in which a backslash takes the next character with it. */
static bool take_quoted(struct str *line, struct str *ret_raw)
{
	size_t n = 1;
	if (line->len == 0 || line->s[0] != '"')
		return false;
	while (n < line->len && line->s[n] != '"')
		n += line->s[n] == '\\' ? 2 : 1;
	if (n >= line->len)
		return false;
	*ret_raw = (struct str){ line->s + 1, n - 1 };
	*line = rest_from(*line, n + 1);
	return true;
}

/* Labels from behind the opening brace to behind the closing one; a comma may end the list. */
static bool take_labels(struct str *line, struct prometheus_label *labels, size_t *ret_n)
{
	size_t n = 0;
	for (;;) {
		skip_blanks(line);
		if (take(line, '}'))
			break;
		if (n == PROMETHEUS_LABELS_MAX)
			return false;
		labels[n].name = take_name(line, false);
		skip_blanks(line);
		if (labels[n].name.len == 0 || !take(line, '='))
			return false;
		skip_blanks(line);
		if (!take_quoted(line, &labels[n].value))
			return false;
		n++;
		skip_blanks(line);
		if (!take(line, ',') && (line->len == 0 || line->s[0] != '}'))
			return false;
	}
	*ret_n = n;
	return true;
}

bool prometheus_number(struct str text, double *ret_value)
{
	struct str bare = text;
	bool minus = take(&bare, '-');
	if (!minus)
		take(&bare, '+');
	if (text.len > PROMETHEUS_VALUE_MAX)
		return false;
	if (str_eq_nocase(bare, STR("nan"))) {
		*ret_value = NAN;
		return true;
	}
	if (str_eq_nocase(bare, STR("inf")) || str_eq_nocase(bare, STR("infinity"))) {
		*ret_value = minus ? -INFINITY : INFINITY;
		return true;
	}
	return str_to_double(text, ret_value);
}

/* What may stand behind the value: a time stamp, and an exemplar, which nobody here reads. */
static bool tail_is_right(struct str line)
{
	double stamp;
	struct str word = take_word(&line);
	if (word.len && word.s[0] != '#') {
		if (!prometheus_number(word, &stamp))
			return false;
		word = take_word(&line);
	}
	return word.len == 0 || word.s[0] == '#';
}

static bool read_sample(
        struct str line, struct prometheus_label *labels, struct prometheus_sample *ret_sample)
{
	struct prometheus_sample s = { .labels = labels };
	s.name = take_name(&line, true);
	if (s.name.len == 0)
		return false;
	struct str behind_name = line;
	skip_blanks(&line);
	if (take(&line, '{')) {
		if (!take_labels(&line, labels, &s.n_labels))
			return false;
	} else if (behind_name.len == line.len) {
		return false; /* nothing parts the name from the value */
	}
	if (!prometheus_number(take_word(&line), &s.value) || !tail_is_right(line))
		return false;
	*ret_sample = s;
	return true;
}

/* The family that the newest "# TYPE" names. */
struct family {
	struct str name;
	enum prometheus_type type;
};

static enum prometheus_type type_of(struct str word)
{
	static const struct {
		struct str name;
		enum prometheus_type type;
	} types[] = {
		{ STR_INIT("counter"), PROMETHEUS_COUNTER },
		{ STR_INIT("gauge"), PROMETHEUS_GAUGE },
		{ STR_INIT("histogram"), PROMETHEUS_HISTOGRAM },
		{ STR_INIT("summary"), PROMETHEUS_SUMMARY },
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_eq(word, types[i].name))
			return types[i].type;
	return PROMETHEUS_UNTYPED;
}

/* A comment; true for the one that ends the page. */
static bool read_comment(struct str line, struct family *family)
{
	take(&line, '#');
	struct str word = take_word(&line);
	if (str_eq(word, STR("TYPE"))) {
		family->name = take_word(&line);
		family->type = type_of(take_word(&line));
	}
	return str_eq(word, STR("EOF")) && str_trim(line).len == 0;
}

/* A sample belongs to the family by its name, or by its name and a suffix. */
static enum prometheus_type family_type(const struct family *family, struct str name)
{
	static const struct str suffixes[] = { STR_INIT(""), STR_INIT("_total"),
		STR_INIT("_bucket"), STR_INIT("_sum"), STR_INIT("_count") };
	if (!family->name.len || !str_starts(name, family->name))
		return PROMETHEUS_UNTYPED;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (str_eq(rest_from(name, family->name.len), suffixes[i]))
			return family->type;
	return PROMETHEUS_UNTYPED;
}

bool prometheus_read(struct str text,
        bool (*on_sample)(void *ctx, const struct prometheus_sample *s), void *ctx,
        struct prometheus_page *ret_page)
{
	struct prometheus_label labels[PROMETHEUS_LABELS_MAX];
	struct prometheus_page page = { 0 };
	struct family family = { 0 };
	bool wanted = true;
	while (text.len && wanted && !page.ended) {
		struct prometheus_sample s;
		struct str line = str_cut(text, '\n', &text);
		bool fits = line.len <= PROMETHEUS_LINE_MAX;
		line = str_trim(line);
		if (line.len == 0)
			continue;
		if (line.s[0] == '#') {
			page.ended = read_comment(line, &family);
		} else if (fits && read_sample(line, labels, &s)) {
			s.type = family_type(&family, s.name);
			page.n_samples++;
			wanted = on_sample(ctx, &s);
		} else {
			page.n_broken++;
		}
	}
	*ret_page = page;
	return wanted;
}

const struct str *prometheus_label(const struct prometheus_sample *s, struct str name)
{
	for (size_t i = 0; i < s->n_labels; i++)
		if (str_eq(s->labels[i].name, name))
			return &s->labels[i].value;
	return NULL;
}

void prometheus_unescape(struct str raw, struct buf *out)
{
	static const char from[] = "\\\"n", to[] = "\\\"\n";
	for (size_t i = 0; i < raw.len; i++) {
		const char *known = raw.s[i] == '\\' && i + 1 < raw.len
		                            ? memchr(from, raw.s[i + 1], sizeof(from) - 1)
		                            : NULL;
		buf_add_char(out, known ? to[known - from] : raw.s[i]);
		i += known != NULL;
	}
}
