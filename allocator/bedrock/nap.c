/* SPDX-License-Identifier: MIT */
/*
 * Reading two small files about a thread, and one about ourselves.
 */
#include "allocator/bedrock/nap.h"

#include <string.h>
#include <sys/syscall.h>

#include "allocator/bedrock/os.h"
#include "allocator/bedrock/text.h"

/* What is looked for stands within the first lines. */
#define BEDROCK_NAP_STATUS_BYTES 1024u
#define BEDROCK_NAP_TEXT_BYTES   256u

/* The file of a thread, as a string. */
static bool bedrock_nap_read(uint32_t thread_id, const char *name, char *text, size_t text_bytes)
{
	char path[BEDROCK_TEXT_BYTES];
	struct bedrock_text written;

	bedrock_text_init(&written, bedrock_text_to_string, path);
	bedrock_text_add(&written, "/proc/self/task/");
	bedrock_text_add_number(&written, thread_id);
	bedrock_text_add(&written, "/");
	bedrock_text_add(&written, name);
	bedrock_text_flush(&written);
	return bedrock_os_read_file(path, text, text_bytes) > 0;
}

/* How often the thread was put on a CPU. A kernel that does not count says 0. */
static bool bedrock_nap_arrivals(uint32_t thread_id, uint64_t *out)
{
	char text[BEDROCK_NAP_TEXT_BYTES];
	const char *at = text;

	if (!bedrock_nap_read(thread_id, "schedstat", text, sizeof(text)))
		return false;
	for (int i = 0; i < 2; i++) {
		if (!bedrock_text_read_number(&at, out) || *at++ != ' ')
			return false;
	}
	return bedrock_text_read_number(&at, out) && *out > 0;
}

/* Does a call leave the caller's storage to somebody else while it blocks? */
static bool bedrock_nap_is_shared(uint64_t call)
{
#ifdef SYS_vfork
	if (call == SYS_vfork)
		return true;
#endif
#ifdef SYS_clone3
	if (call == SYS_clone3)
		return true;
#endif
	return call == SYS_clone;
}

/*
 * Is the thread blocked in a system call? Others are "running", or in no call: "-1". The reader
 * itself is in the call that reads.
 */
static bool bedrock_nap_is_asleep(uint32_t thread_id)
{
	char text[BEDROCK_NAP_TEXT_BYTES];
	const char *at = text;
	uint64_t call;

	return bedrock_nap_read(thread_id, "syscall", text, sizeof(text)) &&
	       bedrock_text_read_number(&at, &call) && *at == ' ' && !bedrock_nap_is_shared(call);
}

/* One number for each namespace from that of /proc inwards: if it is one, ours is the same. */
static bool bedrock_nap_is_at_home(void)
{
	static const char key[] = "\nNSpid:\t";
	char text[BEDROCK_NAP_STATUS_BYTES];
	uint64_t number;

	if (bedrock_os_read_file("/proc/self/status", text, sizeof(text)) < 0)
		return false;
	const char *at = strstr(text, key);

	if (!at)
		return false;
	at += sizeof(key) - 1;
	return bedrock_text_read_number(&at, &number) && *at == '\n';
}

bool bedrock_nap_is_possible(void)
{
	uint32_t thread_id = bedrock_os_thread_id();
	uint64_t arrivals;

	return bedrock_nap_is_at_home() && bedrock_nap_arrivals(thread_id, &arrivals) &&
	       bedrock_nap_is_asleep(thread_id);
}

bool bedrock_nap_begin(struct bedrock_nap *nap, uint32_t thread_id)
{
	nap->thread_id = thread_id;
	return bedrock_nap_arrivals(thread_id, &nap->arrivals) && bedrock_nap_is_asleep(thread_id);
}

bool bedrock_nap_lasts(const struct bedrock_nap *nap)
{
	uint64_t arrivals;

	return bedrock_nap_is_asleep(nap->thread_id) &&
	       bedrock_nap_arrivals(nap->thread_id, &arrivals) && arrivals == nap->arrivals;
}
