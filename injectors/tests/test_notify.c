/* SPDX-License-Identifier: MIT */
/*
 * The supervisor: a child installs the filter, hands the listener over and makes calls; what it saw
 * it tells by its exit status.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "injectors/syscall/notify.h"
#include "injectors/tests/child.h"

#define PAGE   4096u
#define REFUSE "madvise:advice=DONTNEED:error=EAGAIN"

struct setting {
	struct hq_plane *plane;
	int (*body)(void);
};

static struct hq_plane *plane_of_child; /* for a body that opens the gate itself */

static struct setting prepare(const char *rule, int (*body)(void))
{
	struct setting setting = { .body = body };
	struct hq_error error;

	if (hq_notify_probe(&error))
		cr_skip_test("%s", error.text);
	setting.plane = mmap(NULL, sizeof(*setting.plane), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(setting.plane, MAP_FAILED);
	cr_assert_eq(hq_rule_parse(rule, &setting.plane->rules[0], &error), 0, "%s", error.text);
	setting.plane->rule_count = 1;
	setting.plane->seed = 42;
	setting.plane->gate = 1;
	return setting;
}

static int installed(struct child *self, void *cookie)
{
	const struct setting *setting = cookie;

	plane_of_child = setting->plane;
	if (hq_notify_install(setting->plane, self->socket))
		return 99;
	return setting->body();
}

/* Runs the body under supervision and returns its exit status, or minus the signal. */
static int supervise(struct setting *setting, const char *exempt_path)
{
	struct hq_notify *notify = NULL;
	struct hq_error error = { "" };
	struct child child;
	int status;

	child_start(&child, installed, setting);
	cr_assert_eq(hq_notify_start(&notify, setting->plane, child.socket, exempt_path, &error), 0,
		     "%s", error.text);
	cr_assert_eq(setting->plane->armed, 1);
	status = child_end(&child);
	hq_notify_stop(notify);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int hits(int n)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = 0;

	for (int i = 0; i < n; i++)
		failed += madvise(page, PAGE, MADV_DONTNEED) != 0;
	return failed;
}

static int three_hits(void)
{
	return hits(3);
}

static void *hits_in_thread(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)hits(3);
}

static int hits_in_two_threads(void)
{
	int failed = 0;

	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		void *value;

		if (pthread_create(&thread, NULL, hits_in_thread, NULL))
			return 98;
		pthread_join(thread, &value);
		failed += (int)(intptr_t)value;
	}
	return failed;
}

static int hits_in_a_forked_child(void)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(hits(3));
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int run_static_program(void)
{
	char path[PATH_MAX], self[PATH_MAX / 2];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/../../targets/static_madvise", self);
	if (access(path, X_OK))
		return 77;
	dup2(2, 1); /* what it prints is not this program's output */
	execl(path, path, (char *)NULL);
	return 98;
}

static int kept_after_lie(void)
{
	volatile char *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[0] = 7;
	return madvise((void *)page, PAGE, MADV_DONTNEED) ? 98 : page[0];
}

/* The break must be told to the byte, also after it was moved by calls that were let through. */
static int grow_break(void)
{
	char *before = sbrk(0);

	if (sbrk(1000) == (void *)-1 || sbrk(24) == (void *)-1)
		return 98;
	plane_of_child->gate = 1;
	errno = 0;
	if (sbrk(PAGE) != (void *)-1)
		return 1;
	return errno == ENOMEM && sbrk(0) == before + 1024 ? 0 : 2;
}

static int unmap_middle_and_ends(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = munmap(pages + PAGE, PAGE) != 0;

	failed += 2 * (munmap(pages, PAGE) != 0);
	return failed + 4 * (munmap(pages + 2 * PAGE, PAGE) != 0);
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int delayed_once(void)
{
	const uint64_t start_ns = monotonic_ns();

	return hits(1) == 0 && monotonic_ns() - start_ns >= 30000000 ? 0 : 1;
}

static void *one_call(void *argument)
{
	hits(1);
	return argument;
}

static bool someone_is_delayed(void)
{
	for (uint32_t i = 0; i < HQ_PLANE_THREADS; i++)
		if (hq_load_relaxed(&plane_of_child->threads[i].counts[0].fired) != 0)
			return true;
	return false;
}

/* While one thread waits for an hour, another one's calls are answered. */
static int call_beside_a_delayed_thread(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	if (pthread_create(&thread, NULL, one_call, NULL))
		return 98;
	while (!someone_is_delayed())
		sched_yield();
	return madvise(page, PAGE, MADV_COLD) && errno == EAGAIN ? 0 : 1;
}

static int wait_for_kill(void)
{
	for (;;)
		hits(1);
	return 0;
}

Test(notify, fails_the_calls_of_main)
{
	struct setting setting = prepare(REFUSE, three_hits);
	const struct hq_plane_thread *thread = &setting.plane->threads[0];

	cr_assert_eq(supervise(&setting, NULL), 3);
	cr_assert_eq(thread->key, HQ_THREAD_KEY_MAIN);
	cr_assert_eq(thread->first_come, 1);
	cr_assert_eq(thread->counts[0].seen, 3);
	cr_assert_eq(thread->counts[0].fired, 3);
	cr_assert_eq(thread->ring.head, 3);
	cr_assert_eq(thread->faults[2].result, -EAGAIN);
}

Test(notify, gives_each_thread_a_slot)
{
	struct setting setting = prepare(REFUSE ":when=2", hits_in_two_threads);

	cr_assert_eq(supervise(&setting, NULL), 2);
	cr_assert_geq(setting.plane->claimed, 2);
	cr_assert_neq(setting.plane->threads[0].key, setting.plane->threads[1].key);
}

Test(notify, follows_a_fork)
{
	struct setting setting = prepare(REFUSE, hits_in_a_forked_child);

	cr_assert_eq(supervise(&setting, NULL), 3);
}

Test(notify, reaches_a_static_program)
{
	struct setting setting = prepare(REFUSE, run_static_program);
	const int status = supervise(&setting, NULL);

	if (status == 77)
		cr_skip_test("no static program was built");
	cr_assert_eq(status, 0, "it saw no refusal");
	cr_assert_eq(setting.plane->threads[0].counts[0].fired, 40);
}

Test(notify, that_lies_does_nothing)
{
	struct setting setting = prepare("madvise:advice=DONTNEED:lie", kept_after_lie);

	cr_assert_eq(supervise(&setting, NULL), 7);
}

Test(notify, reports_the_old_break_to_the_byte)
{
	struct setting setting = prepare("brk:error=ENOMEM", grow_break);

	setting.plane->gate = 0;
	cr_assert_eq(supervise(&setting, NULL), 0);
	cr_assert_geq(setting.plane->threads[0].counts[0].seen, 3);
	cr_assert_eq(setting.plane->threads[0].counts[0].fired, 1);
}

Test(notify, fails_munmap_only_where_it_splits)
{
	struct setting setting = prepare("munmap:error=ENOMEM", unmap_middle_and_ends);

	cr_assert_eq(supervise(&setting, NULL), 1);
	cr_assert_eq(setting.plane->threads[0].counts[0].eligible, 1);
}

Test(notify, delays_a_call)
{
	struct setting setting = prepare("madvise:advice=DONTNEED:delay=30ms", delayed_once);

	cr_assert_eq(supervise(&setting, NULL), 0);
}

Test(notify, delays_one_thread_without_delaying_the_others)
{
	struct setting setting =
		prepare("madvise:advice=DONTNEED:delay=1h", call_beside_a_delayed_thread);
	struct hq_error error;

	cr_assert_eq(
		hq_rule_parse("madvise:advice=COLD:error=EAGAIN", &setting.plane->rules[1], &error),
		0);
	setting.plane->rule_count = 2;
	cr_assert_eq(supervise(&setting, NULL), 0);
}

Test(notify, with_the_gate_shut_lets_everything_through)
{
	struct setting setting = prepare(REFUSE, three_hits);

	setting.plane->gate = 0;
	cr_assert_eq(supervise(&setting, NULL), 0);
	cr_assert_eq(setting.plane->threads[0].counts[0].seen, 3);
	cr_assert_eq(setting.plane->threads[0].counts[0].eligible, 0);
}

Test(notify, spares_the_text_of_the_exempt_program)
{
	struct setting setting = prepare(REFUSE, three_hits);
	char libc[PATH_MAX] = "", line[PATH_MAX];
	FILE *maps = fopen("/proc/self/maps", "re");

	/* The calls come from libc, so that is what stands for the program here. */
	while (!libc[0] && fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so"))
			strcpy(libc, strchr(line, '/'));
	fclose(maps);
	libc[strcspn(libc, "\n")] = '\0';
	cr_assert_eq(supervise(&setting, libc), 0);
	cr_assert_eq(setting.plane->threads[0].counts[0].seen, 0);
}

Test(notify, ends_by_itself_when_the_target_is_killed)
{
	struct setting setting = prepare("madvise:advice=DONTNEED:delay=1h", wait_for_kill);
	const struct timespec moment = { .tv_nsec = 50000000 };
	struct hq_notify *notify;
	struct hq_error error;
	struct child child;

	child_start(&child, installed, &setting);
	cr_assert_eq(hq_notify_start(&notify, setting.plane, child.socket, NULL, &error), 0);
	nanosleep(&moment, NULL);
	cr_assert(WIFSIGNALED(child_kill(&child)));
	hq_notify_stop(notify);
}

static int hits_after_stop(void)
{
	const struct timespec moment = { .tv_nsec = 300000000 };

	nanosleep(&moment, NULL);
	return hits(3);
}

Test(notify, lets_calls_through_after_the_stop_until_the_target_is_gone)
{
	struct setting setting = prepare(REFUSE, hits_after_stop);
	struct hq_notify *notify;
	struct hq_error error;
	struct child child;

	child_start(&child, installed, &setting);
	cr_assert_eq(hq_notify_start(&notify, setting.plane, child.socket, NULL, &error), 0);
	setting.plane->gate = 0;
	hq_notify_stop(notify);
	cr_assert_eq(WEXITSTATUS(child_end(&child)), 0);
}

Test(notify, refuses_rules_that_shrink)
{
	struct setting setting = prepare("madvise:advice=FREE:shrink=50%", three_hits);
	struct hq_notify *notify;
	struct hq_error error;

	cr_assert_eq(hq_notify_start(&notify, setting.plane, -1, NULL, &error), -EINVAL);
	cr_assert(strstr(error.text, "needs the trap"), "%s", error.text);
}

static int die_at_once(struct child *self, void *cookie)
{
	(void)self;
	(void)cookie;
	return 0;
}

Test(notify, whose_child_dies_before_it_is_ready_does_not_start)
{
	struct setting setting = prepare(REFUSE, three_hits);
	struct hq_notify *notify;
	struct hq_error error;
	struct child child;

	child_start(&child, die_at_once, NULL);
	cr_assert_eq(hq_notify_start(&notify, setting.plane, child.socket, NULL, &error),
		     -ECONNRESET);
	cr_assert(strstr(error.text, "did not start"), "%s", error.text);
	child_end(&child);
}
