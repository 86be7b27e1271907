/* SPDX-License-Identifier: MIT */
/*
 * The table of checkers: the one place that knows which there are.
 */
#include "stress/check/table.h"

/* clang-format off */
const struct hq_checker *const hq_checkers[] = {
	&hq_check_alignment,
	&hq_check_cache_bounded,
	&hq_check_calloc_zero,
	&hq_check_content,
	&hq_check_counters_sane,
	&hq_check_cpu_identity,
	&hq_check_errno,
	&hq_check_fork_safe,
	&hq_check_fragmentation,
	&hq_check_hole_cost,
	&hq_check_idle_falls,
	&hq_check_injected,
	&hq_check_lazy_free,
	&hq_check_mode_true,
	&hq_check_no_residue,
	&hq_check_null_errno,
	&hq_check_oom_graded,
	&hq_check_overlap,
	&hq_check_overshoot,
	&hq_check_page_size,
	&hq_check_pressure_effective,
	&hq_check_program_free,
	&hq_check_program_tail,
	&hq_check_progress,
	&hq_check_purge_harmless,
	&hq_check_purge_path,
	&hq_check_re_entrancy,
	&hq_check_realloc,
	&hq_check_recorded,
	&hq_check_refusal,
	&hq_check_release_atomic,
	&hq_check_release_works,
	&hq_check_size_wrap,
	&hq_check_space_bounded,
	&hq_check_steady,
	&hq_check_survived,
	&hq_check_threads_leave_nothing,
	&hq_check_tracking_corrects,
	&hq_check_usable_size,
	&hq_check_vma_economy,
	&hq_check_who_frees,
	&hq_check_zero_proven,
	&hq_check_zero_size,
	NULL,
};
/* clang-format on */
