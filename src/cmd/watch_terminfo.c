#include "cmd/watch_terminfo.h"

#include "base/attr.h"
#include "base/i18n.h"

#include <curses.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

const char *watch_terminfo_unfit(const char *term)
{
	int answer = 0;
	const char *why = NULL;
	if (setupterm(term, STDOUT_FILENO, &answer) != OK)
		return _("the terminal that TERM names is not known here");
	if (!cursor_address || !clear_screen)
		why = _("the terminal that TERM names cannot move its cursor");
	del_curterm(cur_term);
	return why;
}

/* A terminfo string without its delays. */
static void add_string(char *out, size_t size, const char *text)
{
	size_t n = strlen(out);
	if (!text || text == (const char *)-1)
		return;
	while (*text && n + 1 < size) {
		if (text[0] == '$' && text[1] == '<' && strchr(text, '>'))
			text = strchr(text, '>') + 1;
		else
			out[n++] = *text++;
	}
	out[n] = '\0';
}

void watch_terminfo_rescue(char *out, size_t size)
{
	const char *const texts[] = { exit_attribute_mode, orig_pair, keypad_local, cursor_normal,
		exit_ca_mode };
	out[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		add_string(out, size, texts[i]);
}
