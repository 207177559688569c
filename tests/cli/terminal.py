#!/usr/bin/python3
"""Runs a program on a terminal of its own and plays what a person does there.

    terminal.py ROWS COLUMNS COMMAND... < STEPS

Steps, one a line; a wait that is in vain, or a step that is not understood, ends it with 1 and
prints the screen:

    wait TEXT        until the text is on the screen
    gone TEXT        until it is not
    line N TEXT      until line N, from 0, begins with the text
    key NAME...      keys by name (tab, space, up, down, left, right, pgup, pgdn, home, end, esc,
                     ctrl-c, ctrl-z, ctrl-\\), or characters
    resize R C       another size of the window
    signal NAME      to the program: TERM, SEGV, ...
    stopped          until the program has been stopped; prints how it left the terminal
    continue         as a shell's fg does
    sleep SECONDS
    show             prints the screen, its lines without blanks at their ends
    same             prints whether the screen changes within a second: same, changes
    cpu              prints the seconds of CPU time that the program's first thread has taken
    colours          prints which colours are on the screen, a line each, sorted
    end              until the program has ended: prints how, and how it left the terminal

Needs python3-pyte, the terminal emulator.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pyte

PATIENCE_S = 20
KEYS = {  # as TERM=linux has them
    "tab": "\t", "space": " ", "up": "\033[A", "down": "\033[B", "right": "\033[C",
    "left": "\033[D", "pgup": "\033[5~", "pgdn": "\033[6~", "home": "\033[1~", "end": "\033[4~",
    "esc": "\033", "ctrl-c": "\003", "ctrl-z": "\032", "ctrl-\\": "\034",
}
PRIVATE = 5  # pyte shifts the numbers of private modes by so much
CURSOR, ALTERNATE = 25 << PRIVATE, 1049 << PRIVATE


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def be_shell(slave, command, told, orders):
    """The leader of the terminal's session: what a shell does for the one program it runs."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        os.closerange(3, 64)
        os.execvp(command[0], command)
    os.write(told, f"pid {child}\n".encode())
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        os.tcsetpgrp(slave, os.getpgrp())
        if os.WIFSTOPPED(status):
            os.write(told, b"stopped\n")
            os.read(orders, 1)
            os.tcsetpgrp(slave, child)
            os.killpg(child, signal.SIGCONT)
        elif os.WIFSIGNALED(status):
            os.write(told, f"signal {signal.Signals(os.WTERMSIG(status)).name}\n".encode())
            os._exit(0)
        else:
            os.write(told, f"exit {os.WEXITSTATUS(status)}\n".encode())
            os._exit(0)


class Terminal:
    def __init__(self, rows, columns, command):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.master, self.slave = pty.openpty()
        set_size(self.master, rows, columns)
        self.modes = termios.tcgetattr(self.slave)
        self.told, told = os.pipe()
        orders, self.orders = os.pipe()
        self.news = b""
        if os.fork() == 0:
            os.close(self.master)
            be_shell(self.slave, command, told, orders)
        os.close(told)
        self.pid = int(self.hear("pid").split()[1])

    def feed(self, seconds):
        """Reads what the program writes, for so long or until there is some."""
        open_ones = [self.master] if self.told is None else [self.master, self.told]
        ready, _, _ = select.select(open_ones, [], [], seconds)
        if self.master in ready:
            self.stream.feed(os.read(self.master, 65536))
        if self.told in ready:
            more = os.read(self.told, 4096)
            self.news += more
            self.told = self.told if more else None
        return bool(ready)

    def until(self, what, is_so):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                print(f"waited in vain: {what}")
                self.show()
                sys.exit(1)
            self.feed(0.1)

    def hear(self, *words):
        """The next thing that the shell tells and begins with one of the words."""
        def line():
            lines = self.news.split(b"\n")
            return next((i for i in lines[:-1] if i.split()[0].decode() in words), None)
        self.until(" or ".join(words), line)
        found = line()
        self.news = self.news.split(found + b"\n", 1)[1]
        return found.decode()

    def lines(self):
        """As they are seen: the right half of a wide character is no character."""
        return [line.rstrip() for line in self.screen.display]

    def show(self):
        print("\n".join(self.lines()))

    def left(self):
        """How the program left the terminal."""
        self.feed(0.2)
        modes = termios.tcgetattr(self.slave)
        print("modes", "as before" if modes == self.modes else "changed",
              "/ screen", "alternate" if ALTERNATE in self.screen.mode else "as before",
              "/ cursor", "shown" if CURSOR in self.screen.mode else "hidden")

    # ---- steps ----

    def do_wait(self, text):
        self.until(f"'{text}' is shown", lambda: any(text in line for line in self.lines()))

    def do_gone(self, text):
        self.until(f"'{text}' is gone", lambda: not any(text in line for line in self.lines()))

    def do_line(self, number, text):
        self.until(f"line {number} begins with '{text}'",
                   lambda: self.lines()[int(number)].startswith(text))

    def do_key(self, keys):
        for key in keys.split():
            os.write(self.master, KEYS.get(key, key).encode())

    def do_resize(self, rows, columns):
        self.screen.resize(int(rows), int(columns))
        set_size(self.master, int(rows), int(columns))

    def do_signal(self, name):
        os.kill(self.pid, getattr(signal, "SIG" + name))

    def do_stopped(self):
        self.hear("stopped")
        self.left()

    def do_continue(self):
        os.write(self.orders, b".")

    def do_sleep(self, seconds):
        end = time.monotonic() + float(seconds)
        while (rest := end - time.monotonic()) > 0:
            self.feed(rest)

    def do_show(self):
        self.do_sleep(0.1)
        self.show()

    def do_same(self):
        self.do_sleep(0.3)
        before = self.lines()
        self.do_sleep(1)
        print("same" if self.lines() == before else "changes")

    def do_cpu(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/schedstat", encoding="ascii") as file:
            print("cpu", int(file.read().split()[0]) / 1e9)

    def do_colours(self):
        self.do_sleep(0.1)
        seen = {cell.fg for row in self.screen.buffer.values() for cell in row.values()}
        print("\n".join(sorted(seen)))

    def do_end(self):
        print(self.hear("exit", "signal"))
        while self.feed(0.2):
            pass
        self.left()


ARGUMENTS = {"line": 2, "resize": 2, "stopped": 0, "continue": 0, "show": 0, "same": 0, "cpu": 0,
             "colours": 0, "end": 0}


def main():
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for step in sys.stdin.read().splitlines():
        word, _, rest = step.strip().partition(" ")
        if word:
            n = ARGUMENTS.get(word, 1)
            getattr(terminal, "do_" + word)(*(rest.split(" ", n - 1) if n else []))


if __name__ == "__main__":
    main()
