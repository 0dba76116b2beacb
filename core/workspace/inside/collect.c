/*
 * The walk of a workspace (collect.h). Runs in the program inside a fresh boundary after every process of the
 * candidate is dead, and in the core over an owner's directory. What it meets is hostile: it opens each name
 * once, asks the descriptor what it is, and touches nothing by name again (only a name that gave no descriptor
 * is asked what it is, to say why it is refused). It allocates nothing and holds one descriptor a level.
 */
#include "core/workspace/inside/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/guard.h"
#include "core/record/glob.h"

#define COLLECT_BUFFER (256 * 1024)

/* linux_dirent64 of getdents64(2); glibc's struct dirent64 has the same layout, but is no type of the system call. */
struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;		/* a hint: enough to refuse by its number, never for what an entry is taken for */
	char name[];
};

#define TYPE_PASSED_OVER 0xff	/* ours, in `type`: scratch, and .git at the top */

static int refuse(struct collect_walk *walk, enum workspace_reason reason, size_t path_length)
{
	walk->refused = true;
	return walk->sink->refusal(walk->context, reason, walk->path, path_length);
}

/* E5: regular files (and directories, which are told apart before) only. */
static bool type_stands(mode_t mode)
{
	return S_ISREG(mode) || !guard_holds(GUARD_TYPE_CHECK);
}

static bool is_scratch(const struct collect_walk *walk)
{
	for (size_t i = 0; i < walk->scratch_count; i++)
		if (glob_match(walk->scratch[i], walk->path))
			return true;
	return false;
}

static int pass_file(struct collect_walk *walk, size_t path_length, int fd, mode_t mode, uint64_t size)
{
	enum workspace_reason reason = workspace_charge_file(&walk->account, size);
	if (reason != REASON_NONE)
		return refuse(walk, reason, path_length);
	const struct collect_entry entry = {
		.path = walk->path, .path_length = path_length, .mode = mode & 07777, .size = size, .fd = fd,
	};
	return walk->sink->file(walk->context, &entry);
}

static int pass_directory(struct collect_walk *walk, size_t path_length, int *fd, mode_t mode)
{
	enum workspace_reason reason = workspace_charge_directory(&walk->account);
	if (reason != REASON_NONE)
		return refuse(walk, reason, path_length);
	if (walk->depth > COLLECT_LEVELS)
		return -ELOOP;	/* the bound on depth is below this: only met with its guard taken out */
	const struct collect_entry entry = {
		.path = walk->path, .path_length = path_length, .mode = mode & 07777, .fd = -1,
	};
	int r = walk->sink->directory(walk->context, &entry);
	if (r < 0)
		return r;
	struct collect_frame *frame = &walk->frames[walk->depth++];
	frame->fd = *fd;
	frame->path_length = path_length;
	frame->at = frame->have = 0;
	*fd = -1;
	return 0;
}

static int pass_link(struct collect_walk *walk, int directory, const char *name, size_t path_length)
{
	int fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct stat status;
	ssize_t length = -1;
	if (fstat(fd, &status) == 0 && S_ISLNK(status.st_mode))
		length = readlinkat(fd, "", walk->target, sizeof walk->target);
	close(fd);
	if (length <= 0 || length > STREAM_TARGET_MAX)
		return -EIO;	/* it was a link a moment ago: something still writes */
	enum workspace_reason reason = workspace_charge_bytes(&walk->account, (uint64_t)length);
	if (reason != REASON_NONE)
		return refuse(walk, reason, path_length);
	const struct collect_entry entry = {
		.path = walk->path, .path_length = path_length, .mode = 0777, .size = (uint64_t)length, .fd = -1,
		.target = walk->target,
	};
	return walk->sink->link(walk->context, &entry);
}

/* A name that gave no descriptor: a link (ELOOP), a socket (ENXIO), a device, or one that we may not read. */
static int visit_unopened(struct collect_walk *walk, int directory, const char *name, size_t path_length, int code)
{
	struct stat status;

	if (code == ELOOP)
		return pass_link(walk, directory, name, path_length);
	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == EACCES ? refuse(walk, REASON_UNREADABLE_ENTRY, path_length) : -errno;
	if (!S_ISDIR(status.st_mode) && !type_stands(status.st_mode))
		return refuse(walk, REASON_IRREGULAR_FILE, path_length);
	if (code == EACCES || code == EPERM)
		return refuse(walk, REASON_UNREADABLE_ENTRY, path_length);
	return S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? -code :
								     pass_file(walk, path_length, -1, status.st_mode, 0);
}

/* Puts the path of an entry of the directory at hand into `path`. */
static int set_path(struct collect_walk *walk, const char *name, size_t *ret_length)
{
	const struct collect_frame *parent = &walk->frames[walk->depth - 1];
	size_t name_length = strlen(name);
	size_t start = parent->path_length + (parent->path_length > 0);

	if (start + name_length > STREAM_NAME_MAX)
		return -ENAMETOOLONG;	/* the bound on one path is below this: only met with its guard taken out */
	if (parent->path_length > 0)
		walk->path[parent->path_length] = '/';
	memcpy(walk->path + start, name, name_length + 1);
	*ret_length = start + name_length;
	return 0;
}

static int visit(struct collect_walk *walk, const char *name)
{
	const struct collect_frame *parent = &walk->frames[walk->depth - 1];
	size_t path_length;
	int r = set_path(walk, name, &path_length);
	if (r < 0)
		return r;

	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	if (guard_holds(GUARD_NO_FOLLOW))
		flags |= O_NOFOLLOW;
	if (guard_holds(GUARD_NON_BLOCK))
		flags |= O_NONBLOCK;
	int fd = openat(parent->fd, name, flags);
	if (fd < 0)
		return visit_unopened(walk, parent->fd, name, path_length, errno);
	struct stat status;
	if (fstat(fd, &status) < 0)
		r = -errno;
	else if (S_ISDIR(status.st_mode))
		r = pass_directory(walk, path_length, &fd, status.st_mode);
	else if (!type_stands(status.st_mode))
		r = refuse(walk, REASON_IRREGULAR_FILE, path_length);
	else
		r = pass_file(walk, path_length, fd, status.st_mode, (uint64_t)status.st_size);
	if (fd >= 0)
		close(fd);
	return r;
}

/* Would so many more of a kind cross its bound? They are charged one by one, when each is known to be of that kind. */
static enum workspace_reason foresee(const struct workspace_account *account, uint64_t directories, uint64_t files)
{
	if (workspace_over(account->directories + directories, account->limits.directories))
		return REASON_TOO_MANY_DIRECTORIES;
	return workspace_over(account->files + files, account->limits.files) ? REASON_TOO_MANY_FILES : REASON_NONE;
}

/*
 * Charges the names of a piece of a listing before any of them is opened: of ten thousand entries too many none is.
 * What is scratch is marked and charged for nothing.
 */
static int charge_listing(struct collect_walk *walk, struct collect_frame *frame)
{
	uint64_t directories = 0, files = 0;
	struct directory_entry *entry;

	for (size_t at = 0; at < frame->have; at += entry->length) {
		size_t path_length;
		entry = (void *)(frame->entries + at);
		if (strcmp(entry->name, ".") == 0 || strcmp(entry->name, "..") == 0) {
			entry->type = TYPE_PASSED_OVER;
			continue;
		}
		int r = set_path(walk, entry->name, &path_length);
		if (r < 0)
			return r;
		if ((walk->depth == 1 && strcmp(entry->name, ".git") == 0) || is_scratch(walk)) {
			entry->type = TYPE_PASSED_OVER;
			continue;
		}
		directories += entry->type == DT_DIR;
		files += entry->type == DT_REG;
		enum workspace_reason reason = workspace_charge_name(&walk->account, path_length, walk->depth);
		if (reason == REASON_NONE)
			reason = foresee(&walk->account, directories, files);
		if (reason != REASON_NONE)
			return refuse(walk, reason, path_length);
	}
	return 0;
}

/* The next entry of the directory at hand; NULL where it is at its end, or the walk at a refusal. */
static int next_entry(struct collect_walk *walk, struct collect_frame *frame, const struct directory_entry **ret_entry)
{
	*ret_entry = NULL;
	if (frame->at == frame->have) {
		long n = syscall(SYS_getdents64, frame->fd, frame->entries, sizeof frame->entries);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		frame->at = 0;
		frame->have = (size_t)n;
		int r = charge_listing(walk, frame);
		if (r < 0 || walk->refused)
			return r;
	}
	const struct directory_entry *entry = (const void *)(frame->entries + frame->at);
	frame->at += entry->length;
	*ret_entry = entry;
	return 0;
}

static int walk_all(struct collect_walk *walk)
{
	while (walk->depth > 0 && !walk->refused) {
		struct collect_frame *frame = &walk->frames[walk->depth - 1];
		const struct directory_entry *entry = NULL;
		int r = next_entry(walk, frame, &entry);
		if (r == 0 && entry && entry->type != TYPE_PASSED_OVER)
			r = visit(walk, entry->name);
		if (r < 0)
			return r;
		if (!entry && !walk->refused) {
			close(frame->fd);
			walk->depth--;
		}
	}
	return 0;
}

int collect_walk(struct collect_walk *walk, int root_fd, const struct workspace_limits *limits,
		 const char *const *scratch, size_t scratch_count, const struct collect_sink *sink, void *context)
{
	walk->sink = sink;
	walk->context = context;
	walk->scratch = scratch;
	walk->scratch_count = scratch_count;
	walk->account = (struct workspace_account){ .limits = *limits };
	if (walk->account.limits.depth > COLLECT_LEVELS)
		walk->account.limits.depth = COLLECT_LEVELS;
	if (walk->account.limits.one_path_bytes > STREAM_NAME_MAX - 256)
		walk->account.limits.one_path_bytes = STREAM_NAME_MAX - 256;
	walk->refused = false;
	walk->depth = 1;
	walk->frames[0].path_length = 0;
	walk->frames[0].at = walk->frames[0].have = 0;
	/* A description of our own: the caller's may be at any offset, or be shared. */
	walk->frames[0].fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (walk->frames[0].fd < 0)
		return -errno;

	int r = walk_all(walk);
	for (; walk->depth > 0; walk->depth--)
		close(walk->frames[walk->depth - 1].fd);
	return r;
}

ssize_t collect_read(struct collect_content *content, void *room, size_t size)
{
	/* One byte more than is due: a short answer is then the end of a regular file, with no further call. */
	size_t want = content->left < size ? (size_t)content->left + 1 : size;
	ssize_t n;

	if (content->ended || content->fd < 0)
		return content->left > 0 ? -EIO : 0;
	do
		n = read(content->fd, room, want);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((uint64_t)n > content->left || (n == 0 && content->left > 0))
		return -EIO;
	content->left -= (uint64_t)n;
	content->ended = content->left == 0 && (size_t)n < want;
	return n;
}

/* The sink of a collection: records into one buffer, which is written when it is full. */
struct stream_out {
	int fd;
	uint64_t records;
	size_t used;
	char buffer[COLLECT_BUFFER];
};

static int flush(struct stream_out *out)
{
	size_t at = 0;
	while (at < out->used) {
		ssize_t n = write(out->fd, out->buffer + at, out->used - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	out->used = 0;
	return 0;
}

/* A header and its name; they always fit into an empty buffer. */
static int put(struct stream_out *out, struct stream_record record, const char *name, size_t name_length)
{
	record.name_length = (uint32_t)name_length;
	if (sizeof out->buffer - out->used < STREAM_HEADER_BYTES + name_length) {
		int r = flush(out);
		if (r < 0)
			return r;
	}
	stream_put(&record, (unsigned char *)out->buffer + out->used);
	out->used += STREAM_HEADER_BYTES;
	if (name_length > 0)
		memcpy(out->buffer + out->used, name, name_length);
	out->used += name_length;
	out->records++;
	return 0;
}

static int put_directory(void *context, const struct collect_entry *entry)
{
	return put(context, (struct stream_record){ .type = STREAM_DIRECTORY, .mode = entry->mode }, entry->path,
		   entry->path_length);
}

static int put_file(void *context, const struct collect_entry *entry)
{
	struct stream_out *out = context;
	struct collect_content content = { .fd = entry->fd, .left = entry->size };
	int r = put(out, (struct stream_record){ .type = STREAM_FILE, .mode = entry->mode, .size = entry->size },
		    entry->path, entry->path_length);
	if (r < 0)
		return r;
	for (;;) {
		size_t room = sizeof out->buffer - out->used;
		/* A small file goes in whole, a large one by large pieces. */
		if (room <= content.left ? room < sizeof out->buffer / 2 : room == 0) {
			r = flush(out);
			if (r < 0)
				return r;
			room = sizeof out->buffer;
		}
		ssize_t n = collect_read(&content, out->buffer + out->used, room);
		if (n < 0)
			return (int)n;
		out->used += (size_t)n;
		if (content.ended || n == 0)
			return 0;
	}
}

static int put_link(void *context, const struct collect_entry *entry)
{
	struct stream_out *out = context;
	int r = put(out, (struct stream_record){ .type = STREAM_LINK, .mode = 0777, .size = entry->size }, entry->path,
		    entry->path_length);
	if (r == 0 && sizeof out->buffer - out->used < entry->size)
		r = flush(out);
	if (r < 0)
		return r;
	memcpy(out->buffer + out->used, entry->target, (size_t)entry->size);
	out->used += (size_t)entry->size;
	return 0;
}

static int put_refusal(void *context, enum workspace_reason reason, const char *path, size_t path_length)
{
	return put(context, (struct stream_record){ .type = STREAM_REFUSAL, .mode = (uint32_t)reason }, path, path_length);
}

int collect(int root_fd, int out_fd, const struct workspace_limits *limits, const char *const *scratch,
	    size_t scratch_count)
{
	static const struct collect_sink sink = {
		.directory = put_directory, .file = put_file, .link = put_link, .refusal = put_refusal,
	};
	static struct collect_walk walk;
	static struct stream_out out;

	out.fd = out_fd;
	out.records = 0;
	memcpy(out.buffer, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	out.used = STREAM_MAGIC_BYTES;
	int r = collect_walk(&walk, root_fd, limits, scratch, scratch_count, &sink, &out);
	if (r == 0 && !walk.refused)
		r = put(&out, (struct stream_record){ .type = STREAM_END, .size = out.records }, "", 0);
	/* What was found before a failure is of no use to anyone, and a stream without its last record says so. */
	return r < 0 ? r : flush(&out);
}
