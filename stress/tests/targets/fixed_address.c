/* SPDX-License-Identifier: MIT */
/*
 * A program that takes malloc's address and is linked to one place in memory: for the dynamic
 * linker malloc is then a jump in the program, which leads to whoever serves it. Node.js is such a
 * program.
 */
#include <stdlib.h>

static void *(*volatile const take)(size_t) = malloc;

int main(void)
{
	void *block = take(100);

	free(block);
	return block ? 0 : 1;
}
