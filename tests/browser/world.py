"""A repository with conversations that are worth a look, and one that wants to do harm."""

import datetime
import json
import os
import subprocess

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"
    "<a href='javascript:alert(4)'>x</a> [m](javascript:alert(5)) ![p](https://evil.example/p.png) <!-- ]]> & \"'"
    "<iframe src='https://evil.example'></iframe><style>*{display:none}</style><base href='https://evil.example/'>"
    "<meta http-equiv=refresh content='0;url=https://evil.example/'><form id=main><input name=hash></form>"
)


class World:
    def __init__(self, place, programs):
        self.top = os.path.join(place, "relay")
        os.makedirs(self.top)
        self.env = {
            "PATH": programs + os.pathsep + os.environ["PATH"], "HOME": place, "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada Harbour", "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_COMMITTER_NAME": "Ada Harbour", "GIT_COMMITTER_EMAIL": "ada@example.com",
        }
        self.number = 0
        self.clock = 1795167600
        self.run("git", "init", "-q", "-b", "main", ".")
        self.write("README", "relay\n")
        self.commit("start")

    def run(self, *words, **more):
        return subprocess.run(words, cwd=self.top, env=self.env, check=True, capture_output=True, text=True, **more).stdout

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def commit(self, subject):
        self.env["GIT_AUTHOR_DATE"] = self.env["GIT_COMMITTER_DATE"] = f"{self.clock} +0000"
        self.run("git", "add", "-A")
        self.run("git", "commit", "-q", "-m", subject)
        return self.run("git", "rev-parse", "--short", "HEAD").strip()

    def export(self, *words):
        self.run("git", "shiftlog", "export", "--html", "-f", *words)


class Session:
    def __init__(self, world, name):
        self.world, self.name, self.lines, self.calls, self.model = world, name, [], 0, "claude-opus-4-8"
        # What an agent writes beside each message, and nobody reads.
        self.beside = dict
        self.file = os.path.join(world.env["HOME"], name + ".jsonl")

    def record(self, kind, message):
        self.world.clock += 7
        stamp = datetime.datetime.fromtimestamp(self.world.clock, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        self.lines.append(json.dumps({"type": kind, "uuid": f"{self.name}-{len(self.lines)}", "sessionId": self.name,
                                      "cwd": self.world.top, "timestamp": stamp, "message": message} | self.beside()))

    def prompt(self, text):
        self.record("user", {"role": "user", "content": text})

    def agent(self, *blocks):
        usage = {"input_tokens": 900, "output_tokens": 140, "cache_read_input_tokens": 16200}
        self.record("assistant", {"role": "assistant", "model": self.model, "content": list(blocks), "usage": usage})

    def says(self, text):
        self.agent({"type": "text", "text": text})

    def thinks(self, text):
        self.agent({"type": "thinking", "thinking": text, "signature": ""})

    def call(self, tool, answer, failed=False, **inputs):
        self.calls += 1
        call_id = f"{self.name}-call{self.calls}"
        self.agent({"type": "tool_use", "id": call_id, "name": tool, "input": inputs})
        result = {"type": "tool_result", "tool_use_id": call_id, "content": answer, "is_error": failed}
        self.record("user", {"role": "user", "content": [result]})

    def edit(self, path, old, new):
        whole = os.path.join(self.world.top, path)
        text = open(whole).read()
        assert old in text
        self.world.write(path, text.replace(old, new, 1))
        self.call("Edit", "The file has been updated.", file_path=whole, old_string=old, new_string=new)

    def create(self, path, text):
        self.world.write(path, text)
        self.call("Write", "File created.", file_path=os.path.join(self.world.top, path), content=text)

    def commit(self, subject):
        short = self.world.commit(subject)
        self.call("Bash", f"[main {short}] {subject}", command=f"git commit -am '{subject}'")
        with open(self.file, "w") as file:
            file.write("\n".join(self.lines) + "\n")
        self.world.run("git", "shiftlog", "add", "-q", f"--session={self.name}", f"--transcript={self.file}", "HEAD")
        return short


LINK = '''"""A link to the server that comes back by itself."""

import random
import time


class Link:
    def __init__(self, address):
        self.address = address
        self.attempts = 0

    def keep(self):
        while not self.connect():
            time.sleep(0.1)

    def connect(self):
        self.attempts += 1
        return open_socket(self.address)
'''


RECONNECT = "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e"


def stories(world):
    """Three sessions over two days; returns the short ids of their commits."""
    commits = []
    world.write("relay/link.py", LINK)
    world.commit("relay: keep a link")
    a = Session(world, RECONNECT)
    a.prompt("The reconnect loop hammers the server when it is down. Make it back off, "
             "and tell me what happens when a thousand clients come back at once.")
    a.thinks("A fixed delay only moves the problem: after an outage all clients return at once.\n\n"
             "Doubling with **jitter** spreads them; a cap keeps recovery quick.")
    for name in ["relay/link.py", "relay/pool.py", "tests/test_link.py", "README"]:
        a.call("Read", "\n".join(f"{n:5} line {n} of {name}" for n in range(1, 31)), file_path=os.path.join(world.top, name))
    a.says("The loop in `Link.keep` sleeps 0.1 s between attempts, whatever happened before. I would change three things:\n\n"
           "1. Double the delay after each failure, from **1 s** up to **60 s**.\n"
           "2. Draw each wait at random between half and all of it, so that clients which lost the link together come back "
           "one after the other.\n3. Start from 1 s again once a connection has held.\n\n"
           "| clients | before | after |\n|---|---:|---:|\n| 1,000 | 10,000 /s | 31 /s |\n| 10,000 | 100,000 /s | 310 /s |\n\n"
           "The idea is that of [exponential backoff](https://example.com/backoff).")
    a.edit("relay/link.py", "        while not self.connect():\n            time.sleep(0.1)\n",
           "        delay = 1.0\n        while not self.connect():\n            time.sleep(delay * random.uniform(0.5, 1.0))\n"
           "            delay = min(delay * 2, 60.0)\n")
    a.call("Bash", "\n".join(f"tests/test_link.py::test_{n} PASSED" for n in range(1, 61)) + "\n60 passed in 1.2 s",
           command="python -m pytest -q tests/test_link.py")
    a.says("All tests pass. A thousand clients now spread over the first minute instead of arriving in the same second.")
    commits.append(a.commit("link: back off with jitter"))
    a.says("Committed.")
    a.prompt("Good. Add a test for the cap.")
    a.call("TodoWrite", "Todos have been modified.", todos=[
        {"content": "Fake the clock", "status": "completed"}, {"content": "Test the cap", "status": "in_progress"},
        {"content": "Run all tests", "status": "pending"}])
    a.create("tests/test_cap.py", "from relay.link import Link\n\n\ndef test_the_delay_has_a_cap(clock):\n"
             "    link = Link(down)\n    clock.run(link.keep, seconds=3600)\n    assert max(clock.slept) <= 60.0\n")
    a.call("Bash", "E   fixture 'clock' not found\n1 error in 0.1 s", failed=True, command="python -m pytest -q tests/test_cap.py")
    a.says("The fixture `clock` does not exist yet; I add it to `conftest.py`:\n\n```python\n@pytest.fixture\ndef clock(monkeypatch):\n"
           "    clock = Clock()\n    monkeypatch.setattr(time, 'sleep', clock.sleep)\n    return clock\n```")
    a.create("tests/conftest.py", "import time\n\nimport pytest\n\n\n@pytest.fixture\ndef clock(monkeypatch):\n"
             "    clock = Clock()\n    monkeypatch.setattr(time, 'sleep', clock.sleep)\n    return clock\n")
    world.write("CHANGES", "A line that was typed by hand.\n")
    a.says("The cap holds: the longest wait in an hour of outage is 59.7 s.")
    commits.append(a.commit("tests: the delay has a cap"))
    world.clock += 86400
    b = Session(world, "8c02d7aa-1f6e-4f0b-9b1c-0d2f6e1a7c33")
    b.prompt("Why does the pool open a second link when the first one is slow?")
    b.says("`Pool.get` counts a link as gone after 2 s without an answer, and opens another. The first is never closed, "
           "so it comes back later and both stay.")
    b.prompt("Close the slow one then.")
    b.create("relay/pool.py", "class Pool:\n    def get(self):\n        link = self.links.pop()\n        if link.is_slow():\n"
             "            link.close()\n            link = self.open()\n        return link\n")
    commits.append(b.commit("pool: close a link that is slow"))
    return commits


def week(world):
    """A few more days of work, with another model, for lists and charts."""
    days = [
        ("docs: say how long an outage may last", "Write down in the README how long a client waits after an outage.", 6, "claude-haiku-4-5"),
        ("pool: count links by state", "How many links are slow at any moment? Show it in the status line.", 22, "claude-opus-4-8"),
        ("link: close the socket on every path", "Look for sockets that stay open when connect raises.", 14, "claude-opus-4-8"),
        ("tests: run the outage on a fake clock", "The outage test takes a minute. Make it run on a fake clock.", 9, "claude-haiku-4-5"),
        ("relay: drop Python 3.9", "We need no Python 3.9 any more; take out what is there for it.", 17, "claude-opus-4-8"),
    ]
    for number, (subject, prompt, steps, model) in enumerate(days):
        world.clock += 86400 + 3600 * number
        session = Session(world, f"{number}d7e5a90-41c2-4a55-8f0a-2b6c9e1d{number}f37")
        session.model = model
        session.prompt(prompt)
        for step in range(steps):
            session.call("Bash", f"{step} passed", command=f"python -m pytest -q -k part_{step}")
        session.create(f"relay/part_{number}.py", f"STATE = {number}\n")
        session.commit(subject)


def villain(world):
    c = Session(world, "villain")
    c.prompt(HOSTILE)
    c.says(HOSTILE + "\n\n# " + HOSTILE + "\n\n```html\n" + HOSTILE + "\n```\n\n<details open ontoggle=alert(6)>\n\n| a |\n|--|\n| " + HOSTILE + " |")
    c.thinks(HOSTILE)
    c.call("Tool" + HOSTILE, HOSTILE, **{"a": HOSTILE, HOSTILE: [HOSTILE]})
    c.call("Bash", HOSTILE, failed=True, command=HOSTILE)
    c.call("TodoWrite", HOSTILE, todos=[{"content": HOSTILE, "status": "pending"}])
    c.create("hostile.txt", HOSTILE + "\n")
    world.write("x <img src=x onerror=alert(7)>.txt", HOSTILE + "\n")
    c.says("x" * 3000 + " " + "\u202e\u2066\u200b" + HOSTILE)
    return c.commit("a commit " + HOSTILE[:60])
