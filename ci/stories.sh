#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the stories (scenarios/stories, or those that are named) as comparisons, each with a page of its own under
# results/stories. Exits with the worst of their statuses; the last line counts.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
build=${BUILD:-build} told=0 open=0 broken=0 worst=0
stories=("$@")

if [ $# = 0 ]; then
	for file in scenarios/stories/*.yaml; do
		stories+=("$(basename "$file" .yaml)")
	done
fi
mkdir -p results/stories
for story in "${stories[@]}"; do
	page=results/stories/$story.html
	echo "== $story: $page"
	"$build/heapquake" compare --format "text,html:$page" "$story"
	status=$?
	case $status in
	0) told=$((told + 1)) ;;
	4) open=$((open + 1)) ;;
	130 | 143) exit $status ;;
	*) broken=$((broken + 1)) ;;
	esac
	# Broken is worse than open.
	if [ $status != 0 ] && { [ $worst = 0 ] || [ $worst = 4 ]; }; then worst=$status; fi
	echo
done
echo "${#stories[@]} stories: $told told again, $open open, $broken not"
exit $worst
