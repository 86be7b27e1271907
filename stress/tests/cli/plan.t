A plan has every default filled in, and runs again.

  $ cd "$TOP/stress/tests/good"
  $ "$HEAPQUAKE" plan sample.yaml | sed '/^contracts:/,/^run:/ { /^run:/ !d }'
  question: Does a plan say everything that a run needs?
  name: sample
  tags: [sample, quick]
  target:
    allocator: glibc
    env:
      MALLOC_ARENA_MAX: "2"
  workload:
    none: { threads: 1 }
  inject:
    - refuse-free: { call: madvise, advice: FREE, error: EINVAL, window: 0..3s, optional: true }
    - idle: { injector: none, optional: true }
  expect:
    - rss.peak <= 512MiB
  run:
    timeout: 20s
    hang: 10s
    settle: 0
    sample: 1ms
    statistics: 20ms
    calls: auto
    counters: auto
    pairs: 7
    false-alarm: 0.1%
    missed: 5%
    memory-cap: 1GiB
    mechanism: auto
    seed: 42

  $ "$HEAPQUAKE" plan sample.yaml > "$CRAMTMP/sample.yaml"
  $ "$HEAPQUAKE" plan "$CRAMTMP/sample.yaml" | diff - "$CRAMTMP/sample.yaml"

The command line has the last word.

  $ "$HEAPQUAKE" plan sample.yaml --seed 7 --timeout 5s --inject 'mmap:error=ENOMEM:when=3+2:name=now' --check 'inject.now.fired >= 1' | grep -E 'seed|timeout|now'
    - now: { call: mmap, error: ENOMEM, when: 3+2 }
    - inject.now.fired >= 1
    timeout: 5s
    seed: 7

  $ "$HEAPQUAKE" plan sample.yaml --repeat 3 | grep seed
    seed: 42
    seed: 43
    seed: 44

  $ "$HEAPQUAKE" plan sample.yaml --inject 'mmap:error=ENOMEM:name=idle'
  heapquake plan: --inject: two injections are called 'idle'; give one another name
  [2]

  $ "$HEAPQUAKE" plan sample.yaml --check 'inject.then.fired >= 1'
  heapquake plan: sample.yaml: 'inject.then.fired >= 1' names inject.then, but nothing of that name is injected
  [2]

A program of the user's own, quoted.

  $ "$HEAPQUAKE" plan -- sh -c 'echo "$1"' -- 5 true | grep -E 'name|command'
  name: command
    command: [sh, "-c", "echo \"$1\"", "--", "5", "true"]

Contracts that are asked for, with every option.

  $ "$HEAPQUAKE" plan sample.yaml --contract idle-falls:within=2s --contract overlap | grep -A2 '^contracts'
  contracts:
    - idle-falls: { within: 2s, keep: 25%, slack: 4MiB }
    - overlap
  $ "$HEAPQUAKE" plan sample.yaml --contract idle-fals
  heapquake plan: --contract: unknown contract 'idle-fals'; did you mean 'idle-falls'?
  [2]
  $ "$HEAPQUAKE" plan sample.yaml --contract idle-falls:witin=2s
  heapquake plan: --contract: unknown key 'witin'; did you mean 'within'?
  [2]

What would be skipped says so.

  $ "$HEAPQUAKE" plan missing-program.yaml | head -2
  # Would be skipped: program 'no-such-program-as-this' is not in PATH.
  question: "Is a case whose program is not installed skipped, with the reason?"

Several cases without running them.

  $ "$HEAPQUAKE" run --dry-run . --seed 3
  known[glibc-3]
  missing-program[glibc-3]  would be skipped: program 'no-such-program-as-this' is not in PATH
  program[glibc-3]
  sample[glibc-3]
  4 cases, 1 would be skipped (dry run: nothing was run)
  $ "$HEAPQUAKE" run -n . -k 'sample or known' -r 2
  known[glibc-42]
  known[glibc-43]
  sample[glibc-42]
  sample[glibc-43]
  4 cases, 0 would be skipped (dry run: nothing was run)

A scenario runs on what is asked for, but from a folder only on what it is about.

  $ "$HEAPQUAKE" run -n sample.yaml --allocator=glibc,bedrock -r 2
  sample[glibc-42]
  sample[bedrock-42]
  sample[glibc-43]
  sample[bedrock-43]
  4 cases, 0 would be skipped (dry run: nothing was run)
  $ "$HEAPQUAKE" run -n . -k sample --allocator=glibc,bedrock
  sample[glibc-42]
  1 case, 0 would be skipped (dry run: nothing was run)
  $ "$HEAPQUAKE" run -n . -k sample --allocator=bedrock
  heapquake run: nothing matched
  [5]

  $ "$HEAPQUAKE" run -n . --tags nothing
  heapquake run: nothing matched
  [5]

What is named twice is run once; two files of one name are refused.

  $ "$HEAPQUAKE" run -n sample.yaml . ./sample.yaml -k sample --allocator glibc,glibc
  sample[glibc-42]
  1 case, 0 would be skipped (dry run: nothing was run)
  $ cp sample.yaml "$CRAMTMP/known.yaml"
  $ "$HEAPQUAKE" run -n known.yaml "$CRAMTMP/known.yaml"
  heapquake run: */known.yaml: known.yaml has the same name, 'known'; give one a 'name' (glob)
  [2]
