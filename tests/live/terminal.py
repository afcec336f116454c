"""A terminal for agents that do something only when a person types it."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time

# What programs ask a terminal, and what it answers: where the cursor is, what kind of terminal it is, its colours.
QUESTIONS = [
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\]10;\?"), b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (re.compile(rb"\x1b\]11;\?"), b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
]
ESCAPES = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[\[(][0-?]*[ -/]*[@-~]|.)")


class Terminal:
    """A process that believes to be on a terminal. `shown` has all that it has written."""

    def __init__(self, words, cwd, environment):
        self.shown = b""
        self.last = time.monotonic()
        self.side, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**environment, "TERM": "xterm-256color"}
        self.process = subprocess.Popen(words, cwd=cwd, env=environment, stdin=other, stdout=other, stderr=other,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(other)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                data = os.read(self.side, 65536)
            except OSError:
                return
            if not data:
                return
            self.shown += data
            self.last = time.monotonic()
            for question, answer in QUESTIONS:
                for _ in question.findall(data):
                    self.send(answer)

    def send(self, data):
        try:
            os.write(self.side, data)
        except OSError:
            pass  # it has ended

    def settle(self, quiet_secs, limit_secs):
        """Waits until it has written something, and then nothing for a while."""
        end = time.monotonic() + limit_secs
        while time.monotonic() < end and self.process.poll() is None:
            if self.shown and time.monotonic() - self.last > quiet_secs:
                return
            time.sleep(0.1)

    def wait_for(self, words, limit_secs):
        end = time.monotonic() + limit_secs
        while words not in self.text() and time.monotonic() < end:
            time.sleep(0.1)

    def enter(self, text):
        """Types a line as a person does: what comes at once with its end would be taken for something pasted."""
        for at in range(0, len(text), 8):
            self.send(text[at : at + 8].encode())
            time.sleep(0.02)
        time.sleep(0.5)
        self.send(b"\r")

    def press(self, keys):
        self.send(keys.encode())
        time.sleep(0.7)

    def text(self):
        """Returns the words that it has shown, without colours and movements of the cursor."""
        return ESCAPES.sub(" ", self.shown.decode(errors="replace"))

    def end(self):
        try:
            self.process.wait(10)
            return True
        except subprocess.TimeoutExpired:
            return False
        finally:
            os.close(self.side)
