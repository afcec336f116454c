"""Types into a real shell at a terminal and tells what its completion made of it.

usage: complete.py <shell> <file>, with a JSON array of what is typed on stdin.

The shell's start-up file, which the caller writes, must bind Ctrl-X d to write the line to <file> and to empty it, and
write a line to <file> when the shell is ready. Prints a JSON array of the lines.
"""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios
import time

SHELLS = {
    "bash": lambda home: ["bash", "--noprofile", "--rcfile", f"{home}/.bashrc", "-i"],
    "zsh": lambda home: ["zsh", "-d", "-i"],
    "fish": lambda home: ["fish", "-i"],
}
# Nothing takes that long; it ends a shell that waits for something that does not come.
PATIENCE = 600


def main():
    shell, out = sys.argv[1:3]
    typed = json.load(sys.stdin)
    words = SHELLS[shell](os.environ["HOME"])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    seen = bytearray()
    end = time.monotonic() + PATIENCE

    def lines(count):
        while True:
            if select.select([terminal], [], [], 0.02)[0]:
                try:
                    seen.extend(os.read(terminal, 65536))
                except OSError:
                    sys.exit(f"{shell} has ended: {bytes(seen)!r}")
            try:
                with open(out, encoding="utf-8") as file:
                    found = file.read().split("\n")[:-1]
            except FileNotFoundError:
                found = []
            if len(found) >= count:
                return found
            if time.monotonic() > end:
                sys.exit(f"{shell} does not answer: {found!r} {bytes(seen)!r}")

    lines(1)
    for number, text in enumerate(typed):
        os.write(terminal, text.encode() + b"\x18d")
        lines(number + 2)
    json.dump(lines(len(typed) + 1)[1:], sys.stdout)
    os.close(terminal)


main()
