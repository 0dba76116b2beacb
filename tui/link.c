/* The connection of link.h. Owns the socket; knows nothing of displays or of where rounds live. */
#include "tui/link.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"

#define HELLO_TIMEOUT (5 * NS_PER_S)

void link_release(struct link *link)
{
	cleanup_close(&link->fd);
	link->fd = -1;
	pr_lines_release(&link->lines);
}

static int no_core(struct pr_error *error, int code, const char *round)
{
	pr_error_errno(error, code, "no core answers for round %s", round);
	return pr_error_remedy(error, "proctor list shows its state; proctor run --resume %s goes on with it", round);
}

static int silent_core(struct pr_error *error, const struct link *link, const char *round)
{
	pr_error_set(error, ETIMEDOUT, "the core of round %s (pid %ld) does not answer", round, (long)link->core);
	/* Its worker kills every boundary when the core's end of their socket closes. */
	return pr_error_remedy(error, "kill -9 %ld ends it, and all work of the round with it; proctor run --resume %s then goes on",
			       (long)link->core, round);
}

int link_connect(struct link *link, const char *path, const char *round, struct pr_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		return pr_error_errno(error, ENAMETOOLONG, "the socket %s", path);
	memcpy(address.sun_path, path, strlen(path) + 1);

	link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->fd < 0)
		return pr_error_errno(error, errno, "a socket");
	if (connect(link->fd, (struct sockaddr *)&address, sizeof address) < 0) {
		if (errno == EAGAIN)	/* its queue of connections is full, unix(7) */
			return pr_error_set(error, ETIMEDOUT, "the core of round %s takes no connections", round);
		if (errno == ENOENT || errno == ECONNREFUSED)
			return no_core(error, errno, round);
		return pr_error_errno(error, errno, "connecting to %s", path);
	}
	struct ucred peer;
	socklen_t size = sizeof peer;
	if (getsockopt(link->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
		link->core = peer.pid;
	return 0;
}

int link_wait(struct link *link, int64_t until_ns)
{
	for (;;) {
		int64_t left_ns = until_ns - clock_mono_ns();
		struct pollfd wanted = { .fd = link->fd, .events = POLLIN };
		int r = poll(&wanted, 1, left_ns > 0 ? (int)(left_ns / NS_PER_MS) + 1 : 0);
		if (r >= 0 || errno != EINTR)
			return r;
	}
}

int link_hello(struct link *link, const char *round, struct pr_error *error)
{
	struct pr_message message;
	if (link_next(link, &message, NULL, NULL) == 0)
		return link->ended ? no_core(error, ECONNRESET, round) : 0;
	bool hello = message.type == PR_MESSAGE_HELLO;
	int protocol = message.protocol;
	link->seq = message.seq;
	pr_message_release(&message);
	if (hello && protocol == PR_PROTOCOL)
		return 1;
	pr_error_set(error, EPROTO, "the core of round %s speaks another protocol than this program (%d)", round, PR_PROTOCOL);
	return pr_error_remedy(error, "use the proctor that the round was started with");
}

int link_open(struct link *link, const char *socket_path, const char *round, struct pr_error *error)
{
	int r = link_connect(link, socket_path, round, error);
	if (r < 0)
		return r;
	int64_t until_ns = clock_mono_ns() + HELLO_TIMEOUT;
	for (;;) {
		r = link_hello(link, round, error);
		if (r != 0)
			return r < 0 ? r : 0;
		if (link_wait(link, until_ns) == 0)
			return silent_core(error, link, round);
		link_fill(link);
	}
}

/* A client says little: what the socket's buffer does not take at once is not waited for long. */
static int send_line(struct link *link, char *line, size_t length, struct pr_error *error)
{
	_cleanup_free_ char *owned = line;
	size_t sent = 0;
	int64_t until_ns = clock_mono_ns() + HELLO_TIMEOUT;
	while (sent < length) {
		ssize_t n = send(link->fd, owned + sent, length - sent, MSG_NOSIGNAL);
		if (n >= 0) {
			sent += (size_t)n;
			continue;
		}
		if (errno == EAGAIN && clock_mono_ns() < until_ns) {
			struct pollfd wanted = { .fd = link->fd, .events = POLLOUT };
			poll(&wanted, 1, 100);
			continue;
		}
		if (errno != EINTR)
			return pr_error_errno(error, errno, "writing to the core (pid %ld)", (long)link->core);
	}
	return 0;
}

int link_watch_from(struct link *link, uint64_t from, struct pr_error *error)
{
	char *line;
	size_t length;
	int r = pr_wire_watch_from(from, &line, &length);
	return r < 0 ? pr_error_errno(error, -r, "a message to the core") : send_line(link, line, length, error);
}

int link_command(struct link *link, const char *id, enum pr_verb verb, const char *task, struct pr_error *error)
{
	char *line;
	size_t length;
	int r = pr_wire_command(id, verb, task, &line, &length);
	return r < 0 ? pr_error_errno(error, -r, "the command %s", pr_verb_name(verb)) : send_line(link, line, length, error);
}

size_t link_fill(struct link *link)
{
	char bytes[64 * 1024];
	ssize_t length = recv(link->fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (length > 0 && pr_lines_feed(&link->lines, bytes, (size_t)length) >= 0)
		return (size_t)length;
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	link->ended = true;
	return 0;
}

int link_next(struct link *link, struct pr_message *ret_message, const char **ret_line, size_t *ret_length)
{
	const char *line;
	size_t length;
	int r;
	while ((r = pr_lines_next(&link->lines, &line, &length)) > 0) {
		/* A message that this program does not know is not its business: a newer core may say more. */
		if (pr_wire_parse(line, length, ret_message, NULL) < 0)
			continue;
		if (ret_line)
			*ret_line = line;
		if (ret_length)
			*ret_length = length;
		return 1;
	}
	if (r < 0)
		link->ended = true;
	return 0;
}
