/* SPDX-License-Identifier: MIT */
/*
 * Rings of perf_event_open. Both events of a processor write into one ring, and a drain takes what
 * all rings hold in the order of time, since a thread moves while it waits. See call_trace.h.
 */
#include "stress/observe/call_trace.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stress/observe/calls.h"
#include "stress/observe/tracepoint.h"

#define RING_BYTES (1u << 20) /* about 6,000 calls */

/* What a sample of a system call looks like: TID, TIME, RAW. */
struct sample {
	struct perf_event_header header;
	uint32_t process, thread;
	uint64_t time_ns;
	uint32_t raw_size;
	uint16_t tracepoint;
	uint16_t flags;
	int32_t pid;
	/* Behind `raw_size` nothing is aligned to 8 bytes. */
	uint32_t number[2];
	uint32_t words[12]; /* six arguments, or the result */
};

struct ring {
	int enter_fd, exit_fd; /* -1: no such processor at present */
	struct perf_event_mmap_page *page;
	/* Of one drain: how far it goes, where it is, and the sample there. */
	uint64_t head, tail;
	bool waits;
	struct sample next;
};

struct hq_call_trace {
	struct hq_calls calls;
	int enter, exit; /* numbers of the tracepoints */
	uint64_t taken;  /* samples */
	size_t ring_count;
	size_t page_bytes;
	struct ring rings[];
};

static int open_event(int tracepoint, pid_t pid, int cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attributes),
		.config = (uint64_t)tracepoint,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.disabled = 1,
		.inherit = 1,
	};
	const long fd = syscall(SYS_perf_event_open, &attributes, pid, cpu, -1,
				(unsigned long)PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int set_filter(int fd)
{
	char filter[HQ_TRACED_COUNT * 16] = "";

	for (int kind = 0; kind < HQ_TRACED_COUNT; kind++) {
		const size_t used = strlen(filter);

		snprintf(filter + used, sizeof(filter) - used, "%sid==%ld", kind ? "||" : "",
			 hq_traced_number((enum hq_traced)kind));
	}
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : 0;
}

static int open_ring(struct hq_call_trace *trace, pid_t pid, int cpu, struct ring *ring)
{
	ring->enter_fd = open_event(trace->enter, pid, cpu);
	if (ring->enter_fd == -ENODEV || ring->enter_fd == -EINVAL)
		return 0;
	if (ring->enter_fd < 0)
		return ring->enter_fd;
	ring->exit_fd = open_event(trace->exit, pid, cpu);
	if (ring->exit_fd < 0)
		return ring->exit_fd;
	void *page = mmap(NULL, trace->page_bytes + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			  ring->enter_fd, 0);

	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	if (ioctl(ring->exit_fd, PERF_EVENT_IOC_SET_OUTPUT, ring->enter_fd))
		return -errno;
	const int status = set_filter(ring->enter_fd);

	return status ? status : set_filter(ring->exit_fd);
}

static void close_rings(struct hq_call_trace *trace)
{
	for (size_t i = 0; i < trace->ring_count; i++) {
		struct ring *ring = &trace->rings[i];

		if (ring->page)
			munmap(ring->page, trace->page_bytes + RING_BYTES);
		if (ring->exit_fd >= 0)
			close(ring->exit_fd);
		if (ring->enter_fd >= 0)
			close(ring->enter_fd);
	}
	free(trace);
}

static struct hq_call_trace *new_trace(void)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	const size_t count = cpus > 0 ? (size_t)cpus : 1;
	struct hq_call_trace *trace = calloc(1, sizeof(*trace) + count * sizeof(trace->rings[0]));

	if (!trace)
		return NULL;
	trace->ring_count = count;
	trace->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	trace->calls.page_bytes = trace->page_bytes;
	for (size_t i = 0; i < count; i++)
		trace->rings[i] = (struct ring){ .enter_fd = -1, .exit_fd = -1 };
	return trace;
}

int hq_call_trace_open(pid_t pid, struct hq_call_trace **result)
{
	struct hq_call_trace *trace = new_trace();
	int status = 0;

	*result = NULL;
	if (!trace)
		return -ENOMEM;
	trace->enter = hq_tracepoint_number("raw_syscalls/sys_enter");
	trace->exit = hq_tracepoint_number("raw_syscalls/sys_exit");
	if (trace->enter < 0 || trace->exit < 0)
		status = trace->enter < 0 ? trace->enter : trace->exit;
	for (size_t i = 0; i < trace->ring_count && !status; i++)
		status = open_ring(trace, pid, (int)i, &trace->rings[i]);
	if (status) {
		close_rings(trace);
		return status;
	}
	*result = trace;
	return 0;
}

static void for_all(struct hq_call_trace *trace, unsigned long request)
{
	for (size_t i = 0; i < trace->ring_count; i++) {
		if (trace->rings[i].enter_fd < 0)
			continue;
		ioctl(trace->rings[i].exit_fd, request, 0);
		ioctl(trace->rings[i].enter_fd, request, 0);
	}
}

void hq_call_trace_start(struct hq_call_trace *trace)
{
	for_all(trace, PERF_EVENT_IOC_ENABLE);
}

static void take_sample(struct hq_call_trace *trace, const struct sample *sample,
			struct hq_calls_seen *seen)
{
	struct hq_call_end end = { .process = sample->process,
				   .thread = sample->thread,
				   .time_ns = sample->time_ns };

	trace->taken++;
	memcpy(&end.number, sample->number, sizeof(sample->number));
	if (sample->tracepoint == trace->enter) {
		memcpy(end.args, sample->words, sizeof(end.args));
		hq_calls_enter(&trace->calls, &end, seen);
	} else if (sample->tracepoint == trace->exit) {
		memcpy(&end.result, sample->words, sizeof(end.result));
		hq_calls_exit(&trace->calls, &end, seen);
	}
}

/* A record may go round the end of the ring. */
static void copy_out(const struct ring *ring, size_t page_bytes, uint64_t at, void *to, size_t size)
{
	const char *data = (const char *)ring->page + page_bytes;
	const size_t start = at % RING_BYTES;
	const size_t first = size < RING_BYTES - start ? size : RING_BYTES - start;

	memcpy(to, data + start, first);
	memcpy((char *)to + first, data, size - first);
}

/* Looks at the next sample of a ring; skips what is none. */
static bool peek(const struct hq_call_trace *trace, struct ring *ring)
{
	while (ring->tail < ring->head) {
		struct perf_event_header header;

		copy_out(ring, trace->page_bytes, ring->tail, &header, sizeof(header));
		if (header.size < sizeof(header)) {
			ring->tail = ring->head;
			break;
		}
		memset(&ring->next, 0, sizeof(ring->next));
		copy_out(ring, trace->page_bytes, ring->tail, &ring->next,
			 header.size < sizeof(ring->next) ? header.size : sizeof(ring->next));
		if (header.type == PERF_RECORD_SAMPLE)
			return true;
		ring->tail += header.size;
	}
	return false;
}

/* The ring whose next sample is the oldest, or NULL. */
static struct ring *oldest(struct hq_call_trace *trace)
{
	struct ring *best = NULL;

	for (size_t i = 0; i < trace->ring_count; i++) {
		struct ring *ring = &trace->rings[i];

		if (ring->waits && (!best || ring->next.time_ns < best->next.time_ns))
			best = ring;
	}
	return best;
}

static void begin_drain(struct hq_call_trace *trace)
{
	for (size_t i = 0; i < trace->ring_count; i++) {
		struct ring *ring = &trace->rings[i];

		if (!ring->page)
			continue;
		/* Pairs with the kernel's release: the records up to there are whole. */
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		ring->tail = ring->page->data_tail;
		ring->waits = peek(trace, ring);
	}
}

static void end_drain(struct hq_call_trace *trace)
{
	for (size_t i = 0; i < trace->ring_count; i++) {
		struct ring *ring = &trace->rings[i];

		/* Pairs with the kernel's acquire: it may write there again. */
		if (ring->page)
			__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	}
}

void hq_call_trace_drain(struct hq_call_trace *trace, struct hq_calls_seen *seen)
{
	struct ring *ring;

	begin_drain(trace);
	while ((ring = oldest(trace))) {
		take_sample(trace, &ring->next, seen);
		ring->tail += ring->next.header.size;
		ring->waits = peek(trace, ring);
	}
	end_drain(trace);
}

/* How often the kernel came by, whether it found room in the ring or not. */
static uint64_t count_of(int fd)
{
	uint64_t count;

	return fd >= 0 && read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}

void hq_call_trace_close(struct hq_call_trace *trace, struct hq_calls_seen *seen)
{
	uint64_t happened = 0;

	for_all(trace, PERF_EVENT_IOC_DISABLE);
	hq_call_trace_drain(trace, seen);
	for (size_t i = 0; i < trace->ring_count; i++)
		happened += count_of(trace->rings[i].enter_fd) + count_of(trace->rings[i].exit_fd);
	if (happened > trace->taken)
		seen->lost += happened - trace->taken;
	close_rings(trace);
}

const char *hq_call_trace_why(int status)
{
	switch (-status) {
	case EACCES:
	case EPERM:
		return "tracepoints are forbidden; CAP_PERFMON and a readable /sys/kernel/tracing "
		       "are needed";
	case ENOENT:
		return "this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)";
	case ENOSYS:
		return "this kernel has no perf_event_open, or a filter hides it";
	case EMFILE:
	case ENFILE:
		return "no descriptor was left for it; ulimit -n";
	default:
		return strerror(-status);
	}
}
