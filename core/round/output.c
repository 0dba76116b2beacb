/* Reading a command's output (output.h). The only reader of a candidate's pipes. */
#include "core/round/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"

#define READ_BYTES 65536
#define READS_A_TURN 8		/* 512 KiB, some 1 ms: a flood does not keep the loop from its other work */

/* All outputs share it: the loop is one thread, and nothing stays in it between two reads. */
static char bytes[READ_BYTES];

static void remember_tail(struct output *output, size_t length)
{
	size_t from = length > OUTPUT_TAIL ? length - OUTPUT_TAIL : 0;
	for (size_t i = from; i < length; i++)
		output->tail[(output->seen + i) % OUTPUT_TAIL] = bytes[i];
}

/* The cap, here and nowhere else. */
static size_t keep(struct output *output, size_t length)
{
	if (!guard_holds(GUARD_OUTPUT_CAP) || length <= output->limit - output->kept)
		return length;
	bool first = !output->cut;
	output->cut = true;
	if (first && output->over)
		output->over(output);
	return (size_t)(output->limit - output->kept);
}

static void take(struct output *output, size_t length)
{
	remember_tail(output, length);
	output->seen += length;
	output->last_ns = clock_mono_ns();
	size_t kept = keep(output, length);
	if (kept == 0)
		return;
	digest_add(output->digest, bytes, kept);
	output->kept += kept;
	int r = output->failed ? 0 : io_write_all(output->file, bytes, kept);
	if (r < 0) {
		output->failed = -r;
		if (output->over)
			output->over(output);
	}
}

static void close_poll(uv_handle_t *handle)
{
	free(handle);
}

static void stop_reading(struct output *output)
{
	if (output->poll) {
		uv_poll_stop(output->poll);
		uv_close((uv_handle_t *)output->poll, close_poll);
		output->poll = NULL;
	}
	cleanup_close(&output->pipe);
	output->pipe = -1;
}

/* False at the end of the pipe, or where it is empty. */
static bool read_some(struct output *output)
{
	ssize_t n;
	do
		n = read(output->pipe, bytes, sizeof bytes);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		take(output, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		stop_reading(output);
	return n > 0;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct output *output = poll->data;
	(void)status;
	(void)events;
	for (int i = 0; i < READS_A_TURN && read_some(output); i++)
		;
}

int output_start(struct output *output, uv_loop_t *loop, int dirfd, const char *name, uint64_t limit,
		 int *ret_write_end, struct pr_error *error)
{
	int ends[2];

	output->pipe = -1;
	output->limit = limit;
	output->file = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (output->file < 0)
		return pr_error_errno(error, errno, "creating %s", name);
	output->digest = digest_new();
	output->poll = calloc(1, sizeof *output->poll);
	if (!output->digest || !output->poll) {
		free(output->poll);
		output->poll = NULL;
		return pr_error_errno(error, ENOMEM, "reading %s", name);
	}
	if (pipe2(ends, O_CLOEXEC) < 0) {
		int r = pr_error_errno(error, errno, "making a pipe for %s", name);
		free(output->poll);
		output->poll = NULL;
		return r;
	}
	output->pipe = ends[0];
	(void)io_set_nonblocking(ends[0], true);
	uv_poll_init(loop, output->poll, ends[0]);
	output->poll->data = output;
	uv_poll_start(output->poll, UV_READABLE, on_readable);
	*ret_write_end = ends[1];
	return 0;
}

void output_end(struct output *output)
{
	if (output->pipe >= 0) {
		int capacity = fcntl(output->pipe, F_GETPIPE_SZ);
		uint64_t until = output->seen + (capacity > 0 ? (uint64_t)capacity : READ_BYTES);
		while (output->pipe >= 0 && output->seen < until && read_some(output))
			;
	}
	stop_reading(output);
	if (output->file > 0)
		cleanup_close(&output->file);
	output->file = -1;
	output->ended = true;
}

void output_digest(struct output *output, char ret_tagged[static DIGEST_TAGGED])
{
	memcpy(ret_tagged, "sha256:", 7);
	if (output->digest)
		digest_hex(output->digest, ret_tagged + 7);
	else
		digest_bytes("", 0, ret_tagged + 7);
	digest_free(output->digest);
	output->digest = NULL;
}

size_t output_tail(const struct output *output, char ret_bytes[static OUTPUT_TAIL])
{
	size_t length = output->seen < OUTPUT_TAIL ? (size_t)output->seen : OUTPUT_TAIL;
	for (size_t i = 0; i < length; i++)
		ret_bytes[i] = output->tail[(output->seen - length + i) % OUTPUT_TAIL];
	return length;
}
