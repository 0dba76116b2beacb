/*
 * Standard output that never blocks: lines are queued and go out in pieces while the reader takes them.
 *
 * A reader that stops reading holds up this queue alone; a reader that goes away leaves its errno in `fault`. The queue
 * is the only thing that writes to its descriptor.
 */
#ifndef TUI_OUTPUT_H
#define TUI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"

struct output {
	int fd;
	struct buffer pending;
	int fault;		/* errno of the write that failed for good; 0 while none did */
};

void output_init(struct output *output, int fd);
void output_release(struct output *output);

/* Where to queue: whole lines, line feed included. Nothing is written by adding to it. */
static inline struct buffer *output_queue(struct output *output)
{
	return &output->pending;
}

/* More than a reader needs is queued: queue no more until some of it is gone. */
bool output_full(const struct output *output);
static inline bool output_idle(const struct output *output)
{
	return output->fault || output->pending.length == 0;
}

/* Writes one piece; call it when poll(2) says that the descriptor takes bytes. */
void output_push(struct output *output);

/* Writes everything, waiting for the reader: for what a command prints at once. -EPIPE where it is gone. */
int output_finish(struct output *output);

#endif
