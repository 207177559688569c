# shellcheck shell=bash
# What the tests of the commands share: the programs of $VENTURI_BUILD on the path, the root of the
# repository as the working folder, a language that the user's settings do not change, and no
# configuration of the user's.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
cd "$ROOT" || exit 1
VENTURI_BUILD=$(cd "${VENTURI_BUILD:-build}" && pwd)
export VENTURI_BUILD
export PATH="$VENTURI_BUILD:$PATH"
export LC_ALL=C.UTF-8
unset LANGUAGE VENTURI_LEDGER XDG_DATA_HOME

# A folder of the test's own in $TEMP, where also the default ledger lies.
make_temp() {
	TEMP=$(mktemp -d "${BATS_TMPDIR:-/tmp}/venturi.XXXXXX")
	export XDG_DATA_HOME="$TEMP/share"
}

remove_temp() {
	[ -z "${TEMP-}" ] || rm -rf "$TEMP"
}

# wait_for SECONDS COMMAND...: until the command succeeds, tried 20 times a second.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		if [ $SECONDS -gt $end ]; then
			echo "waited in vain for: $*" >&2
			return 1
		fi
		sleep 0.05
	done
}

# For a test whose tolerance is tighter than what a sanitizer's slowness costs.
needs_speed() {
	[ -z "${VENTURI_SANITIZED-}" ] || skip "a sanitizer slows the programs beyond the tolerance"
}
