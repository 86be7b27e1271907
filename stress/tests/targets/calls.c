/* SPDX-License-Identifier: MIT */
/*
 * A small program that makes madvise calls (and a few others) in one situation named by its first
 * argument, and exits with the number of calls that failed, so that a test knows from outside what
 * the program saw. Statuses from 100 on are failures of the program itself.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BROKEN 100
#define PAGE   4096u
#define PAGES  8u

extern char **environ;

static const char *self_path;
static volatile sig_atomic_t hits_in_handler = -1;
static volatile sig_atomic_t own_sigsys;

/* Makes n calls on a page of its own and counts those that failed. */
static int hits(int n)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = 0;

	if (page == MAP_FAILED)
		return BROKEN;
	for (int i = 0; i < n; i++)
		failed += madvise(page, PAGE, MADV_DONTNEED) != 0;
	munmap(page, PAGE);
	return failed;
}

static void *hits_in_thread(void *n)
{
	return (void *)(intptr_t)hits((int)(intptr_t)n);
}

static int in_thread(int n)
{
	pthread_t thread;
	void *failed;

	if (pthread_create(&thread, NULL, hits_in_thread, (void *)(intptr_t)n))
		return BROKEN;
	pthread_join(thread, &failed);
	return (int)(intptr_t)failed;
}

static int status_of(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return BROKEN + 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN + 2;
}

static int run_main(void)
{
	return hits(3);
}

static int run_inline(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long result;

#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_madvise), "D"(page), "S"(PAGE), "d"(MADV_DONTNEED)
			 : "rcx", "r11", "memory");
#else
	result = syscall(SYS_madvise, page, PAGE, MADV_DONTNEED) ? -errno : 0;
#endif
	return result == -EAGAIN ? 1 : 0;
}

static int run_thread(void)
{
	return in_thread(3);
}

static int run_threads(void)
{
	int failed = 0;

	for (int i = 0; i < 50; i++)
		failed += in_thread(1);
	return failed;
}

static int run_storm(void)
{
	pthread_t threads[16];
	int failed = 0;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 16; i++)
			if (pthread_create(&threads[i], NULL, hits_in_thread, (void *)1))
				return BROKEN;
		for (int i = 0; i < 16; i++) {
			void *value;

			pthread_join(threads[i], &value);
			failed += (int)(intptr_t)value;
		}
	}
	return failed;
}

static int run_many(void)
{
	int failed = 0;

	for (int i = 0; i < 300; i++)
		failed += in_thread(1);
	return failed == 255 ? 1 : failed > 255 ? 2 : 0;
}

static int run_fork(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(hits(3));
	return status_of(pid);
}

/* A fork that goes past every function a preloaded library could stand before. */
static int run_raw_fork(void)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(hits(3));
	return status_of(pid);
}

static int run_exec(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		execl(self_path, self_path, "main", (char *)NULL);
		_exit(BROKEN);
	}
	return status_of(pid);
}

static int run_vfork(void)
{
	const pid_t pid = vfork();

	if (pid == 0) {
		execl(self_path, self_path, "main", (char *)NULL);
		_exit(BROKEN);
	}
	return status_of(pid);
}

static int run_spawn(void)
{
	char *const argv[] = { (char *)self_path, "main", NULL };
	pid_t pid;

	if (posix_spawn(&pid, self_path, NULL, NULL, argv, environ))
		return BROKEN;
	return status_of(pid);
}

static int run_system(void)
{
	char command[512];
	int status;

	snprintf(command, sizeof(command), "%s main", self_path);
	status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

/* Any program, here one that never heard of us: only its status matters. */
static int run_other(const char *path)
{
	const pid_t pid = fork();

	if (pid == 0) {
		execl(path, path, "main", (char *)NULL);
		_exit(BROKEN);
	}
	return status_of(pid) >= BROKEN ? BROKEN + 3 : 0;
}

static void handler(int signal)
{
	(void)signal;
	hits_in_handler = hits(3);
}

static int raise_with(const sigset_t *mask, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	action.sa_mask = *mask;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return hits_in_handler;
}

static int run_handler(void)
{
	sigset_t none;

	sigemptyset(&none);
	return raise_with(&none, 0);
}

static int run_fillset(void)
{
	sigset_t all;

	sigfillset(&all);
	return raise_with(&all, 0);
}

static int run_altstack(void)
{
	static char memory[64 * 1024];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	sigset_t none;

	sigemptyset(&none);
	if (sigaltstack(&stack, NULL))
		return BROKEN;
	return raise_with(&none, SA_ONSTACK);
}

static int run_blocked(void)
{
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_SETMASK, NULL, &old);
	if (!sigismember(&old, SIGUSR1) || !sigismember(&old, SIGTERM))
		return BROKEN;
	return hits(3) + in_thread(3);
}

/* The handler runs under the mask that the program waits with: everything but its own signal. */
static int wait_for_usr1(int (*wait)(const sigset_t *mask))
{
	const struct sigaction action = { .sa_handler = handler };
	sigset_t usr1, others;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	sigaction(SIGUSR1, &action, NULL);
	kill(getpid(), SIGUSR1);
	sigfillset(&others);
	sigdelset(&others, SIGUSR1);
	hits_in_handler = -1;
	if (wait(&others) != -1 || errno != EINTR)
		return BROKEN;
	return hits_in_handler;
}

static int wait_in_sigsuspend(const sigset_t *mask)
{
	return sigsuspend(mask);
}

static int wait_in_ppoll(const sigset_t *mask)
{
	return ppoll(NULL, 0, NULL, mask);
}

static int wait_in_pselect(const sigset_t *mask)
{
	return pselect(0, NULL, NULL, NULL, NULL, mask);
}

static int wait_in_epoll(const sigset_t *mask)
{
	struct epoll_event event;

	return epoll_pwait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1, mask);
}

static int run_suspend(void)
{
	return wait_for_usr1(wait_in_sigsuspend) + wait_for_usr1(wait_in_ppoll) +
	       wait_for_usr1(wait_in_pselect) + wait_for_usr1(wait_in_epoll);
}

static void sigsys_handler(int signal)
{
	(void)signal;
	own_sigsys++;
}

/* A program that wants SIGSYS for itself still gets what it sends, and is told what it had set. */
static int run_sigsys(void)
{
	const struct sigaction action = { .sa_handler = sigsys_handler };
	struct sigaction seen;
	int failed;

	sigaction(SIGSYS, &action, NULL);
	failed = hits(3);
	if (own_sigsys != 0)
		return BROKEN;
	sigaction(SIGSYS, NULL, &seen);
	if (seen.sa_handler != sigsys_handler)
		return BROKEN + 1;
	raise(SIGSYS);
	return own_sigsys == 1 ? failed : BROKEN + 2;
}

/* Bad pointers get EFAULT, as from the kernel, and leave the mask alone. */
static int run_efault(void)
{
	static void *const bad = (void *)1;
	struct timespec none = { 0 };
	int wrong = 0;

	wrong += syscall(SYS_rt_sigprocmask, SIG_BLOCK, bad, NULL, 8) != -1 || errno != EFAULT;
	wrong += syscall(SYS_rt_sigprocmask, SIG_BLOCK, &none, bad, 8) != -1 || errno != EFAULT;
	wrong += syscall(SYS_rt_sigprocmask, SIG_BLOCK, &none, NULL, 4) != -1 || errno != EINVAL;
	wrong += syscall(SYS_rt_sigprocmask, 77, &none, NULL, 8) != -1 || errno != EINVAL;
	wrong += syscall(SYS_rt_sigaction, SIGTERM, bad, NULL, 8) != -1 || errno != EFAULT;
	wrong += syscall(SYS_rt_sigaction, SIGSYS, NULL, bad, 8) != -1 || errno != EFAULT;
	wrong += syscall(SYS_ppoll, NULL, 0, &none, bad, 8) != -1 || errno != EFAULT;
	wrong += syscall(SYS_pselect6, 0, NULL, NULL, NULL, &none, bad) != -1 || errno != EFAULT;
	return wrong ? BROKEN : hits(3);
}

static void *pause_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void *suspend_for_ever(void *argument)
{
	sigset_t all;

	sigfillset(&all);
	for (;;)
		ppoll(NULL, 0, NULL, &all);
	return argument;
}

static int cancel(void *(*start)(void *))
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, start, NULL))
		return BROKEN;
	nanosleep(&moment, NULL); /* so that it is likely to be in the call */
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result == PTHREAD_CANCELED ? 0 : BROKEN + 1;
}

static int run_cancel(void)
{
	return cancel(pause_for_ever) + cancel(suspend_for_ever) + hits(3);
}

static int run_brk(void)
{
	char *before = sbrk(0);

	errno = 0;
	if (sbrk((intptr_t)PAGE) != (void *)-1)
		return 0;
	if (errno != ENOMEM || sbrk(0) != before)
		return BROKEN;
	return malloc(64) ? 1 : BROKEN + 1;
}

static int run_errno(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = EXDEV;
	if (madvise(page, PAGE, MADV_COLD) != 0)
		return BROKEN;
	return errno == EXDEV ? 0 : BROKEN + 1;
}

/* How many pages keep their content when all are given up. */
static int run_keep(void)
{
	const size_t length = (size_t)PAGES * PAGE;
	volatile char *pages =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int kept = 0;

	for (size_t i = 0; i < PAGES; i++)
		pages[i * PAGE] = 1;
	if (madvise((void *)pages, length, MADV_DONTNEED) != 0)
		return BROKEN;
	for (size_t i = 0; i < PAGES; i++)
		kept += pages[i * PAGE];
	return kept;
}

/* Milliseconds that one call took, at most 99. */
static int run_slow(void)
{
	struct timespec start, end;
	int64_t elapsed_ms;
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (madvise(page, PAGE, MADV_DONTNEED))
		return BROKEN;
	clock_gettime(CLOCK_MONOTONIC, &end);
	elapsed_ms = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
	return elapsed_ms < 99 ? (int)elapsed_ms : 99;
}

/* Unmaps the middle of a mapping, which splits it, and then the rest, which does not. */
static int run_unmap(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = munmap(pages + PAGE, PAGE) != 0;

	failed += 2 * (munmap(pages, PAGE) != 0);
	failed += 4 * (munmap(pages + 2 * PAGE, PAGE) != 0);
	return failed;
}

static int run_many_calls(void)
{
	return hits(1000) == 1000 ? 1 : 0;
}

/* Runs until it is killed. */
static int run_forever(void)
{
	for (;;)
		hits(1);
	return 0;
}

static int run_some(void)
{
	return hits(60) > 0 && in_thread(60) >= 0 && in_thread(60) >= 0 ? 0 : BROKEN;
}

static const struct {
	const char *name;
	int (*run)(void);
} situations[] = {
	{ "altstack", run_altstack }, { "blocked", run_blocked },  { "brk", run_brk },
	{ "cancel", run_cancel },     { "efault", run_efault },    { "errno", run_errno },
	{ "exec", run_exec },         { "fillset", run_fillset },  { "forever", run_forever },
	{ "fork", run_fork },         { "handler", run_handler },  { "inline", run_inline },
	{ "keep", run_keep },         { "main", run_main },        { "many", run_many },
	{ "calls", run_many_calls },  { "rawfork", run_raw_fork }, { "sigsys", run_sigsys },
	{ "slow", run_slow },         { "some", run_some },        { "spawn", run_spawn },
	{ "storm", run_storm },       { "suspend", run_suspend },  { "system", run_system },
	{ "thread", run_thread },     { "threads", run_threads },  { "unmap", run_unmap },
	{ "vfork", run_vfork },
};

int main(int argc, char **argv)
{
	self_path = argv[0];
	if (argc == 3 && strcmp(argv[1], "other") == 0)
		return run_other(argv[2]);
	for (size_t i = 0; argc == 2 && i < sizeof(situations) / sizeof(situations[0]); i++)
		if (strcmp(argv[1], situations[i].name) == 0)
			return situations[i].run();
	return BROKEN + 9;
}
