Two settings of one scenario, in pairs: a table, claims, and a last line.

  $ cd "$TOP/stress/tests/good"
  $ compare() { "$HEAPQUAKE" compare --results none -q "$@"; }
  $ compare sample.yaml --no-faults --set 'workload.threads=1' --a env.SIDE=a --b env.SIDE=b --pairs 2 > "$CRAMTMP/out"
  $ sed -n '/ runs:/p; /^  metric/p; $p' "$CRAMTMP/out" | sed 's/[0-9]* metrics.*/N metrics/; s/  */ /g'
   A (env.SIDE=a), 2 runs:
   B (env.SIDE=b), 2 runs:
   metric A B change 95 % interval p q 
  sample: 2 pairs, N metrics

A bare word is an allocator; nothing runs in a dry run.

  $ compare sample.yaml --a glibc --b bedrock --dry-run
  A: sample on glibc (glibc)
  B: sample on bedrock (bedrock)

Further sides stand beside the two: columns without claims, six at most.

  $ compare sample.yaml --a glibc --b bedrock --beside glibc --beside env.SIDE=c --dry-run
  A: sample on glibc (glibc)
  B: sample on bedrock (bedrock)
  C: sample on glibc (glibc)
  D: sample on [a-z]+ \(env.SIDE=c\) (re)
  $ compare sample.yaml --no-faults --a env.SIDE=a --b env.SIDE=b --beside env.SIDE=c --pairs 2 > "$CRAMTMP/out"
  $ sed -n '/beside them/p; /changes are against/p' "$CRAMTMP/out" | sed 's/  */ /g'
   beside them A B env.SIDE=c 
   changes are against A; * q is at most 0.05 among those of that side
  $ compare sample.yaml --a glibc --b bedrock $(for i in 1 2 3 4 5 6 7; do echo --beside env.SIDE=$i; done)
  heapquake compare: more than six sides beside the two
  [2]

JSON has every value; the line for people goes elsewhere then.

  $ compare sample.yaml --no-faults --aa --pairs 2 --format json 2>"$CRAMTMP/err" | python3 -c '
  > import json, sys
  > whole = json.load(sys.stdin)
  > wall = [one for one in whole["series"] if one["metric"] == "time.wall"][0]
  > print(whole["pairs"], whole["same_sides"], len(wall["a"]), len(wall["b"]), wall["test"])'
  2 True 2 2 welch
  $ grep -c 'sample: 2 pairs' "$CRAMTMP/err"
  1

A claim that is broken is status 1, one that cannot be told is 4.

  $ compare sample.yaml --no-faults --aa --pairs 2 --expect 'heap.mallocs >= 5%' > "$CRAMTMP/out"
  [1]
  $ grep -o '^  broken: heap.mallocs >= 5%' "$CRAMTMP/out"
    broken: heap.mallocs >= 5%
  $ compare sample.yaml --no-faults --aa --pairs 2 --expect 'heap.mallocs <= 5%' > "$CRAMTMP/out"
  $ compare sample.yaml --no-faults --aa --pairs 2 --expect 'guard.calls <= 5%' > "$CRAMTMP/out"
  [4]

A fault that never fired is told: the figures count, but not for what was wanted.

  $ compare sample.yaml --no-faults --inject mremap:error=ENOMEM --aa --pairs 2 2>&1 > "$CRAMTMP/out"
  heapquake compare: INCONCLUSIVE on side [AB]: rule '.*' never fired (re)

A program is compared by what is around it.

  $ "$HEAPQUAKE" compare --results none -q --a glibc --b bedrock --pairs 2 -- true | tail -n 1 | sed 's/ metrics.*//; s/[0-9]*$/N/'
  command: 2 pairs, N
  $ compare --a run.timeout=5s --b bedrock -- true
  heapquake compare: run.timeout=5s: of a program only allocator=NAME and env.NAME=VALUE can be set
  [2]

What makes no sense is refused before anything runs.

  $ compare sample.yaml
  heapquake compare: say what differs: --a KEY=VALUE and --b KEY=VALUE, or --aa
  [2]
  $ compare sample.yaml --aa --b glibc
  heapquake compare: --aa runs side A against itself; leave --b out
  [2]
  $ compare sample.yaml --a glibc --b bedrock --expect 'rss.peek <= 3%'
  heapquake compare: 'rss.peek <= 3%': at 'rss.peek': no metric 'rss.peek'; did you mean 'rss.peak'?
  [2]
  $ compare sample.yaml --a workload.thread=1 --b glibc
  heapquake: sample.yaml: unknown key 'thread' in workload none; did you mean 'threads'?
  [2]
  $ compare sample.yaml --a allocator=all --b glibc
  heapquake compare: side A has [0-9]+ cases; a comparison needs one scenario, and one allocator a side (re)
  [2]
  $ compare sample.yaml --a glibc --b bedrock --pairs 1
  heapquake compare: --pairs '1': must be from 2 to 128
  Try 'heapquake compare --help'.
  [2]

A setting is part of the line that reproduces a run.

  $ "$HEAPQUAKE" run --results none --no-faults --set workload.threads=1 sample.yaml --format json 2>/dev/null | grep -o -- '--set=workload.threads=1'
  --set=workload.threads=1
