/* SPDX-License-Identifier: MIT */
/*
 * Whole lives of a program in which one call is refused from the very start.
 *
 * These are the refusals that no rule of the suite can make: of libc's functions, of calls made
 * before a program's own work begins, of those that a kernel answers differently from what it
 * does. Each case is a process of its own: this program again, with the name of the case in its
 * environment, whose fault is set before the allocator sets itself up. Its threads take, grow,
 * check and free blocks, with every option that asks the system for more, and in the end
 * everything must have come back, without more refused calls than there were requests. Where
 * nothing was refused the threads go on, and a case in which nothing ever is is a failure.
 * STRESS_SCALE shortens the lives.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/moves.h"
#include "allocator/tests/stress.h"

#define CASE_VARIABLE "STRESS_CASE"
#define THREADS       3
#define SLOTS         64
#define OPERATIONS    6000
#define ROUNDS_MOST   100
#define LIFE_SECONDS  120

struct start_case {
	const char *name;
	struct fault *fault;
	int error;
	unsigned every;
	bool lies;
	/* A second call that is refused, so that the first is made. */
	struct fault *besides;
	/* An option without which the call is not made, or its refusal not survived. */
	const char *option;
	/* Only mappings of so many pages, or 0 for any. */
	unsigned pages;
};

static const struct start_case cases[] = {
	{ "clock_gettime", &faults.clock_gettime, .error = EINVAL },
	{ "futex", &faults.futex, .error = EINTR, .every = 2 },
	{ "getcpu", &faults.getcpu, .error = ENOSYS },
	{ "mincore", &faults.mincore, .error = ENOMEM, .besides = &faults.mremap },
	{ "mmap elsewhere", &faults.elsewhere, .lies = true },
	{ "mmap of guarded blocks", &faults.mmap, .error = ENOMEM, .option = "guard_pages:4",
	  .pages = 4 },
	{ "mprotect", &faults.mprotect, .error = ENOMEM, .every = 2, .option = "guard_pages:4" },
	{ "munmap", &faults.munmap, .error = ENOMEM },
	{ "munmap of guarded blocks", &faults.munmap, .error = ENOMEM, .option = "guard_pages:4" },
	{ "munmap lies", &faults.munmap, .every = 3, .lies = true },
	{ "open", &faults.open, .error = EMFILE },
	{ "prctl", &faults.prctl, .error = EPERM },
	{ "pread", &faults.pread, .error = EIO, .every = 2 },
	{ "process_madvise", &faults.process_madvise, .error = ENOSYS },
	{ "process_madvise in parts", &faults.process_madvise, .lies = true },
	/* Fork is then safe only while nobody is inside, and of its own thread nobody knows. */
	{ "pthread_atfork", &faults.pthread_atfork, .error = ENOMEM,
	  .option = "background_thread:false" },
	{ "pthread_create", &faults.thread, .error = EAGAIN },
	{ "pthread_key_create", &faults.pthread_key_create, .error = EAGAIN },
	{ "pthread_setspecific", &faults.pthread_setspecific, .error = ENOMEM },
	{ "read", &faults.read, .error = EIO },
	{ "readlink", &faults.readlink, .error = EACCES },
	{ "sched_getaffinity", &faults.sched_getaffinity, .error = EPERM },
	{ "secure_getenv", &faults.secure_getenv, .error = EPERM },
	{ "write", &faults.write, .error = EIO },
	{ "write interrupted", &faults.write, .error = EINTR, .every = 2 },
	{ "write in parts", &faults.write, .lies = true },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static const struct start_case *start_case(void)
{
	const char *name = getenv(CASE_VARIABLE);

	for (size_t i = 0; name && i < CASES; i++) {
		if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	}
	return NULL;
}

/* Runs before the constructor of the allocator. */
__attribute__((constructor(101))) static void start_refusing(void)
{
	const struct start_case *chosen = start_case();

	if (!chosen)
		return;
	fault_install();
	moves_install();
	chosen->fault->every = chosen->every;
	chosen->fault->bytes = chosen->pages * (size_t)getpagesize();
	chosen->fault->error = chosen->error;
	chosen->fault->lies = chosen->lies;
	if (chosen->besides)
		chosen->besides->error = ENOMEM;
}

/* ---- one life ---- */

struct start_thread {
	pthread_t thread;
	uint64_t random;
	unsigned operations;
	const char *wrong;
};

static void start_release(struct start_thread *self, struct stress_block *block)
{
	if (block->start && !stress_holds(block, block->bytes))
		self->wrong = "content is broken";
	bedrock_free(block->start);
	block->start = NULL;
}

static void start_renew(struct start_thread *self, struct stress_block *block)
{
	size_t bytes = stress_size(&self->random) + 1;
	size_t common_bytes = bytes < block->bytes ? bytes : block->bytes;
	unsigned char *start = bedrock_realloc(block->start, bytes);

	if (!start) {
		self->wrong = "a request was refused";
		return;
	}
	if (block->start) {
		block->start = start;
		if (!stress_holds(block, common_bytes))
			self->wrong = "realloc has lost content";
	}
	*block = (struct stress_block){ .start = start, .bytes = bytes };
	stress_fill(block, self->random);
}

static void *start_live(void *argument)
{
	struct start_thread *self = argument;
	struct stress_block blocks[SLOTS] = { { .start = NULL } };

	for (unsigned i = 0; i < self->operations && !self->wrong; i++) {
		struct stress_block *block = &blocks[stress_random(&self->random) % SLOTS];

		if (stress_random(&self->random) % 4 == 0)
			start_release(self, block);
		else
			start_renew(self, block);
		if (i % 1024 == 1023)
			bedrock_purge();
	}
	for (int i = 0; i < SLOTS; i++)
		start_release(self, &blocks[i]);
	return NULL;
}

/* Each time its random streams go on where they were. */
static const char *start_run_threads(unsigned operations)
{
	static struct start_thread threads[THREADS];
	const char *wrong = NULL;

	for (unsigned i = 0; i < THREADS; i++) {
		threads[i].operations = operations;
		if (threads[i].random == 0)
			threads[i].random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		if (pthread_create(&threads[i].thread, NULL, start_live, &threads[i]))
			return "no thread";
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i].thread, NULL);
		wrong = threads[i].wrong ? threads[i].wrong : wrong;
	}
	return wrong;
}

/* What a short round does not come to, a later one may. */
static const char *start_run_until_hit(const struct start_case *chosen, unsigned operations)
{
	const char *wrong = start_run_threads(operations);

	for (int i = 1; i < ROUNDS_MOST && !wrong && chosen->fault->hit == 0; i++)
		wrong = start_run_threads(operations);
	return wrong;
}

/* A child of the process, when it is quiet, can use the heap. */
static const char *start_fork(void)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		struct start_thread self = { .random = 1, .operations = 200 };

		alarm(LIFE_SECONDS);
#if defined(__SANITIZE_THREAD__)
		/* It does not allow new threads in a child of a process with many. */
		bool background = false;

		bedrock_ctl("background_thread", NULL, NULL, &background, sizeof(background));
#endif
		start_live(&self);
		_exit(self.wrong != NULL);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return "the child of a fork failed";
	return NULL;
}

/* Once more without faults: what was put off is done. */
static const char *start_check_end(const struct start_case *chosen)
{
	struct bedrock_stats stats;

	chosen->fault->error = 0;
	chosen->fault->lies = false;
	if (chosen->besides)
		chosen->besides->error = 0;
	const char *wrong = start_run_threads(400);

	bedrock_purge();
	bedrock_stats_read(&stats);
	if (!wrong && stats.allocated_bytes != 0)
		wrong = "blocks are left";
	if (!wrong && stats.dirty_bytes != 0)
		wrong = "dirty pages are left";
	return wrong;
}

static int start_main(const struct start_case *chosen)
{
	const char *scale = getenv("STRESS_SCALE");
	unsigned operations = (unsigned)(OPERATIONS * (scale ? strtod(scale, NULL) : 1)) + 400;

	alarm(LIFE_SECONDS);
	const char *wrong = start_run_until_hit(chosen, operations);
	unsigned hit = chosen->fault->hit;

	if (!wrong)
		wrong = start_fork();
	if (!wrong)
		wrong = start_check_end(chosen);
	if (!wrong && hit == 0)
		wrong = "nothing was refused";
	if (!wrong && hit > THREADS * operations)
		wrong = "more calls were refused than there were requests";
	printf("stress_start: %s: %u refused%s%s\n", chosen->name, hit, wrong ? ", " : "",
	       wrong ? wrong : "");
	return wrong != NULL;
}

/* ---- all of them ---- */

/* Messages of the allocator go nowhere, as in a program that has closed its stderr. */
static void start_become(const char *program, const struct start_case *chosen)
{
	char conf[256];

	snprintf(conf, sizeof(conf),
		 "no_such_option:1,percpu_arena:phycpu,memory_limit:cgroup,dirty_decay_ms:20,"
		 "confirm_conf:true,annotate:false,%s",
		 chosen->option ? chosen->option : "");
	setenv(CASE_VARIABLE, chosen->name, 1);
	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	setenv("BEDROCK_CONF", conf, 1);
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
	execl(program, program, (char *)NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	int failed = 0;

	(void)argc;
	if (start_case())
		return start_main(start_case());
	for (size_t i = 0; i < CASES; i++) {
		int status = 1;
		pid_t child = fork();

		if (child == 0)
			start_become(argv[0], &cases[i]);
		if (child < 0 || waitpid(child, &status, 0) != child || status) {
			printf("stress_start: %s: status 0x%x\n", cases[i].name, status);
			failed = 1;
		}
	}
	return failed;
}
