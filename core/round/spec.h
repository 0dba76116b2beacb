/*
 * What a round is: the round file, read, with every default filled in and every path absolute.
 *
 * All memory is the spec's pool's; a pointer in here lives as long as the spec. Written by file.c alone;
 * the rest of the room only reads it (subject.c fills in the full commit ids).
 */
#ifndef CORE_ROUND_SPEC_H
#define CORE_ROUND_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/round/pool.h"

#define SPEC_NAME_MAX 64			/* of a round and of a task */
#define SPEC_PARALLEL_MAX 256			/* tasks at a time */
#define SPEC_TASKS_MAX 4096			/* after `repeat` */
#define SPEC_ARGUMENT_BYTES ((size_t)131072)	/* one argument, its NUL counted: MAX_ARG_STRLEN, execve(2) */
#define SPEC_ARGUMENTS_BYTES ((size_t)1048576)	/* arguments and environment together */
#define SPEC_PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"
#define SPEC_WORKSPACE "/workspace"

struct place_in_file {
	uint32_t line, column;
};

struct strings {
	const char **items;
	size_t count;
};

struct pair {
	const char *key, *value;
	struct place_in_file at;	/* of the value */
};

struct pairs {
	struct pair *items;
	size_t count;
};

struct codes {
	int *items;
	size_t count;
};

struct agent_spec {
	const char *name;
	struct strings command;		/* before substitution; [0] is absolute or a bare name */
	const char *bind;		/* a file of the owner's that is bound read-only for the agent, or NULL */
	struct pairs environment;	/* before substitution */
	struct pairs files;		/* below HOME: the absolute path of the content */
	bool repository;		/* a `.git` of one commit in its workspace */
	struct codes allowed;		/* exit codes */
	struct place_in_file at;	/* of `command` */
};

struct test_spec {
	struct strings command;
	const char *host;		/* what [0] is in the round file's folder, for a subject without it; or NULL */
	struct codes baseline, patched;
	struct place_in_file at;
};

struct limits_spec {
	uint64_t memory_bytes;
	uint64_t processes;
	double cpus;
	uint64_t workspace_bytes;
	uint64_t inodes;
};

/* What a round can ask for by name: all layers, or none of them. */
#define PROFILE_CONFINED "residency.confined-local.v1"
#define PROFILE_TRUSTED "residency.trusted-local.v1"

struct sandbox_spec {
	const char *profile;
	const char *root;		/* "host" or an absolute directory */
	struct strings read_only;	/* absolute */
	const char *network;
	struct limits_spec limits;
	const char *own_ids;		/* "allow": the owner's id where the host has no range; NULL: refused there */
};

struct budget_spec {
	int64_t wall_clock_ns;
	int64_t tests_wall_clock_ns;	/* of each test command */
};

enum subject_kind {
	SUBJECT_GIT,
	SUBJECT_DIRECTORY,
};

/* What becomes of an agent that ran over its wall clock. */
enum on_wall_clock {
	ON_WALL_CLOCK_SCORE,		/* scored on what it left */
	ON_WALL_CLOCK_ERROR,
};

struct task_spec {
	const char *id;
	enum subject_kind kind;
	const char *place;		/* absolute: the repository or the directory */
	const char *commit;		/* as written; its full id once subject.c has found it */
	const char *source;		/* for a reader: "repos/calc main~2", as the file says it */
	const char *prompt;		/* "" where there is none */
	struct agent_spec agent;
	struct budget_spec budget;
	struct test_spec *tests;
	size_t test_count;
	struct strings protect, scratch;
	enum on_wall_clock on_wall_clock;
	unsigned baseline_repeats;
	struct place_in_file at;	/* of the task; of its source */
	struct place_in_file source_at;
};

enum round_kind {
	ROUND_SMOKE,
	ROUND_BASELINE,
};

struct round_spec {
	struct pool pool;
	const char *file;		/* absolute path of the round file */
	const char *folder;		/* where its relative paths start */
	const char *name;
	enum round_kind kind;
	struct agent_spec agent;	/* the round's; each task holds its own, merged */
	struct sandbox_spec sandbox;
	struct budget_spec budget;
	int64_t round_wall_clock_ns;	/* 0: none */
	int64_t freeze_expires_ns;	/* 0: never */
	unsigned parallel;
	unsigned repeat;
	bool stricter;
	enum on_wall_clock on_wall_clock;	/* what tasks that do not say have */
	unsigned baseline_repeats;
	struct task_spec *tasks;	/* `repeat` times each, in order */
	size_t task_count;
};

#endif
