# Completion of git-shiftlog for fish. For 'git shiftlog <TAB>', fish's own completion of Git asks for that of git-shiftlog.

# The words before the cursor, without the one at it.
function __fish_git_shiftlog_words
    commandline -xpc 2>/dev/null; or commandline -opc
end

function __fish_git_shiftlog_needs_command
    set -l words (__fish_git_shiftlog_words)
    test (count $words) -eq 1; or test "$words[2..]" = help
end

# Completes what follows a command as its program does.
function __fish_git_shiftlog_as_program
    set -l words (__fish_git_shiftlog_words)
    set -l command $words[2]
    switch $command
        case list
            set command log
        case tldr summarize
            set command summarise
        case mcp-server
            set command mcp
    end
    set -l rest (string escape -- $words[3..])
    complete -C "git-shiftlog-$command $rest "(commandline -ct)
end

function __fish_git_shiftlog_agents
    printf '%s\n' claude codex gemini copilot vscode opencode cursor amp droid windsurf antigravity pi cline continue qwen kilo aider
end

# Those of them that can be started with a prompt.
function __fish_git_shiftlog_starters
    printf '%s\n' claude codex gemini copilot opencode cursor droid qwen kilo
end

# Those of them that answer a question.
function __fish_git_shiftlog_askers
    printf '%s\n' claude codex gemini copilot opencode cursor amp droid
end

# The agents that rules are written for.
function __fish_git_shiftlog_rules_agents
    __fish_git_shiftlog_listed cursor codex claude gemini kiro antigravity
end

function __fish_git_shiftlog_is_behind_set
    set -l words (__fish_git_shiftlog_words)
    test "$words[-1]" = set
end

# The formats of dates.
function __fish_git_shiftlog_dates
    printf '%s\n' default human iso iso-strict rfc short raw unix relative local format:
end

# The formats that Git has names for.
function __fish_git_shiftlog_formats
    printf '%s\n' oneline short medium full fuller reference email mboxrd raw
end

# Words of a list, behind those that stand there.
function __fish_git_shiftlog_listed
    set -l begun (string replace -rf '^(?:--[a-z]+=)?(.*,).*$' '$1' -- (commandline -ct))
    printf "$begun%s\n" $argv
end

# What is counted by.
function __fish_git_shiftlog_stats_keys
    __fish_git_shiftlog_listed agent model author branch commit day week month session path
end

# What branches are sorted by.
function __fish_git_shiftlog_sort_keys
    printf '%s\n' refname conversations date -refname -conversations -date
end

# The parts of conversations that are searched.
function __fish_git_shiftlog_parts
    __fish_git_shiftlog_listed prompts answers thinking calls results notices all
end

# The clients of the MCP server.
function __fish_git_shiftlog_clients
    __fish_git_shiftlog_listed vscode claude cursor gemini copilot opencode zed amp kiro junie roo codex
end

# The sessions of the last commits that have one, each with the subject of a commit.
function __fish_git_shiftlog_sessions
    git -c shiftlog.carryOnRead=false shiftlog log --max-count=100 --format='%(session)%x09%s' 2>/dev/null | while read -l -d \t sessions subject
        for session in (string split , -- $sessions)
            printf '%s\t%s\n' $session $subject
        end
    end | sort -u -t \t -k 1,1
end

# The sessions, if a few digits of one stand there.
function __fish_git_shiftlog_sessions_begun
    string match -qr '^[0-9a-f]{4}' -- (commandline -ct); and __fish_git_shiftlog_sessions
end

# The models of the last commits that have a session.
function __fish_git_shiftlog_recorded_models
    git -c shiftlog.carryOnRead=false shiftlog log --max-count=100 --format='%(model)' 2>/dev/null | string split , | sort -u
end

# The names of branches, tags and remote-tracking branches, as patterns are matched with them.
function __fish_git_shiftlog_branch_names
    git for-each-ref --format='%(refname:strip=2)' refs/heads 2>/dev/null
end

function __fish_git_shiftlog_tag_names
    git for-each-ref --format='%(refname:strip=2)' refs/tags 2>/dev/null
end

function __fish_git_shiftlog_remote_names
    git for-each-ref --format='%(refname:strip=2)' refs/remotes 2>/dev/null
end

function __fish_git_shiftlog_notes_refs
    git for-each-ref --format='%(refname)' refs/notes 2>/dev/null
end

# Revisions, also behind the first half of a range.
function __fish_git_shiftlog_revisions
    set -l begun (string match -r '^(?:.*\.\.|\^)' -- (commandline -ct))
    for revision in HEAD (git for-each-ref --format='%(refname:short)' refs/heads refs/tags refs/remotes 2>/dev/null)
        echo "$begun$revision"
    end
end

# The browsers that 'git web--browse' knows.
function __fish_git_shiftlog_browsers
    printf '%s\n' firefox google-chrome chromium konqueror opera w3m elinks links lynx dillo open start xdg-open
end

# What the MCP server offers.
function __fish_git_shiftlog_toolsets
    __fish_git_shiftlog_listed conversations index logs rules auto all
end

# The models with a known price.
function __fish_git_shiftlog_models
    git shiftlog prices 2>/dev/null | string match -rv '^#' | string replace -r '\t.*' '' | sort -u
end

function __fish_git_shiftlog_needs_direction
    set -l words (__fish_git_shiftlog_words)
    not contains -- pull $words; and not contains -- push $words
end

# Whether one of these words stands behind the command.
function __fish_git_shiftlog_has_one_of
    set -l words (__fish_git_shiftlog_words)
    for word in $words[2..]
        contains -- $word $argv; and return 0
    end
    return 1
end

function __fish_git_shiftlog_before_paths
    not contains -- -- (__fish_git_shiftlog_words)
end

complete -c git-shiftlog -f
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -s h -d 'Print the usage'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -l help -d 'Show the manual page'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -l version -d 'Print the version'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a init -d 'Set up recording in this repository'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a log -d 'List commits that have a conversation'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a list -d 'List commits that have a conversation'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a show -d 'Show the conversation of a commit'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a why -d 'Show the conversation behind a line'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a blame -d 'Show which turn wrote each line of a file'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a grep -d 'Print lines of conversations that match a pattern'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a search -d 'Find turns of conversations by words, best first'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a status -d 'Show what would be recorded now'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a summarise -d 'Have an agent summarise the conversation of a commit'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a tldr -d 'Have an agent summarise the conversation of a commit'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a resume -d 'Resume the session of a commit'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a branches -d 'List branches with their conversations'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a stats -d 'Count commits, turns, tokens and their cost'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a prices -d 'Print the list prices of models'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a export -d 'Write conversations to files, as pages or Markdown'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a web -d 'Show conversations in a browser'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a get -d 'Read one recorded value by its path'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a keys -d 'List the keys at a path of the recorded data'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a index -d 'Make, check and read the index of a project'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a lsp -d 'Show editors the conversation behind a line'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a mcp -d 'Serve conversations to agents over MCP'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a add -d 'Attach a transcript to a commit by hand'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a import -d 'Record past sessions'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a evidence -d 'Keep logs and test output with a commit'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a logs -d 'Fetch debug logs of a Salesforce org'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a sync -d 'Exchange conversations with a remote'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a remap -d 'Carry conversations over rewritten history'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a migrate -d 'Convert the notes of earlier tools of this name'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a fsck -d 'Check that everything recorded can be read'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a verify -d 'Check that records are intact, and who signed them'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a scan -d 'Look for secrets in conversations'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a purge -d 'Remove conversations permanently'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a rules -d 'Keep rules and skills for agents, and write them to their files'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a doctor -d 'Check the set-up and test recording'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a deinit -d 'Undo what init did'
complete -c git-shiftlog -n __fish_git_shiftlog_needs_command -a install-docs -d 'Install manual pages and completions'
complete -c git-shiftlog -n 'not __fish_git_shiftlog_needs_command' -a '(__fish_git_shiftlog_as_program)'

for command in show export summarise resume add remap purge verify
    complete -c git-shiftlog-$command -f -n __fish_git_shiftlog_before_paths -a '(__fish_git_shiftlog_revisions)'
end
for command in show resume
    complete -c git-shiftlog-$command -n __fish_git_shiftlog_before_paths -a '(__fish_git_shiftlog_sessions_begun)'
end
for command in log grep search stats scan web why blame
    complete -c git-shiftlog-$command -n __fish_git_shiftlog_before_paths -a '(__fish_git_shiftlog_revisions)'
end
complete -c git-shiftlog-rules -f -n 'not __fish_git_shiftlog_has_one_of status sync check diff init import add-rule remove-rule set reconfigure clean archive-skill restore-skill show' -a 'status sync check diff init import add-rule remove-rule set reconfigure clean archive-skill restore-skill show'
complete -c git-shiftlog-rules -f -n '__fish_git_shiftlog_has_one_of show diff; and __fish_git_shiftlog_before_paths' -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-evidence -f -n '__fish_git_shiftlog_has_one_of list show drop; and __fish_git_shiftlog_before_paths' -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-evidence -n '__fish_git_shiftlog_has_one_of attach; and __fish_git_shiftlog_before_paths' -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-evidence -f -n '__fish_git_shiftlog_has_one_of pull; and not __fish_git_shiftlog_has_one_of apex' -a apex
complete -c git-shiftlog-evidence -f -n '__fish_git_shiftlog_has_one_of apex'
complete -c git-shiftlog-rules -f -n '__fish_git_shiftlog_has_one_of remove-rule'
complete -c git-shiftlog-rules -f -n __fish_git_shiftlog_is_behind_set -a 'agents_md.paths agents_md.header agents_md.preamble claude_md.paths'
complete -c git-shiftlog-index -f -n 'not __fish_git_shiftlog_has_one_of init validate scan watch status issues keys get' -a 'init validate scan watch status issues keys get'
complete -c git-shiftlog-logs -f -n 'not __fish_git_shiftlog_has_one_of sync' -a 'sync'
complete -c git-shiftlog-evidence -f -n 'not __fish_git_shiftlog_has_one_of list attach show drop pull' -a 'list attach show drop pull'
for command in get keys init status branches fsck import migrate doctor deinit install-docs mcp lsp sync
    complete -c git-shiftlog-$command -f
end
complete -c git-shiftlog-logs -f -n '__fish_git_shiftlog_has_one_of sync'
complete -c git-shiftlog-sync -n 'not __fish_git_shiftlog_has_one_of (git remote 2>/dev/null)' -a '(git remote 2>/dev/null)'
complete -c git-shiftlog-sync -n __fish_git_shiftlog_needs_direction -a 'pull push'
complete -c git-shiftlog-prices -f -a '(__fish_git_shiftlog_models)'

# What follows is generated from the definitions of the options; a test compares them.

complete -c git-shiftlog-init -l agent -d 'Set up this agent; may be given several times (default: those that are installed)' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-init -l share -d 'Fetch what others share, and share notes or all, or nothing any more' -f -a "notes\t''
all\t''
none\t''"
complete -c git-shiftlog-init -l mcp -d 'Declare the MCP server to these clients (default: VS Code and those whose file is there)' -f -a '(__fish_git_shiftlog_clients)'
complete -c git-shiftlog-init -l shared -d 'Put agents\' hooks into the files that a team commits'
complete -c git-shiftlog-init -l global -d 'Put hooks of agents that support it into your own settings, which hold in every directory'
complete -c git-shiftlog-init -l no-share -d 'Neither share anything any more nor fetch what others share'
complete -c git-shiftlog-init -l portable -d 'Declare the server by the command \'git\', for files that a team commits'
complete -c git-shiftlog-init -l git-hooks -d 'Set up Git\'s hooks (default)'
complete -c git-shiftlog-init -l no-git-hooks -d 'Set up no Git hooks; then only commits that agents make are recorded'
complete -c git-shiftlog-init -s n -l dry-run -d 'Print what would be done'
complete -c git-shiftlog-init -s y -l yes -d 'Do not ask before files outside this repository change'
complete -c git-shiftlog-init -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-init -s h -d 'Print this usage'

complete -c git-shiftlog-log -s n -l max-count -d 'List at most this many commits' -r -f
complete -c git-shiftlog-log -l skip -d 'Leave out this many commits at the beginning' -r -f
complete -c git-shiftlog-log -l since -l after -d 'Only commits made at or after a date' -r -f
complete -c git-shiftlog-log -l until -l before -d 'Only commits made at or before a date' -r -f
complete -c git-shiftlog-log -l author -d 'Only commits whose author matches a pattern' -r -f
complete -c git-shiftlog-log -l grep -d 'Only commits with a line in their message that matches a pattern' -r -f
complete -c git-shiftlog-log -l agent -d 'Only sessions of this agent' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-log -l model -d 'Only sessions whose model name contains this' -r -f -a '(__fish_git_shiftlog_recorded_models)'
complete -c git-shiftlog-log -l session -d 'Only this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-log -l branches -d 'Start from all local branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_branch_names)'
complete -c git-shiftlog-log -l tags -d 'Start from all tags, or those that match a pattern' -f -a '(__fish_git_shiftlog_tag_names)'
complete -c git-shiftlog-log -l remotes -d 'Start from all remote-tracking branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_remote_names)'
complete -c git-shiftlog-log -s S -d 'List commits whose conversation has this string' -r -f
complete -c git-shiftlog-log -s G -d 'List commits whose conversation has a line that matches a pattern' -r -f
complete -c git-shiftlog-log -l decorate -d 'With --oneline and Git\'s formats, print the names of refs (short, full, auto or no)' -f -a "short\t''
full\t''
auto\t''
no\t''"
complete -c git-shiftlog-log -l abbrev -d 'Abbreviate ids to at least this many digits' -r -f
complete -c git-shiftlog-log -l format -l pretty -d 'Print each commit in this format' -r -f -a '(__fish_git_shiftlog_formats)'
complete -c git-shiftlog-log -l porcelain -d 'Print a stable format for scripts' -f -a "v1\t''"
complete -c git-shiftlog-log -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-log -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-log -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-log -l no-merges -d 'No merge commits'
complete -c git-shiftlog-log -l merges -d 'Only merge commits'
complete -c git-shiftlog-log -l first-parent -d 'Follow only the first parent of a merge commit'
complete -c git-shiftlog-log -l all -d 'Start from HEAD and all branches and tags'
complete -c git-shiftlog-log -l rules-changed -d 'List commits at which an agent was told something else than before'
complete -c git-shiftlog-log -l reverse -d 'List the chosen commits in reverse order'
complete -c git-shiftlog-log -l graph -d 'Draw how the commits follow each other'
complete -c git-shiftlog-log -l stat -d 'Also print how many lines the commit changed in each file'
complete -c git-shiftlog-log -s p -l patch -d 'Also print the change that the commit made'
complete -c git-shiftlog-log -s s -l no-patch -d 'Leave out the change that the commit made, which is the default'
complete -c git-shiftlog-log -l oneline -d 'Print the abbreviated id and the subject'
complete -c git-shiftlog-log -l no-decorate -d 'Print no names of refs'
complete -c git-shiftlog-log -l no-abbrev -d 'Show ids in full'
complete -c git-shiftlog-log -l abbrev-commit -d 'In Git\'s formats, abbreviate the id of the commit, too'
complete -c git-shiftlog-log -l no-abbrev-commit -d 'With --oneline and in Git\'s formats, show the id of the commit in full'
complete -c git-shiftlog-log -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-log -s z -d 'End each entry with NUL'
complete -c git-shiftlog-log -s h -d 'Print this usage'

complete -c git-shiftlog-show -l session -d 'Show only this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-show -l format -d 'Print in this format (medium or markdown)' -r -f -a "medium\t''
markdown\t''"
complete -c git-shiftlog-show -l turn -d 'Show only these turns' -r -f
complete -c git-shiftlog-show -l thinking -d 'Show this much of the model\'s thinking (none, short or full)' -r -f -a "none\t''
short\t''
full\t''"
complete -c git-shiftlog-show -l tool-output -d 'Show this much of the output of tools (none, short or full)' -r -f -a "none\t''
short\t''
full\t''"
complete -c git-shiftlog-show -l evidence -d 'Show this much of evidence (none, short or full)' -r -f -a "none\t''
short\t''
full\t''"
complete -c git-shiftlog-show -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-show -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-show -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-show -l full -d 'Show the whole session up to the commit'
complete -c git-shiftlog-show -l raw -d 'Print the transcript\'s bytes exactly'
complete -c git-shiftlog-show -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-show -l show-signature -d 'Say who wrote and signed each record, and who only carried it'
complete -c git-shiftlog-show -s v -l verbose -d 'Print what is cut by default; given twice, also the inputs of tools'
complete -c git-shiftlog-show -l no-thinking -d 'Leave out the model\'s thinking'
complete -c git-shiftlog-show -l no-tools -d 'Leave out tool calls'
complete -c git-shiftlog-show -l stat -d 'Also print how many lines the commit changed in each file'
complete -c git-shiftlog-show -s p -l patch -d 'Also print the change that the commit made'
complete -c git-shiftlog-show -s s -l no-patch -d 'Leave out the change that the commit made, which is the default'
complete -c git-shiftlog-show -s z -d 'End each entry with NUL'
complete -c git-shiftlog-show -s h -d 'Print this usage'

complete -c git-shiftlog-why -s L -d 'Only these lines: <start>,<end> or :<function>, as git blame takes them' -r -f
complete -c git-shiftlog-why -s M -d 'Find lines moved within a file' -r -f
complete -c git-shiftlog-why -s C -d 'Find lines copied from other files; given more often, from more files' -r -f
complete -c git-shiftlog-why -l ignore-rev -d 'Look through the changes of this revision' -r -f -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-why -l ignore-revs-file -d 'Look through the changes of the revisions in this file' -r
complete -c git-shiftlog-why -l contents -d 'Use the content of this file instead; \'-\' is the standard input' -r
complete -c git-shiftlog-why -l since -d 'Look no further back than this' -r -f
complete -c git-shiftlog-why -s n -l max-count -d 'Show at most this many edits and sessions' -r -f
complete -c git-shiftlog-why -l format -d 'Print in this format' -r -f
complete -c git-shiftlog-why -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-why -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-why -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-why -s w -d 'Count no change of white space as a change of the line, which is the default'
complete -c git-shiftlog-why -l no-ignore-whitespace -d 'Count a change of white space as a change of the line'
complete -c git-shiftlog-why -l no-ignore-revs -d 'Look through no changes, whatever the configuration and .git-blame-ignore-revs say'
complete -c git-shiftlog-why -l first-parent -d 'Follow only the first parent of merges'
complete -c git-shiftlog-why -l root -d 'Do not treat the first commits of history as a boundary'
complete -c git-shiftlog-why -l full -d 'Show whole turns\' words and whole edits'
complete -c git-shiftlog-why -l no-thinking -d 'Leave out what the model thought'
complete -c git-shiftlog-why -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-why -s p -l porcelain -d 'Print Git\'s format for programs, with lines of ours'
complete -c git-shiftlog-why -l line-porcelain -d 'Print this format with all headers for each line'
complete -c git-shiftlog-why -l incremental -d 'Print groups of lines as Git finds them'
complete -c git-shiftlog-why -s z -d 'End each entry with NUL'
complete -c git-shiftlog-why -s h -d 'Print this usage'

complete -c git-shiftlog-blame -s L -d 'Only these lines: <start>,<end> or :<function>, as git blame takes them' -r -f
complete -c git-shiftlog-blame -s M -d 'Find lines moved within a file' -r -f
complete -c git-shiftlog-blame -s C -d 'Find lines copied from other files; given more often, from more files' -r -f
complete -c git-shiftlog-blame -l ignore-rev -d 'Look through the changes of this revision' -r -f -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-blame -l ignore-revs-file -d 'Look through the changes of the revisions in this file' -r
complete -c git-shiftlog-blame -l contents -d 'Use the content of this file instead; \'-\' is the standard input' -r
complete -c git-shiftlog-blame -l since -d 'Look no further back than this' -r -f
complete -c git-shiftlog-blame -l format -d 'Print each line in this format' -r -f
complete -c git-shiftlog-blame -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-blame -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-blame -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-blame -s w -d 'Count no change of white space as a change of the line, which is the default'
complete -c git-shiftlog-blame -l no-ignore-whitespace -d 'Count a change of white space as a change of the line'
complete -c git-shiftlog-blame -l no-ignore-revs -d 'Look through no changes, whatever the configuration and .git-blame-ignore-revs say'
complete -c git-shiftlog-blame -l first-parent -d 'Follow only the first parent of merges'
complete -c git-shiftlog-blame -l root -d 'Do not treat the first commits of history as a boundary'
complete -c git-shiftlog-blame -s l -d 'Show ids in full'
complete -c git-shiftlog-blame -s s -d 'Leave out author and date'
complete -c git-shiftlog-blame -s e -l show-email -d 'Show addresses instead of names'
complete -c git-shiftlog-blame -s b -d 'Leave the ids of boundary commits blank'
complete -c git-shiftlog-blame -s f -l show-name -d 'Show the path in the commit'
complete -c git-shiftlog-blame -s n -l show-number -d 'Show the number of the line in the commit'
complete -c git-shiftlog-blame -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-blame -s p -l porcelain -d 'Print Git\'s format for programs, with lines of ours'
complete -c git-shiftlog-blame -l line-porcelain -d 'Print this format with all headers for each line'
complete -c git-shiftlog-blame -l incremental -d 'Print groups of lines as Git finds them'
complete -c git-shiftlog-blame -s z -d 'End each entry with NUL'
complete -c git-shiftlog-blame -s h -d 'Print this usage'

complete -c git-shiftlog-grep -s e -d 'Look for this pattern; given several times, for any of them' -r -f
complete -c git-shiftlog-grep -l in -d 'Look in these parts: prompts, answers, thinking, calls, results, notices or all (default: all but results)' -r -f -a '(__fish_git_shiftlog_parts)'
complete -c git-shiftlog-grep -l tool -d 'Look only in calls of this tool' -r -f
complete -c git-shiftlog-grep -s m -l max-count -d 'Print at most this many lines of a session' -r -f
complete -c git-shiftlog-grep -s A -l after-context -d 'Print this many lines after each match' -r -f
complete -c git-shiftlog-grep -s B -l before-context -d 'Print this many lines before each match' -r -f
complete -c git-shiftlog-grep -s C -l context -d 'Print this many lines around each match' -r -f
complete -c git-shiftlog-grep -l threads -d 'Use this many threads' -r -f
complete -c git-shiftlog-grep -l since -l after -d 'Only commits made at or after a date' -r -f
complete -c git-shiftlog-grep -l until -l before -d 'Only commits made at or before a date' -r -f
complete -c git-shiftlog-grep -l author -d 'Only commits whose author matches a pattern' -r -f
complete -c git-shiftlog-grep -l grep -d 'Only commits with a line in their message that matches a pattern' -r -f
complete -c git-shiftlog-grep -l agent -d 'Only sessions of this agent' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-grep -l model -d 'Only sessions whose model name contains this' -r -f -a '(__fish_git_shiftlog_recorded_models)'
complete -c git-shiftlog-grep -l session -d 'Only this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-grep -l branches -d 'Start from all local branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_branch_names)'
complete -c git-shiftlog-grep -l tags -d 'Start from all tags, or those that match a pattern' -f -a '(__fish_git_shiftlog_tag_names)'
complete -c git-shiftlog-grep -l remotes -d 'Start from all remote-tracking branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_remote_names)'
complete -c git-shiftlog-grep -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-grep -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-grep -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-grep -s F -l fixed-strings -d 'Take patterns as plain text'
complete -c git-shiftlog-grep -s E -l extended-regexp -d 'Take patterns as regular expressions, which is the default'
complete -c git-shiftlog-grep -s i -l ignore-case -d 'Take small and capital letters of ASCII as the same'
complete -c git-shiftlog-grep -s w -l word-regexp -d 'Match whole words only'
complete -c git-shiftlog-grep -l unrecorded -d 'Look in the sessions of the archive that no commit has'
complete -c git-shiftlog-grep -s n -l line-number -d 'Print the number of each line, which is the default'
complete -c git-shiftlog-grep -l no-line-number -d 'Print no numbers of lines'
complete -c git-shiftlog-grep -l column -d 'Print the column of the first match'
complete -c git-shiftlog-grep -s l -l name-only -d 'Print only the sessions that have a match'
complete -c git-shiftlog-grep -s L -d 'Print only the sessions that have no match'
complete -c git-shiftlog-grep -s c -l count -d 'Print the number of lines that match in each session'
complete -c git-shiftlog-grep -s o -l only-matching -d 'Print only what matches'
complete -c git-shiftlog-grep -s q -l quiet -d 'Print nothing; only the exit status tells'
complete -c git-shiftlog-grep -s H -d 'Print the commit and the session in front of each line, which is the default'
complete -c git-shiftlog-grep -s h -d 'Print neither the commit nor the session; alone, print this usage'
complete -c git-shiftlog-grep -l heading -d 'Print the commit and the session above their lines'
complete -c git-shiftlog-grep -l break -d 'Print an empty line between sessions'
complete -c git-shiftlog-grep -l no-cut -d 'Print long lines whole'
complete -c git-shiftlog-grep -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-grep -l no-merges -d 'No merge commits'
complete -c git-shiftlog-grep -l merges -d 'Only merge commits'
complete -c git-shiftlog-grep -l first-parent -d 'Follow only the first parent of a merge commit'
complete -c git-shiftlog-grep -l all -d 'Start from HEAD and all branches and tags'
complete -c git-shiftlog-grep -s z -d 'End each entry with NUL'

complete -c git-shiftlog-search -s n -l max-count -d 'Print at most this many answers (default: 10)' -r -f
complete -c git-shiftlog-search -l not -d 'Leave out turns with this word' -r -f
complete -c git-shiftlog-search -l in -d 'Look in these parts: prompts, answers, thinking, calls, results, notices or all, which is the default' -r -f -a '(__fish_git_shiftlog_parts)'
complete -c git-shiftlog-search -l threads -d 'Use this many threads' -r -f
complete -c git-shiftlog-search -l since -l after -d 'Only commits made at or after a date' -r -f
complete -c git-shiftlog-search -l until -l before -d 'Only commits made at or before a date' -r -f
complete -c git-shiftlog-search -l author -d 'Only commits whose author matches a pattern' -r -f
complete -c git-shiftlog-search -l grep -d 'Only commits with a line in their message that matches a pattern' -r -f
complete -c git-shiftlog-search -l agent -d 'Only sessions of this agent' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-search -l model -d 'Only sessions whose model name contains this' -r -f -a '(__fish_git_shiftlog_recorded_models)'
complete -c git-shiftlog-search -l session -d 'Only this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-search -l branches -d 'Start from all local branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_branch_names)'
complete -c git-shiftlog-search -l tags -d 'Start from all tags, or those that match a pattern' -f -a '(__fish_git_shiftlog_tag_names)'
complete -c git-shiftlog-search -l remotes -d 'Start from all remote-tracking branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_remote_names)'
complete -c git-shiftlog-search -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-search -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-search -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-search -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-search -l no-merges -d 'No merge commits'
complete -c git-shiftlog-search -l merges -d 'Only merge commits'
complete -c git-shiftlog-search -l first-parent -d 'Follow only the first parent of a merge commit'
complete -c git-shiftlog-search -l all -d 'Start from HEAD and all branches and tags'
complete -c git-shiftlog-search -s z -d 'End each entry with NUL'
complete -c git-shiftlog-search -s h -d 'Print this usage'

complete -c git-shiftlog-status -l porcelain -d 'Print a stable format for scripts' -f -a "v1\t''"
complete -c git-shiftlog-status -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-status -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-status -s z -d 'End each entry with NUL'
complete -c git-shiftlog-status -s h -d 'Print this usage'

complete -c git-shiftlog-summarise -l focus -d 'Tell the agent what to look at above all' -r -f
complete -c git-shiftlog-summarise -l agent -d 'Ask this agent; the conversation goes to its provider' -r -f -a '(__fish_git_shiftlog_askers)'
complete -c git-shiftlog-summarise -l model -d 'Let the agent use this model' -r -f -a '(__fish_git_shiftlog_recorded_models)'
complete -c git-shiftlog-summarise -l timeout -d 'Wait this long for an answer (default: 120)' -r -f
complete -c git-shiftlog-summarise -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-summarise -l save -d 'Keep the summary in the record of the conversation'
complete -c git-shiftlog-summarise -s f -l force -d 'Ask again for commits that have a saved summary'
complete -c git-shiftlog-summarise -s n -l dry-run -d 'Print what would be sent and saved, and ask nobody'
complete -c git-shiftlog-summarise -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-summarise -s h -d 'Print this usage'

complete -c git-shiftlog-resume -l session -d 'Resume this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-resume -l agent -d 'Resume a session of this agent' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-resume -l as -d 'Hand the conversation to this agent instead, which starts with it as a document' -r -f -a '(__fish_git_shiftlog_starters)'
complete -c git-shiftlog-resume -l worktree -d 'Use a new worktree, and leave this one unchanged'
complete -c git-shiftlog-resume -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-resume -s n -l print -l dry-run -d 'Say what would be done, and do nothing'
complete -c git-shiftlog-resume -s f -l force -d 'Go on despite uncommitted changes, and replace a different transcript'
complete -c git-shiftlog-resume -s h -d 'Print this usage'

complete -c git-shiftlog-branches -l contains -d 'List only branches that reach a commit' -r -f -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-branches -l sort -d 'Sort by a key (refname, conversations or date); a leading \'-\' reverses' -r -f -a '(__fish_git_shiftlog_sort_keys)'
complete -c git-shiftlog-branches -l porcelain -d 'Print a stable format for scripts' -f -a "v1\t''"
complete -c git-shiftlog-branches -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-branches -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-branches -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-branches -s r -l remotes -d 'List remote-tracking branches'
complete -c git-shiftlog-branches -s a -l all -d 'List local and remote-tracking branches'
complete -c git-shiftlog-branches -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-branches -s z -d 'End each entry with NUL'
complete -c git-shiftlog-branches -s h -d 'Print this usage'

complete -c git-shiftlog-stats -l by -d 'Group by these keys: agent, model, author, branch, commit, day, week, month, session, path' -r -f -a '(__fish_git_shiftlog_stats_keys)'
complete -c git-shiftlog-stats -l depth -d 'Put files into groups by so many components of their paths' -r -f
complete -c git-shiftlog-stats -l since -l after -d 'Only commits made at or after a date' -r -f
complete -c git-shiftlog-stats -l until -l before -d 'Only commits made at or before a date' -r -f
complete -c git-shiftlog-stats -l author -d 'Only commits whose author matches a pattern' -r -f
complete -c git-shiftlog-stats -l grep -d 'Only commits with a line in their message that matches a pattern' -r -f
complete -c git-shiftlog-stats -l agent -d 'Only sessions of this agent' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-stats -l model -d 'Only sessions whose model name contains this' -r -f -a '(__fish_git_shiftlog_recorded_models)'
complete -c git-shiftlog-stats -l session -d 'Only this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-stats -l branches -d 'Start from all local branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_branch_names)'
complete -c git-shiftlog-stats -l tags -d 'Start from all tags, or those that match a pattern' -f -a '(__fish_git_shiftlog_tag_names)'
complete -c git-shiftlog-stats -l remotes -d 'Start from all remote-tracking branches, or those that match a pattern' -f -a '(__fish_git_shiftlog_remote_names)'
complete -c git-shiftlog-stats -l exclude -d 'With --lines, leave out files that this pathspec matches (may be repeated)' -r
complete -c git-shiftlog-stats -l prices -d 'Take prices from this file first' -r -F
complete -c git-shiftlog-stats -l chart -d 'Draw a bar for each group, or one for each day from the first to the last' -f -a "bars\t'One bar for each group'
days\t'One bar for each day from the first to the last'"
complete -c git-shiftlog-stats -l format -d 'Print each group in this format' -r -f
complete -c git-shiftlog-stats -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-stats -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-stats -l no-merges -d 'No merge commits'
complete -c git-shiftlog-stats -l merges -d 'Only merge commits'
complete -c git-shiftlog-stats -l first-parent -d 'Follow only the first parent of a merge commit'
complete -c git-shiftlog-stats -l all -d 'Start from HEAD and all branches and tags'
complete -c git-shiftlog-stats -l words -d 'Count each answer in the recorded words'
complete -c git-shiftlog-stats -l lines -d 'Count the lines that commits add instead, and who wrote them'
complete -c git-shiftlog-stats -l survival -d 'With --lines, count how many of them are still there'
complete -c git-shiftlog-stats -l tools -d 'Count the calls of tools instead, and how many failed'
complete -c git-shiftlog-stats -l unrecorded -d 'Count the sessions that no commit has, too'
complete -c git-shiftlog-stats -l no-cost -d 'Leave out costs'
complete -c git-shiftlog-stats -l ascii -d 'Draw bars without block characters'
complete -c git-shiftlog-stats -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-stats -l csv -d 'Print values separated by commas'
complete -c git-shiftlog-stats -s z -d 'End each entry with NUL'
complete -c git-shiftlog-stats -s h -d 'Print this usage'

complete -c git-shiftlog-prices -l prices -d 'Take prices from this file first' -r -F
complete -c git-shiftlog-prices -l update -d 'Keep newer list prices, fetched from a clone of the project (default: shiftlog.pricesFrom)'
complete -c git-shiftlog-prices -s n -l dry-run -d 'With --update, only say what would change'
complete -c git-shiftlog-prices -s h -d 'Print this usage'

complete -c git-shiftlog-export -s o -l output -d 'Write to this file, or into this directory if it ends with \'/\' or exists (default: \'-\', stdout)' -r
complete -c git-shiftlog-export -l session -d 'Write only this session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-export -l view -d 'How much is shown at first (focused, normal or full); focused leaves out all but prompts and last answers' -r -f -a "focused\t''
normal\t''
full\t''"
complete -c git-shiftlog-export -l embed -d 'Pack the answers of tools, which JavaScript then unpacks: always, never, or on pages above 8 MiB (auto, the default)' -r -f -a "always\t''
auto\t''
never\t''"
complete -c git-shiftlog-export -l url-template -d 'Link each commit to this address; \'%H\' in it stands for the commit\'s id' -r -f
complete -c git-shiftlog-export -l title -d 'Give a page this title' -r -f
complete -c git-shiftlog-export -l theme -d 'Give a page these colours (auto, light or dark)' -r -f -a "auto\t''
light\t''
dark\t''"
complete -c git-shiftlog-export -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-export -l html -d 'Write pages for a browser'
complete -c git-shiftlog-export -l markdown -d 'Write Markdown'
complete -c git-shiftlog-export -s f -l force -d 'Replace files that are there'
complete -c git-shiftlog-export -l full -d 'Write whole sessions up to their commits'
complete -c git-shiftlog-export -l no-thinking -d 'Leave out the model\'s thinking'
complete -c git-shiftlog-export -l no-tools -d 'Leave out tool calls'
complete -c git-shiftlog-export -l images -d 'Show pictures on pages: PNG, JPEG, GIF and WebP, of 2 MiB at most'
complete -c git-shiftlog-export -l no-patch -d 'Leave out the changes that the commits made'
complete -c git-shiftlog-export -s q -l quiet -d 'Do not say that secrets were removed'
complete -c git-shiftlog-export -s h -d 'Print this usage'

complete -c git-shiftlog-web -l port -d 'Listen on this port (default: one that is free)' -r -f
complete -c git-shiftlog-web -l browser -d 'Open this browser' -r -f -a '(__fish_git_shiftlog_browsers)'
complete -c git-shiftlog-web -l idle -d 'End when nothing was asked for in so many minutes (default: 60)' -r -f
complete -c git-shiftlog-web -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-web -l no-browser -d 'Open no browser'
complete -c git-shiftlog-web -l all-worktrees -d 'Start from what all worktrees have checked out, too'
complete -c git-shiftlog-web -s h -d 'Print this usage'

complete -c git-shiftlog-get -s h -d 'Print this usage'

complete -c git-shiftlog-keys -s h -d 'Print this usage'

complete -c git-shiftlog-index -l path -d 'Use the index of the project in this directory' -r -F
complete -c git-shiftlog-index -n 'not __fish_git_shiftlog_has_one_of init validate status issues keys get' -l agent -d 'With \'scan\' and \'watch\', ask this agent; what changed goes to its provider' -r -f -a '(__fish_git_shiftlog_askers)'
complete -c git-shiftlog-index -n 'not __fish_git_shiftlog_has_one_of init validate status issues keys get' -l model -d 'With \'scan\' and \'watch\', let the agent use this model' -r -f -a '(__fish_git_shiftlog_recorded_models)'
complete -c git-shiftlog-index -l timeout -d 'With \'scan\' and \'watch\', wait this long for an answer (default: 600)' -r -f
complete -c git-shiftlog-index -l debounce -d 'With \'watch\', scan when files have rested this long (default: 30)' -r -f
complete -c git-shiftlog-index -l max-wait -d 'With \'watch\', scan this long after the first change at the latest (default: 300)' -r -f
complete -c git-shiftlog-index -n 'not __fish_git_shiftlog_has_one_of init scan watch status issues keys get' -l locations -d 'With \'validate\', also look for the keywords of issues in the files'
complete -c git-shiftlog-index -n 'not __fish_git_shiftlog_has_one_of init validate status issues keys get' -s y -l yes -d 'With \'scan\' and \'watch\', do not ask before something is sent'
complete -c git-shiftlog-index -n 'not __fish_git_shiftlog_has_one_of validate watch status issues keys get' -s n -l dry-run -d 'Say what would be written or sent, and do nothing'
complete -c git-shiftlog-index -n 'not __fish_git_shiftlog_has_one_of init validate scan watch issues keys get' -l json -d 'With \'status\', print one JSON object'
complete -c git-shiftlog-index -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-index -s h -d 'Print this usage'

complete -c git-shiftlog-lsp -l stdio -d 'Speak over standard input and output, which is the default'
complete -c git-shiftlog-lsp -s h -d 'Print this usage'

complete -c git-shiftlog-mcp -l repo -d 'Serve the repository that this directory is in' -r -F
complete -c git-shiftlog-mcp -l name -d 'Begin the names of tools with this word (shiftlog or claudit), or serve as apex-log-viewer-mcp or sync-ai-rules does' -r -f
complete -c git-shiftlog-mcp -l toolset -d 'Offer these tools (a list of conversations, index, logs and rules, or auto, or all)' -r -f -a '(__fish_git_shiftlog_toolsets)'
complete -c git-shiftlog-mcp -l index -d 'Serve the project index in this directory' -r -F
complete -c git-shiftlog-mcp -s h -d 'Print this usage'

complete -c git-shiftlog-add -l transcript -d 'Read the transcript from a file, or from standard input for \'-\'' -r -F
complete -c git-shiftlog-add -l session -d 'Take the session with this id from the agent\'s own store; with --transcript, name the session' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-add -l agent -d 'Name the agent that wrote it' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-add -l since -d 'Let the increment begin after this segment' -r -f
complete -c git-shiftlog-add -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-add -s f -l force -d 'Record a file also if no message of the agent is found in it'
complete -c git-shiftlog-add -s n -l dry-run -d 'Say what would be recorded, and do nothing'
complete -c git-shiftlog-add -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-add -s h -d 'Print this usage'

complete -c git-shiftlog-import -l agent -d 'Read the store of this agent; may be given several times (default: all)' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-import -l since -d 'Leave out sessions that were last written before a date' -r -f
complete -c git-shiftlog-import -l min-confidence -d 'Record only matches of at least this confidence (high, medium or low)' -r -f -a "high\t''
medium\t''
low\t''"
complete -c git-shiftlog-import -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-import -s n -l dry-run -d 'Say what would be recorded, and do nothing'
complete -c git-shiftlog-import -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-import -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-import -s h -d 'Print this usage'

complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list show drop pull' -l kind -d 'With \'attach\', the kind of the files (test, ci or log; default: log)' -r -f -a "test\t''
ci\t''
log\t''"
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list show drop pull' -l note -d 'With \'attach\', a remark that is kept with the files' -r -f
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -l since -d 'With \'pull\', fetch logs that began since a date, instead of since the last pull' -r -f
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -l until -d 'With \'pull\', fetch logs that began until a date' -r -f
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -l user -d 'With \'pull\', fetch the logs of this user' -r -f
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -l max-count -d 'With \'pull\', fetch at most this many logs, the newest' -r -f
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -s o -l target -d 'With \'pull\', ask this org, by its alias or the name of a user' -r -f
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -l attach -d 'With \'pull\', attach the logs to this commit' -r -f -a '(__fish_git_shiftlog_revisions)'
complete -c git-shiftlog-evidence -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list show drop' -l words -d 'With \'attach\' and \'pull\', store the texts in the archive, without secrets'
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of list attach show drop' -l failed -d 'With \'pull\', fetch only logs whose status tells a failure'
complete -c git-shiftlog-evidence -n 'not __fish_git_shiftlog_has_one_of attach show drop' -l json -d 'With \'list\' and \'pull\', print one JSON object a line'
complete -c git-shiftlog-evidence -s n -l dry-run -d 'Print what would be attached, fetched or dropped, and change nothing'
complete -c git-shiftlog-evidence -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-evidence -s h -d 'Print this usage'

complete -c git-shiftlog-logs -l limit -d 'Fetch this many of the newest logs, from 1 to 200' -r -f
complete -c git-shiftlog-logs -s o -l target -d 'Ask this org, by its alias or the name of a user' -r -f
complete -c git-shiftlog-logs -s n -l dry-run -d 'Print which logs would be fetched, and write nothing'
complete -c git-shiftlog-logs -s h -d 'Print this usage'

complete -c git-shiftlog-sync -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-sync -l notes-only -d 'Leave transcripts out'
complete -c git-shiftlog-sync -l all -d 'Exchange transcripts too, also where shiftlog.push says notes'
complete -c git-shiftlog-sync -s n -l dry-run -d 'Say what would be done, and do nothing'
complete -c git-shiftlog-sync -l json -d 'Print one JSON object'
complete -c git-shiftlog-sync -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-sync -s h -d 'Print this usage'

complete -c git-shiftlog-remap -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-remap -s n -l dry-run -d 'Say what would be carried, and do nothing'
complete -c git-shiftlog-remap -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-remap -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-remap -s h -d 'Print this usage'

complete -c git-shiftlog-migrate -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-migrate -s n -l dry-run -d 'Print what would be done'
complete -c git-shiftlog-migrate -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-migrate -s h -d 'Print this usage'

complete -c git-shiftlog-fsck -l porcelain -d 'Print a stable format for scripts' -f -a "v1\t''"
complete -c git-shiftlog-fsck -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-fsck -l repair -d 'Repair what can be repaired, from history, remotes and the agents\' own files'
complete -c git-shiftlog-fsck -s n -l dry-run -d 'With --repair, print what would be repaired, and repair nothing'
complete -c git-shiftlog-fsck -l recount -d 'With --repair, count tokens and times of older records again'
complete -c git-shiftlog-fsck -l unreachable -d 'List commits with a note that no ref reaches, or that are not here'
complete -c git-shiftlog-fsck -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-fsck -s q -l quiet -d 'Print only problems, and what is repaired'
complete -c git-shiftlog-fsck -s h -d 'Print this usage'

complete -c git-shiftlog-verify -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-verify -l signed -d 'Fail unless each record has a good signature'
complete -c git-shiftlog-verify -l own-tree -d 'Fail unless each record was made for the tree of its commit'
complete -c git-shiftlog-verify -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-verify -s q -l quiet -d 'Print nothing; only the exit status tells'
complete -c git-shiftlog-verify -s h -d 'Print this usage'

complete -c git-shiftlog-scan -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-scan -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-scan -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-scan -l archive -d 'Look at every segment of the archive, recorded on a commit or not'
complete -c git-shiftlog-scan -l branches -d 'Start from all local branches'
complete -c git-shiftlog-scan -l list-rules -d 'List the known kinds of secrets, and who issues them'
complete -c git-shiftlog-scan -l fix -d 'Remove what is found in conversations with \'git shiftlog purge --secrets\''
complete -c git-shiftlog-scan -s y -l yes -d 'With --fix, do not ask'
complete -c git-shiftlog-scan -s n -l dry-run -d 'With --fix, print what would be removed, and remove nothing'
complete -c git-shiftlog-scan -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-scan -s q -l quiet -d 'Print nothing; only the exit status tells'
complete -c git-shiftlog-scan -s z -d 'End each entry with NUL'
complete -c git-shiftlog-scan -s h -d 'Print this usage'

complete -c git-shiftlog-purge -l session -d 'Remove the session with this id, and never store it again' -r -f -a '(__fish_git_shiftlog_sessions)'
complete -c git-shiftlog-purge -l match -d 'Remove what this regular expression matches, and leave the rest' -r -f
complete -c git-shiftlog-purge -l before -d 'Remove what was captured before a date' -r -f
complete -c git-shiftlog-purge -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-purge -l secrets -d 'Remove the secrets that \'git shiftlog scan\' finds'
complete -c git-shiftlog-purge -l received -d 'Remove here what others have removed'
complete -c git-shiftlog-purge -l all -d 'Allow removing everything that is recorded here'
complete -c git-shiftlog-purge -s n -l dry-run -d 'Say what would be removed, and do nothing'
complete -c git-shiftlog-purge -s y -l yes -d 'Do not ask'
complete -c git-shiftlog-purge -l json -d 'Print one JSON object'
complete -c git-shiftlog-purge -s h -d 'Print this usage'

complete -c git-shiftlog-rules -l date -d 'Show dates in this format' -r -f -a '(__fish_git_shiftlog_dates)'
complete -c git-shiftlog-rules -l ref -d 'Use this notes ref' -r -f -a '(__fish_git_shiftlog_notes_refs)'
complete -c git-shiftlog-rules -l color -d 'Use colours (always, never or auto)' -f -a "always\t'Also when the output is no terminal'
never\t'Never'
auto\t'On a terminal, and in our pager'"
complete -c git-shiftlog-rules -l only -d 'Limit the command to this agent' -r -f -a '(__fish_git_shiftlog_rules_agents)'
complete -c git-shiftlog-rules -l home -d 'Use this directory instead of $HOME' -r -F
complete -c git-shiftlog-rules -l scope -d 'Use the store of the home or of the repository (home or repo)' -r -f -a "home\t''
repo\t''"
complete -c git-shiftlog-rules -l profile -d 'With init, write to the places of this profile (current or ai-sync)' -r -f -a "current\t''
ai-sync\t''"
complete -c git-shiftlog-rules -l description -d 'Describe the new rule' -r -f
complete -c git-shiftlog-rules -l file -d 'Take the text of the new rule from this file, or from standard input with \'-\'' -r -F
complete -c git-shiftlog-rules -l exclude -d 'Keep the new rule from these agents' -r -f
complete -c git-shiftlog-rules -s n -l dry-run -d 'Print what would be done, and write nothing'
complete -c git-shiftlog-rules -l diff -d 'Show the changes of texts as a diff'
complete -c git-shiftlog-rules -s v -l verbose -d 'Name each file'
complete -c git-shiftlog-rules -l json -d 'Print one JSON object a line'
complete -c git-shiftlog-rules -s z -d 'End each entry with NUL'
complete -c git-shiftlog-rules -s y -l yes -d 'Do not ask; take the answer that is proposed'
complete -c git-shiftlog-rules -l force -d 'Replace generated files that were changed since (a backup is kept)'
complete -c git-shiftlog-rules -l adopt -d 'Take such changes into the rules'
complete -c git-shiftlog-rules -l follow -d 'Write to where symbolic links lead'
complete -c git-shiftlog-rules -l no-always-apply -d 'Let agents read the new rule only where it fits'
complete -c git-shiftlog-rules -l list -d 'List archived skills'
complete -c git-shiftlog-rules -s h -d 'Print this usage'

complete -c git-shiftlog-doctor -l agent -d 'Look at this agent alone; may be given several times (default: all that are set up)' -r -f -a '(__fish_git_shiftlog_agents)'
complete -c git-shiftlog-doctor -l no-rehearsal -d 'Skip the test in a temporary repository'
complete -c git-shiftlog-doctor -s q -l quiet -d 'Print only what is wrong'
complete -c git-shiftlog-doctor -s h -d 'Print this usage'

complete -c git-shiftlog-deinit -l purge-refs -d 'Also remove everything recorded: all refs of git-shiftlog, and pending captures'
complete -c git-shiftlog-deinit -s n -l dry-run -d 'Print what would be done'
complete -c git-shiftlog-deinit -s y -l yes -d 'Do not ask'
complete -c git-shiftlog-deinit -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-deinit -s h -d 'Print this usage'

complete -c git-shiftlog-install-docs -l prefix -d 'Install below this directory (default: where \'man\' and the shells look)' -r -F
complete -c git-shiftlog-install-docs -l uninstall -d 'Remove the installed files that nobody has changed'
complete -c git-shiftlog-install-docs -s n -l dry-run -d 'Print what would be done'
complete -c git-shiftlog-install-docs -s v -l verbose -d 'Name each file'
complete -c git-shiftlog-install-docs -s q -l quiet -d 'Say nothing when it is done'
complete -c git-shiftlog-install-docs -s h -d 'Print this usage'
