/* SPDX-License-Identifier: MIT */
/*
 * From plan to process. The preload list is ours first (its pthread_create must be found first),
 * then the guard if there is one, then the allocator, then what the caller's environment already
 * had. Programs of another C library get nothing preloaded: both are built for glibc.
 */
#include "stress/control/target.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/control/spawn.h"

int hq_programs_find(struct hq_programs *programs, struct hq_error *error)
{
	char self[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return hq_error_set(error, "cannot read /proc/self/exe: %s", strerror(errno)),
		       -errno;
	self[length] = '\0';
	strcpy(programs->heapquake, self);
	*strrchr(self, '/') = '\0';
	if (snprintf(programs->host, PATH_MAX, "%s/heapquake-host", self) >= PATH_MAX ||
	    snprintf(programs->preload, PATH_MAX, "%s/libheapquake-preload.so", self) >= PATH_MAX)
		return hq_error_set(error, "the path of this program is too long");
	if (snprintf(programs->guard, PATH_MAX, "%s/libheapquake-guard.so", self) >= PATH_MAX ||
	    snprintf(programs->recorder, PATH_MAX, "%s/libheapquake-recorder.so", self) >= PATH_MAX)
		return hq_error_set(error, "the path of this program is too long");
	if (strpbrk(self, " :"))
		return hq_error_set(error,
				    "%s: the dynamic linker splits such a path at ' ' and ':', so "
				    "nothing in it can be preloaded; build it elsewhere",
				    self);
	if (access(programs->host, X_OK) || access(programs->preload, R_OK)) {
		hq_error_set(error, "%s and %s must be beside this program; run make",
			     programs->host, programs->preload);
		return -ENOENT;
	}
	return 0;
}

/* The word with every {run} replaced by the folder; NULL without memory. */
static char *replace_run(const char *word, const char *folder)
{
	static const char mark[] = "{run}";
	size_t marks = 0;

	for (const char *at = word; (at = strstr(at, mark)); at += sizeof(mark) - 1)
		marks++;
	char *text = malloc(strlen(word) + marks * strlen(folder) + 1), *to = text;

	while (text && *word) {
		if (!strncmp(word, mark, sizeof(mark) - 1)) {
			to = stpcpy(to, folder);
			word += sizeof(mark) - 1;
		} else {
			*to++ = *word++;
		}
	}
	if (text)
		*to = '\0';
	return text;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

static char **copy_list(char *const *list, const char *folder)
{
	size_t count = 0;

	while (list[count])
		count++;
	char **copy = calloc(count + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = replace_run(list[i], folder);
		if (!copy[i]) {
			free_list(copy);
			return NULL;
		}
	}
	return copy;
}

/* Whose dynamic linker loads a program's libraries. */
enum linker {
	LINKER_GLIBC, /* scripts count as such */
	LINKER_OTHER, /* another C library's: glibc's libraries would crash it */
	LINKER_NONE,  /* a static program, or one that cannot be read */
};

static enum linker linker_named_by(FILE *file, const Elf64_Phdr *part)
{
	char name[PATH_MAX];
	const size_t wanted = part->p_filesz < sizeof(name) ? part->p_filesz : sizeof(name);

	if (fseeko(file, (off_t)part->p_offset, SEEK_SET) || fread(name, 1, wanted, file) != wanted)
		return LINKER_NONE;
	return memmem(name, wanted, "ld-linux", strlen("ld-linux")) ? LINKER_GLIBC : LINKER_OTHER;
}

/* Program headers may stand anywhere: a tool that changed a path has moved them to the end. */
static enum linker linker_of_elf(FILE *file, const Elf64_Ehdr *elf)
{
	for (size_t i = 0; i < elf->e_phnum; i++) {
		Elf64_Phdr part;

		if (fseeko(file, (off_t)(elf->e_phoff + i * sizeof(part)), SEEK_SET) ||
		    fread(&part, sizeof(part), 1, file) != 1)
			break;
		if (part.p_type == PT_INTERP)
			return linker_named_by(file, &part);
	}
	return LINKER_NONE;
}

static enum linker linker_of_file(const char *path)
{
	Elf64_Ehdr elf = { .e_phnum = 0 };
	FILE *file = fopen(path, "re");
	enum linker linker = LINKER_NONE;

	if (!file)
		return linker;
	const size_t length = fread(&elf, 1, sizeof(elf), file);

	if (length == sizeof(elf) && !memcmp(elf.e_ident, ELFMAG, SELFMAG) &&
	    elf.e_ident[EI_CLASS] == ELFCLASS64)
		linker = linker_of_elf(file, &elf);
	else if (length)
		linker = LINKER_GLIBC;
	fclose(file);
	return linker;
}

static enum linker linker_of(const char *program)
{
	char path[PATH_MAX];

	if (strchr(program, '/'))
		return linker_of_file(program);
	for (const char *start = getenv("PATH"); start && *start;) {
		const size_t length = strcspn(start, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)length, start, program);
		if (length && !access(path, X_OK))
			return linker_of_file(path);
		start += length + (start[length] == ':');
	}
	return LINKER_GLIBC;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Can the trap serve it? Emulators do not implement seccomp(2); static programs load no library. */
static bool trap_serves(const char *program)
{
	if (!strcmp(base_name(program), "valgrind") || !strncmp(base_name(program), "qemu-", 5))
		return false;
	return linker_of(program) == LINKER_GLIBC;
}

static char *preload_value(const struct hq_plan *plan, const struct hq_programs *programs)
{
	const char *present = getenv("LD_PRELOAD");
	char *value;

	if (!plan->is_host && linker_of(plan->command[0]) == LINKER_OTHER)
		return asprintf(&value, "LD_PRELOAD=%s", present ? present : "") < 0 ? NULL : value;
	if (asprintf(&value, "LD_PRELOAD=%s%s%s%s%s%s%s", programs->preload,
		     plan->guard_every ? ":" : "", plan->guard_every ? programs->guard : "",
		     plan->library[0] ? ":" : "", plan->library, present && *present ? ":" : "",
		     present ? present : "") < 0)
		return NULL;
	return value;
}

/* The plan's own variables come last, so that a scenario can overrule even ours. */
static int build_env(struct hq_launch *launch, const struct hq_plan *plan,
		     const struct hq_programs *programs, const char *folder, const char *wire_path)
{
	char *const none[] = { NULL };
	char **extra = copy_list(plan->env ? plan->env : (char **)none, folder);
	char *preload = preload_value(plan, programs), *wire = NULL;
	int result = -ENOMEM;
	size_t count = 0;

	if (asprintf(&wire, HQ_WIRE_ENV "=%s", wire_path) < 0)
		wire = NULL;
	while (extra && extra[count])
		count++;
	char **changes = calloc(count + 3, sizeof(*changes));

	if (extra && preload && wire && changes) {
		changes[0] = preload;
		changes[1] = wire;
		memcpy(changes + 2, extra, count * sizeof(*changes));
		char **flat = hq_spawn_environment(changes);

		launch->env = flat ? copy_list(flat, folder) : NULL;
		free(flat);
		result = launch->env ? 0 : -ENOMEM;
	}
	free_list(extra);
	free(preload);
	free(wire);
	free(changes);
	return result;
}

int hq_launch_build(struct hq_launch *launch, const struct hq_plan *plan,
		    const struct hq_programs *programs, const char *folder, const char *wire_path)
{
	char *host[] = { (char *)programs->host, NULL };

	memset(launch, 0, sizeof(*launch));
	launch->preloads = plan->is_host || trap_serves(plan->command[0]);
	launch->argv = copy_list(plan->is_host ? host : plan->command, folder);
	if (plan->driver)
		launch->driver = copy_list(plan->driver, folder);
	if (!launch->argv || (plan->driver && !launch->driver))
		return -ENOMEM;
	return build_env(launch, plan, programs, folder, wire_path);
}

void hq_launch_clear(struct hq_launch *launch)
{
	free_list(launch->argv);
	free_list(launch->env);
	free_list(launch->driver);
	memset(launch, 0, sizeof(*launch));
}

static bool any_rule(const struct hq_plan *plan, enum hq_action action)
{
	for (size_t i = 0; i < plan->rule_count; i++)
		if (plan->rules[i].action == action)
			return true;
	return false;
}

static bool any_counted_rule(const struct hq_plan *plan)
{
	for (size_t i = 0; i < plan->rule_count; i++) {
		const struct hq_rule *rule = &plan->rules[i];

		if (rule->when_first != 1 || rule->when_last != UINT64_MAX ||
		    rule->when_step != 1 || rule->probability != HQ_RULE_ALWAYS ||
		    rule->times != UINT64_MAX || rule->window_start_ns ||
		    rule->window_end_ns != UINT64_MAX)
			return true;
	}
	return false;
}

int hq_mechanism_resolve(const struct hq_plan *plan, enum hq_mechanism *mechanism,
			 struct hq_error *error)
{
	const bool trap_fits = plan->is_host || trap_serves(plan->command[0]);

	if (plan->guard_every && !trap_fits)
		return hq_error_set(error, "the guard cannot watch %s: it loads no library of ours",
				    plan->command[0]);
	*mechanism = plan->mechanism;
	if (!plan->rule_count)
		*mechanism = HQ_MECHANISM_NONE;
	else if (*mechanism == HQ_MECHANISM_AUTO)
		*mechanism = trap_fits ? HQ_MECHANISM_TRAP : HQ_MECHANISM_NOTIFY;
	if (*mechanism == HQ_MECHANISM_TRAP && !trap_fits)
		return hq_error_set(error,
				    "the trap cannot serve %s (it loads no library of ours); use "
				    "--mechanism=notify",
				    plan->command[0]);
	if (*mechanism == HQ_MECHANISM_NOTIFY && any_rule(plan, HQ_ACTION_SHRINK))
		return hq_error_set(error,
				    "notification cannot shrink a call; use --mechanism=trap");
	if (*mechanism == HQ_MECHANISM_STATIC &&
	    (any_counted_rule(plan) || any_rule(plan, HQ_ACTION_SHRINK) ||
	     any_rule(plan, HQ_ACTION_DELAY)))
		return hq_error_set(
			error, "a static filter can only fail or lie always: no when, probability, "
			       "times, window, delay or shrink; use --mechanism=trap");
	return 0;
}

const char *hq_mechanism_name(enum hq_mechanism mechanism)
{
	static const char *const names[] = { "auto", "trap", "notify", "static", "none" };

	return names[mechanism];
}
