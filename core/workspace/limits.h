/*
 * The bounds of a workspace (rulings, E1) and the reasons of a refusal, once, for the collector inside a
 * boundary, for the core's second check and for the subjects. Header only; static-safe.
 *
 * `struct workspace_account` holds what a walk has met so far. Whoever meets an entry (the collector, the
 * core's decoder, a source) charges it here, and is told at once which bound it crosses: this is the only
 * place where a figure of E1 is compared, so that one guard takes the law out everywhere.
 */
#ifndef CORE_WORKSPACE_LIMITS_H
#define CORE_WORKSPACE_LIMITS_H

#include <stdint.h>

#include "core/base/guard.h"

struct workspace_limits {
	uint64_t entries;		/* every entry, of every type */
	uint64_t directories;
	uint64_t depth;			/* directories between the root and an entry's name, the entry's own level counted */
	uint64_t path_bytes;		/* sum of the relative names */
	uint64_t one_path_bytes;	/* one relative name */
	uint64_t files;
	uint64_t bytes;			/* of all contents */
	uint64_t file_bytes;		/* of one file */
};

#define WORKSPACE_LIMITS_E1 ((struct workspace_limits){ \
	.entries = 20000, .directories = 2000, .depth = 32, .path_bytes = 1048576, .one_path_bytes = 4096, \
	.files = 10000, .bytes = 268435456, .file_bytes = 67108864 })

#define WORKSPACE_RESULT_BYTES UINT64_C(8388608)	/* result.json, candidate.patch: each */
#define OUTPUT_BYTES UINT64_C(4194304)			/* stdout, stderr: each */

/* The reasons, exactly as they stand after "/resource-limit.v1:". X(identifier, "name") */
#define WORKSPACE_REASONS(X) \
	X(REASON_IRREGULAR_FILE, "irregular_file") \
	X(REASON_SYMLINK, "symlink") \
	X(REASON_UNREADABLE_ENTRY, "unreadable_entry") \
	X(REASON_TOO_MANY_ENTRIES, "too_many_entries") \
	X(REASON_TOO_MANY_DIRECTORIES, "too_many_directories") \
	X(REASON_WORKSPACE_TOO_DEEP, "workspace_too_deep") \
	X(REASON_PATH_TOO_LONG, "path_too_long") \
	X(REASON_WORKSPACE_PATHS_TOO_LARGE, "workspace_paths_too_large") \
	X(REASON_TOO_MANY_FILES, "too_many_files") \
	X(REASON_WORKSPACE_FILE_TOO_LARGE, "workspace_file_too_large") \
	X(REASON_WORKSPACE_TOO_LARGE, "workspace_too_large") \
	X(REASON_RESULT_TOO_LARGE, "result_too_large") \
	X(REASON_PATCH_TOO_LARGE, "patch_too_large") \
	X(REASON_STDOUT_TOO_LARGE, "stdout_too_large") \
	X(REASON_STDERR_TOO_LARGE, "stderr_too_large") \
	X(REASON_PROCESSES_ESCAPED, "processes_escaped")

enum workspace_reason {
#define X(identifier, name) identifier,
	WORKSPACE_REASONS(X)
#undef X
	REASON_COUNT
};

static inline const char *workspace_reason_name(enum workspace_reason reason)
{
	static const char *const names[] = {
#define X(identifier, name) [identifier] = name,
		WORKSPACE_REASONS(X)
#undef X
	};
	return (unsigned)reason < REASON_COUNT ? names[reason] : "unknown";
}

#define REASON_NONE REASON_COUNT

struct workspace_account {
	struct workspace_limits limits;
	uint64_t entries, directories, files, path_bytes, bytes;	/* met so far */
};

/* A bound stands while what was met is not over it: the limit itself passes, one more does not. */
static inline bool workspace_over(uint64_t met, uint64_t limit)
{
	return met > limit && guard_holds(GUARD_COLLECT_BOUNDS);
}

/*
 * Charges an entry of any type by its relative path, before it is opened. `depth` is 1 for an entry at the top.
 * REASON_NONE where all bounds stand; so below.
 */
static inline enum workspace_reason workspace_charge_name(struct workspace_account *account, uint64_t path_length,
							   uint64_t depth)
{
	const struct workspace_limits *limits = &account->limits;

	account->entries++;
	account->path_bytes += path_length;
	if (workspace_over(account->entries, limits->entries))
		return REASON_TOO_MANY_ENTRIES;
	if (workspace_over(depth, limits->depth))
		return REASON_WORKSPACE_TOO_DEEP;
	if (workspace_over(path_length, limits->one_path_bytes))
		return REASON_PATH_TOO_LONG;
	if (workspace_over(account->path_bytes, limits->path_bytes))
		return REASON_WORKSPACE_PATHS_TOO_LARGE;
	return REASON_NONE;
}

static inline enum workspace_reason workspace_charge_directory(struct workspace_account *account)
{
	account->directories++;
	return workspace_over(account->directories, account->limits.directories) ? REASON_TOO_MANY_DIRECTORIES :
										   REASON_NONE;
}

/* Bytes that the evidence would carry, before they are read. The target of a link counts among them. */
static inline enum workspace_reason workspace_charge_bytes(struct workspace_account *account, uint64_t size)
{
	if (workspace_over(size, account->limits.file_bytes))
		return REASON_WORKSPACE_FILE_TOO_LARGE;
	account->bytes += size;
	return workspace_over(account->bytes, account->limits.bytes) ? REASON_WORKSPACE_TOO_LARGE : REASON_NONE;
}

static inline enum workspace_reason workspace_charge_file(struct workspace_account *account, uint64_t size)
{
	account->files++;
	if (workspace_over(account->files, account->limits.files))
		return REASON_TOO_MANY_FILES;
	return workspace_charge_bytes(account, size);
}

#endif
