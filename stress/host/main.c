/* SPDX-License-Identifier: MIT */
/*
 * heapquake-host: the child process that runs a built-in workload on the allocator preloaded into
 * it. The controller starts it; by hand it only says what it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/host/host.h"

static const char usage[] =
	"heapquake-host runs a built-in workload for heapquake on a preloaded allocator.\n"
	"It is started by `heapquake run` and does nothing by itself.\n"
	"\n"
	"  --help      this text\n"
	"  --version   the version of the memory shared with the controller\n";

static int answer(const char *argument)
{
	if (strcmp(argument, "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (strcmp(argument, "--version") == 0) {
		printf("heapquake-host (wire %d)\n", HQ_WIRE_VERSION);
		return 0;
	}
	fprintf(stderr, "heapquake-host: unknown argument '%s'\n", argument);
	return HQ_HOST_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct hq_wire *wire;
	int error;

	if (argc > 1)
		return answer(argv[1]);
	if (getenv(HQ_WIRE_ENV) == NULL) {
		fputs(usage, stderr);
		return HQ_HOST_EXIT_USAGE;
	}
	error = hq_wire_attach(&wire);
	if (error != 0) {
		fprintf(stderr, "heapquake-host: cannot attach to %s: %s\n", getenv(HQ_WIRE_ENV),
			strerror(-error));
		return HQ_HOST_EXIT_FAILED;
	}
	hq_host_bind(wire);
	error = hq_host_run(wire);
	/* Threads may still stand inside a broken allocator: no handler of its may run now. */
	if (error != 0)
		_exit(error);
	return 0;
}
