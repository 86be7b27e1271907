/* SPDX-License-Identifier: MIT */
/*
 * How hard memory is to get for everybody, as the kernel's pressure stall information says.
 *
 * The background thread looks now and then and gives unused memory back early while others wait
 * for memory. What to give back is not decided here. A kernel or sandbox that does not let us
 * read the file is asked again only after a while.
 */
#ifndef BEDROCK_PRESSURE_H
#define BEDROCK_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

/* How often the file is read, and how often again after it could not be. */
#define BEDROCK_PRESSURE_INTERVAL_NS UINT64_C(1000000000)
#define BEDROCK_PRESSURE_HOLIDAY_NS  UINT64_C(60000000000)
/* Pressure is this share of the time, as a divisor, in which somebody waited for memory. */
#define BEDROCK_PRESSURE_SHARE 10u

/* Used by one thread. Valid as all zero: never looked. */
struct bedrock_pressure_watch {
	uint64_t next_ns;
	/* The last look, if has_looked: when, and how long somebody had waited by then. */
	uint64_t looked_ns;
	uint64_t stalled_us;
	bool has_looked;
};

/* Look if it is time. -> was there pressure between this look and the last? */
bool bedrock_pressure_look(struct bedrock_pressure_watch *watch, uint64_t now_ns);

/* The total of the line "some" in microseconds. -> is there one? */
bool bedrock_pressure_parse(const char *text, uint64_t *out_us);

#endif
