/* SPDX-License-Identifier: MIT */
/*
 * A program without a dynamic linker that asks for more and more memory, and gives none back,
 * until it gets none or has asked for long enough. It exits with 3 if it was refused.
 */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(1 << 20);

		if (!block)
			return 3;
		usleep(20000);
	}
	return 0;
}
