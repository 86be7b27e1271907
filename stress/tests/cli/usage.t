What heapquake says of itself, and what it refuses.

  $ hq() { "$HEAPQUAKE" "$@"; }

  $ hq
  usage: heapquake COMMAND [options] ...
  
  Stress and fault injection for memory allocators.
  
    run       run scenarios, or a program of yours, and judge what happens
    compare   run two settings in pairs, and tell what differs and how sure that is
    sweep     run every combination of some settings, and tell which are worth having
    replay    repeat a run from its folder and compare verdict and faults
    record    trace the allocation calls of a program, for the workload trace
    report    make one page, with charts, of runs that were made before
    list      scenarios with their questions, or the parts there are
    explain   tell about a part, a metric, a call, a verdict, a key
    plan      print what would be run, with every default filled in
    selftest  run planted bugs of an allocator, and count those that are seen
    doctor    what this machine can do, and how to get what it cannot
  
    heapquake run scenarios/                      run every scenario
    heapquake run --inject RULE -- PROG ARG...    a program of yours
    heapquake COMMAND --help                      options of a command
    heapquake --help                              everything at once
  [2]

  $ hq 2>&1 | wc -l
  20

  $ hq --version
  heapquake 0.1.0

  $ hq -V | cut -d' ' -f1
  heapquake

  $ hq --help | grep -E '^[A-Z].*:$'
  Commands:
  Which cases:
  What goes wrong, what must hold:
  How they run:
  What is recorded:
  Output:
  Exit status:

  $ hq -h | sed -n '/^Exit status/,/^$/p'
  Exit status:
    0         all as expected: PASS and XFAIL
    1         at least one FAIL or XPASS
    2         wrong usage or a wrong scenario; nothing was run
    3         ERROR: heapquake itself failed
    4         nothing failed, but something was INCONCLUSIVE
    5         nothing matched
    77        everything was skipped
    130, 143  interrupted by SIGINT, SIGTERM
  

  $ hq --help | awk 'length($0) > 90'

  $ hq run -h | head -4
  usage: heapquake run [options] SCENARIO...
         heapquake run [options] -- PROG ARG...
  
  run scenarios, or a program of yours, and judge what happens

  $ hq list --help
  usage: heapquake list [options] [SCENARIO...]
         heapquake list allocators|checkers|formats|injectors|metrics|workloads
  
  scenarios with their questions, or the parts there are
  
  Which cases:
    -k, --filter EXPR         only cases whose name matches: parts of names, with
                              and, or, not, ( )
        --tags EXPR           only scenarios with these tags: a,b for either, or
                              with and, or, not, ( )
  
  Output:
    -h, --help                this text

  $ hq doctor --help | head -1
  usage: heapquake doctor

  $ hq rnu
  heapquake: unknown command 'rnu'; did you mean 'run'?
  Try 'heapquake --help'.
  [2]

  $ hq --sede 3
  heapquake: '--sede' must follow a command, as in 'heapquake run --sede ...'
  Try 'heapquake --help'.
  [2]

  $ hq run --sede 3
  heapquake run: unknown option '--sede'; did you mean '--seed'?
  Try 'heapquake run --help'.
  [2]

  $ hq run --seed
  heapquake run: --seed needs a value: N|random
  Try 'heapquake run --help'.
  [2]

  $ hq run --seed=many
  heapquake run: --seed: 'many' is not a count; write 400, 400k, 2M or 1G
  [2]

  $ hq run --jobs=0 x
  heapquake run: --jobs '0': must be from 1 to 256
  Try 'heapquake run --help'.
  [2]

  $ hq run --quiet=yes x
  heapquake run: --quiet takes no value
  Try 'heapquake run --help'.
  [2]

  $ hq run -Z
  heapquake run: unknown option '-Z'
  Try 'heapquake run --help'.
  [2]

  $ hq run --color=sometimes
  heapquake run: --color 'sometimes': choose one of: auto, always or never; NO_COLOR is honoured
  Try 'heapquake run --help'.
  [2]

  $ hq run
  heapquake run: name a scenario, a folder of them, or '-- PROG ARG...'
  [2]

  $ hq run --
  heapquake run: a program must follow '--'
  Try 'heapquake run --help'.
  [2]

  $ hq run --pass-status x
  heapquake run: --pass-status needs a program: -- PROG ARG...
  [2]

  $ hq run sample.yaml -- true
  heapquake run: scenarios and a program (after '--') do not go together
  [2]

  $ hq run /nonexistent.yaml
  heapquake run: /nonexistent.yaml: No such file or directory
  [2]

  $ hq run --allocator jemallok -- true
  heapquake run: --allocator: unknown allocator 'jemallok'; did you mean 'jemalloc'?
  [2]

  $ hq run --allocator /nonexistent/lib.so -- true
  heapquake run: allocator /nonexistent/lib.so: No such file or directory
  [2]

  $ hq run --allocator /etc/passwd -- true
  heapquake run: allocator /etc/passwd: cannot be preloaded (invalid ELF header)
  [2]

  $ hq run -k 'a and' -- true
  heapquake run: -k: 'a and': it ends where a word was expected
  [2]

  $ hq run --tags '(a' -- true
  heapquake run: --tags: '(a': a ')' is missing
  [2]

  $ hq run --inject madvice:error=EINVAL -- true
  heapquake run: --inject: 'madvice' is neither an injector nor a system call with rules; did you mean 'madvise'?
  [2]

  $ hq run --inject madvise:error=EINVALL -- true
  heapquake run: --inject: unknown errno 'EINVALL'; did you mean 'EINVAL'?
  [2]

  $ hq run --check 'rss.pesk <= 1MiB' -- true
  heapquake run: --check: at 'rss.pesk': no metric 'rss.pesk'; did you mean 'rss.peak'?
  [2]

  $ hq run --format jsno -- true
  heapquake run: unknown format 'jsno'; did you mean 'json'?
  [2]

  $ hq run --format text,json -- true
  heapquake run: two reports for one stream; write json:FILE
  [2]

  $ hq run --format json:/nonexistent/x -- true
  heapquake run: cannot write /nonexistent/x: No such file or directory
  [2]

  $ hq run --results /proc/nowhere -- true
  heapquake run: cannot write results to /proc/nowhere: No such file or directory; see --results
  [2]

  $ hq run --timeout 5 -- true
  heapquake run: --timeout '5': 5 needs a unit: 5ms?
  Try 'heapquake run --help'.
  [2]

A full disk is no success.

  $ hq --help > /dev/full
  heapquake: cannot write to stdout: No space left on device
  [3]
