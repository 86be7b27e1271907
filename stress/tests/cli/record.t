What `heapquake record` says of itself, of a recording, and of what is none.

  $ hq() { "$HEAPQUAKE" "$@"; }

  $ hq record --help
  usage: heapquake record -o FILE [options] -- PROG ARG...
         heapquake record -o FILE --import=FORMAT FILE
         heapquake record --show FILE...
  
  trace the allocation calls of a program, for the workload trace
  
  Which cases:
        --allocator A,B       allocators: names, paths of libraries, or 'all';
                              instead of the scenario's own, to which one that is
                              found in a folder keeps
  
  What is recorded:
    -o, --trace FILE          the trace goes there
        --children            also of processes that the program starts; their
                              threads count as its own
        --max-size SIZE       bound of the file; what comes after is counted, not
                              kept; default 16MiB
        --import FORMAT       record nothing: make a trace of what another tool
                              wrote; FORMAT is heaptrack or mtrace
        --show                record nothing: read traces to their ends, and tell
                              their totals
  
  Output:
    -q, --quiet               no progress
    -h, --help                this text

  $ hq record -o t.hqtrace -- sh -c 'exit 3' > out 2> err
  [3]
  $ sed 's/[0-9][0-9.]*/N/g' err
  heapquake record: t.hqtrace, N B
    N calls of N thread in N s
    N blocks, N of them never freed; at most N live, N KiB

  $ hq record --show t.hqtrace | sed 's/[0-9][0-9.]*/N/g'
  t.hqtrace: version N
    N calls of N thread in N s
    N blocks, N of them never freed; at most N live, N KiB

  $ hq record --show err
  heapquake record: err: it is no trace: it does not begin with HQTRACE
  [1]

  $ hq record -o t.hqtrace
  heapquake record: a program is needed: -- PROG ARG...
  [2]

  $ hq record --import=valgrind err -o u.hqtrace
  heapquake record: unknown format 'valgrind'
  [2]

  $ printf -- '- 0x10\n+ 0x20 0x30\n' > m.txt
  $ hq record --import=mtrace m.txt -o u.hqtrace
  heapquake record: u.hqtrace, 175 B
    1 call of 1 thread in 0.000 s
    1 block, 1 of them never freed; at most 1 live, 48 B
    0 lost, 1 repaired, 0 cut off at the bound
    repaired: 1 frees of what was allocated unseen: left out

The examples that come with heapquake are whole, and small.

  $ hq record --show "$TOP"/scenarios/traces/*.hqtrace | grep -c 'version 1'
  5
  $ find "$TOP"/scenarios/traces -name '*.hqtrace' -size +99k

