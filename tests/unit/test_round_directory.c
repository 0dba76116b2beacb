/* A round's directory: nothing half-made is left, one core at a time, the newest run by its bare name. */
#include <errno.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
		cmocka_unit_test(the_reserve_is_spent_once),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
