/* SPDX-License-Identifier: MIT */
/*
 * Creating threads on stacks of the host's own, and lives: threads that come and go while the
 * workload runs, one after another, each with the heap of the worker that waits for it.
 */
#include "stress/host/thread.h"

#include <errno.h>

#include "stress/host/heap_private.h"
#include "stress/host/system.h"

#define STACK_BYTES     (256u * 1024u)
#define STACK_MAX_BYTES (16u * 1024u * 1024u)
#define GUARD_BYTES     (64u * 1024u) /* a whole page on every machine */

/* With a guard page below, so that an overflow ends the process instead of other memory. */
static char *make_stack(size_t size)
{
	char *const stack = hq_host_map(GUARD_BYTES + size);

	if (stack == NULL || hq_system_forbid(stack, GUARD_BYTES) == 0)
		return stack;
	hq_system_unmap(stack, GUARD_BYTES + size);
	return NULL;
}

static int create_on_stack(struct hq_host_thread *thread, size_t size, void *(*body)(void *),
			   void *argument)
{
	pthread_attr_t attributes;
	int error;

	*thread = (struct hq_host_thread){ .stack = make_stack(size),
					   .stack_bytes = GUARD_BYTES + size };
	if (thread->stack == NULL)
		return ENOMEM;
	error = pthread_attr_init(&attributes);
	if (error == 0)
		error = pthread_attr_setstack(&attributes, thread->stack + GUARD_BYTES, size);
	if (error == 0)
		error = pthread_create(&thread->id, &attributes, body, argument);
	if (error != 0)
		hq_host_thread_forget(thread);
	return error;
}

/*
 * The thread-local data of every loaded object live on the stack as well, and those of some are
 * large: the size is doubled until pthread_create takes it.
 */
int hq_host_thread_create(struct hq_host_thread *thread, void *(*body)(void *argument),
			  void *argument)
{
	size_t size = STACK_BYTES;
	int error;

	while ((error = create_on_stack(thread, size, body, argument)) == EINVAL &&
	       size < STACK_MAX_BYTES)
		size *= 2;
	return error;
}

void hq_host_thread_forget(struct hq_host_thread *thread)
{
	hq_system_unmap(thread->stack, thread->stack_bytes);
	thread->stack = NULL;
}

struct life {
	void (*body)(void *argument);
	void *argument;
};

static void *live(void *argument)
{
	const struct life *const life = argument;

	life->body(life->argument);
	return NULL;
}

bool hq_heap_live(struct hq_heap *heap, void (*body)(void *argument), void *argument)
{
	struct life life = { .body = body, .argument = argument };
	struct hq_host_thread thread;

	hq_retry_forget(&heap->retry);
	if (hq_host_thread_create(&thread, live, &life) != 0)
		return false;
	pthread_join(thread.id, NULL);
	hq_host_thread_forget(&thread);
	hq_retry_forget(&heap->retry);
	hq_count_own(&heap->worker->lives, 1);
	return true;
}
