/* SPDX-License-Identifier: MIT */
/*
 * The checkers by name, for the table alone. A new checker adds its line here and its row in
 * table.c.
 */
#ifndef HQ_STRESS_CHECK_TABLE_H
#define HQ_STRESS_CHECK_TABLE_H

#include "stress/check/check.h"

extern const struct hq_checker hq_check_alignment;
extern const struct hq_checker hq_check_bounded_retry;
extern const struct hq_checker hq_check_cache_bounded;
extern const struct hq_checker hq_check_calloc_zero;
extern const struct hq_checker hq_check_content;
extern const struct hq_checker hq_check_counters_sane;
extern const struct hq_checker hq_check_cpu_identity;
extern const struct hq_checker hq_check_errno;
extern const struct hq_checker hq_check_fork_safe;
extern const struct hq_checker hq_check_fragmentation;
extern const struct hq_checker hq_check_hole_cost;
extern const struct hq_checker hq_check_idle_falls;
extern const struct hq_checker hq_check_injected;
extern const struct hq_checker hq_check_lazy_free;
extern const struct hq_checker hq_check_limit_fair;
extern const struct hq_checker hq_check_limit_fresh;
extern const struct hq_checker hq_check_limit_graded;
extern const struct hq_checker hq_check_limit_held;
extern const struct hq_checker hq_check_limit_reopens;
extern const struct hq_checker hq_check_mode_true;
extern const struct hq_checker hq_check_no_residue;
extern const struct hq_checker hq_check_null_errno;
extern const struct hq_checker hq_check_oom_graded;
extern const struct hq_checker hq_check_overlap;
extern const struct hq_checker hq_check_overshoot;
extern const struct hq_checker hq_check_page_size;
extern const struct hq_checker hq_check_pressure_effective;
extern const struct hq_checker hq_check_program_free;
extern const struct hq_checker hq_check_program_tail;
extern const struct hq_checker hq_check_progress;
extern const struct hq_checker hq_check_purge_harmless;
extern const struct hq_checker hq_check_purge_path;
extern const struct hq_checker hq_check_re_entrancy;
extern const struct hq_checker hq_check_realloc;
extern const struct hq_checker hq_check_recorded;
extern const struct hq_checker hq_check_recovers;
extern const struct hq_checker hq_check_refusal;
extern const struct hq_checker hq_check_release_atomic;
extern const struct hq_checker hq_check_release_works;
extern const struct hq_checker hq_check_size_wrap;
extern const struct hq_checker hq_check_space_bounded;
extern const struct hq_checker hq_check_steady;
extern const struct hq_checker hq_check_survived;
extern const struct hq_checker hq_check_threads_leave_nothing;
extern const struct hq_checker hq_check_tracking_corrects;
extern const struct hq_checker hq_check_usable_size;
extern const struct hq_checker hq_check_vma_economy;
extern const struct hq_checker hq_check_who_frees;
extern const struct hq_checker hq_check_zero_proven;
extern const struct hq_checker hq_check_zero_size;

#endif
