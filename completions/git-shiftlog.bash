# Completion of git-shiftlog for bash, version 4 or later.
#
# This stands on the completion that comes with Git: for 'git shiftlog <TAB>' it calls _git_shiftlog, and for
# 'git-shiftlog-show <TAB>' __git_shiftlog_main has it do so.

__git_shiftlog_agents ()
{
	echo "claude codex gemini copilot vscode opencode cursor amp droid windsurf antigravity pi cline continue qwen kilo aider"
}

# Those of them that can be started with a prompt.
__git_shiftlog_starters ()
{
	echo "claude codex gemini copilot opencode cursor droid qwen kilo"
}

# Those of them that answer a question.
__git_shiftlog_askers ()
{
	echo "claude codex gemini copilot opencode cursor amp droid"
}

# Completes one of a list of words with commas between them: the words, and what stands there.
__git_shiftlog_listed ()
{
	case "$2" in
	*,*) __gitcomp "$1" "${2%,*}," "${2##*,}" ;;
	*) __gitcomp "$1" "" "$2" ;;
	esac
}

# The agents that rules are written for, and what 'rules set' sets.
__git_shiftlog_rules_agents ()
{
	echo "cursor codex claude gemini kiro antigravity"
}

__git_shiftlog_rules_keys ()
{
	echo "agents_md.paths agents_md.header agents_md.preamble claude_md.paths"
}

# The formats of dates.
__git_shiftlog_dates ()
{
	echo "default human iso iso-strict rfc short raw unix relative local format:"
}

# The formats that Git has names for.
__git_shiftlog_formats ()
{
	echo "oneline short medium full fuller reference email mboxrd raw"
}

# What branches are sorted by.
__git_shiftlog_sort_keys ()
{
	echo "refname conversations date -refname -conversations -date"
}

# The parts of conversations that are searched.
__git_shiftlog_parts ()
{
	echo "prompts answers thinking calls results notices all"
}

# What is counted by.
__git_shiftlog_stats_keys ()
{
	echo "agent model author branch commit day week month session path"
}

# The browsers that 'git web--browse' knows.
__git_shiftlog_browsers ()
{
	echo "firefox google-chrome chromium konqueror opera w3m elinks links lynx dillo open start xdg-open"
}

# What the MCP server offers.
__git_shiftlog_toolsets ()
{
	echo "conversations index logs rules auto all"
}

# The models with a known price.
__git_shiftlog_models ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} shiftlog prices 2>/dev/null | sed '/^#/d;s/\t.*//' | sort -u
}

# The clients of the MCP server.
__git_shiftlog_clients ()
{
	echo "vscode claude cursor gemini copilot opencode zed amp kiro junie roo codex"
}

# The sessions of the last commits that have one.
__git_shiftlog_sessions ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} -c shiftlog.carryOnRead=false \
		shiftlog log --max-count=100 --format='%(session)' 2>/dev/null | tr ',' '\n' | sort -u
}

# Adds the sessions that begin as the word does, which must have a few digits of one.
__git_shiftlog_with_sessions ()
{
	case "$cur" in
	[0-9a-f][0-9a-f][0-9a-f][0-9a-f]*) __gitcomp_nl_append "$(__git_shiftlog_sessions)" ;;
	esac
}

# The models of the last commits that have a session.
__git_shiftlog_recorded_models ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} -c shiftlog.carryOnRead=false \
		shiftlog log --max-count=100 --format='%(model)' 2>/dev/null | tr ',' '\n' | sort -u
}

__git_shiftlog_notes_refs ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} for-each-ref --format='%(refname)' refs/notes 2>/dev/null
}

# The names of branches, tags and remote-tracking branches, as patterns are matched with them.
__git_shiftlog_branch_names ()
{
	__git_shiftlog_names_below refs/heads
}

__git_shiftlog_tag_names ()
{
	__git_shiftlog_names_below refs/tags
}

__git_shiftlog_remote_names ()
{
	__git_shiftlog_names_below refs/remotes
}

__git_shiftlog_names_below ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} for-each-ref --format='%(refname:strip=2)' "$1" 2>/dev/null
}

__git_shiftlog_revisions ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} for-each-ref --format='%(refname:short)' \
		refs/heads refs/tags refs/remotes 2>/dev/null
	echo HEAD
}

# What a command does, of which one is named; behind it, paths.
__git_shiftlog_one_of ()
{
	if [ -z "$(__git_find_on_cmdline "$1")" ]; then
		__gitcomp "$1"
	fi
}

__git_shiftlog_remotes ()
{
	git ${__git_dir:+--git-dir="$__git_dir"} remote 2>/dev/null
}

# Takes our own refs out of what is offered: nobody wants them as a revision.
__git_shiftlog_without_own_refs ()
{
	local word words=()
	for word in "${COMPREPLY[@]}"; do
		case "$word" in
		*refs/notes/*|*refs/shiftlog/*) ;;
		*) words+=("$word") ;;
		esac
	done
	COMPREPLY=("${words[@]}")
}

# Quotes what is offered. Names of refs, and what others recorded, can have what bash would run.
__git_shiftlog_quote ()
{
	local word words=()
	for word in "${COMPREPLY[@]}"; do
		case "${word% }" in
		*[!-A-Za-z0-9_./:@%+=,^~]*)
			case "$word" in
			*" ") words+=("$(printf '%q' "${word% }") ") ;;
			*) words+=("$(printf '%q' "$word")") ;;
			esac
			;;
		*) words+=("$word") ;;
		esac
	done
	COMPREPLY=("${words[@]}")
}

# Adds the files that begin with the word. If nothing else does, bash offers them by itself.
__git_shiftlog_with_files ()
{
	local file
	if [ "${#COMPREPLY[@]}" -eq 0 ]; then
		return
	fi
	case "$cur" in
	*[\\\'\"\`\$]*) return ;;
	esac
	while IFS= read -r file; do
		if [ -d "$file" ]; then
			COMPREPLY+=("$(printf '%q' "$file")/")
		else
			COMPREPLY+=("$(printf '%q' "$file") ")
		fi
	done < <(compgen -f -- "$cur")
}

# What an alias of Git such as 'shiftlog log' has behind 'shiftlog'.
__git_shiftlog_of_alias ()
{
	local word value
	for word in "${COMP_WORDS[@]:1}"; do
		if [ "$word" = shiftlog ]; then
			return
		fi
		value=" $(git ${__git_dir:+--git-dir="$__git_dir"} config --get "alias.$word" 2>/dev/null) "
		case "$value" in
		*" shiftlog "*)
			echo "${value#* shiftlog }"
			return
			;;
		esac
	done
}

_git_shiftlog ()
{
	local files_are_added=
	__git_shiftlog_complete
	# File names are quoted as they are added.
	if [ -z "$files_are_added" ]; then
		__git_shiftlog_quote
	fi
}

__git_shiftlog_complete ()
{
	local commands="init log list show why blame grep search status summarise tldr resume branches stats prices export web get keys index lsp mcp add import evidence logs sync remap migrate fsck verify scan purge rules doctor deinit install-docs"
	# A program has its command in its own name. Other names of commands are understood, and not offered.
	local command="${words[0]##*/}"
	case "$command" in
	git-shiftlog-*) command="${command#git-shiftlog-}" ;;
	*) command="$(__git_find_on_cmdline "$commands summarize mcp-server")" ;;
	esac
	if [ -z "$command" ]; then
		local word
		for word in $(__git_shiftlog_of_alias); do
			case " $commands summarize mcp-server " in
			*" $word "*) command="$word" ;;
			esac
			break
		done
	fi
	case "$command" in
	summarize) command=summarise ;;
	mcp-server) command=mcp ;;
	esac

	if [ -z "$command" ]; then
		case "$cur" in
		-*) __gitcomp "-h --help --version" ;;
		*) __gitcomp "$commands" ;;
		esac
		return
	fi

	# Behind '--' are paths, which bash completes by itself.
	__git_has_doubledash && return

	# So it does the values that are files. Others that are named nowhere are completed by nobody.
	case "$command,$prev" in
	export,-o|evidence,-o)
		return
		;;
	log,-[nSG]|list,-[nSG]|why,-[nL]|blame,-L|grep,-[emABC]|search,-n|logs,-o)
		compopt +o bashdefault +o default 2>/dev/null
		return
		;;
	esac
	case "$prev" in
	--output|--transcript|--prefix|--contents|--ignore-revs-file|--file|--prices|--repo|--index|--path|--home|--exclude)
		return
		;;
	--turn|--author|--grep|--max-count|--skip|--match|--tool|--not|--after-context|--before-context|--context|--threads|--depth|--title|--url-template|--port|--idle|--focus|--timeout|--debounce|--max-wait|--limit|--target|--user|--note|--name|--description)
		compopt +o bashdefault +o default 2>/dev/null
		return
		;;
	esac

	# No file is a date.
	case "$prev $cur" in
	--since\ *|--after\ *|--until\ *|--before\ *|*\ --since=*|*\ --after=*|*\ --until=*|*\ --before=*)
		compopt +o bashdefault +o default 2>/dev/null
		return
		;;
	esac

	# A value can stand in a word of its own.
	case "$prev" in
	--agent|--as|--model|--session|--ref|--attach|--contains|--ignore-rev|--date|--in|--tool-output|--thinking|--evidence|--format|--pretty|--sort|--min-confidence|--by|--browser|--view|--theme|--toolset|--kind|--scope|--profile|--embed|--only)
		local cur="$prev=$cur"
		;;
	esac

	# Some commands and options take no file.
	case "$command,$cur" in
	*,--worktree=*|*,--exclude=*|*,--update=*) ;;
	*,--output=*|*,--transcript=*|*,--prefix=*|*,--contents=*|*,--ignore-revs-file=*|*,--file=*|*,--prices=*|*,--repo=*|*,--path=*|*,--home=*|mcp,--index=*) ;;
	*,--*=*)
		compopt +o bashdefault +o default 2>/dev/null
		;;
	*,-*) ;;
	init,*|status,*|branches,*|fsck,*|import,*|migrate,*|doctor,*|deinit,*|install-docs,*|mcp,*|lsp,*|logs,*|sync,*|prices,*|get,*|keys,*)
		compopt +o bashdefault +o default 2>/dev/null
		;;
	esac

	case "$command,$cur" in
	summarise,--agent=*|tldr,--agent=*|index,--agent=*)
		__gitcomp "$(__git_shiftlog_askers)" "" "${cur#*=}"
		;;
	init,--agent=*|log,--agent=*|list,--agent=*|grep,--agent=*|search,--agent=*|resume,--agent=*|stats,--agent=*|add,--agent=*|import,--agent=*|doctor,--agent=*)
		__gitcomp "$(__git_shiftlog_agents)" "" "${cur#*=}"
		;;
	branches,--contains=*|why,--ignore-rev=*|blame,--ignore-rev=*|evidence,--attach=*)
		__git_complete_refs --cur="${cur#*=}"
		__git_shiftlog_without_own_refs
		;;
	resume,--as=*)
		__gitcomp "$(__git_shiftlog_starters)" "" "${cur##--as=}"
		;;
	*,--output=*|*,--transcript=*|*,--prefix=*|*,--contents=*|*,--ignore-revs-file=*|*,--file=*|*,--prices=*|*,--repo=*|*,--path=*|*,--home=*|mcp,--index=*)
		# bash completes files by itself.
		return
		;;
	log,--session=*|list,--session=*|show,--session=*|grep,--session=*|search,--session=*|resume,--session=*|stats,--session=*|export,--session=*|add,--session=*|purge,--session=*)
		__gitcomp_nl "$(__git_shiftlog_sessions)" "" "${cur#*=}"
		;;
	log,--model=*|list,--model=*|grep,--model=*|search,--model=*|stats,--model=*)
		__gitcomp_nl "$(__git_shiftlog_recorded_models)" "" "${cur#*=}"
		;;
	log,--ref=*|list,--ref=*|show,--ref=*|why,--ref=*|blame,--ref=*|grep,--ref=*|search,--ref=*|summarise,--ref=*|tldr,--ref=*|resume,--ref=*|branches,--ref=*|stats,--ref=*|web,--ref=*|export,--ref=*|add,--ref=*|evidence,--ref=*|rules,--ref=*|import,--ref=*|sync,--ref=*|remap,--ref=*|migrate,--ref=*|fsck,--ref=*|verify,--ref=*|scan,--ref=*|purge,--ref=*)
		__gitcomp_nl "$(__git_shiftlog_notes_refs)" "" "${cur#*=}"
		;;
	log,--date=*|list,--date=*|show,--date=*|why,--date=*|blame,--date=*|grep,--date=*|search,--date=*|branches,--date=*|status,--date=*)
		__gitcomp "$(__git_shiftlog_dates)" "" "${cur##--date=}"
		;;
	log,--color=*|list,--color=*|show,--color=*|why,--color=*|blame,--color=*|grep,--color=*|search,--color=*|branches,--color=*|stats,--color=*)
		__gitcomp "always never auto" "" "${cur##--color=}"
		;;
	log,--branches=*|list,--branches=*|grep,--branches=*|search,--branches=*|stats,--branches=*)
		__gitcomp_nl "$(__git_shiftlog_branch_names)" "" "${cur#*=}"
		;;
	log,--tags=*|list,--tags=*|grep,--tags=*|search,--tags=*|stats,--tags=*)
		__gitcomp_nl "$(__git_shiftlog_tag_names)" "" "${cur#*=}"
		;;
	log,--remotes=*|list,--remotes=*|grep,--remotes=*|search,--remotes=*|stats,--remotes=*)
		__gitcomp_nl "$(__git_shiftlog_remote_names)" "" "${cur#*=}"
		;;
	grep,--in=*|search,--in=*)
		__git_shiftlog_listed "$(__git_shiftlog_parts)" "${cur##--in=}"
		;;
	show,--tool-output=*|show,--thinking=*|show,--evidence=*)
		__gitcomp "none short full" "" "${cur#*=}"
		;;
	log,--format=*|list,--format=*|log,--pretty=*|list,--pretty=*)
		__gitcomp "$(__git_shiftlog_formats)" "" "${cur#*=}"
		;;
	log,--decorate=*|list,--decorate=*)
		__gitcomp "short full auto no" "" "${cur##--decorate=}"
		;;
	show,--format=*)
		__gitcomp "medium markdown" "" "${cur##--format=}"
		;;
	branches,--sort=*)
		__gitcomp "$(__git_shiftlog_sort_keys)" "" "${cur##--sort=}"
		;;
	init,--share=*)
		__gitcomp "notes all none" "" "${cur##--share=}"
		;;
	init,--mcp=*)
		__git_shiftlog_listed "$(__git_shiftlog_clients)" "${cur##--mcp=}"
		;;
	import,--min-confidence=*)
		__gitcomp "high medium low" "" "${cur##--min-confidence=}"
		;;
	init,--*)
		__gitcomp "
			--agent= --shared --global --share --share= --no-share --mcp --mcp= --portable --git-hooks --no-git-hooks
			--dry-run --yes --quiet --help
			"
		;;
	log,--*|list,--*)
		__gitcomp "
			--max-count= --skip= --since= --after= --until= --before= --author= --grep= --agent= --model=
			--session= --rules-changed --no-merges --merges --first-parent --all --branches --branches= --tags --tags= --remotes --remotes= --reverse --graph
			--stat --patch --no-patch --oneline --decorate --decorate= --no-decorate --abbrev --abbrev= --no-abbrev --abbrev-commit --no-abbrev-commit --format= --pretty= --json --porcelain --date= --ref= --color --color= --help
			"
		;;
	show,--*)
		__gitcomp "
			--full --session= --raw --json --format= --show-signature --turn= --verbose --thinking= --no-thinking --no-tools --tool-output= --evidence=
			--stat --patch --no-patch --date= --ref= --color --color= --help
			"
		;;
	why,--*)
		__gitcomp "
			--no-ignore-whitespace --ignore-rev= --ignore-revs-file= --no-ignore-revs --contents= --first-parent --since= --root --full
			--no-thinking --max-count= --json --format= --porcelain --line-porcelain --incremental --date= --ref= --color --color= --help
			"
		;;
	blame,--*)
		__gitcomp "
			--no-ignore-whitespace --ignore-rev= --ignore-revs-file= --no-ignore-revs --contents= --first-parent --since= --root
			--show-email --show-name --show-number --json --format= --porcelain --line-porcelain --incremental --date= --ref= --color --color= --help
			"
		;;
	grep,--*)
		__gitcomp "
			--fixed-strings --extended-regexp --ignore-case --word-regexp --in= --tool= --unrecorded --line-number --no-line-number
			--column --name-only --count --only-matching --quiet --max-count= --after-context= --before-context= --context=
			--heading --break --no-cut --json --threads= --since= --after= --until= --before= --author= --grep= --agent= --model=
			--session= --no-merges --merges --first-parent --all --branches --branches= --tags --tags= --remotes --remotes= --date= --ref= --color --color= --help
			"
		;;
	search,--*)
		__gitcomp "
			--max-count= --not= --in= --json --threads= --since= --after= --until= --before= --author= --grep= --agent= --model=
			--session= --no-merges --merges --first-parent --all --branches --branches= --tags --tags= --remotes --remotes= --date= --ref= --color --color= --help
			"
		;;
	status,--*)
		__gitcomp "--json --porcelain --date= --help"
		;;
	summarise,--*|tldr,--*)
		__gitcomp "--focus= --agent= --model= --save --force --dry-run --timeout= --json --ref= --help"
		;;
	resume,--*)
		__gitcomp "--session= --agent= --as= --worktree --worktree= --print --dry-run --force --ref= --help"
		;;
	branches,--*)
		__gitcomp "
			--remotes --all --contains= --sort= --json --porcelain --date= --ref= --color --color= --help
			"
		;;
	stats,--chart=*)
		__gitcomp "bars days" "" "${cur##--chart=}"
		;;
	stats,--by=*)
		__git_shiftlog_listed "$(__git_shiftlog_stats_keys)" "${cur##--by=}"
		;;
	stats,--*)
		__gitcomp "
			--by= --depth= --since= --after= --until= --before= --author= --grep= --agent= --model= --session= --no-merges
			--merges --first-parent --all --branches --branches= --tags --tags= --remotes --remotes= --words --lines --survival --exclude= --tools --unrecorded --no-cost --prices= --chart --chart= --ascii --format= --json --csv
			--color --color= --ref= --help
			"
		;;
	prices,--*)
		__gitcomp "--prices= --update --update= --dry-run --help"
		;;
	web,--browser=*)
		__gitcomp "$(__git_shiftlog_browsers)" "" "${cur##--browser=}"
		;;
	web,--*)
		__gitcomp "--port= --browser= --no-browser --idle= --all-worktrees --ref= --help"
		;;
	export,--view=*)
		__gitcomp "focused normal full" "" "${cur##--view=}"
		;;
	export,--theme=*)
		__gitcomp "auto light dark" "" "${cur##--theme=}"
		;;
	export,--embed=*)
		__gitcomp "auto always never" "" "${cur##--embed=}"
		;;
	export,--*)
		__gitcomp "
			--html --markdown --output= --force --full --session= --view= --no-thinking --no-tools --images --embed= --url-template= --no-patch --title= --theme=
			--ref= --quiet --help
			"
		;;
	get,--*)
		__gitcomp "--help"
		;;
	keys,--*)
		__gitcomp "--help"
		;;
	index,--*)
		case "$(__git_find_on_cmdline "init validate scan watch status issues keys get")" in
		"") __gitcomp "--path= --locations --agent= --model= --timeout= --yes --debounce= --max-wait= --dry-run --json --quiet --help" ;;
		init) __gitcomp "--path= --dry-run --quiet --help" ;;
		validate) __gitcomp "--path= --locations --help" ;;
		scan) __gitcomp "--path= --agent= --model= --timeout= --yes --dry-run --quiet --help" ;;
		watch) __gitcomp "--path= --agent= --model= --timeout= --yes --debounce= --max-wait= --quiet --help" ;;
		status) __gitcomp "--path= --json --help" ;;
		*) __gitcomp "--path= --help" ;;
		esac
		;;
	index,*)
		__git_shiftlog_one_of "init validate scan watch status issues keys get"
		;;
	lsp,--*)
		__gitcomp "--stdio --help"
		;;
	mcp,--toolset=*)
		__git_shiftlog_listed "$(__git_shiftlog_toolsets)" "${cur##--toolset=}"
		;;
	mcp,--*)
		__gitcomp "--repo= --name= --toolset= --index= --help"
		;;
	add,--*)
		__gitcomp "--transcript= --session= --agent= --since= --force --dry-run --ref= --quiet --help"
		;;
	evidence,--kind=*)
		__gitcomp "test ci log" "" "${cur##--kind=}"
		;;
	evidence,--*)
		case "$(__git_find_on_cmdline "list attach show drop pull")" in
		"") __gitcomp "--kind= --note= --words --since= --until= --user= --failed --max-count= --target= --attach=
			--json --dry-run --ref= --quiet --help" ;;
		attach) __gitcomp "--kind= --note= --words --dry-run --ref= --quiet --help" ;;
		pull) __gitcomp "--words --since= --until= --user= --failed --max-count= --target= --attach= --json --dry-run --ref= --quiet --help" ;;
		list) __gitcomp "--json --ref= --help" ;;
		show) __gitcomp "--ref= --help" ;;
		drop) __gitcomp "--dry-run --ref= --quiet --help" ;;
		esac
		;;
	evidence,*)
		case "$(__git_find_on_cmdline "list attach show drop pull")" in
		list|attach|show|drop)
			__git_complete_revlist
			__git_shiftlog_without_own_refs
			return
			;;
		pull)
			compopt +o bashdefault +o default 2>/dev/null
			__git_shiftlog_one_of "apex"
			return
			;;
		esac
		__git_shiftlog_one_of "list attach show drop pull"
		;;
	logs,--*)
		__gitcomp "--limit= --target= --dry-run --help"
		;;
	logs,*)
		__git_shiftlog_one_of "sync"
		;;
	rules,--only=*)
		__git_shiftlog_listed "$(__git_shiftlog_rules_agents)" "${cur##--only=}"
		;;
	rules,--scope=*)
		__gitcomp "home repo" "" "${cur##--scope=}"
		;;
	rules,--profile=*)
		__gitcomp "current ai-sync" "" "${cur##--profile=}"
		;;
	rules,--*)
		__gitcomp "
			--dry-run --diff --verbose --json --only= --yes --force --adopt --follow --home= --scope= --profile=
			--description= --no-always-apply --file= --exclude= --list --date= --ref= --color --color= --help
			"
		;;
	rules,*)
		if [ -n "$(__git_find_on_cmdline "remove-rule")" ]; then
			compopt +o bashdefault +o default 2>/dev/null
			return
		fi
		if [ "$prev" = set ]; then
			__gitcomp "$(__git_shiftlog_rules_keys)"
			return
		fi
		if [ -n "$(__git_find_on_cmdline "show diff")" ]; then
			__git_complete_revlist
			__git_shiftlog_without_own_refs
			return
		fi
		__git_shiftlog_one_of "status sync check diff init import add-rule remove-rule set reconfigure clean archive-skill restore-skill show"
		;;
	import,--*)
		__gitcomp "--agent= --since= --min-confidence= --dry-run --json --ref= --quiet --help"
		;;
	sync,--*)
		__gitcomp "--notes-only --all --dry-run --json --ref= --quiet --help"
		;;
	remap,--*)
		__gitcomp "--dry-run --json --ref= --quiet --help"
		;;
	migrate,--*)
		__gitcomp "--dry-run --ref= --quiet --help"
		;;
	fsck,--*)
		__gitcomp "--repair --dry-run --recount --unreachable --json --porcelain --porcelain= --ref= --quiet --help"
		;;
	verify,--*)
		__gitcomp "--signed --own-tree --json --ref= --quiet --help"
		;;
	scan,--*)
		__gitcomp "--archive --branches --list-rules --fix --dry-run --yes --json --quiet --date= --ref= --color --color= --help"
		;;
	purge,--*)
		__gitcomp "--session= --match= --secrets --before= --received --all --dry-run --yes --json --ref= --help"
		;;
	doctor,--*)
		__gitcomp "--agent= --no-rehearsal --quiet --help"
		;;
	deinit,--*)
		__gitcomp "--purge-refs --dry-run --yes --quiet --help"
		;;
	install-docs,--*)
		__gitcomp "--prefix= --uninstall --dry-run --verbose --quiet --help"
		;;
	sync,*)
		if [ -n "$(__git_find_on_cmdline "$(__git_shiftlog_remotes | tr '\n' ' ')")" ]; then
			: # One is enough.
		elif [ -n "$(__git_find_on_cmdline "pull push")" ]; then
			__gitcomp "$(__git_shiftlog_remotes)"
		else
			__gitcomp "pull push $(__git_shiftlog_remotes)"
		fi
		;;
	prices,*)
		__gitcomp_nl "$(__git_shiftlog_models)"
		;;
	log,*|list,*|grep,*|search,*|stats,*|scan,*|web,*)
		__git_complete_revlist_file
		__git_shiftlog_without_own_refs
		;;
	show,*)
		__git_complete_revlist_file
		__git_shiftlog_without_own_refs
		__git_shiftlog_with_sessions
		;;
	resume,*)
		__git_complete_revlist
		__git_shiftlog_without_own_refs
		__git_shiftlog_with_sessions
		;;
	why,*|blame,*)
		__git_complete_revlist_file
		__git_shiftlog_without_own_refs
		__git_shiftlog_quote
		__git_shiftlog_with_files
		files_are_added=y
		;;
	export,*|remap,*|purge,*|verify,*|summarise,*|tldr,*|add,*)
		__git_complete_revlist
		__git_shiftlog_without_own_refs
		;;
	esac
}

# For the programs by their own names, which Git's own completion knows nothing of.
__git_shiftlog_main ()
{
	declare -F __git_func_wrap >/dev/null || _completion_loader git 2>/dev/null
	declare -F __git_func_wrap >/dev/null && __git_func_wrap _git_shiftlog
}
complete -o bashdefault -o default -o nospace -F __git_shiftlog_main \
	git-shiftlog git-shiftlog-init git-shiftlog-log git-shiftlog-show git-shiftlog-why git-shiftlog-blame \
	git-shiftlog-grep git-shiftlog-search git-shiftlog-status git-shiftlog-summarise git-shiftlog-resume \
	git-shiftlog-branches git-shiftlog-stats git-shiftlog-prices git-shiftlog-export git-shiftlog-web \
	git-shiftlog-get git-shiftlog-keys git-shiftlog-index git-shiftlog-lsp git-shiftlog-mcp git-shiftlog-add \
	git-shiftlog-import git-shiftlog-evidence git-shiftlog-logs git-shiftlog-sync git-shiftlog-remap \
	git-shiftlog-migrate git-shiftlog-fsck git-shiftlog-verify git-shiftlog-scan git-shiftlog-purge \
	git-shiftlog-rules git-shiftlog-doctor git-shiftlog-deinit git-shiftlog-install-docs
