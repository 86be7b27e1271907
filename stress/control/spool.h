/* SPDX-License-Identifier: MIT */
/*
 * What the recorder writes, on its way to a trace: chunks are moved from shared memory into a file
 * while the program runs (spool), and brought into one order when it has ended (merge).
 */
#ifndef HQ_STRESS_CONTROL_SPOOL_H
#define HQ_STRESS_CONTROL_SPOOL_H

#include <stdbool.h>
#include <sys/types.h>

#include "stress/trace/raw.h"

/* A chunk as it lies in the spool; its words follow. */
struct hq_spool_head {
	uint32_t thread, number;
	uint32_t words;
	uint32_t reserved;
};

struct hq_spool {
	struct hq_raw *raw;
	int raw_fd;
	int fd; /* of the file, which has no name */
	uint64_t bytes, bytes_max;
	bool is_full; /* nothing more is recorded */
	/* The recorder's counter, and CLOCK_MONOTONIC, at the start and at the end. */
	uint64_t stamps[2], times_ns[2];
};

/*
 * Makes the shared memory, and the file in `folder`. 0 or -errno. Close it in either case.
 */
int hq_spool_open(struct hq_spool *spool, const char *folder, uint64_t bytes_max,
		  bool with_children);
void hq_spool_close(struct hq_spool *spool);

/* Moves all full chunks. 0 or -errno. */
int hq_spool_drain(struct hq_spool *spool);
/* Moves those of threads that are gone, too. `process` is what the first one is called here. */
int hq_spool_reclaim(struct hq_spool *spool, pid_t process);
/* Stops the recording, and moves everything. 0 or -errno. */
int hq_spool_finish(struct hq_spool *spool);

/* Calls that found no chunk, so far. */
uint64_t hq_spool_lost(const struct hq_spool *spool);

/* Brings a finished spool in order and gives it to a builder. 0 or -errno. */
int hq_spool_merge(const struct hq_spool *spool, struct hq_trace_builder *builder);

#endif
