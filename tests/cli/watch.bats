#!/usr/bin/env bats
# venturi watch as a user meets it: lines, JSON, records, the page for Prometheus, bad input.

bats_require_minimum_version 1.5.0

load helpers

setup() {
	make_temp
	R="$TEMP/r.json"
}

teardown() {
	for pid in ${STARTED-}; do
		kill "$pid" 2>/dev/null || true
	done
	remove_temp
}

# in_background COMMAND...: sets BACK; it is ended with the test.
in_background() {
	"$@" >"$TEMP/back.out" 2>"$TEMP/back.err" 3>&- &
	BACK=$!
	STARTED="${STARTED-} $BACK"
}

# sleeper: a process to watch, in SLEEPER.
sleeper() {
	sleep 600 3>&- &
	SLEEPER=$!
	STARTED="${STARTED-} $SLEEPER"
}

# pages: a server of pages of metrics, at PAGES.
pages() {
	command -v python3 >/dev/null || skip "there is no python3 for the server"
	: >"$TEMP/port"
	"$BATS_TEST_DIRNAME/../servers/pages.py" >"$TEMP/port" 3>&- &
	STARTED="${STARTED-} $!"
	wait_for 10 test -s "$TEMP/port"
	PAGES="http://127.0.0.1:$(cat "$TEMP/port")"
}

# holds FILTER [FILE]: of the JSON.
holds() {
	jq -e "$1" "${2-$R}" >/dev/null || {
		echo "does not hold: $1"
		jq -c 'del(.signals) | del(.threads)' "${2-$R}"
		return 1
	}
}

@test "it lasts as long as it was told to, and its JSON has a state for every signal" {
	sleeper
	start=$(date +%s%N)
	venturi watch --pid "$SLEEPER" -d 2s --json "$R" -q
	took=$((($(date +%s%N) - start) / 1000000))
	[ "$took" -ge 2000 ]
	[ "$took" -lt 4000 ]
	holds '.schema == "venturi.watch/1" and .duration_s > 1.9 and .duration_s < 2.3'
	holds '.window.samples >= 15 and .interval_s == 0.1'
	holds '[.signals[] | select(.state | IN("measured", "estimated", "not_supported", "not_counted") | not)] == []'
	# what is missing says why and has no figures; what is not missing has a source
	holds '[.signals[] | select(.state | startswith("not_")) | select((.reason | length) == 0 or has("mean"))] == []'
	holds '[.signals[] | select(.state | startswith("not_") | not) | select(.n < 1 or .source == null)] == []'
	holds '[.signals[] | select(has("mean")) | select(.mean > .max * 1.000001 + 1e-9 or .mean < .min - 1e-9)] == []'
	holds '.signals | map({ name, instance, page }) | length == (unique | length)'
	holds ".processes[0].pid == $SLEEPER and .processes[0].name == \"sleep\" and .processes[0].ended_s == null"
	holds '.sampler.cpu_ratio > 0 and .sampler.late_ms_p95 >= 0'
	holds '[.signals[] | select(has("series"))] == []'
}

@test "points come when they are asked for, on the axis of the watch" {
	venturi watch -d 1s -i 50ms --series --json "$R" -q
	holds '[.signals[] | select(.name == "watch_late_ms") | .series[][0]] | length > 5 and .[0] >= 0 and max <= 1.5'
}

@test "without a terminal there is a line a second, under a head, and a summary" {
	sleeper
	venturi watch --pid "$SLEEPER" -d 3500ms >"$TEMP/out"
	head -1 "$TEMP/out" | grep -q '^ *time s .*host%'
	[ "$(sed '/^$/,$d' "$TEMP/out" | grep -cE '^ +[0-9.]+ ')" -eq 3 ]
	# each line has a cell for every column
	sed '/^$/,$d' "$TEMP/out" | sed 's/ KiB/KiB/g; s/ MiB/MiB/g; s/top thr/topthr/; s/time s/time/' |
		awk 'NR == 1 { n = NF } NF != n { exit 1 }'
	grep -q "^Watched *process $SLEEPER (sleep)" "$TEMP/out"
	grep -q '^host_cpu_ratio' "$TEMP/out"
	grep -q '^Missing, and why:' "$TEMP/out"
	! grep -qi 'nan' "$TEMP/out"
}

@test "whoever reads only the first lines ends it, and all that was seen is written" {
	set -o pipefail
	venturi watch -d 60s --json "$R" | head -2 >"$TEMP/out"
	[ "$(wc -l <"$TEMP/out")" -eq 2 ]
	holds '.duration_s < 10 and .window.samples >= 8'
}

@test "Ctrl-C and SIGTERM end it and write all that was seen" {
	for signal in INT TERM; do
		rm -f "$R"
		# a background job of a script ignores SIGINT unless it is told not to
		in_background env --default-signal=INT venturi watch --json "$R" --record "$TEMP/w.jsonl"
		sleep 1.5
		kill "-$signal" "$BACK"
		wait "$BACK"
		holds '.window.samples >= 5'
		tail -1 "$TEMP/w.jsonl" | jq -e '.end.samples >= 5'
		grep -q '^Missing, and why:' "$TEMP/back.out"
	done
}

@test "a replay says what the watch said" {
	sleeper
	pages
	for file in w.jsonl w.jsonl.gz; do
		venturi watch --pid "$SLEEPER" --metrics "$PAGES/good" --port 1 -d 2500ms \
			--record "$TEMP/$file" --json "$R" >"$TEMP/live"
		venturi watch --replay "$TEMP/$file" --json "$TEMP/again.json" >"$TEMP/again"
		jq -S 'del(.record)' "$R" >"$TEMP/a"
		jq -S 'del(.replayed)' "$TEMP/again.json" >"$TEMP/b"
		# numbers in the file have 12 digits
		jq -n -e --slurpfile a "$TEMP/a" --slurpfile b "$TEMP/b" '
			[$a[0], $b[0]] | map([paths(scalars) as $p | [$p, getpath($p)]]) as [$x, $y]
			| if ($x | length) != ($y | length) then "other keys" | halt_error else . end
			| [range($x | length) | select($x[.] != $y[.]) | [$x[.], $y[.]]
				| select((.[0][1] | type) != "number" or (.[0][1] - .[1][1] | fabs) > 1e-7 * (.[0][1] | fabs))]
			| length == 0 or (tostring | halt_error)'
		sed '/^Recorded/d; /^Replayed/d' "$TEMP/live" >"$TEMP/live.kept"
		sed '/^Recorded/d; /^Replayed/d' "$TEMP/again" | diff - "$TEMP/live.kept"
	done
}

@test "the record of a watch that was killed is good to its last whole line" {
	in_background venturi watch --record "$TEMP/w.jsonl.gz" -q
	sleep 3
	kill -KILL "$BACK"
	wait "$BACK" || true
	run --separate-stderr venturi watch --replay "$TEMP/w.jsonl.gz" --json "$R"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"has no end: it is shown up to its last whole line"* ]]
	holds '.replayed.whole == false and .window.samples >= 8'
}

@test "what is no record, or a damaged one, is told by its line" {
	echo '{"schema": "venturi.load/1"}' >"$TEMP/other.json"
	run venturi watch --replay "$TEMP/other.json"
	[ "$status" -eq 3 ]
	[[ "$output" == *"is no record of a watch"* ]]
	venturi watch -d 1s --record "$TEMP/w.jsonl" -q
	sed '40s/.*/{"t":1,"v":{"0":/' "$TEMP/w.jsonl" >"$TEMP/broken.jsonl"
	[ "$(wc -l <"$TEMP/broken.jsonl")" -gt 40 ]
	run venturi watch --replay "$TEMP/broken.jsonl"
	[ "$status" -eq 3 ]
	[[ "$output" == *"in line 40"* ]]
	run venturi watch --replay "$TEMP/nothing"
	[ "$status" -eq 4 ]
}

@test "a record that cannot be written is an error, and the result still comes" {
	[ -e /dev/full ] || skip "there is no /dev/full"
	run --separate-stderr venturi watch -d 1500ms --record /dev/full --json "$R"
	[ "$status" -eq 4 ]
	[[ "$stderr" == *"cannot write '/dev/full': No space left on device"* ]]
	holds '.window.samples >= 5 and (.record.error | length) > 0'
	run venturi watch -d 1s --record "$TEMP/no/such/folder"
	[ "$status" -eq 4 ]
}

@test "a command is watched from its first to its last moment, and gives its exit status" {
	run --separate-stderr venturi watch --json "$R" -q -- sh -c 'sleep 1; exit 7'
	[ "$status" -eq 7 ]
	holds '.command.status == 7 and .duration_s > 0.95 and .duration_s < 2.5'
	holds '.processes[0].ended_s > 0.9'
	run venturi watch -q -- sh -c 'kill -9 $$'
	[ "$status" -eq 137 ]
	run venturi watch -q -- "$TEMP/no-such-command"
	[ "$status" -eq 4 ]
	[[ "$output" == *"cannot run '$TEMP/no-such-command': No such file or directory"* ]]
	# its output is its own; of the watch only the summary comes, as with perf stat
	venturi watch -- echo hello >"$TEMP/out"
	[ "$(head -1 "$TEMP/out")" = hello ]
	grep -q '^Command *echo hello: exit status 0' "$TEMP/out"
}

@test "a command that is not done in time is asked to end" {
	run venturi watch -d 1s --json "$R" -q -- sleep 600
	[ "$status" -eq 143 ]
	holds '.command.status == 143 and .duration_s < 2'
}

@test "processes that end are told; when all have ended, the watch has, too" {
	sleep 1 3>&- &
	first=$!
	sleep 2 3>&- &
	second=$!
	run --separate-stderr venturi watch --pid $first --pid $second --json "$R"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"process $first (sleep) has ended after "* ]]
	[[ "$stderr" == *"process $second (sleep) has ended after "* ]]
	holds '[.processes[].ended_s] | .[0] < 1.5 and .[1] > 1.5 and .[1] < 3'
	holds '.duration_s > 1.5 and .duration_s < 4'
}

@test "what may not be looked at says so, and the rest is seen" {
	[ "$(id -u)" -eq 0 ] || skip "it takes root to become somebody else"
	command -v setpriv >/dev/null || skip "there is no setpriv"
	sleeper
	cp "$VENTURI_BUILD/venturi" "$TEMP/venturi"
	chmod 755 "$TEMP"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$TEMP/venturi" watch --pid "$SLEEPER" -d 1s \
		--json - -q >"$R"
	holds '[.signals[] | select(.name == "process_storage_read_bytes_per_s")]
		| length > 0 and all(.state | startswith("not_"))
		and any(.reason | test("ermission|not allowed|may not|privilege"))'
	holds '[.signals[] | select(.name == "process_cpu_ratio" and .state == "measured")] | length > 0'
}

@test "processes are found by their names" {
	cp "$(command -v sleep)" "$TEMP/venturi-nap"
	"$TEMP/venturi-nap" 600 3>&- &
	nap=$!
	STARTED="${STARTED-} $nap"
	wait_for 5 grep -q venturi-nap "/proc/$nap/comm"
	venturi watch --name 'venturi-n?p' -d 500ms --json "$R" -q
	holds "[.processes[].pid] == [$nap]"
	run venturi watch --name no-such-process-at-all -d 1s
	[ "$status" -eq 4 ]
	[[ "$output" == *"no process named 'no-such-process-at-all'"* ]]
}

@test "wrong words are errors that name them" {
	run venturi watch --pid 999999999
	[ "$status" -eq 4 ]
	[[ "$output" == *"there is no process 999999999"* ]]
	run venturi watch --root "$TEMP/nowhere" -d 1s
	[ "$status" -eq 4 ]
	[[ "$output" == *"cannot open '$TEMP/nowhere'"* ]]
	while IFS='|' read -r options says; do
		# shellcheck disable=SC2086
		run venturi watch $options
		[ "$status" -eq 2 ]
		[[ "$output" == *"$says"* ]] || {
			echo "$options: $output"
			return 1
		}
	done <<-'END'
		--pid x|'x' is no PID
		--pid -3|'-3' is no PID
		--port 70000|'70000' is no port
		--interval 0|--interval
		1234|'1234' is no option
		--markdown|goes with '--list'
		--replay x --pid 1|nothing besides
		--replay x --record y|neither '--record' nor '--listen'
		--listen nowhere|is not HOST:PORT
		--metrics ftp://x|--metrics
		--root /tmp -- true|below '--root'
		--series|goes with '--json'
		--header X:y|go with '--metrics'
	END
}

@test "the page for Prometheus has the newest values, with types and units" {
	command -v python3 >/dev/null || skip "there is no python3 to check with"
	sleeper
	pages
	in_background venturi watch --pid "$SLEEPER" --metrics "$PAGES/good" --listen 0 --lines
	wait_for 10 grep -q 'metrics are at' "$TEMP/back.err"
	url=$(grep -o 'http://[^ ]*' "$TEMP/back.err")
	sleep 2
	curl -sf "$url" >"$TEMP/page"
	"$BATS_TEST_DIRNAME/check_page" "$TEMP/page"
	grep -q '^# TYPE venturi_watch_cpu_seconds_total counter' "$TEMP/page"
	grep -q '^# TYPE venturi_watch_late_seconds gauge' "$TEMP/page"
	grep -q "^venturi_server_requests_waiting{page=\"$PAGES/good\"} 3$" "$TEMP/page"
	grep -q '^# TYPE venturi_server_generation_tokens_total counter' "$TEMP/page"
	grep -q '^venturi_signal_missing{signal="' "$TEMP/page"
	# a counter grows
	sleep 1
	total() { sed -n 's/^venturi_watch_cpu_seconds_total //p' "$1"; }
	curl -sf "$url" >"$TEMP/page2"
	awk "BEGIN { exit !($(total "$TEMP/page2") > $(total "$TEMP/page")) }"
	# nothing else is served, and many may ask at once
	[ "$(curl -s -o /dev/null -w '%{http_code}' "${url%/metrics}/")" = 404 ]
	[ "$(curl -s -o /dev/null -w '%{http_code}' -d x "$url")" = 405 ]
	[ "$(curl -sI "$url" | tr -d '\r' | sed -n 's/^Content-Type: //p')" = "text/plain; version=0.0.4; charset=utf-8" ]
	asking=
	for _ in $(seq 20); do
		curl -sf -m 20 -o /dev/null "$url" 3>&- &
		asking="$asking $!"
	done
	for pid in $asking; do
		wait "$pid"
	done
	run venturi watch --listen "${url#http://}" -d 1s
	[ "$status" -eq 2 ]
	run venturi watch --listen "$(echo "$url" | sed 's|http://||; s|/metrics||')" -d 1s
	[ "$status" -eq 4 ]
	[[ "$output" == *"Address already in use"* ]]
}

@test "a page that is bad, slow or gone says why, and the watch goes on" {
	pages
	venturi watch --metrics "$PAGES/html" --metrics "$PAGES/slow" --metrics "$PAGES/huge" \
		--metrics "$PAGES/numbers" --metrics "$PAGES/late" --metrics "$PAGES/nothing" \
		--metrics "$PAGES/good" -d 6s --json "$R" -q 2>"$TEMP/said"
	# nobody waits for a page
	holds '.duration_s > 5.9 and .duration_s < 7'
	holds '.window.samples > 20'
	holds '[.pages[] | { (.url | sub(".*/"; "")): . }] | add
		| (.html.reason | length) > 0 and (.slow.reason | length) > 0 and (.huge.reason | length) > 0
		and .html.read == 0 and .slow.read == 0 and .huge.read == 0
		and (.nothing.reason | contains("404")) and .numbers.broken_lines >= 2
		and .late.read > 0 and .late.failed > 0 and .good.read >= 4 and .good.failed == 0'
	holds '[.signals[] | select((.page // "") | endswith("/good")) | { (.name): . }] | add
		| .server_requests_waiting.mean == 3
		and (.server_generation_tokens_per_s.mean - 100 | fabs) < 40'
	holds '[.signals[] | select((.page // "") | endswith("/numbers")) | { (.name): . }] | add
		| (.server_requests_running.state | startswith("not_")) and .server_requests_waiting.mean >= 3'
	[ "$(grep -c "'$PAGES/html': .*that is no page of metrics" "$TEMP/said")" -eq 1 ]
}

@test "every signal is listed, and docs/signals.md is up to date" {
	venturi watch --list >"$TEMP/list"
	grep -q '^  host_cpu_ratio \[ratio\]' "$TEMP/list"
	venturi watch --list --json "$TEMP/list.json" -q
	jq -e '.schema == "venturi.signals/1" and (.signals | length) > 50
		and ([.signals[] | select(.help == null or .from == null or .unit == null)] == [])
		and (.signals | map(.name) | length == (unique | length))' "$TEMP/list.json"
	venturi watch --list --markdown | diff docs/signals.md - || {
		echo "scripts/update-signals writes it"
		return 1
	}
}

@test "what is seen is among what is listed" {
	sleeper
	venturi watch --pid "$SLEEPER" --port 1 -d 500ms --json "$R" -q
	venturi watch --list --json "$TEMP/list.json" -q
	jq -n -e --slurpfile r "$R" --slurpfile list "$TEMP/list.json" '
		([$r[0].signals[].name] | unique) - [$list[0].signals[].name] | . == [] or (tostring | halt_error)'
}

@test "it speaks Chinese" {
	venturi --lang zh watch -d 1500ms >"$TEMP/out"
	grep -q '^缺失的信号及原因：' "$TEMP/out"
	grep -q '主机%' "$TEMP/out"
	venturi watch --lang zh --list | grep -q '请求'
}

@test "a tree of another machine is watched in its place" {
	mkdir -p "$TEMP/tree/proc" "$TEMP/tree/sys"
	echo '9.50 8.00 7.00 3/500 1234' >"$TEMP/tree/proc/loadavg"
	printf 'cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 100 0 100 800 0 0 0 0 0 0\nctxt 5\nbtime 1\nprocesses 3\nprocs_running 1\nprocs_blocked 0\n' >"$TEMP/tree/proc/stat"
	venturi watch --root "$TEMP/tree" -d 500ms --json "$R" -q
	holds '[.signals[] | select(.name == "host_load1")][0].mean == 9.5'
	holds '[.signals[] | select(.name == "host_psi_cpu_some_ratio")][0] | .state == "not_supported" and (.reason | length) > 0'
}
