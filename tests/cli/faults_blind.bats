#!/usr/bin/env bats
# Blind trials: a fault that came by --options-from shows nowhere but in its effects.

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

# All that can be given at once without making a request take seconds.
FAULTS="tokenize-inline=3 prepare-serial=10us prepare=10us collect=10us global-lock stall=1s,2ms serialize=2
	nagle close log-sync pad-to=16 slots=3 recompile alloc-churn leak=1KiB retain=1KiB reload-idle=30s
	copy-per-step=1KiB oversubscribe=1 pieces=2 dispatch=1us reorders wide wide-attention dequantize isa=plain
	naive-attention cold=3 connections=20 idle-spin file-reading"

# Words that are also words of a good service: compared as a whole instead.
ordinary='^(wide|close|slots|cold|connections|prepare|pieces|isa|collect|dispatch|stall|leak)$'

names() {
	fault_names | grep -vE "$ordinary"
	printf '%s\n' '--fault'
}

@test "no fault shows in the process, its threads, pages, logs and profile" {
	encoders "$FAULTS" --expose-config --tokenize async --packed on
	ask BAD /v1/embeddings '{"input": ["a b c", "d"]}' >/dev/null
	ask GOOD /v1/embeddings '{"input": ["a b c", "d"]}' >/dev/null
	names >"$TEMP/names"
	{
		tr '\0' '\n' <"/proc/$PID_BAD/cmdline"
		tr '\0' '\n' <"/proc/$PID_BAD/environ" | grep -vE '^(BATS|PWD|OLDPWD|TEMP|_)'
		cat /proc/"$PID_BAD"/task/*/comm
		cat "$TEMP/BAD.out"
		ask BAD /config
		ask BAD /metrics
		ask BAD /v1/models
	} >"$TEMP/seen"
	run grep -nFf "$TEMP/names" "$TEMP/seen"
	[ "$status" = 1 ]
	# the same configuration as the control's; names of metrics and of threads no others
	[ "$(ask BAD /config)" = "$(ask GOOD /config)" ]
	for name in GOOD BAD; do
		ask $name /metrics | sed -n 's/^# TYPE //p' | sort >"$TEMP/$name.metrics"
	done
	diff "$TEMP/GOOD.metrics" "$TEMP/BAD.metrics"
	for name in GOOD BAD; do
		pid="PID_$name"
		cat /proc/"${!pid}"/task/*/comm | sed 's/-[0-9]*$//' | sort -u >"$TEMP/$name.threads"
	done
	# the control has one computing thread, so none that the pool names
	run grep -vxFf "$TEMP/GOOD.threads" "$TEMP/BAD.threads"
	[ "$output" = "" ] || [ "$output" = pool ]
}

@test "the schedule log and the profile name operators, not faults" {
	for name in GOOD BAD; do
		[ $name = BAD ] && faults=$FAULTS || faults=
		faulty $name "$faults" --synthetic bert-tiny --threads 1 --schedule-log "$TEMP/$name.log" \
			--profile "$TEMP/$name.trace"
		wait_ready $name
		ask $name /v1/embeddings '{"input": "a b c"}' >/dev/null
	done
	stop_faulty
	names >"$TEMP/names"
	run ! grep -nFf "$TEMP/names" "$TEMP/BAD.log"
	run ! grep -noFf "$TEMP/names" "$TEMP/BAD.trace"
	[ "$(jq -c keys "$TEMP/BAD.log")" = "$(jq -c keys "$TEMP/GOOD.log")" ]
}

@test "a fault comes from a file as well as from standard input" {
	echo '{"service_ms": 0, "output_tokens": 1}' >"$TEMP/sim.json"
	printf '# a comment\nfault=close\nsimulate %s\n' "$TEMP/sim.json" >"$TEMP/options"
	faulty GOOD "" --simulate "$TEMP/sim.json"
	"$VENTURI_BUILD/venturi-serve" --listen 127.0.0.1:0 --options-from "$TEMP/options" >"$TEMP/out" 2>&1 3>&- &
	STARTED="$STARTED $!"
	wait_for 20 grep -qs '^listening' "$TEMP/out"
	curl -sS -o /dev/null -D "$TEMP/head" "$(sed -n 's/^listening on //p' "$TEMP/out")/health"
	grep -qi '^connection: close' "$TEMP/head"
	run "$VENTURI_BUILD/venturi-serve" --options-from - --simulate "$TEMP/sim.json" <<<'fault warm'
	[ "$status" = 2 ]
	[[ "$output" == *"there is no fault 'warm'"* ]]
}
