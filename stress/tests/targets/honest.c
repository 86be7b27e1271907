/* SPDX-License-Identifier: MIT */
/*
 * An ordinary program: threads that allocate, fill, look at, grow and free their own blocks, and
 * mind no failure. With an argument it does one thing wrong at its end:
 *
 *   twice   frees a block twice
 *   stray   frees what malloc never gave
 *   behind  writes behind a block's end
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS  20000u
#define BLOCKS  64u

static void *work(void *argument)
{
	uint8_t *blocks[BLOCKS] = { NULL };
	uint64_t drawn = (uintptr_t)argument;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint8_t **block = &blocks[i % BLOCKS];
		size_t size;

		drawn = drawn * 6364136223846793005ull + 1442695040888963407ull;
		size = 16 + (drawn >> 40) % 1000;
		if (i % 5 == 0 && *block) {
			uint8_t *const grown = realloc(*block, size);

			*block = grown ? grown : *block;
			continue;
		}
		free(*block);
		*block = i % 3 == 0 ? calloc(1, size) : malloc(size);
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return NULL;
}

static void err(const char *what)
{
	char *volatile block = malloc(100);
	char *volatile stray = (char *)(uintptr_t)0x10000040;

	if (strcmp(what, "behind") == 0)
		block[101] = 'x';
	free(strcmp(what, "stray") == 0 ? stray : block);
	if (strcmp(what, "twice") == 0)
		free(block);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1)
		err(argv[1]);
	return 0;
}
