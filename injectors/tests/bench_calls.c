/* SPDX-License-Identifier: MIT */
/*
 * What a call costs under each mechanism: a madvise that is let through, one that is made to fail,
 * and a getppid that no rule names, next to the same without injection and under strace. Every
 * figure is the minimum of rounds in which the mechanisms take turns; read the ratios, not the
 * nanoseconds.
 *
 * The program runs itself again as the target, with the preloaded library and a wire.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "injectors/rule.h"
#include "injectors/syscall/notify.h"
#include "stress/wire/wire.h"

#define ROUNDS         5
#define TARGET         "--target"
#define TARGET_SECONDS 60

enum kind { PASSED, INJECTED, UNMATCHED, KINDS };

struct method {
	const char *name;
	enum hq_mechanism mechanism;
	const char *strace; /* options of strace; NULL: without */
	long calls;
	double best_ns[KINDS]; /* 0: never measured */
};

static struct method methods[] = {
	{ .name = "none", .mechanism = HQ_MECHANISM_NONE, .calls = 20000 },
	{ .name = "static", .mechanism = HQ_MECHANISM_STATIC, .calls = 20000 },
	{ .name = "trap", .mechanism = HQ_MECHANISM_TRAP, .calls = 20000 },
	{ .name = "notify", .mechanism = HQ_MECHANISM_NOTIFY, .calls = 5000 },
	{ .name = "strace", .mechanism = HQ_MECHANISM_NONE, .strace = "-f", .calls = 2000 },
	{ .name = "strace, bpf",
	  .mechanism = HQ_MECHANISM_NONE,
	  .strace = "--seccomp-bpf",
	  .calls = 2000 },
};

#define METHODS (sizeof(methods) / sizeof(methods[0]))

/* ---- the target ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* A length of 0 leaves the kernel next to nothing to do, so that the way there is what is measured.
 */
static int be_target(enum kind kind, long calls)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long failed = 0;
	uint64_t start_ns;

	start_ns = now_ns();
	for (long i = 0; i < calls; i++) {
		if (kind == UNMATCHED)
			syscall(SYS_getppid);
		else
			failed += madvise(page, 0, MADV_DONTNEED) != 0;
	}
	printf("%.1f\n", (double)(now_ns() - start_ns) / (double)calls);
	return failed == (kind == INJECTED ? calls : 0) ? 0 : 1;
}

/* ---- the driver ---- */

struct bench {
	char self[PATH_MAX / 2];
	char preload[PATH_MAX];
	char wire_path[64];
	struct hq_wire *wire;
	int wire_fd;
};

/* A static rule is there or not; the others have a rule, and a gate that is open or shut. */
static int set_rule(struct bench *bench, const struct method *method, enum kind kind)
{
	const bool elsewhere = method->mechanism == HQ_MECHANISM_STATIC && kind != INJECTED;
	struct hq_plane *plane = &bench->wire->plane;
	struct hq_error error;

	memset(plane, 0, sizeof(*plane));
	bench->wire->config.mechanism = method->mechanism;
	bench->wire->go = 1;
	plane->gate = kind == INJECTED;
	plane->rule_count = 1;
	return hq_rule_parse(elsewhere ? "madvise:advice=FREE:error=EAGAIN"
				       : "madvise:advice=DONTNEED:error=EAGAIN",
			     &plane->rules[0], &error);
}

static void exec_strace(const struct bench *bench, const struct method *method, enum kind kind,
			const char *kind_text, const char *calls)
{
	/* The calls that are let through come before the one that would be hit. */
	const char *inject = kind == INJECTED ? "inject=madvise:error=EAGAIN"
					      : "inject=madvise:error=EAGAIN:when=60000";

	execlp("strace", "strace", "-o", "/dev/null", "-f", method->strace, "-e", "trace=madvise",
	       "-e", inject, bench->self, TARGET, kind_text, calls, (char *)NULL);
}

static void exec_target(const struct bench *bench, const struct method *method, enum kind kind)
{
	char kind_text[16], calls[32];

	snprintf(kind_text, sizeof(kind_text), "%d", (int)kind);
	snprintf(calls, sizeof(calls), "%ld", method->calls);
	if (method->strace) {
		exec_strace(bench, method, kind, kind_text, calls);
		_exit(127);
	}
	if (method->mechanism != HQ_MECHANISM_NONE) {
		setenv("LD_PRELOAD", bench->preload, 1);
		setenv(HQ_WIRE_ENV, bench->wire_path, 1);
	}
	execl(bench->self, bench->self, TARGET, kind_text, calls, (char *)NULL);
	_exit(127);
}

static void be_child(const struct bench *bench, const struct method *method, enum kind kind,
		     int output, int socket)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(TARGET_SECONDS);
	dup2(output, 1);
	if (method->mechanism == HQ_MECHANISM_NOTIFY &&
	    hq_notify_install(&bench->wire->plane, socket))
		_exit(126);
	exec_target(bench, method, kind);
}

/* Nanoseconds a call, or 0 if the target could not run or saw something else than was asked for. */
static double measure(struct bench *bench, const struct method *method, enum kind kind)
{
	struct hq_notify *notify = NULL;
	struct hq_error error;
	int output[2], sockets[2], status;
	char text[64] = "";
	pid_t pid;

	if (set_rule(bench, method, kind) || pipe2(output, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return 0;
	pid = fork();
	if (pid == 0)
		be_child(bench, method, kind, output[1], sockets[1]);
	close(output[1]);
	close(sockets[1]);
	if (method->mechanism == HQ_MECHANISM_NOTIFY &&
	    hq_notify_start(&notify, &bench->wire->plane, sockets[0], NULL, &error))
		fprintf(stderr, "%s\n", error.text);
	if (read(output[0], text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	waitpid(pid, &status, 0);
	hq_notify_stop(notify);
	close(output[0]);
	close(sockets[0]);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? atof(text) : 0;
}

static void measure_all(struct bench *bench)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < METHODS; i++) {
			for (int kind = 0; kind < KINDS; kind++) {
				double *best = &methods[i].best_ns[kind];
				double ns;

				if (i == 0 && kind == INJECTED)
					continue; /* nothing fails without injection */
				ns = measure(bench, &methods[i], (enum kind)kind);
				if (ns > 0 && (*best == 0 || ns < *best))
					*best = ns;
			}
		}
	}
}

static void print_cell(double ns, double base_ns)
{
	if (ns == 0)
		printf("%20s", "-");
	else
		printf("%11.0f (%5.2f)", ns, ns / base_ns);
}

static void print_table(void)
{
	const double *base = methods[0].best_ns;

	printf("ns a call and ratio to none; minimum of %d rounds in turn\n", ROUNDS);
	printf("%-12s%20s%20s%20s\n", "mechanism", "madvise let through", "madvise failed",
	       "getppid, unmatched");
	for (size_t i = 0; i < METHODS; i++) {
		printf("%-12s", methods[i].name);
		print_cell(methods[i].best_ns[PASSED], base[PASSED]);
		print_cell(methods[i].best_ns[INJECTED], base[PASSED]);
		print_cell(methods[i].best_ns[UNMATCHED], base[UNMATCHED]);
		printf("\n");
	}
}

static int prepare(struct bench *bench)
{
	const ssize_t length = readlink("/proc/self/exe", bench->self, sizeof(bench->self) - 1);

	if (length < 0)
		return -errno;
	bench->self[length] = '\0';
	snprintf(bench->preload, sizeof(bench->preload), "%.*s/../../libheapquake-preload.so",
		 (int)(strrchr(bench->self, '/') - bench->self), bench->self);
	if (access(bench->preload, R_OK))
		return -errno;
	if (hq_wire_create(&bench->wire, &bench->wire_fd))
		return -ENOMEM;
	snprintf(bench->wire_path, sizeof(bench->wire_path), "/proc/%d/fd/%d", (int)getpid(),
		 bench->wire_fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench;
	int ret;

	if (argc == 4 && strcmp(argv[1], TARGET) == 0)
		return be_target((enum kind)atoi(argv[2]), atol(argv[3]));
	ret = prepare(&bench);
	if (ret) {
		fprintf(stderr, "bench_calls: cannot prepare: %s\n", strerror(-ret));
		return 1;
	}
	measure_all(&bench);
	print_table();
	hq_wire_destroy(bench.wire, bench.wire_fd);
	return 0;
}
