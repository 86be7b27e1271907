/* SPDX-License-Identifier: MIT */
/*
 * A program without a dynamic linker that asks for a purge a few times and says how it was
 * answered. It starts slowly enough for a supervisor to be there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int refused = 0;

	if (page == MAP_FAILED)
		return 2;
	for (int i = 0; i < 40; i++) {
		refused += madvise(page, 4096, MADV_DONTNEED) && errno == EAGAIN;
		usleep(25000);
	}
	printf("%d refused\n", refused);
	return refused ? 0 : 1;
}
