#!/usr/bin/env bats
# Faults of the service itself, on a simulated model: each has its effect, which a good service has
# not, as it is seen from outside. Those of an encoder are in faults_*.bats.

bats_require_minimum_version 1.5.0

load helpers
load fault_helpers

setup() {
	make_temp
}

teardown() {
	stop_faulty
	remove_temp
}

# pair "FAULT..." JSON: a faulty service (BAD) and a control (GOOD) on the same simulation.
pair() {
	echo "$2" >"$TEMP/sim.json"
	faulty GOOD "" --simulate "$TEMP/sim.json"
	faulty BAD "$1" --simulate "$TEMP/sim.json"
}

# both OPTION...: the same load on each, one after the other.
both() {
	run_load GOOD "$@"
	run_load BAD "$@"
}

# at_most_in_flight NAME: the most requests that the service knows of while 8 want answers.
at_most_in_flight() {
	local most=0 n
	run_load "$1" --api openai-completions -c 8 -d 2s &
	for _ in 1 2 3 4 5 6 7 8; do
		sleep 0.2
		n=$(in_flight "$1")
		[ "$n" -le "$most" ] || most=$n
	done
	wait $!
	echo "$most"
}

@test "fault slots: requests beyond them wait where no metric counts them" {
	pair slots=2 '{"service_ms": 50, "output_tokens": 1, "slots": 64}'
	[ "$(at_most_in_flight GOOD)" -gt 4 ]
	[ "$(at_most_in_flight BAD)" -le 2 ]
	holds "$(figure BAD .throughput.requests_per_s) < 0.6 * $(figure GOOD .throughput.requests_per_s)"
	[ "$(figure BAD .requests.failed)" = 0 ]
}

@test "fault slots: what waits is refused when the service ends" {
	pair slots=1 '{"service_ms": 60000, "output_tokens": 1, "slots": 64}'
	for _ in 1 2 3; do
		curl -sS --max-time 20 -o /dev/null -w '%{http_code}\n' "$URL_BAD/v1/completions" -d '{"prompt": "a"}' \
			>>"$TEMP/codes" 2>/dev/null 3>&- &
	done
	wait_for 10 eval '[ "$(in_flight BAD)" = 1 ]'
	sleep 0.3
	kill "$PID_BAD"
	wait "$PID_BAD"
	wait_for 10 eval '[ "$(wc -l <"$TEMP/codes")" = 3 ]'
	[ "$(grep -c 503 "$TEMP/codes")" = 2 ]
}

@test "fault connections: more than so many are not taken up" {
	pair connections=2 '{"service_ms": 50, "output_tokens": 1, "slots": 64}'
	both --api openai-completions -c 8 -d 2s
	holds "$(figure BAD .throughput.requests_per_s) < 0.6 * $(figure GOOD .throughput.requests_per_s)"
}

@test "fault stall: all requests stop together, every so often" {
	pair stall=800ms,400ms '{"service_ms": 2, "output_tokens": 1, "slots": 64}'
	both --api openai-completions -c 4 -d 3s
	holds "$(figure BAD .latency_ms.max) >= 350"
	holds "$(figure GOOD .latency_ms.max) < 350"
	# the figure at which most are: a stall hits few of them
	holds "$(figure BAD .latency_ms.p50) < 200"
	# also who asks for something else waits: in one of 16 looks over two periods
	local slow=0 from to
	for _ in $(seq 16); do
		from=$(date +%s%N)
		ask BAD /health >/dev/null
		to=$(date +%s%N)
		[ $((to - from)) -lt 100000000 ] || slow=$((slow + 1))
		sleep 0.1
	done
	[ $slow -ge 1 ]
}

@test "fault log-sync: bytes are written to disk for each request, which waits for them" {
	pair log-sync=10 '{"service_ms": 0, "output_tokens": 1, "slots": 64}'
	local good bad
	good=$(io_of "$PID_GOOD" wchar)
	bad=$(io_of "$PID_BAD" wchar)
	both --api openai-completions -c 1 -n 100
	holds "$(io_of "$PID_BAD" wchar) - $bad > 100 * 300"
	holds "$(io_of "$PID_GOOD" wchar) - $good < 100 * 200"
	[ "$(df --output=fstype /var/tmp | tail -n 1)" != tmpfs ] || skip "/var/tmp is in memory here"
	holds "$(figure BAD .latency_ms.p50) > 2 * $(figure GOOD .latency_ms.p50)"
}

@test "fault leak: memory grows with each request" {
	pair leak=256KiB '{"service_ms": 0, "output_tokens": 1, "slots": 64}'
	local good bad
	good=$(rss_kib "$PID_GOOD")
	bad=$(rss_kib "$PID_BAD")
	both --api openai-completions -c 2 -n 100
	holds "$(rss_kib "$PID_BAD") - $bad > 20000"
	holds "$(rss_kib "$PID_GOOD") - $good < 8000"
}

@test "fault retain: memory grows although it is freed" {
	pair retain=256KiB '{"service_ms": 0, "output_tokens": 1, "slots": 64}'
	local good bad
	good=$(rss_kib "$PID_GOOD")
	bad=$(rss_kib "$PID_BAD")
	both --api openai-completions -c 2 -n 100
	wait_for 5 eval 'holds "$(rss_kib "$PID_BAD") - '"$bad"' > 18000"'
	holds "$(rss_kib "$PID_GOOD") - $good < 8000"
}

@test "fault serialize: the CPU is spent on the bytes of the answer" {
	pair serialize=40 '{"service_ms": 0, "embedding_dimensions": 8192}'
	local good bad
	good=$(cpu_ms "$PID_GOOD")
	bad=$(cpu_ms "$PID_BAD")
	for name in GOOD BAD; do
		run_load $name --api openai-embeddings -c 1 -n 30
	done
	good=$(($(cpu_ms "$PID_GOOD") - good))
	bad=$(($(cpu_ms "$PID_BAD") - bad))
	echo "good $good ms, bad $bad ms"
	holds "$bad > 4 * $good + 50"
	holds "$(figure BAD .latency_ms.p50) > 3 * $(figure GOOD .latency_ms.p50)"
}

@test "fault nagle: no answer is quicker than a delayed acknowledgement" {
	pair nagle '{"service_ms": 0, "output_tokens": 1, "slots": 64}'
	both --api openai-completions -c 1 -n 30
	holds "$(figure BAD .latency_ms.p50) > 35"
	holds "$(figure GOOD .latency_ms.p50) < 35"
}

@test "fault close: each answer ends its connection" {
	pair close '{"service_ms": 0, "output_tokens": 1, "slots": 64}'
	local connects='-sS -o /dev/null -o /dev/null -w %{num_connects}'
	# shellcheck disable=SC2086 # words are wanted
	[ "$(curl $connects "$URL_GOOD/health" "$URL_GOOD/health")" = 10 ]
	# shellcheck disable=SC2086
	[ "$(curl $connects "$URL_BAD/health" "$URL_BAD/health")" = 11 ]
}

@test "fault buffer-stream: the first token comes with the last" {
	pair buffer-stream '{"prefill": {"fixed_ms": 5}, "decode": {"fixed_ms": 20}, "output_tokens": 20, "slots": 8}'
	both --api openai-completions --stream -c 1 -n 6
	holds "$(figure BAD '.ttft_ms.mean / .latency_ms.mean') > 0.8"
	holds "$(figure GOOD '.ttft_ms.mean / .latency_ms.mean') < 0.5"
}

# state_and_policy PID: of each of its threads, as /proc has them; policy 5 is SCHED_IDLE.
state_and_policy() {
	cat /proc/"$1"/task/*/stat | sed 's/.*) //' | awk '{ print $1, $39 }'
}

@test "fault idle-spin: a thread is always busy, and in nobody's way" {
	pair idle-spin '{"service_ms": 5, "output_tokens": 1, "slots": 64}'
	state_and_policy "$PID_BAD" | grep -qx 'R 5'
	! state_and_policy "$PID_GOOD" | grep -q 'R' || false
	both --api openai-completions -c 2 -n 100
	holds "$(figure BAD .latency_ms.p50) < 4 * $(figure GOOD .latency_ms.p50)"
}

major_faults() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $10 }'
}

@test "fault file-reading: pages are read from disk, and nobody waits for them" {
	[ "$(df --output=fstype /var/tmp | tail -n 1)" != tmpfs ] || skip "/var/tmp is in memory here"
	pair file-reading '{"service_ms": 5, "output_tokens": 1, "slots": 64}'
	both --api openai-completions -c 2 -d 1500ms
	[ "$(major_faults "$PID_BAD")" -ge 10 ]
	[ "$(major_faults "$PID_GOOD")" -lt 10 ]
	holds "$(figure BAD .latency_ms.p50) < 4 * $(figure GOOD .latency_ms.p50)"
}
