#!/usr/bin/env bats
# Sessions: conversations of several turns, against a server that says something else each time and
# whose log of what it was asked is the truth.

load helpers

setup_file() {
	command -v python3 >/dev/null || skip "there is no python3 for the server"
	start_chatty "$BATS_FILE_TMPDIR/log.jsonl" 3>&-
	export SHARED_LOG=$LOG SHARED_URL=$CHATTY SHARED_PID=$CHATTY_PID
}

teardown_file() {
	[ -z "${SHARED_PID-}" ] || kill "$SHARED_PID" 2>/dev/null || true
}

# The server of all tests, which remembers nothing.
setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
	LOG=$SHARED_LOG CHATTY=$SHARED_URL
	: >"$LOG"
}

teardown() {
	[ -z "${CHATTY_PID-}" ] || kill "$CHATTY_PID" 2>/dev/null || true
	remove_temp
}

# start_chatty LOG OPTION...: a server on a free port; sets CHATTY, CHATTY_PID and LOG.
start_chatty() {
	LOG=$1
	shift
	: >"$LOG"
	"$BATS_TEST_DIRNAME/../servers/chatty.py" --log "$LOG" "$@" >"$LOG.port" 2>"$LOG.err" 3>&- &
	CHATTY_PID=$!
	wait_for 20 test -s "$LOG.port"
	CHATTY="http://127.0.0.1:$(cat "$LOG.port")"
}

# converse OPTION... URL: the result is in $TEMP/r.json.
converse() {
	venturi load --input-tokens 5 --output-tokens 5 --check-client off -q --json "$TEMP/r.json" "$@"
}

# sessions FILTER: true of the sessions of the run; $r is the whole run.
sessions() {
	jq -e ". as \$r | .sessions | ($1)" "$TEMP/r.json"
}

# The sessions add up, and the turns are the requests.
counts_add_up() {
	sessions '.started == .completed + .aborted + .too_long + .unfinished
		and (.by_turn | map(.n) | add) == $r.requests.ok
		and $r.latency_ms.n == .first_latency_ms.n + (.later_latency_ms.n // 0)'
}

# Every request but the first ones holds an earlier request, its answer and one question more, and
# no two hold the same.
histories_are_true() {
	jq -es 'map(select(.answer) | .request.messages + [{role: "assistant", content: .answer}]) as $said
		| map(.request.messages | select(length > 1)) as $later
		| ($later | length) > 0
			and ($later | map(.[:-1]) | unique | length) == ($later | length)
			and all($later[]; .[-1].role == "user" and (.[:-1] as $before | any($said[]; . == $before)))' "$LOG"
}

# The same of transcripts: FIELD of the requests.
transcripts_are_true() {
	jq -es "map(.request.$1 + \"\n\" + .answer + \"\n\") as \$said
		| map(.request.$1 | select(contains(\"says\"))) as \$later
		| (\$later | length) > 0
			and all(\$later[]; . as \$one | any(\$said[]; . as \$before | \$one | startswith(\$before)))" "$LOG"
}

# The think times of the log, in seconds: from the end of an answer until the request that holds it.
think_times() {
	jq -cs 'map(select(.answer) | {key: (.request.messages + [{role: "assistant", content: .answer}]), ends}) as $said
		| map(select(.request.messages | length > 1) | .came as $came | .request.messages[:-1] as $before
			| $came - ($said[] | select(.key == $before) | .ends)) | sort' "$LOG"
}

@test "each request of a session holds what was said before, to the letter" {
	local options
	for options in "" --no-stream; do
		# shellcheck disable=SC2086
		converse $options --turns 4 --sessions 3 -c 2 "$CHATTY/v1/chat/completions"
		[ "$(wc -l <"$LOG")" -eq 12 ]
		histories_are_true
		counts_add_up
		sessions '.started == 3 and .completed == 3 and .turns_mean == 4 and $r.requests.ok == 12'
		: >"$LOG"
	done
	converse --turns 4 --sessions 3 -c 2 "$CHATTY/api/chat"
	histories_are_true
}

@test "an API that takes text gets all that was said, one a line" {
	local path field
	for path in /v1/completions=prompt /api/generate=prompt /generate_stream=inputs /completion=prompt; do
		field=${path#*=}
		converse --turns 3 --sessions 2 -c 2 "$CHATTY${path%=*}"
		[ "$(wc -l <"$LOG")" -eq 6 ]
		transcripts_are_true "$field"
		: >"$LOG"
	done
}

@test "between an answer and the next turn lies the think time that was asked for" {
	converse --turns 4 --think uniform:100ms..300ms --sessions 20 -c 10 "$CHATTY/v1/chat/completions"
	counts_add_up
	sessions '.think_ms.n == 60 and .think_ms.min >= 100 and .think_ms.mean > 150 and .think_ms.mean < 400'
	# the server's clock: never less, and the median near 200 ms on however busy a machine
	think_times | jq -e 'length == 60 and .[0] >= 0.1 and .[30] > 0.13 and .[30] < 0.6'
}

@test "closed loop: so many sessions at a time, those that think among them" {
	converse --turns 3 --think 200ms -c 4 -d 2s --warmup none "$CHATTY/v1/chat/completions"
	counts_add_up
	# a session takes at least 400 ms, so that each of the four places sees at most five of them
	sessions '.started > 4 and .started <= 20 and .unfinished <= 4'
	# never more than four between their first request and their last answer
	jq -es 'map({first: .request.messages[0].content, came, ends}) | group_by(.first)
		| map({from: (map(.came) | min), to: (map(.ends) | max)}) as $s
		| all($s[]; .from as $t | [$s[] | select(.from <= $t and .to > $t)] | length <= 4)' "$LOG"
}

@test "open loop: sessions begin at the rate, whatever they think" {
	converse --turns 3 --think 400ms --rate 20 --arrival constant -d 2s --warmup none \
		"$CHATTY/v1/chat/completions"
	counts_add_up
	sessions '.started == 40 and .first_latency_ms.n == 40 and .unfinished > 0
		and $r.client.offered_per_s == 20 and ($r.client.achieved_per_s - 20 | fabs) < 0.001'
	sessions '.completed > 0'
	histories_are_true
	venturi log show 1 --json - | jq -e '.fingerprint["load.turns"] == "3" and .fingerprint["load.think"] == "400ms"'
}

@test "open loop: a schedule begins as many sessions as it has moments, and all are played to the end" {
	printf '0\n0.1\n0.2\n0.2\n0.5\n' >"$TEMP/moments"
	converse --turns 3 --think 300ms --arrival "schedule:$TEMP/moments" "$CHATTY/v1/chat/completions"
	counts_add_up
	sessions '.started == 5 and .completed == 5 and $r.requests.attempted == 15'
}

@test "a request that fails ends its session" {
	start_chatty "$TEMP/log.jsonl" --fail 5
	converse --turns 4 --sessions 12 -c 3 "$CHATTY/v1/chat/completions"
	counts_add_up
	sessions '.started == 12 and .aborted > 0 and .aborted == $r.requests.failed
		and $r.requests.failed == $r.requests.failures.status'
	# nothing was said after what has no answer
	histories_are_true
}

@test "a run by requests leaves sessions unfinished, and says so" {
	run converse --turns 5 -n 12 -c 4 --warmup none "$CHATTY/v1/chat/completions"
	[ "$status" -eq 0 ]
	counts_add_up
	sessions '$r.requests.attempted == 12 and .unfinished > 0'
}

@test "recorded conversations are replayed, with the service's answers or those on record" {
	cat >"$TEMP/talk.jsonl" <<-'END'
		{"messages": [{"role": "system", "content": "be short"}, {"role": "user", "content": "one \"1\"", "name": "Ada"}, {"role": "assistant", "content": "first \ud83d\ude00"}, {"role": "user", "content": "two"}, {"role": "assistant", "content": "second"}, {"role": "user", "content": "three"}], "max_tokens": 9}
		{"conversations": [{"from": "gpt", "value": "lost"}, {"from": "human", "value": "vier"}, {"from": "gpt", "value": "quatre"}, {"from": "human", "value": "f\u00fcnf"}, {"from": "gpt", "value": "cinq"}]}
		{"prompt": "alone"}
	END
	venturi load --check-client off -q --json "$TEMP/r.json" --input "$TEMP/talk.jsonl" --turns all \
		--sessions 3 -c 1 "$CHATTY/v1/chat/completions"
	sessions '.completed == 3 and $r.requests.ok == 6'
	jq -es 'map(.request.messages | map(select(.role == "user") | .content)) == [["one \"1\""],
		["one \"1\"", "two"], ["one \"1\"", "two", "three"], ["vier"], ["vier", "fünf"], ["alone"]]' "$LOG"
	jq -es '.[2].answer as $last | .[0].request.messages[0] == {role: "system", content: "be short"}
		and .[2].request.messages[1].name == "Ada" and .[0].request.max_tokens == 9
		and .[1].request.messages[2] == {role: "assistant", content: .[0].answer}
		and .[2].request.messages[4] == {role: "assistant", content: .[1].answer}
		and .[4].request.messages[1] == {role: "assistant", content: .[3].answer}' "$LOG"
	: >"$LOG"
	venturi load --check-client off -q --json "$TEMP/r.json" --input "$TEMP/talk.jsonl" --turns 2 --history recorded \
		--sessions 3 -c 1 "$CHATTY/v1/chat/completions"
	jq -es 'map(.request.messages | map(.content)) == [["be short", "one \"1\""],
		["be short", "one \"1\"", "first 😀", "two"], ["vier"], ["vier", "quatre", "fünf"], ["alone"]]' "$LOG"
	sessions '.history == "recorded"'
}

@test "the first turn's times stand beside those of the later ones" {
	start_chatty "$TEMP/log.jsonl" --first 0.1 --later 0.02
	run venturi load --input-tokens 5 --check-client off --json "$TEMP/r.json" --turns 3 --sessions 24 -c 2 \
		"$CHATTY/v1/chat/completions"
	[ "$status" -eq 0 ]
	counts_add_up
	sessions '.first_ttft_ms.n == 24 and .later_ttft_ms.n == 48
		and .first_ttft_ms.min >= 100 and .later_ttft_ms.min >= 20
		and .first_ttft_ms.p50 > 2 * .later_ttft_ms.p50
		and (.by_turn | map(.turn) == [1, 2, 3] and map(.n) == [24, 24, 24])'
	[[ $output == *"24 begun: 24 completed"* ]]
	[[ $output == *"in first turns (n 24)"*"in later ones (n 48)"* ]]
}

@test "a session whose history grows over the limit ends, and the run says so" {
	start_chatty "$TEMP/log.jsonl" --big 7000000
	run venturi load --input-tokens 5 --check-client off --json "$TEMP/r.json" --turns 9 --sessions 1 -c 1 \
		"$CHATTY/v1/chat/completions"
	[ "$status" -eq 0 ]
	# 16 MiB hold two answers of 7 MB, not three
	sessions '.too_long == 1 and .completed == 0 and $r.requests.ok == 3 and .history_bytes_max < 16777216'
	[[ $output == *"Too long"*"1 sessions ended before their last turn"* ]]
}

@test "a thousand thinking sessions cost the client next to nothing" {
	needs_speed
	start_chatty "$TEMP/log.jsonl"
	converse --turns 2 --think 1s -c 1000 -d 2s --warmup none "$CHATTY/v1/chat/completions"
	sessions '.started >= 1000'
	# a thread that went through all of them at every turn of its loop would be busy
	jq -e '.client.busiest_thread_ratio < 0.5' "$TEMP/r.json"
}

@test "a seed gives the same sessions again, but for the salt" {
	local run
	for run in 1 2; do
		converse --no-salt --turns uniform:1..4 --sessions 6 -c 3 --seed 7 "$CHATTY/v1/chat/completions"
		jq -cs 'map(.request.messages | map(select(.role == "user") | .content)) | sort' "$LOG" >"$TEMP/asked.$run"
		: >"$LOG"
	done
	cmp "$TEMP/asked.1" "$TEMP/asked.2"
	converse --turns 2 --sessions 6 -c 3 --seed 7 "$CHATTY/v1/chat/completions"
	jq -es 'map(.request.messages[0].content) | unique | length == 6' "$LOG"
}

@test "options of sessions that do not go together are refused" {
	local options
	while read -r options; do
		# shellcheck disable=SC2086
		run venturi load $options "$CHATTY/v1/chat/completions"
		[ "$status" -eq 2 ] || { echo "$options: $status $output"; false; }
	done <<-'END'
		--think 2s
		--history own
		--sessions 3
		--turns all
		--turns 0
		--turns 3 --think 2
		--turns 3 --history recorded
		--turns 3 --sessions 2 -n 5
		--turns 3 --sessions 2 -d 5s
		--turns 3 --api openai-embeddings
		--turns 3 --api http
	END
}

@test "a real model's conversations: each turn's prompt is longer than the one before" {
	load serve_helpers
	start_serve --model models/tales/tales-f32.gguf
	venturi load --input-tokens 8 --output-tokens 6 --turns 3 --sessions 4 -c 2 --check-client off -q --json "$TEMP/r.json" \
		"$SERVE_URL/v1/chat/completions"
	stop_serve
	counts_add_up
	sessions '.completed == 4 and $r.requests.ok == 12
		and (.by_turn | map(.input_tokens_mean) | .[0] >= 8 and .[1] >= .[0] + 8 and .[2] >= .[1] + 8)'
}
