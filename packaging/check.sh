#!/usr/bin/env bash
# Builds the package twice, looks at the unit and the manual pages, and installs, runs and purges the
# package in a folder that is its root. What is not here to check with is said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

work=$(mktemp -d "${TMPDIR:-/tmp}/mysqlrw-package.XXXXXX")
trap 'rm -rf "$work"' EXIT

die() {
	printf '%s\n' "$*" >&2
	exit 1
}

has() { command -v "$1" >/dev/null || { echo "$1 is not installed: $2"; return 1; }; }

# expect runs a command that has to end with a code, and keeps its output.
expect() { # CODE COMMAND...
	local code=$1 got=0
	shift
	"$@" >"$work/out" 2>&1 || got=$?
	[ "$got" -eq "$code" ] || die "$* ended with $got and not with $code:" "$(cat "$work/out")"
}

pages() {
	local page
	has mandoc "the manual pages are not checked" || return 0
	for page in packaging/man/*.[0-9]; do
		mandoc -T lint -W warning "$page" || die "mandoc warns of $page"
	done
}

unit() { # the program
	has systemd-analyze "the unit is not checked" || return 0
	sed "s|=/usr/bin/mysqlrw |=$1 |" packaging/systemd/mysqlrw.service >"$work/mysqlrw.service"
	expect 0 systemd-analyze --man=no verify "$work/mysqlrw.service"
	[ ! -s "$work/out" ] || die "systemd-analyze verify says:" "$(cat "$work/out")"
	expect 0 systemd-analyze security --offline=true --threshold=15 "$work/mysqlrw.service"
	tail -n 1 "$work/out"
}

build() {
	local folder
	for folder in first second; do
		packaging/deb/build.sh "$work/$folder" >"$work/path" 2>"$work/log" || die "build.sh fails:" "$(cat "$work/log")"
		deb=$(cat "$work/path")
	done
	cmp "$work/first/${deb##*/}" "$deb" || die "built twice, the package is not the same"
	sha256sum "$deb" | sed "s|  .*/|  |"
}

# in_root is dpkg with a root that has nothing in it: the scripts run outside, and find it in DPKG_ROOT.
in_root() { dpkg --root="$root" --log="$work/dpkg.log" --force-script-chrootless --force-depends "$@"; }

installed() {
	[ "$(id -u)" -eq 0 ] || { echo "only root can install: the package is not installed"; return 0; }
	has systemd-sysusers "the package is not installed" || return 0
	root=$work/root
	local conf=$root/etc/mysqlrw/mysqlrw.toml credential=/run/credentials/mysqlrw.service/monitor ids left
	mkdir -p "$root"/var/lib/dpkg/{info,updates} "$root/var/log"
	touch "$root/var/lib/dpkg/status"
	expect 0 in_root -i "$deb"
	expect 0 chroot "$root" /usr/bin/mysqlrw version
	cat "$work/out"
	ids=$(awk -F: '$1 == "mysqlrw" { print $3 ":" $4 }' "$root/etc/passwd")
	[ "$(stat -c %a:%u:%g "$conf")" = "640:0:${ids#*:}" ] || die "mode and owner of the configuration: $(stat -c %a:%u:%g "$conf")"

	# What the shipped file lacks is the password, and it says so; the service's account may read both.
	expect 2 chroot --userspec="$ids" "$root" /usr/bin/mysqlrw check-config /etc/mysqlrw/mysqlrw.toml
	[ "$(grep -vc warning: "$work/out")" -eq 1 ] && grep -q 'password-file: no such file' "$work/out" ||
		die "check-config says of the shipped file:" "$(cat "$work/out")"
	install -D -m 444 <(echo secret) "$root$credential"
	expect 0 chroot --userspec="$ids" "$root" /usr/bin/mysqlrw check-config /etc/mysqlrw/mysqlrw.toml
	rm -r "$root/run"

	# Installed over itself it keeps what was changed.
	echo "# changed" >>"$conf"
	chmod 600 "$conf"
	expect 0 in_root -i "$deb"
	[ "$(tail -n 1 "$conf") $(stat -c %a "$conf")" = "# changed 600" ] || die "the configuration was changed"

	expect 0 in_root --remove mysqlrw
	[ -e "$conf" ] || die "the configuration is gone before a purge"
	expect 0 in_root --purge mysqlrw
	left=$(cd "$root" && find . ! -type d ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './etc/*')
	left+=$(cd "$root" && find etc ! -type d ! -name '*-' -exec grep -l mysqlrw {} + || true)
	[ -z "$left" ] || die "a purge leaves:" "$left"
	echo "installed, run, installed again, removed and purged"
}

linted() {
	has lintian "the package is not linted" || return 0
	# There is no address to write to; DEBEMAIL gives one.
	lintian --allow-root --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$deb"
}

pages
build
dpkg-deb -x "$deb" "$work/files"
unit "$work/files/usr/bin/mysqlrw"
installed
linted
