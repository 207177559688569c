# start_serve OPTION... and stop_serve: a service for the time of one test, on a free port.
#
# start_serve sets SERVE_PID and SERVE_URL and leaves what the service says in $SERVE_OUT and
# $SERVE_ERR. stop_serve sets SERVE_STATUS, the exit status. One service at a time.

serve_program() {
	echo "${VENTURI_BUILD:-build}/venturi-serve"
}

start_serve() {
	SERVE_OUT="$BATS_TEST_TMPDIR/serve.out"
	SERVE_ERR="$BATS_TEST_TMPDIR/serve.err"
	: >"$SERVE_OUT"
	# descriptor 3 is bats's own: it waits until nobody holds it any more
	"$(serve_program)" --listen 127.0.0.1:0 "$@" >"$SERVE_OUT" 2>"$SERVE_ERR" 3>&- &
	SERVE_PID=$!
	for _ in $(seq 1000); do
		SERVE_URL=$(sed -n 's/^listening on //p' "$SERVE_OUT")
		if [ -n "$SERVE_URL" ]; then
			return 0
		fi
		kill -0 "$SERVE_PID" 2>/dev/null || break
		sleep 0.02
	done
	echo "the service did not start: $(cat "$SERVE_ERR")"
	stop_serve
	return 1
}

stop_serve() {
	SERVE_STATUS=0
	if [ -n "${SERVE_PID:-}" ]; then
		kill "$SERVE_PID" 2>/dev/null || true
		wait "$SERVE_PID" || SERVE_STATUS=$?
		SERVE_PID=
	fi
}
