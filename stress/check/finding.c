/* SPDX-License-Identifier: MIT */
/*
 * The list of findings and gaps: adding one, adding lines of evidence to one. A full list counts
 * what it left out, so that a verdict can never turn better for lack of room.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/check.h"
#include "stress/check/evidence.h"

__attribute__((format(printf, 4, 0))) static struct hq_finding *
add(struct hq_findings *findings, const char *checker, bool gap, const char *format, va_list args)
{
	if (findings->count >= HQ_FINDINGS_MAX) {
		findings->left_out++;
		return NULL;
	}
	struct hq_finding *finding = &findings->list[findings->count++];

	memset(finding, 0, sizeof(*finding));
	snprintf(finding->checker, sizeof(finding->checker), "%s", checker);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	finding->gap = gap;
	finding->count = 1;
	return finding;
}

/*
 * A finding must not get lost behind gaps: with a full list it takes the place of the last gap,
 * which is then what was left out.
 */
static void make_room(struct hq_findings *findings)
{
	if (findings->count < HQ_FINDINGS_MAX)
		return;
	for (size_t i = findings->count; i-- > 0;) {
		if (!findings->list[i].gap)
			continue;
		memmove(&findings->list[i], &findings->list[i + 1],
			(findings->count - i - 1) * sizeof(findings->list[0]));
		findings->count--;
		findings->left_out++;
		return;
	}
}

struct hq_finding *hq_finding_add(struct hq_findings *findings, const char *checker,
				  const char *format, ...)
{
	va_list args;

	make_room(findings);
	va_start(args, format);
	struct hq_finding *finding = add(findings, checker, false, format, args);

	va_end(args);
	return finding;
}

struct hq_finding *hq_gap_add(struct hq_findings *findings, const char *checker, const char *format,
			      ...)
{
	va_list args;

	va_start(args, format);
	struct hq_finding *finding = add(findings, checker, true, format, args);

	va_end(args);
	return finding;
}

bool hq_evidence_line(struct hq_finding *finding, const char *format, ...)
{
	if (!finding)
		return false;
	const size_t used = strlen(finding->evidence);
	const size_t separator = used > 0;
	const size_t room = sizeof(finding->evidence) - used;
	va_list args;

	if (room <= separator)
		return false;
	va_start(args, format);
	const int length =
		vsnprintf(finding->evidence + used + separator, room - separator, format, args);

	va_end(args);
	if (length < 0 || (size_t)length >= room - separator) {
		finding->evidence[used] = '\0';
		return false;
	}
	if (separator)
		finding->evidence[used] = '\n';
	return true;
}
