/* SPDX-License-Identifier: MIT */
/*
 * Every workload through the whole course of the host, in one process, with the C library's
 * allocator: what the thread sanitizer and memcheck are run on, since neither gets along with the
 * unit test runner's own threads and processes. A thread plays the controller and drains the rings
 * meanwhile. Exits 1 if anything was found, or not everything was freed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/host/host.h"
#include "stress/observe/drain.h"

struct controller {
	struct hq_wire *wire;
	struct hq_observations seen;
};

static void *control(void *argument)
{
	struct controller *self = argument;
	struct hq_wire *wire = self->wire;
	uint32_t state;

	while (hq_load_acquire(&wire->status.state) < HQ_TARGET_READY)
		usleep(1000);
	/* Pairs with the host's acquire. */
	hq_store_release(&wire->go, 1);
	do {
		state = hq_load_acquire(&wire->status.state);
		hq_drain(wire, &self->seen);
		usleep(1000);
	} while (state < HQ_TARGET_FREED);
	/* Pairs with the host's acquire. */
	hq_store_release(&wire->finish, 1);
	return NULL;
}

static int run(const char *workload, const char *options)
{
	struct controller controller = { .wire = NULL };
	struct hq_observations *seen = &controller.seen;
	pthread_t thread;
	int fd;

	if (hq_wire_create(&controller.wire, &fd))
		return 1;
	strcpy(controller.wire->config.workload, workload);
	strcpy(controller.wire->config.options, options);
	controller.wire->config.seed = 42;
	controller.wire->config.is_host = 1;
	controller.wire->config.deadline_ns = 20000000000ull;
	controller.wire->config.worker_count = HQ_WIRE_WORKERS;
	hq_host_bind(controller.wire);
	if (pthread_create(&thread, NULL, control, &controller))
		return 1;
	const int status = hq_host_run(controller.wire);

	pthread_join(thread, NULL);
	hq_drain_finish(controller.wire, 0, seen);
	printf("%s: status %d, %lu operations, %zu events, %lu dropped\n", workload, status,
	       (unsigned long)seen->ops, seen->event_count, (unsigned long)seen->events_dropped);
	const int bad = status || seen->event_count || seen->events_dropped || !seen->mallocs;

	hq_observations_clear(seen);
	hq_wire_destroy(controller.wire, fd);
	return bad;
}

int main(void)
{
	return run("none", "threads=2") | run("trace", "file=db_bench threads=4") |
	       run("churn", "threads=4 ops=4k live=200 cross=30% calloc=20% realloc=20%") |
	       run("producer-consumer", "producers=2 consumers=2 items=2k") |
	       run("larson", "threads=2 lives=5 requests=500 live=200") |
	       run("thread-hop", "threads=3 tasks=6 hops=50 blocks=50") |
	       run("limited-server", "threads=2 requests=100 hard=512KiB soft=256KiB checks=1k") |
	       run("limited-server", "threads=2 requests=100 hard=512KiB soft=256KiB checks=1k "
				     "tracker=cached period=2ms") |
	       run("limited-server", "threads=2 requests=100 hard=512KiB soft=256KiB checks=1k "
				     "tracker=credit batch=16KiB") |
	       run("idle-decay", "threads=2 burst=2MiB rounds=2 pause=1ms") |
	       run("insert-scan", "threads=2 flushers=2 scanners=2 rows=1500 batch=64 "
				  "budget=64KiB block=4KiB cache=64KiB scan-share=100%") |
	       run("memtable", "threads=2 flushers=2 scanners=2 rows=1500 batch=64 budget=64KiB");
}
