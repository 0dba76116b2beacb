/* What the tests of core/workspace share: a store of their own, trees by hand, streams in memory. */
#ifndef TESTS_UNIT_TEST_WORKSPACE_H
#define TESTS_UNIT_TEST_WORKSPACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/workspace/collection.h"
#include "core/workspace/inside/collect.h"
#include "core/workspace/stream.h"
#include "core/workspace/tree.h"
#include "tests/support/scratch.h"

#define _cleanup_tree_ _cleanup_(tree_release)

struct place {
	char *path;
	int fd;			/* of an empty directory "w" in it */
	struct store *store;
};

static inline int place_open(void **state)
{
	struct place *place = calloc(1, sizeof *place);
	struct pr_error error = { 0 };
	place->path = scratch_directory("workspace");
	_cleanup_free_ char *store = scratch_text("%s/store.git", place->path);
	_cleanup_free_ char *work = scratch_text("%s/w", place->path);
	if (store_open(store, &place->store, &error) < 0 || mkdir(work, 0755) < 0)
		fail_msg("%s", error.message);
	place->fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->fd < 0 ? -1 : 0;
}

static inline int place_close(void **state)
{
	struct place *place = *state;
	close(place->fd);
	store_free(place->store);
	scratch_remove(place->path);
	free(place->path);
	free(place);
	return 0;
}

#define place_test(function) cmocka_unit_test_setup_teardown(function, place_open, place_close)

#define assert_fine(call) do { \
		struct pr_error *error_ = &error; \
		*error_ = (struct pr_error){ 0 }; \
		int r_ = (call); \
		if (r_ < 0) \
			fail_msg("%s: %d, %s", #call, r_, error_->message); \
	} while (0)

static inline void add_content(struct place *place, struct tree *tree, const char *path, enum tree_type type,
			       uint32_t mode, const void *bytes, size_t length)
{
	struct pr_error error;
	char id[STORE_ID], sha256[DIGEST_HEX];
	assert_fine(store_write(place->store, bytes, length, id, &error));
	digest_bytes(bytes, length, sha256);
	assert_int_equal(tree_add(tree, path, type, mode, length, id, sha256), 0);
}

static inline void add_file(struct place *place, struct tree *tree, const char *path, uint32_t mode, const char *text)
{
	add_content(place, tree, path, TREE_FILE, mode, text, strlen(text));
}

static inline void add_link(struct place *place, struct tree *tree, const char *path, const char *target)
{
	add_content(place, tree, path, TREE_LINK, 0777, target, strlen(target));
}

static inline void add_directory(struct tree *tree, const char *path, uint32_t mode)
{
	assert_int_equal(tree_add(tree, path, TREE_DIRECTORY, mode, 0, NULL, NULL), 0);
}

static inline void assert_trees_equal(const struct tree *one, const struct tree *other)
{
	for (size_t i = 0; i < one->count && i < other->count; i++)
		if (!tree_entry_equal(&one->entries[i], &other->entries[i]))
			fail_msg("entry %zu: %s (type %d mode %o size %llu) is not %s (type %d mode %o size %llu)", i,
				 one->entries[i].path, one->entries[i].type, one->entries[i].mode,
				 (unsigned long long)one->entries[i].size, other->entries[i].path, other->entries[i].type,
				 other->entries[i].mode, (unsigned long long)other->entries[i].size);
	assert_int_equal(one->count, other->count);
}

static inline int memory_file(void)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Feeds a stream that is whole in memory, `step` bytes at a time (0: all at once). */
static inline enum collection_outcome decode(struct place *place, const struct tree *subject,
					     const struct workspace_limits *limits, const void *bytes, size_t length,
					     size_t step, struct tree *tree, enum workspace_reason *reason, char **path)
{
	struct pr_error error = { 0 };
	struct collection *collection;
	enum collection_outcome outcome = COLLECTION_BROKEN;
	assert_fine(collection_new(place->store, subject, limits, &collection, &error));
	for (size_t at = 0; at < length; at += step ? step : length) {
		size_t n = step && step < length - at ? step : length - at;
		assert_fine(collection_feed(collection, (const char *)bytes + at, n, &error));
	}
	assert_fine(collection_finish(collection, &outcome, tree, reason, path, &error));
	collection_free(collection);
	return outcome;
}

/* Collects a directory and decodes what comes. */
static inline enum collection_outcome collect_into(struct place *place, int root, const struct tree *subject,
						   const struct workspace_limits *limits, struct tree *tree,
						   enum workspace_reason *reason, char **path)
{
	_cleanup_close_ int fd = memory_file();
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	int r = collect(root, fd, limits, NULL, 0);
	if (r < 0)
		return COLLECTION_BROKEN;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_all(fd, &bytes, 1u << 30), 0);
	return decode(place, subject, limits, bytes.data, bytes.length, 0, tree, reason, path);
}

/* Collects and wants a whole tree. */
static inline void collect_whole(struct place *place, int root, const struct tree *subject, struct tree *tree)
{
	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;
	enum collection_outcome outcome = collect_into(place, root, subject, &WORKSPACE_LIMITS_E1, tree, &reason, &path);
	if (outcome != COLLECTION_WHOLE)
		fail_msg("outcome %d, %s at %s", outcome, workspace_reason_name(reason), path ? path : "-");
}

/* Collects and wants a violation; the path is not compared where NULL. */
static inline void collect_refused(struct place *place, int root, const struct workspace_limits *limits,
				   enum workspace_reason want, const char *want_path)
{
	_cleanup_tree_ struct tree tree = { 0 };
	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;
	enum collection_outcome outcome = collect_into(place, root, NULL, limits, &tree, &reason, &path);
	if (outcome != COLLECTION_VIOLATION || reason != want)
		fail_msg("outcome %d, %s; wanted %s", outcome, workspace_reason_name(reason), workspace_reason_name(want));
	if (want_path)
		assert_string_equal(path, want_path);
}

static inline void put_file(int directory, const char *name, mode_t mode, const char *text)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		fail_msg("creating %s: %s", name, strerror(errno));
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

#endif
