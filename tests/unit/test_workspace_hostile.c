/*
 * The collector over more of what a candidate may leave: listings without end, names of any bytes, what is passed over
 * unread, modes and attributes, files that change under it. The bounds and types are in test_workspace_collect.c.
 */
#include "tests/unit/test_workspace.h"

#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "tests/support/skip.h"

/* --- how far a walk goes ------------------------------------------------------------------------------ */

/* What the walk let pass, and what it refused. */
struct visits {
	uint64_t directories, files, links;
	enum workspace_reason reason;
	int fd;				/* of the directory that on_file changes; -1: nothing is changed */
	off_t change_to;
};

static int on_directory(void *context, const struct collect_entry *entry)
{
	(void)entry;
	((struct visits *)context)->directories++;
	return 0;
}

static int on_file(void *context, const struct collect_entry *entry)
{
	struct visits *visits = context;
	struct collect_content content = { .fd = entry->fd, .left = entry->size };
	char room[4096];
	ssize_t n;

	visits->files++;
	if (visits->fd >= 0) {
		_cleanup_close_ int fd = openat(visits->fd, entry->path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(ftruncate(fd, visits->change_to), 0);
	}
	while ((n = collect_read(&content, room, sizeof room)) > 0)
		if (content.ended)
			return 0;
	return (int)n;
}

static int on_link(void *context, const struct collect_entry *entry)
{
	(void)entry;
	((struct visits *)context)->links++;
	return 0;
}

static int on_refusal(void *context, enum workspace_reason reason, const char *path, size_t path_length)
{
	(void)path;
	(void)path_length;
	((struct visits *)context)->reason = reason;
	return 0;
}

/* Walks with the bounds given; `ret_account` is what was charged. */
static int visit_all(int root, const struct workspace_limits *limits, const char *const *scratch, size_t scratch_count,
		     struct visits *visits, struct workspace_account *ret_account)
{
	static const struct collect_sink sink = {
		.directory = on_directory, .file = on_file, .link = on_link, .refusal = on_refusal,
	};
	_cleanup_free_ struct collect_walk *walk = malloc(sizeof *walk);
	assert_non_null(walk);
	visits->reason = REASON_NONE;
	int r = collect_walk(walk, root, limits, scratch, scratch_count, &sink, visits);
	*ret_account = walk->account;
	return r;
}

/* E2: 4,000 directories under a bound of 100. The work counts, not the time: none beyond the bound was as much as opened. */
static void test_first_proof_is_enough(void **state)
{
	struct place *place = *state;
	struct workspace_limits limits = WORKSPACE_LIMITS_E1;
	struct workspace_account account;
	struct visits visits = { .fd = -1 };
	char name[16];

	limits.directories = 100;
	for (int i = 0; i < 4000; i++) {
		snprintf(name, sizeof name, "%d", i);
		assert_int_equal(mkdirat(place->fd, name, 0755), 0);
	}
	assert_int_equal(visit_all(place->fd, &limits, NULL, 0, &visits, &account), 0);
	assert_int_equal(visits.reason, REASON_TOO_MANY_DIRECTORIES);
	assert_true(visits.directories <= 100 && account.entries <= 101);

	setenv("PROCTOR_WITHOUT", "collect-bounds", 1);
	assert_int_equal(visit_all(place->fd, &limits, NULL, 0, &visits, &account), 0);
	unsetenv("PROCTOR_WITHOUT");
	assert_int_equal(account.entries, 4000);
}

/* A listing far beyond the bounds, of hard links, which cost nearly nothing to make. */
static void wide_listing(struct place *place, const char *directory, int count)
{
	char name[32];
	put_file(place->fd, "one", 0644, "x");
	assert_int_equal(mkdirat(place->fd, directory, 0755), 0);
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof name, "%s/%d", directory, i);
		if (linkat(place->fd, "one", place->fd, name, 0) < 0)
			skip_test("no %d links on this file system: %s", count, strerror(errno));
	}
}

static void test_a_listing_without_end(void **state)
{
	struct place *place = *state;
	struct workspace_account account;
	struct visits visits = { .fd = -1 };

	wide_listing(place, "d", 40000);
	assert_int_equal(visit_all(place->fd, &WORKSPACE_LIMITS_E1, NULL, 0, &visits, &account), 0);
	assert_int_equal(visits.reason, REASON_TOO_MANY_FILES);
	assert_true(visits.files <= 10000 && account.entries <= 10100);
}

/* Scratch counts for nothing, however much it is, and nothing of it is opened. */
static void test_a_listing_of_scratch(void **state)
{
	struct place *place = *state;
	static const char *const scratch[] = { "d/**" };
	struct workspace_account account;
	struct visits visits = { .fd = -1 };

	wide_listing(place, "d", 40000);
	assert_int_equal(visit_all(place->fd, &WORKSPACE_LIMITS_E1, scratch, 1, &visits, &account), 0);
	assert_int_equal(visits.reason, REASON_NONE);
	assert_int_equal(account.entries, 2);
	assert_int_equal(visits.files, 1);
}

/* --- names -------------------------------------------------------------------------------------------- */

static void test_names_of_any_bytes(void **state)
{
	struct place *place = *state;
	char longest[256] = { 0 };
	memset(longest, 0xff, 255);
	const char *const names[] = {
		"nl\nx", "\n", "\x1b[2J\x1b]0;x\a", "\xff\xfe", "-rf", " ", ".git ", ".GIT", ".gitignore", "...", "a\\..\\b",
		"*", "[", "\xc3\xa9", "e\xcc\x81", ".git\xe2\x80\x8c", "\xe2\x80\xae" "fdp.exe", "\x01\x7f", "resource-limit.v1:x",
		longest,
	};
	_cleanup_tree_ struct tree tree = { 0 };

	for (size_t i = 0; i < ELEMENTS(names); i++)
		put_file(place->fd, names[i], 0644, names[i]);
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.count, ELEMENTS(names));
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		const struct tree_entry *entry = tree_find(&tree, names[i]);
		assert_non_null(entry);
		assert_int_equal(entry->size, strlen(names[i]));
	}
}

/* --- what is passed over ------------------------------------------------------------------------------ */

/* Whether anything of that name was opened or read while `directory` was collected, by the kernel's word. */
static void assert_never_opened(struct place *place, const char *directory, const char *const *scratch, size_t scratch_count,
				const char *name)
{
	_Alignas(struct inotify_event) char events[16384];
	_cleanup_free_ char *path = scratch_text("%s/w/%s", place->path, directory);
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct workspace_account account;
	struct visits visits = { .fd = -1 };
	bool others = false;

	assert_true(inotify_add_watch(watch, path, IN_OPEN | IN_ACCESS) >= 0);
	assert_int_equal(visit_all(place->fd, &WORKSPACE_LIMITS_E1, scratch, scratch_count, &visits, &account), 0);
	assert_int_equal(visits.reason, REASON_NONE);
	ssize_t n = read(watch, events, sizeof events);
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const void *)(events + at);
		if (event->len > 0 && strcmp(event->name, name) == 0)
			fail_msg("%s was opened", name);
		others = true;
		at += (ssize_t)(sizeof *event + event->len);
	}
	assert_true(others);	/* the watch works: something beside it was */
}

static void make_git_directory(struct place *place)
{
	static const char *const files[] = { "config", "HEAD", "index", "commondir", "gitdir" };
	assert_int_equal(mkdirat(place->fd, ".git", 0755), 0);
	int git = openat(place->fd, ".git", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ELEMENTS(files); i++)
		put_file(git, files[i], 0644, "[core]\n\tfsmonitor = touch /tmp/x\n[include]\n\tpath = fifo\n");
	assert_int_equal(mkfifoat(git, "fifo", 0644), 0);
	assert_int_equal(mkdirat(git, "objects", 0755), 0);
	assert_int_equal(mkdirat(git, "objects/info", 0755), 0);
	put_file(git, "objects/info/alternates", 0644, "/\n");
	assert_int_equal(symlinkat("/", git, "hooks"), 0);
	close(git);
}

static void make_closed_git_directory(struct place *place)
{
	assert_int_equal(mkdirat(place->fd, ".git", 0), 0);
}

static void make_git_file(struct place *place)
{
	put_file(place->fd, ".git", 0644, "gitdir: /\n");
}

static void make_git_link(struct place *place)
{
	assert_int_equal(symlinkat("/", place->fd, ".git"), 0);
}

static void make_git_fifo(struct place *place)
{
	assert_int_equal(mkfifoat(place->fd, ".git", 0644), 0);
}

static void make_git_socket(struct place *place)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/w/.git", place->path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
}

static void passed_over(struct place *place, void (*make)(struct place *))
{
	put_file(place->fd, "file", 0644, "x");
	make(place);
	assert_never_opened(place, "", NULL, 0, ".git");
	_cleanup_tree_ struct tree tree = { 0 };
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.count, 1);
	assert_string_equal(tree.entries[0].path, "file");
}

static void test_git_directory(void **state) { passed_over(*state, make_git_directory); }
static void test_closed_git_directory(void **state) { passed_over(*state, make_closed_git_directory); }
static void test_git_file(void **state) { passed_over(*state, make_git_file); }
static void test_git_link(void **state) { passed_over(*state, make_git_link); }
static void test_git_fifo(void **state) { passed_over(*state, make_git_fifo); }
static void test_git_socket(void **state) { passed_over(*state, make_git_socket); }

/* Below the top it is a directory like any other, with its laws; so is a bare repository under other names. */
static void test_nested_repositories(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };
	static const char *const directories[] = { "sub", "sub/.git", "bare", "bare/objects", "bare/refs" };

	for (size_t i = 0; i < ELEMENTS(directories); i++)
		assert_int_equal(mkdirat(place->fd, directories[i], 0755), 0);
	put_file(place->fd, "sub/.git/config", 0644, "[core]\n\tfsmonitor = x\n");
	put_file(place->fd, "bare/HEAD", 0644, "ref: refs/heads/main\n");
	collect_whole(place, place->fd, NULL, &tree);
	assert_int_equal(tree.count, 7);
	assert_int_equal(symlinkat("/", place->fd, "sub/.git/hooks"), 0);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_SYMLINK, "sub/.git/hooks");
	assert_int_equal(unlinkat(place->fd, "sub/.git/hooks", 0), 0);
	assert_int_equal(mkfifoat(place->fd, "sub/.git/index", 0644), 0);
	collect_refused(place, place->fd, &WORKSPACE_LIMITS_E1, REASON_IRREGULAR_FILE, "sub/.git/index");
}

/* Whatever stands in scratch: a FIFO, a link out, 1,200 levels, a directory that is shut. */
static void test_scratch_is_not_read(void **state)
{
	struct place *place = *state;
	static const char *const scratch[] = { "s/*" };

	put_file(place->fd, "file", 0644, "x");
	assert_int_equal(mkdirat(place->fd, "s", 0755), 0);
	assert_int_equal(mkfifoat(place->fd, "s/fifo", 0644), 0);
	assert_int_equal(symlinkat("/", place->fd, "s/out"), 0);
	assert_int_equal(mkdirat(place->fd, "s/shut", 0), 0);
	assert_int_equal(mkdirat(place->fd, "s/deep", 0755), 0);
	int at = openat(place->fd, "s/deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 1200; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
	static const char *const names[] = { "fifo", "out", "shut", "deep" };
	for (size_t i = 0; i < ELEMENTS(names); i++)
		assert_never_opened(place, "s", scratch, 1, names[i]);
	/* The glob is of what is below: the directory itself as a link is a link. */
	assert_int_equal(renameat(place->fd, "s", place->fd, "t"), 0);
	assert_int_equal(symlinkat("t", place->fd, "s"), 0);
	struct workspace_account account;
	struct visits visits = { .fd = -1 };
	static const char *const both[] = { "s/*", "t", "t/*" };
	assert_int_equal(visit_all(place->fd, &WORKSPACE_LIMITS_E1, both, 3, &visits, &account), 0);
	assert_int_equal(visits.links, 1);
	/* as deep as it is: the levels are hoisted one by one */
	while (renameat(place->fd, "t/deep/d", place->fd, "next") == 0) {
		assert_int_equal(unlinkat(place->fd, "t/deep", AT_REMOVEDIR), 0);
		assert_int_equal(renameat(place->fd, "next", place->fd, "t/deep"), 0);
	}
}

/* A file system that is mounted in scratch is not entered either. */
static void test_mount_in_scratch(void **state)
{
	struct place *place = *state;
	static const char *const scratch[] = { "s/**" };
	_cleanup_free_ char *mountpoint = scratch_text("%s/w/s/m", place->path);
	struct workspace_account account;
	struct visits visits = { .fd = -1 };
	int status;

	assert_int_equal(mkdirat(place->fd, "s", 0755), 0);
	assert_int_equal(mkdirat(place->fd, "s/m", 0755), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("tmpfs", mountpoint, "tmpfs", 0, NULL) < 0)
			_exit(77);
		if (mkfifoat(place->fd, "s/m/fifo", 0644) < 0)
			_exit(1);
		int r = visit_all(place->fd, &WORKSPACE_LIMITS_E1, scratch, 1, &visits, &account);
		_exit(r == 0 && visits.reason == REASON_NONE && account.entries == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_test("no right to mount");
	assert_int_equal(status, 0);
}

/* --- links of the subject ------------------------------------------------------------------------------ */

static void test_links_removed_and_replaced(void **state)
{
	struct place *place = *state;
	struct pr_error error;
	_cleanup_tree_ struct tree subject = { 0 }, tree = { 0 };

	add_link(place, &subject, "gone", "target");
	add_link(place, &subject, "to-file", "target");
	add_link(place, &subject, "to-directory", "target");
	add_link(place, &subject, "kept", "target");
	assert_fine(tree_sort(&subject, &error));
	put_file(place->fd, "to-file", 0644, "x");
	assert_int_equal(mkdirat(place->fd, "to-directory", 0755), 0);
	assert_int_equal(symlinkat("target", place->fd, "kept"), 0);
	collect_whole(place, place->fd, &subject, &tree);
	assert_int_equal(tree.count, 3);
	assert_null(tree_find(&tree, "gone"));
	assert_int_equal(tree_find(&tree, "to-file")->type, TREE_FILE);
	assert_int_equal(tree_find(&tree, "to-directory")->type, TREE_DIRECTORY);

	/* the same target at another path is a new link */
	assert_int_equal(symlinkat("target", place->fd, "to-directory/gone"), 0);
	_cleanup_tree_ struct tree none = { 0 };
	enum workspace_reason reason = REASON_NONE;
	_cleanup_free_ char *path = NULL;
	assert_int_equal(collect_into(place, place->fd, &subject, &WORKSPACE_LIMITS_E1, &none, &reason, &path),
			 COLLECTION_VIOLATION);
	assert_int_equal(reason, REASON_SYMLINK);
	assert_string_equal(path, "to-directory/gone");
}

/* --- modes and attributes ------------------------------------------------------------------------------ */

static void test_modes_are_evidence(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree tree = { 0 };
	static const struct { const char *name; mode_t mode; } files[] = {
		{ "set-uid", 04755 }, { "set-gid", 02755 }, { "sticky", 01644 }, { "all", 07777 }, { "read-only", 0400 },
	};

	for (size_t i = 0; i < ELEMENTS(files); i++)
		put_file(place->fd, files[i].name, files[i].mode, "x");
	assert_int_equal(mkdirat(place->fd, "d", 0700), 0);
	assert_int_equal(fchmodat(place->fd, "d", 03775, 0), 0);
	collect_whole(place, place->fd, NULL, &tree);
	for (size_t i = 0; i < ELEMENTS(files); i++)
		assert_int_equal(tree_find(&tree, files[i].name)->mode, files[i].mode);
	assert_int_equal(tree_find(&tree, "d")->mode, 03775);
}

/* Extended attributes and access lists are no part of what a tree is. */
static void test_attributes_are_ignored(void **state)
{
	struct place *place = *state;
	_cleanup_tree_ struct tree before = { 0 }, after = { 0 };
	/* posix_acl_xattr: version 2; owner rw-, user 12345 r--, group r--, mask r--, other r-- */
	static const struct { uint32_t version; struct { uint16_t tag, bits; uint32_t id; } entries[5]; } list = {
		2, { { 1, 6, ~0u }, { 2, 4, 12345 }, { 4, 4, ~0u }, { 0x10, 4, ~0u }, { 0x20, 4, ~0u } },
	};

	put_file(place->fd, "f", 0644, "x");
	collect_whole(place, place->fd, NULL, &before);
	_cleanup_close_ int fd = openat(place->fd, "f", O_RDWR | O_CLOEXEC);
	bool set = fsetxattr(fd, "user.note", "n", 1, 0) == 0;
	set |= fsetxattr(fd, "system.posix_acl_access", &list, sizeof list, 0) == 0;
	if (!set)
		skip_test("no extended attributes on this file system: %s", strerror(errno));
	collect_whole(place, place->fd, NULL, &after);
	assert_trees_equal(&after, &before);
}

/* --- files that change --------------------------------------------------------------------------------- */

static void test_a_file_that_changes_under_the_walk(void **state)
{
	struct place *place = *state;
	static const off_t sizes[] = { 4, 6, 0, 1 << 20 };

	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		struct workspace_account account;
		struct visits visits = { .fd = place->fd, .change_to = sizes[i] };
		put_file(place->fd, "f", 0644, "12345");
		assert_int_equal(visit_all(place->fd, &WORKSPACE_LIMITS_E1, NULL, 0, &visits, &account), -EIO);
		assert_int_equal(visits.files, 1);
		assert_int_equal(unlinkat(place->fd, "f", 0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(test_first_proof_is_enough), place_test(test_a_listing_without_end),
		place_test(test_a_listing_of_scratch), place_test(test_names_of_any_bytes), place_test(test_git_directory),
		place_test(test_closed_git_directory), place_test(test_git_file), place_test(test_git_link),
		place_test(test_git_fifo), place_test(test_git_socket), place_test(test_nested_repositories),
		place_test(test_scratch_is_not_read), place_test(test_mount_in_scratch),
		place_test(test_links_removed_and_replaced), place_test(test_modes_are_evidence),
		place_test(test_attributes_are_ignored), place_test(test_a_file_that_changes_under_the_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
