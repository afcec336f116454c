#!/bin/sh
# Builds and installs the programs, records a conversation through the installed hooks in a repository of its own, and
# shows what was recorded.
#
# The repository is made in a temporary directory and thrown away, unless KEEP is set. CARGO_INSTALL_ROOT says where to
# install, as for 'cargo install'.
set -eu

project=$(cd "$(dirname "$0")/.." && pwd)
cargo install --quiet --locked --path "$project"
PATH=${CARGO_INSTALL_ROOT:-${CARGO_HOME:-$HOME/.cargo}}/bin:$PATH
export PATH

# Nothing of the user's own set-up takes part.
work=$(mktemp -d)
test -n "${KEEP-}" || trap 'rm -rf "$work"' EXIT
unset CLAUDE_CODE_SESSION_ID CLAUDE_CONFIG_DIR GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE 2>/dev/null || :
HOME=$work/home GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
GIT_AUTHOR_NAME='Demo Person' GIT_AUTHOR_EMAIL=demo@example.com GIT_AUTHOR_DATE=2026-11-20T13:45:06Z
GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
export HOME GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
mkdir -p "$HOME" "$work/app"
cd "$work/app"
top=$(pwd -P)
session=3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e
transcript=$work/$session.jsonl

# Appends some lines of the conversation, as the agent does while it works.
say () {
	sed -n "$1p" "$project/tests/data/demo.jsonl" |
	sed -e "s|@TOP@|$top|g" -e "s|@SESSION@|$session|g" -e "s|@COMMIT@|${commit-}|g" >>"$transcript"
}

# Runs the hook that 'git shiftlog init' has put into the agent's settings, as the agent does.
hook () {
	command=$(sed -n "s/^ *\"command\": \"\(.* claude $1 || :\)\",*$/\1/p" .claude/settings.local.json)
	printf '{"session_id":"%s","transcript_path":"%s","cwd":"%s","hook_event_name":"%s","tool_name":"Bash","tool_use_id":"%s"}' \
		"$session" "$transcript" "$top" "$1" "${2-}" | sh -c "$command"
}

git init -q -b main .
head='"""Keeps a connection to the server."""\n\nimport random\nimport time\n\nfrom link import connect\n\n\ndef run():\n'
printf "$head"'    while not connect():\n        time.sleep(0.1)\n' >reconnect.py
git add reconnect.py
git commit -q -m 'start'

echo '$ git shiftlog init --agent=claude'
git shiftlog init --agent=claude

hook SessionStart
say 1
hook UserPromptSubmit
say 2,5
printf "$head"'    delay = 1.0\n    while not connect():\n        time.sleep(delay * random.uniform(0.5, 1.0))\n        delay = min(delay * 2, 60.0)\n' >reconnect.py
say 6
hook UserPromptSubmit
say 7
CLAUDE_CODE_SESSION_ID=$session git commit -q -a -m 'reconnect: back off with jitter'
commit=$(git rev-parse --short HEAD)
say 8
hook PostToolUse t2
say 9
hook Stop
hook SessionEnd

echo
echo '$ git shiftlog log'
git shiftlog log
echo
echo '$ git shiftlog show HEAD'
git shiftlog show HEAD
echo '$ git shiftlog why reconnect.py:12'
git shiftlog why reconnect.py:12 | tee "$work/why"
echo

# The line leads to the prompt, the reasoning and the edit.
grep -q '^> The reconnect loop hammers the server' "$work/why"
grep -q '~ Doubling with jitter spreads them' "$work/why"
grep -q '12 +        time.sleep(delay' "$work/why"

# What was recorded is what was said, byte for byte, through the result of the commit.
sed -n 1,8p "$transcript" >"$work/expected"
git shiftlog show --raw HEAD | cmp - "$work/expected"
git fsck --strict >/dev/null 2>&1
echo '$ git shiftlog doctor'
git shiftlog doctor
test -z "${KEEP-}" || echo "the repository is $top"
