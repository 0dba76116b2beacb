/*
 * The connection to a round's core: hello, watch, commands (docs/architecture.md, Wire).
 *
 *     struct link link = LINK_INIT;
 *     link_open(&link, socket path, ...)     connects and reads the hello
 *     link_watch / link_command              send
 *     link_fill when the descriptor is readable, then link_next until it says 0
 *     link_release(&link)
 *
 * Only link_open waits, for a bounded time; link_connect and then link_hello until it says 1 are the same for those who
 * must not wait. A core that has gone leaves `ended` behind.
 */
#ifndef TUI_LINK_H
#define TUI_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <proctor/error.h>
#include <proctor/event.h>
#include <proctor/wire.h>

struct link {
	int fd;
	pid_t core;		/* as the kernel names it (SO_PEERCRED); 0: not known */
	uint64_t seq;		/* of the last event when the core said hello */
	struct pr_lines lines;
	bool ended;		/* end of file, or a line that is none */
};

#define LINK_INIT { .fd = -1, .lines = PR_LINES_INIT }

void link_release(struct link *link);

/*
 * -ENOENT, -ECONNREFUSED: no core is there. -ETIMEDOUT: one is there and does not say hello. -EPROTO: it
 * speaks another protocol. `round` is for the messages.
 */
int link_open(struct link *link, const char *socket_path, const char *round, struct pr_error *error);
int link_connect(struct link *link, const char *socket_path, const char *round, struct pr_error *error);
/* 1: it has said hello; 0: not yet; else as link_open(). */
int link_hello(struct link *link, const char *round, struct pr_error *error);

int link_watch_from(struct link *link, uint64_t from, struct pr_error *error);
/* `task` NULL: the round. The id is ours and unique to this process. */
int link_command(struct link *link, const char *id, enum pr_verb verb, const char *task, struct pr_error *error);

/* Takes what has arrived, so many bytes; never waits. Sets `ended` where no more will come. */
size_t link_fill(struct link *link);

/* 1: the next message (pr_message_release), with its text lent until the next call; 0: none yet. */
int link_next(struct link *link, struct pr_message *ret_message, const char **ret_line, size_t *ret_length);

/* Waits until there is something to take, at most until `until_ns` (monotonic). 0: the time is over. */
int link_wait(struct link *link, int64_t until_ns);

#define _cleanup_link_ __attribute__((cleanup(link_release)))

#endif
