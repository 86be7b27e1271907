Lists of scenarios and of parts.

  $ cd "$TOP/stress/tests"
  $ "$HEAPQUAKE" list good
  known                        Is a failure that is known expected, and missed when it stays away?
                               [known]
  missing-program              Is a case whose program is not installed skipped, with the reason?
                               [skip]
  program                      Does a program that sleeps for a moment survive?
                               [program quick]
  sample                       Does a plan say everything that a run needs?
                               [sample quick]
  4 scenarios
  $ "$HEAPQUAKE" list good --tags 'program or known'
  known                        Is a failure that is known expected, and missed when it stays away?
                               [known]
  program                      Does a program that sleeps for a moment survive?
                               [program quick]
  2 scenarios
  $ "$HEAPQUAKE" list good -k 'not missing' | tail -1
  3 scenarios
  $ "$HEAPQUAKE" list good -k nothing-like-it
  0 scenarios
  [5]
  $ "$HEAPQUAKE" list good/nowhere.yaml
  heapquake list: good/nowhere.yaml: No such file or directory
  [2]
  $ "$HEAPQUAKE" list good bad/empty.yaml 2> /dev/null | tail -1
  4 scenarios
  $ "$HEAPQUAKE" list injectorss
  heapquake list: injectorss: No such file or directory; did you mean 'injectors'?
  [2]
  $ "$HEAPQUAKE" list good -k 'a b'
  heapquake list: 'a b': 'b' stands where 'and' or 'or' was expected
  [2]

  $ "$HEAPQUAKE" list allocators | cut -d' ' -f1
  bedrock
  glibc
  jemalloc
  mimalloc
  tcmalloc
  $ "$HEAPQUAKE" list formats | cut -d' ' -f1 | grep -E '^(text|json|junit|tap|usage)$' | sort
  json
  junit
  tap
  text
  usage
  $ "$HEAPQUAKE" list workloads | grep -cE '^(churn|none) '
  2
  $ "$HEAPQUAKE" list injectors | grep -cE '^none '
  1
  $ "$HEAPQUAKE" list checkers | grep -cE '^(overlap|content) '
  2
  $ "$HEAPQUAKE" list checkers | grep -E '^(idle-falls|overlap) '
  idle-falls             after a burst, memory goes back to the kernel without any call (on request)
  overlap                live blocks do not overlap
  $ "$HEAPQUAKE" list metrics | grep -cE '^rss.peak '
  1

Scenarios of the project are found by name, and all are well-formed.

  $ cd "$TOP"
  $ "$HEAPQUAKE" list > "$CRAMTMP/list"; echo $?
  0
