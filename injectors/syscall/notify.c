/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: one thread that receives diverted calls of the target, judges them by the
 * registers alone, and answers or lets them go on (SECCOMP_USER_NOTIF_FLAG_CONTINUE).
 *
 * The one law here: a call that was received is always answered. Closing the listener makes every
 * diverted call of a living target fail with ENOSYS, a fault that nobody asked for. So the order at
 * the end of a run is: shut the gate, reap the target, hq_notify_stop. Until the target is gone the
 * supervisor lets calls through; if it is still there STOP_GRACE_NS after the stop, it is
 * abandoned.
 *
 * Threads are told apart by their ids in order of arrival (first_come); a thread id that the kernel
 * gives out again within one run continues the counts of its former owner.
 *
 * WAIT_KILLABLE_RECV keeps a signal from restarting a call that was already received, which would
 * count it twice. The supervisor is not pinned and does not ask for a synchronous wake-up: both
 * were measured to make a call up to ten times slower.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/syscall/filter.h"
#include "injectors/syscall/judge.h"
#include "injectors/syscall/lookup.h"
#include "injectors/syscall/notify.h"
#include "injectors/syscall/wake.h"
#include "injectors/thread.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define S                 1000000000ull
#define START_DEADLINE_MS 5000
#define STOP_GRACE_NS     (2 * S)
#define PROCESSES         64

/* A call that waits for its time. Each thread has at most one. */
struct later {
	uint64_t due_ns;
	uint64_t id;
};

struct hq_notify {
	struct hq_plane *plane;
	int listener;
	int stop_fd; /* eventfd: written once by hq_notify_stop */
	pthread_t thread;
	bool needs_clock;
	bool needs_maps; /* some rule makes munmap or mprotect fail */
	struct seccomp_notif *request;
	struct seccomp_notif_resp *response;
	size_t request_bytes;
	char exempt_path[4096]; /* "": none */
	/* Indexed like the plane's slots. */
	pid_t threads[HQ_PLANE_THREADS];
	pid_t processes_of[HQ_PLANE_THREADS];
	uint32_t thread_count;
	struct hq_lookup processes[PROCESSES];
	uint32_t process_count; /* ever seen */
	struct later later[HQ_PLANE_THREADS];
	uint32_t later_count;
};

static long seccomp_call(unsigned int operation, unsigned long flags, void *argument)
{
	const long ret = syscall(SYS_seccomp, operation, flags, argument);

	return ret < 0 ? -errno : ret;
}

/* ---- probe and installation ---- */

/* A filter at no address: the kernel looks at the flags first and says EFAULT if it knows them. */
static bool knows_flags(unsigned long flags)
{
	return seccomp_call(SECCOMP_SET_MODE_FILTER, flags, NULL) == -EFAULT;
}

int hq_notify_probe(struct hq_error *reason)
{
	uint32_t action = SECCOMP_RET_USER_NOTIF;
	struct seccomp_notif_sizes sizes;
	long ret = seccomp_call(SECCOMP_GET_ACTION_AVAIL, 0, &action);

	if (ret == 0)
		ret = seccomp_call(SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
	if (ret == 0 && !knows_flags(SECCOMP_FILTER_FLAG_NEW_LISTENER))
		ret = -EOPNOTSUPP;
	if (ret == 0)
		return 0;
	hq_error_set(reason, "seccomp user notification does not work here (%s)",
		     strerror((int)-ret));
	return (int)ret;
}

static unsigned long listener_flags(void)
{
	const unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;

	if (knows_flags(flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV))
		return flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	return flags;
}

/* The listener, or -errno. */
static int install_filter(const struct hq_plane *plane)
{
	struct sock_filter program[HQ_FILTER_MAX];
	const struct hq_filter_spec spec = {
		.rules = plane->rules,
		.rule_count = plane->rule_count,
		.action = SECCOMP_RET_USER_NOTIF,
	};
	struct sock_fprog fprog = { .filter = program };
	size_t length;
	const int ret = hq_filter_build(&spec, program, HQ_FILTER_MAX, &length);

	if (ret)
		return ret;
	fprog.len = (unsigned short)length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return (int)seccomp_call(SECCOMP_SET_MODE_FILTER, listener_flags(), &fprog);
}

/* Control messages need the alignment of their header. */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* One number (0 or -errno) and, with 0, the descriptor. */
static int send_listener(int socket, int listener)
{
	int status = listener < 0 ? listener : 0;
	struct iovec data = { .iov_base = &status, .iov_len = sizeof(status) };
	union control control = { .bytes = { 0 } };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *header = &control.header;

	if (listener >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &listener, sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int hq_notify_install(const struct hq_plane *plane, int socket)
{
	const int listener = install_filter(plane);
	const int ret = send_listener(socket, listener);

	if (listener < 0)
		return listener;
	close(listener);
	return ret;
}

/* The listener, or -errno; -ECONNRESET if the child died without a word. */
static int receive_listener(int socket)
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };
	int status, listener;
	struct iovec data = { .iov_base = &status, .iov_len = sizeof(status) };
	union control control;
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	const struct cmsghdr *header;

	if (poll(&ready, 1, START_DEADLINE_MS) != 1)
		return -ETIMEDOUT;
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof(status))
		return -ECONNRESET;
	if (status)
		return status;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return -ECONNRESET;
	memcpy(&listener, CMSG_DATA(header), sizeof(int));
	return listener;
}

/* ---- who calls ---- */

/* When all are in use the oldest is forgotten: whatever it knew can be found out again. */
static struct hq_lookup *lookup_of(struct hq_notify *n, pid_t process)
{
	struct hq_lookup *lookup;

	for (uint32_t i = 0; i < PROCESSES && i < n->process_count; i++)
		if (n->processes[i].process == process)
			return &n->processes[i];
	lookup = &n->processes[n->process_count++ % PROCESSES];
	*lookup = (struct hq_lookup){ .process = process };
	return lookup;
}

static void claim_slot(struct hq_notify *n, uint32_t index, pid_t tid)
{
	struct hq_plane_thread *slot = &n->plane->threads[index];
	const pid_t process = hq_lookup_process_of(tid);

	n->threads[index] = tid;
	n->processes_of[index] = process;
	hq_store_relaxed(&slot->tid, (uint32_t)tid);
	hq_store_relaxed(&slot->process, (uint32_t)process);
	hq_store_relaxed(&slot->first_come, 1);
	/* Pairs with the controller's acquire: a slot with a key is whole. */
	hq_store_release(&slot->key, index == 0 ? HQ_THREAD_KEY_MAIN : hq_thread_key(0, index));
}

/* The index of the thread's slot, or -1 when all are taken. */
static int slot_index_of(struct hq_notify *n, pid_t tid)
{
	uint32_t index;

	for (uint32_t i = n->thread_count; i > 0; i--)
		if (n->threads[i - 1] == tid)
			return (int)i - 1;
	if (n->thread_count == HQ_PLANE_THREADS) {
		/* Seen, and not served: shows in `claimed`, once and not for each call. */
		if (hq_load_relaxed(&n->plane->claimed) == HQ_PLANE_THREADS)
			hq_fetch_add_relaxed(&n->plane->claimed, 1);
		return -1;
	}
	index = n->thread_count++;
	hq_fetch_add_relaxed(&n->plane->claimed, 1);
	claim_slot(n, index, tid);
	return (int)index;
}

/* ---- answers ---- */

static void reply(struct hq_notify *n, uint64_t id, int64_t result, uint32_t flags)
{
	struct seccomp_notif_resp *response = n->response;

	response->id = id;
	response->flags = flags;
	response->error = result < 0 && result > -4096 ? (int32_t)result : 0;
	response->val = response->error ? 0 : result;
	/* ENOENT: the caller died meanwhile. Nothing is left to be done for it. */
	(void)ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, response);
}

static void let_through(struct hq_notify *n, uint64_t id)
{
	reply(n, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

static void reply_later(struct hq_notify *n, uint64_t id, uint64_t due_ns)
{
	if (n->later_count == HQ_PLANE_THREADS) {
		let_through(n, id);
		return;
	}
	n->later[n->later_count++] = (struct later){ .due_ns = due_ns, .id = id };
}

/* Lets go whatever is due, and returns when the next one is (UINT64_MAX: none). */
static uint64_t release_due(struct hq_notify *n, uint64_t time_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < n->later_count;) {
		const struct later later = n->later[i];

		if (later.due_ns <= time_ns) {
			n->later[i] = n->later[--n->later_count];
			let_through(n, later.id);
			continue;
		}
		if (later.due_ns < next_ns)
			next_ns = later.due_ns;
		i++;
	}
	return next_ns;
}

/* ---- one call ---- */

static bool yes(uint64_t address, uint64_t length)
{
	(void)address;
	(void)length;
	return true;
}

static void act(struct hq_notify *n, struct hq_plane_thread *slot, uint64_t id,
		const struct hq_judgement *judgement, const struct hq_judge_call *call)
{
	const uint64_t time_ns = hq_now_ns();
	const bool delays = judgement->rule->action == HQ_ACTION_DELAY;
	int64_t result = 0;

	hq_wake_extend(n->plane, n->plane->ns_per_tick ? hq_tick_now() : time_ns,
		       delays ? judgement->rule->delay_ns : 0);
	if (judgement->rule->action == HQ_ACTION_FAIL)
		result = hq_contract_result(judgement->row, call->current_break);
	/* What a delayed call returns in the end is not seen here; 0 is written down. */
	hq_judge_record(slot, judgement, call, time_ns, result);
	if (delays)
		reply_later(n, id, time_ns + judgement->rule->delay_ns);
	else
		reply(n, id, result, 0);
}

static void learn(const struct hq_notify *n, struct hq_lookup *lookup, struct hq_judge_call *call)
{
	if (n->needs_clock)
		call->now_ns = hq_now_ns();
	if (call->call == HQ_CALL_BRK)
		call->current_break = hq_lookup_break(lookup);
	else if (n->needs_maps && (call->call == HQ_CALL_MUNMAP || call->call == HQ_CALL_MPROTECT))
		call->splits = hq_lookup_splits(lookup, call->args[0], call->args[1]) ? yes : NULL;
}

static void decide(struct hq_notify *n, const struct seccomp_notif *request)
{
	const int index = slot_index_of(n, (pid_t)request->pid);
	struct hq_lookup *lookup = index < 0 ? NULL : lookup_of(n, n->processes_of[index]);
	uint64_t args[6];
	struct hq_judge_call call = { .call = hq_call_of_number(request->data.nr), .args = args };
	struct hq_judgement judgement;

	for (int i = 0; i < 6; i++)
		args[i] = request->data.args[i];
	if (!lookup || call.call == HQ_CALL_COUNT ||
	    (n->exempt_path[0] &&
	     hq_lookup_is_exempt(lookup, n->exempt_path, request->data.instruction_pointer))) {
		let_through(n, request->id);
		return;
	}
	learn(n, lookup, &call);
	judgement = hq_judge(n->plane, &n->plane->threads[index], &call);
	if (call.call == HQ_CALL_BRK &&
	    (!judgement.rule || judgement.rule->action == HQ_ACTION_DELAY))
		hq_lookup_break_asked(lookup, args[0]);
	if (judgement.rule)
		act(n, &n->plane->threads[index], request->id, &judgement, &call);
	else
		let_through(n, request->id);
}

/* ENOENT: the caller died before it could be served; EINTR cannot happen, signals are blocked. */
static void serve(struct hq_notify *n)
{
	memset(n->request, 0, n->request_bytes);
	if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, n->request) == 0)
		decide(n, n->request);
}

static void wait_for_calls(struct pollfd fds[2], uint64_t until_ns)
{
	const uint64_t time_ns = hq_now_ns();
	const uint64_t wait_ns = until_ns > time_ns ? until_ns - time_ns : 0;
	const struct timespec timeout = { .tv_sec = (time_t)(wait_ns / S),
					  .tv_nsec = (long)(wait_ns % S) };

	fds[0].revents = fds[1].revents = 0;
	ppoll(fds, 2, until_ns == UINT64_MAX ? NULL : &timeout, NULL);
}

static void *supervise(void *argument)
{
	struct hq_notify *n = argument;
	struct pollfd fds[2] = { { .fd = n->listener, .events = POLLIN },
				 { .fd = n->stop_fd, .events = POLLIN } };
	uint64_t stop_ns = UINT64_MAX;

	for (;;) {
		const uint64_t next_ns = release_due(n, hq_now_ns());

		wait_for_calls(fds, next_ns < stop_ns ? next_ns : stop_ns);
		if (fds[0].revents & POLLIN)
			serve(n);
		else if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break; /* the last process with this filter is gone */
		if (fds[1].revents & POLLIN) {
			stop_ns = hq_now_ns() + STOP_GRACE_NS;
			fds[1].fd = -1;
		}
		if (hq_now_ns() >= stop_ns)
			break;
	}
	release_due(n, UINT64_MAX);
	return NULL;
}

/* ---- start and stop ---- */

static int check_rules(const struct hq_plane *plane, struct hq_error *error)
{
	for (uint32_t i = 0; i < plane->rule_count; i++)
		if (plane->rules[i].action == HQ_ACTION_SHRINK)
			return hq_error_set(
				error,
				"rule %s shrinks a call, which needs the trap: a "
				"supervisor can only answer a call or let it go on as it is",
				plane->rules[i].name);
	return 0;
}

static bool needs_maps(const struct hq_plane *plane)
{
	const uint32_t calls = 1u << HQ_CALL_MUNMAP | 1u << HQ_CALL_MPROTECT;

	for (uint32_t i = 0; i < plane->rule_count; i++)
		if ((plane->rules[i].calls & calls) && plane->rules[i].action == HQ_ACTION_FAIL)
			return true;
	return false;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* The kernel's structs may have grown since these headers were made. */
static int make_buffers(struct hq_notify *n)
{
	struct seccomp_notif_sizes sizes;
	const long ret = seccomp_call(SECCOMP_GET_NOTIF_SIZES, 0, &sizes);

	if (ret)
		return (int)ret;
	n->request_bytes = larger(sizes.seccomp_notif, sizeof(*n->request));
	n->request = calloc(1, n->request_bytes);
	n->response = calloc(1, larger(sizes.seccomp_notif_resp, sizeof(*n->response)));
	n->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (!n->request || !n->response)
		return -ENOMEM;
	return n->stop_fd < 0 ? -errno : 0;
}

static void destroy(struct hq_notify *n)
{
	if (n->listener >= 0)
		close(n->listener);
	if (n->stop_fd >= 0)
		close(n->stop_fd);
	free(n->request);
	free(n->response);
	free(n);
}

static int start(struct hq_notify *n, int socket)
{
	int ret = make_buffers(n);

	if (ret)
		return ret;
	n->listener = receive_listener(socket);
	return n->listener < 0 ? n->listener : hq_thread_start(&n->thread, supervise, n);
}

int hq_notify_start(struct hq_notify **notify, struct hq_plane *plane, int socket,
		    const char *exempt_path, struct hq_error *error)
{
	struct hq_notify *n;
	int ret = check_rules(plane, error);

	if (ret)
		return ret;
	n = calloc(1, sizeof(*n));
	if (!n) {
		hq_error_set(error, "no memory for the supervisor of diverted calls");
		return -ENOMEM;
	}
	n->plane = plane;
	n->listener = n->stop_fd = -1;
	n->needs_clock = hq_judge_needs_clock(plane);
	n->needs_maps = needs_maps(plane);
	if (exempt_path)
		strncpy(n->exempt_path, exempt_path, sizeof(n->exempt_path) - 1);
	ret = start(n, socket);
	if (ret) {
		destroy(n);
		hq_error_set(error, "the supervisor of diverted calls did not start (%s)",
			     strerror(-ret));
		return ret;
	}
	hq_store_release(&plane->armed, 1);
	*notify = n;
	return 0;
}

void hq_notify_stop(struct hq_notify *notify)
{
	if (!notify)
		return;
	eventfd_write(notify->stop_fd, 1);
	pthread_join(notify->thread, NULL);
	destroy(notify);
}
