# shellcheck shell=bash
# Servers of tests/servers for the time of one test, on a free port, one at a time.

needs_python() {
	command -v python3 >/dev/null || skip "there is no python3 for the stand-ins"
}

# start_standin PROGRAM OPTION...: sets STANDIN_URL and logs to $LOG.
start_standin() {
	LOG="$TEMP/log.jsonl"
	: >"$LOG"
	: >"$TEMP/port"
	# descriptor 3 is bats's own: it waits until nobody holds it any more
	"$BATS_TEST_DIRNAME/../servers/$1" "${@:2}" --log "$LOG" >"$TEMP/port" 2>"$TEMP/standin.err" 3>&- &
	STANDIN_PID=$!
	wait_for 10 test -s "$TEMP/port"
	STANDIN_URL="http://127.0.0.1:$(cat "$TEMP/port")"
}

stop_standin() {
	[ -z "${STANDIN_PID-}" ] || kill "$STANDIN_PID" 2>/dev/null || true
	STANDIN_PID=
}
