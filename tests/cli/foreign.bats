#!/usr/bin/env bats
# Servers that are not of this project, each compared with its own log: counts exactly, times within
# what is stated at each comparison.

bats_require_minimum_version 1.5.0

load helpers
load standin_helpers

setup() {
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	stop_standin
	remove_temp
}

# A port of the loopback that nobody listens on just now.
free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport'
}

# holds FILTER: what must hold of the run; the server's log is in $log, quantile(VALUES; Q) is by
# nearest rank, near(VALUE; WANT; SHARE; MORE) allows SHARE of WANT and MORE. Shows both when not.
holds() {
	jq -e --slurpfile log "$LOG" '
		def quantile($v; $q): $v | sort | .[((length * $q) | ceil) - 1];
		def near($v; $want; $share; $more): if ($v - $want | fabs) <= $share * $want + $more then true
			else "\($v) is not near \($want)\n" | halt_error(1) end;
		. as $r | '"$1" "$TEMP/r.json" || {
		jq 'del(.histogram, .fingerprint, .series)' "$TEMP/r.json"
		echo "does not hold: $1"
		return 1
	}
}

# What every stream must have that a server logged as scripted.py does: counts of requests, tokens and
# events exactly; the median TTFT, which holds the way there, at most 15 % and 3 ms longer; gaps between
# events within 3 % and 0.3 ms at the mean and at P90.
stream_agrees() {
	holds '.requests.ok == 60 and .requests.failed == 0 and ($log | length) == 60'
	holds '([$log[].output] | add) == (.throughput.output_tokens_per_s * .window.duration_s | round)'
	holds '([$log[].input] | add) == (.throughput.input_tokens_per_s * .window.duration_s | round)'
	holds '.tokens_source == "usage" and .ttft_ms.n == 60 and .itl_ms.n == ([$log[].sent_ns | length - 1] | add)'
	holds 'quantile([$log[] | (.sent_ns[0] - .received_ns) / 1e6]; 0.5) as $ttft
		| .ttft_ms.p50 > 0.99 * $ttft - 0.3 and .ttft_ms.p50 < 1.15 * $ttft + 3'
	holds 'quantile([$log[] | (.done_ns - .received_ns) / 1e6]; 0.5) as $latency
		| .latency_ms.p50 > 0.99 * $latency - 0.3 and .latency_ms.p50 < 1.1 * $latency + 3'
	holds '[$log[].sent_ns | range(1; length) as $i | (.[$i] - .[$i - 1]) / 1e6] as $gaps
		| near($r.itl_ms.mean; ($gaps | add) / ($gaps | length); 0.03; 0.3)
			and near($r.itl_ms.p90; quantile($gaps; 0.9); 0.03; 0.3)'
}

# start_nginx CONFIG: with that inside its server; logs time, request time and status to $LOG.
start_nginx() {
	local nginx port
	nginx=$(PATH="$PATH:/usr/sbin" command -v nginx) || skip "there is no nginx"
	port=$(free_port)
	LOG="$TEMP/log.jsonl"
	cat >"$TEMP/nginx.conf" <<-C
		daemon off;
		master_process off;
		pid $TEMP/nginx.pid;
		error_log $TEMP/nginx.err;
		events { worker_connections 1024; }
		http {
			client_body_temp_path $TEMP;
			proxy_temp_path $TEMP;
			fastcgi_temp_path $TEMP;
			uwsgi_temp_path $TEMP;
			scgi_temp_path $TEMP;
			log_format own '{"end_s":\$msec,"took_s":\$request_time,"status":\$status,"connection":\$connection}';
			access_log $LOG own;
			keepalive_requests 1000000;
			split_clients \$request_id \$refused { 30% 1; * ""; }
			root $TEMP;
			limit_req_zone \$server_addr zone=slow:1m rate=100r/s;
			server { listen 127.0.0.1:$port backlog=512; $1 }
		}
	C
	"$nginx" -e "$TEMP/nginx.err" -p "$TEMP" -c "$TEMP/nginx.conf" 2>"$TEMP/nginx.out" 3>&- &
	STANDIN_PID=$!
	STANDIN_URL="http://127.0.0.1:$port"
	wait_for 10 bash -c ": </dev/tcp/127.0.0.1/$port" 2>/dev/null
}

@test "nginx: every request of a closed loop is in its access log, with the same time and status" {
	# those that are not refused at once are let through at 100 a second, so that each waits
	start_nginx 'location / { if ($refused) { return 503; } limit_req zone=slow burst=20; try_files /hello =404; }'
	echo hello >"$TEMP/hello"
	venturi load --api http --metrics none -c 8 -n 300 --warmup none -q --json "$TEMP/r.json" "$STANDIN_URL/"
	stop_standin
	holds '($log | length) == 300 and .requests.attempted == 300 and .requests.retried == 0'
	holds '.requests.ok == ($log | map(select(.status == 200)) | length) and .requests.ok > 150'
	holds '.requests.failures.status == ($log | map(select(.status == 503)) | length)'
	holds '($log | map(.connection) | unique | length) == 8'
	# its clock has whole milliseconds
	holds '[$log[] | select(.status == 200) | .took_s * 1000] as $took
		| near($r.latency_ms.mean; ($took | add) / ($took | length); 0.02; 1.5)
			and near($r.latency_ms.p50; quantile($took; 0.5); 0.02; 1.5)
			and near($r.latency_ms.p90; quantile($took; 0.9); 0.02; 2)'
	holds 'near($r.window.duration_s; ($log | map(.end_s) | max) - ($log | map(.end_s - .took_s) | min); 0.01; 0.02)'
}

@test "nginx: an open loop arrives as planned, by its access log" {
	start_nginx 'location / { return 200 "hello\n"; }'
	venturi load --api http --metrics none --rate 200 --arrival constant -n 400 --warmup none -q \
		--json "$TEMP/r.json" "$STANDIN_URL/"
	stop_standin
	holds '.requests.ok == 400 and ($log | length) == 400'
	# gaps of 5 ms, by a clock of whole milliseconds
	holds '$log | map(.end_s - .took_s) | sort | [range(1; length) as $i | (.[$i] - .[$i - 1]) * 1000] as $gaps
		| near(quantile($gaps; 0.5); 5; 0; 1.01) and near(($gaps | add) / 399; 5; 0.05; 0)'
	# no tenth of a second has more or fewer than its 20, but for what is late on a busy machine
	holds '($log | map(.end_s - .took_s) | min) as $start
		| [$log[] | ((.end_s - .took_s - $start) * 10 | floor)] | group_by(.) | map(length)
		| [.[] | . >= 14 and . <= 26] | (map(select(.)) | length) >= 0.8 * length'
}

@test "Node: a stream with LF and events that share a write, by its own log" {
	command -v node >/dev/null || skip "there is no node"
	start_standin foreign_node.js
	venturi load -c 6 -n 60 --warmup none --input-tokens 20 --output-tokens 24 -q --json "$TEMP/r.json" "$STANDIN_URL"
	stop_standin
	holds '.target.api == "openai-chat" and .target.model == "node" and .tokens_per_event == 1'
	stream_agrees
}

@test "aiohttp: a stream with CRLF, types, ids, pings and reasoning, by its own log" {
	/usr/bin/python3 -c 'import aiohttp' 2>/dev/null || skip "there is no aiohttp for /usr/bin/python3"
	start_standin foreign_aiohttp.py
	venturi load -c 6 -n 60 --warmup none --input-tokens 20 --output-tokens 24 -q --json "$TEMP/r.json" "$STANDIN_URL"
	stop_standin
	holds '.target.api == "openai-chat" and .target.model == "aio" and .tokens_per_event == 1'
	stream_agrees
}

# llama_counters NAME...: the sum of these counters of the running llama-server.
llama_counters() {
	curl -sf "$STANDIN_URL/metrics" | awk -v names=" $* " \
		'index(names, " " $1 " ") { sum += $2 } END { printf "%.0f\n", sum }'
}

@test "llama.cpp: requests, tokens and times in three APIs, by its own counters and log" {
	[ -n "${LLAMA_SERVER-}" ] || skip "LLAMA_SERVER does not name a llama-server"
	local port log="$TEMP/llama.log" api how in_before out_before
	port=$(free_port)
	STANDIN_URL="http://127.0.0.1:$port"
	"$LLAMA_SERVER" -m models/tales/tales-f32.gguf -t 1 -tb 1 -np 4 -c 2048 --port "$port" --metrics >>"$log" 2>&1 3>&- &
	STANDIN_PID=$!
	wait_for 30 curl -sf "$STANDIN_URL/health"
	for api in llamacpp openai-chat openai-completions; do
		for how in --stream --no-stream; do
			echo "# $api $how"
			in_before=$(llama_counters llamacpp:prompt_tokens_total llamacpp:prompt_tokens_cached_total)
			out_before=$(llama_counters llamacpp:tokens_predicted_total)
			: >"$log"
			venturi load --api $api $how -c 4 -n 40 --warmup none --input-tokens 48 --output-tokens 16 \
				--metrics "$STANDIN_URL/metrics" --tokenizer models/tales/tales-f32.gguf -q --json "$TEMP/r.json" "$STANDIN_URL"
			wait_for 10 test "$(grep -ac "release: .* stop processing" "$log")" -ge 40
			LOG="$TEMP/log.jsonl"
			sed -nE 's/.*print_timing: .* (prompt eval|eval|total) time = +([0-9.]+) ms.*/{"what":"\1","ms":\2}/p' \
				"$log" >"$LOG"
			holds '.requests.ok == 40 and ($log | map(select(.what == "total")) | length) == 40'
			holds "near(.throughput.output_tokens_per_s * .window.duration_s;
				$(llama_counters llamacpp:tokens_predicted_total) - $out_before; 0; 0.01)"
			holds "near(.throughput.input_tokens_per_s * .window.duration_s;
				$(llama_counters llamacpp:prompt_tokens_total llamacpp:prompt_tokens_cached_total) - $in_before; 0; 0.01)"
			# and what the run itself has read of these counters is the same
			holds '(.server.signals | map({(.name): .delta}) | add) as $s | .window.duration_s as $t
				| near($s.server_generation_tokens_per_s; $r.throughput.output_tokens_per_s * $t; 0; 0.01)
					and near($s.server_prompt_tokens_per_s; $r.throughput.input_tokens_per_s * $t; 0; 0.01)'
			# the text, and one token that begins it; a chat has its frame around it
			[ $api = openai-chat ] || holds 'near(.throughput.input_tokens_per_s * .window.duration_s; 40 * 49; 0; 0.01)'
			# its clock starts when a slot takes the request up, after HTTP, the tokenizer and the queue
			holds '[$log[] | select(.what == "total") | .ms] as $ms | quantile($ms; 0.5) as $total
				| .latency_ms.p50 > $total and .latency_ms.p50 < 1.25 * $total + 10'
		done
	done
}
