#!/usr/bin/env bash
# Builds the Debian package into the folder that is given, and prints its path. The same commit gives
# the same bytes with the same Go and dpkg. It needs Go, git and dpkg-deb; nothing is asked of root.
#
#   VERSION            such as 1.2.3; without it the tag of the commit, else its date and name
#   ARCH               amd64, arm64, ...; without it this machine's
#   DEBEMAIL, DEBFULLNAME   whose package it is
#   SOURCE_DATE_EPOCH  without it the time of the commit
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
umask 022
export LC_ALL=C TZ=UTC

die() {
	echo "build.sh: $*" >&2
	exit 1
}

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
arch=${ARCH:-$(dpkg --print-architecture)}
version=${VERSION:-$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || true)}
version=${version#v}
version=${version:-0~git$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$(git rev-parse --short=12 HEAD)}
version=${version//-/\~} # 1.0.0-rc.1 is before 1.0.0, and a dash would be a revision of Debian's
maintainer="${DEBFULLNAME:-mysqlrw authors} <${DEBEMAIL:-mysqlrw@localhost}>"

case $arch in
i386) goarch=386 ;;
armhf) goarch=arm ;;
ppc64el) goarch=ppc64le ;;
*) goarch=$arch ;;
esac

stage=$(mktemp -d "${TMPDIR:-/tmp}/mysqlrw-deb.XXXXXX")
trap 'rm -rf "$stage"' EXIT
root=$stage/root
doc=$root/usr/share/doc/mysqlrw

CGO_ENABLED=0 GOOS=linux GOARCH=$goarch go build -trimpath -buildvcs=auto -ldflags='-s -w -buildid=' \
	-o "$stage/mysqlrw" ./cmd/mysqlrw
install -D -m 755 "$stage/mysqlrw" "$root/usr/bin/mysqlrw"
install -D -m 644 packaging/systemd/mysqlrw.service "$root/usr/lib/systemd/system/mysqlrw.service"
install -D -m 644 packaging/systemd/sysusers.conf "$root/usr/lib/sysusers.d/mysqlrw.conf"
install -D -m 644 completions/mysqlrw.bash "$root/usr/share/bash-completion/completions/mysqlrw"
install -D -m 644 completions/mysqlrw.zsh "$root/usr/share/zsh/vendor-completions/_mysqlrw"
install -D -m 644 completions/mysqlrw.fish "$root/usr/share/fish/vendor_completions.d/mysqlrw.fish"
install -D -m 644 packaging/deb/lintian-overrides "$root/usr/share/lintian/overrides/mysqlrw"
install -D -m 644 -t "$doc" README.md
install -D -m 644 -t "$doc/docs" docs/*.md
for page in packaging/man/*.[0-9]; do
	install -D -m 644 -t "$root/usr/share/man/man${page##*.}" "$page"
done
gzip -9n "$root"/usr/share/man/man?/*

# The sample, with the password as the unit hands it over, and without an example of an account.
conf=$root/etc/mysqlrw/mysqlrw.toml
mkdir -p "${conf%/*}"
sed -e '1i\
# Before the first start: your servers in place of 10.0.0.1 to 10.0.0.3 below, and the password of\
# the account of [monitor] in the file /etc/credstore/mysqlrw.monitor.\
#' \
	-e 's|^#password-file = "/run/secrets/mysqlrw"$|password-file = "/run/credentials/mysqlrw.service/monitor"|' \
	-e 's|^#token-file = "/run/secrets/mysqlrw-admin"$|#token-file = "/run/credentials/mysqlrw.service/admin"|' \
	-e 's|^password-env = "MYSQLRW_MONITOR_PASSWORD"$|#&|' \
	-e '/^\[\[user\]\]$/,$ s|^[^#]|#&|' pkg/config/sample.toml >"$conf"
chmod 640 "$conf"
grep -qx 'password-file = "/run/credentials/mysqlrw.service/monitor"' "$conf" &&
	grep -qx '#token-file = "/run/credentials/mysqlrw.service/admin"' "$conf" &&
	! grep -Eqx '(password-env = .*|\[\[user\]\])' "$conf" || die "the sample is not what it was: see the lines above this one"

{
	echo "mysqlrw ($version) unstable; urgency=medium"
	echo
	echo "  * See CHANGELOG.md in https://github.com/mysqlrw/mysqlrw"
	echo
	echo " -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$doc/changelog.gz"

GOOS=linux GOARCH=$goarch packaging/licences.sh >"$doc/copyright"

mkdir "$root/DEBIAN"
for script in postinst prerm postrm; do
	install -m 755 "packaging/deb/$script" "$root/DEBIAN/$script"
done
echo /etc/mysqlrw/mysqlrw.toml >"$root/DEBIAN/conffiles"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
size=$(find "$root" -path "$root/DEBIAN" -prune -o -printf '%y %s\n' | awk '{ n += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print n }')
sed -e "s|@VERSION@|$version|; s|@ARCH@|$arch|; s|@MAINTAINER@|$maintainer|; s|@SIZE@|$size|" \
	packaging/deb/control >"$root/DEBIAN/control"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

deb=$out/mysqlrw_${version}_$arch.deb
DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >&2
echo "$deb"
