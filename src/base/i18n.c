#include "base/i18n.h"

#include <locale.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *current = "en";

/* Where the .mo files are: beside the program in a build tree, under the prefix once installed. */
static const char *find_locale_dir(void)
{
	static char dir[PATH_MAX + 32];
	char exe[PATH_MAX];
	const char *named = getenv("VENTURI_LOCALEDIR");
	if (named)
		return named;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		char *slash = strrchr(exe, '/');
		if (slash)
			*slash = '\0';
		snprintf(dir, sizeof(dir), "%s/po", exe);
		if (access(dir, X_OK) == 0)
			return dir;
	}
	return VENTURI_LOCALEDIR_INSTALLED;
}

static const char *lang_of_environment(void)
{
	static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return strncmp(value, "zh", 2) == 0 ? "zh" : "en";
	}
	return "en";
}

bool i18n_init(const char *lang)
{
	if (lang && strcmp(lang, "en") != 0 && strcmp(lang, "zh") != 0)
		return false;
	current = strcmp(lang ? lang : lang_of_environment(), "zh") == 0 ? "zh" : "en";
	/* C.UTF-8 is always there and, unlike "C", lets gettext follow LANGUAGE. */
	setlocale(LC_ALL, "C.UTF-8");
	setlocale(LC_NUMERIC, "C");
	/* With "C" it does not look, nor take memory at each call, for a catalogue there is not. */
	if (strcmp(current, "en") == 0)
		setlocale(LC_MESSAGES, "C");
	setenv("LANGUAGE", strcmp(current, "zh") == 0 ? "zh_CN" : "en", 1);
	bindtextdomain("venturi", find_locale_dir());
	bind_textdomain_codeset("venturi", "UTF-8");
	textdomain("venturi");
	return true;
}

const char *i18n_lang(void)
{
	return current;
}
