/* SPDX-License-Identifier: MIT */
/*
 * A correct program that allocates where it is hard to watch: heaps MODE. Ends with 0 if its own
 * work came out right, 2 for an unknown mode.
 *
 *   early   before any constructor ran, and after exit began
 *   fork    forks while threads allocate; children go on
 *   exec    replaces itself, with blocks live
 *   storm   many short threads, whose blocks others free
 *   stack   in a signal handler on a small stack of its own
 *   wrong   frees a block twice in such a handler
 *   keep    frees nothing of 64000 blocks, which threads took
 *   limit   under an address limit that leaves hardly room for its blocks
 *   pages   whole pages, written to their ends
 *   mix     every function and size, in threads that free each other's blocks
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define BLOCKS 64u

/* ---- work that every mode does ---- */

static void replace_all(char **blocks, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++) {
		char **const block = &blocks[i % BLOCKS];

		free(*block);
		*block = i % 3 ? malloc(1 + i * 7 % 900) : calloc(1, 1 + i * 13 % 900);
		if (*block && i % 5 == 0)
			*block = realloc(*block, 1 + i * 11 % 2000);
	}
}

static void churn(unsigned int rounds)
{
	char *blocks[BLOCKS] = { NULL };

	replace_all(blocks, rounds);
	for (unsigned int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

static void *churn_in_thread(void *rounds)
{
	churn((unsigned int)(uintptr_t)rounds);
	return NULL;
}

/* ---- early and late ---- */

static char *early[BLOCKS];

static void before_constructors(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		early[i] = calloc(1, 40 + i);
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit)(void) = before_constructors;

static void free_early(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		free(early[i]);
	churn(1000);
}

static int run_early(void)
{
	for (unsigned int i = 0; i < BLOCKS; i += 2)
		early[i] = realloc(early[i], 400);
	return atexit(free_early);
}

/* ---- pages ---- */

/* To the last byte of the last page. */
static int run_pages(void)
{
	for (size_t size = 1; size < 20000; size = size * 3 / 2 + 1) {
		char *const block = pvalloc(size);
		char *const paged = valloc(size);

		if (!block || !paged)
			return 1;
		memset(block, 0x5a, (size + 4095) & ~(size_t)4095);
		memset(paged, 0x5a, size);
		free(block);
		free(paged);
	}
	return 0;
}

/* ---- processes ---- */

static int run_fork(void)
{
	pthread_t threads[3];
	int status, wrong = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn_in_thread, (void *)(uintptr_t)40000);
	for (int i = 0; i < 20; i++) {
		const pid_t child = fork();

		if (child == 0) {
			churn(2000);
			_exit(0);
		}
		waitpid(child, &status, 0);
		wrong += status != 0;
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return wrong;
}

static int run_exec(void)
{
	char *blocks[BLOCKS] = { NULL };
	static char *arguments[] = { (char *)"heaps", (char *)"none", NULL };

	replace_all(blocks, 1000);
	execv("/proc/self/exe", arguments);
	return 1;
}

/* ---- threads ---- */

static void *hand_over(void *unused)
{
	(void)unused;
	churn(50);
	return strdup("for whoever joins");
}

static int run_storm(void)
{
	pthread_t threads[32];
	void *block;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 32; i++)
			if (pthread_create(&threads[i], NULL, hand_over, NULL))
				return 1;
		for (int i = 0; i < 32; i++) {
			pthread_join(threads[i], &block);
			free(block);
		}
	}
	return 0;
}

#define SHARED 256u

static _Atomic(char *) shared[SHARED];

/* Mostly small, some of many pages, all sizes of a power of two alike. */
static size_t draw_size(uint64_t drawn)
{
	return 1 + (drawn >> 20) % (16u << (drawn >> 10) % (drawn % 16 ? 9 : 16));
}

static char *allocate(uint64_t drawn)
{
	const size_t size = draw_size(drawn);
	void *block = NULL;

	switch (drawn >> 50 & 7) {
	case 0:
	case 1:
		return calloc(1, size);
	case 2:
		return posix_memalign(&block, 16u << (drawn >> 56) % 10, size) ? NULL : block;
	case 3:
		return realloc(malloc(draw_size(drawn >> 7)), size);
	default:
		return malloc(size);
	}
}

/* A block's first bytes are written: what calloc gives out must be cleared. */
static void *mix(void *argument)
{
	uint64_t drawn = (uintptr_t)argument;

	for (unsigned int i = 0; i < 30000; i++) {
		char *block;

		drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
		block = allocate(drawn);
		if (block)
			memset(block, 0x5a, draw_size(drawn));
		free(__atomic_exchange_n(&shared[(drawn >> 35) % SHARED], block, __ATOMIC_ACQ_REL));
	}
	return NULL;
}

static int run_mix(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, mix, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < SHARED; i++)
		free(shared[i]);
	return 0;
}

/* ---- what is left ---- */

static void *keep(void *argument)
{
	for (int i = 0; i < 16000; i++) {
		char *volatile block = malloc(24);

		if (!block)
			break;
	}
	return argument;
}

static int run_keep(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, keep, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* ---- signals ---- */

static volatile sig_atomic_t frees;

static void handle(int number)
{
	char *volatile block = malloc(100);

	(void)number;
	for (int i = 0; i < frees; i++)
		free(block);
	churn(100);
}

/* The least stack that the kernel takes, 8 KiB for the handler, and a page that must not be met. */
static int handle_on_own_stack(int times)
{
	const size_t size = (getauxval(AT_MINSIGSTKSZ) | 2048) + 8192;
	const size_t rounded = (size + 4095) & ~(size_t)4095;
	char *const memory = mmap(NULL, rounded + 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = memory + 4096, .ss_size = rounded };
	const struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	frees = times;
	if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) ||
	    sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	return 0;
}

/* ---- limits ---- */

static size_t address_bytes(void)
{
	unsigned long pages = 0;
	FILE *const file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * 4096;
}

static int run_limit(void)
{
	const size_t used = address_bytes();
	struct rlimit limit = { .rlim_cur = used + (3u << 20), .rlim_max = RLIM_INFINITY };
	void *large, *blocks[64];

	if (!used || setrlimit(RLIMIT_AS, &limit))
		return 1;
	/* Far from all others, and what it leaves is too little to watch it. */
	large = malloc(2600u << 10);
	/* Each is a mapping of its own; most are refused. */
	for (int i = 0; i < 64; i++)
		blocks[i] = malloc(512u << 10);
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
	free(large);
	churn(1000);
	return large ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *const mode = argc == 2 ? argv[1] : "";

	if (strcmp(mode, "early") == 0)
		return run_early();
	if (strcmp(mode, "pages") == 0)
		return run_pages();
	if (strcmp(mode, "fork") == 0)
		return run_fork();
	if (strcmp(mode, "exec") == 0)
		return run_exec();
	if (strcmp(mode, "storm") == 0)
		return run_storm();
	if (strcmp(mode, "stack") == 0)
		return handle_on_own_stack(1);
	if (strcmp(mode, "wrong") == 0)
		return handle_on_own_stack(2);
	if (strcmp(mode, "keep") == 0)
		return run_keep();
	if (strcmp(mode, "limit") == 0)
		return run_limit();
	if (strcmp(mode, "mix") == 0)
		return run_mix();
	return strcmp(mode, "none") == 0 ? 0 : 2;
}
