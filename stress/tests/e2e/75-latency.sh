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
		call, _, window = sys.argv[1].partition(".")
		def value(name):
		    one = metrics["latency." + call + "." + name + ("." + window if window else "")]
		    return int([v for k, v in one.items() if k.startswith("value")][0])
		print(*(value(name) for name in ("count", "p50", "p90", "max")))
	P
}

test_latency_log_is_read_by_hdrhistograms_own_program() {
	local jar=${HDRHISTOGRAM_JAR:-/usr/share/java/hdrhistogram.jar} tag window folder checks=() seen theirs ours
	local tags=(malloc op free@64KiB realloc@4KiB malloc.clean malloc.faulted op.faulted malloc@4KiB.clean)
	command -v java >/dev/null || skip "no Java (default-jre-headless)"
	[ -e "$jar" ] || skip "no HdrHistogram (libhdrhistogram-java)"
	cat >mix.yaml <<-'Y'
		question: Are latencies written as others read them?
		target: { allocator: glibc }
		workload:
		  churn: { threads: 2, ops: 50k, size: 16B..256KiB log }
		inject:
		  - late: { call: [mmap, munmap, brk], delay: 2ms, times: 3, optional: true }
	Y
	for tag in "${tags[@]}"; do
		window=${tag#"${tag%%.*}"}
		for seen in count p50 p90 max; do
			checks+=(--check "latency.${tag%%.*}.$seen$window >= 0")
		done
	done
	# The values matter here, not what is thought of them.
	"$HQ" run -q --results=results "${checks[@]}" mix.yaml >out 2>err || fail "$(cat out err)"
	folder=$(dirname "$(find results -name latency.hlog | head -n 1)")
	for tag in "${tags[@]}"; do
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

# The delay is ours, so what waited for it is known: it is never called clean, and nothing is in both or lost.
test_what_faults_take_is_kept_apart_from_the_rest() {
	local folder tag
	cat >late.yaml <<-'Y'
		question: Is what waited for a fault kept apart?
		target: { allocator: glibc }
		workload:
		  churn: { threads: 1, ops: 30k, size: 16B..256KiB log }
		inject:
		  - late: { call: [mmap, munmap, brk], delay: 300ms, times: 1 }
		expect:
		  - latency.op.count.faulted >= 1
		  - latency.op.count.clean >= 1
		  - latency.op.max.faulted >= 300ms
		  - latency.malloc.count.clean >= 1
	Y
	"$HQ" run -q --results=results --format=json --check 'latency.op.count >= 1' late.yaml >out 2>err || fail "$(cat out err)"
	python3 - out <<-'P' || fail "$(cat out)"
		import json, sys
		metrics = {one["name"]: list(one.values())[1] for one in json.load(open(sys.argv[1]))["results"][0]["metrics"]}
		count = "latency.op.count"
		assert metrics[count] == metrics[count + ".clean"] + metrics[count + ".faulted"], metrics
		assert metrics["latency.op.p99_9.clean"] < 300e6, metrics
	P
	folder=$(dirname "$(find results -name latency.hlog | head -n 1)")
	for tag in op op.clean op.faulted malloc@4KiB.clean; do
		grep -q "^Tag=$tag," "$folder/latency.hlog" || fail "latency.hlog has no $tag"
	done
	grep -q '^op.faulted,1,' "$folder/latency.csv" || fail "latency.csv has no curve of op.faulted"
	"$HQ" report "$folder" -o page.html >out 2>err || fail "$(cat out err)"
	grep -q '"op.faulted"' page.html || fail "the page has no curve of op.faulted"
	sed -i '/^inject/,$d' late.yaml
	rm -rf results
	"$HQ" run -q --results=results late.yaml >out 2>err || fail "$(cat out err)"
	! grep -q 'faulted' "$(find results -name latency.hlog)" || fail "a run without faults has what faults took"
}
