#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page that `report`, `run` and `compare` write: whole, without a network, harmless whatever a
# target or a scenario says, and drawn by a browser without an error.

browser() {
	command -v chromium-headless-shell || command -v chromium || command -v chromium-browser
}

# look FILE: has a browser draw the page; what it became goes to ./dom, what its console said to ./console.
look() {
	local program
	program=$(browser) || skip "no Chromium (chromium-headless-shell)"
	timeout 90 "$program" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
		--user-data-dir="$PWD/profile" --virtual-time-budget=20000 --enable-logging=stderr \
		--dump-dom "file://$PWD/$1" >dom 2>console || skip "the browser does not run here: $(tail -n 1 console)"
	! grep -E 'CONSOLE' console || fail "the console is not silent"
	grep -o '<body[^>]*>' dom >body
	says body 'data-ready="yes"'
	says body 'data-errors="0"'
}

# Every chart that was asked for was drawn, and there are so many at least.
drawn() {
	local wanted
	wanted=$(sed 's/.*data-wanted="\([0-9]*\)".*/\1/' body)
	[ "$wanted" -ge "$1" ] || fail "only $wanted charts"
	says body "data-drawn=\"$wanted\""
}

has_charts() {
	grep -q 'Chart.js v' "$1" || skip "built without Chart.js (libjs-chart.js)"
}

small() {
	scenario small <<-'Y'
		question: Is it drawn?
		target: { allocator: glibc }
		workload:
		  churn: { threads: 1, ops: 20k }
		inject:
		  - refuse: { call: madvise, error: ENOMEM, optional: true }
	Y
}

test_a_run_is_drawn() {
	small
	expect 0 "$HQ" run -q --results runs --format text,html:page.html small.yaml
	has_charts page.html
	look page.html
	drawn 2
	says dom 'small on glibc'
	says dom 'rss.peak'
}

test_what_faults_took_is_drawn_apart() {
	scenario late <<-'Y'
		question: Is it drawn?
		target: { allocator: glibc }
		workload:
		  churn: { threads: 1, ops: 20k, size: 16B..256KiB log }
		inject:
		  - late: { call: [mmap, munmap, brk], delay: 2ms, times: 3 }
	Y
	expect 0 "$HQ" run -q --results runs --format text,html:page.html late.yaml
	has_charts page.html
	look page.html
	drawn 3
	says dom 'aria-label="latency in the wake of faults, and outside"'
}

test_runs_become_a_page_later() {
	small
	expect 0 "$HQ" run -q --results runs --repeat 2 small.yaml
	expect 0 "$HQ" report runs/latest -o page.html
	expect 0 "$HQ" report runs/latest/small/glibc/42 -o one.html
	has_charts page.html
	look page.html
	drawn 4
}

test_a_comparison_is_drawn() {
	small
	expect 0 "$HQ" compare -q --results runs --a glibc --b bedrock --pairs 2 --format html:page.html small.yaml
	has_charts page.html
	look page.html
	drawn 1
	says dom 'resident memory of both sides'
}

test_sides_beside_the_two_are_columns() {
	small
	expect 0 "$HQ" compare -q --results none --a glibc --b bedrock --beside env.SIDE=other --pairs 2 \
		--format text,html:page.html small.yaml
	says out 'beside them .* A .* B .* env.SIDE=other'
	look page.html
	says dom '<th[^>]*>env.SIDE=other</th>'
}

test_a_side_beside_the_two_that_fails_is_left_out() {
	cat >fails.sh <<-'S'
		#!/bin/sh
		[ "$SIDE" != other ]
	S
	chmod +x fails.sh
	expect 0 "$HQ" compare -q --results none --a env.SIDE=a --b env.SIDE=b --beside env.SIDE=other --pairs 2 -- ./fails.sh
	says out 'env.SIDE=other has no figures: '
}

test_hostile_text_stays_text() {
	scenario hostile <<-'Y'
		question: "</script><script>document.title = 'taken'</script><img src=x onerror=document.title='taken'> &amp; '\""
		target: { allocator: glibc }
		workload:
		  churn: { threads: 1, ops: 1k }
		expect:
		  - ops.count <= 1
	Y
	expect 1 "$HQ" run -q --results runs --format html:page.html hostile.yaml
	[ "$(grep -c '<script' page.html)" = "$(grep -c '</script>' page.html)" ] || fail "unbalanced scripts"
	! grep -q 'document.title = .taken.</script>' page.html || fail "text became markup"
	look page.html
	! grep -q '<title>taken' dom || fail "text was run"
	! grep -q '<img' dom || fail "text became an element"
	says dom 'FAIL'
}

test_page_asks_no_network() {
	small
	expect 0 "$HQ" run -q --results runs --format html:page.html small.yaml
	# Nothing is loaded: no source, no style sheet, no import.
	! grep -nE '<(script|img|link|iframe)[^>]*(src|href)=' page.html || fail "something is loaded"
	! grep -n '@import' page.html || fail "a style is loaded"
}

test_what_is_no_run_is_told() {
	mkdir -p empty broken
	echo '{ "verdict": ' >broken/verdict.json
	expect 2 "$HQ" report empty -o page.html
	says err 'empty has no run in it'
	expect 2 "$HQ" report broken -o page.html
	says err 'broken is no run'
	expect 2 "$HQ" report nowhere -o page.html
	says err 'nowhere: No such file'
	[ ! -e page.html ] || fail "a page of nothing"
}

test_half_a_run_is_shown() {
	small
	expect 0 "$HQ" run -q --results runs small.yaml
	local run=runs/latest/small/glibc/42
	head -c 300 "$run/faults.jsonl" >half && mv half "$run/faults.jsonl"
	printf 'time_ns,rss_bytes\nx,y\n1,' >"$run/samples.csv"
	rm "$run/latency.csv"
	expect 0 "$HQ" report runs/latest -o page.html
	look page.html
}
