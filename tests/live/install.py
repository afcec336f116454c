"""Fetches the agents from their registry into a cache, each release into a directory of its own."""

import collections
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

Release = collections.namedtuple("Release", "directory program version reason", defaults=[None])


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "git-shiftlog-live"


def install(agent, is_newest):
    """Returns where a release is, or why it could not be had."""
    if agent.registry == "pypi":
        return install_python(agent, is_newest)
    wanted = "latest" if is_newest else agent.version
    package = package_of(agent)
    directory = cache() / f"{package.replace('/', '+')}-{wanted}"
    finished = directory / "finished"
    modules = directory / "node_modules"
    program = modules / package / agent.path if agent.path else modules / ".bin" / agent.program
    if shutil.which("npm") is None:
        return Release(None, None, wanted, "there is no npm here")
    if is_newest:
        shutil.rmtree(directory, ignore_errors=True)
    if not finished.exists():
        directory.mkdir(parents=True, exist_ok=True)
        failure = npm(directory, {package: wanted})
        if failure is None and agent.plugin:
            failure = npm(directory / "plugin", {agent.plugin: release_of(directory, package)})
        if failure:
            return Release(None, None, wanted, failure)
        # A release may want a newer Node, or a processor that this is not.
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run([program, "--version"], capture_output=True, text=True,
                                  env={**os.environ, "HOME": home}, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            return Release(None, None, wanted, f"it does not start: {(done.stderr or done.stdout).strip()[:160]}")
        finished.write_text("")
    return Release(directory, program, release_of(directory, package))


def install_python(agent, is_newest):
    """The same for an agent of PyPI, in an environment of its own."""
    wanted = "latest" if is_newest else agent.version
    directory = cache() / f"{agent.package}-{wanted}"
    finished, programs = directory / "finished", directory / "venv" / "bin"
    if is_newest:
        shutil.rmtree(directory, ignore_errors=True)
    if not finished.exists():
        package = agent.package if is_newest else f"{agent.package}=={wanted}"
        quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(directory / "venv")],
            [str(programs / "pip"), "install", *quiet, package],
        ):
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            except subprocess.TimeoutExpired:
                return Release(None, None, wanted, f"'{command[0]}' did not end in 600 seconds")
            if done.returncode != 0:
                said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
                return Release(None, None, wanted, (said[-1:] or ["pip failed"])[0][:160])
        finished.write_text("")
    version = [str(programs / "python"), "-c", f"from importlib import metadata; print(metadata.version({agent.package!r}))"]
    return Release(directory, programs / agent.program, subprocess.run(version, capture_output=True, text=True).stdout.strip())


def release_of(directory, package):
    return json.loads((directory / "node_modules" / package / "package.json").read_text())["version"]


def npm(directory, packages):
    """Installs packages below a directory. Returns why that failed."""
    directory.mkdir(exist_ok=True)
    (directory / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}, indent=2) + "\n")
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", f"--cache={cache() / 'npm'}"]
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "npm did not end in 300 seconds"
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return None if done.returncode == 0 else (said[1:2] or said or ["npm failed"])[0][:160]


def package_of(agent):
    """Returns the name of the package that has the agent's program for this machine."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return agent.package.format(system=platform.system().lower(), machine=machine)
