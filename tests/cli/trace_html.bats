#!/usr/bin/env bats
# The HTML page of venturi trace.

bats_require_minimum_version 1.5.0
load helpers

setup() {
	make_temp
	TRACE=tests/data/traces/steps_second.json
}

teardown() {
	remove_temp
}

# check FILE LANG: well formed, of this language, nothing to load, no script.
check() {
	python3 - "$@" <<-'EOF'
		import sys
		from html.parser import HTMLParser
		class Page(HTMLParser):
		    def __init__(self):
		        super().__init__()
		        self.open, self.seen, self.lang = [], [], None
		    def handle_starttag(self, tag, attributes):
		        names = dict(attributes)
		        assert not {"src", "href", "onload"} & names.keys(), names
		        self.lang = names.get("lang", self.lang)
		        self.seen.append(tag)
		        if tag not in ("meta", "rect"):
		            self.open.append(tag)
		    def handle_startendtag(self, tag, attributes):
		        self.seen.append(tag)
		    def handle_endtag(self, tag):
		        assert self.open.pop() == tag, (tag, self.getpos())
		page = Page()
		page.feed(open(sys.argv[1], encoding="utf-8").read())
		assert page.open == [], page.open
		assert page.lang == sys.argv[2], page.lang
		assert "script" not in page.seen and "link" not in page.seen
		assert page.seen.count("svg") >= 1 and page.seen.count("h2") >= 3
	EOF
}

@test "the page is one file that loads nothing, in both languages" {
	venturi trace "$TRACE" --html "$TEMP/page.html" --quiet
	check "$TEMP/page.html" en
	venturi trace "$TRACE" --html "$TEMP/page.html" --quiet --lang zh
	check "$TEMP/page.html" zh
}

@test "a page to standard output is all that stands there" {
	venturi trace "$TRACE" --html - >"$TEMP/page.html"
	check "$TEMP/page.html" en
}
