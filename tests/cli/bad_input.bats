#!/usr/bin/env bats
# Services that are not what they should be, and places that take no result: one clear sentence
# that names the thing, the right exit code, nothing lost, no crash, no hang.

load helpers
load serve_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_serve
	[ -z "${HOSTILE_PID-}" ] || kill "$HOSTILE_PID"
	remove_temp
}

start_hostile() {
	"$BATS_TEST_DIRNAME/hostile_server" >"$TEMP/port" 2>"$TEMP/hostile.err" 3>&- &
	HOSTILE_PID=$!
	wait_for 10 test -s "$TEMP/port"
	HOSTILE_URL="http://127.0.0.1:$(cat "$TEMP/port")"
}

# ask API NAME COUNT CLASS [WORDS]: 8 requests to /NAME must end in CLASS, "ok" or a failure, all of
# them, within 20 s; WORDS are in the sentence that says why.
ask() {
	echo "# $1 /$2"
	local status=0 want=5
	[ "$3" != ok ] || want=0
	timeout 20 venturi load --api "$1" --model m -c 2 -n 8 --warmup none --timeout 300ms -q \
		--json "$TEMP/$2.json" "$HOSTILE_URL/$2" >"$TEMP/out" 2>&1 || status=$?
	cat "$TEMP/out"
	[ "$status" -eq "$want" ]
	grep -qF -- "${4-}" "$TEMP/out" || [ -z "${4-}" ]
	if [ "$3" = ok ]; then
		jq -e '.requests | .ok == 8 and .failed == 0' "$TEMP/$2.json"
	else
		grep -qF "$HOSTILE_URL/$2" "$TEMP/out"
		jq -e --arg k "$3" '.requests | .ok == 0 and .failed == .failures[$k]
			and .attempted == .failed + .censored and .failed > 3' "$TEMP/$2.json"
	fi
}

@test "every way to answer in HTTP is understood" {
	start_hostile
	for name in until_close old silent_close; do
		ask http $name ok
	done
	for name in lf crlf cr; do
		ask openai-completions $name ok
	done
}

@test "an answer that breaks off is a cut, at once and not at the timeout" {
	start_hostile
	ask http short stream_cut "closed the connection before the answer was complete"
	ask http nothing stream_cut "closed the connection before the answer was complete"
	ask http reset stream_cut "reset"
	ask openai-completions cut stream_cut "closed the connection before the answer was complete"
	ask openai-completions unfinished stream_cut "without its finish marker"
}

@test "garbage instead of HTTP is named, whatever its kind" {
	start_hostile
	ask http garbage stream_cut "not valid HTTP"
	ask http headers stream_cut "head too large"
	ask http chunk_absurd stream_cut "body too large"
	ask http chunk_negative stream_cut "bad chunk size"
	ask http length_absurd stream_cut "body too large"
}

@test "a service that keeps silent runs into the timeout" {
	start_hostile
	ask http silence timeout "no complete answer within 300 ms"
	ask http one_byte timeout "no complete answer within 300 ms"
}

@test "a good status with a bad answer is no success" {
	start_hostile
	ask openai-completions busy status "HTTP status 503: full"
	ask openai-completions empty empty "the answer is empty"
	ask openai-completions html error_event "not a JSON object"
	ask openai-completions error_event error_event "out of memory"
}

@test "what a service says cannot steer the terminal" {
	start_hostile
	ask openai-completions error_event error_event "?[31mout of memory?]0;title?"
	run grep -P '[\x00-\x08\x0b-\x1f\x7f]' "$TEMP/out"
	[ "$status" -eq 1 ]
}
