/* Where root's user ids come from: clear of what /etc/subuid and /etc/subgid give away, or refused; and no pair twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/containment/idrange.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define FIRST 1900000000u	/* above 524288 to 1879048191, which systemd hands out */
#define COUNT 65536u

/* Shows this text as /etc/subuid, to this process alone. */
static void show_subuid(const char *text)
{
	_cleanup_free_ char *directory = scratch_directory("ids"), *file = scratch_text("%s/subuid", directory);
	assert_int_equal(scratch_write(file, 0644, text), 0);
	if (mount(file, "/etc/subuid", NULL, MS_BIND, NULL) < 0)
		skip_test("/etc/subuid cannot be shown otherwise: %s", strerror(errno));
	scratch_remove(directory);
}

static void hide_subuid(void)
{
	umount2("/etc/subuid", MNT_DETACH);
}

static void assert_base(const char *subuid, uid_t wanted)
{
	struct id_range range;
	struct pr_error error = { 0 };
	show_subuid(subuid);
	int r = id_range_open(&range, 0, &error);
	hide_subuid();
	if (r < 0 || range.base != wanted)
		fail_msg("%d, base %u, wanted %u: %s", r, r < 0 ? 0 : range.base, wanted, error.message);
	id_range_close(&range);
}

static void test_clear_of_others(void **state)
{
	(void)state;
	assert_base("", FIRST);
	assert_base("alice:100000:65536\nbob:1879048192:100\n", FIRST);
	assert_base("alice:1900000000:1\n", FIRST + COUNT);
	assert_base("alice:1800000000:100000001\n", FIRST + COUNT);
	assert_base("alice:1900000000:131072\nbob:1900131072:65536", FIRST + 3 * COUNT);
	/* What is no range takes nothing away. */
	assert_base("\n:::\nalice:x:y\nalice\n", FIRST);
}

static void test_all_given_away(void **state)
{
	(void)state;
	struct id_range range;
	struct pr_error error = { 0 };
	show_subuid("alice:1900000000:2000000000\n");
	int r = id_range_open(&range, 0, &error);
	hide_subuid();
	assert_int_equal(r, -EADDRINUSE);
	assert_non_null(strstr(error.message, "no boundary: "));
	assert_true(error.remedy[0] != '\0');
}

static int map_ids(pid_t pid, const char *file)
{
	_cleanup_free_ char *path = scratch_text("/proc/%d/%s", pid, file);
	return io_write_file(AT_FDCWD, path, "0 0 65536");
}

static _Noreturn void be_root_of_a_container(int born, int mapped)
{
	struct id_range range;
	struct pr_error error = { 0 };
	char byte = 'b';
	if (unshare(CLONE_NEWUSER) < 0 || write(born, &byte, 1) != 1 || read(mapped, &byte, 1) != 1)
		_exit(77);
	int r = id_range_open(&range, 0, &error);
	_exit(r == -EPERM && strstr(error.message, "this user namespace has no user ids") && error.remedy[0] ? 0 : 1);
}

/* It has 65,536 ids. */
static void test_ids_that_are_not_mapped(void **state)
{
	(void)state;
	int born[2], mapped[2], status;
	char byte;
	assert_true(pipe2(born, O_CLOEXEC) == 0 && pipe2(mapped, O_CLOEXEC) == 0);
	pid_t pid = fork();
	if (pid == 0)
		be_root_of_a_container(born[1], mapped[0]);
	close(born[1]);
	bool there = read(born[0], &byte, 1) == 1 && map_ids(pid, "uid_map") == 0 && map_ids(pid, "gid_map") == 0;
	if (there)
		assert_int_equal(write(mapped[1], "m", 1), 1);
	close(mapped[1]);
	close(mapped[0]);
	close(born[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!there)
		skip_test("no user namespace can be made here");
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* As two workers have it: each with the file open for itself. */
static void test_no_pair_twice(void **state)
{
	(void)state;
	enum { PAIRS = 20 };
	struct id_range ranges[2];
	uid_t bases[2][PAIRS], again;
	struct pr_error error = { 0 };
	for (size_t w = 0; w < 2; w++)
		assert_int_equal(id_range_open(&ranges[w], 0, &error), 0);
	for (size_t i = 0; i < PAIRS; i++)
		for (size_t w = 0; w < 2; w++)
			assert_int_equal(id_range_take(&ranges[w], &bases[w][i], &error), 0);
	for (size_t i = 0; i < PAIRS; i++)
		for (size_t k = 0; k < PAIRS; k++)
			assert_true(bases[0][i] != bases[1][k] && bases[0][i] + 1 != bases[1][k]);
	id_range_close(&ranges[1]);
	/* What a worker that died held is free again. */
	ranges[0].next = (bases[1][0] - ranges[0].base) / 2;
	assert_int_equal(id_range_take(&ranges[0], &again, &error), 0);
	assert_int_equal(again, bases[1][0]);
	id_range_close(&ranges[0]);
}

int main(void)
{
	if (geteuid() != 0)
		skip_program("these are root's ids");
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip_program("no mount namespace: %s", strerror(errno));
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear_of_others), cmocka_unit_test(test_all_given_away),
		cmocka_unit_test(test_ids_that_are_not_mapped), cmocka_unit_test(test_no_pair_twice),
	};
	return cmocka_run_group_tests_name("ids", tests, NULL, NULL);
}
