#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What end-to-end tests share. A test fails by `fail`, skips by `skip REASON`.

fail() {
	echo "$*"
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# expect STATUS COMMAND...: runs it, keeps stdout in ./out and stderr in ./err, compares the exit status.
expect() {
	local want=$1 got=0
	shift
	"$@" >out 2>err || got=$?
	[ "$got" = "$want" ] && return
	echo "expected status $want, got $got: $*"
	tail -n 30 out err
	exit 1
}

# says FILE PATTERN: the file has a line that matches.
says() {
	grep -qE -- "$2" "$1" || {
		echo "$1 does not say: $2"
		tail -n 30 "$1"
		exit 1
	}
}

# wait_for SECONDS COMMAND...: polls until it succeeds.
wait_for() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -le "$deadline" ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}

# The processes that descend from PID.
descendants() {
	local child
	for child in $(pgrep -P "$1"); do
		echo "$child"
		descendants "$child"
	done
}

# The host process below the controller PID.
host_of() {
	local pid
	for pid in $(descendants "$1"); do
		[ "$(readlink "/proc/$pid/exe")" = "$BUILD/heapquake-host" ] && echo "$pid"
	done
}

has_host() {
	[ -n "$(host_of "$1")" ]
}

# What a test that failed has left running, or stopped, ends with it: run.sh calls it at the end of each.
end_jobs() {
	local job
	for job in $(jobs -pr); do
		# shellcheck disable=SC2046
		kill -KILL "$job" $(descendants "$job") 2>/dev/null
	done
}

gone() {
	[ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# scenario NAME: writes NAME.yaml from stdin.
scenario() {
	cat >"$1.yaml"
}

# A scenario that keeps a host busy long enough to be interfered with.
busy() {
	scenario busy <<-'Y'
		question: Is it still there?
		workload:
		  churn: { threads: 2, ops: 50M }
		run: { timeout: 100s }
	Y
}
