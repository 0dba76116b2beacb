/* A round's directory: nothing half-made is left, one core at a time, the newest run by its bare name. */
#include <errno.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/cleanup.h"
#include "core/round/directory.h"

static char top[] = "/tmp/round-directory.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	return setenv("XDG_STATE_HOME", top, 1);
}

static int tear_down(void **state)
{
	(void)state;
	directory_remove(top);
	return 0;
}

static size_t count_rounds(void)
{
	char path[256];
	size_t count = 0;
	snprintf(path, sizeof path, "%s/proctor/rounds", top);
	_cleanup_closedir_ DIR *directory = opendir(path);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	return count;
}

static void discarded_leaves_nothing(void **state)
{
	struct round_directory directory = ROUND_DIRECTORY_NONE;
	(void)state;
	assert_int_equal(directory_make("gone", &directory, NULL), 0);
	assert_int_equal(count_rounds(), 1);
	directory_discard(&directory);
	assert_int_equal(count_rounds(), 0);
}

static void names_are_distinct_and_found_again(void **state)
{
	struct round_directory one = ROUND_DIRECTORY_NONE, two = ROUND_DIRECTORY_NONE, found = ROUND_DIRECTORY_NONE;
	char name[DIRECTORY_NAME];
	(void)state;
	assert_int_equal(directory_make("same", &one, NULL), 0);
	assert_int_equal(directory_publish("same", &one, NULL), 0);
	assert_int_equal(directory_make("same", &two, NULL), 0);
	assert_int_equal(directory_publish("same", &two, NULL), 0);
	assert_string_not_equal(one.name, two.name);
	/* Live: another core may not take it. */
	assert_int_equal(directory_open("same", &found, NULL), -EBUSY);
	snprintf(name, sizeof name, "%s", two.name);
	directory_release(&two);
	assert_int_equal(directory_open("same", &found, NULL), 0);
	assert_string_equal(found.name, name);
	directory_release(&found);
	assert_int_equal(directory_open(one.path, &found, NULL), -EBUSY);
	directory_release(&one);
	assert_int_equal(directory_open("none", &found, NULL), -ENOENT);
	/* A prefix of a name is another name. */
	assert_int_equal(directory_open("sam", &found, NULL), -ENOENT);
}

/* A core that is killed while it starts leaves a temporary directory; the next start removes it, and no other. */
static void leftovers_are_swept(void **state)
{
	struct round_directory killed = ROUND_DIRECTORY_NONE, alive = ROUND_DIRECTORY_NONE, next = ROUND_DIRECTORY_NONE;
	char early[300], foreign[300], inside[320];
	(void)state;
	assert_int_equal(directory_make("killed", &killed, NULL), 0);
	assert_int_equal(directory_make("alive", &alive, NULL), 0);
	/* Killed before it had its lock. */
	snprintf(early, sizeof early, "%s/proctor/rounds/.early.aB3xYz", top);
	assert_int_equal(mkdir(early, 0700), 0);
	/* Not ours: no lock, and something in it; another form of name. */
	snprintf(foreign, sizeof foreign, "%s/proctor/rounds/.foreign.aB3xYz", top);
	assert_int_equal(mkdir(foreign, 0700), 0);
	snprintf(inside, sizeof inside, "%s/kept", foreign);
	assert_int_equal(mkdir(inside, 0700), 0);
	directory_release(&killed);	/* as its death does */
	assert_int_equal(access(killed.path, F_OK), 0);

	assert_int_equal(directory_make("next", &next, NULL), 0);
	assert_int_not_equal(access(killed.path, F_OK), 0);
	assert_int_not_equal(access(early, F_OK), 0);
	assert_int_equal(access(alive.path, F_OK), 0);
	assert_int_equal(access(inside, F_OK), 0);
	directory_remove(foreign);
	directory_discard(&alive);
	directory_discard(&next);
}

/* A check's directory is swept the same way, and has a place of its own. */
static void a_scratch_directory(void **state)
{
	struct round_directory killed = ROUND_DIRECTORY_NONE, next = ROUND_DIRECTORY_NONE;
	struct pr_error error = { 0 };
	(void)state;
	assert_int_equal(setenv("TMPDIR", top, 1), 0);
	assert_int_equal(directory_make_scratch(&killed, NULL), 0);
	assert_int_equal(strncmp(killed.path, top, strlen(top)), 0);
	directory_release(&killed);
	assert_int_equal(directory_make_scratch(&next, NULL), 0);
	assert_int_not_equal(access(killed.path, F_OK), 0);
	directory_discard(&next);
	assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
	assert_int_equal(directory_make_scratch(&next, &error), -ENOENT);
	assert_non_null(strstr(error.remedy, "TMPDIR"));
	unsetenv("TMPDIR");
}

/* In UTC, so that the last name in order is the newest run wherever it was started. */
static void names_do_not_hang_on_the_time_zone(void **state)
{
	struct round_directory west = ROUND_DIRECTORY_NONE, east = ROUND_DIRECTORY_NONE, found = ROUND_DIRECTORY_NONE;
	(void)state;
	setenv("TZ", "Asia/Tokyo-9", 1);
	tzset();
	assert_int_equal(directory_make("zone", &east, NULL), 0);
	assert_int_equal(directory_publish("zone", &east, NULL), 0);
	setenv("TZ", "America/Lima5", 1);
	tzset();
	assert_int_equal(directory_make("zone", &west, NULL), 0);
	assert_int_equal(directory_publish("zone", &west, NULL), 0);
	unsetenv("TZ");
	tzset();
	directory_release(&west);
	directory_release(&east);
	assert_int_equal(directory_open("zone", &found, NULL), 0);
	assert_string_equal(found.name, west.name);
	directory_release(&found);
}

static void the_reserve_is_spent_once(void **state)
{
	struct round_directory directory = ROUND_DIRECTORY_NONE;
	(void)state;
	assert_int_equal(directory_make("reserve", &directory, NULL), 0);
	assert_int_equal(directory_spend_reserve(&directory), 0);
	assert_int_equal(directory_spend_reserve(&directory), -ENOENT);
	assert_int_equal(directory_reserve(&directory), 0);
	directory_discard(&directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(discarded_leaves_nothing),
		cmocka_unit_test(names_are_distinct_and_found_again),
		cmocka_unit_test(leftovers_are_swept),
		cmocka_unit_test(a_scratch_directory),
		cmocka_unit_test(names_do_not_hang_on_the_time_zone),
		cmocka_unit_test(the_reserve_is_spent_once),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
