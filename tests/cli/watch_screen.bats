#!/usr/bin/env bats
# The screen of venturi watch on a terminal of its own: tests/cli/terminal.py, which is a person at
# the keys and reads what the terminal shows.

load helpers

setup() {
	/usr/bin/python3 -c 'import pyte' 2>/dev/null || skip "python3-pyte is not there"
	make_temp
	export TERM=linux # what the emulator can do; xterm's alternate screen is tested apart
	unset NO_COLOR
	sleep 120 &
	WATCHED=$!
}

teardown() {
	[ -z "${WATCHED-}" ] || kill "$WATCHED" 2>/dev/null || true
	remove_temp
}

# on_terminal ROWS COLUMNS COMMAND... < STEPS
on_terminal() {
	timeout 60 tests/cli/terminal.py "$@"
}

watch_it() {
	on_terminal "$1" "$2" venturi watch --pid "$WATCHED"
}

# What holds after the screen is gone, however it went.
restored='modes as before / screen as before / cursor shown'

@test "80 x 24 shows the process, its strips, its threads and the keys" {
	watch_it 24 80 >"$TEMP/out" <<-'END'
		wait CPU cores
		wait sleep
		sleep 1
		show
		key q
		end
	END
	head -1 "$TEMP/out" | grep -q "^venturi watch  sleep ($WATCHED) .*every 100 ms$"
	grep -q '^CPU cores .*  0  ' "$TEMP/out"
	grep -q '^memory .*iB' "$TEMP/out"
	grep -q '^\[Threads\]' "$TEMP/out"
	grep -q "^ *$WATCHED sleep  *S  *0 %" "$TEMP/out"
	sed -n 24p "$TEMP/out" | grep -q '^q quit'
	grep -qx 'exit 0' "$TEMP/out"
	grep -qx "$restored" "$TEMP/out"
}

@test "pause holds the picture, and the next press lets it go on" {
	watch_it 24 80 >"$TEMP/out" <<-'END'
		wait CPU cores
		same
		key space
		wait PAUSED
		same
		key space
		gone PAUSED
		same
		key q
		end
	END
	[ "$(grep -x 'same\|changes' "$TEMP/out" | tr '\n' ' ')" = "changes same changes " ]
}

@test "keys zoom, sort, turn the lists, begin anew and show help" {
	watch_it 24 100 >"$TEMP/out" <<-'END'
		wait last minute
		key +
		wait last 30 s
		key - - -
		wait last 15 minutes
		wait by CPU
		key s
		wait by time in the run queue
		key s s
		wait by name
		key tab
		wait --profile takes them
		key tab
		wait [Devices]
		key tab tab
		wait [Missing]
		key tab
		wait [Threads]
		key h
		wait this help
		key h
		gone this help
		sleep 1
		key r
		wait 0:00
		key q
		end
	END
	grep -qx 'exit 0' "$TEMP/out"
}

@test "the lists scroll to their end" {
	watch_it 24 80 >"$TEMP/out" <<-'END'
		wait CPU cores
		key tab tab tab
		wait [Signals]
		key down
		wait   2-
		key end
		gone   2-
		key home
		wait   1-
		key pgdn
		gone   1-
		key q
		end
	END
	grep -qx 'exit 0' "$TEMP/out"
}

@test "another size of the window is another screen, and one that is too small says so" {
	watch_it 40 120 >"$TEMP/out" <<-'END'
		line 39 q quit
		wait host CPU
		resize 24 80
		line 23 q quit
		resize 15 60
		line 14 q quit
		gone of 
		show
		resize 8 40
		wait too small
		resize 24 80
		line 23 q quit
		key q
		end
	END
	# No line is longer than the window.
	[ "$(sed -n 1,15p "$TEMP/out" | LC_ALL=C.UTF-8 wc -L)" -le 60 ]
	grep -qx 'exit 0' "$TEMP/out"
}

@test "without a locale of UTF-8 there is nothing but ASCII" {
	LC_ALL=C watch_it 24 80 >"$TEMP/out" <<-'END'
		wait CPU cores
		sleep 1
		show
		key q
		end
	END
	[ -z "$(grep -P '[^\x00-\x7f]' "$TEMP/out")" ]
	grep -q '^CPU cores .*_' "$TEMP/out"
}

@test "Chinese has its columns below each other" {
	on_terminal 24 80 venturi watch --lang zh --pid "$WATCHED" >"$TEMP/out" <<-'END'
		wait 最近 1 分钟
		wait CPU 核数
		sleep 1
		show
		key q
		end
	END
	grep -q '线程' "$TEMP/out"
	# The heads end where the values below them end, in columns of the terminal.
	python3 - "$TEMP/out" <<-'END'
		import sys, unicodedata
		def width(text):
		    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
		lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
		head = next(l for l in lines if "最近 1 分钟" in l)
		memory = next(l for l in lines if l.startswith("内存"))
		end = memory.index("iB") + 2
		assert width(head[:head.index("现在") + 2]) == width(memory[:end]), (head, memory)
	END
}

@test "colours are a second channel, and NO_COLOR leaves them out" {
	watch_it 24 80 >"$TEMP/out" <<-'END'
		wait CPU cores
		sleep 1
		colours
		key q
		end
	END
	grep -qx cyan "$TEMP/out"
	NO_COLOR=1 watch_it 24 80 >"$TEMP/out" <<-'END'
		wait CPU cores
		sleep 1
		colours
		key q
		end
	END
	[ "$(head -1 "$TEMP/out")" = default ]
	[ -z "$(grep -x 'cyan\|red' "$TEMP/out")" ]
}

# ends_by STEP WHAT: the program ends so, and the terminal is as it was.
ends_by() {
	TERM=xterm-256color watch_it 24 80 >"$TEMP/out" <<-END
		wait memory
		$1
		end
	END
	cat "$TEMP/out"
	grep -qx "$2" "$TEMP/out"
	grep -qx "$restored" "$TEMP/out"
}

@test "however it ends, the terminal is as it was" {
	ends_by "key q" "exit 0"
	ends_by "key ctrl-c" "exit 0"
	ends_by "signal TERM" "exit 0"
	ends_by "signal HUP" "exit 0"
	ulimit -c 0
	ends_by "key ctrl-\\" "signal SIGQUIT"
	ends_by "signal USR1" "signal SIGUSR1"
	needs_speed # a sanitizer makes an exit of a crash
	ends_by "signal SEGV" "signal SIGSEGV"
	ends_by "signal ABRT" "signal SIGABRT"
}

@test "it stops and goes on like any program of a shell" {
	TERM=xterm-256color watch_it 24 80 >"$TEMP/out" <<-'END'
		wait memory
		key ctrl-z
		stopped
		continue
		sleep 0.5
		key +
		wait 30 s
		key q
		end
	END
	[ "$(grep -cx "$restored" "$TEMP/out")" -eq 2 ]
	grep -qx 'exit 0' "$TEMP/out"
}

@test "the end of what is watched ends the screen" {
	on_terminal 24 80 venturi watch --pid "$WATCHED" -d 2s >"$TEMP/out" <<-'END'
		wait CPU cores
		end
	END
	grep -qx 'exit 0' "$TEMP/out"
	sleep 2 &
	on_terminal 24 80 venturi watch --pid $! >"$TEMP/out" <<-'END'
		wait CPU cores
		end
	END
	grep -qx "$restored" "$TEMP/out"
}

@test "a terminal that cannot move its cursor gets lines" {
	for term in dumb no-such-terminal ''; do
		TERM=$term on_terminal 24 80 venturi watch --pid "$WATCHED" -d 1500ms \
			>"$TEMP/out" <<-'END'
			end
			show
		END
		grep -qx 'exit 0' "$TEMP/out"
		[ -z "$(grep '\[Threads\]' "$TEMP/out")" ]
	done
}

# The goal is 1 %; what page faults and system calls cost differs by machine.
@test "drawing takes next to nothing of a core" {
	needs_speed
	watch_it 40 120 >"$TEMP/out" <<-'END'
		wait CPU cores
		sleep 2
		cpu
		sleep 6
		cpu
		key q
		end
	END
	awk '/^cpu/ { if (n++) took = $2 - before; before = $2 }
		END { print "took " took / 6 " of a core"; exit !(n == 2 && took / 6 < 0.02) }' "$TEMP/out"
}
