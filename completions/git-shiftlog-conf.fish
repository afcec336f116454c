# Makes fish's own completion of Git ask for that of git-shiftlog. It belongs into a folder 'vendor_conf.d', which fish reads
# when it starts: the completion of another command is read only when that command is typed.

function __fish_git_shiftlog_in_git
    set -l words (commandline -xpc 2>/dev/null; or commandline -opc)
    # What Git is to do: 'shiftlog', or an alias of it, which can have more words, such as 'shiftlog log'.
    set -l command (__fish_git_needs_command)
    set -l at (contains -i -- "$command" $words)
    or return
    set -l rest $words[(math $at + 1)..]
    set -l alias __fish_git_alias_(string escape --style=var -- $command)
    if set -q $alias
        set -l meant (string split -n ' ' -- $$alias[1][2])
        set -l own (contains -i -- shiftlog $meant)
        and set -p rest $meant[(math $own + 1)..]
    end
    set rest (string escape -- $rest)
    complete -C "git-shiftlog $rest "(commandline -ct)
end

complete -c git -n __fish_git_needs_command -a shiftlog -d 'Conversations with coding agents'
complete -c git -f -n '__fish_git_using_command shiftlog' -a '(__fish_git_shiftlog_in_git)'
