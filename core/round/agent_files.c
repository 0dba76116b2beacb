/* The agent's own files (agent_files.h). The repository is made on disk, mapped, and gone again once it is in the stream. */
#include "core/round/agent_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/workspace/repository.h"

#define HOME_FILE_BYTES ((size_t)8388608)
#define HOME_FILE_MODE 0600
#define REPOSITORY "repository"		/* below the task's directory */
#define REPOSITORY_FILES 8		/* HEAD, config, index, one branch, a pack and its index */

bool agent_files_wanted(const struct agent_spec *agent)
{
	return agent->files.count > 0 || agent->repository;
}

struct files {
	struct tree_extra_file *list;	/* REPOSITORY_FILES, then those of HOME */
	size_t count;
	struct buffer *contents;	/* of HOME, one a file */
	size_t contents_count;
	struct mapped {
		void *bytes;
		size_t length;
		char path[320];
	} mapped[REPOSITORY_FILES];
	size_t mapped_count;
};

static void files_release(struct files *files)
{
	for (size_t i = 0; i < files->contents_count; i++)
		buffer_release(&files->contents[i]);
	for (size_t i = 0; i < files->mapped_count; i++)
		munmap(files->mapped[i].bytes, files->mapped[i].length);
	free(files->contents);
	free(files->list);
}

static int read_home(struct evidence *evidence, struct files *files)
{
	const struct pairs *pairs = &evidence->spec->agent.files;
	for (size_t i = 0; i < pairs->count; i++) {
		struct buffer *content = &files->contents[files->contents_count++];
		int r = io_read_file(AT_FDCWD, pairs->items[i].value, HOME_FILE_BYTES, content);
		if (r < 0)
			return pr_error_errno(&evidence->error, -r, "reading the agent's file %s", pairs->items[i].value);
		files->list[files->count++] = (struct tree_extra_file){ .path = pairs->items[i].key, .mode = HOME_FILE_MODE,
			.bytes = content->data ? content->data : "", .length = content->length };
	}
	return 0;
}

/* ------- the repository ------- */

/* A file of the repository into the stream's list: mapped, since a pack may be as large as a subject. */
static int map_file(struct evidence *evidence, struct files *files, int at, const char *directory, const char *name)
{
	struct mapped *mapped = &files->mapped[files->mapped_count];
	struct stat status;
	_cleanup_close_ int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return pr_error_errno(&evidence->error, errno, "reading the repository for the agent");
	if (S_ISDIR(status.st_mode))
		return 0;
	if (files->mapped_count == REPOSITORY_FILES || status.st_size == 0)
		return pr_error_set(&evidence->error, EIO, "the repository for the agent is not as it was written");
	mapped->bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped->bytes == MAP_FAILED)
		return pr_error_errno(&evidence->error, errno, "reading the repository for the agent");
	mapped->length = (size_t)status.st_size;
	files->mapped_count++;
	snprintf(mapped->path, sizeof mapped->path, ".git/%s%s%s", directory, directory[0] ? "/" : "", name);
	files->list[files->count++] = (struct tree_extra_file){ .path = mapped->path, .in_workspace = true, .mode = 0644,
		.bytes = mapped->bytes, .length = mapped->length };
	return 0;
}

/* What repository_write() lays, by directory; the pack's name is its content's. */
static const char *const directories[] = { "", "refs", "refs/heads", "objects", "objects/pack" };

/* Each regular file of one directory: into the list, or away. */
static int each_file(struct evidence *evidence, struct files *files, int repository, const char *name, bool away)
{
	int fd = openat(repository, name[0] ? name : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;
	if (!directory) {
		int code = errno;
		cleanup_close(&fd);
		return away ? 0 : pr_error_errno(&evidence->error, code, "reading the repository for the agent");
	}
	for (struct dirent *entry; r >= 0 && (entry = readdir(directory));) {
		if (entry->d_name[0] == '.')
			continue;
		if (away)
			(void)unlinkat(dirfd(directory), entry->d_name, 0);
		else
			r = map_file(evidence, files, dirfd(directory), name, entry->d_name);
	}
	closedir(directory);
	return r;
}

static void remove_repository(struct evidence *evidence, int repository)
{
	for (size_t i = ELEMENTS(directories); i-- > 0;) {
		(void)each_file(evidence, NULL, repository, directories[i], true);
		if (directories[i][0])
			(void)unlinkat(repository, directories[i], AT_REMOVEDIR);
	}
	(void)unlinkat(evidence->dirfd, REPOSITORY, AT_REMOVEDIR);
}

/* A workspace without room for it would fail while it is filled, which would be the host's fault. */
static int check_room(struct evidence *evidence, const struct files *files)
{
	uint64_t bytes = 0, room = evidence->limits->workspace_bytes;
	for (size_t i = 0; i < evidence->subject->tree.count; i++)
		bytes += evidence->subject->tree.entries[i].size;
	for (size_t i = 0; i < files->mapped_count; i++)
		bytes += files->mapped[i].length;
	if (bytes < room - room / 16)
		return 0;
	pr_error_set(&evidence->error, ENOSPC, "the subject and its repository are %llu bytes, too much for a workspace of %llu",
		     (unsigned long long)bytes, (unsigned long long)room);
	return pr_error_remedy(&evidence->error, "raise limits.workspace, or leave `repository` out");
}

static int make_repository(struct evidence *evidence, struct files *files)
{
	char path[64], commit[STORE_ID];
	const struct tree *tree = &evidence->subject->tree;
	if (tree_find(tree, ".git") || tree_has_below(tree, ".git"))
		return pr_error_set(&evidence->error, EEXIST, "the subject has a .git of its own: leave `repository` out");
	if (mkdirat(evidence->dirfd, REPOSITORY, 0700) < 0)
		return pr_error_errno(&evidence->error, errno, "making the repository for the agent");
	_cleanup_close_ int fd = openat(evidence->dirfd, REPOSITORY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return pr_error_errno(&evidence->error, errno, "making the repository for the agent");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int r = repository_write(evidence->store, tree, path, commit, &evidence->error);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(directories); i++)
		r = each_file(evidence, files, fd, directories[i], false);
	remove_repository(evidence, fd);
	return r < 0 ? r : check_room(evidence, files);
}

int agent_files_stream(struct evidence *evidence, int fd)
{
	const struct agent_spec *agent = &evidence->spec->agent;
	struct files files = { .list = calloc(agent->files.count + REPOSITORY_FILES, sizeof *files.list),
			       .contents = calloc(agent->files.count + 1, sizeof *files.contents) };
	int r = files.list && files.contents ? 0 : pr_error_errno(&evidence->error, ENOMEM, "reading the agent's files");
	if (r >= 0)
		r = read_home(evidence, &files);
	if (r >= 0 && agent->repository)
		r = make_repository(evidence, &files);
	if (r >= 0)
		r = tree_write_stream(evidence->store, &evidence->subject->tree, files.list, files.count, fd, &evidence->error);
	files_release(&files);
	return r;
}
