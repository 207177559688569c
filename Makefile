# The commands of this project by their usual names; the work is Meson's and that of scripts/.
#
#   make            build both programs into build/
#   make test       build, then every test
#   make demo       build, then diagnose a real service
#   make install    (DESTDIR, and MESON_FLAGS=--prefix=... when build/ is first made)
#   make sanitize   every test under the address, undefined and thread sanitizers
#   make fuzz       FUZZ_SECONDS=60 of libFuzzer on each reader of outside data
#   make check      clang-tidy and cppcheck, where installed
#   make format     clang-format on all sources
#   make po         the sentences of the sources into po/
#
# Missing Debian packages are installed first by scripts/setup, which says so.

BUILD ?= build
MESON_FLAGS ?=
FUZZ_SECONDS ?= 60
SOURCES = $(shell find src tests bench -name '*.[ch]')

.DEFAULT_GOAL := all
.PHONY: all test demo install sanitize fuzz check format po clean \
	setup-build setup-test setup-clang setup-dev

all: setup-build $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja: | setup-build
	meson setup $(BUILD) $(MESON_FLAGS)

# Nothing is done, and in a moment, when all is there.
setup-build:
	@scripts/setup build
setup-test:
	@scripts/setup build test
setup-clang:
	@scripts/setup build clang
setup-dev:
	@scripts/setup dev

test: setup-test all
	VENTURI_BUILD=$(BUILD) tests/run

demo: all
	VENTURI_BUILD=$(BUILD) scripts/demo

install: all
	meson install --no-rebuild -C $(BUILD)

sanitize: setup-test
	scripts/sanitize

fuzz: setup-clang
	scripts/fuzz $(FUZZ_SECONDS)

check: all
	scripts/check $(BUILD)

format: setup-dev
	clang-format -i $(SOURCES)

po:
	scripts/update-po

clean:
	rm -rf build build-asan build-tsan build-clang build-fuzz
