#!/usr/bin/env bats
# Chinese and English are equals: the catalogue has the sentences of the sources, all and no others.

bats_require_minimum_version 1.5.0

load helpers

setup() {
	make_temp
}

teardown() {
	remove_temp
}

# none FAULT: fails, and shows some, when the catalogue on stdin has messages besides its header.
none() {
	local n
	perl -00 -ne 'print unless /^msgid ""\nmsgstr/m' >"$TEMP/found.po"
	n=$(grep -cE '^(#~ )?msgid ' "$TEMP/found.po") || return 0
	echo "$n sentences $1; scripts/update-po brings the catalogue up to date. The first:"
	head -n 20 "$TEMP/found.po"
	return 1
}

@test "every sentence is translated" {
	msgattrib --no-wrap --untranslated po/zh_CN.po | none "are not translated"
}

@test "no translation is a guess" {
	msgattrib --no-wrap --only-fuzzy po/zh_CN.po | none "are marked fuzzy"
}

@test "no translation is left of a sentence that has gone" {
	msgattrib --no-wrap --only-obsolete po/zh_CN.po | none "are obsolete"
}

@test "the sentences of the catalogue are those of the sources" {
	scripts/update-po --pot "$TEMP/now.pot"
	msgcomm --no-wrap --unique po/zh_CN.po "$TEMP/now.pot" |
		none "are in the sources or in the catalogue, but not in both"
}

@test "formats and line ends of the translations fit" {
	msgfmt --check --check-format -o "$TEMP/venturi.mo" po/zh_CN.po
}

@test "both programs speak Chinese when asked to, and English otherwise" {
	for program in venturi venturi-serve; do
		"$program" --help >"$TEMP/en"
		LC_ALL=zh_CN.UTF-8 "$program" --help >"$TEMP/zh"
		run cmp -s "$TEMP/en" "$TEMP/zh"
		[ "$status" -eq 1 ]
		LC_ALL=C grep -q $'[\xE4-\xE9][\x80-\xBF][\x80-\xBF]' "$TEMP/zh"
		run ! grep -P '\p{Han}' "$TEMP/en"
	done
}
