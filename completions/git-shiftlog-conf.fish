# Makes fish's own completion of Git ask for that of git-shiftlog. It belongs into a folder 'vendor_conf.d', which fish reads
# when it starts: the completion of another command is read only when that command is typed.

function __fish_git_shiftlog_in_git
    set -l words (commandline -xpc 2>/dev/null; or commandline -opc)
    set -l at (contains -i -- shiftlog $words)
    or return
    set -l rest (string escape -- $words[(math $at + 1)..])
    complete -C "git-shiftlog $rest "(commandline -ct)
end

complete -c git -n __fish_git_needs_command -a shiftlog -d 'Conversations with coding agents'
complete -c git -f -n '__fish_git_using_command shiftlog' -a '(__fish_git_shiftlog_in_git)'
