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

@test "an open loop by requests is not blamed for the time of its last answers" {
	echo '{ "service_ms": 1500, "slots": 256, "output_tokens": 1 }' >"$TEMP/slow.json"
	start_serve --simulate "$TEMP/slow.json"
	venturi load "$SERVE_URL/v1/completions" --no-stream --rate 100 --arrival constant -n 60 \
		--warmup none -q --json "$TEMP/r.json"
	jq -e '.requests.ok == 60 and .client.verdict != "limited"' "$TEMP/r.json"
}

@test "a few connections need few open files, too many are refused with what to do" {
	start_serve --simulate tests/data/simulate/bimodal.json
	(ulimit -n 64 && venturi load "$SERVE_URL/v1/completions" -c 16 -n 32 --warmup none -q)
	run bash -c "ulimit -n 64 && venturi load '$SERVE_URL/v1/completions' -c 200 -n 400"
	[ "$status" -eq 4 ]
	[[ "$output" == *"200 connections need more open files than the limit of 64"*"ulimit -n"* ]]
}

@test "a result that cannot be written is said, shown and kept in the ledger" {
	start_serve --simulate tests/data/simulate/bimodal.json
	ln -s /dev/full "$TEMP/full"
	for place in "$TEMP/full" "$TEMP/no/such/folder.json" "$TEMP"; do
		run venturi load "$SERVE_URL/v1/completions" -n 20 --warmup none --json "$place"
		[ "$status" -eq 4 ]
		[[ "$output" == *"20 attempted"* ]]
		[[ "$output" == *"Stored as run"* ]]
		[[ "$output" == *"cannot write '$place'"* ]]
	done
	[ "$(venturi log --json - | jq '.runs | length')" -ge 3 ]
	run bash -c "venturi load '$SERVE_URL/v1/completions' -n 20 --warmup none >&-"
	[ "$status" -eq 4 ]
	[[ "$output" == *"cannot write to standard output"* ]]
}

@test "a link or a pipe that takes the result is written to, not replaced" {
	start_serve --simulate tests/data/simulate/bimodal.json
	ln -s there.json "$TEMP/link.json"
	mkfifo "$TEMP/pipe"
	venturi load "$SERVE_URL/v1/completions" -n 20 --warmup none -q --json "$TEMP/link.json"
	[ -L "$TEMP/link.json" ]
	jq -e '.requests.ok == 20' "$TEMP/there.json"
	timeout 20 cat "$TEMP/pipe" >"$TEMP/piped.json" 3>&- &
	venturi load "$SERVE_URL/v1/completions" -n 20 --warmup none -q --json "$TEMP/pipe"
	wait $!
	[ -p "$TEMP/pipe" ]
	jq -e '.requests.ok == 20' "$TEMP/piped.json"
}

@test "an interrupt before the measurement ends it and says that nothing was measured" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --warmup 60s -q --json "$TEMP/r.json" 2>"$TEMP/err" &
	pid=$!
	sleep 0.5
	kill -INT $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 5 ]
	grep -q "before anything was measured" "$TEMP/err"
	jq -e '.partial and .requests.attempted == 0' "$TEMP/r.json"
}

@test "a certificate that is not to be trusted is refused with its reason, and --insecure takes it" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$TEMP/key" -out "$TEMP/cert" -days 2 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost 2>"$TEMP/openssl"
	local port=$((20000 + RANDOM % 20000))
	openssl s_server -accept "127.0.0.1:$port" -www -quiet -key "$TEMP/key" -cert "$TEMP/cert" \
		>"$TEMP/openssl" 2>&1 3>&- &
	HOSTILE_PID=$!
	wait_for 10 bash -c "echo >/dev/tcp/127.0.0.1/$port"
	run venturi load --api http "https://127.0.0.1:$port/" -n 5
	[ "$status" -eq 4 ]
	[[ "$output" == *"the certificate of '127.0.0.1:$port' is not accepted: self-signed"*"--insecure"* ]]
	SSL_CERT_FILE="$TEMP/cert" run venturi load --api http "https://127.0.0.1:$port/" -n 5
	[ "$status" -eq 4 ]
	[[ "$output" == *"IP address mismatch"* ]]
	venturi load --api http --insecure "https://127.0.0.1:$port/" -n 5 --warmup none -q
	SSL_CERT_FILE="$TEMP/cert" venturi load --api http "https://localhost:$port/" -n 5 --warmup none -q
}
