/*
 * The bounds of a workspace (rulings, E1) and the reasons of a refusal, once, for the collector inside a
 * boundary, for the core's second check and for the subjects. Header only; static-safe.
 */
#ifndef CORE_WORKSPACE_LIMITS_H
#define CORE_WORKSPACE_LIMITS_H

#include <stdint.h>

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

#endif
