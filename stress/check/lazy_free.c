/* SPDX-License-Identifier: MIT */
/*
 * Pages that were given back lazily (MADV_FREE) still count as resident memory until the kernel
 * takes them. So the allocator counts them among what is free, gives them back for good in the end,
 * and makes none where its configuration forbids it.
 */
#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "lazy-free";

struct lazy_free_options {
	bool forbidden;
	bool required;
	uint64_t within;
	double agree;
	uint64_t slack;
};

static const struct hq_option options_table[] = {
	{ "forbidden", HQ_OPTION_BOOL, offsetof(struct lazy_free_options, forbidden), "no", 0, 0,
	  NULL, "the allocator is configured to give nothing back lazily" },
	{ "required", HQ_OPTION_BOOL, offsetof(struct lazy_free_options, required), "no", 0, 0,
	  NULL, "a run in which nothing was lazily freed proves nothing" },
	{ "within", HQ_OPTION_DURATION, offsetof(struct lazy_free_options, within), "2s", 0, 0,
	  NULL, "how long after everything was freed such pages may stay; 0: for ever" },
	{ "agree", HQ_OPTION_SHARE, offsetof(struct lazy_free_options, agree), "20%", 0, 0, NULL,
	  "by so much the kernel's LazyFree may be above what the allocator counts" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct lazy_free_options, slack), "1MiB", 0, 0, NULL,
	  "bytes that may be there in spite of each of these" },
	{ .name = NULL },
};

/* One finding with the first record that shows it; later ones are only counted. */
static void report(struct hq_finding **finding, const struct hq_stats_record *record,
		   const char *what, struct hq_findings *findings)
{
	char much[HQ_UNITS_TEXT];

	if (*finding) {
		(*finding)->count++;
		return;
	}
	hq_value_print(much, sizeof(much), HQ_UNIT_BYTES, (double)record->lazyfree_bytes);
	*finding = hq_finding_add(findings, name, "%s are %s", much, what);
	hq_moment_show(record, *finding);
}

/*
 * Pages that were used again and not written to are still the kernel's to take: they may be among
 * the dirty ones by now, or active beside the live blocks. What is on its way from one to the other
 * is nowhere for a moment, which is long where the thread that moves it does not get to run: an
 * allocator that counts such pages in the reading just before or after is believed, and one reading
 * alone accuses nobody.
 */
static bool is_hidden(const struct hq_stats_record *record, const struct lazy_free_options *options)
{
	const uint64_t *const values = record->values, live = record->live_bytes;
	const uint64_t active = values[HQ_STAT_ACTIVE];
	const uint64_t counted =
		values[HQ_STAT_MUZZY] + values[HQ_STAT_DIRTY] + (active > live ? active - live : 0);

	return hq_moment_knows(record, HQ_STAT_MUZZY) && hq_moment_knows(record, HQ_STAT_DIRTY) &&
	       hq_moment_knows(record, HQ_STAT_ACTIVE) &&
	       (double)record->lazyfree_bytes >
		       (double)counted * (1 + options->agree) + (double)options->slack;
}

/* The next reading with LazyFree in that direction, 1 or -1; NULL: there is none. */
static const struct hq_stats_record *beside(const struct hq_observations *observations,
					    size_t index, int step)
{
	for (size_t i = index + (size_t)step; i < observations->stats_count; i += (size_t)step) {
		if (observations->stats[i].has_lazyfree)
			return &observations->stats[i];
	}
	return NULL;
}

static bool is_counted(const struct hq_stats_record *record,
		       const struct lazy_free_options *options)
{
	return record && record->lazyfree_bytes > options->slack && !is_hidden(record, options);
}

static void check_hidden(const struct hq_observations *observations,
			 const struct lazy_free_options *options, struct hq_findings *findings)
{
	const struct hq_stats_record *first = NULL;
	struct hq_finding *finding = NULL;
	uint64_t count = 0;

	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		if (!record->has_lazyfree || !is_hidden(record, options) ||
		    is_counted(beside(observations, i, -1), options) ||
		    is_counted(beside(observations, i, 1), options))
			continue;
		first = count++ == 0 ? record : first;
	}
	if (count < 2)
		return;
	report(&finding, first, "lazily freed, more than it counts as free", findings);
	if (finding)
		finding->count = count;
}

static bool is_late(const struct hq_observations *observations,
		    const struct hq_stats_record *record, const struct lazy_free_options *options)
{
	return options->within != 0 && record->point == HQ_STATS_IDLE &&
	       record->time_ns >= observations->freed_ns + options->within &&
	       record->lazyfree_bytes > options->slack;
}

static uint64_t idle_ns(const void *values)
{
	const struct lazy_free_options *options = values;

	return options->within != 0 ? options->within + 300 * HQ_MS : 0;
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct lazy_free_options *options = values;
	struct hq_finding *forbidden = NULL, *late = NULL;
	bool any = false, was_late = options->within == 0;
	bool was_seen = !options->required;

	if (!hq_moments_are_there(observations, name, findings))
		return;
	for (size_t i = 0; i < observations->stats_count; i++) {
		const struct hq_stats_record *record = &observations->stats[i];

		if (!record->has_lazyfree)
			continue;
		any = true;
		was_seen = was_seen || record->lazyfree_bytes > options->slack;
		was_late = was_late || record->time_ns >= observations->freed_ns + options->within;
		if (options->forbidden && record->lazyfree_bytes > options->slack)
			report(&forbidden, record, "lazily freed, which is forbidden", findings);
		if (is_late(observations, record, options))
			report(&late, record, "still lazily freed after the time for it", findings);
	}
	check_hidden(observations, options, findings);
	if (!any)
		hq_gap_add(findings, name, "the kernel does not tell which pages are lazily freed");
	else if (!was_seen)
		hq_gap_add(findings, name, "no page was lazily freed");
	else if (!was_late)
		hq_gap_add(findings, name,
			   "the run ended before lazily freed pages had to be gone");
}

const struct hq_checker hq_check_lazy_free = {
	.name = name,
	.promise = "lazily freed pages are counted as free, given back in the end, and none where "
		   "forbidden",
	.needs = "a kernel that tells LazyFree",
	.on_request = true,
	.takes = HQ_TAKES_STATS,
	.options = options_table,
	.options_size = sizeof(struct lazy_free_options),
	.idle_ns = idle_ns,
	.check = check,
};
