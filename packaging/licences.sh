#!/usr/bin/env bash
# Prints under which licences the program is distributed: its own, and those of what is linked into
# it, which want to be passed on with it. GOOS and GOARCH say for which system.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

apache='Apache License, Version 2.0: https://www.apache.org/licenses/LICENSE-2.0, on Debian
/usr/share/common-licenses/Apache-2.0'
found=0

licence() { # NAME FOLDER
	local file
	for file in "$2"/LICEN* "$2"/COPYING*; do
		[ -f "$file" ] || continue
		found=$((found + 1))
		printf '\n\n%s:\n\n' "$1"
		if grep -q 'END OF TERMS AND CONDITIONS' "$file"; then
			echo "$apache"
		else
			cat "$file"
		fi
	done
}

cat <<END
mysqlrw, https://github.com/mysqlrw/mysqlrw
Copyright: the authors of mysqlrw
$apache

The program contains the Go runtime and library and these modules:
END
licence "Go, https://go.dev" "$(go env GOROOT)"
modules=$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/mysqlrw | sort -u)
while read -r path release dir; do
	before=$found
	licence "$path $release" "$dir"
	[ "$found" -gt "$before" ] || { echo "$path has no licence file" >&2; exit 1; }
done <<<"$modules"
