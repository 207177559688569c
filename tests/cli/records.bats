#!/usr/bin/env bats
# venturi load --records and venturi records: against the JSON of the same run, and against the
# service's own log of what it did when.

load helpers
load serve_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
	REC="$TEMP/run.vrec"
}

teardown() {
	stop_serve
	remove_temp
}

# stream OPTION...: a streamed load of the service that runs, with its records.
stream() {
	venturi load "$SERVE_URL" --api openai-chat --records "$REC" --json "$TEMP/r.json" -q "$@"
}

# says TEXT: fails unless the last output holds it.
says() {
	[[ "$output" == *"$1"* ]] || {
		printf 'no "%s" in:\n%s\n' "$1" "$output"
		return 1
	}
}

# The figures of the records against those of the run: numbers of requests and values are the same,
# every percentile is within the 0.2 % of a histogram. So many metrics there are.
same_figures() {
	venturi records "$REC" --json "$TEMP/records.json" -q
	jq -e -n --argjson n "$1" --slurpfile a "$TEMP/records.json" --slurpfile b "$TEMP/r.json" '
		$a[0] as $a | $b[0] as $b
		| if ($b.requests | del(.first_error)) != $a.requests then "requests differ: \($a.requests)" | halt_error
		  elif $a.warmup_requests != $b.window.warmup_requests then "the warm-ups differ" | halt_error
		  elif $a.lost != { "requests": 0, "token_events": 0 } then "lost: \($a.lost)" | halt_error
		  else . end
		| [$b | to_entries[] | select((.key | endswith("_ms")) and (.value | type) == "object") | .key] as $metrics
		| if ($metrics | length) != $n then "metrics: \($metrics)" | halt_error else true end and all($metrics[]; . as $m
			| $a[$m].n == $b[$m].n and $a[$m].max == $b[$m].max
			and ($a[$m].mean - $b[$m].mean | fabs) <= 1e-6 * $b[$m].mean
			and all("p50", "p90", "p95", "p99", "p999"; . as $p
				| $a[$m][$p] as $x | $b[$m][$p] as $y | if $x == null or $y == null then $x == $y
				else ($x - $y | fabs) <= 0.002 * $y + 1e-6 end)
			or ("\($m): \($a[$m]) against \($b[$m])" | halt_error))'
}

@test "figures from the records are those of the run, with two threads" {
	start_serve --simulate tests/data/simulate/continuous.json
	stream -c 16 -n 300 --output-tokens 20 --threads 2
	same_figures 8
	jq -e '.records | .requests >= 300 and .lost_requests == 0 and .lost_token_events == 0' "$TEMP/r.json"
	[ "$(jq .records.bytes "$TEMP/r.json")" -eq "$(stat -c %s "$REC")" ]
	venturi records "$REC" --csv | awk -F, 'NR > 1 { n[$2]++ } END { exit !(n[0] > 50 && n[1] > 50) }'
	# no ticket is missing, none is twice
	venturi records "$REC" --csv | tail -n +2 | cut -d, -f1 | sort -n | awk '$1 != NR - 1 { exit 1 }'
}

@test "requests and tokens are those of the service's own log, at its times" {
	needs_speed
	start_serve --simulate tests/data/simulate/continuous.json --schedule-log "$TEMP/log.jsonl"
	stream -c 4 -n 60 --output-tokens 24 --warmup none
	stop_serve
	[ "$(venturi records "$REC" --jsonl | jq -s 'map(select(.outcome == "ok" and .token_events == 24
		and .output_tokens == 24 and .tokens_source == "usage")) | length')" -eq 60 ]
	start=$(venturi records "$REC" --json - | jq .header.start_monotonic_ns)
	# Both sides' token events in the order of time: each pair is the same event, on one clock. The
	# client may not see it before it was made, and half of them follow at once, however busy the
	# machine is.
	venturi records "$REC" --csv --tokens | tail -n +2 | cut -d, -f5 | sort -n >"$TEMP/seen"
	jq '.token_ns[]' "$TEMP/log.jsonl" | sort -n >"$TEMP/made"
	[ "$(wc -l <"$TEMP/seen")" -eq $((60 * 24)) ]
	[ "$(wc -l <"$TEMP/made")" -eq $((60 * 24)) ]
	paste "$TEMP/seen" "$TEMP/made" | awk -v start="$start" '
		{ d = ($1 - ($2 - start)) / 1e6; if (d < -0.05) early++; if (d > 5) late++ }
		END { print early + 0, "early", late + 0, "late"; exit early > 0 || late > NR / 2 }'
}

@test "the rows of token events add up to the stamps of their requests" {
	start_serve --simulate tests/data/simulate/continuous.json
	stream -c 4 -n 20 --output-tokens 12
	venturi records "$REC" --jsonl --tokens | jq -s 'group_by(.ticket) | map({ key: (.[0].ticket | tostring),
		value: { n: length, first: .[0].at_ns, last: .[-1].at_ns, worst: (map(.gap_ns) | max),
			events: (map(.event) == [range(length)]), none: (.[0].gap_ns == null) } }) | from_entries' >"$TEMP/events"
	venturi records "$REC" --jsonl | jq -s --slurpfile e "$TEMP/events" -e 'length >= 20 and all(.[];
		$e[0][.ticket | tostring] as $t | $t.events and $t.none and $t.n == .token_events
		and $t.first == .first_token_ns and $t.last == .last_token_ns and $t.worst == .worst_gap_ns)'
}

@test "bodies, failures and retries are recorded as they are counted" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 8 -n 400 --output-tokens 1 --records "$REC" \
		--json "$TEMP/r.json" -q
	same_figures 3
	run venturi load "$SERVE_URL/nothing" --api http -c 4 -n 50 --records "$REC" --json "$TEMP/r.json" -q
	[ "$status" -eq 5 ]
	same_figures 1
	venturi records "$REC" --jsonl | jq -s -e 'length >= 50 and all(.[]; .outcome == "status" and .status == 404
		and .first_token_ns == null and .output_tokens == null and .worst_gap_ns == null)'
	run venturi records "$REC"
	says "50 attempted: 0 ok, 50 failed"
	says "status 50"
}

@test "what is under way at the end is censored and keeps its tokens" {
	start_serve --simulate tests/data/simulate/continuous.json
	run stream -c 4 -d 1s --warmup none --output-tokens 1000
	[ "$status" -eq 5 ]
	same_figures 1
	venturi records "$REC" --jsonl | jq -s -e 'map(select(.outcome == "censored" and .in_window)) as $c
		| ($c | length) == 4 and all($c[]; .token_events > 20 and .end_ns >= .last_token_ns)'
}

@test "Ctrl-C and SIGTERM leave a whole file" {
	start_serve --simulate tests/data/simulate/continuous.json
	for signal in INT TERM; do
		venturi load "$SERVE_URL" --api openai-chat --records "$REC" --json "$TEMP/r.json" -q \
			-c 4 -d 60s --warmup none --output-tokens 20 &
		pid=$!
		sleep 1.5
		kill -"$signal" $pid
		wait $pid
		same_figures 8
		jq -e '.whole and .partial and .requests.ok > 4' "$TEMP/records.json"
	done
}

@test "a killed run leaves a file that is read up to its last whole block" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 4 -d 60s --output-tokens 1 --records "$REC" -q &
	pid=$!
	sleep 3
	kill -KILL $pid
	wait $pid || true
	run venturi records "$REC"
	[ "$status" -eq 0 ]
	says "'$REC' was cut short: it is read up to its last whole block"
	venturi records "$REC" --json - 2>"$TEMP/err" |
		jq -e '(.whole | not) and .partial and .requests.ok + .warmup_requests > 50 and .lost.requests == null'
}

@test "records take no more memory however many there are" {
	needs_speed
	start_serve --simulate tests/data/simulate/roomy.json
	rss_kb() {
		rm -f "$TEMP/ledger.db"
		python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=False, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \
			venturi load "$SERVE_URL" --api openai-chat -c 32 --warmup none --output-tokens 30 \
			--check-client off -d 6s -q "$@"
	}
	# What else a longer run needs (its series, the histograms' pages) is in both.
	without=$(rss_kb)
	with=$(rss_kb --records "$REC")
	echo "$without KB without, $with KB with $(stat -c %s "$REC") bytes of records"
	[ "$(stat -c %s "$REC")" -gt 500000 ]
	[ "$with" -lt $((without + 768)) ]
}

@test "a file that cannot be written is an error before the load starts" {
	start_serve --simulate tests/data/simulate/bimodal.json --schedule-log "$TEMP/log.jsonl"
	for file in "$TEMP/no/such" "$TEMP" /dev/full; do
		run venturi load "$SERVE_URL/v1/completions" --no-stream -n 10 --records "$file"
		[ "$status" -eq 4 ]
		says "cannot write '$file'"
	done
	[ ! -s "$TEMP/log.jsonl" ]
}

@test "a file that was there is overwritten" {
	start_serve --simulate tests/data/simulate/bimodal.json
	head -c 1000000 /dev/zero >"$REC"
	venturi load "$SERVE_URL/v1/completions" --no-stream -n 10 --output-tokens 1 --records "$REC" -q
	[ "$(stat -c %s "$REC")" -lt 100000 ]
	venturi records "$REC" --json - | jq -e '.whole and .requests.ok == 10'
}

@test "rows go to a file, to standard output, and into a pipe that is closed early" {
	start_serve --simulate tests/data/simulate/bimodal.json
	venturi load "$SERVE_URL/v1/completions" --no-stream -c 8 -n 2000 --output-tokens 1 --records "$REC" -q
	venturi records "$REC" --csv --output "$TEMP/rows"
	venturi records "$REC" --csv -o - | cmp - "$TEMP/rows"
	venturi records - --csv <"$REC" | cmp - "$TEMP/rows"
	echo old >"$TEMP/again"
	venturi records "$REC" --csv --output "$TEMP/again"
	cmp "$TEMP/again" "$TEMP/rows"
	(
		set +e
		venturi records "$REC" --jsonl 2>"$TEMP/err"
		echo $? >"$TEMP/code"
	) | head -n 1 | jq -e '.ticket >= 0'
	[ "$(cat "$TEMP/code")" -eq 0 ]
	[ ! -s "$TEMP/err" ]
	# python's own reader finds the same columns in every row
	python3 - "$TEMP/rows" <<-'END'
		import csv, sys
		rows = list(csv.DictReader(open(sys.argv[1], newline="")))
		assert len(rows) >= 2000 and all(None not in r and None not in r.values() for r in rows)
		assert all(int(r["planned_ns"]) <= int(r["sent_ns"]) <= int(r["first_byte_ns"]) <= int(r["end_ns"]) for r in rows)
	END
}

@test "what does not make sense is refused with a sentence" {
	cp tests/fuzz/corpus/records/whole "$REC"
	while IFS='|' read -r code text words; do
		# shellcheck disable=SC2086
		run venturi records $words
		echo "$words: $status $output"
		[ "$status" -eq "$code" ]
		says "$text"
	done <<-END
		2|no file of records given|
		2|one file expected, not also 'b'|a b
		2|unknown option '--xml'|$REC --xml
		2|'--csv' and '--jsonl' exclude each other|$REC --csv --jsonl
		2|'--tokens' goes with|$REC --tokens
		2|'--output' goes with|$REC --output x
		2|'--json' is for the figures|$REC --csv --json -
		2|'$REC' is the file of records itself|$REC --csv --output $REC
		3|'README.md' is no file of records|README.md
		3|is damaged at byte|tests/fuzz/corpus/records/bad_number
		4|cannot open '/no/such'|/no/such
		4|cannot read '/'|/
		4|cannot write '/no/such'|$REC --csv --output /no/such
	END
	cmp "$REC" tests/fuzz/corpus/records/whole
}

@test "what came before the damage is written" {
	cp tests/fuzz/corpus/records/whole "$REC"
	venturi records "$REC" --csv >"$TEMP/whole" 2>"$TEMP/err"
	printf '\0' | dd of="$REC" bs=1 seek=$(($(stat -c %s "$REC") - 40)) conv=notrunc 2>"$TEMP/dd"
	run venturi records "$REC" --csv --output "$TEMP/rows"
	[ "$status" -eq 3 ]
	says "the checksum of a block is wrong"
	[ "$(wc -l <"$TEMP/rows")" -gt 1 ]
	cmp "$TEMP/rows" <(head -n "$(wc -l <"$TEMP/rows")" "$TEMP/whole")
}
