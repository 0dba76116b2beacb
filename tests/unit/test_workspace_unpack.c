/* A subject into a directory and back: the round trip, and streams that unpack must refuse. */
#include "tests/unit/test_workspace.h"

#include "core/workspace/inside/unpack.h"

static void unpack_tree(struct place *place, const struct tree *tree, const struct tree_extra_file *home, size_t home_count,
			int home_fd)
{
	struct pr_error error;
	const char *step = "-";
	_cleanup_close_ int fd = memory_file();
	assert_fine(tree_write_stream(place->store, tree, home, home_count, fd, &error));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	int r = unpack(fd, place->fd, home_fd, NULL, &step);
	if (r < 0)
		fail_msg("unpack: %s: %s", step, strerror(-r));
}

static void test_round_trip(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 }, got = { 0 };
	_cleanup_free_ char *large = malloc(3 << 20);
	mode_t mask = umask(077);	/* modes must not depend on it */

	for (size_t i = 0; i < 3 << 20; i++)
		large[i] = (char)(i * 2654435761u >> 13);
	add_file(place, &tree, "plain", 0644, "text\n");
	add_file(place, &tree, "run", 0755, "#!/bin/sh\n");
	add_file(place, &tree, "none", 0644, "");
	/* To read these back takes the collector's capability. */
	bool reads_all = geteuid() == 0;
	if (reads_all)
		add_file(place, &tree, "zero-mode", 0, "secret");
	add_file(place, &tree, "read-only", 0444, "ro");
	add_file(place, &tree, "all", 0777, "rw");
	add_content(place, &tree, "large", TREE_FILE, 0640, large, 3 << 20);
	/* a directory whose neighbours sort between it and what it holds */
	add_directory(&tree, "d", 0500);
	add_file(place, &tree, "d-e", 0644, "1");
	add_file(place, &tree, "d.f", 0644, "2");
	add_file(place, &tree, "d/x", 0600, "3");
	add_directory(&tree, "d/closed", reads_all ? 0 : 0500);
	add_file(place, &tree, "d/closed/in", 0644, "4");
	add_directory(&tree, "sticky", 01777);
	add_directory(&tree, "empty", 0755);
	add_directory(&tree, "empty/also", 0711);
	add_file(place, &tree, "odd/nl\nx", 0644, "a");
	add_file(place, &tree, "odd/\x1b[31m", 0644, "b");
	add_file(place, &tree, "odd/\xff\xfe", 0644, "c");
	add_file(place, &tree, "odd/-rf", 0644, "d");
	add_file(place, &tree, "odd/ ", 0644, "e");
	add_file(place, &tree, "odd/a\\..\\b", 0644, "f");
	add_file(place, &tree, "odd/.git\xe2\x80\x8c", 0644, "g");
	add_file(place, &tree, "odd/...", 0644, "h");
	add_file(place, &tree, "sub/.git/config", 0644, "nested, and no business of ours");
	add_link(place, &tree, "link", "plain");
	add_link(place, &tree, "d/out", "/etc/passwd");
	add_link(place, &tree, "odd/dangling", "\xff nowhere");
	assert_fine(tree_complete(&tree, NULL, &error));

	unpack_tree(place, &tree, NULL, 0, -1);
	collect_whole(place, place->fd, &tree, &got);
	assert_trees_equal(&got, &tree);
	/* so that whoever we are can remove them */
	assert_int_equal(fchmodat(place->fd, "d", 0700, 0), 0);
	assert_int_equal(fchmodat(place->fd, "d/closed", 0700, 0), 0);
	umask(mask);
}

static void test_home(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_free_ char *path = scratch_text("%s/home", place->path);
	const struct tree_extra_file home[] = {
		{ ".config/tool/b.json", 0600, "{}", 2, false },
		{ ".bashrc", 0644, "x", 1, false },
		{ ".config/a", 0644, "", 0, false },
	};
	struct stat status;

	assert_int_equal(mkdir(path, 0755), 0);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(fd, ".config", 0755), 0);	/* what stands there already is no fault */
	add_file(place, &tree, "f", 0644, "f");
	unpack_tree(place, &tree, home, ELEMENTS(home), fd);
	assert_int_equal(fstatat(fd, ".config/tool/b.json", &status, 0), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_int_equal(status.st_size, 2);
	assert_int_equal(fstatat(fd, ".config/a", &status, 0), 0);
	assert_int_equal(fstatat(fd, ".bashrc", &status, 0), 0);
	assert_int_equal(fstatat(place->fd, "f", &status, 0), 0);
	assert_int_equal(fstatat(place->fd, ".bashrc", &status, 0), -1);
}

static void test_bad_home_path(void **state)
{
	struct place *place = *state;
	struct pr_error error = { 0 };
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_close_ int fd = memory_file();
	const struct tree_extra_file home = { "../x", 0600, "", 0, false };
	assert_true(tree_write_stream(place->store, &tree, &home, 1, fd, &error) < 0);
}

/* Streams by hand. */

static void record(struct buffer *out, enum stream_type type, enum stream_root root, const char *name, const char *content)
{
	unsigned char header[STREAM_HEADER_BYTES];
	struct stream_record r = {
		.type = type, .root = root, .mode = type == STREAM_LINK ? 0777 : 0755, .name_length = (uint32_t)strlen(name),
		.size = strlen(content),
	};
	if (out->length == 0)
		buffer_add(out, STREAM_MAGIC, STREAM_MAGIC_BYTES);
	stream_put(&r, header);
	buffer_add(out, header, sizeof header);
	buffer_add_text(out, name);
	buffer_add_text(out, content);
}

static void end(struct buffer *out, uint64_t records)
{
	unsigned char header[STREAM_HEADER_BYTES];
	stream_put(&(struct stream_record){ .type = STREAM_END, .size = records }, header);
	buffer_add(out, header, sizeof header);
}

static int unpack_bytes(struct place *place, const struct buffer *bytes, const char **step)
{
	_cleanup_close_ int fd = memory_file();
	assert_int_equal(io_write_all(fd, bytes->data, bytes->length), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return unpack(fd, place->fd, place->fd, NULL, step);
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"../out", "/tmp/out", "a/../../out", "a//b", "./a", "a/.", "..", ".", "a/",
	};
	struct place *place = *state;

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
		const char *step = "-";
		record(&bytes, STREAM_FILE, STREAM_WORKSPACE, names[i], "x");
		end(&bytes, 1);
		assert_int_equal(unpack_bytes(place, &bytes, &step), -EBADMSG);
		assert_string_equal(step, "stream");
	}
	_cleanup_free_ char *work = scratch_text("%s/w", place->path);
	assert_int_equal(scratch_count(work), 0);
	assert_int_equal(scratch_count(place->path), 2);
}

static void test_never_through_a_link(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	const char *step = "-";

	record(&bytes, STREAM_LINK, STREAM_WORKSPACE, "ln", "..");
	record(&bytes, STREAM_FILE, STREAM_WORKSPACE, "ln/out", "x");
	end(&bytes, 2);
	assert_int_equal(unpack_bytes(place, &bytes, &step), -EBADMSG);
	assert_int_equal(scratch_count(place->path), 2);

	/* and not through one that stood there before */
	buffer_clear(&bytes);
	record(&bytes, STREAM_DIRECTORY, STREAM_HOME, "ln", "");
	record(&bytes, STREAM_FILE, STREAM_HOME, "ln/out", "x");
	end(&bytes, 2);
	assert_true(unpack_bytes(place, &bytes, &step) < 0);
	assert_int_equal(scratch_count(place->path), 2);
}

static void test_no_file_over_another(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	const char *step = "-";

	record(&bytes, STREAM_FILE, STREAM_WORKSPACE, "a", "1");
	record(&bytes, STREAM_FILE, STREAM_WORKSPACE, "a", "2");
	end(&bytes, 2);
	assert_int_equal(unpack_bytes(place, &bytes, &step), -EEXIST);
	assert_string_equal(step, "openat");
}

static void test_cut_streams(void **state)
{
	struct place *place = *state;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	_cleanup_free_ char *work = scratch_text("%s/w", place->path);

	record(&bytes, STREAM_DIRECTORY, STREAM_WORKSPACE, "d", "");
	record(&bytes, STREAM_FILE, STREAM_WORKSPACE, "d/f", "content");
	record(&bytes, STREAM_LINK, STREAM_WORKSPACE, "l", "t");
	end(&bytes, 3);
	size_t whole = bytes.length;
	for (size_t length = 0; length < whole; length++) {
		const char *step = "-";
		bytes.length = length;
		assert_int_equal(unpack_bytes(place, &bytes, &step), -EBADMSG);
		scratch_remove(work);
		assert_int_equal(mkdir(work, 0755), 0);
		close(place->fd);
		place->fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	const char *step = "-";
	bytes.length = whole;
	assert_int_equal(unpack_bytes(place, &bytes, &step), 0);
	/* a wrong count at the end */
	bytes.data[whole - 8]++;
	assert_true(unpack_bytes(place, &bytes, &step) < 0);
}

static void test_depth(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 }, got = { 0 };
	_cleanup_buffer_ struct buffer path = BUFFER_INIT;

	for (int i = 0; i < 31; i++)
		buffer_add_text(&path, "d/");
	buffer_add_text(&path, "f");
	add_file(place, &tree, path.data, 0644, "deep");
	assert_fine(tree_complete(&tree, NULL, &error));
	unpack_tree(place, &tree, NULL, 0, -1);
	collect_whole(place, place->fd, &tree, &got);
	assert_trees_equal(&got, &tree);
}

/* What the program inside would have given away. */
static struct buffer given;

static int note(int fd)
{
	struct stat status;
	if (fstat(fd, &status) < 0)
		return -errno;
	return buffer_printf(&given, "%s:%o ", S_ISDIR(status.st_mode) ? "d" : S_ISLNK(status.st_mode) ? "l" : "f",
			     status.st_mode & 07777);
}

static int unpack_protected(struct place *place, unpack_protect *protect, const char **step)
{
	static const char *const globs[] = { "t/*" };
	struct pr_error error;
	_cleanup_tree_ struct tree tree = { 0 };
	_cleanup_close_ int fd = memory_file();
	add_file(place, &tree, "free", 0666, "f");
	add_file(place, &tree, "t/run", 04755, "r");
	add_link(place, &tree, "t/to", "run");
	add_directory(&tree, "u", 0755);
	assert_fine(tree_mark_protected(&tree, globs, ELEMENTS(globs), &error));
	assert_fine(tree_write_stream(place->store, &tree, NULL, 0, fd, &error));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return unpack(fd, place->fd, -1, protect, step);
}

/* Each protected entry once, with the mode that its group reads by; then what is above it, the workspace last. */
static void test_protected(void **state)
{
	const char *step = "-";
	buffer_init(&given, 4096);
	assert_int_equal(unpack_protected(*state, note, &step), 0);
	assert_string_equal(given.data, "f:755 l:777 d:1775 d:1770 ");
	buffer_release(&given);
}

static void test_protected_needs_someone(void **state)
{
	const char *step = "-";
	assert_int_equal(unpack_protected(*state, NULL, &step), -EBADMSG);
	assert_string_equal(step, "stream");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_round_trip), place_test(test_home), place_test(test_bad_home_path),
		place_test(test_hostile_names), place_test(test_never_through_a_link), place_test(test_no_file_over_another),
		place_test(test_cut_streams), place_test(test_depth),
		place_test(test_protected), place_test(test_protected_needs_someone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
