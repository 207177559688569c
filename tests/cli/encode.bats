#!/usr/bin/env bats
# venturi-serve with an encoder as a user meets it: each switch has its effect, seen from outside.

load helpers
load serve_helpers

bats_require_minimum_version 1.5.0

teardown() {
	stop_serve
}

# encoder OPTION...: a small one, ready.
encoder() {
	start_serve --synthetic bert-tiny --schedule-log "$BATS_TEST_TMPDIR/log.jsonl" "$@"
	wait_for 20 curl -sfo /dev/null "$SERVE_URL/health"
}

# texts N...: a request for so many texts, each of so many tokens ("[CLS]" and "[SEP]" are two).
texts() {
	printf '%s\n' "$@" | jq -cn '{input: [inputs | [range(. - 2)] | map("a") | join(" ")]}'
}

# embed BODY [CURL OPTION...]: the answer to $BATS_TEST_TMPDIR/answer, the status to $CODE.
embed() {
	local body=$1
	shift
	CODE=$(curl -sS -o "$BATS_TEST_TMPDIR/answer" -D "$BATS_TEST_TMPDIR/header" -w '%{http_code}' \
		"$SERVE_URL/v1/embeddings" --data-binary "$body" "$@")
}

# value NAME [LABEL]: what /metrics says now.
value() {
	curl -sS "$SERVE_URL/metrics" | grep -F "venturi_serve_$1{" | grep -F "${2-}" | sed 's/.* //'
}

is() {
	[ "$(value "$1" "${3-}")" = "$2" ] || { echo "$1 ${3-} is $(value "$1" "${3-}"), not $2"; return 1; }
}

MIXED=(5 40 9 7 120 6 30 11 5 64 8 200)
TWENTY=(10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10)

@test "the vectors of a text are the same in every mode" {
	first=
	while read -r options; do
		# shellcheck disable=SC2086 # words are wanted
		encoder $options
		embed "$(texts "${MIXED[@]}")"
		[ "$CODE" = 200 ]
		jq -c '[.data[].embedding]' "$BATS_TEST_TMPDIR/answer" >"$BATS_TEST_TMPDIR/now"
		[ -n "$first" ] || cp "$BATS_TEST_TMPDIR/now" "$BATS_TEST_TMPDIR/first"
		first=done
		difference=$(jq -n --slurpfile a "$BATS_TEST_TMPDIR/first" --slurpfile b "$BATS_TEST_TMPDIR/now" \
			'[[$a | flatten, ($b | flatten)] | transpose[] | .[0] - .[1] | fabs] | max')
		jq -en "$difference < 1e-4" >/dev/null || { echo "$options: $difference"; return 1; }
		stop_serve
	done <<-END
		--batching none --tokenize inline
		--batching dynamic
		--batching static --max-wait 5ms --max-batch 5
		--lanes 16,64 --max-batch-tokens 100
		--packed off
		--packed off --buckets 16,64,256 --lanes 32
		--packed off --buckets auto --fuse off
	END
}

@test "each text alone, so many together, or as many as their tokens allow" {
	while read -r batches options; do
		# shellcheck disable=SC2086 # words are wanted
		encoder $options
		embed "$(texts "${TWENTY[@]}")"
		is batches_total "$batches"
		is batched_items_total 20
		is batched_tokens_total 200
		is batch_size_sum 20
		is batch_tokens_sum 200
		stop_serve
	done <<-END
		20 --batching none
		1
		5 --max-batch 4
		10 --max-batch-tokens 25
		1 --tokenize inline --batching static
	END
}

@test "a static batch waits for others, a dynamic one goes at once when nothing is computed" {
	encoder --batching static --max-wait 400ms
	seconds=$(curl -sS -o /dev/null -w '%{time_total}' "$SERVE_URL/v1/embeddings" --data "$(texts 5)")
	jq -en "$seconds >= 0.4" >/dev/null
	stop_serve
	encoder --batching dynamic --max-wait 400ms
	sleep 0.5 # the warm-up is no batch, but let nothing of it count
	seconds=$(curl -sS -o /dev/null -w '%{time_total}' "$SERVE_URL/v1/embeddings" --data "$(texts 5)")
	jq -en "$seconds < 0.4" >/dev/null
}

# padding TIMES OPTION...: how many tokens of it the mixed lengths cost after they came so often.
padding() {
	local times=$1
	shift
	encoder "$@"
	embed "$(texts 5)" # or there would be no counter yet
	for _ in $(seq "$times"); do
		embed "$(texts "${MIXED[@]}")"
	done
	before=$(value padding_tokens_total)
	embed "$(texts "${MIXED[@]}")"
	echo $(($(value padding_tokens_total) - before))
	stop_serve
}

@test "packed there is no padding, buckets need less of it, and learned ones the least" {
	[ "$(padding 0)" = 0 ]
	padded=$(padding 0 --packed off --max-batch-tokens 0)
	# 12 texts padded to 200, of 505 tokens together
	[ "$padded" = $((12 * 200 - 505)) ]
	buckets=$(padding 0 --packed off --max-batch-tokens 0 --buckets 16,64,256)
	[ "$buckets" = $((7 * 16 - 51 + 3 * 64 - 134 + 2 * 256 - 320)) ]
	# learning wants more than a hundred lengths
	learned=$(padding 11 --packed off --max-batch-tokens 0 --buckets auto)
	[ "$learned" -lt "$buckets" ]
}

@test "lanes take texts by length, and each has its figures" {
	encoder --lanes 16,64
	embed "$(texts "${MIXED[@]}")"
	is lane_items_total 7 'lane="1-16"'
	is lane_items_total 3 'lane="17-64"'
	is lane_items_total 2 'lane="65-"'
	is lane_tokens_total 320 'lane="65-"'
	is lane_batches_total 1 'lane="17-64"'
	is lane_waiting 0 'lane="1-16"'
	stop_serve
	encoder
	embed "$(texts "${MIXED[@]}")"
	is lane_items_total 12 'lane="1-"'
}

@test "texts are taken apart in threads of their own, or where HTTP is spoken" {
	encoder --tokenize async --tokenize-threads 3
	embed "$(texts 5 5)"
	is stage_workers 3 'stage="tokenize"'
	[ "$(value stage_duration_seconds_count 'stage="tokenize"')" = 2 ]
	stop_serve
	encoder --tokenize inline
	embed "$(texts 5 5)"
	is stage_workers 0 'stage="tokenize"'
	[ "$(value stage_duration_seconds_count 'stage="tokenize"')" = 2 ]
	[ "$(value stage_duration_seconds_count 'stage="compute"')" = 2 ]
	[ "$(value stage_duration_seconds_count 'stage="finish"')" = 2 ]
}

@test "what is too long is refused or cut, wherever it is taken apart" {
	for tokenize in inline async; do
		encoder --tokenize "$tokenize"
		embed "$(texts 5 600)"
		[ "$CODE" = 400 ]
		jq -e '.error.code == "context_length_exceeded" and (.error.message | contains("512"))' \
			"$BATS_TEST_TMPDIR/answer"
		embed "$(texts 600 | jq -c '. + {truncate_prompt_tokens: -1}')"
		[ "$CODE" = 200 ]
		is batched_tokens_total 512
		stop_serve
	done
}

@test "ids and token types that the model has not are the client's mistake" {
	encoder
	while IFS='|' read -r want ids types; do
		CODE=$(curl -sS -o "$BATS_TEST_TMPDIR/answer" -w '%{http_code}' "$SERVE_URL/v2/models/bert-tiny/infer" -d '{"inputs": [
			{"name": "input_ids", "datatype": "INT64", "shape": [1, 3], "data": '"$ids"'},
			{"name": "token_type_ids", "datatype": "INT64", "shape": [1, 3], "data": '"$types"'}]}')
		[ "$CODE" = "$want" ] || { echo "$ids $types: $CODE"; cat "$BATS_TEST_TMPDIR/answer"; return 1; }
	done <<-END
		200|[0, 7, 30521]|[0, 1, 1]
		400|[0, 7, 30522]|[0, 1, 1]
		400|[0, -7, 5]|[0, 1, 1]
		400|[0, 7, 5]|[0, 2, 1]
		400|[0, 7, 5]|[0, -1, 1]
	END
}

@test "a full queue and a deadline that cannot be met are 429, with when to try again" {
	encoder --batching static --max-wait 4s --max-queue 1
	curl -sS -o /dev/null "$SERVE_URL/v1/embeddings" --data "$(texts 5)" &
	wait_for 5 is num_requests_waiting 1
	embed "$(texts 5)"
	[ "$CODE" = 429 ]
	grep -qiE '^retry-after: [1-9]' "$BATS_TEST_TMPDIR/header"
	is requests_rejected_total 1 'reason="queue_full"'
	wait $!
	stop_serve
	encoder --deadline 1us
	embed "$(texts 5)"
	[ "$CODE" = 429 ]
	grep -qiE '^retry-after: [1-9]' "$BATS_TEST_TMPDIR/header"
	jq -e '.error.code == "deadline"' "$BATS_TEST_TMPDIR/answer"
	is requests_rejected_total 1 'reason="deadline"'
}

@test "who leaves is not computed" {
	encoder --batching static --max-wait 10s
	run -28 curl -sS -m 0.5 -o /dev/null "$SERVE_URL/v1/embeddings" --data "$(texts 5 5 5)"
	wait_for 5 is num_requests_waiting 0
	is lane_waiting 0
	is requests_total 1 'finished_reason="cancelled"'
	[ -z "$(value batches_total)" ]
}

@test "what was accepted is answered before the service ends" {
	encoder --batching static --max-wait 2s --grace 20s
	curl -sS -o "$BATS_TEST_TMPDIR/late" "$SERVE_URL/v1/embeddings" --data "$(texts 5)" &
	wait_for 5 is num_requests_waiting 1
	stop_serve
	[ "$SERVE_STATUS" -eq 0 ]
	wait $!
	jq -e '.data[0].embedding | length == 128' "$BATS_TEST_TMPDIR/late"
}

@test "under overload, and while it stops, each request that it takes is answered once" {
	for limit in "--max-queue 3" "--deadline 5ms" "--max-queue 9 --deadline 50ms --lanes 32,64"; do
		# shellcheck disable=SC2086 # words are wanted
		encoder --grace 20s $limit
		python3 tests/cli/overload.py "$SERVE_URL" 24 >"$BATS_TEST_TMPDIR/answered" &
		wait_for 20 grep -qs '"status":200' "$BATS_TEST_TMPDIR/log.jsonl"
		wait_for 20 grep -qs '"status":429' "$BATS_TEST_TMPDIR/log.jsonl"
		sleep 0.5
		stop_serve
		[ "$SERVE_STATUS" -eq 0 ]
		wait $!
		jq -cs 'map(select(.outcome != "cancelled").status | tostring) | group_by(.) | map({(.[0]): length}) | add' "$BATS_TEST_TMPDIR/log.jsonl" \
			>"$BATS_TEST_TMPDIR/taken"
		cat "$BATS_TEST_TMPDIR/taken" "$BATS_TEST_TMPDIR/answered"
		jq -es '.[0] == .[1]' "$BATS_TEST_TMPDIR/taken" "$BATS_TEST_TMPDIR/answered"
	done
}

@test "it is healthy when it is warm, and what comes before waits" {
	start_serve --synthetic minilm --warmup 40
	run -22 curl -sSf "$SERVE_URL/health"
	[[ "$output" == *503* ]]
	embed "$(texts 5)"
	[ "$CODE" = 200 ]
	curl -sSf "$SERVE_URL/health"
	stop_serve
	start_serve --synthetic bert-tiny --warmup off
	curl -sSf "$SERVE_URL/health"
}

@test "the schedule log has the moments of a request in their order" {
	encoder --max-batch 4
	embed "$(texts "${MIXED[@]}")"
	stop_serve
	jq -e 'select(.endpoint == "embeddings") | .prompt_tokens == 505 and .outcome == "stop" and
		.received_ns < .queued_ns and .queued_ns <= .started_ns and .started_ns < .made_ns and
		.made_ns <= .done_ns' "$BATS_TEST_TMPDIR/log.jsonl"
}

@test "the configuration tells the switches" {
	encoder --expose-config --lanes 16,64 --packed off --buckets 8,512 --max-batch 7 --weights int8
	curl -sS "$SERVE_URL/config" | jq -e '.lanes == [16, 64] and .weights == "int8" and .fuse == "on" and .buckets == [8, 512] and
		.packed == false and .max_batch == 7 and .batching == "dynamic" and .tokenize == "async"'
}
