/* SPDX-License-Identifier: MIT */
/*
 * Makes some mappings itself, then runs its arguments as a child that may not install a filter, as
 * under a sandbox: for the question what is said of processes that no fault can reach.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAPPINGS 200

static int forbid_filters(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog fprog = { .len = 4, .filter = program };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog);
}

int main(int argc, char **argv)
{
	int status = 1;

	(void)argc;
	for (int i = 0; i < MAPPINGS; i++) {
		void *block = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (block != MAP_FAILED)
			munmap(block, 4096);
	}
	const pid_t child = fork();

	if (child == 0) {
		if (!forbid_filters())
			execv(argv[1], argv + 1);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
