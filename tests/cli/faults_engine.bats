#!/usr/bin/env bats
# Faults of the operators of an encoder: what a request costs in CPU time, beside a good service.

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

@test "fault copy-per-step: each batch moves memory about" {
	encoders copy-per-step=64MiB
	costs_times 3 60 --input-tokens 200
}

@test "fault reorders: layers turn their data about" {
	encoders reorders=20
	costs_times 3 60 --input-tokens 200
}

@test "fault dispatch: every operator has its price" {
	encoders dispatch=300us
	costs_times 1.6 100 --input-tokens 32
}

@test "fault pieces: many small operators instead of few" {
	GOOD_FAULTS=dispatch=5us encoders "pieces=500 dispatch=5us"
	costs_times 3 60 --input-tokens 32
}

@test "fault wide-attention: attention takes most of the time" {
	encoders wide-attention
	costs_times 3 60 --input-tokens 200
}

@test "fault naive-attention: attention takes most of the time" {
	encoders naive-attention
	costs_times 3 60 --input-tokens 200
}

@test "fault isa: everything is slower without wide instructions" {
	grep -qw avx2 /proc/cpuinfo || skip "this machine has none to do without"
	encoders isa=plain
	costs_times 2.5 60 --input-tokens 200
}

@test "fault dequantize: int8 costs more than it should" {
	encoders dequantize --weights int8
	costs_times 1.5 200 --input-tokens 100
}

@test "fault wide: int8 costs what float32 does" {
	encoders wide --weights int8
	costs_times 1.3 200 --input-tokens 200
}

minor_faults() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $8 }'
}

@test "fault alloc-churn: memory is taken from the system all the time" {
	encoders alloc-churn
	local good bad
	good=$(minor_faults "$PID_GOOD")
	bad=$(minor_faults "$PID_BAD")
	costs_times 2 40 --input-tokens 200
	good=$(($(minor_faults "$PID_GOOD") - good))
	bad=$(($(minor_faults "$PID_BAD") - bad))
	echo "good $good faults, bad $bad"
	holds "$bad > 3 * $good + 200"
}

@test "fault recompile: new lengths cost more than known ones" {
	encoders recompile=100 --packed off
	costs_times 1.5 60 --input-tokens uniform:20..400
}

@test "fault cold: the first batches cost more than later ones" {
	encoders cold=300
	local first later
	first=$(cost BAD 60 --input-tokens 32)
	cost BAD 300 --input-tokens 32 >/dev/null
	later=$(cost BAD 60 --input-tokens 32)
	echo "first $first ms, later $later ms"
	holds "$first > 1.5 * $later + 10"
}

# Processors differ in what such numbers cost, so only what they do to the answer is asked for.
@test "fault denormals: weights of 1e-39 change the answer" {
	encoders denormals
	ask GOOD /v1/embeddings '{"input": "a b c"}' | jq '.data[0].embedding' >"$TEMP/good"
	ask BAD /v1/embeddings '{"input": "a b c"}' | jq '.data[0].embedding' >"$TEMP/bad"
	[ "$(jq length "$TEMP/good")" = "$(jq length "$TEMP/bad")" ]
	run ! cmp -s "$TEMP/good" "$TEMP/bad"
}
