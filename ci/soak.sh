#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Looks for false alarms: every scenario without its faults, on every allocator found here, seed after
# seed, until the time is over. Nothing goes wrong in such a run, so whatever is found is a promise that
# the allocator broke on a good day, or a mistake of ours; both must be looked at.
# SOAK_MINUTES (5), SOAK_JOBS (4), SOAK_SEED (the first; the time in seconds) and SOAK_SCENARIOS choose.
# Scenarios of the selftest are made to accuse one allocator and stay out, and so do the real programs of
# `make programs`, which take minutes. The last batch is finished.
# Exit status: 1 after any FAIL, XPASS, INCONCLUSIVE or ERROR.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${BUILD:-build}
minutes=${SOAK_MINUTES:-5}
jobs=${SOAK_JOBS:-4}
first=${SOAK_SEED:-$(date +%s)}
read -ra scenarios <<<"${SOAK_SCENARIOS:-scenarios}"
folder=results/soak-$(date +%Y%m%d-%H%M%S)
mkdir -p "$folder"
end=$((SECONDS + minutes * 60))
seed=$first broken=0

# One batch: all scenarios, all allocators, one seed. What went well leaves only its line in `runs`.
batch() {
	local status
	"$build/heapquake" run --no-faults --quiet --jobs="$jobs" --seed="$seed" --allocator=all \
		--tags="not selftest and not programs" --results="$folder/$seed" \
		--format="text:$folder/$seed.txt,json:$folder/$seed.json" "${scenarios[@]}"
	status=$?
	case $status in
	0) rm -rf "${folder:?}/$seed" "$folder/$seed.txt" ;;
	1 | 3 | 4) ;;
	*)
		echo "soak: heapquake ended with status $status"
		return 1
		;;
	esac
}

while [ $broken = 0 ] && { [ $SECONDS -lt $end ] || [ "$seed" = "$first" ]; }; do
	batch || broken=1
	seed=$((seed + 1))
done

python3 - "$folder" <<'P' || broken=1
import collections, glob, json, sys

counts, alarms = collections.Counter(), []
for name in sorted(glob.glob(sys.argv[1] + "/*.json")):
    for case in json.load(open(name))["results"]:
        counts[case["verdict"]] += 1
        if case["verdict"] not in ("PASS", "XFAIL", "SKIP"):
            alarms.append(case)
for case in alarms:
    texts = [f["text"] for f in case["findings"]] or [case["reason"]]
    print("%s %s on %s: %s" % (case["verdict"], case["scenario"], case["allocator"], "; ".join(texts)))
    print("  reproduce: %s" % case["repro"])
kinds = ", ".join("%d %s" % (count, kind.lower()) for kind, count in sorted(counts.items()))
ran = sum(counts.values()) - counts["SKIP"]
print("%d runs, %d false alarms (%s)" % (ran, len(alarms), kinds))
sys.exit(1 if alarms or not ran else 0)
P
[ $broken = 0 ] && rm -rf "$folder"
[ $broken = 0 ]
