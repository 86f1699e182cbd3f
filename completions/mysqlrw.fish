# fish completion for mysqlrw; install with: mysqlrw completion fish > ~/.config/fish/completions/mysqlrw.fish
function __mysqlrw_complete
    set -l words (commandline -opc) (commandline -ct)
    command $words[1] __complete -- $words[2..-1] 2>/dev/null
end
complete -c mysqlrw -a '(__mysqlrw_complete)'
