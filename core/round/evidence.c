/* The slow part of a task (evidence.h). It knows nothing of the loop, the journal or the worker. */
#include "core/round/evidence.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/round/agent_files.h"
#include "core/workspace/patch.h"
#include <proctor/text.h>

#define READ_BYTES 131072
#define RENDERED_BYTES ((size_t)67108864)
#define PATCH_FILE "candidate.patch"
#define RESULT_FILE "result.json"

int evidence_init(struct evidence *evidence, struct store *store, const struct task_spec *spec,
		  const struct subject *subject, const struct limits_spec *limits, int dirfd)
{
	*evidence = (struct evidence){ .store = store, .spec = spec, .subject = subject, .limits = limits, .dirfd = dirfd,
		.agent_fd = -1, .subject_fd = -1, .patched_fd = -1, .pipe = -1 };
	tree_init(&evidence->collected);
	tree_init(&evidence->patched);
	evidence->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return evidence->wake < 0 ? -errno : 0;
}

void evidence_release(struct evidence *evidence)
{
	int *const fds[] = { &evidence->agent_fd, &evidence->subject_fd, &evidence->patched_fd, &evidence->pipe, &evidence->wake };
	for (size_t i = 0; i < ELEMENTS(fds); i++) {
		cleanup_close(fds[i]);
		*fds[i] = -1;
	}
	tree_release(&evidence->collected);
	tree_release(&evidence->patched);
}

int evidence_stream(int fd)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int own = open(path, O_RDONLY | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

/* A file without a name on the round's own disk; memory only where the file system has no such files. */
static int unnamed_file(int dirfd)
{
	int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
		fd = memfd_create("stream", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Of a tree; NULL: the agent's own. */
static int write_stream(struct evidence *evidence, const struct tree *tree, int *ret_fd)
{
	_cleanup_close_ int fd = unnamed_file(evidence->dirfd);
	if (fd < 0)
		return pr_error_errno(&evidence->error, -fd, "making a file for a subject's stream");
	int r = tree ? tree_write_stream(evidence->store, tree, NULL, 0, fd, &evidence->error) : agent_files_stream(evidence, fd);
	if (r < 0)
		return r;
	cleanup_close(ret_fd);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* For the tests: a copy of the tree in which the protected paths are marked. */
static int write_tests_stream(struct evidence *evidence, const struct tree *tree, int *ret_fd)
{
	const struct strings *protect = &evidence->spec->protect;
	struct tree marked;
	tree_init(&marked);
	int r = tree_copy(tree, &marked);
	if (r < 0)
		return pr_error_errno(&evidence->error, -r, "copying a tree");
	if (protect->count > 0)
		r = tree_mark_protected(&marked, protect->items, protect->count, &evidence->error);
	if (r >= 0)
		r = write_stream(evidence, &marked, ret_fd);
	tree_release(&marked);
	return r;
}

int evidence_prepare(struct evidence *evidence)
{
	int r = write_tests_stream(evidence, &evidence->subject->tree, &evidence->subject_fd);
	if (r >= 0 && (agent_files_wanted(&evidence->spec->agent) || evidence->spec->protect.count > 0))
		r = write_stream(evidence, NULL, &evidence->agent_fd);
	if (r >= 0)
		r = tree_write_object(evidence->store, &evidence->subject->tree, evidence->subject_object, &evidence->error);
	return r;
}

/* 1: bytes; 0: the end. Waits for bytes, or for the wake that says that none will come. */
static ssize_t read_stream(struct evidence *evidence, char *bytes, size_t size)
{
	struct pollfd fds[] = { { .fd = evidence->pipe, .events = POLLIN }, { .fd = evidence->wake, .events = POLLIN } };
	for (;;) {
		ssize_t n = read(evidence->pipe, bytes, size);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		if (fds[1].revents)
			return 0;
		if (poll(fds, ELEMENTS(fds), -1) < 0 && errno != EINTR)
			return -errno;
	}
}

static int feed_stream(struct evidence *evidence, struct collection *collection)
{
	_cleanup_free_ char *bytes = malloc(READ_BYTES);
	if (!bytes)
		return pr_error_errno(&evidence->error, ENOMEM, "collecting");
	for (;;) {
		ssize_t n = read_stream(evidence, bytes, READ_BYTES);
		if (n < 0)
			return pr_error_errno(&evidence->error, (int)-n, "reading the collector's stream");
		if (n == 0)
			return 0;
		int r = collection_feed(collection, bytes, (size_t)n, &evidence->error);
		if (r < 0)
			return r;
	}
}

int evidence_collect(struct evidence *evidence)
{
	const struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	struct collection *collection = NULL;
	_cleanup_free_ char *path = NULL;

	(void)io_set_nonblocking(evidence->pipe, true);
	int r = collection_new(evidence->store, &evidence->subject->tree, &limits, &collection, &evidence->error);
	if (r >= 0)
		r = feed_stream(evidence, collection);
	cleanup_close(&evidence->pipe);
	evidence->pipe = -1;
	if (r >= 0)
		r = collection_finish(collection, &evidence->outcome, &evidence->collected, &evidence->reason, &path, &evidence->error);
	collection_free(collection);
	if (r < 0)
		return r;
	if (evidence->outcome == COLLECTION_VIOLATION && path) {
		struct pr_safe_text safe;
		pr_safe_text_from(&safe, path, strlen(path), 100, PR_CHARSET_UTF8);
		snprintf(evidence->path, sizeof evidence->path, "%s", pr_safe_text_str(&safe));
	}
	evidence->has_collected = evidence->outcome == COLLECTION_WHOLE;
	return 0;
}

static void find_violation(struct evidence *evidence, enum workspace_reason reason, const char *path)
{
	evidence->outcome = COLLECTION_VIOLATION;
	evidence->reason = reason;
	snprintf(evidence->path, sizeof evidence->path, "%s", path);
}

/* The file of that name where the candidate wrote it: one that the subject held and that is unchanged is not. */
static const struct tree_entry *written(const struct evidence *evidence, const char *path)
{
	const struct tree_entry *now = tree_find(&evidence->collected, path);
	const struct tree_entry *before = tree_find(&evidence->subject->tree, path);
	if (!now || now->type != TREE_FILE)
		return NULL;
	return before && before->type == TREE_FILE && strcmp(before->sha256, now->sha256) == 0 ? NULL : now;
}

static bool is_blank(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r\n\f\v", bytes[i]) || bytes[i] == '\0')
			return false;
	return true;
}

static int keep_patch(struct evidence *evidence, const char *bytes, size_t length)
{
	evidence->patch_bytes = length;
	return io_replace_file(evidence->dirfd, PATCH_FILE, bytes, length, 0600, &evidence->error);
}

static int apply_patch(struct evidence *evidence, const char *diff, size_t length)
{
	int r = keep_patch(evidence, diff, length);
	if (r < 0)
		return r;
	r = patch_apply(evidence->store, &evidence->subject->tree, diff, length, &evidence->patched, &evidence->error);
	if (r == -EBADMSG) {
		struct pr_safe_text safe;
		pr_safe_text_from(&safe, evidence->error.message, strlen(evidence->error.message), 200, PR_CHARSET_UTF8);
		snprintf(evidence->patch_words, sizeof evidence->patch_words, "%s", pr_safe_text_str(&safe));
		evidence->patch = PATCH_REFUSED;
		return 0;
	}
	if (r < 0)
		return r;
	evidence->patch = PATCH_APPLIED;
	evidence->has_patched = true;
	return 0;
}

static int render_patch(struct evidence *evidence)
{
	_cleanup_buffer_ struct buffer diff = BUFFER_INIT, unsaid = BUFFER_INIT;
	buffer_init(&diff, RENDERED_BYTES);
	int r = patch_render(evidence->store, &evidence->subject->tree, &evidence->collected, &diff, &evidence->partial, &unsaid,
			     &evidence->error);
	if (r == -E2BIG) {
		/* The trees stand all the same, and the tests run on them. */
		evidence->partial = true;
		buffer_clear(&diff);
	} else if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < unsaid.length; i++)
		evidence->unsaid += unsaid.data[i] == '\0';
	r = keep_patch(evidence, diff.data ? diff.data : "", diff.length);
	if (r < 0)
		return r;
	r = tree_copy(&evidence->collected, &evidence->patched);
	if (r < 0)
		return pr_error_errno(&evidence->error, -r, "copying a tree");
	evidence->patch = PATCH_RENDERED;
	evidence->has_patched = true;
	return 0;
}

static int make_patched(struct evidence *evidence, const struct tree_entry *patch)
{
	_cleanup_free_ char *bytes = NULL;
	size_t length = 0;
	if (patch) {
		int r = store_read(evidence->store, patch->blob, &bytes, &length, &evidence->error);
		if (r < 0)
			return r;
		if (!is_blank(bytes, length))
			return apply_patch(evidence, bytes, length);
	}
	return render_patch(evidence);
}

/*
 * A patch can say a tree that no collection would take, and holes or hard links count in full once they are unpacked:
 * such a tree could not be made for the tests, which is the candidate's doing and not the host's.
 */
static bool refuse_misfit(struct evidence *evidence)
{
	const struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	enum workspace_reason reason = tree_misfit(&evidence->patched, &limits, evidence->limits->workspace_bytes,
						   evidence->limits->inodes);
	if (reason == REASON_NONE)
		return false;
	snprintf(evidence->patch_words, sizeof evidence->patch_words, "it would not fit its workspace (%s)",
		 workspace_reason_name(reason));
	evidence->patch = PATCH_REFUSED;
	evidence->has_patched = false;
	return true;
}

int evidence_patch(struct evidence *evidence)
{
	const struct tree_entry *patch = written(evidence, PATCH_FILE), *result = written(evidence, RESULT_FILE);

	if (result && workspace_over(result->size, WORKSPACE_RESULT_BYTES))
		find_violation(evidence, REASON_RESULT_TOO_LARGE, RESULT_FILE);
	else if (patch && workspace_over(patch->size, WORKSPACE_RESULT_BYTES))
		find_violation(evidence, REASON_PATCH_TOO_LARGE, PATCH_FILE);
	if (evidence->outcome != COLLECTION_WHOLE)
		return 0;

	int r = tree_write_object(evidence->store, &evidence->collected, evidence->collected_object, &evidence->error);
	if (r >= 0)
		r = make_patched(evidence, patch);
	if (r < 0 || !evidence->has_patched)
		return r;
	const struct strings *protect = &evidence->spec->protect;
	if (protect->count > 0)
		r = tree_protect(&evidence->subject->tree, &evidence->patched, protect->items, protect->count, &evidence->restored,
				 &evidence->error);
	if (r >= 0 && refuse_misfit(evidence))
		return 0;
	if (r >= 0)
		r = write_tests_stream(evidence, &evidence->patched, &evidence->patched_fd);
	if (r >= 0)
		r = tree_write_object(evidence->store, &evidence->patched, evidence->patched_object, &evidence->error);
	return r;
}
