/*
 * The output of a command: a pipe that the core reads while it fills, capped while it is read (E6).
 *
 * What is over the cap is read and dropped, so a writer never blocks on us and memory stays at one buffer.
 * `over` is called at the first byte that is not kept: `cut`, or `failed` where the file cannot be written. After the boundary is closed output_end() reads
 * what the pipe still holds, without waiting and at most a pipe's capacity, so that whoever might still hold
 * the other end cannot keep us. The cap stands in one place (output.c, keep()).
 */
#ifndef CORE_ROUND_OUTPUT_H
#define CORE_ROUND_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/base/digest.h"
#include <proctor/error.h>

#define OUTPUT_TAIL 1024	/* bytes kept for a watcher's eyes */

struct output {
	int pipe, file;
	uv_poll_t *poll;		/* heap: it outlives us until libuv has closed it */
	struct digest *digest;		/* of what is kept */
	uint64_t limit, kept, seen;	/* bytes */
	bool cut, ended;
	int failed;			/* errno of writing the file; what came after is dropped */
	int64_t last_ns;		/* when the last byte came; 0: none yet */
	char tail[OUTPUT_TAIL];		/* the last bytes, as a ring of `seen` */
	uint64_t tail_shown;
	void (*over)(struct output *output);
	void *context;
};

/*
 * Makes a pipe and the file `name` in `dirfd`; `*ret_write_end` is for the worker. Zero the struct and set `over`
 * and `context` beforehand.
 */
int output_start(struct output *output, uv_loop_t *loop, int dirfd, const char *name, uint64_t limit,
		 int *ret_write_end, struct pr_error *error);
/* Reads the rest and closes. May be called more than once. */
void output_end(struct output *output);
/* "sha256:..." of what was kept; after output_end(), once. */
void output_digest(struct output *output, char ret_tagged[static DIGEST_TAGGED]);
/* The last bytes that came, in order; how many. */
size_t output_tail(const struct output *output, char ret_bytes[static OUTPUT_TAIL]);

#endif
