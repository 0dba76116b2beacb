/* The queue of output.h. Owned by a command's loop; it alone writes to standard output. */
#include "tui/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#define ENOUGH (64 * 1024)	/* bytes queued beyond which a reader is behind */

void output_init(struct output *output, int fd)
{
	*output = (struct output){ .fd = fd };
	buffer_init(&output->pending, 0);
}

void output_release(struct output *output)
{
	buffer_release(&output->pending);
}

bool output_full(const struct output *output)
{
	return output->pending.length >= ENOUGH;
}

void output_push(struct output *output)
{
	if (output_idle(output))
		return;
	/* The descriptor is the terminal's or the shell's, shared with others, so it stays blocking: what is
	 * at most PIPE_BUF bytes long does not block where poll(2) says that there is room, pipe(7). */
	size_t length = output->pending.length < PIPE_BUF ? output->pending.length : PIPE_BUF;
	ssize_t written = write(output->fd, output->pending.data, length);
	if (written >= 0)
		buffer_consume(&output->pending, (size_t)written);
	else if (errno != EINTR && errno != EAGAIN)
		output->fault = errno;
}

int output_finish(struct output *output)
{
	while (!output_idle(output)) {
		struct pollfd wanted = { .fd = output->fd, .events = POLLOUT };
		if (poll(&wanted, 1, -1) < 0 && errno != EINTR)
			return -errno;
		output_push(output);
	}
	return -output->fault;
}
