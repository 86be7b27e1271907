/* SPDX-License-Identifier: MIT */
/*
 * The notification mechanism: a supervisor thread of the controller decides each diverted call. It
 * serves what the trap cannot: static programs, other libcs, valgrind. It costs three times as much
 * and cannot shrink a call.
 *
 * Use: hq_notify_install in the child between fork and exec (async-signal-safe; it passes the
 * listener over `socket`), hq_notify_start in the controller with the other end, hq_notify_stop
 * before the run ends. A target that dies ends the supervisor by itself.
 */
#ifndef HQ_INJECTORS_SYSCALL_NOTIFY_H
#define HQ_INJECTORS_SYSCALL_NOTIFY_H

#include <sys/types.h>

#include "injectors/error.h"
#include "injectors/syscall/plane.h"

struct hq_notify;

/* 0 if seccomp user notification (with WAIT_KILLABLE_RECV where the kernel has it) works here. */
int hq_notify_probe(struct hq_error *reason);

/* In the child, before exec: sets no_new_privs, installs the filter, sends the listener. 0 or
 * -errno. */
int hq_notify_install(const struct hq_plane *plane, int socket);

/*
 * Starts the supervisor thread. Calls from the dynamic loader's or the program's own start-up are
 * passed through while the gate is shut. `exempt_path` (may be NULL): calls made from that
 * executable file's own text are never matched.
 */
int hq_notify_start(struct hq_notify **notify, struct hq_plane *plane, int socket,
		    const char *exempt_path, struct hq_error *error);
void hq_notify_stop(struct hq_notify *notify);

#endif
