The doctor looks at everything and never fails.

  $ "$HEAPQUAKE" doctor > "$CRAMTMP/doctor"; echo $?
  0
  $ grep -v '^ ' "$CRAMTMP/doctor" | sed 's/^[0-9][0-9]* missing/N missing/'
  What the kernel allows
  Allocators
  Programs that scenarios may use
  This machine
  N missing
  $ grep -cE '^  (ok|missing)  * (seccomp trap|seccomp notification|glibc|strace) ' "$CRAMTMP/doctor"
  4
