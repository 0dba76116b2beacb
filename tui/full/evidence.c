/*
 * Reading of evidence.h. The files are the core's, in a directory that no candidate reaches; they are opened as
 * if they were not: no links followed, regular files only, so much and no more.
 */
#include "tui/full/evidence.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/record/jsonc.h"

static int open_file(int directory, const char *name, off_t *ret_size)
{
	struct stat about;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) {
		*ret_size = about.st_size;
		return fd;
	}
	cleanup_close(&fd);
	return -1;
}

/* At most `most` bytes from `from` on. */
static void read_part(int fd, off_t from, size_t most, struct buffer *out)
{
	buffer_clear(out);
	if (buffer_reserve(out, most) < 0)
		return;
	while (out->length < most) {
		char bytes[8192];
		size_t wanted = most - out->length < sizeof bytes ? most - out->length : sizeof bytes;
		ssize_t length = pread(fd, bytes, wanted, from + (off_t)out->length);
		if (length <= 0 || buffer_add(out, bytes, (size_t)length) < 0)
			return;
	}
}

static void read_tail(struct evidence *evidence, int directory, const char *name)
{
	off_t size;
	_cleanup_close_ int fd = open_file(directory, name, &size);
	if (fd < 0 || size == 0)
		return;
	off_t from = size > (off_t)EVIDENCE_TAIL ? size - (off_t)EVIDENCE_TAIL : 0;
	read_part(fd, from, EVIDENCE_TAIL, &evidence->tail);
	snprintf(evidence->tail_name, sizeof evidence->tail_name, "%s", name);
	evidence->tail_cut = from > 0;
}

/* What the agent said; of a task whose agent said nothing, what its tests said. */
static void read_tails(struct evidence *evidence, int directory)
{
	static const char *const names[] = {
		"agent.stdout", "agent.stderr", "patched-1.stdout", "patched-1.stderr", "baseline-1.stdout", "baseline-1.stderr",
	};
	buffer_clear(&evidence->tail);
	evidence->tail_name[0] = '\0';
	evidence->tail_cut = false;
	for (size_t i = 0; i < ELEMENTS(names) && !evidence->tail_name[0]; i++)
		read_tail(evidence, directory, names[i]);
}

static void read_result(struct evidence *evidence, int directory)
{
	off_t size;
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	_cleanup_close_ int fd = open_file(directory, "result.json", &size);
	json_object_put(evidence->result);
	evidence->result = NULL;
	if (fd < 0 || size > (off_t)EVIDENCE_RESULT)
		return;
	read_part(fd, 0, EVIDENCE_RESULT, &text);
	if (text.data)
		evidence->result = jsonc_read_object(text.data, text.length);
}

static void read_patch(struct evidence *evidence, int directory)
{
	off_t size = 0;
	_cleanup_close_ int fd = open_file(directory, "candidate.patch", &size);
	buffer_clear(&evidence->patch);
	evidence->patch_cut = size > (off_t)EVIDENCE_PATCH;
	if (fd >= 0)
		read_part(fd, 0, EVIDENCE_PATCH, &evidence->patch);
}

static int compare_names(const void *one, const void *other)
{
	return strcmp(one, other);
}

static void list_files(struct evidence *evidence, int directory)
{
	evidence->file_count = 0;
	int fd = dup(directory);
	_cleanup_closedir_ DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries)
		return;
	rewinddir(entries);
	const struct dirent *entry;
	while (evidence->file_count < EVIDENCE_FILES && (entry = readdir(entries)) != NULL) {
		struct stat about;
		size_t at = evidence->file_count;
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof evidence->files[at].name ||
		    fstatat(directory, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		memcpy(evidence->files[at].name, entry->d_name, strlen(entry->d_name) + 1);
		evidence->files[at].bytes = about.st_size;
		evidence->file_count++;
	}
	/* The name comes first in the struct. */
	qsort(evidence->files, evidence->file_count, sizeof evidence->files[0], compare_names);
}

void evidence_read(struct evidence *evidence, const char *round_directory, const struct pr_task *task)
{
	bool same = strcmp(evidence->task, task->id) == 0;
	snprintf(evidence->task, sizeof evidence->task, "%s", task->id);
	snprintf(evidence->directory, sizeof evidence->directory, "%s/tasks/%s", round_directory, task->id);
	_cleanup_close_ int directory = open(evidence->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (directory < 0) {
		bool told = same && evidence->tail.length > 0;
		if (!told)
			buffer_clear(&evidence->tail);
		buffer_clear(&evidence->patch);
		json_object_put(evidence->result);
		evidence->result = NULL;
		evidence->file_count = 0;
		return;
	}
	read_tails(evidence, directory);
	read_result(evidence, directory);
	read_patch(evidence, directory);
	list_files(evidence, directory);
}

void evidence_release(struct evidence *evidence)
{
	json_object_put(evidence->result);
	buffer_release(&evidence->patch);
	buffer_release(&evidence->tail);
	*evidence = (struct evidence){ 0 };
}
