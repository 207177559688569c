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
