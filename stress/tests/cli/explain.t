What explain tells.

  $ "$HEAPQUAKE" explain | head -3
  Name a workload, injector, checker, metric, call or allocator (heapquake list ...), or
  
    contract   which faults a kernel could produce

  $ "$HEAPQUAKE" explain verdicts
  ERROR         heapquake itself failed
  FAIL          a finding against the target
  XPASS         a known failure was not seen
  INCONCLUSIVE  quiet, but something required never happened
  SKIP          a capability is missing; the reason says which
  XFAIL         a known failure was seen
  PASS          no finding, every required rule fired, every recorder complete
  
  Where verdicts are joined, the upper one wins. Exit statuses: heapquake explain exit.

  $ "$HEAPQUAKE" explain exit
    0         all as expected: PASS and XFAIL
    1         at least one FAIL or XPASS
    2         wrong usage or a wrong scenario; nothing was run
    3         ERROR: heapquake itself failed
    4         nothing failed, but something was INCONCLUSIVE
    5         nothing matched
    77        everything was skipped
    130, 143  interrupted by SIGINT, SIGTERM

  $ "$HEAPQUAKE" explain scenario
  A scenario is a YAML file:
  
    question     what the scenario finds out, one line; compulsory and first
    name         of the scenario; by default the name of its file
    tags         list of words for --tags
    target       what is put to the test: allocator, env, command, driver, needs, ready, stop
    workload     what the threads of the built-in host do: NAME: { OPTION: VALUE, ... }
    inject       list of what goes wrong: rules (with 'call') and injectors
    expect       list of what must hold: METRIC OP VALUE
    contracts    list of checkers that are asked for: NAME, or NAME: { OPTION: VALUE, ... }
    known        ALLOCATOR or ALLOCATOR-VERSION: { verdict, because, sometimes, checker }
    compare      two sides for `heapquake compare`: a, b, beside, pairs, expect, source, published
    run          how it is run: timeout, hang, settle, pairs, false-alarm, missed, sample, statistics, calls, counters, memory-cap, mechanism, seed
  
  More: heapquake explain target, inject, rule, expect, contracts, known, run.

  $ "$HEAPQUAKE" explain run | grep -A1 timeout
    timeout          DURATION     wall-clock limit of one run
                                  default 60s, 100ms to 24h
  --
  key run: how it is run: timeout, hang, settle, pairs, false-alarm, missed, sample, statistics, calls, counters, memory-cap, mechanism, seed

  $ "$HEAPQUAKE" explain units | tail -6
    SIZE      64B 4KiB 1.5MiB 2GiB        kB and MB are refused as ambiguous
    DURATION  10ns 5us 20ms 1.5s 3m 1h
    COUNT     400 400k 2M 1G              thousands
    RATE      500/s 2.5k/s
    SHARE     25% 0.25
    SIZES     64B, 1KiB..2KiB uniform, 16B..4KiB log

  $ "$HEAPQUAKE" explain rule | grep -c =
  15

  $ "$HEAPQUAKE" explain churn | head -3
  workload churn: blocks of random sizes and lifetimes on several threads
    threads          COUNT        threads
                                  default 2, 1 to 64

  $ "$HEAPQUAKE" explain munmap | head -2
  call munmap: what a kernel may do to it, and so what a rule may
    munmap fails with ENOMEM: where the range lies strictly inside one mapping

  $ "$HEAPQUAKE" explain overlap | head -1
  checker overlap: live blocks do not overlap

  $ "$HEAPQUAKE" explain idle-falls | head -5
  checker idle-falls: after a burst, memory goes back to the kernel without any call
    needs: a built-in workload that frees everything, and idle time for `within`
    on request: contracts: [idle-falls], or --contract=idle-falls
    within           DURATION     time after everything was freed: a few times what pages take to decay
                                  default 3s

  $ "$HEAPQUAKE" explain latency.malloc.p99_9 latency.free@4KiB.count 'rss.idle(5s)' inject.x.fired | grep '(.*)$'
  latency.CALL.QUANTILE (time, built-in workloads only)
  latency.CALL.count (count, built-in workloads only)
  rss.idle(T) (bytes, built-in workloads only)
  inject.NAME.COUNTER (count)

  $ "$HEAPQUAKE" explain metric | head -1 | grep -c '('
  1

  $ "$HEAPQUAKE" explain contract | grep -c 'brk fails with ENOMEM'
  1

  $ "$HEAPQUAKE" explain contracts | grep -cE 'idle-falls|brk fails'
  2

  $ "$HEAPQUAKE" explain glibc
  allocator glibc: the C library's own

  $ "$HEAPQUAKE" explain churrn
  heapquake explain: nothing is called 'churrn'; did you mean 'churn'?
  [2]

  $ "$HEAPQUAKE" explain --all
  heapquake explain: unknown option '--all'
  Try 'heapquake explain --help'.
  [2]

  $ "$HEAPQUAKE" explain ready timeout checker
  key target.ready: { file: PATH }: the driver waits until PATH exists
  
  key of run:
    timeout          DURATION     wall-clock limit of one run
                                  default 60s, 100ms to 24h
  
  key known.checker: only findings of that checker count as known

A verdict by its name.

  $ "$HEAPQUAKE" explain XPASS
  XPASS         a known failure was not seen

A counter that the machine does not have says so, and so does the doctor; the others say nothing.

  $ "$HEAPQUAKE" explain hardware.cycles | head -3
  hardware.cycles (count)
    cycles of the processor
    source: perf_event_open
  $ "$HEAPQUAKE" doctor | grep -cE '^  (ok|missing)  * (perf events|hardware counters) '
  2
