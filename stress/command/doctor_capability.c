/* SPDX-License-Identifier: MIT */
/*
 * Probes of what the kernel lets us do.
 */
#include "stress/command/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/syscall/notify.h"
#include "stress/observe/call_trace.h"
#include "stress/observe/counters.h"

/* Runs `act` in a child. 0, its errno as -errno, or -EINTR if a signal or the alarm ended it. */
static int in_child(int (*act)(void))
{
	int status = 0;
	const pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		alarm(5);
		_exit(act());
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* ---- seccomp ---- */

static volatile sig_atomic_t trapped;

static void on_trap(int number)
{
	(void)number;
	trapped = 1;
}

static int act_trap(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	signal(SIGSYS, on_trap);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return errno;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		return errno;
	syscall(SYS_getppid);
	return trapped ? 0 : ENOSYS;
}

static void probe_trap(struct hq_diagnosis *diagnosis)
{
	const int status = in_child(act_trap);

	if (status == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "a filtered call raises SIGSYS in its thread");
	else
		hq_diagnose(
			diagnosis, HQ_HEALTH_MISSING,
			"seccomp filters: %s; rules need a kernel with CONFIG_SECCOMP_FILTER and "
			"a container that allows seccomp(2)",
			strerror(-status));
}

static void probe_notify(struct hq_diagnosis *diagnosis)
{
	struct hq_error reason = { .text = "" };

	if (hq_notify_probe(&reason) == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_OK,
			    "a supervisor decides for static programs too");
	else
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING,
			    "%.150s; programs that the trap cannot reach are skipped", reason.text);
}

/* ---- limits ---- */

static int act_data_limit(void)
{
	const struct rlimit limit = { .rlim_cur = 1 << 20, .rlim_max = 1 << 20 };

	if (setrlimit(RLIMIT_DATA, &limit))
		return errno;
	void *const memory =
		mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? 0 : ENOSYS;
}

static void probe_data_limit(struct hq_diagnosis *diagnosis)
{
	const int status = in_child(act_data_limit);

	if (status == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "private mappings count against RLIMIT_DATA");
	else
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING,
			    "RLIMIT_DATA: %s; there is no safety net under a target's memory",
			    status == -ENOSYS ? "does not count mappings" : strerror(-status));
}

static bool has_word(const char *line, const char *word)
{
	const char *at = strstr(line, word);
	const size_t length = strlen(word);

	return at && (at == line || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0');
}

/* Where our own group is, in the hierarchy with that controller ("": the unified one). */
static bool find_own_group(const char *controller, char *group, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[512];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		names++;
		path[strcspn(path, "\n")] = '\0';
		found = strcmp(names, controller) == 0;
		if (found)
			snprintf(group, size, "%s", path);
	}
	if (file)
		fclose(file);
	return found;
}

/* Can we make a group below ours? By making one. */
static int try_group(const char *root, const char *controller, const char *wanted_file)
{
	char group[400], path[512], file[600];

	if (!find_own_group(controller, group, sizeof(group)))
		return -ENOENT;
	snprintf(path, sizeof(path), "%.60s%.380s/heapquake-doctor-%d", root, group, (int)getpid());
	if (mkdir(path, 0755))
		return -errno;
	snprintf(file, sizeof(file), "%s/%s", path, wanted_file);
	const int status = access(file, W_OK) ? -errno : 0;

	rmdir(path);
	return status;
}

static void probe_cgroup(struct hq_diagnosis *diagnosis)
{
	struct statfs status;
	char controllers[512];
	int unified = -ENOENT, legacy = -ENOENT;

	if (statfs("/sys/fs/cgroup", &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC) {
		hq_doctor_read_line("/sys/fs/cgroup/cgroup.controllers", controllers,
				    sizeof(controllers));
		if (has_word(controllers, "memory"))
			unified = try_group("/sys/fs/cgroup", "", "memory.max");
	} else {
		legacy = try_group("/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes");
	}
	if (unified == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "version 2 with memory controller, delegated");
	else if (legacy == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "version 1 memory controller, writable");
	else
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING,
			    "no group with a memory limit can be made (%s); run as root, or by "
			    "systemd-run --user --scope -p Delegate=yes",
			    strerror(unified != -ENOENT ? -unified : -legacy));
}

/* ---- scheduling and measuring ---- */

static int act_realtime(void)
{
	const struct sched_param parameter = { .sched_priority = 1 };

	return sched_setscheduler(0, SCHED_FIFO, &parameter) ? errno : 0;
}

static void probe_realtime(struct hq_diagnosis *diagnosis)
{
	const int status = in_child(act_realtime);

	if (status == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "the sampler can run at real-time priority");
	else
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING,
			    "SCHED_FIFO: %s; samples may come late under load (ulimit -r, or "
			    "CAP_SYS_NICE)",
			    strerror(-status));
}

static void probe_psi(struct hq_diagnosis *diagnosis)
{
	char line[200];

	if (hq_doctor_read_line("/proc/pressure/memory", line, sizeof(line))[0])
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "stall times of memory are counted");
	else
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING,
			    "/proc/pressure/memory: %s; boot with psi=1", strerror(errno));
}

/* "cycles, instructions": the names behind the room. */
static void add_name(char *list, size_t size, const char *metric)
{
	const size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", strchr(metric, '.') + 1);
}

/* One kind of counters: which are missing, and why the first of them is. */
static void probe_counters(struct hq_diagnosis *diagnosis, bool hardware)
{
	int why = 0, user_only = 0, present = 0;
	char missing[160] = "";

	for (int i = 0; i < HQ_COUNTER_COUNT; i++) {
		const enum hq_counter counter = (enum hq_counter)i;

		if (hq_counter_is_hardware(counter) != hardware)
			continue;
		const int status = hq_counter_probe(counter);

		if (status < 0)
			add_name(missing, sizeof(missing), hq_counter_metric(counter));
		why = why ? why : status < 0 ? status : 0;
		user_only |= status > 0;
		present += status >= 0;
	}
	if (why && present)
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING, "%s: %s", missing, hq_counter_why(why));
	else if (why)
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING, "none: %s", hq_counter_why(why));
	else
		hq_diagnose(diagnosis, HQ_HEALTH_OK, "all can be counted%s",
			    user_only ? ", of user code only" : "");
}

static void probe_hardware(struct hq_diagnosis *diagnosis)
{
	probe_counters(diagnosis, true);
}

static void probe_perf(struct hq_diagnosis *diagnosis)
{
	probe_counters(diagnosis, false);
}

static void probe_calls(struct hq_diagnosis *diagnosis)
{
	struct hq_calls_seen seen = { 0 };
	struct hq_call_trace *trace;
	const int status = hq_call_trace_open(getpid(), &trace);

	if (status) {
		hq_diagnose(diagnosis, HQ_HEALTH_MISSING, "%s", hq_call_trace_why(status));
		return;
	}
	hq_call_trace_close(trace, &seen);
	hq_diagnose(diagnosis, HQ_HEALTH_OK, "calls about memory and locks can be traced");
}

const struct hq_doctor_probe hq_doctor_capabilities[] = {
	{ "seccomp trap", probe_trap },
	{ "seccomp notification", probe_notify },
	{ "memory limit (RLIMIT)", probe_data_limit },
	{ "memory limit (cgroup)", probe_cgroup },
	{ "real-time priority", probe_realtime },
	{ "pressure stall counters", probe_psi },
	{ "perf events", probe_perf },
	{ "hardware counters", probe_hardware },
	{ "system call trace", probe_calls },
	{ 0 },
};
