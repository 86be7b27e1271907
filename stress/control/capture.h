/* SPDX-License-Identifier: MIT */
/*
 * What a target prints, kept in two files of bounded size. A target that floods is read on and not
 * slowed down; what went beyond the bound is counted in the file's last line.
 */
#ifndef HQ_STRESS_CONTROL_CAPTURE_H
#define HQ_STRESS_CONTROL_CAPTURE_H

struct hq_capture;

/*
 * Opens folder/out_name and folder/err_name and a reader thread; *out_fd and *err_fd are for the
 * child (the caller closes them after the spawn). 0 or -errno.
 */
int hq_capture_start(struct hq_capture **capture, const char *folder, const char *out_name,
		     const char *err_name, int *out_fd, int *err_fd);

/* Once the target is gone: takes what is still in the pipes and ends. */
void hq_capture_stop(struct hq_capture *capture);

#endif
