#!/usr/bin/env bats
# What is watched beside a load and a diagnosis: the machine, and the service's processes.

load helpers
load serve_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_serve
	remove_temp
}

# start_burner SHARE: a service on a free port that burns this share of a core; sets SERVE_PID and SERVE_URL.
start_burner() {
	"$BATS_TEST_DIRNAME/../servers/burner.py" "$1" "$TEMP/burnt" >"$TEMP/port" 3>&- &
	SERVE_PID=$!
	wait_for 10 test -s "$TEMP/port"
	SERVE_URL="http://127.0.0.1:$(cat "$TEMP/port")/"
}

measure() {
	venturi load --api http --check-client off --quiet --json "$TEMP/r.json" "$@" "$SERVE_URL"
}

# holds FILTER: of the run, whose signals without an instance are $s by their names.
holds() {
	jq -e '(.system.signals | map(select(.instance == null) | {(.name): .}) | add) as $s | '"$1" "$TEMP/r.json"
}

@test "a load that is told to watch shows what the service's process did in the window" {
	command -v python3 >/dev/null || skip "there is no python3 for the server"
	start_burner 0.4
	measure --watch "$SERVE_PID" -c 1 -d 3s
	holds '.system.window.from_s > -0.1 and .system.window.to_s >= 2.9 and .system.window.to_s < 4'
	# its own clock, from its first answer to its last, is the truth
	share=$(jq -s '(.[-1][1] - .[0][1]) / (.[-1][0] - .[0][0])' "$TEMP/burnt")
	holds '$s.process_cpu_ratio.state == "measured" and ($s.process_cpu_ratio.mean / '"$share"' | . > 0.85 and . < 1.15)'
	holds '$s.process_cpu_ratio.n >= 10 and ($s.process_cpu_ratio.series | length) == $s.process_cpu_ratio.n'
	holds '.system.threads[0].cpu_ratio / '"$share"' > 0.5'
	holds '.system.sampler.cpu_ratio < 0.2'
	holds '[.system.signals[] | select(.state == "not_supported" or .state == "not_counted") | .reason | type] | all(. == "string")'
}

@test "'auto' finds who listens at the target" {
	start_serve --simulate tests/data/simulate/roomy.json
	venturi load --check-client off --input-tokens 4 --output-tokens 4 -n 20 -c 2 --watch auto \
		--json "$TEMP/r.json" "$SERVE_URL/v1/chat/completions" >"$TEMP/shown"
	grep -q '^Process ' "$TEMP/shown"
	grep -q "of process $SERVE_PID" "$TEMP/shown" || holds ".system.threads[0].pid == $SERVE_PID"
	port=${SERVE_URL##*:}
	jq -e --arg port "$port" '[.system.signals[] | select(.name == "port_established" and .instance == $port and .max >= 2)] | length == 1' "$TEMP/r.json"
}

@test "without --watch nothing is watched" {
	start_serve --simulate tests/data/simulate/roomy.json
	venturi load --check-client off --input-tokens 4 --output-tokens 4 -n 20 --quiet \
		--json "$TEMP/r.json" "$SERVE_URL/v1/chat/completions"
	jq -e 'has("system") | not' "$TEMP/r.json"
}

@test "a process that is not there, and what is no PID, are refused by name" {
	start_serve --simulate tests/data/simulate/roomy.json
	run venturi load --watch 2147483632 -n 1 "$SERVE_URL/v1/chat/completions"
	[ "$status" -eq 4 ]
	[[ "$output" == *"there is no process 2147483632"* ]]
	run venturi load --watch all -n 1 "$SERVE_URL/v1/chat/completions"
	[ "$status" -eq 2 ]
	[[ "$output" == *"'all' is no PID"* ]]
}

@test "a diagnosis watches who listens at its target, and says how busy its device is" {
	start_serve --simulate tests/data/simulate/one_slot.json
	venturi diagnose --budget 12s -c 4 --input-tokens 8 --output-tokens 8 --quiet \
		--json "$TEMP/r.json" --report "$TEMP/r.md" "$SERVE_URL/v1/chat/completions" || [ $? -eq 1 ]
	holds '.system.threads | length > 0'
	holds '.server.pages[0].software == "venturi-serve"'
	holds '[.curve[] | .device_ratio] | all(. != null and . >= 0 and . <= 1.05)'
	grep -q '^## Under the load in use' "$TEMP/r.md"
}

@test "a diagnosis that is told to watch nothing does not" {
	start_serve --simulate tests/data/simulate/one_slot.json
	venturi diagnose --budget 6s -c 2 --pid none --metrics none --input-tokens 4 --output-tokens 4 \
		--quiet --json "$TEMP/r.json" "$SERVE_URL/v1/chat/completions" || [ $? -eq 1 ]
	jq -e '(has("system") or has("server") | not) and ([.curve[].device_ratio] | all(. == null))' "$TEMP/r.json"
}
