Runs and their exit statuses. Times are cut out; nothing is left behind.

  $ cd "$TOP/stress/tests/good"
  $ hq() { "$HEAPQUAKE" run --results=none -q "$@" 2>&1; }
  $ last() { tail -1 | sed 's/, [0-9.]* s)/)/'; }

  $ hq program.yaml > "$CRAMTMP/out"; echo $?
  0
  $ last < "$CRAMTMP/out"
  1 scenario: 1 pass (seed 42)

  $ hq missing-program.yaml > "$CRAMTMP/out"; echo $?
  77
  $ last < "$CRAMTMP/out"
  1 scenario: 1 skip (seed 42)

  $ hq --require missing-program.yaml > "$CRAMTMP/out"; echo $?
  1

  $ hq known.yaml > "$CRAMTMP/out"; echo $?
  0
  $ last < "$CRAMTMP/out"
  1 scenario: 1 xfail (seed 42)

  $ hq -- sh -c 'exit 3' > "$CRAMTMP/out"; echo $?
  1
  $ last < "$CRAMTMP/out"
  1 scenario: 1 fail (seed 42)

  $ hq --pass-status -- sh -c 'exit 3' > "$CRAMTMP/out"; echo $?
  3

  $ hq --tags nothing program.yaml; echo $?
  heapquake run: nothing matched
  5

A rule that must fire and does not makes the case inconclusive.

  $ hq --inject madvise:advice=PAGEOUT:error=EINVAL program.yaml > "$CRAMTMP/out"; echo $?
  4

The program owns stdout, the report goes to stderr or to a file.

  $ "$HEAPQUAKE" run --results=none -q -- sh -c 'sleep 0.3; echo hello' 2> /dev/null
  hello
  $ "$HEAPQUAKE" run --results=none -q -o "$CRAMTMP/report" -- sh -c 'sleep 0.3; echo hello' 2> /dev/null
  hello
  $ last < "$CRAMTMP/report"
  1 scenario: 1 pass (seed 42)

  $ "$HEAPQUAKE" run --results=none -q --format "json:$CRAMTMP/x.json,tap:$CRAMTMP/x.tap" program.yaml | last
  1 scenario: 1 pass (seed 42)
  $ python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["counts"]["PASS"])' "$CRAMTMP/x.json"
  1
  $ ls "$CRAMTMP" | grep -c '[.]tmp'
  0
  [1]

A run is replayed from its folder.

  $ "$HEAPQUAKE" run --results="$CRAMTMP/results" -q program.yaml > /dev/null 2>&1
  $ "$HEAPQUAKE" replay --results="$CRAMTMP/results" -q "$CRAMTMP"/results/latest/program/glibc/42 2>&1 >/dev/null
  heapquake replay: same verdict, PASS
  heapquake replay: same faults, 0
  $ "$HEAPQUAKE" replay "$CRAMTMP/results"
  heapquake replay: */results/plan.yaml: No such file or directory (glob)
  [2]
