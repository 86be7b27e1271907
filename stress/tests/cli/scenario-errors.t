Every wrong scenario is refused with its place and a reason, before anything runs.

  $ cd "$TOP/stress/tests/bad"
  $ for file in *.yaml; do "$HEAPQUAKE" plan "$file"; test $? = 2 || echo "$file: exit status"; done
  heapquake: alias.yaml:2:11: aliases (*name) are not supported; write the value out
  heapquake: anchor.yaml:2:11: anchors (&name) are not supported; write the value out
  heapquake: bad-contracts.yaml:4:5: unknown contract 'idle-fals'; did you mean 'idle-falls'?
  heapquake: bad-contracts.yaml:5:19: unknown key 'witin' in contract idle-falls; did you mean 'within'?
  heapquake: bad-contracts.yaml:6:16: unknown key 'within' in contract overlap
  heapquake: bad-contracts.yaml:8:5: contract 'calloc-zero' is asked for twice
  heapquake: bad-contracts.yaml:9:5: a contract is a name, or a name with options (NAME: { ... })
  heapquake: bad-contracts.yaml:10:14: contract realloc must be a map (key: value), not a single value
  heapquake: bad-expectations.yaml:6:5: at 'rss.pesk': no metric 'rss.pesk'; did you mean 'rss.peak'?
  heapquake: bad-expectations.yaml:7:5: at '64': 64 needs a unit: 64KiB?; this metric is a size, written as in 64MiB
  heapquake: bad-expectations.yaml:8:5: at '3s': unknown unit 's' in '3s'; write a size as 64B, 4KiB, 1.5MiB or 2GiB; this metric is a size, written as in 64MiB
  heapquake: bad-expectations.yaml:9:5: after the metric a comparison is missing: one of <= >= < > == !=
  heapquake: bad-expectations.yaml:10:5: 'inject.refuse.fired >= 1' names inject.refuse, but nothing of that name is injected
  heapquake: bad-expectations.yaml:11:5: an expectation must be a single value, not a list
  heapquake: bad-known.yaml:4:24: a known verdict is 'fail' or 'inconclusive', not 'pass'
  heapquake: bad-known.yaml:5:3: say why mimalloc is known to fail: 'because'
  heapquake: bad-known.yaml:6:49: unknown checker 'overlapp'; did you mean 'overlap'?
  heapquake: bad-known.yaml:6:70: sometimes must be true or false, not 'maybe'
  heapquake: bad-run.yaml:3:40: pairs: 0 is out of range; write 1 to 32
  heapquake: bad-run.yaml:3:54: mechanism: unknown value 'trpa'; did you mean 'trap'?
  heapquake: bad-run.yaml:3:60: unknown key 'sed' in run; did you mean 'seed'?
  heapquake: bad-target.yaml:3:12: command: the quote ' is not closed
  heapquake: bad-target.yaml:4:10: LD_PRELOAD is set by heapquake; name the library under 'allocator'
  heapquake: bad-target.yaml:4:40: '2WICE' is no name of an environment variable
  heapquake: bad-target.yaml:5:11: driver is an empty list
  heapquake: bad-target.yaml:6:12: unknown key 'fiel' in ready; did you mean 'file'?
  heapquake: bad-target.yaml:7:9: 'SIGTREM' is no signal; write SIGTERM, SIGINT, ...
  heapquake: bad-values.yaml:4:14: threads: 1k is out of range; write 1 to 64
  heapquake: bad-values.yaml:5:11: size: 'kB' is ambiguous (thousands or 1024s?); write 4KiB
  heapquake: bad-values.yaml:6:13: calloc: '130%' is more than the whole; a share is 0% to 100%, or 0 to 1
  heapquake: bad-values.yaml:8:12: timeout: 30 needs a unit: 30ms?
  heapquake: bad-values.yaml:9:9: hang: 'fast' is not a duration; write 10ns, 5us, 20ms, 1.5s, 3m or 1h
  heapquake: duplicate-key.yaml:3:33: key 'threads' is already given in line 3
  heapquake: empty.yaml:1:1: the file is empty
  heapquake: host-metric.yaml:5:5: at 'latency.malloc.p99': only a built-in workload has this metric, a program has not
  heapquake: impossible-rule.yaml:4:50: window '3s..1s' is empty: it must end after it starts
  heapquake: impossible-rule.yaml:5:55: '1.5' is more than the whole; a share is 0% to 100%, or 0 to 1
  heapquake: impossible-rule.yaml:6:53: when=9..3 is empty: it ends before it starts
  heapquake: impossible-rule.yaml:7:5: munmap never fails with EACCES; it can with: ENOMEM
  heapquake: impossible-rule.yaml:8:5: the rule does nothing; add error, lie, delay or shrink
  heapquake: inject-kinds.yaml:4:5: an injection is one key with its words: NAME: { call: ... }
  heapquake: inject-kinds.yaml:5:5: an injection is one key with its words: NAME: { call: ... }
  heapquake: inject-kinds.yaml:6:12: 'three' must be a map, not a single value
  heapquake: late-question.yaml:2:1: 'question' comes first: a reader wants to know it
  heapquake: no-question.yaml:1:1: a scenario begins with its 'question'
  heapquake: no-values.yaml:2:1: 'tags' has no value
  heapquake: no-values.yaml:4:21: threads has no value
  heapquake: not-a-map.yaml:1:1: a scenario is a map that begins with 'question:', not a list
  heapquake: not-utf8.yaml:1:47: not UTF-8 text: invalid trailing UTF-8 octet
  heapquake: not-yaml.yaml:3:9: not YAML: while parsing a flow sequence, did not find expected ',' or ']'
  heapquake: nothing-to-do.yaml:1:1: nothing to do: give a 'workload', or a 'command' in 'target'
  heapquake: only-comment.yaml:2:1: the file is empty
  heapquake: same-name.yaml:5:5: two injections are called 'refuse'; give one another name
  heapquake: static-mechanism.yaml:6:1: mechanism static can only 'fail' and 'lie', without 'when', 'probability', 'times' and 'window', and only calls that may fail whatever their arguments (madvise, mmap)
  heapquake: tab.yaml:3:1: a tab cannot indent or separate in YAML; use spaces
  heapquake: tag.yaml:2:11: tags (!name) are not supported
  heapquake: too-little-time.yaml:6:1: 20s of idle time are asked for, but a run ends after 10s (timeout)
  heapquake: two-documents.yaml:3:1: a second document begins here; one file is one scenario
  heapquake: unknown-allocator.yaml:3:24: unknown allocator 'jemallok'; did you mean 'jemalloc'?
  heapquake: unknown-allocator.yaml:6:3: unknown allocator 'minalloc-2.0.9' (write NAME or NAME-VERSION); did you mean 'mimalloc'?
  heapquake: unknown-injector.yaml:4:5: 'nnone' is no injector, and without 'call' no rule; did you mean 'none'?
  heapquake: unknown-injector.yaml:5:24: unknown injector 'mirgate'; did you mean 'migrate'?
  heapquake: unknown-injector.yaml:6:5: 'madvice' is neither an injector nor a system call with rules; did you mean 'madvise'?
  heapquake: unknown-key.yaml:2:1: unknown key 'workloads' in a scenario; did you mean 'workload'?
  heapquake: unknown-option.yaml:3:12: unknown key 'trheads' in workload churn; did you mean 'threads'?
  heapquake: unknown-rule-word.yaml:4:30: unknown word 'advise'; did you mean 'advice'?
  heapquake: unknown-rule-word.yaml:5:40: unknown advice 'FREEE'; did you mean 'FREE'?
  heapquake: unknown-rule-word.yaml:6:38: unknown errno 'EINVALL'; did you mean 'EINVAL'?
  heapquake: unknown-rule-word.yaml:7:23: unknown call 'madvice'; did you mean 'madvise'?
  heapquake: unknown-workload.yaml:3:3: unknown workload 'chrun'; did you mean 'churn'?
  heapquake: work-and-command.yaml:3:1: a 'command' in 'target' brings its own work; leave 'workload' out
  heapquake: wrong-kinds.yaml:1:11: question must be a single value, not a list
  heapquake: wrong-kinds.yaml:2:7: tag must be a single value, not a map
  heapquake: wrong-kinds.yaml:3:9: target must be a map (key: value), not a single value
  heapquake: wrong-kinds.yaml:4:11: workload must be one name, or one name with options (NAME: { ... })
  heapquake: wrong-kinds.yaml:5:9: inject must be a list (- NAME: { ... }), not a map
  heapquake: wrong-kinds.yaml:6:9: expect must be a list (- METRIC OP VALUE), not a map
  heapquake: wrong-kinds.yaml:7:8: known must be a map (key: value), not a list
  heapquake: wrong-kinds.yaml:8:6: run must be a map (key: value), not a single value

A huge file, a folder, a device and a FIFO are no scenarios.

  $ cd "$CRAMTMP"
  $ head -c 2000000 /dev/zero | tr '\0' '#' > huge.yaml
  $ "$HEAPQUAKE" plan huge.yaml
  heapquake: huge.yaml: larger than 1 MiB: this is no scenario
  [2]
  $ mkdir folder.yaml && "$HEAPQUAKE" plan folder.yaml
  heapquake plan: nothing matched
  [5]
  $ "$HEAPQUAKE" plan /dev/zero
  heapquake: /dev/zero: cannot read it: not a regular file
  [2]
  $ mkfifo pipe.yaml && "$HEAPQUAKE" plan pipe.yaml
  heapquake: pipe.yaml: cannot read it: not a regular file
  [2]

All files are read before the first error ends it.

  $ cd "$TOP/stress/tests/bad"
  $ "$HEAPQUAKE" run --results=none empty.yaml ../good/sample.yaml no-question.yaml
  heapquake: empty.yaml:1:1: the file is empty
  heapquake: no-question.yaml:1:1: a scenario begins with its 'question'
  [2]
