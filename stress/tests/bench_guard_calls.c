/* SPDX-License-Identifier: MIT */
/*
 * What the guard adds to a pair of malloc and free: nanoseconds of CPU, the least of rounds in
 * which the ways take turns, and instructions, counted by callgrind where there is one. The program
 * runs itself with and without the guard in front of glibc's allocator.
 *
 *   small   64 live blocks of up to 256 bytes, replaced in random order
 *   mixed   1,000 live blocks of up to 4 KiB
 *   many    100,000 live blocks of up to 256 bytes: neither bits nor blocks stay in the caches
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress/wire/wire.h"

#define ROUNDS   7
#define PAIRS    400000u
#define COUNTED  50000u /* pairs that are counted under callgrind */
#define LIVE_MAX 100000u

struct scene {
	const char *name;
	uint32_t live, size_max;
};

static const struct scene scenes[] = {
	{ "small", 64, 256 },
	{ "mixed", 1000, 4096 },
	{ "many", LIVE_MAX, 256 },
};

static const struct {
	const char *name;
	uint32_t every, tails;
} ways[] = { { "none", 0, 0 }, { "1/64", 64, 0 }, { "full", 1, 0 }, { "canary", 1, 1 } };

#define SCENES (sizeof(scenes) / sizeof(scenes[0]))
#define WAYS   (sizeof(ways) / sizeof(ways[0]))

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* The compiler must not see that a block is not used. */
static void *volatile live[LIVE_MAX];

static void replace(const struct scene *scene, uint32_t pairs)
{
	uint64_t drawn = 42;

	for (uint32_t i = 0; i < pairs; i++) {
		drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
		const uint32_t at = (uint32_t)(drawn >> 33) % scene->live;

		free(live[at]);
		live[at] = malloc(1 + (drawn >> 40) % scene->size_max);
	}
}

/* The run's other half: prints the nanoseconds of a pair. */
static int work(const struct scene *scene, uint32_t pairs)
{
	uint64_t start_ns;

	replace(scene, 3 * scene->live);
	start_ns = now_ns();
	replace(scene, pairs);
	printf("%.2f\n", (double)(now_ns() - start_ns) / pairs);
	return 0;
}

/* Runs a command and reads what it says; what follows `mark`, or -1. */
static double run(const char *command, const char *mark)
{
	FILE *const pipe = popen(command, "r");
	char line[512];
	double value = -1;

	while (pipe && fgets(line, sizeof(line), pipe)) {
		const char *const found = strstr(line, mark);

		if (found)
			value = strtod(found + strlen(mark), NULL);
	}
	return pipe && pclose(pipe) == 0 ? value : -1;
}

static double once(const char *environment, const char *self, size_t scene, bool counted,
		   uint32_t pairs)
{
	char command[3 * PATH_MAX];

	snprintf(command, sizeof(command), "%s %s %s %zu %u 2>&1",
		 counted ? "valgrind --tool=callgrind --callgrind-out-file=/dev/null" : "env",
		 environment, self, scene, pairs);
	if (!counted)
		return run(command, "");
	/* The variables are for the program and not for valgrind's own programs. */
	snprintf(command, sizeof(command),
		 "%s valgrind --tool=callgrind --callgrind-out-file=/dev/null %s %zu %u 2>&1",
		 environment, self, scene, pairs);
	return run(command, "Collected : ");
}

/* Instructions of a pair: what twice as many pairs take more. */
static double instructions(const char *environment, const char *self, size_t scene)
{
	const double one = once(environment, self, scene, true, COUNTED);
	const double two = once(environment, self, scene, true, 2 * COUNTED);

	return one > 0 && two > one ? (two - one) / COUNTED : -1;
}

/* One way to run: what is set for it, and the wire that the guard writes to. */
struct prepared {
	char environment[2 * PATH_MAX];
	struct hq_wire *wire;
};

static int measure(const struct prepared *prepared, const char *self, size_t scene)
{
	double least[WAYS];

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t way = 0; way < WAYS; way++) {
			const double ns =
				once(prepared[way].environment, self, scene, false, PAIRS);

			if (round == 0 || (ns > 0 && ns < least[way]))
				least[way] = ns;
		}
	}
	for (size_t way = 0; way < WAYS; way++) {
		if (prepared[way].wire && !hq_load_relaxed(&prepared[way].wire->guard.attached)) {
			fprintf(stderr, "the guard did not watch: are its library and this of one "
					"build?\n");
			return -1;
		}
		const double count = instructions(prepared[way].environment, self, scene);

		printf("%-7s %-7s %8.1f ns  %+8.1f ns", scenes[scene].name, ways[way].name,
		       least[way], least[way] - least[0]);
		if (count > 0)
			printf("  %8.0f instructions", count);
		printf("\n");
	}
	fflush(stdout);
	return 0;
}

/* A wire for each way; they stay open as long as this process lives. */
static int prepare(struct prepared *prepared, const char *self)
{
	char build[PATH_MAX];

	snprintf(build, sizeof(build), "%s", self);
	for (int i = 0; i < 3; i++)
		*strrchr(build, '/') = '\0';
	for (size_t way = 0; way < WAYS; way++) {
		struct hq_wire *wire;
		int fd;

		if (!ways[way].every)
			continue;
		if (hq_wire_create(&wire, &fd))
			return -1;
		wire->config.guard_every = ways[way].every;
		wire->config.guard_tails = ways[way].tails;
		wire->config.seed = 42;
		prepared[way].wire = wire;
		snprintf(prepared[way].environment, sizeof(prepared[way].environment),
			 HQ_WIRE_ENV "=/proc/%d/fd/%d LD_PRELOAD=%s/libheapquake-guard.so",
			 (int)getpid(), fd, build);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct prepared prepared[WAYS];
	char self[PATH_MAX];
	ssize_t length;

	if (argc == 3)
		return work(&scenes[strtoul(argv[1], NULL, 10) % SCENES],
			    (uint32_t)strtoul(argv[2], NULL, 10));
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (length < 0)
		return 1;
	self[length] = '\0';
	if (prepare(prepared, self))
		return 1;
	for (size_t scene = 0; scene < SCENES; scene++)
		if (measure(prepared, self, scene))
			return 1;
	return 0;
}
