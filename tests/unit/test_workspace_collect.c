/*
 * The collector over what a candidate may leave: E1's bounds at their edges, and E3 to E5. For each guard of the
 * collector there is the same case with the guard out, and it must come out the other way.
 */
#include "tests/unit/test_workspace.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "tests/support/skip.h"

static void without(const char *guard)
{
	if (guard)
		setenv("PROCTOR_WITHOUT", guard, 1);
	else
		unsetenv("PROCTOR_WITHOUT");
}

/* Three directories, four files, one name of five bytes at depth 3. */
static void small_tree(struct place *place)
{
	assert_int_equal(mkdirat(place->fd, "a", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "a/b", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "c", 0755), 0);
	put_file(place->fd, "a/b/f", 0644, "12345");
	put_file(place->fd, "a/g", 0644, "123");
	put_file(place->fd, "h", 0644, "");
	put_file(place->fd, "c/i", 0644, "12");
}

static void test_each_bound_at_its_edge(void **state)
{
	struct place *place = *state;
	static const struct workspace_limits exact = {
		.entries = 7, .directories = 3, .depth = 3, .path_bytes = 17, .one_path_bytes = 5, .files = 4, .bytes = 10,
		.file_bytes = 5,
	};
	const struct { size_t offset; enum workspace_reason reason; } bounds[] = {
		{ offsetof(struct workspace_limits, entries), REASON_TOO_MANY_ENTRIES },
		{ offsetof(struct workspace_limits, directories), REASON_TOO_MANY_DIRECTORIES },
		{ offsetof(struct workspace_limits, depth), REASON_WORKSPACE_TOO_DEEP },
		{ offsetof(struct workspace_limits, path_bytes), REASON_WORKSPACE_PATHS_TOO_LARGE },
		{ offsetof(struct workspace_limits, one_path_bytes), REASON_PATH_TOO_LONG },
		{ offsetof(struct workspace_limits, files), REASON_TOO_MANY_FILES },
		{ offsetof(struct workspace_limits, bytes), REASON_WORKSPACE_TOO_LARGE },
		{ offsetof(struct workspace_limits, file_bytes), REASON_WORKSPACE_FILE_TOO_LARGE },
	};
	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;

	small_tree(place);
	_cleanup_tree_ struct tree tree = { 0 };
	assert_int_equal(collect_into(place, place->fd, NULL, &exact, &tree, &reason, &path), COLLECTION_WHOLE);
	assert_int_equal(tree.count, 7);
	for (size_t i = 0; i < ELEMENTS(bounds); i++) {
		struct workspace_limits less = exact;
		uint64_t *bound = (uint64_t *)((char *)&less + bounds[i].offset);
		--*bound;
		collect_refused(place, place->fd, &less, bounds[i].reason, NULL);
		without("collect-bounds");
		_cleanup_tree_ struct tree over = { 0 };
		assert_int_equal(collect_into(place, place->fd, NULL, &less, &over, &reason, &path), COLLECTION_WHOLE);
		without(NULL);
	}
}

/* E1's own figures: entries, directories, depth, files. */
static void test_the_figures(void **state)
{
	struct place *place = *state;
	char name[32];
	_cleanup_tree_ struct tree tree = { 0 };

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(mkdirat(place->fd, name, 0755), 0);
	}
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof name, "d%d/%d", i % 2000, i);
		put_file(place->fd, name, 0644, "");
	}
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.count, 12000);

	assert_int_equal(mkdirat(place->fd, "one-more", 0755), 0);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_TOO_MANY_DIRECTORIES, NULL);
	assert_int_equal(unlinkat(place->fd, "one-more", AT_REMOVEDIR), 0);
	put_file(place->fd, "one-more", 0644, "");
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_TOO_MANY_FILES, NULL);
}

/* Links are entries and neither files nor directories: with them alone is the bound on entries reached. */
static void test_the_figure_of_entries(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	char name[32];
	_cleanup_tree_ struct tree subject = { 0 }, tree = { 0 };

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof name, "l%d", i);
		assert_int_equal(symlinkat("t", place->fd, name), 0);
		assert_int_equal(tree_add(&subject, name, TREE_LINK, 0777, 1, "", ""), 0);
	}
	char blob[STORE_ID], sha256[DIGEST_HEX];
	assert_fine(store_write(place->store, "t", 1, blob, &error));
	digest_bytes("t", 1, sha256);
	for (size_t i = 0; i < subject.count; i++) {
		memcpy(subject.entries[i].blob, blob, sizeof blob);
		memcpy(subject.entries[i].sha256, sha256, sizeof sha256);
	}
	assert_fine(tree_sort(&subject, &error));
	collect_whole(place, place->fd, &subject, &tree);
	assert_int_equal(tree.count, 20000);
	assert_int_equal(symlinkat("t", place->fd, "one-more"), 0);

	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;
	_cleanup_tree_ struct tree none = { 0 };
	assert_int_equal(collect_into(place, place->fd, &subject, &WORKSPACE_LIMITS_E1, &none, &reason, &path),
			 COLLECTION_VIOLATION);
	assert_true(reason == REASON_TOO_MANY_ENTRIES || reason == REASON_SYMLINK);
}

/* Makes a chain of directories with descriptors, however long. */
static void deep_chain(int root, int levels)
{
	int at = dup(root);
	for (int i = 0; i < levels; i++) {
		assert_int_equal(mkdirat(at, "deep", 0755), 0);
		int next = openat(at, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
		assert_true(at >= 0);
	}
	close(at);
}

/* As deep as it is: hoists each level to the top. */
static void remove_chain(int root, const char *name)
{
	_cleanup_free_ char *second = scratch_text("%s/%s", name, name);

	while (renameat(root, second, root, "next") == 0) {
		assert_int_equal(unlinkat(root, name, AT_REMOVEDIR), 0);
		assert_int_equal(renameat(root, "next", root, name), 0);
	}
	assert_int_equal(unlinkat(root, name, AT_REMOVEDIR), 0);
}

static void test_depth(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };

	deep_chain(place->fd, 32);
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.count, 32);
	remove_chain(place->fd, "deep");

	deep_chain(place->fd, 1200);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_WORKSPACE_TOO_DEEP, NULL);
	/* without the bound there is still no overflow: the walk gives up */
	without("collect-bounds");
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_true(collect(place->fd, null, &WORKSPACE_LIMITS_E1, NULL, 0) < 0);
	without(NULL);
	remove_chain(place->fd, "deep");
}

static void test_long_names(void **state)
{
	struct place *place = *state;
	char name[256];
	memset(name, 'n', 255);
	name[255] = '\0';
	int at = dup(place->fd);
	/* 255 * 16 + 15 slashes = 4095, and one byte more below it is 4097 */
	for (int i = 0; i < 16; i++) {
		assert_int_equal(mkdirat(at, name, 0755), 0);
		int next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	_cleanup_tree_ struct tree tree = { 0 };
	collect_whole(place, place->fd, NULL, &tree);
	put_file(at, "x", 0644, "");
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_PATH_TOO_LONG, NULL);
	assert_int_equal(unlinkat(at, "x", 0), 0);
	close(at);
	remove_chain(place->fd, name);
}

/* E2: refused in a small part of the time that it took to build; that nothing more is done is in test_workspace_hostile.c. */
static void test_first_proof(void **state)
{
	struct place *place = *state;
	struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	char name[32];

	limits.directories = 100;
	int64_t start = clock_mono_ns();
	for (int i = 0; i < 4000; i++) {
		snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(mkdirat(place->fd, name, 0755), 0);
	}
	int64_t built = clock_mono_ns() - start;
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	start = clock_mono_ns();
	assert_int_equal(collect(place->fd, null, &limits, NULL, 0), 0);
	int64_t refused = clock_mono_ns() - start;
	print_message("          4,000 directories built in %lld us, refused in %lld us (1/%lld)\n", (long long)built / 1000,
		      (long long)refused / 1000, (long long)(built / (refused ? refused : 1)));
	collect_refused(place, place->fd, &limits, REASON_TOO_MANY_DIRECTORIES, NULL);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_TOO_MANY_DIRECTORIES, NULL);
}

static void make_socket(struct place *place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/w/odd", place->path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
}

static void make_fifo(struct place *place)
{
	assert_int_equal(mkfifoat(place->fd, "odd", 0644), 0);
}

static void make_closed_fifo(struct place *place)
{
	assert_int_equal(mkfifoat(place->fd, "odd", 0), 0);
}

static void make_device(struct place *place)
{
	if (mknodat(place->fd, "odd", S_IFCHR | 0666, makedev(1, 3)) < 0)
		skip_test("no right to make a device node: %s", strerror(errno));
}

static void make_whiteout(struct place *place)
{
	if (mknodat(place->fd, "odd", S_IFCHR | 0666, makedev(0, 0)) < 0)
		skip_test("no right to make a whiteout: %s", strerror(errno));
}

static void irregular(struct place *place, void (*make)(struct place *))
{
	_cleanup_tree_ struct tree tree = { 0 };
	enum workspace_reason reason;
	_cleanup_free_ char *path = NULL;

	make(place);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_IRREGULAR_FILE, "odd");
	if (make == make_closed_fifo && geteuid() != 0)
		return;		/* with the check out it would be refused as unreadable */
	without("type-check");
	enum collection_outcome outcome = collect_into(place, place->fd, NULL, &WORKSPACE_LIMITS_E1, &tree, &reason, &path);
	without(NULL);
	assert_int_equal(outcome, COLLECTION_WHOLE);	/* the probe: it is the check alone that refuses */
}

static void test_fifo(void **state) { irregular(*state, make_fifo); }
static void test_closed_fifo(void **state) { irregular(*state, make_closed_fifo); }
static void test_socket(void **state) { irregular(*state, make_socket); }
static void test_device(void **state) { irregular(*state, make_device); }
static void test_whiteout(void **state) { irregular(*state, make_whiteout); }

/* E4: reaching a FIFO costs nothing; without O_NONBLOCK the collector would wait for a writer for ever. */
static void test_fifo_does_not_block(void **state)
{
	struct place *place = *state;
	int status;

	make_fifo(place);
	without("non-block");
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		alarm(1);
		_exit(collect(place->fd, null, &WORKSPACE_LIMITS_E1, NULL, 0) == 0 ? 0 : 1);
	}
	without(NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_IRREGULAR_FILE, "odd");
}

static void test_link_leads_nowhere(void **state)
{
	struct place *place = *state;
	_cleanup_free_ char *canary = scratch_text("%s/canary", place->path);
	_cleanup_tree_ struct tree tree = { 0 };
	enum workspace_reason reason;
	_cleanup_free_ char *path = NULL;

	assert_int_equal(scratch_write(canary, 0644, "outside"), 0);
	assert_int_equal(symlinkat("../canary", place->fd, "ln"), 0);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_SYMLINK, "ln");

	/* The probe: followed, the bytes from outside would be taken for the workspace's. */
	without("no-follow");
	assert_int_equal(collect_into(place, place->fd, NULL, &WORKSPACE_LIMITS_E1, &tree, &reason, &path), COLLECTION_WHOLE);
	without(NULL);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.entries[0].type, TREE_FILE);
	assert_int_equal(tree.entries[0].size, 7);
}

/* A directory of the subject that became a link to one outside. */
static void test_directory_swapped_for_a_link(void **state)
{
	struct place *place = *state;
	_cleanup_free_ char *outside = scratch_text("%s/outside/canary", place->path);

	assert_int_equal(scratch_write(outside, 0644, "outside"), 0);
	assert_int_equal(symlinkat("../outside", place->fd, "dir"), 0);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_SYMLINK, "dir");
}

static void test_links_of_the_subject(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree subject = { 0 }, tree = { 0 };

	add_link(place, &subject, "kept", "target");
	add_link(place, &subject, "changed", "target");
	add_file(place, &subject, "file", 0644, "target");
	assert_fine(tree_sort(&subject, &error));
	assert_int_equal(symlinkat("target", place->fd, "kept"), 0);
	collect_whole(place, place->fd, &subject, &tree);
	assert_int_equal(tree.count, 1);
	assert_string_equal(tree.entries[0].blob, tree_find(&subject, "kept")->blob);

	static const char *const others[] = { "changed", "file" };
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		_cleanup_tree_ struct tree none = { 0 };
		enum workspace_reason reason = REASON_NONE;
		_cleanup_free_ char *path = NULL;
		assert_int_equal(symlinkat(i == 0 ? "elsewhere" : "target", place->fd, others[i]), 0);
		assert_int_equal(collect_into(place, place->fd, &subject, &WORKSPACE_LIMITS_E1, &none, &reason, &path),
				 COLLECTION_VIOLATION);
		assert_int_equal(reason, REASON_SYMLINK);
		assert_string_equal(path, others[i]);
		assert_int_equal(unlinkat(place->fd, others[i], 0), 0);
	}
}

static void test_sparse(void **state)
{
	struct place *place = *state;
	_cleanup_close_ int fd = openat(place->fd, "huge", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	_cleanup_tree_ struct tree tree = { 0 };

	if (ftruncate(fd, INT64_C(1) << 40) < 0)
		assert_int_equal(ftruncate(fd, INT64_C(1) << 42 >> 3), 0);
	int64_t start = clock_mono_ns();
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_WORKSPACE_FILE_TOO_LARGE, "huge");
	assert_true(clock_mono_ns() - start < NS_PER_S);
	/* E1's figure for one file, at its edge */
	assert_int_equal(ftruncate(fd, 67108864), 0);
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.entries[0].size, 67108864);
	assert_int_equal(ftruncate(fd, 67108865), 0);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_WORKSPACE_FILE_TOO_LARGE, "huge");
}

static void test_all_bytes(void **state)
{
	struct place *place = *state;
	char name[8];
	_cleanup_tree_ struct tree tree = { 0 };

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "%d", i);
		_cleanup_close_ int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(ftruncate(fd, 67108864), 0);
	}
	collect_whole(place, place->fd, NULL, &tree);
	put_file(place->fd, "x", 0644, "1");
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_WORKSPACE_TOO_LARGE, NULL);
}

/* A link of its own each, and each counts. */
static void test_hard_links(void **state)
{
	struct place *place = *state;
	struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	char name[16];
	_cleanup_tree_ struct tree tree = { 0 };

	put_file(place->fd, "0", 0644, "1234567890");
	for (int i = 1; i < 50; i++) {
		snprintf(name, sizeof name, "%d", i);
		assert_int_equal(linkat(place->fd, "0", place->fd, name, 0), 0);
	}
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.count, 50);
	limits.bytes = 499;
	collect_refused(place, place->fd, &limits, REASON_WORKSPACE_TOO_LARGE, NULL);
	limits = WORKSPACE_LIMITS_E1;
	limits.entries = 49;
	collect_refused(place, place->fd, &limits, REASON_TOO_MANY_ENTRIES, NULL);
}

/* What our ids may not read is refused by name; as root (the collector's capability) it is read. */
static void unreadable(struct place *place)
{
	int fds[2], status;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		if (geteuid() == 0 && (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
			_exit(2);
		_exit(collect(place->fd, fds[1], &WORKSPACE_LIMITS_E1, NULL, 0) == 0 ? 0 : 1);
	}
	close(fds[1]);
	assert_int_equal(io_read_all(fds[0], &bytes, 1 << 20), 0);
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	_cleanup_tree_ struct tree tree = { 0 };
	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;
	assert_int_equal(decode(place, NULL, &WORKSPACE_LIMITS_E1, bytes.data, bytes.length, 0, &tree, &reason, &path),
			 COLLECTION_VIOLATION);
	assert_int_equal(reason, REASON_UNREADABLE_ENTRY);
	assert_string_equal(path, "shut");
}

static void test_unreadable_file(void **state)
{
	struct place *place = *state;
	put_file(place->fd, "shut", 0, "x");
	unreadable(place);
	if (geteuid() == 0) {
		_cleanup_tree_ struct tree tree = { 0 };
		collect_whole(place, place->fd, NULL, &tree);
		assert_int_equal(tree.entries[0].mode, 0);
	}
}

static void test_unreadable_directory(void **state)
{
	struct place *place = *state;
	assert_int_equal(mkdirat(place->fd, "shut", 0), 0);
	unreadable(place);
	assert_int_equal(fchmodat(place->fd, "shut", 0700, 0), 0);
}

static void test_scratch_and_git(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	const char *const scratch[] = { ".venv/**", "*/node_modules", "*.pyc" };
	_cleanup_close_ int fd = memory_file();
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;

	assert_int_equal(mkdirat(place->fd, ".venv", 0755), 0);
	assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
	assert_int_equal(mkfifoat(place->fd, ".git/config", 0644), 0);
	assert_int_equal(mkfifoat(place->fd, ".venv/fifo", 0644), 0);
	assert_int_equal(symlinkat("/usr/bin/python3", place->fd, ".venv/python"), 0);
	assert_int_equal(mkdirat(place->fd, "web", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "web/node_modules", 0755), 0);
	assert_int_equal(symlinkat("..", place->fd, "web/node_modules/up"), 0);
	assert_int_equal(mkdirat(place->fd, "web/.git", 0755), 0);
	put_file(place->fd, "web/a.pyc", 0644, "x");
	put_file(place->fd, "web/a.py", 0644, "x");

	assert_int_equal(collect(place->fd, fd, &WORKSPACE_LIMITS_E1, scratch, ELEMENTS(scratch)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(io_read_all(fd, &bytes, 1 << 20), 0);
	_cleanup_tree_ struct tree tree = { 0 }, want = { 0 };
	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;
	assert_int_equal(decode(place, NULL, &WORKSPACE_LIMITS_E1, bytes.data, bytes.length, 0, &tree, &reason, &path),
			 COLLECTION_WHOLE);
	add_directory(&want, ".venv", 0755);
	add_directory(&want, "web", 0755);
	add_directory(&want, "web/.git", 0755);
	add_file(place, &want, "web/a.py", 0644, "x");
	assert_fine(tree_sort(&want, &error));
	assert_trees_equal(&tree, &want);
	/* `.git` at the top is no part of it, of whatever type it is */
	assert_int_equal(unlinkat(place->fd, ".git/config", 0), 0);
	assert_int_equal(unlinkat(place->fd, ".git", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("/", place->fd, ".git"), 0);
	_cleanup_close_ int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(collect(place->fd, null, &WORKSPACE_LIMITS_E1, scratch, ELEMENTS(scratch)), 0);
}

/* A file that grows or shrinks while it is read: then K4 does not hold, and the stream must not look whole. */
static void test_length_is_fixed(void **state)
{
	struct place *place = *state;
	char room[64];

	put_file(place->fd, "f", 0644, "12345");
	for (int said = 4; said <= 6; said++) {
		_cleanup_close_ int fd = openat(place->fd, "f", O_RDONLY | O_CLOEXEC);
		struct collect_content content = { .fd = fd, .left = (uint64_t)said };
		ssize_t n = collect_read(&content, room, sizeof room);
		if (n > 0 && !content.ended)
			n = collect_read(&content, room, sizeof room);
		assert_int_equal(n, said == 5 ? 5 : -EIO);
	}
	/* byte by byte, so that the end needs a call of its own */
	_cleanup_close_ int fd = openat(place->fd, "f", O_RDONLY | O_CLOEXEC);
	struct collect_content content = { .fd = fd, .left = 5 };
	for (int i = 0; i < 5; i++)
		assert_int_equal(collect_read(&content, room, 1), 1);
	assert_false(content.ended);
	assert_int_equal(collect_read(&content, room, 1), 0);
	assert_true(content.ended);
}

static void test_writer_that_is_gone(void **state)
{
	struct place *place = *state;
	int fds[2];

	put_file(place->fd, "f", 0644, "12345");
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(collect(place->fd, fds[1], &WORKSPACE_LIMITS_E1, NULL, 0), -EPIPE);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_each_bound_at_its_edge), place_test(test_the_figures), place_test(test_the_figure_of_entries),
		place_test(test_depth), place_test(test_long_names), place_test(test_first_proof), place_test(test_fifo),
		place_test(test_closed_fifo), place_test(test_socket), place_test(test_device), place_test(test_whiteout),
		place_test(test_fifo_does_not_block), place_test(test_link_leads_nowhere),
		place_test(test_directory_swapped_for_a_link), place_test(test_links_of_the_subject), place_test(test_sparse),
		place_test(test_all_bytes), place_test(test_hard_links), place_test(test_unreadable_file),
		place_test(test_unreadable_directory), place_test(test_scratch_and_git), place_test(test_length_is_fixed),
		place_test(test_writer_that_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
