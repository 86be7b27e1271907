/* SPDX-License-Identifier: MIT */
/* Events of the host: each kind has its checker, and becomes one finding however often it came. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/tests/observed.h"

static struct hq_event event_of(enum hq_event_kind kind)
{
	return (struct hq_event){ .time_ns = GATE_NS + 1500 * HQ_MS,
				  .op = 77,
				  .address = 0x1000,
				  .size = 64,
				  .offset = 8,
				  .expected = 16,
				  .got = 2,
				  .kind = kind,
				  .worker = 3 };
}

static struct hq_findings check_one(const char *checker, enum hq_event_kind kind)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(kind);

	seen.events = &event;
	seen.event_count = 1;
	return observed_check(checker, &seen);
}

static const struct expected {
	const char *checker;
	enum hq_event_kind kind;
	const char *text;
	const char *evidence;
} table[] = {
	{ "content", HQ_EVENT_CONTENT, "the content of a live block changed",
	  "block 0x1000 of 64 bytes, offset 8: expected 0x10, got 0x2" },
	{ "content", HQ_EVENT_DATA, "the workload's own data are wrong",
	  "at 0x1000: expected 0x10, got 0x2" },
	{ "overlap", HQ_EVENT_OVERLAP, "a new block covers a live one",
	  "block 0x1000 of 64 bytes shares memory with a live block from offset 8" },
	{ "alignment", HQ_EVENT_ALIGNMENT, "a block is not aligned as promised",
	  "block 0x1000 of 64 bytes is no multiple of 16 bytes" },
	{ "calloc-zero", HQ_EVENT_NONZERO, "calloc gave memory that is not zero",
	  "block 0x1000 of 64 bytes, offset 8: got 0x2 instead of 0" },
	{ "errno", HQ_EVENT_ERRNO_FREE, "free changed errno",
	  "free(0x1000) changed errno from EBUSY to ENOENT" },
	{ "null-errno", HQ_EVENT_ERRNO_NULL, "an allocation failed without errno ENOMEM",
	  "NULL for 64 bytes came with errno ENOENT instead of ENOMEM" },
	{ "program-free", HQ_EVENT_PROGRAM_FREE, "the program freed what is no live block",
	  "0x1000 is no live block" },
	{ "program-tail", HQ_EVENT_PROGRAM_TAIL, "bytes behind a block changed",
	  "block 0x1000, offset 8: expected 0x10, got 0x2" },
	{ "realloc", HQ_EVENT_REALLOC, "realloc lost what the block held",
	  "block 0x1000 of 64 bytes, offset 8: expected 0x10, got 0x2" },
	{ "refusal", HQ_EVENT_REFUSE, "posix_memalign did not refuse an alignment as it should",
	  "posix_memalign of 64 bytes, alignment 8, answered ENOENT and set the pointer to "
	  "0x1000" },
	{ "size-wrap", HQ_EVENT_WRAP, "a request for more than there can be was served",
	  "? of 16 times 64 bytes, alignment 8 gave 0x1000 with 2 bytes usable" },
	{ "zero-size", HQ_EVENT_ZERO, "requests for nothing are not answered by one rule",
	  "? of 0 bytes gave 0x1000, where a live block is" },
	{ "usable-size", HQ_EVENT_SHARED, "malloc_usable_size reaches into a live block",
	  "block 0x1000 of 64 bytes: 2 bytes usable, but a live block begins at offset 8" },
	{ "usable-size", HQ_EVENT_USABLE, "malloc_usable_size is below the requested size",
	  "block 0x1000: 2 bytes usable, 16 bytes requested" },
};

Test(event, what_a_guard_saw_names_thread_and_caller)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(HQ_EVENT_OVERLAP);
	struct hq_findings findings;

	event.worker = HQ_EVENT_GUARD;
	strcpy(event.site, "redis-server+0x4f10");
	seen.events = &event;
	seen.event_count = 1;
	findings = observed_check("overlap", &seen);
	cr_assert(strstr(findings.list[0].evidence, "thread 77, called from redis-server+0x4f10"),
		  "%s", findings.list[0].evidence);
}

Test(event, each_kind_becomes_a_finding_of_its_checker)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct hq_findings findings = check_one(table[i].checker, table[i].kind);

		cr_assert_eq(findings.count, 1, "%s", table[i].checker);
		cr_assert(!findings.list[0].gap);
		cr_assert_str_eq(findings.list[0].checker, table[i].checker);
		cr_assert(strstr(findings.list[0].text, table[i].text), "%s",
			  findings.list[0].text);
		cr_assert(strstr(findings.list[0].evidence, table[i].evidence), "%s",
			  findings.list[0].evidence);
	}
}

Test(event, no_checker_speaks_about_the_kind_of_another)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (int kind = 0; kind < HQ_EVENT_KIND_COUNT; kind++) {
			size_t listed = 0;

			for (size_t j = 0; j < sizeof(table) / sizeof(table[0]); j++)
				listed += (int)table[j].kind == kind &&
					  !strcmp(table[j].checker, table[i].checker);
			cr_assert_eq(check_one(table[i].checker, kind).count, listed, "%s %d",
				     table[i].checker, kind);
		}
	}
}

Test(event, the_place_names_worker_operation_and_time)
{
	struct hq_findings findings = check_one("content", HQ_EVENT_CONTENT);

	cr_assert_str_eq(findings.list[0].text, "the content of a live block changed");
	cr_assert_eq(findings.list[0].count, 1);
	cr_assert_eq(strncmp(findings.list[0].evidence, "worker 3, operation 77, +1.5 s: ", 32), 0);
}

Test(event, without_a_gate_no_time_is_invented)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(HQ_EVENT_CONTENT);

	seen.gate_open_ns = 0;
	seen.events = &event;
	seen.event_count = 1;
	struct hq_findings findings = observed_check("content", &seen);

	cr_assert_eq(strncmp(findings.list[0].evidence, "worker 3, operation 77: ", 24), 0);
}

Test(event, many_events_are_one_finding_with_their_number_and_the_first_in_time)
{
	struct hq_observations seen = observed_good();
	struct hq_event events[1000];

	for (size_t i = 0; i < 1000; i++) {
		events[i] = event_of(HQ_EVENT_OVERLAP);
		events[i].time_ns -= i;
		events[i].op = i;
	}
	seen.events = events;
	seen.event_count = 1000;
	struct hq_findings findings = observed_check("overlap", &seen);

	cr_assert_eq(findings.count, 1);
	cr_assert_eq(findings.list[0].count, 1000);
	const char *first = strstr(findings.list[0].evidence, "operation 999");
	const char *second = strstr(findings.list[0].evidence, "operation 998");

	cr_assert(first && second && first < second);
	cr_assert_null(strstr(findings.list[0].evidence, "operation 996"));
}

Test(event, events_at_the_same_time_are_each_shown_once)
{
	struct hq_observations seen = observed_good();
	struct hq_event events[2] = { event_of(HQ_EVENT_OVERLAP), event_of(HQ_EVENT_OVERLAP) };

	events[1].op = 78;
	seen.events = events;
	seen.event_count = 2;
	struct hq_findings findings = observed_check("overlap", &seen);

	cr_assert(strstr(findings.list[0].evidence, "operation 77"));
	cr_assert(strstr(findings.list[0].evidence, "operation 78"));
}

static struct hq_findings check_with_fault(uint64_t before_ns)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(HQ_EVENT_CONTENT);
	struct hq_fault_seen faults[3] = {
		{ .fault = { .time_ns = event.time_ns - before_ns - 5,
			     .result = 0,
			     .args = { 0x2000, 8192, MADV_DONTNEED },
			     .call = HQ_CALL_MADVISE } },
		{ .fault = { .time_ns = event.time_ns - before_ns,
			     .result = -ENOMEM,
			     .args = { 0x2000, 8192, 3 },
			     .call = HQ_CALL_MMAP } },
		{ .fault = { .time_ns = event.time_ns + 1,
			     .result = -ENOMEM,
			     .args = { 0x2000, 8192, 3 },
			     .call = HQ_CALL_MUNMAP } },
	};

	seen.rule_count = 1;
	strcpy(seen.rules[0].name, "no-memory");
	seen.events = &event;
	seen.event_count = 1;
	seen.faults = faults;
	seen.fault_count = 3;
	return observed_check("content", &seen);
}

Test(event, the_last_fault_before_it_is_shown_as_injected)
{
	struct hq_findings findings = check_with_fault(2 * HQ_MS);

	cr_assert(strstr(findings.list[0].evidence, "\n  injected 2 ms earlier, rule 'no-memory': "
						    "mmap(0x2000, 8192, 0x3) answered ENOMEM"),
		  "%s", findings.list[0].evidence);
}

Test(event, a_fault_of_long_before_is_not_shown)
{
	struct hq_findings findings = check_with_fault(HQ_S + 1);

	cr_assert_null(strstr(findings.list[0].evidence, "injected"));
}

Test(event, call_owner_and_neighbours_of_the_first_one_are_told)
{
	struct hq_observations seen = observed_good();
	struct hq_event events[2] = { event_of(HQ_EVENT_CONTENT), event_of(HQ_EVENT_CONTENT) };
	struct hq_findings findings;

	events[0].asked = HQ_ASKED_REALLOC;
	events[0].owner = 5;
	events[0].gap_before = 1;
	events[0].gap_behind = 17;
	events[1].owner = 9;
	seen.events = events;
	seen.event_count = 2;
	findings = observed_check("content", &seen);
	cr_assert(strstr(findings.list[0].evidence, "\n  realloc; worker 4 asked for the block; a "
						    "live block 0 bytes before it; a "
						    "live block 16 bytes behind it"),
		  "%s", findings.list[0].evidence);
	cr_assert_null(strstr(findings.list[0].evidence, "worker 8"));
}

Test(event, a_call_that_no_table_knows_is_not_looked_up)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(HQ_EVENT_WRAP);
	struct hq_findings findings;

	event.asked = 4711;
	seen.events = &event;
	seen.event_count = 1;
	findings = observed_check("size-wrap", &seen);
	cr_assert(strstr(findings.list[0].evidence, "? of 16 times"));
}

Test(event, a_null_for_nothing_is_no_breach_where_memory_was_refused)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(HQ_EVENT_ZERO);

	event.expected = HQ_ZERO_BLOCK;
	event.got = HQ_ZERO_NULL;
	seen.events = &event;
	seen.event_count = 1;
	cr_assert_eq(observed_check("zero-size", &seen).count, 1);
	seen.nulls = 1;
	cr_assert_eq(observed_check("zero-size", &seen).count, 0);
	event.got = HQ_ZERO_TAKEN;
	cr_assert_eq(observed_check("zero-size", &seen).count, 1);
}

static struct hq_observations seen_refusal_for_nothing(struct hq_event *event)
{
	struct hq_observations seen = observed_good();

	*event = event_of(HQ_EVENT_ZERO);
	event->expected = HQ_ZERO_BLOCK;
	event->got = HQ_ZERO_REFUSED;
	seen.events = event;
	seen.event_count = 1;
	seen.injection_count = 0;
	seen.rules[0] = (struct hq_rule_total){ .fired = 0 };
	seen.rule_count = 1;
	return seen;
}

Test(event, a_refusal_for_nothing_counts_where_nothing_can_have_refused_memory)
{
	struct hq_event event;
	struct hq_observations seen = seen_refusal_for_nothing(&event);
	const struct hq_findings findings = observed_check("zero-size", &seen);

	cr_assert_eq(findings.count, 1);
	cr_assert(strstr(findings.list[0].evidence, "gave NULL and ENOMEM"), "%s",
		  findings.list[0].evidence);
}

Test(event, a_refusal_for_nothing_is_no_answer_where_memory_may_have_been_refused)
{
	struct hq_event event;
	struct hq_observations fault = seen_refusal_for_nothing(&event);
	struct hq_observations limit = seen_refusal_for_nothing(&event);
	struct hq_observations refused = seen_refusal_for_nothing(&event);

	fault.rules[0].fired = 1;
	limit.injection_count = 1;
	refused.nulls = 1;
	cr_assert_eq(observed_check("zero-size", &fault).count, 0);
	cr_assert_eq(observed_check("zero-size", &limit).count, 0);
	cr_assert_eq(observed_check("zero-size", &refused).count, 0);
}

/* ---- what the guard knows besides ---- */

static struct hq_guard_detail detail_of_overlap(void)
{
	struct hq_guard_detail detail = {
		.block = { .address = 0xff0,
			   .size = 96,
			   .live = 1,
			   .allocated_by = 12,
			   .allocated_at = "redis-server+0x4f10" },
		.before = { .address = 0xf00, .size = 8, .live = 1 },
	};

	strcpy(detail.trail[0], "redis-server+0x10");
	strcpy(detail.trail[1], "libc.so.6+0x20");
	return detail;
}

static struct hq_findings check_with_detail(enum hq_event_kind kind, const char *checker,
					    struct hq_guard_detail *detail)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = event_of(kind);

	event.worker = HQ_EVENT_GUARD;
	event.detail = 1;
	seen.events = &event;
	seen.event_count = 1;
	seen.details = detail;
	seen.detail_count = detail != NULL;
	return observed_check(checker, &seen);
}

Test(check_event, overlap_tells_whose_block_was_there_and_what_lies_around)
{
	struct hq_guard_detail detail = detail_of_overlap();
	const struct hq_findings found = check_with_detail(HQ_EVENT_OVERLAP, "overlap", &detail);
	const char *const text = found.list[0].evidence;

	cr_expect(strstr(text, "shared with block 0xff0 of 96 bytes, allocated by thread 12 in "
			       "redis-server+0x4f10\n"),
		  "%s", text);
	cr_expect(strstr(text, "before it block 0xf00 of 8 bytes\n"), "%s", text);
	cr_expect_not(strstr(text, "behind it"), "%s", text);
	cr_expect(strstr(text, "called through redis-server+0x10 < libc.so.6+0x20"), "%s", text);
}

Test(check_event, second_free_tells_of_the_first)
{
	struct hq_guard_detail detail = detail_of_overlap();

	detail.block.live = 0;
	detail.block.freed_by = 13;
	strcpy(detail.block.freed_at, "redis-server+0x99");
	const struct hq_findings found =
		check_with_detail(HQ_EVENT_PROGRAM_FREE, "program-free", &detail);

	cr_expect(strstr(found.list[0].evidence,
			 "allocated by thread 12 in redis-server+0x4f10, freed by thread 13 in "
			 "redis-server+0x99\n"),
		  "%s", found.list[0].evidence);
}

Test(check_event, detail_that_is_not_there_is_left_out)
{
	const struct hq_findings found = check_with_detail(HQ_EVENT_OVERLAP, "overlap", NULL);

	cr_expect_not(strstr(found.list[0].evidence, "shared with"), "%s", found.list[0].evidence);
}
