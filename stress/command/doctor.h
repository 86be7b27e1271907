/* SPDX-License-Identifier: MIT */
/*
 * Probes of the machine: each tries the thing itself, since what a kernel allows depends on more
 * than its version. Whatever a probe changes, it changes in a child that ends with it.
 */
#ifndef HQ_STRESS_COMMAND_DOCTOR_H
#define HQ_STRESS_COMMAND_DOCTOR_H

enum hq_health {
	HQ_HEALTH_OK,
	HQ_HEALTH_MISSING, /* something of ours will be skipped or weaker; text says what and what
			      to do */
	HQ_HEALTH_NOTE,    /* a fact that explains results */
};

struct hq_diagnosis {
	enum hq_health health;
	char text[240];
};

struct hq_doctor_probe {
	const char *name;
	void (*probe)(struct hq_diagnosis *diagnosis);
};

/* What the kernel lets us do, and how this machine is set; name NULL ends both. */
extern const struct hq_doctor_probe hq_doctor_capabilities[];
extern const struct hq_doctor_probe hq_doctor_facts[];

__attribute__((format(printf, 3, 4))) void
hq_diagnose(struct hq_diagnosis *diagnosis, enum hq_health health, const char *format, ...);

/* The first line of a file, without its end; "" if it cannot be read. Returns `text`. */
const char *hq_doctor_read_line(const char *path, char *text, int size);

#endif
