/*
 * The program inside a boundary walks a workspace and writes it as a collection stream (../stream.h).
 * Static-safe. The laws E1 to E5: bounded per entry, refused at first proof, descriptors only, no name
 * used twice, the type check is fstat on the descriptor that is then read.
 *
 * The walk itself is apart from where it goes (`struct collect_sink`), because the core imports an owner's
 * directory by the same laws (source_directory.c): one walk, one set of guards.
 *
 * Bounds of its own, which custom limits cannot lift: COLLECT_LEVELS of depth, STREAM_NAME_MAX - 256 bytes of
 * one path. System calls: openat, newfstatat (fstat), readlinkat, getdents64, read, write, close.
 */
#ifndef CORE_WORKSPACE_INSIDE_COLLECT_H
#define CORE_WORKSPACE_INSIDE_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/workspace/limits.h"
#include "core/workspace/stream.h"

/*
 * Walks from `root_fd` (a directory) and writes to `out_fd`. `scratch` globs (Python's fnmatchcase, whole
 * relative path) are skipped unread and count for nothing; a directory entry that matches is skipped with
 * all below it; so is `.git` at the top. 0 when the stream is complete (a refusal record is a complete stream),
 * else a negative errno: of writing it, or of reading on the host's side (descriptors, I/O); -EIO also where a file gave
 * fewer or more bytes than fstat had said, because then something still wrote to the workspace. The stream then has
 * no last record. Not for two threads at once.
 */
int collect(int root_fd, int out_fd, const struct workspace_limits *limits, const char *const *scratch,
	    size_t scratch_count);

#define COLLECT_LEVELS 64

/* One entry that the walk let pass. `path` is valid during the call; the descriptor is the walk's. */
struct collect_entry {
	const char *path;
	size_t path_length;
	mode_t mode;		/* permission bits, 07777 */
	uint64_t size;		/* of a file: what fstat said; of a link: of its target */
	int fd;			/* of a file: at its start, to be read by collect_read */
	const char *target;	/* of a link; not NUL-terminated */
};

/* Where a walk goes to. Each answers 0, or a negative errno that ends the walk. */
struct collect_sink {
	int (*directory)(void *context, const struct collect_entry *entry);
	int (*file)(void *context, const struct collect_entry *entry);
	int (*link)(void *context, const struct collect_entry *entry);
	/* The last call of a walk that ends so; the walk then returns what this returns. */
	int (*refusal)(void *context, enum workspace_reason reason, const char *path, size_t path_length);
};

struct collect_frame {
	int fd;
	size_t path_length;	/* of this directory's path in `path` */
	size_t at, have;	/* bytes of `entries` */
	_Alignas(8) char entries[8192];
};

/* About 550 KiB: static or on the heap. */
struct collect_walk {
	const struct collect_sink *sink;
	void *context;
	const char *const *scratch;
	size_t scratch_count;
	struct workspace_account account;
	bool refused;
	size_t depth;		/* of `frames` in use */
	struct collect_frame frames[COLLECT_LEVELS + 1];
	char path[STREAM_NAME_MAX + 1];
	char target[STREAM_TARGET_MAX + 1];
};

/* Fills in `walk` and walks. `root_fd` stays the caller's (O_PATH will do). */
int collect_walk(struct collect_walk *walk, int root_fd, const struct workspace_limits *limits,
		 const char *const *scratch, size_t scratch_count, const struct collect_sink *sink, void *context);

/* The content of a file, piece by piece: exactly `left` bytes, then the end of the file. */
struct collect_content {
	int fd;
	uint64_t left;
	bool ended;
};

/* Reads some into `room` (`size` at least 1). Returns how many; 0 at the end; -EIO where the length was not true. */
ssize_t collect_read(struct collect_content *content, void *room, size_t size);

#endif
