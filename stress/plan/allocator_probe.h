/* SPDX-License-Identifier: MIT */
/*
 * Starting this program once more with a library preloaded, and reading what it says of it.
 */
#ifndef HQ_STRESS_PLAN_ALLOCATOR_PROBE_H
#define HQ_STRESS_PLAN_ALLOCATOR_PROBE_H

struct hq_allocator_probe {
	char malloc_path[256]; /* the file that provides it */
	char free_path[256];
	char family[32];  /* "" for one that we do not know */
	char version[64]; /* from the first digit on; "" if it does not say */
	char failure[200];
};

/* `library` as for LD_PRELOAD. 0, or -errno with probe->failure. */
int hq_allocator_probe(const char *program, const char *library, struct hq_allocator_probe *probe);

#endif
