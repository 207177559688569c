#!/usr/bin/env bats
# venturi-serve --profile: the operators of a model as a trace that others read too.

bats_require_minimum_version 1.5.0
load helpers
load serve_helpers

MODEL=models/tales/tales-f32.gguf

setup() {
	make_temp
}

teardown() {
	stop_serve
	remove_temp
}

# ask: eight tokens after one prompt; the text.
ask() {
	curl -sf "$SERVE_URL/v1/completions" \
		-d '{"prompt": "Once upon a time there was a fox", "max_tokens": 8, "temperature": 0, "ignore_eos": true}' |
		jq -r '.choices[0].text'
}

@test "a profile has every operator of every step, with its shapes" {
	start_serve --model "$MODEL" --profile "$TEMP/profile.json"
	ask >/dev/null
	stop_serve
	[ "$SERVE_STATUS" -eq 0 ]
	jq -e '
		.traceEvents as $e
		| [$e[] | select(.cat == "user_annotation")] as $steps
		| [$e[] | select(.cat == "cpu_op")] as $ops
		| ($steps[0].name | test("^prefill\\([0-9]+\\)$"))
		and ([$steps[1:][] | .name] == ["decode(1)" | (., ., ., ., ., ., .)])
		# The same operators in each step, every one with the shapes of what it reads ...
		and ([$ops[] | select(.args."Input Dims" | length == 0)] == [])
		and (([$steps[1:][] as $s | [$ops[] | select(.ts >= $s.ts and .ts + .dur <= $s.ts + $s.dur) | .name]]
			| unique | length) == 1)
		# ... and no more time than the step itself.
		and all($steps[]; . as $s
			| ([$ops[] | select(.ts >= $s.ts and .ts + .dur <= $s.ts + $s.dur) | .dur] | add) <= $s.dur)
	' "$TEMP/profile.json"
}

@test "what a model says does not depend on whether it is profiled" {
	start_serve --model "$MODEL"
	plain=$(ask)
	stop_serve
	start_serve --model "$MODEL" --profile "$TEMP/profile.json"
	[ "$(ask)" = "$plain" ]
}

@test "a profile needs a model and a place to be written to" {
	run -2 "$(serve_program)" --simulate tests/data/simulate/bimodal.json --profile "$TEMP/p.json"
	[[ "$output" == *"'--profile' records a model's operators"* ]]
	run -4 "$(serve_program)" --model "$MODEL" --profile /no/such/p.json
	[[ "$output" == *"cannot write '/no/such/p.json'"* ]]
	start_serve --model "$MODEL" --profile /dev/full
	ask >/dev/null
	stop_serve
	[ "$SERVE_STATUS" -eq 4 ]
	grep -q "the profile is incomplete: No space left on device" "$SERVE_ERR"
}

@test "venturi trace reads a profile: steps, operators and their shapes" {
	start_serve --model "$MODEL" --profile "$TEMP/profile.json"
	ask >/dev/null
	stop_serve
	venturi trace "$TEMP/profile.json" --json "$TEMP/trace.json" --top all -q
	jq -e '.files[0].skipped == 0 and .steps.n == 8 and .steps.source == "annotation"' "$TEMP/trace.json"
	# Every time of every operator, to the nanosecond.
	jq -e --slurpfile p "$TEMP/profile.json" '
		[$p[0].traceEvents[] | select(.cat == "cpu_op" and .name == "linear") | .dur * 1000 | round] as $ns
		| .operators[] | select(.name == "linear")
		| .calls == ($ns | length) and (.total_us * 1000 | round) == ($ns | add)
	' "$TEMP/trace.json"
	# One prompt, then one token at a time.
	jq -e '.findings[] | select(.id == "prefill_decode") | .state != "abstained"' "$TEMP/trace.json"
}
