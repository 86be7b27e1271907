#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages a job needs and does not find: setup.sh build|check|stress|programs|ports [--print].
# As root or with passwordless sudo it installs; otherwise it prints the one command and fails, unless
# only optional ones are missing (what lacks them is skipped by the job itself, with the reason).
set -euo pipefail

build="gcc make pkg-config libc6-dev libyaml-dev libjansson-dev libxml2-dev zlib1g-dev libgsl-dev"
page="libjs-chart.js"
check="$build libcriterion-dev python3-cram clang-format shellcheck strace valgrind procps python3"
programs="libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 libtbbmalloc2 stress-ng rocksdb-tools redis-server redis-tools"
# What reads our latency logs beside us.
reader="default-jre-headless libhdrhistogram-java"
# What `make programs` runs besides; large, so that nothing else installs it.
real="clang git libcriterion-dev libpython3.11-testsuite nodejs perl postgresql python3 sqlite3"

case ${1:-} in
build) needed=$build optional=$page ;;
check) needed=$check optional="$page chromium-headless-shell $programs $reader musl-tools g++" ;;
stress) needed=$build optional="$page $programs" ;;
programs) needed=$build optional="$programs $real" ;;
ports) needed=$build optional="musl-tools gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" ;;
*)
	echo "usage: setup.sh build|check|stress|programs|ports [--print]" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system; assuming that these are there: $needed" >&2
	exit 0
fi

missing() {
	local package
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
			printf '%s ' "$package"
	done
}

# shellcheck disable=SC2086 # lists of packages are meant to be split
want_needed=$(missing $needed)
# shellcheck disable=SC2086
want_optional=$(missing $optional)
[ -n "$want_needed$want_optional" ] || exit 0
command="apt-get install -y --no-install-recommends $want_needed$want_optional"

if [ "${2:-}" = --print ]; then
	echo "$command"
	exit 0
fi
if [ "$(id -u)" = 0 ]; then
	as_root=
elif sudo -n true 2>/dev/null; then
	as_root="sudo -n"
else
	echo "setup: missing packages; run: sudo $command" >&2
	[ -z "$want_needed" ]
	exit
fi

export DEBIAN_FRONTEND=noninteractive
install_all() {
	# Services that come with a package (redis) must not start here.
	local policy=/usr/sbin/policy-rc.d made=
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
		$as_root chmod 755 $policy
		made=1
	fi
	# shellcheck disable=SC2086
	$as_root env DEBIAN_FRONTEND=noninteractive $command -qq >/dev/null || result=$?
	[ -z "$made" ] || $as_root rm -f $policy
	return "${result:-0}"
}

echo "setup: installing $want_needed$want_optional" >&2
if ! install_all; then
	$as_root apt-get update -qq
	install_all || {
		echo "setup: this failed, look at its messages: $as_root $command" >&2
		# shellcheck disable=SC2086
		[ -z "$(missing $needed)" ]
	}
fi
