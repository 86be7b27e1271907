#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# latency.hlog in the hands of HdrHistogram's own program: the counts and values that it finds are those
# of the report. HDRHISTOGRAM_JAR names another jar than Debian's.

# summary TAG FILE: "COUNT P50 P90 MAX" as HistogramLogProcessor finds them, in nanoseconds.
summary() {
	timeout 60 java -cp "$jar" org.HdrHistogram.HistogramLogProcessor -i "$2" -tag "$1" \
		-outputValueUnitRatio 1 >table 2>problems || fail "the reader says: $(cat problems)"
	python3 - table <<-'P'
		import re, sys
		text = open(sys.argv[1]).read()
		rows = {float(r[1]): float(r[0]) for r in
		        (line.split() for line in text.splitlines()) if len(r) >= 3 and r[0][0].isdigit()}
		count = re.search(r"Total count *= *(\d+)", text)[1]
		most = re.search(r"Max *= *([0-9.]+)", text)[1]
		print(count, int(rows[0.5]), int(rows[0.9]), int(float(most)))
	P
}

# reported TAG FILE: the same from verdict.json.
reported() {
	python3 - "$1" "$2" <<-'P'
		import json, sys
		metrics = {one["name"]: one for one in json.load(open(sys.argv[2]))["metrics"]}
		def value(name):
		    one = metrics["latency." + sys.argv[1] + "." + name]
		    return int([v for k, v in one.items() if k.startswith("value")][0])
		print(*(value(name) for name in ("count", "p50", "p90", "max")))
	P
}

test_latency_log_is_read_by_hdrhistograms_own_program() {
	local jar=${HDRHISTOGRAM_JAR:-/usr/share/java/hdrhistogram.jar} tag folder checks=() seen theirs ours
	command -v java >/dev/null || skip "no Java (default-jre-headless)"
	[ -e "$jar" ] || skip "no HdrHistogram (libhdrhistogram-java)"
	cat >mix.yaml <<-'Y'
		question: Are latencies written as others read them?
		target: { allocator: glibc }
		workload:
		  churn: { threads: 2, ops: 50k, size: 16B..256KiB log }
	Y
	for tag in malloc free realloc op malloc@256B free@64KiB realloc@4KiB; do
		for seen in count p50 p90 max; do
			checks+=(--check "latency.$tag.$seen >= 0")
		done
	done
	# The values matter here, not what is thought of them.
	"$HQ" run -q --results=results "${checks[@]}" mix.yaml >out 2>err || fail "$(cat out err)"
	folder=$(dirname "$(find results -name latency.hlog | head -n 1)")
	for tag in malloc free realloc op malloc@256B free@64KiB realloc@4KiB; do
		read -r -a theirs < <(summary "$tag" "$folder/latency.hlog")
		read -r -a ours < <(reported "$tag" "$folder/verdict.json")
		if [ "${#theirs[@]}" != 4 ] || [ "${theirs[*]:0:3}" != "${ours[*]:0:3}" ]; then
			fail "$tag: read ${theirs[*]}, reported ${ours[*]}"
		fi
		# The reader takes the largest for the end of its bucket, which is 1/128 above it at most.
		if [ "${theirs[3]}" -lt "${ours[3]}" ] || [ "${theirs[3]}" -gt $((ours[3] + ours[3] / 128 + 1)) ]; then
			fail "$tag: largest read ${theirs[3]}, reported ${ours[3]}"
		fi
	done
}
