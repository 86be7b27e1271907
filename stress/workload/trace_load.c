/* SPDX-License-Identifier: MIT */
/*
 * Making a trace ready to be replayed: it is found, mapped and read twice, once to count what each
 * thread does and once to write its steps. No libc in between: the process has an allocator under
 * test, and rules that listen to system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/syscall/raw.h"
#include "stress/trace/reader.h"
#include "stress/workload/trace.h"

#define PATH_ROOM 4096u
#define NONE      UINT32_MAX

/* A file that is mapped, and what it takes to read it. */
struct source {
	const uint8_t *data;
	uint64_t size;
	struct hq_trace_reader *reader;
	uint8_t *live;
	uint64_t live_bytes;
};

static void *map(uint64_t size, long flags, long fd)
{
	const long result = hq_raw6(SYS_mmap, 0, (long)size,
				    fd < 0 ? PROT_READ | PROT_WRITE : PROT_READ, flags, fd, 0);

	return (unsigned long)result > -4096ul ? NULL : (void *)result;
}

static void *map_scratch(uint64_t size)
{
	return map(size, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static void unmap(const void *address, uint64_t size)
{
	if (address)
		hq_raw3(SYS_munmap, (long)address, (long)size, 0);
}

/* ---- finding and opening ---- */

static long open_file(const char *path)
{
	return hq_raw4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
}

/* Beside the scenarios: those here, or those of the checkout that this program was built in. */
static long open_by_name(const char *name)
{
	static const char *const places[] = { "/scenarios", "/../scenarios", "/../../scenarios" };
	char beside[PATH_ROOM / 2], path[PATH_ROOM];
	long length = hq_raw4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)beside,
			      sizeof(beside) - 1);
	long fd;

	snprintf(path, sizeof(path), "scenarios/traces/%s" HQ_TRACE_SUFFIX, name);
	fd = open_file(path);
	while (length > 0 && beside[length - 1] != '/')
		length--;
	for (size_t i = 0; fd < 0 && length > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		beside[length - 1] = '\0';
		snprintf(path, sizeof(path), "%s%s/traces/%s" HQ_TRACE_SUFFIX, beside, places[i],
			 name);
		fd = open_file(path);
	}
	return fd;
}

static int map_file(const char *file, struct source *source, struct hq_error *error)
{
	const long fd = strchr(file, '/') ? open_file(file) : open_by_name(file);
	long size;

	if (fd < 0 && !strchr(file, '/'))
		return hq_error_set(error, "no trace is called '%.100s' (a path has a '/')", file);
	if (fd < 0)
		return hq_error_set(error, "%.200s: %s", file, strerror((int)-fd));
	size = hq_raw3(SYS_lseek, fd, 0, SEEK_END);
	source->size = size > 0 ? (uint64_t)size : 0;
	source->data = source->size ? map(source->size, MAP_PRIVATE, fd) : NULL;
	hq_raw1(SYS_close, fd);
	return source->data ? 0 : hq_error_set(error, "%.200s: it is no trace", file);
}

static void close_source(struct source *source)
{
	unmap(source->data, source->size);
	unmap(source->reader, sizeof(*source->reader));
	unmap(source->live, source->live_bytes);
}

static int refuse(const char *file, const struct hq_error *why, struct hq_error *error)
{
	return hq_error_set(error, "%.150s: %.300s", file, why->text);
}

static int open_source(const char *file, struct source *source, struct hq_error *error)
{
	struct hq_trace_info info;
	struct hq_error why;

	*source = (struct source){ .data = NULL };
	if (map_file(file, source, error))
		return -EINVAL;
	if (hq_trace_read_info(source->data, source->size, &info, &why))
		return refuse(file, &why, error);
	source->live_bytes = hq_trace_live_bytes(&info);
	source->live = map_scratch(source->live_bytes);
	source->reader = map_scratch(sizeof(*source->reader));
	if (!source->live || !source->reader)
		return hq_error_set(error, "%.200s: no memory to read it", file);
	return 0;
}

/* From the beginning, also for a second time. */
static int rewind_source(struct source *source, struct hq_error *error)
{
	memset(source->live, 0, source->live_bytes);
	return hq_trace_reader_start(source->reader, source->data, source->size, source->live,
				     error);
}

/* ---- looking ---- */

int hq_trace_script_info(const char *file, struct hq_trace_info *info, struct hq_error *error)
{
	struct source source;
	struct hq_error why;
	int status = 0;

	source = (struct source){ .data = NULL };
	if (map_file(file, &source, error))
		status = -EINVAL;
	else if (hq_trace_read_info(source.data, source.size, info, &why))
		status = refuse(file, &why, error);
	close_source(&source);
	return status;
}

/* To its end. 0, or -EINVAL with a sentence that does not name the file. */
static int read_through(struct source *source, struct hq_error *error)
{
	struct hq_trace_op op;
	int status = rewind_source(source, error);

	while (!status && (status = hq_trace_next(source->reader, &op, error)) == 1)
		status = 0;
	if (!status && source->reader->info.ops == 0)
		status = hq_error_set(error, "there is no call in it");
	if (!status && source->reader->info.ops > HQ_TRACE_STEPS_MAX)
		status = hq_error_set(error, "more than %u calls", HQ_TRACE_STEPS_MAX);
	return status;
}

int hq_trace_script_check(const char *file, struct hq_error *error)
{
	struct source source;
	struct hq_error why;
	int status = open_source(file, &source, error);

	if (!status && read_through(&source, &why))
		status = refuse(file, &why, error);
	close_source(&source);
	return status;
}

/* ---- steps ---- */

/* What is known of a slot while steps are written. */
struct slot {
	struct hq_trace_step *last; /* the latest step on it */
	uint32_t owner;             /* who made that */
	uint32_t turn;
	uint32_t next_empty; /* of those that one thread emptied */
};

struct writing {
	struct hq_trace_script *script;
	uint32_t *slot_of; /* each block's */
	struct slot *slots;
	uint32_t empty[64]; /* the first of each thread */
};

static uint32_t take_slot(struct writing *writing, uint32_t thread)
{
	const uint32_t slot = writing->empty[thread];

	if (slot == NONE)
		return writing->script->slots++;
	writing->empty[thread] = writing->slots[slot].next_empty;
	return slot;
}

static void leave_slot(struct writing *writing, uint32_t thread, uint32_t slot)
{
	writing->slots[slot].next_empty = writing->empty[thread];
	writing->empty[thread] = slot;
}

/* If another thread made the step before on this slot, that one hands it on. */
static void link_step(struct slot *slot, struct hq_trace_step *step, uint32_t thread)
{
	if (slot->last && slot->owner != thread) {
		slot->last->hands_on = 1;
		slot->turn = slot->last->turn + 1;
		step->waits = 1;
	}
	step->turn = slot->turn;
	slot->last = step;
	slot->owner = thread;
}

static void write_step(struct writing *writing, const struct hq_trace_op *op)
{
	const uint32_t thread = op->thread % writing->script->threads;
	struct hq_trace_steps *const steps = &writing->script->thread[thread];
	struct hq_trace_step *const step = &steps->steps[steps->count++];

	*step = (struct hq_trace_step){
		.tick = op->tick, .size = op->size, .kind = op->kind, .shift = op->alignment_shift
	};
	if (hq_trace_makes_block(op->kind))
		writing->slot_of[op->block] = take_slot(writing, thread);
	step->slot = writing->slot_of[op->block];
	link_step(&writing->slots[step->slot], step, thread);
	if (op->kind == HQ_TRACE_FREE)
		leave_slot(writing, thread, step->slot);
}

static int count_steps(struct source *source, struct hq_trace_script *script)
{
	struct hq_trace_op op;
	struct hq_error error;
	int status = rewind_source(source, &error);

	while (!status && (status = hq_trace_next(source->reader, &op, &error)) == 1) {
		script->thread[op.thread % script->threads].count++;
		status = 0;
	}
	for (uint32_t i = 0; !status && i < script->threads; i++) {
		struct hq_trace_steps *const steps = &script->thread[i];

		steps->steps = hq_host_map((steps->count + 1) * sizeof(*steps->steps));
		status = steps->steps ? 0 : -ENOMEM;
		steps->count = 0;
	}
	return status;
}

static int write_steps(struct source *source, struct writing *writing)
{
	struct hq_trace_op op;
	struct hq_error error;
	int status = rewind_source(source, &error);

	for (uint32_t i = 0; i < writing->script->threads; i++)
		writing->empty[i] = NONE;
	while (!status && (status = hq_trace_next(source->reader, &op, &error)) == 1) {
		write_step(writing, &op);
		status = 0;
	}
	return status;
}

int hq_trace_script_load(const char *file, uint32_t threads, struct hq_trace_script *script)
{
	struct writing writing = { .script = script };
	uint64_t slot_bytes, map_bytes;
	struct hq_error error;
	struct source source;
	int status = open_source(file, &source, &error);

	*script = (struct hq_trace_script){ .threads = threads };
	if (!status)
		status = count_steps(&source, script);
	if (!status) {
		script->info = source.reader->info;
		slot_bytes = (script->info.blocks + 1) * sizeof(*writing.slots);
		map_bytes = (script->info.blocks + 1) * sizeof(*writing.slot_of);
		writing.slots = map_scratch(slot_bytes);
		writing.slot_of = map_scratch(map_bytes);
		status =
			writing.slots && writing.slot_of ? write_steps(&source, &writing) : -ENOMEM;
		unmap(writing.slots, slot_bytes);
		unmap(writing.slot_of, map_bytes);
	}
	close_source(&source);
	return status;
}
