"""Plays a scenario in its world, event by event."""

import os
import stat
import time

from terminal import Terminal
from world import World

# Stands for the agent when `git shiftlog resume` starts it on a terminal: tells its arguments, and passes on the commands
# that put a session in place.
STAND_IN = """#!/bin/sh
case $1 in import) exec '{program}' "$@" ;; esac
printf '%s\\n' "$@" >'{told}'
"""


def play(world: World):
    """Plays the events. Returns the number of requests that the model had had before the last one."""
    scenario = world.scenario
    if scenario.start == "worktree" or any(event[0] == "both" for event in scenario.events):
        world.git("worktree", "add", "-q", "-b", "other", str(world.root / "linked"))
    if scenario.start == "above":
        (world.root / "over").mkdir()
        world.top = world.top.rename(world.root / "over" / "project")
        world.model.top = str(world.top)
    world.before = snapshot(world)
    if scenario.hooks:
        name = {"own": our_name(world.agent)}.get(scenario.hooks, scenario.hooks)
        if scenario.hooks == "global":
            world.shell(f"git shiftlog init -q --global --agent={our_name(world.agent)}")
        else:
            world.shell(f"git shiftlog init -q --agent={name}")
    if scenario.start == "worktree":
        world.top = world.root / "linked"
        world.model.top = str(world.top)
    if scenario.start == "below":
        world.model.here = str(world.top / "below")
    asked = 0
    for kind, *rest in scenario.events:
        asked = len(world.model.asked)
        globals()[f"do_{kind}"](world, *rest)
    if scenario.ends == "deinit":
        world.shell("git shiftlog deinit -q -y --purge-refs")
    return asked


def our_name(agent):
    """Returns the name by which git-shiftlog knows an agent; several models of one are tried apart."""
    return agent.name.split("-")[0]


def take(world, done):
    world.agent_said += done.out + done.err
    if done.code != 0:
        last = (done.err.strip() or done.out.strip()).splitlines()[-1:]
        world.complaints.append(f"the agent ended with {done.code}: {''.join(last)[:200]}")


def new(world, script=None):
    if script == "draft" and world.agent.new_draft:
        return world.agent.new_draft
    is_untrusted = not world.scenario.is_trusted
    return world.agent.new_untrusted if is_untrusted and world.agent.new_untrusted else world.agent.new


def do_ask(world, script):
    take(world, world.run(new(world, script), world.start_directory(), prompt=world.prompt(script)))


def do_both(world, *asked):
    """Two sessions at the same time, each in its directory."""
    begun = []
    for script, where in asked:
        begun.append((world.agent.new, world.begin(world.agent.new, world.top / where, prompt=world.prompt(script))))
        # Some agents cannot make their database twice at the same moment.
        time.sleep(2)
    for command, process in begun:
        take(world, world.finish(command, process))


def do_typed(world, *lines):
    """A session on a terminal: prompts of scripts, and commands or keys of the agent between them."""
    on_terminal(world, world.agent.typed["start"], lines)
    # What was left behind must not be what the model reads again.
    first, how, last = lines
    read = next((asked for asked in reversed(world.model.asked) if f"[[{last}]]" in asked), "")
    if how in ("clear", "rewind") and f"[[{first}]]" in read:
        world.complaints.append(f"the model still reads what came before '{how}'")


def on_terminal(world, command, lines, **more):
    """Starts the agent on a terminal, types lines as `do_typed` has them, and leaves it."""
    typed = world.agent.typed
    words = [world.fill(word, **more) for word in command]
    terminal = Terminal(words, world.top, world.environment())
    terminal.settle(2, 40)
    terminal.wait_for(typed.get("ready", ""), 60)
    for keys in typed.get("begin", ()):
        terminal.press(keys)
    terminal.settle(2, 20)
    for line in lines:
        if line in world.scripts:
            terminal.enter(world.prompt(line))
            end, again = time.monotonic() + 120, time.monotonic() + 10
            while line not in world.model.ended and time.monotonic() < end:
                time.sleep(0.1)
                # While an agent still starts, it may take the words and not their end.
                if time.monotonic() > again and not any(f"[[{line}]]" in asked for asked in list(world.model.asked)):
                    terminal.press("\r")
                    again = time.monotonic() + 10
            if line not in world.model.ended:
                world.complaints.append(f"'{line}' did not end on the terminal, which shows: {terminal.text()[-300:]!r}")
        elif isinstance(typed[line], str):
            terminal.enter(typed[line])
            # A new session may take a moment in which nothing is shown.
            time.sleep(3)
        else:
            for keys in typed[line]:
                terminal.press(keys)
        terminal.settle(2, 20)
    for keys in typed.get("leave", ("\x03", "\x03", "\x04")):
        terminal.press(keys)
    if not terminal.end():
        world.kill(terminal.process)
    (world.root / "shown").write_bytes(terminal.shown)


def do_again(world, script):
    go_on(world, "again", script)


def do_fork(world, script):
    go_on(world, "fork", script)


def go_on(world, how, script, **more):
    """Goes on with a session by a command, or on a terminal where the agent does it only there."""
    command = getattr(world.agent, how)
    if command:
        take(world, world.run(command, world.start_directory(), prompt=world.prompt(script), **more))
    else:
        on_terminal(world, world.agent.typed[how], (script,), **more)


def do_summarise(world):
    world.model.summary = "A summary of what was said."
    done = world.shell(f"git shiftlog summarise --agent={our_name(world.agent)} HEAD")
    if done.code != 0 or world.model.summary not in done.out:
        world.complaints.append(f"'git shiftlog summarise' ended with {done.code}: {(done.err or done.out).strip()[:200]}")


def do_kill(world, script):
    process = world.begin(new(world), world.start_directory(), prompt=world.prompt(script))
    if not world.model.hangs.wait(60):
        world.complaints.append("the agent did not ask the model for its next step")
    # The agent writes what the last tool did while it waits for the model.
    time.sleep(1)
    world.kill(process)


def do_human(world, command):
    done = world.shell(command)
    world.human_said = getattr(world, "human_said", "") + done.out + done.err
    if done.code != 0:
        world.complaints.append(f"'{command}' failed: {done.err.strip()[:200]}")


def do_ours(world, command):
    done = world.shell(f"git shiftlog {command}")
    if done.code != 0:
        world.complaints.append(f"'git shiftlog {command}' ended with {done.code}: {done.err.strip()[:200]}")


def do_mcp(world):
    record_late(world)
    for path, text in world.agent.mcp_files.items():
        (world.home / path).parent.mkdir(parents=True, exist_ok=True)
        (world.home / path).write_text(world.fill(text))
    for command in world.agent.mcp:
        done = world.run(command)
        if done.code != 0:
            world.complaints.append(f"our server could not be declared: {done.err.strip()[:200]}")


def record_late(world):
    if world.agent.is_late:
        do_ours(world, "import -q")


def do_elsewhere(world):
    """Clones the repository with all that is recorded, for somebody else on another machine."""
    record_late(world)
    clone = world.root / "elsewhere" / "clone"
    clone.parent.mkdir()
    world.git("clone", "-q", str(world.top), str(clone))
    world.top = clone
    world.model.top = str(clone)
    world.settle(world.root / "elsewhere" / "home")
    world.git("fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog", "refs/shiftlog/sessions:refs/shiftlog/sessions")
    world.shell(f"git shiftlog init -q --agent={our_name(world.agent)}")


def do_resume(world, script):
    words = stand_in(world, "resume --force HEAD")
    # The id is the last argument in every agent's command, or stands behind an equals sign in it.
    if words:
        go_on(world, "resume", script, id=words[-1].rsplit("=", 1)[-1])


def do_hand_over(world, script):
    """The conversation goes on as a document that a new session of the agent is told to read."""
    words = stand_in(world, f"resume --as={our_name(world.agent)} HEAD")
    if words:
        world.model.document = next(word.rstrip(":") for word in words[-1].split() if word.startswith("/"))
        take(world, world.run(world.agent.new, prompt=f"{words[-1]} [[{script}]]"))


def stand_in(world, command):
    """Runs a command of ours that starts the agent, with a program in the agent's place. Returns what that was told."""
    record_late(world)
    program = world.bin / world.agent.program
    real, told = os.path.realpath(program), world.root / "told"
    program.unlink()
    program.write_text(STAND_IN.format(program=real, told=told))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = world.shell(f"git shiftlog {command}")
    program.unlink()
    program.symlink_to(real)
    if done.code != 0 or not told.exists():
        world.complaints.append(f"'git shiftlog resume' ended with {done.code}: {done.err.strip()[:200]}")
        return []
    return told.read_text().splitlines()


def snapshot(world):
    """Returns every file of the working tree and of Git's configuration with what is in it, to compare afterwards."""
    files = {}
    for directory, names, found in os.walk(world.top):
        names[:] = [name for name in names if name not in ("objects", "logs", "refs", "shiftlog", "worktrees")]
        for name in found:
            path = os.path.join(directory, name)
            if name not in ("index", "HEAD", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "packed-refs"):
                with open(path, "rb") as file:
                    files[os.path.relpath(path, world.top)] = file.read()
    return files
