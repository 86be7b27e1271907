Every combination of some settings, and which of them are worth having.

  $ cd "$TOP/stress/tests/good"
  $ sweep() { "$HEAPQUAKE" sweep --results none -q "$@"; }
  $ sweep sample.yaml --no-faults -L env.A=1,2 -L workload.threads=1,2 --rounds 1 --pareto cpu.total,rss.peak > "$CRAMTMP/out"
  $ grep -o 'env.*threads=[0-9]' "$CRAMTMP/out"
  env.A=1 workload.threads=1
  env.A=1 workload.threads=2
  env.A=2 workload.threads=1
  env.A=2 workload.threads=2
  $ sed -n '1p; /nothing else/p; $p' "$CRAMTMP/out" | sed 's/rounds:.*/rounds/; s/  */ /g'
   cpu.total rss.peak
   * nothing else is as good in every column
  sample: 4 combinations, 1 rounds

  $ sweep sample.yaml --set 'env.CONF=x:{x},y:{y}' -L x=0,1 -L y=3 --dry-run
  sample on glibc: x=0 y=3
  sample on glibc: x=1 y=3

  $ sweep sample.yaml --no-faults -L workload.threads=1,2 --rounds 1 --pareto cpu.total --format json 2>/dev/null | python3 -c '
  > import json, sys
  > whole = json.load(sys.stdin)
  > print(len(whole["points"]), any(one["frontier"] for one in whole["points"]), whole["metrics"])'
  2 True ['cpu.total']

A fault that never fired is told.

  $ sweep sample.yaml --no-faults --inject mremap:error=ENOMEM -L env.X=1 --rounds 1 | grep -o "inconclusive: rule '.*' never fired"
  inconclusive: rule '.*' never fired (re)

A combination that fails is no choice, and makes the status.

  $ "$HEAPQUAKE" sweep --results none -q -L env.X=1 --rounds 1 -- true > "$CRAMTMP/out"
  $ "$HEAPQUAKE" sweep --results none -q -L env.X=1,2 --rounds 1 -- sh -c 'kill -SEGV $$' > "$CRAMTMP/out"
  [1]
  $ tail -n 1 "$CRAMTMP/out" | sed 's/ (.*//'
  command: 2 combinations, 1 rounds: 0 on the frontier, 2 failed

  $ sweep sample.yaml
  heapquake sweep: say what to vary: -L KEY=VALUE,VALUE,...
  [2]
  $ sweep sample.yaml -L threads
  heapquake sweep: -L 'threads': write KEY=VALUE,VALUE,...
  [2]
  $ sweep sample.yaml -L workload.threads=1 --pareto rss.peak,rss.peak
  heapquake sweep: --pareto names a metric twice
  [2]
  $ sweep sample.yaml -L workload.threads=1 --pareto rss.peek
  heapquake sweep: at 'rss.peek': no metric 'rss.peek'; did you mean 'rss.peak'?
  [2]
