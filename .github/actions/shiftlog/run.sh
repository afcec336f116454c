#!/bin/sh
# What the GitHub Action and the GitLab job do, with nothing but Git and git-shiftlog: run it in a clone, by hand too.
#
#   run.sh carry <remote> [<pull request ref>]   carries conversations over a squash or rebase merge, and pushes them
#   run.sh summary <remote> <range> [<below>]    prints a table of the conversations of a range, in Markdown, and below it
#                                                with 'focused' their prompts and last answers, else a link to this address
set -eu

remote=${2:?which remote}

case ${1:-} in
carry)
	# The commits of the pull request, which no branch may have any more: remap compares what they change.
	if [ -n "${3:-}" ]; then
		git fetch -q "$remote" "+$3:refs/remotes/$remote/shiftlog-carry"
	fi
	git shiftlog sync pull --all "$remote"
	git shiftlog remap
	git shiftlog sync push --all "$remote"
	git update-ref -d "refs/remotes/$remote/shiftlog-carry"
	;;
summary)
	below=${4:-}
	case $below in focused) what=--all ;; *) what=--notes-only ;; esac
	git shiftlog sync pull "$what" -q "$remote"
	lines=$(git shiftlog log --color=never --format='%h%x09%(agent)%x09%(messages)%x09%(cost)%x09%(prompt)' "${3:?which range}")
	test -n "$lines" || exit 0
	printf '| commit | agent | messages | USD at list prices | it began with |\n| --- | --- | --- | --- | --- |\n'
	# What people typed stays text: no table cell, no markup, nobody is mentioned by it.
	printf '%s\n' "$lines" | tr -d '\000-\010\013-\037`' | tr '|' '/' |
		awk -F '\t' '{ printf "| %s | `%s` | %s | %s | %s |\n", $1, $2, $3, $4, $5 == "" ? "" : "`" $5 "`" }'
	case $below in
	'') ;;
	focused)
		# In such a document nobody is mentioned, and HTML is text.
		words=$(git shiftlog export --markdown --view=focused -q "$3")
		# A comment has room for 65,536 characters.
		if [ ${#words} -gt 60000 ]; then
			words="Too long for this place. \`git shiftlog export --markdown --view=focused $3\` prints it."
		fi
		printf '\n<details><summary>What was said</summary>\n\n%s\n\n</details>\n' "$words"
		;;
	*) printf '\n[The conversations as pages](<%s>)\n' "$below" ;;
	esac
	;;
*)
	echo 'usage: run.sh carry <remote> [<ref>] | run.sh summary <remote> <range> [<below>]' >&2
	exit 129
	;;
esac
