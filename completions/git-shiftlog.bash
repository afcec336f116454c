# Completion of git-shiftlog for bash, version 4 or later.
#
# For 'git shiftlog <TAB>' this stands on the completion that comes with Git: it calls _git_shiftlog.

__git_shiftlog_agents ()
{
	echo "claude codex gemini copilot vscode opencode cursor amp droid windsurf antigravity pi cline continue qwen kilo aider"
}

# The formats of dates.
__git_shiftlog_dates ()
{
	echo "default human iso iso-strict rfc short raw unix relative local format:"
}

# The formats that Git has names for.
__git_shiftlog_formats ()
{
	echo "oneline short medium full fuller reference email raw"
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
	local commands="init log list show why blame grep search status summarise tldr resume branches stats prices export web get keys index lsp mcp add import evidence logs sync remap migrate fsck verify scan purge rules doctor deinit install-docs"
	# Other names of commands are understood, and not offered.
	local command="$(__git_find_on_cmdline "$commands summarize mcp-server")"
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

	# A value can stand in a word of its own.
	case "$prev" in
	--agent|--as|--session|--ref|--date|--in|--tool-output|--thinking|--evidence|--format|--pretty|--sort|--min-confidence|--by|--browser|--view|--theme|--toolset|--kind|--scope|--profile)
		local cur="$prev=$cur"
		;;
	esac

	case "$command,$cur" in
	init,--agent=*|log,--agent=*|list,--agent=*|grep,--agent=*|search,--agent=*|summarise,--agent=*|tldr,--agent=*|resume,--agent=*|stats,--agent=*|index,--agent=*|add,--agent=*|import,--agent=*|doctor,--agent=*|resume,--as=*)
		__gitcomp "$(__git_shiftlog_agents)" "" "${cur#*=}"
		;;
	log,--session=*|list,--session=*|show,--session=*|grep,--session=*|search,--session=*|resume,--session=*|stats,--session=*|export,--session=*|add,--session=*|purge,--session=*)
		__gitcomp_nl "$(__git_shiftlog_sessions)" "" "${cur#*=}"
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
		__gitcomp "$(__git_shiftlog_parts)" "" "${cur##--in=}"
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
		__gitcomp "$(__git_shiftlog_clients)" "" "${cur##--mcp=}"
		;;
	import,--min-confidence=*)
		__gitcomp "high medium low" "" "${cur##--min-confidence=}"
		;;
	add,--transcript=*)
		_filedir 2>/dev/null
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
	stats,--by=*)
		local cur_="${cur##--by=}"
		case "$cur_" in
		*,*) __gitcomp "$(__git_shiftlog_stats_keys)" "${cur_%,*}," "${cur_##*,}" ;;
		*) __gitcomp "$(__git_shiftlog_stats_keys)" "" "$cur_" ;;
		esac
		;;
	stats,--prices=*|prices,--prices=*)
		;;
	stats,--*)
		__gitcomp "
			--by= --depth= --since= --after= --until= --before= --author= --grep= --agent= --model= --session= --no-merges
			--merges --first-parent --all --branches --branches= --tags --tags= --remotes --remotes= --words --lines --survival --exclude= --tools --unrecorded --no-cost --prices= --chart --json --csv
			--color --color= --ref= --help
			"
		;;
	prices,--*)
		__gitcomp "--prices= --help"
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
	export,--output=*)
		_filedir 2>/dev/null
		;;
	export,--*)
		__gitcomp "
			--html --markdown --output= --force --full --session= --view= --no-thinking --no-tools --images --url-template= --no-patch --title= --theme=
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
		__gitcomp "
			--path= --locations --agent= --model= --timeout= --yes --debounce= --max-wait= --dry-run --json --quiet --help
			"
		;;
	index,*)
		__git_shiftlog_one_of "init validate scan watch status issues keys get"
		;;
	lsp,--*)
		__gitcomp "--stdio --help"
		;;
	mcp,--toolset=*)
		local cur_="${cur##--toolset=}"
		case "$cur_" in
		*,*) __gitcomp "$(__git_shiftlog_toolsets)" "${cur_%,*}," "${cur_##*,}" ;;
		*) __gitcomp "$(__git_shiftlog_toolsets)" "" "$cur_" ;;
		esac
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
		__gitcomp "--kind= --note= --words --since= --until= --user= --failed --max-count= --target= --attach=
			--json --dry-run --ref= --quiet --help"
		;;
	evidence,*)
		__git_shiftlog_one_of "list attach show drop pull"
		;;
	logs,--*)
		__gitcomp "--limit= --target= --dry-run --help"
		;;
	logs,*)
		__git_shiftlog_one_of "sync"
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
	log,*|list,*|show,*|grep,*|search,*|stats,*|scan,*|web,*|why,*|blame,*)
		__git_complete_revlist_file
		__git_shiftlog_without_own_refs
		;;
	export,*|remap,*|purge,*|verify,*|summarise,*|tldr,*|resume,*|add,*)
		# Behind '--' are paths, which bash completes by itself.
		__git_has_doubledash && return
		__git_complete_revlist
		__git_shiftlog_without_own_refs
		;;
	esac
}

# For 'git-shiftlog <TAB>', which Git's own completion knows nothing of.
__git_shiftlog_main ()
{
	declare -F __git_func_wrap >/dev/null || _completion_loader git 2>/dev/null
	declare -F __git_func_wrap >/dev/null && __git_func_wrap _git_shiftlog
}
complete -o bashdefault -o default -o nospace -F __git_shiftlog_main git-shiftlog

# What follows is generated from the definitions of the options; a test compares them.

_git__shiftlog__init() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__init"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__init)
            opts="-n -y -q -h --agent --shared --global --share --no-share --mcp --portable --git-hooks --no-git-hooks --dry-run --yes --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --share)
                    COMPREPLY=($(compgen -W "notes all none" -- "${cur}"))
                    return 0
                    ;;
                --mcp)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_clients)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__init -o nosort -o bashdefault -o default git-shiftlog-init
else
    complete -F _git__shiftlog__init -o bashdefault -o default git-shiftlog-init
fi

_git__shiftlog__log() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__log"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__log)
            opts="-n -S -G -p -s -z -h --max-count --skip --after --since --before --until --author --grep --agent --model --session --no-merges --merges --first-parent --all --branches --tags --remotes --rules-changed --reverse --graph --stat --patch --no-patch --oneline --decorate --no-decorate --abbrev --no-abbrev --abbrev-commit --no-abbrev-commit --pretty --format --json --porcelain --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --max-count)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --skip)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --after)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --before)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --author)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --grep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --branches)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_branch_names)" -- "${cur}"))
                    return 0
                    ;;
                --tags)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_tag_names)" -- "${cur}"))
                    return 0
                    ;;
                --remotes)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_remote_names)" -- "${cur}"))
                    return 0
                    ;;
                -S)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -G)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --decorate)
                    COMPREPLY=($(compgen -W "short full auto no" -- "${cur}"))
                    return 0
                    ;;
                --abbrev)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_formats)" -- "${cur}"))
                    return 0
                    ;;
                --pretty)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_formats)" -- "${cur}"))
                    return 0
                    ;;
                --porcelain)
                    COMPREPLY=($(compgen -W "v1" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__log -o nosort -o bashdefault -o default git-shiftlog-log
else
    complete -F _git__shiftlog__log -o bashdefault -o default git-shiftlog-log
fi

_git__shiftlog__show() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__show"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__show)
            opts="-v -p -s -z -h --full --session --raw --json --format --show-signature --turn --verbose --thinking --no-thinking --no-tools --tool-output --evidence --stat --patch --no-patch --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "medium markdown" -- "${cur}"))
                    return 0
                    ;;
                --turn)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --thinking)
                    COMPREPLY=($(compgen -W "none short full" -- "${cur}"))
                    return 0
                    ;;
                --tool-output)
                    COMPREPLY=($(compgen -W "none short full" -- "${cur}"))
                    return 0
                    ;;
                --evidence)
                    COMPREPLY=($(compgen -W "none short full" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__show -o nosort -o bashdefault -o default git-shiftlog-show
else
    complete -F _git__shiftlog__show -o bashdefault -o default git-shiftlog-show
fi

_git__shiftlog__why() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__why"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__why)
            opts="-L -M -C -w -n -p -z -h --no-ignore-whitespace --ignore-rev --ignore-revs-file --no-ignore-revs --contents --first-parent --since --root --full --no-thinking --max-count --json --format --porcelain --line-porcelain --incremental --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                -L)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -M)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -C)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ignore-rev)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ignore-revs-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --contents)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-count)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_formats)" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__why -o nosort -o bashdefault -o default git-shiftlog-why
else
    complete -F _git__shiftlog__why -o bashdefault -o default git-shiftlog-why
fi

_git__shiftlog__blame() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__blame"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__blame)
            opts="-L -M -C -w -l -s -e -b -f -n -p -z -h --no-ignore-whitespace --ignore-rev --ignore-revs-file --no-ignore-revs --contents --first-parent --since --root --show-email --show-name --show-number --json --format --porcelain --line-porcelain --incremental --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                -L)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -M)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -C)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ignore-rev)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ignore-revs-file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --contents)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --format)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_formats)" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__blame -o nosort -o bashdefault -o default git-shiftlog-blame
else
    complete -F _git__shiftlog__blame -o bashdefault -o default git-shiftlog-blame
fi

_git__shiftlog__grep() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__grep"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__grep)
            opts="-e -F -E -i -w -n -l -L -c -o -q -m -A -B -C -H -h -z --fixed-strings --extended-regexp --ignore-case --word-regexp --in --tool --unrecorded --line-number --no-line-number --column --name-only --count --only-matching --quiet --max-count --after-context --before-context --context --heading --break --no-cut --json --threads --after --since --before --until --author --grep --agent --model --session --no-merges --merges --first-parent --all --branches --tags --remotes --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                -e)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --in)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_parts)" -- "${cur}"))
                    return 0
                    ;;
                --tool)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-count)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -m)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --after-context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -A)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --before-context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -B)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --context)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -C)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --after)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --before)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --author)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --grep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --branches)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_branch_names)" -- "${cur}"))
                    return 0
                    ;;
                --tags)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_tag_names)" -- "${cur}"))
                    return 0
                    ;;
                --remotes)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_remote_names)" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__grep -o nosort -o bashdefault -o default git-shiftlog-grep
else
    complete -F _git__shiftlog__grep -o bashdefault -o default git-shiftlog-grep
fi

_git__shiftlog__search() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__search"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__search)
            opts="-n -z -h --max-count --not --in --json --threads --after --since --before --until --author --grep --agent --model --session --no-merges --merges --first-parent --all --branches --tags --remotes --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --max-count)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -n)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --not)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --in)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_parts)" -- "${cur}"))
                    return 0
                    ;;
                --threads)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --after)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --before)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --author)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --grep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --branches)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_branch_names)" -- "${cur}"))
                    return 0
                    ;;
                --tags)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_tag_names)" -- "${cur}"))
                    return 0
                    ;;
                --remotes)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_remote_names)" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__search -o nosort -o bashdefault -o default git-shiftlog-search
else
    complete -F _git__shiftlog__search -o bashdefault -o default git-shiftlog-search
fi

_git__shiftlog__status() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__status"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__status)
            opts="-z -h --json --porcelain --date"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --porcelain)
                    COMPREPLY=($(compgen -W "v1" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__status -o nosort -o bashdefault -o default git-shiftlog-status
else
    complete -F _git__shiftlog__status -o bashdefault -o default git-shiftlog-status
fi

_git__shiftlog__summarise() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__summarise"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__summarise)
            opts="-f -n -h --focus --agent --model --save --force --dry-run --timeout --json --ref"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --focus)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__summarise -o nosort -o bashdefault -o default git-shiftlog-summarise
else
    complete -F _git__shiftlog__summarise -o bashdefault -o default git-shiftlog-summarise
fi

_git__shiftlog__resume() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__resume"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__resume)
            opts="-n -f -h --session --agent --as --worktree --dry-run --print --force --ref"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --as)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --worktree)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__resume -o nosort -o bashdefault -o default git-shiftlog-resume
else
    complete -F _git__shiftlog__resume -o bashdefault -o default git-shiftlog-resume
fi

_git__shiftlog__branches() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__branches"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__branches)
            opts="-r -a -z -h --remotes --all --contains --sort --json --porcelain --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --contains)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --sort)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sort_keys)" -- "${cur}"))
                    return 0
                    ;;
                --porcelain)
                    COMPREPLY=($(compgen -W "v1" -- "${cur}"))
                    return 0
                    ;;
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__branches -o nosort -o bashdefault -o default git-shiftlog-branches
else
    complete -F _git__shiftlog__branches -o bashdefault -o default git-shiftlog-branches
fi

_git__shiftlog__stats() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__stats"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__stats)
            opts="-z -h --by --depth --after --since --before --until --author --grep --agent --model --session --no-merges --merges --first-parent --all --branches --tags --remotes --words --lines --survival --exclude --tools --unrecorded --no-cost --prices --chart --json --csv --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --by)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_stats_keys)" -- "${cur}"))
                    return 0
                    ;;
                --depth)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --after)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --before)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --author)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --grep)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --branches)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_branch_names)" -- "${cur}"))
                    return 0
                    ;;
                --tags)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_tag_names)" -- "${cur}"))
                    return 0
                    ;;
                --remotes)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_remote_names)" -- "${cur}"))
                    return 0
                    ;;
                --exclude)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --prices)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__stats -o nosort -o bashdefault -o default git-shiftlog-stats
else
    complete -F _git__shiftlog__stats -o bashdefault -o default git-shiftlog-stats
fi

_git__shiftlog__prices() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__prices"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__prices)
            opts="-h --prices"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --prices)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__prices -o nosort -o bashdefault -o default git-shiftlog-prices
else
    complete -F _git__shiftlog__prices -o bashdefault -o default git-shiftlog-prices
fi

_git__shiftlog__export() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__export"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__export)
            opts="-o -f -q -h --html --markdown --output --force --full --session --view --no-thinking --no-tools --images --url-template --no-patch --title --theme --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --output)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --view)
                    COMPREPLY=($(compgen -W "focused normal full" -- "${cur}"))
                    return 0
                    ;;
                --url-template)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --title)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --theme)
                    COMPREPLY=($(compgen -W "auto light dark" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__export -o nosort -o bashdefault -o default git-shiftlog-export
else
    complete -F _git__shiftlog__export -o bashdefault -o default git-shiftlog-export
fi

_git__shiftlog__web() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__web"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__web)
            opts="-h --port --browser --no-browser --idle --all-worktrees --ref"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --port)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --browser)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_browsers)" -- "${cur}"))
                    return 0
                    ;;
                --idle)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__web -o nosort -o bashdefault -o default git-shiftlog-web
else
    complete -F _git__shiftlog__web -o bashdefault -o default git-shiftlog-web
fi

_git__shiftlog__get() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__get"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__get)
            opts="-h"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__get -o nosort -o bashdefault -o default git-shiftlog-get
else
    complete -F _git__shiftlog__get -o bashdefault -o default git-shiftlog-get
fi

_git__shiftlog__keys() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__keys"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__keys)
            opts="-h"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__keys -o nosort -o bashdefault -o default git-shiftlog-keys
else
    complete -F _git__shiftlog__keys -o bashdefault -o default git-shiftlog-keys
fi

_git__shiftlog__index() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__index"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__index)
            opts="-y -n -q -h --path --locations --agent --model --timeout --yes --debounce --max-wait --dry-run --json --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --path)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --model)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --timeout)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --debounce)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-wait)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__index -o nosort -o bashdefault -o default git-shiftlog-index
else
    complete -F _git__shiftlog__index -o bashdefault -o default git-shiftlog-index
fi

_git__shiftlog__lsp() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__lsp"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__lsp)
            opts="-h --stdio"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__lsp -o nosort -o bashdefault -o default git-shiftlog-lsp
else
    complete -F _git__shiftlog__lsp -o bashdefault -o default git-shiftlog-lsp
fi

_git__shiftlog__mcp() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__mcp"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__mcp)
            opts="-h --repo --name --toolset --index"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --repo)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --name)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --toolset)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_toolsets)" -- "${cur}"))
                    return 0
                    ;;
                --index)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__mcp -o nosort -o bashdefault -o default git-shiftlog-mcp
else
    complete -F _git__shiftlog__mcp -o bashdefault -o default git-shiftlog-mcp
fi

_git__shiftlog__add() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__add"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__add)
            opts="-f -n -q -h --transcript --session --agent --since --force --dry-run --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --transcript)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__add -o nosort -o bashdefault -o default git-shiftlog-add
else
    complete -F _git__shiftlog__add -o bashdefault -o default git-shiftlog-add
fi

_git__shiftlog__import() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__import"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__import)
            opts="-n -q -h --agent --since --min-confidence --dry-run --json --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --min-confidence)
                    COMPREPLY=($(compgen -W "high medium low" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__import -o nosort -o bashdefault -o default git-shiftlog-import
else
    complete -F _git__shiftlog__import -o bashdefault -o default git-shiftlog-import
fi

_git__shiftlog__evidence() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__evidence"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__evidence)
            opts="-o -n -q -h --kind --note --words --since --until --user --failed --max-count --target --attach --json --dry-run --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --kind)
                    COMPREPLY=($(compgen -W "test ci log" -- "${cur}"))
                    return 0
                    ;;
                --note)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --since)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --until)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --user)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --max-count)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --attach)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__evidence -o nosort -o bashdefault -o default git-shiftlog-evidence
else
    complete -F _git__shiftlog__evidence -o bashdefault -o default git-shiftlog-evidence
fi

_git__shiftlog__logs() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__logs"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__logs)
            opts="-o -n -h --limit --target --dry-run sync"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --limit)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --target)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                -o)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__logs -o nosort -o bashdefault -o default git-shiftlog-logs
else
    complete -F _git__shiftlog__logs -o bashdefault -o default git-shiftlog-logs
fi

_git__shiftlog__sync() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__sync"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__sync)
            opts="-n -q -h --notes-only --all --dry-run --json --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__sync -o nosort -o bashdefault -o default git-shiftlog-sync
else
    complete -F _git__shiftlog__sync -o bashdefault -o default git-shiftlog-sync
fi

_git__shiftlog__remap() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__remap"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__remap)
            opts="-n -q -h --dry-run --json --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__remap -o nosort -o bashdefault -o default git-shiftlog-remap
else
    complete -F _git__shiftlog__remap -o bashdefault -o default git-shiftlog-remap
fi

_git__shiftlog__migrate() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__migrate"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__migrate)
            opts="-n -q -h --dry-run --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__migrate -o nosort -o bashdefault -o default git-shiftlog-migrate
else
    complete -F _git__shiftlog__migrate -o bashdefault -o default git-shiftlog-migrate
fi

_git__shiftlog__fsck() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__fsck"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__fsck)
            opts="-n -q -h --repair --dry-run --recount --unreachable --json --porcelain --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --porcelain)
                    COMPREPLY=($(compgen -W "v1" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__fsck -o nosort -o bashdefault -o default git-shiftlog-fsck
else
    complete -F _git__shiftlog__fsck -o bashdefault -o default git-shiftlog-fsck
fi

_git__shiftlog__verify() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__verify"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__verify)
            opts="-q -h --signed --own-tree --json --ref --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__verify -o nosort -o bashdefault -o default git-shiftlog-verify
else
    complete -F _git__shiftlog__verify -o bashdefault -o default git-shiftlog-verify
fi

_git__shiftlog__scan() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__scan"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__scan)
            opts="-y -n -q -z -h --archive --branches --list-rules --fix --yes --dry-run --json --quiet --date --ref --color"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__scan -o nosort -o bashdefault -o default git-shiftlog-scan
else
    complete -F _git__shiftlog__scan -o bashdefault -o default git-shiftlog-scan
fi

_git__shiftlog__purge() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__purge"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__purge)
            opts="-n -y -h --session --match --secrets --before --received --all --dry-run --yes --json --ref"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --session)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_sessions)" -- "${cur}"))
                    return 0
                    ;;
                --match)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --before)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__purge -o nosort -o bashdefault -o default git-shiftlog-purge
else
    complete -F _git__shiftlog__purge -o bashdefault -o default git-shiftlog-purge
fi

_git__shiftlog__rules() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__rules"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__rules)
            opts="-n -v -z -y -h --dry-run --diff --verbose --json --date --ref --color --only --yes --force --adopt --follow --home --scope --profile --description --no-always-apply --file --exclude --list"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --date)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_dates)" -- "${cur}"))
                    return 0
                    ;;
                --ref)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_notes_refs)" -- "${cur}"))
                    return 0
                    ;;
                --color)
                    COMPREPLY=($(compgen -W "always never auto" -- "${cur}"))
                    return 0
                    ;;
                --only)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --home)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --scope)
                    COMPREPLY=($(compgen -W "home repo" -- "${cur}"))
                    return 0
                    ;;
                --profile)
                    COMPREPLY=($(compgen -W "current ai-sync" -- "${cur}"))
                    return 0
                    ;;
                --description)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --file)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                --exclude)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__rules -o nosort -o bashdefault -o default git-shiftlog-rules
else
    complete -F _git__shiftlog__rules -o bashdefault -o default git-shiftlog-rules
fi

_git__shiftlog__doctor() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__doctor"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__doctor)
            opts="-q -h --agent --no-rehearsal --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --agent)
                    COMPREPLY=($(compgen -W "$(__git_shiftlog_agents)" -- "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__doctor -o nosort -o bashdefault -o default git-shiftlog-doctor
else
    complete -F _git__shiftlog__doctor -o bashdefault -o default git-shiftlog-doctor
fi

_git__shiftlog__deinit() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__deinit"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__deinit)
            opts="-n -y -q -h --purge-refs --dry-run --yes --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__deinit -o nosort -o bashdefault -o default git-shiftlog-deinit
else
    complete -F _git__shiftlog__deinit -o bashdefault -o default git-shiftlog-deinit
fi

_git__shiftlog__install__docs() {
    local i cur prev opts cmd
    COMPREPLY=()
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        cur="$2"
    else
        cur="${COMP_WORDS[COMP_CWORD]}"
    fi
    prev="$3"
    cmd=""
    opts=""

    for i in "${COMP_WORDS[@]:0:COMP_CWORD}"
    do
        case "${cmd},${i}" in
            ",$1")
                cmd="git__shiftlog__install__docs"
                ;;
            *)
                ;;
        esac
    done

    case "${cmd}" in
        git__shiftlog__install__docs)
            opts="-n -v -q -h --prefix --uninstall --dry-run --verbose --quiet"
            if [[ ${cur} == -* || ${COMP_CWORD} -eq 1 ]] ; then
                COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
                return 0
            fi
            case "${prev}" in
                --prefix)
                    COMPREPLY=($(compgen -f "${cur}"))
                    return 0
                    ;;
                *)
                    COMPREPLY=()
                    ;;
            esac
            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )
            return 0
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _git__shiftlog__install__docs -o nosort -o bashdefault -o default git-shiftlog-install-docs
else
    complete -F _git__shiftlog__install__docs -o bashdefault -o default git-shiftlog-install-docs
fi
