/* SPDX-License-Identifier: MIT */
/* Which mechanism serves a program, by what its file says of itself. */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/control/target.h"

#define FAR 9000 /* behind what the first pages hold */

static char program[] = "/tmp/hq-target-XXXXXX";

/* A file that looks like a program with its program headers at the end. */
static void write_program(const char *interpreter)
{
	Elf64_Ehdr elf = { .e_phoff = FAR, .e_phnum = 1 };
	Elf64_Phdr part = { .p_type = PT_INTERP,
			    .p_offset = FAR + sizeof(part),
			    .p_filesz = strlen(interpreter) + 1 };
	const int fd = mkstemp(program);

	memcpy(elf.e_ident, ELFMAG, SELFMAG);
	elf.e_ident[EI_CLASS] = ELFCLASS64;
	cr_assert_eq(pwrite(fd, &elf, sizeof(elf), 0), (ssize_t)sizeof(elf));
	cr_assert_eq(pwrite(fd, &part, sizeof(part), FAR), (ssize_t)sizeof(part));
	cr_assert_eq(pwrite(fd, interpreter, part.p_filesz, (off_t)part.p_offset),
		     (ssize_t)part.p_filesz);
	close(fd);
}

static enum hq_mechanism mechanism_for(char *path)
{
	struct hq_plan *plan = calloc(1, sizeof(*plan));
	char *command[] = { path, NULL };
	enum hq_mechanism mechanism;
	struct hq_error error = { "" };

	cr_assert_not_null(plan);
	plan->command = command;
	plan->rule_count = 1;
	plan->mechanism = HQ_MECHANISM_AUTO;
	cr_assert_eq(hq_mechanism_resolve(plan, &mechanism, &error), 0, "%s", error.text);
	free(plan);
	return mechanism;
}

static void remove_program(void)
{
	unlink(program);
}

TestSuite(target, .fini = remove_program);

Test(target, interpreter_far_behind_is_found)
{
	write_program("/opt/somewhere/lib/ld-linux-x86-64.so.2");
	cr_assert_eq(mechanism_for(program), HQ_MECHANISM_TRAP);
}

Test(target, other_c_library_is_served_by_notification)
{
	write_program("/lib/ld-musl-x86_64.so.1");
	cr_assert_eq(mechanism_for(program), HQ_MECHANISM_NOTIFY);
}

Test(target, missing_file_is_served_by_notification)
{
	cr_assert_eq(mechanism_for("/nowhere/at/all"), HQ_MECHANISM_NOTIFY);
}
