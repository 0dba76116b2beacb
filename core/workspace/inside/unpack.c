/*
 * Unpacks a subject stream (unpack.h). Runs in the program inside a boundary, as process 1, before the
 * candidate exists; called by it alone (and by tests). It never follows a link, never opens what it did not
 * just create (a directory of HOME that stands already apart), and leaves nothing open.
 *
 * Cost: a file is one openat, one write, one close; its parent is the directory on top of a stack of open ones
 * (the stream is depth-first), so that no path is walked twice.
 */
#include "core/workspace/inside/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/workspace/stream.h"

#define UNPACK_LEVELS 64	/* open directories; E1 allows 32 */
#define UNPACK_BUFFER (256 * 1024)

struct level {
	int fd;
	size_t path_length;	/* of its path, a prefix of `path` */
	uint32_t mode;
	bool mode_is_due;	/* set when it is left: until then we must be able to write in it */
	bool protected;
};

struct unpack {
	int stream_fd;
	int root_fds[2];
	unpack_protect *protect;
	bool root_protected;
	const char **step;
	enum stream_root root;
	uint64_t records;
	struct level levels[UNPACK_LEVELS];
	size_t depth;		/* of `levels`; 0 is the root itself */
	char path[STREAM_NAME_MAX + 1];		/* of the open directory */
	char name[STREAM_NAME_MAX + 1];		/* of the record at hand */
	char target[STREAM_TARGET_MAX + 1];
	size_t at, have;	/* of `buffer` */
	char buffer[UNPACK_BUFFER];
};

/* Not on the stack (its size is no business of init's), and there is only one unpacking a process. */
static struct unpack state;

static int failed(struct unpack *unpack, const char *step, int code)
{
	*unpack->step = step;
	return -code;
}

/* -EBADMSG where the stream stops. */
static int refill(struct unpack *unpack)
{
	ssize_t n;
	do
		n = read(unpack->stream_fd, unpack->buffer, sizeof unpack->buffer);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return failed(unpack, "read", errno);
	if (n == 0)
		return failed(unpack, "stream", EBADMSG);
	unpack->at = 0;
	unpack->have = (size_t)n;
	return 0;
}

static int take(struct unpack *unpack, void *bytes, size_t length)
{
	char *to = bytes;
	while (length > 0) {
		if (unpack->at == unpack->have) {
			int r = refill(unpack);
			if (r < 0)
				return r;
		}
		size_t n = unpack->have - unpack->at;
		if (n > length)
			n = length;
		memcpy(to, unpack->buffer + unpack->at, n);
		unpack->at += n;
		to += n;
		length -= n;
	}
	return 0;
}

/* The group's bits, the candidate's from now on, become the owner's: without writing for a file. */
static uint32_t protected_mode(uint32_t mode, bool directory)
{
	uint32_t owner = mode & (directory ? 0700 : 0500);
	return (mode & 0707) | owner >> 3 | (directory ? S_ISVTX : 0);
}

static int give_up(struct unpack *unpack, int fd)
{
	int r = unpack->protect(fd);
	return r < 0 ? failed(unpack, "chown", -r) : 0;
}

static int give_up_directory(struct unpack *unpack, int fd, uint32_t mode)
{
	return fchmod(fd, protected_mode(mode, true)) < 0 ? failed(unpack, "fchmod", errno) : give_up(unpack, fd);
}

static int leave(struct unpack *unpack)
{
	struct level *level = &unpack->levels[--unpack->depth];
	int r = 0;

	if (level->protected)
		r = give_up_directory(unpack, level->fd, level->mode);
	else if (level->mode_is_due && fchmod(level->fd, level->mode) < 0)
		r = failed(unpack, "fchmod", errno);
	close(level->fd);
	return r;
}

static int leave_to(struct unpack *unpack, size_t path_length)
{
	int r = 0;
	while (unpack->depth > 0 && unpack->levels[unpack->depth - 1].path_length > path_length) {
		int one = leave(unpack);
		if (r == 0)
			r = one;
	}
	return r;
}

static size_t open_path_length(const struct unpack *unpack)
{
	return unpack->depth > 0 ? unpack->levels[unpack->depth - 1].path_length : 0;
}

static int make_directory(struct unpack *unpack, int parent, const char *component, const struct stream_record *record)
{
	if (unpack->depth == UNPACK_LEVELS)
		return failed(unpack, "depth", E2BIG);
	bool stood = false;
	if (mkdirat(parent, component, (record->mode & 0777) | 0700) < 0) {
		stood = errno == EEXIST && record->root == STREAM_HOME;
		if (!stood)
			return failed(unpack, "mkdirat", errno);
	}
	int fd = openat(parent, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(unpack, "openat", errno);
	unpack->levels[unpack->depth++] = (struct level){
		.fd = fd, .path_length = record->name_length, .mode = record->mode,
		/* mkdirat takes neither a directory that we cannot enter nor the bits above 0777. */
		.mode_is_due = stood || (record->mode & 07700) != 0700, .protected = record->protected,
	};
	memcpy(unpack->path, unpack->name, record->name_length);
	return 0;
}

static int write_content(struct unpack *unpack, int fd, uint64_t left)
{
	while (left > 0) {
		if (unpack->at == unpack->have) {
			int r = refill(unpack);
			if (r < 0)
				return r;
		}
		size_t want = unpack->have - unpack->at;
		if (want > left)
			want = (size_t)left;
		ssize_t n = write(fd, unpack->buffer + unpack->at, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(unpack, "write", errno);
		unpack->at += (size_t)n;
		left -= (uint64_t)n;
	}
	return 0;
}

static int make_file(struct unpack *unpack, int parent, const char *component, const struct stream_record *record)
{
	int fd = openat(parent, component, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, record->mode & 0777);
	if (fd < 0)
		return failed(unpack, "openat", errno);
	int r = write_content(unpack, fd, record->size);
	/* open(2) drops them, and a write by another than root would again: last. */
	uint32_t mode = record->protected ? protected_mode(record->mode, false) : record->mode;
	if (r == 0 && (record->protected || (mode & 07000) != 0) && fchmod(fd, mode) < 0)
		r = failed(unpack, "fchmod", errno);
	if (r == 0 && record->protected)
		r = give_up(unpack, fd);
	if (close(fd) < 0 && r == 0)
		r = failed(unpack, "close", errno);
	return r;
}

static int make_link(struct unpack *unpack, int parent, const char *component, const struct stream_record *record)
{
	int r = take(unpack, unpack->target, (size_t)record->size);
	if (r < 0)
		return r;
	unpack->target[record->size] = '\0';
	if (memchr(unpack->target, '\0', (size_t)record->size))
		return failed(unpack, "stream", EBADMSG);
	if (symlinkat(unpack->target, parent, component) < 0)
		return failed(unpack, "symlinkat", errno);
	if (!record->protected)
		return 0;
	int fd = openat(parent, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(unpack, "openat", errno);
	r = give_up(unpack, fd);
	close(fd);
	return r;
}

static int make_entry(struct unpack *unpack, const struct stream_record *record)
{
	int r = take(unpack, unpack->name, record->name_length);
	if (r < 0)
		return r;
	unpack->name[record->name_length] = '\0';
	if (record->root != unpack->root) {
		if (record->root < unpack->root)
			return failed(unpack, "stream", EBADMSG);
		r = leave_to(unpack, 0);
		if (r < 0)
			return r;
		unpack->root = record->root;
	}
	size_t parent_length;
	if (!stream_name_stands(unpack->name, record->name_length) ||
	    !stream_order_stands(unpack->path, open_path_length(unpack), unpack->name, record->name_length, &parent_length))
		return failed(unpack, "stream", EBADMSG);
	r = leave_to(unpack, parent_length);
	if (r < 0)
		return r;
	int parent = unpack->depth > 0 ? unpack->levels[unpack->depth - 1].fd : unpack->root_fds[unpack->root];
	const char *component = unpack->name + parent_length + (parent_length > 0);
	if (record->protected && !unpack->protect)
		return failed(unpack, "stream", EBADMSG);
	unpack->records++;
	unpack->root_protected |= record->protected;
	if (record->type == STREAM_DIRECTORY)
		return make_directory(unpack, parent, component, record);
	if (record->type == STREAM_FILE)
		return make_file(unpack, parent, component, record);
	return make_link(unpack, parent, component, record);
}

static int run(struct unpack *unpack)
{
	char magic[STREAM_MAGIC_BYTES];
	int r = take(unpack, magic, sizeof magic);
	if (r < 0)
		return r;
	if (memcmp(magic, STREAM_MAGIC, sizeof magic) != 0)
		return failed(unpack, "stream", EBADMSG);
	for (;;) {
		unsigned char header[STREAM_HEADER_BYTES];
		struct stream_record record;
		r = take(unpack, header, sizeof header);
		if (r < 0)
			return r;
		if (!stream_get(header, &record) || record.type == STREAM_REFUSAL)
			return failed(unpack, "stream", EBADMSG);
		if (record.type == STREAM_END)
			return record.size == unpack->records ? 0 : failed(unpack, "stream", EBADMSG);
		r = make_entry(unpack, &record);
		if (r < 0)
			return r;
	}
}

int unpack(int stream_fd, int workspace_fd, int home_fd, unpack_protect *protect, const char **ret_step)
{
	struct unpack *unpack = &state;
	const char *step = "";

	unpack->stream_fd = stream_fd;
	unpack->root_fds[STREAM_WORKSPACE] = workspace_fd;
	unpack->root_fds[STREAM_HOME] = home_fd;
	unpack->protect = protect;
	unpack->root_protected = false;
	unpack->step = &step;
	unpack->root = STREAM_WORKSPACE;
	unpack->records = 0;
	unpack->depth = 0;
	unpack->at = unpack->have = 0;

	mode_t mask = umask(0);	/* the modes are the subject's, not ours */
	int r = run(unpack);
	int left = leave_to(unpack, 0);
	umask(mask);
	if (r == 0)
		r = left;
	if (r == 0 && unpack->root_protected)
		r = give_up_directory(unpack, workspace_fd, 0700);
	if (r < 0)
		*ret_step = step;
	return r;
}
