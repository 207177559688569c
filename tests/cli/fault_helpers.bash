# shellcheck shell=bash
# Services with faults beside a good one (the control), and what can be seen of them from outside:
# by a load, in /proc, in /metrics. Comparisons are by wide factors, or of counts.
#
# Faults are given by --options-from on standard input, as in a blind trial.

# faulty NAME "FAULT..." OPTION...: starts a service with these faults ("" for a control); URL_NAME
# and PID_NAME are set.
faulty() {
	local name=$1 faults=$2 out="$TEMP/$1.out" url=
	shift 2
	# shellcheck disable=SC2086 # words are wanted
	printf 'fault %s\n' ${faults:-} | grep -v 'fault $' |
		"$VENTURI_BUILD/venturi-serve" --listen 127.0.0.1:0 --options-from - "$@" >"$out" 2>&1 3>&- &
	declare -g "JOB_$name=$!"
	STARTED="${STARTED:-} $!"
	wait_for 20 grep -qs '^listening' "$out" || { cat "$out"; return 1; }
	url=$(sed -n 's/^listening on //p' "$out")
	declare -g "URL_$name=$url" "PID_$name=$!"
}

# Ends all services that the test started.
stop_faulty() {
	local pid
	for pid in ${STARTED:-}; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	STARTED=
}

# run_load NAME OPTION...: a load without warm-up and self-check; its JSON is in $TEMP/NAME.json.
run_load() {
	local name=$1 url="URL_$1"
	shift
	venturi load --warmup none --check-client off --quiet --json "$TEMP/$name.json" "$@" "${!url}" >/dev/null 2>&1
}

# figure NAME FILTER: a figure of NAME's last load.
figure() {
	jq -r "$2" "$TEMP/$1.json"
}

# holds EXPRESSION: an arithmetic comparison of decimals.
holds() {
	awk "BEGIN { exit !($1) }" || { echo "does not hold: $1"; return 1; }
}

# CPU time of a process in ms, and of its threads by `cpu_of_threads PID`, one a line.
cpu_ms() {
	awk '{ sub(/.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"
}

rss_kib() {
	awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}

io_of() {
	awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/io"
}

# ask NAME PATH [BODY]
ask() {
	local url="URL_$1"
	curl -sS --max-time 20 "${!url}$2" ${3:+--data-binary "$3"}
}

# in_flight NAME: requests that the service itself knows of.
in_flight() {
	ask "$1" /metrics | awk '/^venturi_serve_num_requests_(running|waiting)\{/ { n += $2 } END { print n }'
}

# The names of all faults, one a line.
fault_names() {
	venturi-serve --list-faults | awk '/^[a-z]/ { sub(/[[=].*/, "", $1); print $1 }'
}

# wait_ready NAME: until its warm-up is over.
wait_ready() {
	local url="URL_$1"
	wait_for 60 curl -sf -o /dev/null "${!url}/health"
}

# encoders "FAULT..." OPTION...: a faulty encoder (BAD) and a control (GOOD), of one computing
# thread unless $THREADS says otherwise; the control has $GOOD_FAULTS.
encoders() {
	local faults=$1 threads=${THREADS-1}
	shift
	[[ " $* " == *" --synthetic "* ]] || set -- --synthetic bert-tiny "$@"
	# shellcheck disable=SC2086 # none or two words are wanted
	faulty GOOD "${GOOD_FAULTS:-}" ${threads:+--threads $threads} "$@"
	# shellcheck disable=SC2086
	faulty BAD "$faults" ${threads:+--threads $threads} "$@"
	wait_ready GOOD
	wait_ready BAD
}

# cost NAME N OPTION...: CPU time in ms of N requests, one at a time unless the options say more.
cost() {
	local name=$1 n=$2 pid="PID_$1" before
	shift 2
	before=$(cpu_ms "${!pid}")
	run_load "$name" --api openai-embeddings -c 1 -n "$n" "$@" || echo "the load on $name failed" >&2
	echo $(($(cpu_ms "${!pid}") - before))
}

# costs_times FACTOR N OPTION...: N requests cost BAD so many times as much as GOOD; COST_GOOD and
# COST_BAD are set. 10 ms are what the clock of /proc can be wrong by.
costs_times() {
	local factor=$1
	shift
	COST_GOOD=$(cost GOOD "$@")
	COST_BAD=$(cost BAD "$@")
	echo "good $COST_GOOD ms, bad $COST_BAD ms"
	[ "$(figure BAD .requests.failed)" = 0 ]
	holds "$COST_BAD > $factor * $COST_GOOD + 10"
}
