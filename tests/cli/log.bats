#!/usr/bin/env bats
# venturi log, on a ledger that sqlite3 has written in the form of schema version 1.

load helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db" TZ=UTC
}

teardown() {
	remove_temp
}

fill() {
	sqlite3 "$VENTURI_LEDGER" <tests/data/ledger/version1.sql >"$TEMP/sqlite3.out"
}

# Fails unless the last output holds the text.
says() {
	[[ "$output" == *"$1"* ]] || {
		printf 'no "%s" in:\n%s\n' "$1" "$output"
		return 1
	}
}

@test "an empty ledger is said in a sentence and makes no file" {
	run venturi log
	[ "$status" -eq 0 ]
	says "No run is in the ledger '$TEMP/ledger.db' yet"
	[ ! -e "$TEMP/ledger.db" ]
}

@test "a ledger that no run is in yet lists none as JSON" {
	run venturi log --json -
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.schema, .runs]' <<<"$output")" = '["venturi.log/1",[]]' ]
}

@test "runs are listed newest first with their figures" {
	fill
	venturi log >"$TEMP/list"
	diff -u tests/cli/log.list "$TEMP/list"
	venturi log list >"$TEMP/again"
	cmp "$TEMP/list" "$TEMP/again"
}

@test "the time is the reader's own" {
	fill
	TZ=UTC-8 run venturi log -n 1
	says "2026-07-03 07:59"
}

@test "filters choose by kind, URL and number" {
	fill
	ids() { venturi log --json - "$@" | jq -c '[.runs[].id]'; }
	[ "$(ids)" = "[3,2,1]" ]
	[ "$(ids --kind load)" = "[3,1]" ]
	[ "$(ids --kind diagnose)" = "[2]" ]
	[ "$(ids --url 127.0.0.1)" = "[2,1]" ]
	[ "$(ids -n 1)" = "[3]" ]
	[ "$(ids --limit 0)" = "[3,2,1]" ]
	run venturi log --url nowhere
	[ "$status" -eq 0 ]
	says "No run in the ledger '$TEMP/ledger.db' matches."
}

@test "a list is cut at 20 runs and the whole of it is to be had" {
	fill
	for i in $(seq 4 25); do
		echo "INSERT INTO run SELECT $i, kind, started_at, url, api, model, partial, verdict,
			requests_per_s, p50_ms, p99_ms, n_ok, n_failed, json FROM run WHERE id = 1;"
	done | sqlite3 "$VENTURI_LEDGER"
	[ "$(venturi log --json - | jq '.runs | length')" -eq 20 ]
	[ "$(venturi log -n 0 --json - | jq '.runs | length')" -eq 25 ]
}

@test "the JSON of a list has the names of the load result" {
	fill
	venturi log --url 127 --kind load --json "$TEMP/l.json" -q >"$TEMP/out"
	[ ! -s "$TEMP/out" ]
	[ "$(jq -c '.runs[0] | [.id, .kind, .started_at, .partial, .verdict, .target.url, .target.api,
		.target.model, .requests.ok, .requests.failed, .latency_ms.p50, .latency_ms.p99,
		.throughput.requests_per_s, .fingerprint]' "$TEMP/l.json")" = \
		'[1,"load","2026-01-02T03:04:05Z",false,"ok","http://127.0.0.1:8000/v1/completions","openai-completions","tales",1000,3,80.25,120.5,12.5,{"load.concurrency":"8","host.cpu":"a CPU"}]' ]
	[ "$(venturi log -n 1 --json - | jq '.runs[0].latency_ms.p99')" = null ]
}

@test "one run is shown with its fingerprint, and its JSON as it was stored" {
	fill
	run venturi log show 1
	[ "$status" -eq 0 ]
	says "Run 1 (load)"
	says "80.2 ms"
	says "a CPU"
	[ "$(venturi log show 1 --json -)" = '{"schema": "venturi.load/1", "partial": false}' ]
	run venturi log show 3
	says "partial"
}

@test "what is wrong is said in a sentence with the exit code of its kind" {
	fill
	while IFS=';' read -r code sentence arguments; do
		# shellcheck disable=SC2086 # the words are arguments
		run venturi log $arguments
		echo "venturi log $arguments: $status $output"
		[ "$status" -eq "$code" ]
		says "venturi: error: $sentence"
	done <<-END
		3;there is no run 9 in the ledger '$TEMP/ledger.db';show 9
		2;'first' is not the number of a run;show first
		2;'venturi log show' takes the number of one run;show
		2;'venturi log show' takes the number of one run;show 1 2
		2;'venturi log list' takes no argument, not '5';list 5
		2;'venturi log' has no subcommand 'baseline';baseline
		2;'--kind' takes one of load|diagnose, not 'x';--kind x
		2;'-n' must be between 0 and;-n -1
		2;unknown option '--nope';--nope
		4;'$TEMP' is a folder, not a ledger file;--ledger $TEMP
		3;'tests/cli/log.bats' is not a ledger, nor any SQLite file;--ledger tests/cli/log.bats
		3;there is no run 1: the ledger 'no.db' does not exist;show 1 --ledger no.db
	END
	run venturi log baseline
	says "'venturi log list' and 'venturi log show ID'"
}

@test "a newer ledger is refused with both numbers and left alone" {
	fill
	sqlite3 "$VENTURI_LEDGER" "PRAGMA user_version = 7"
	before=$(sha256sum <"$VENTURI_LEDGER")
	run venturi log
	[ "$status" -eq 3 ]
	says "the ledger '$TEMP/ledger.db' has schema 7, this program knows it up to 1"
	[ "$(sha256sum <"$VENTURI_LEDGER")" = "$before" ]
}

@test "the list goes on while another process holds the ledger for writing" {
	fill
	sqlite3 "$VENTURI_LEDGER" "BEGIN IMMEDIATE" ".system venturi log -n 1 >'$TEMP/list'" "COMMIT"
	grep -q service.example "$TEMP/list"
}
