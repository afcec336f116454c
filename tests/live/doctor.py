"""Compares what `git shiftlog doctor` says of an agent with what has happened in a world."""

import json
import re

RECORD = re.compile(r": the last record, on (\w+), (has|lacks) (.+)$")
SESSION = re.compile(r"(hooks have told of|no hook has told of) the last session, ([^ ]+)$")


def misjudged(world, name, records):
    """Returns what it says that is not so; `records` has the records of each commit by its abbreviated id."""
    told = world.shell(f"git shiftlog doctor --agent={name}").out
    lines = told.splitlines()
    wrong = []
    if world.scenario.hooks in ("own", "global"):
        wrong += hooks(world, told)
    elif "its hooks are not set up" not in told and "has no hooks" not in told:
        wrong.append("no hooks of the agent are set up, and it does not say so")
    wrong += files(world, lines)
    wrong += last_record(world, lines, {short: own for short, own in records.items() if own})
    for found in filter(None, map(SESSION.search, lines)):
        if not is_in_store(world, found[2]):
            wrong.append(f"it says '{found[0]}', which the agent does not know")
    whole = world.shell("git shiftlog doctor --no-rehearsal").out
    wrong += [f"without --agent it does not say '{line}'" for line in lines if not says(whole, line)][:1]
    return [f"{what}: {' | '.join(lines)[:400]}" if number == 0 else what for number, what in enumerate(wrong)]


def says(whole, line):
    """Says whether the doctor of everything says what the doctor of one agent says. Not to be set up is a problem only of an
    agent that was asked for."""
    fix = line.strip().removeprefix("fix: ")
    is_note = "its hooks are not set up" in line and "is on this machine and not set up here" in whole
    return line in whole.splitlines() or is_note or f"; '{fix}' does it" in whole


def is_in_store(world, session):
    paths = [path for store in world.store() for path in (store, store.with_name(store.name + "-wal"))]
    return any(session in str(path) or path.exists() and session.encode() in path.read_bytes() for path in paths)


def hooks(world, told):
    is_claimed, has_run = "hooks have told of the last session" in told, world.was_hooked()
    if has_run and not is_claimed and "has no hooks" not in told:
        return ["hooks have run, and it does not say so"]
    if is_claimed and not has_run:
        return ["no hook has run, and it says that one has"]
    is_told = "no hook has told of the last session" in told or "no hook was seen to run" in told
    if not has_run and not is_told and re.search("(?<!whether )hooks are allowed", told):
        return ["no hook has run, and it says that they are allowed"]
    if not has_run and "has no hooks" not in told and "problem " not in told and "note " not in told:
        return ["no hook has run, and it finds nothing wrong"]
    return []


def files(world, lines):
    """Says which of the files that it names have no hooks of ours."""
    wrong = []
    for line in lines:
        found = re.match(r"ok +[^:]+: hooks in (.+?)(?: of '(.+)')?$", line)
        for path in found[1].split(", ") if found else []:
            place = world.root / (found[2] or world.top) / path
            if not place.exists() or "git-shiftlog--hook" not in place.read_text():
                wrong.append(f"'{path}' has no hooks")
    return wrong


def last_record(world, lines, records):
    found = next(filter(None, map(RECORD.search, lines)), None)
    if found is None:
        return ["it does not tell of the last record"] if records and world.scenario.start == "top" else []
    short, verb, names = found.groups()
    own = next((own for known, own in records.items() if known.startswith(short) or short.startswith(known)), None)
    if own is None:
        return [f"'{short}' has no record"]
    said = set(names.split(", "))
    there = {what for what, key in [("prompt", "prompt"), ("model", "model"), ("tokens", "tokens")]
             if any(json.dumps(record.get(key)) != "null" for record in own)}
    fields = {"prompt", "model", "tokens"}
    named = said & fields
    right = fields & there if verb == "has" else fields - there
    return [] if named == right else [f"'{short}' {verb} {', '.join(sorted(right)) or 'nothing'} of prompt, model and tokens"]
