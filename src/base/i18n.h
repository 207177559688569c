/*
 * i18n.h - every sentence shown to a person goes through _(); N_() marks one that a table holds.
 *
 * JSON names, metric names and cause ids are not translated. i18n_init is called once by main,
 * before any thread starts.
 */
#ifndef VENTURI_BASE_I18N_H
#define VENTURI_BASE_I18N_H

#include <libintl.h>
#include <stdbool.h>

#define _(text) gettext(text)
#define N_(text) text

/*
 * Chooses the language of messages.
 *
 * lang     "en", "zh" or NULL; NULL takes it from LC_ALL, LC_MESSAGES, LANG. The locale itself
 *          need not be installed: numbers and sorting stay those of the C locale.
 * returns  false when lang is neither "en" nor "zh"
 */
bool i18n_init(const char *lang);

/* "zh" or "en": what i18n_init settled on. */
const char *i18n_lang(void);

#endif
