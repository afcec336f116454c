"""What is tried with each agent, as data: what the model answers, what a person does between, what must be recorded then.

`SCRIPTS` has the prompts with the model's steps (see `model.py`). A scenario is a list of events:

    ("ask", script)      a new session            ("again", script)    the newest session, in another process
    ("human", command)   a person at a shell      ("kill", script)     a session that is killed when the model hangs
    ("ours", command)    a command of ours        ("resume", script)   `git shiftlog resume HEAD`, then a prompt
    ("mcp",)             our server is declared   ("elsewhere",)       a clone, with another home directory
    ("fork", script)     the newest session goes on as another one
    ("summarise",)       `git shiftlog summarise HEAD` asks the agent, which must give an answer
    ("hand_over", script)           `git shiftlog resume --as` hands the conversation to the agent as a document
    ("both", (script, where), ...)  sessions at the same time, each in a directory below the top
    ("typed", line, ...)            on a terminal: names of scripts, and what `Agent.typed` has under a name

`recorded` names the commits that must have exactly one record of the agent, by the beginning of their subject, with the
script whose prompt the record must begin with. `answered` names those whose record must have the result of their own
`git commit`. Every other commit must have no record.
"""

import dataclasses

SCRIPTS = {
    "polite": ("Make the greeting polite and commit it.", [
        {"say": "I will make the greeting polite.", "write": ["$HERE/polite.txt", "Good day to you.\n"]},
        {"sh": "cd $TOP && git add -A && git commit -m 'polite: say good day'"},
        {"say": "The greeting is polite now, and committed."},
    ]),
    "farewell": ("Now add a farewell.", [
        {"say": "I will add a farewell.", "write": ["$TOP/farewell.txt", "Farewell.\n"]},
        {"sh": "cd $TOP && git add -A && git commit -m 'farewell: add one'"},
        {"say": "There is a farewell now."},
    ]),
    "draft": ("Write the draft, and leave the commit to me.", [
        {"say": "I will write the draft.", "write": ["$TOP/draft.txt", "A draft.\n"]},
        {"say": "The draft is written. Please commit it."},
    ]),
    "pair": ("Make two commits.", [
        {"say": "The first one.", "write": ["$TOP/first.txt", "First.\n"]},
        {"sh": "cd $TOP && git add -A && git commit -m 'first: of a pair'"},
        {"say": "The second one.", "write": ["$TOP/second.txt", "Second.\n"]},
        {"sh": "cd $TOP && git add -A && git commit -m 'second: of a pair'"},
        {"say": "Both are there."},
    ]),
    "twins": ("Make two commits with one command.", [
        {"sh": "cd $TOP && echo 1 >one.txt && git add -A && git commit -m 'one: of twins' && "
               "echo 2 >two.txt && git add -A && git commit -m 'two: of twins'"},
        {"say": "Both are there, by one command."},
    ]),
    "amend": ("Amend the commit.", [
        {"sh": "cd $TOP && echo more >>polite.txt && git commit -a --amend -m 'amended: say good day'"},
        {"say": "It is amended."},
    ]),
    "fails": ("Commit, then fail.", [
        {"say": "I will commit.", "write": ["$TOP/fails.txt", "It fails.\n"]},
        {"sh": "cd $TOP && git add -A && git commit -m 'fails: after the commit' && false"},
        {"say": "The commit is there, the command failed."},
    ]),
    "helped": ("Let a helper write and commit it.", [
        {"say": "I will let a helper do it.", "task": "Write helper.txt and commit it. [[helper]]"},
        # Some agents do not wait for a helper.
        {"sh": "cd $TOP && timeout 30 sh -c \"until git log --format=%s | grep -q helper; do sleep 0.2; done\""},
        {"say": "The helper has done it."},
    ]),
    "helper": ("", [
        {"say": "I am the helper.", "write": ["$TOP/helper.txt", "By a helper.\n"]},
        {"sh": "cd $TOP && git add -A && git commit -m 'helper: write a file'"},
        {"say": "I wrote and committed helper.txt."},
    ]),
    "stuck": ("Write something, then think for long.", [
        {"say": "I will write it.", "write": ["$TOP/stuck.txt", "Stuck.\n"]},
        {"say": "Never said.", "hang": True},
    ]),
    "wrote": ("Let a helper write it, and commit it yourself.", [
        {"say": "I will let a helper write.", "task": "Write prose.txt, commit nothing. [[writer]]"},
        {"sh": "cd $TOP && timeout 30 sh -c \"until test -f prose.txt; do sleep 0.2; done\"; "
               "git add -A && git commit -m 'prose: by a helper'"},
        {"say": "The helper has written it, and I committed it."},
    ]),
    "writer": ("", [
        {"say": "I write prose.", "write": ["$TOP/prose.txt", "Prose.\n"]},
        {"say": "I wrote prose.txt."},
    ]),
    # Two sessions at once: each has edited before the other one commits.
    "left": ("Write and commit left.txt.", [
        {"say": "I will write the left one.", "write": ["$TOP/left.txt", "Left.\n"]},
        {"sh": "cd $TOP && timeout 60 sh -c \"until test -f right.txt; do sleep 0.2; done\"; "
               "git add left.txt && git commit -m 'left: of two sessions' left.txt"},
        {"say": "Left is there."},
    ]),
    "right": ("Write and commit right.txt.", [
        {"say": "I will write the right one.", "write": ["$TOP/right.txt", "Right.\n"]},
        {"sh": "cd $TOP && timeout 60 sh -c \"until git log --format=%s | grep -q left; do sleep 0.2; done\"; "
               "git add right.txt && git commit -m 'right: of two sessions' right.txt"},
        {"say": "Right is there."},
    ]),
    "here": ("Write and commit here.txt.", [
        {"say": "I will write it here.", "write": ["$TOP/here.txt", "Here.\n"]},
        {"sh": "cd $TOP && timeout 60 sh -c \"until test -f ../linked/there.txt; do sleep 0.2; done\"; "
               "git add here.txt && git commit -m 'here: in the main working tree'"},
        {"say": "It is here."},
    ]),
    "there": ("Write and commit there.txt.", [
        {"say": "I will write it there.", "write": ["$TOP/../linked/there.txt", "There.\n"]},
        {"sh": "cd $TOP/../linked && timeout 60 sh -c \"until git log main --format=%s | grep -q here; do sleep 0.2; done\"; "
               "git add there.txt && git commit -m 'there: in the linked working tree'"},
        {"say": "It is there."},
    ]),
    "read": ("", [{"say": "I read it.", "sh": "cat $DOCUMENT"}, {"say": "Now I know."}]),
    "recall": ("What did I ask before?", [{"say": "You asked me before; I remember."}]),
    "record": ("What was said when this code was made?", [
        {"say": "I ask the record.", "mcp": "list_conversations"},
        {"say": "I have read the list."},
    ]),
}


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    events: tuple
    recorded: dict
    answered: tuple = ()
    # The script whose prompt and last answer the model must get again.
    words: str | None = None
    # Where the agent starts: at the top, in a directory below, above the repository, or in a linked worktree.
    start: str = "top"
    # Whose hooks `git shiftlog init` puts in place: the agent's "own", also "global" in the user's settings, or those of
    # another one; `None` for no set-up at all.
    hooks: str | None = "own"
    delay: float = 0.25
    # What the agent must have for it to be tried: a field of `Agent`.
    needs: tuple = ()
    ends: str = ""
    # Whether it is among those that `--quick` plays.
    is_quick: bool = False
    is_trusted: bool = True


COMMIT_DRAFT = ("human", "git add -A && git commit -q -m 'draft: by a person'")
UNRELATED = ("human", "echo x >unrelated.txt && git add unrelated.txt && git commit -q -m 'unrelated: by a person'")
POLITE = {"polite": "polite"}

ALL = [
    Scenario("commit", "the agent commits, a person after it", (("ask", "polite"), UNRELATED), POLITE, ("polite",), is_quick=True),
    Scenario("person", "a person commits what the agent wrote", (("ask", "draft"), COMMIT_DRAFT, UNRELATED), {"draft": "draft"}),
    Scenario("pair", "two commits in a turn", (("ask", "pair"),), {"first": "pair", "second": ""}, ("first", "second"),
             is_quick=True),
    Scenario("twins", "two commits by one command", (("ask", "twins"),), {"one": "twins", "two": ""}, ("two",)),
    Scenario("continued", "the session goes on in another process", (("ask", "polite"), ("again", "farewell")),
             {**POLITE, "farewell": "farewell"}, ("polite", "farewell"), words="polite", needs=("again",)),
    Scenario("forked", "the session goes on as another one", (("ask", "polite"), ("fork", "farewell")),
             {**POLITE, "farewell": "farewell"}, ("polite", "farewell"), words="polite", needs=("fork",)),
    Scenario("amended", "the agent amends, then a person", (
        ("ask", "polite"), ("again", "amend"), ("human", "git commit -q --amend -m 'amended: by a person'")),
        {"amended": "polite"}, needs=("again",)),
    Scenario("fails", "the command fails after the commit", (("ask", "fails"),), {"fails": "fails"}, ("fails",)),
    Scenario("helper", "a sub-agent writes and commits", (("ask", "helped"),), {"helper": "helped"}, ("helper",),
             needs=("sub_agent",)),
    Scenario("writer", "a sub-agent writes, the agent commits", (("ask", "wrote"),), {"prose": "wrote"}, ("prose",),
             needs=("sub_agent",)),
    Scenario("together", "two sessions in one working tree", (("both", ("left", ""), ("right", "")),),
             {"left": "left", "right": "right"}, ("left", "right")),
    Scenario("apart", "two sessions, one in a linked worktree", (("both", ("here", ""), ("there", "../linked")),),
             {"here": "here", "there": "there"}, ("here",)),
    Scenario("cleared", "another session by a command on the terminal", (("typed", "polite", "clear", "farewell"),),
             {**POLITE, "farewell": "farewell"}, ("polite", "farewell"), needs=("typed",)),
    Scenario("compacted", "compacted on the terminal", (("typed", "polite", "compact", "farewell"),),
             {**POLITE, "farewell": "farewell"}, ("polite", "farewell"), needs=("typed", "compact")),
    Scenario("rewound", "rewound on the terminal", (("typed", "polite", "rewind", "farewell"),),
             {**POLITE, "farewell": "farewell"}, ("polite", "farewell"), needs=("typed", "rewind")),
    Scenario("below", "started in a subdirectory", (("ask", "polite"),), POLITE, ("polite",), start="below"),
    Scenario("above", "started above the repository", (("ask", "polite"),), POLITE, ("polite",), start="above"),
    Scenario("worktree", "in a linked worktree", (("ask", "polite"),), POLITE, ("polite",), start="worktree"),
    Scenario("user-below", "in a subdirectory, hooks in the user's settings", (("ask", "polite"),), POLITE, ("polite",),
             start="below", hooks="global", needs=("user_hooks",)),
    Scenario("user-above", "above the repository, hooks in the user's settings", (("ask", "polite"),), POLITE, ("polite",),
             start="above", hooks="global", needs=("user_hooks",)),
    Scenario("user-worktree", "in a linked worktree, hooks in the user's settings", (("ask", "polite"),), POLITE, ("polite",),
             start="worktree", hooks="global", needs=("user_hooks",)),
    Scenario("untrusted", "in a folder that it does not trust", (("ask", "polite"),), POLITE, needs=("untrusted",),
             is_trusted=False),
    Scenario("no-hooks", "no hooks of the agent", (("ask", "polite"),), POLITE, hooks="cursor"),
    Scenario("quick", "a model that answers at once", (("ask", "polite"),), POLITE, ("polite",), delay=0),
    Scenario("killed", "killed in the middle", (("kill", "stuck"), ("human", "git add -A && git commit -q -m 'stuck: by a person'")),
             {"stuck": "stuck"}),
    Scenario("imported", "recorded afterwards", (("ask", "polite"), ("again", "farewell"), ("ours", "import -q")),
             {**POLITE, "farewell": "farewell"}, hooks=None, needs=("again",)),
    Scenario("resumed", "taken up from a commit, here", (("ask", "polite"), ("resume", "recall")), POLITE, ("polite",),
             words="polite", needs=("resume",), is_quick=True),
    Scenario("moved", "taken up in a clone, by another home", (("ask", "polite"), ("elsewhere",), ("resume", "recall")), POLITE,
             ("polite",), words="polite", needs=("resume",)),
    Scenario("handed", "the conversation as a document", (("ask", "polite"), ("hand_over", "read")), POLITE, ("polite",),
             words="polite", needs=("hand_over",)),
    Scenario("asked", "it asks our MCP server", (("ask", "polite"), ("mcp",), ("ask", "record")), POLITE, ("polite",),
             words="record", needs=("mcp",)),
    Scenario("summarised", "it summarises its conversation", (("ask", "polite"), ("summarise",)), POLITE, ("polite",),
             needs=("ask",)),
    Scenario("removed", "deinit leaves nothing", (("ask", "polite"),), POLITE, ("polite",), ends="deinit",
             is_quick=True),
]
