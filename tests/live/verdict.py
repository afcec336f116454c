"""Looks at a world after its scenario, and says for each column whether it is as it must be."""

import json

from doctor import misjudged
from play import our_name, snapshot

COLUMNS = ["recorded", "right", "own", "exact", "words", "quiet", "doctor"]
TITLES = {
    "recorded": "recorded", "right": "right commit", "own": "own result", "exact": "byte-exact", "words": "words come back",
    "quiet": "quiet", "doctor": "`doctor` is right",
}


def judge(world, asked):
    """Returns what is wrong, by column: an empty list is good, and a column that a scenario cannot show is left out."""
    scenario = world.scenario
    name = our_name(world.agent)
    # A name as in `git log`, the whole id, the abbreviated one, and the branch do not differ between worktrees.
    lines = world.git("log", "--branches", "HEAD", "--format=%H %h %s").decode().splitlines()
    commits = [tuple(line.split(" ", 2)) for line in lines]
    found = {"recorded": [], "right": [], "quiet": []}
    if scenario.ends == "deinit":
        found = {"quiet": left(world)}
        found["quiet"] += noise(world)
        return with_complaints(world, found)
    # What an agent has written since its last hook is recorded by the next command.
    world.git("shiftlog", "log", "-1")
    seen = set()
    for commit_id, short, subject in commits:
        head = next((head for head in scenario.recorded if subject.startswith(head + ":")), None)
        records = records_of(world, commit_id)
        if head is None or head in seen:
            if records:
                found["right"].append(f"'{subject}' is recorded")
            continue
        seen.add(head)
        own = [record for record in records if record.get("agent") == name]
        if not own:
            found["recorded"].append(f"'{subject}' has no record")
            continue
        found["right"] += wrong_records(world, subject, scenario.recorded[head], records, own)
        raw = world.git("shiftlog", "show", "--raw", commit_id)
        if head in scenario.answered:
            has_result = world.agent.answer.format(short=short).encode() in raw
            found.setdefault("own", []).extend([] if has_result else [f"'{subject}' lacks the answer of its own commit"])
        if world.agent.is_lines and not ("resume" in dict.fromkeys(event[0] for event in scenario.events)):
            found.setdefault("exact", []).extend(inexact(world, commit_id, subject, own))
    for head in scenario.recorded.keys() - seen:
        found["recorded"].append(f"no commit '{head}: ...' was made")
    if scenario.words:
        found["words"] = lost_words(world, asked)
    found["quiet"] += noise(world)
    # A clone has not seen the hooks of the original.
    if "elsewhere" not in dict.fromkeys(event[0] for event in scenario.events):
        own = {short: [record for record in records_of(world, commit_id) if record.get("agent") == name]
               for commit_id, short, _ in commits}
        found["doctor"] = misjudged(world, name, own)
    return with_complaints(world, found)


def with_complaints(world, found):
    """Adds what went wrong with the agent itself to the first column that the scenario has."""
    next(iter(found.values())).extend(world.complaints + world.model.unknown)
    return found


def records_of(world, commit_id):
    lines = world.git("notes", "--ref=shiftlog", "show", commit_id).decode().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def wrong_records(world, subject, script, records, own):
    wrong = []
    others = {record.get("agent") for record in records} - {our_name(world.agent)}
    if others:
        wrong.append(f"'{subject}' has records of {', '.join(map(str, others))}")
    sessions = [record["session"] for record in own]
    # A sub-agent has a record of its own, named after the session that started it.
    roots = {session for session in sessions if not any(session.startswith(other + ".") for other in sessions)}
    if len(roots) != 1:
        wrong.append(f"'{subject}' has records of {len(roots)} sessions")
    # What went on after the commit was rewritten follows in a record of its own.
    ends = {record.get("through") for record in own}
    if len({record["session"] for record in own if record.get("since") not in ends}) != len(
            [record for record in own if record.get("since") not in ends]):
        wrong.append(f"'{subject}' has a session twice")
    prompt = min(own, key=lambda record: len(record["session"])).get("prompt", "")
    wanted = world.prompt(script) if script else ""
    if script and wanted not in prompt:
        wrong.append(f"'{subject}' begins with the prompt '{prompt[:60]}'")
    return wrong


def inexact(world, commit_id, subject, own):
    """Compares the words of every session of a commit with the files of the agent."""
    wrong = []
    for session in {record["session"] for record in own}:
        raw = world.git("shiftlog", "show", "--raw", "--full", f"--session={session}", commit_id)
        # Its name has the id or its beginning, or its folder is the id.
        name = session.split(".")[-1]
        places = [
            [path for path in world.store() if name in path.name],
            [path for path in world.store() if name[:8] in path.name],
            [path for path in world.store() if path.parent.name == name],
        ]
        paths = next(filter(None, places), [])
        if not raw or not any(path.read_bytes().startswith(raw) for path in paths):
            wrong.append(f"'{subject}': {len(raw)} bytes of {session} are no beginning of a transcript")
    return wrong


def lost_words(world, asked):
    """Says which words the model was not given again in the last event."""
    later = "\n".join(world.model.asked[asked:])
    if world.scenario.words == "record":
        wanted = ["polite: say good day"]
    else:
        steps = world.scripts[world.scenario.words][1]
        wanted = [f"[[{world.scenario.words}]]", steps[0]["say"]]
    return [f"the model was not given '{words}'" for words in wanted if words not in later]


def noise(world):
    """Says what was printed or left that nobody asked for."""
    wrong = []
    if world.scenario.name not in ("asked", "handed"):
        lines = [line for line in world.agent_said.splitlines() if "shiftlog" in line.replace("shiftlog-live-", "").lower()]
        wrong += [f"the agent said '{line.strip()[:120]}'" for line in lines[:1]]
    if getattr(world, "human_said", ""):
        wrong.append(f"'git commit' said '{world.human_said.strip()[:120]}'")
    log = world.top / world.git("rev-parse", "--git-common-dir").decode().strip() / "shiftlog" / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    # What was recorded and carried is told there, too.
    lines = [line for line in lines if " warning: " in line or " defect: " in line or " names no session" in line]
    if any(event[0] == "both" for event in world.scenario.events):
        # A hook does not wait for another one; what it leaves is stored by the next.
        lines = [line for line in lines if " another process holds the lock " not in line]
    wrong += [f"the log has '{line[:160]}'" for line in lines[:1]]
    status = world.git("status", "--porcelain").decode().splitlines()
    wrong += [f"'git status' lists '{line}'" for line in status[:1]]
    fsck = world.shell("git shiftlog fsck -q")
    if fsck.code != 0:
        wrong.append(f"fsck: {(fsck.out + fsck.err).strip()[:160]}")
    return wrong


def left(world):
    """Says what `deinit` did not put back."""
    after = snapshot(world)
    wrong = [f"'{path}' is left" for path in sorted(after.keys() - world.before.keys()) if path not in ("polite.txt", *world.agent.leaves)]
    wrong += [f"'{path}' is not there any more" for path in sorted(world.before.keys() - after.keys())]
    wrong += [f"'{path}' is another" for path in sorted(after) if world.before.get(path, after[path]) != after[path]]
    refs = world.git("for-each-ref", "--format=%(refname)").decode().split()
    return wrong + [f"'{ref}' is left" for ref in refs if "shiftlog" in ref]
