#!/usr/bin/env bats
# venturi watch and pages of metrics: what is on them, and what is wrong with them.

load helpers

setup() {
	command -v python3 >/dev/null || skip "there is no python3 for the server"
	make_temp
	export VENTURI_LEDGER="$TEMP/ledger.db"
}

teardown() {
	[ -z "${SERVER_PID-}" ] || kill "$SERVER_PID" 2>/dev/null || true
	remove_temp
}

# start_counting OPTION...: on a free port, in $PORT.
start_counting() {
	: >"$TEMP/port"
	"$BATS_TEST_DIRNAME/../servers/counting.py" "$@" >"$TEMP/port" 2>"$TEMP/server.err" 3>&- &
	SERVER_PID=$!
	wait_for 10 test -s "$TEMP/port"
	PORT=$(cat "$TEMP/port")
}

# watches OPTION...: the JSON is $TEMP/w.json, what was said $TEMP/said.
watches() {
	venturi watch -q --json "$TEMP/w.json" "$@" 2>"$TEMP/said"
}

# holds FILTER: of the watch; page(NAME) and own(NAME) are a signal of the page and of this machine.
holds() {
	jq -e 'def page($n): first(.signals[] | select(.name == $n and .page != null));
		def own($n): first(.signals[] | select(.name == $n and .page == null)); '"$1" "$TEMP/w.json"
}

@test "a host looks the same through node_exporter as in /proc" {
	command -v prometheus-node-exporter >/dev/null || skip "there is no node_exporter"
	local port=$((20000 + RANDOM % 10000))
	prometheus-node-exporter --web.listen-address="127.0.0.1:$port" >/dev/null 2>"$TEMP/server.err" 3>&- &
	SERVER_PID=$!
	wait_for 10 curl -sfo "$TEMP/page" "http://127.0.0.1:$port/metrics"
	watches -d 4s --metrics "http://127.0.0.1:$port"
	holds '.pages[0] | .software == "node_exporter" and .failed == 0 and .read >= 4'
	# what does not change is the same
	holds 'page("host_memory_bytes").mean == own("host_memory_bytes").mean'
	holds 'page("host_cores").mean == own("host_cores").mean'
	# two windows whose edges lie some 10 ms apart
	holds '(page("host_cpu_ratio").mean - own("host_cpu_ratio").mean | fabs) < 0.1'
	holds '(page("host_context_switches_per_s").delta / own("host_context_switches_per_s").delta - 1 | fabs) < 0.2'
	holds 'page("host_context_switches_per_s").source == "node_context_switches_total"'
}

@test "a service that is not there yet is told, and read when it is" {
	start_counting
	kill "$SERVER_PID"
	wait "$SERVER_PID" || true
	venturi watch -q --json "$TEMP/w.json" -d 6s --metrics "http://127.0.0.1:$PORT" 2>"$TEMP/said" 3>&- &
	local watch=$!
	wait_for 10 grep -q 'cannot connect' "$TEMP/said"
	start_counting --port "$PORT"
	wait "$watch"
	holds '.pages[0] | .failed >= 1 and .read >= 2 and .software == "vllm"'
}

@test "each page that cannot be read is told once, in whichever order they fail" {
	start_counting --page hang
	watches -d 5s --metrics "http://127.0.0.1:$PORT" --metrics http://127.0.0.1:1
	[ "$(grep -c "$PORT/metrics" "$TEMP/said")" -eq 1 ]
	[ "$(grep -c '127.0.0.1:1/metrics' "$TEMP/said")" -eq 1 ]
}

@test "of a page with broken lines the others count" {
	start_counting --page broken
	watches -d 2s --metrics "http://127.0.0.1:$PORT" --port "$PORT"
	holds '.pages[0] | .software == "vllm" and .broken_lines >= 4 and .failed == 0'
	holds 'page("server_requests_running").n >= 2 and page("server_requests_running").mean == 0'
	# NaN and +Inf are no requests, and no other number is left
	holds 'page("server_requests_waiting") | .n == 0 or (has("mean") | not)'
	# and its connections are seen from outside
	holds 'first(.signals[] | select(.name == "port_listeners" and .instance == "'"$PORT"'")).mean == 1'
}

@test "what is no page of metrics is told, and the watch goes on" {
	while read -r kind reason; do
		start_counting --page "$kind"
		watches -d 1s --metrics "http://127.0.0.1:$PORT/metrics"
		jq -e --arg reason "$reason" '.pages[0] | .failed >= 1 and (.reason | test($reason))' "$TEMP/w.json"
		holds 'own("host_cpu_ratio").n > 3'
		grep -q "$reason" "$TEMP/said"
		kill "$SERVER_PID"
	done <<-'END'
		html no page of metrics
		json no page of metrics
		none HTTP status 404
		huge longer than 16 MiB
		drip did not answer in time
		hang did not answer in time
	END
}

@test "a service that goes away during a watch has what it showed until then" {
	start_counting
	(sleep 2.5 && kill "$SERVER_PID") 3>&- &
	watches -d 5s --metrics "http://127.0.0.1:$PORT"
	holds '.pages[0] | .software == "vllm" and .read >= 2 and .failed >= 1 and (.reason | length > 10)'
	holds 'page("server_prompt_tokens_per_s").delta == 0 and own("host_cpu_ratio").n > 10'
}
