"""A world for one scenario: a home directory, a repository and a model of its own; nothing of the user's takes part."""

import collections
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from model import Model

Done = collections.namedtuple("Done", "code out err")

HOOK_PROGRAM = "git-shiftlog--hook"

# No agent needs longer for a scripted answer, even if several start at once on few processors.
LIMIT_SECS = 120


class World:
    """Everything is below `root`, and every process has that in its environment, so that `close` leaves nothing behind."""

    def __init__(self, agent, scenario, scripts, release, programs):
        self.agent, self.scenario, self.scripts = agent, scenario, scripts
        self.root = Path(os.path.realpath(tempfile.mkdtemp(prefix="shiftlog-live-")))
        self.hooked = self.root / "hooked"
        self.programs = self.own_programs(programs)
        self.home, self.top = self.root / "home", self.root / "project"
        self.complaints = []
        self.agent_said = ""
        self.begun = 0
        self.bin = self.root / "bin"
        self.bin.mkdir()
        (self.bin / "node").symlink_to(os.path.realpath(shutil.which("node")))
        self.installed = release.directory
        (self.bin / agent.program).symlink_to(release.program)
        self.model = Model(scripts, self.top, scenario.delay, agent)
        self.top.mkdir()
        self.settle(self.home)
        self.git("init", "-q")
        # One agent hides the user's own configuration from Git.
        self.git("config", "user.name", "Demo Person")
        self.git("config", "user.email", "demo@example.com")
        (self.top / "greeting.txt").write_text("hello\n")
        (self.top / "below").mkdir()
        (self.top / "below" / "notes.txt").write_text("notes\n")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "start")

    def own_programs(self, programs):
        """Returns a directory with the programs under test, in which the hook program first writes down who runs it."""
        own = self.root / "programs"
        own.mkdir()
        for program in programs.glob("git-shiftlog*"):
            if os.access(program, os.X_OK) and program.is_file():
                self.link(program, own / (program.name + ("-itself" if program.name == HOOK_PROGRAM else "")))
        hook = own / HOOK_PROGRAM
        hook.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$*\" >>'{self.hooked}'\nexec '{hook}-itself' \"$@\"\n")
        hook.chmod(0o755)
        return own

    @staticmethod
    def link(program, place):
        try:
            os.link(program, place)
        except OSError:
            shutil.copy2(program, place)

    def was_hooked(self):
        """Says whether a hook of the agent has run."""
        name = self.agent.name.split("-")[0]
        lines = self.hooked.read_text().splitlines() if self.hooked.exists() else []
        return any(line.split(" ")[0] == name for line in lines)

    def settle(self, home):
        """Makes a home directory in which the agent knows the model."""
        self.home = home
        (home / "tmp").mkdir(parents=True)
        (home / ".gitconfig").write_text(
            "[user]\n\tname = Demo Person\n\temail = demo@example.com\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
        )
        more = {} if self.scenario.is_trusted else self.agent.untrusted or {}
        for path, text in {**self.agent.files, **more}.items():
            path = home / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.fill(text))
        for place in self.agent.plugin_places:
            place = Path(self.fill(place))
            place.mkdir(parents=True, exist_ok=True)
            (place / ".gitignore").write_text("node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore")
            for name in ("package.json", "package-lock.json"):
                shutil.copy(self.installed / "plugin" / name, place)
            (place / "node_modules").symlink_to(self.installed / "plugin" / "node_modules")
        for command in self.agent.before:
            self.run(command, cwd=home)

    def fill(self, text, **more):
        values = {"url": self.model.url, "home": self.home, "top": self.top, **more}
        if "{latest}" in text:
            values["latest"] = self.latest()
        if "{latest_path}" in text:
            values["latest_path"] = self.store()[-1] if self.store() else "none"
        return text.format(**values)

    def environment(self):
        path = [self.bin, self.programs, os.path.dirname(shutil.which("git")), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": ":".join(map(str, path)), "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "SHIFTLOG_LIVE": str(self.root),
            "TERM": "dumb", "LANG": "C.UTF-8", "USER": "dev", "SHELL": "/bin/sh", "TZ": "UTC", "DO_NOT_TRACK": "1",
            "GIT_CONFIG_NOSYSTEM": "1", "NO_PROXY": "127.0.0.1,localhost",
            **{name: self.fill(value) for name, value in self.agent.env.items()},
        }

    def begin(self, command, cwd=None, **more):
        """Starts a command in a session of its own; its output goes to files, since what it leaves behind keeps them open."""
        words = [self.fill(word, **more) for word in command]
        self.begun += 1
        out, err = self.root / f"out-{self.begun}", self.root / f"err-{self.begun}"
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            process = subprocess.Popen(words, cwd=cwd or self.top, env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=out_file, stderr=err_file, start_new_session=True)
        process.told = out, err
        return process

    def run(self, command, cwd=None, **more):
        return self.finish(command, self.begin(command, cwd, **more))

    def finish(self, command, process):
        try:
            code = process.wait(LIMIT_SECS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            self.complaints.append(f"'{command[0]}' did not end in {LIMIT_SECS} seconds")
        out, err = (path.read_bytes().decode(errors="replace") for path in process.told)
        return Done(code, out, err)

    def shell(self, command, cwd=None):
        process = subprocess.run(["sh", "-c", command], cwd=cwd or self.top, env=self.environment(), stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=LIMIT_SECS)
        return Done(process.returncode, process.stdout.decode(errors="replace"), process.stderr.decode(errors="replace"))

    def git(self, *args, cwd=None):
        """Returns what a Git command prints, as bytes; nothing if it fails."""
        process = subprocess.run(["git", *args], cwd=cwd or self.top, env=self.environment(), stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=LIMIT_SECS)
        return process.stdout if process.returncode == 0 else b""

    def store(self):
        """Returns the agent's transcripts in the home directory of now, the newest last."""
        paths = {Path(path) for pattern in self.agent.store for path in glob.glob(str(self.home / pattern), recursive=True)}
        return sorted((path for path in paths if path.is_file()), key=lambda path: path.stat().st_mtime)

    def latest(self):
        """Returns the id of the newest session, which its transcript has as its name, or at the end of that."""
        name = self.store()[-1].name.split(".")[0] if self.store() else "none"
        found = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", name)
        return found[0] if found else name

    def prompt(self, script):
        return f"{self.scripts[script][0]} [[{script}]]"

    def start_directory(self):
        return {"below": self.top / "below", "above": self.root / "over"}.get(self.scenario.start, self.top)

    def kill(self, process):
        """Kills an agent as a power cut does, with everything that it started."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.end_processes()

    def end_processes(self):
        """Ends what is still running in this world, by its environment."""
        for number in range(40):
            running = [pid for pid in os.listdir("/proc") if pid.isdigit() and self.owns(pid)] if os.path.isdir("/proc") else []
            if not running:
                return
            for pid in running:
                try:
                    os.kill(int(pid), signal.SIGKILL if number else signal.SIGTERM)
                except ProcessLookupError:
                    pass
            time.sleep(0.05)

    def owns(self, pid):
        try:
            return f"SHIFTLOG_LIVE={self.root}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    def close(self, is_kept):
        self.end_processes()
        self.model.close()
        if is_kept:
            for number, asked in enumerate(self.model.asked, 1):
                (self.root / f"asked-{number:03}.json").write_text(asked)
        else:
            shutil.rmtree(self.root, ignore_errors=True)
