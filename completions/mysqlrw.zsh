#compdef mysqlrw
# zsh completion for mysqlrw; install with: mysqlrw completion zsh > "${fpath[1]}/_mysqlrw"
_mysqlrw() {
    local line word about
    local -a described
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        about=${line#*$'\t'}
        described+=("${word//:/\\:}:$about")
    done < <("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#described} )); then
        _describe -V mysqlrw described
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _mysqlrw ]]; then
    _mysqlrw "$@"
else
    compdef _mysqlrw mysqlrw
fi
