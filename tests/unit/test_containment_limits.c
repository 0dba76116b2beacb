/* What is said where a host bounds less than it could: remedies by errno, warnings, hierarchies of mountinfo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/containment/cgroup.h"
#include "core/containment/host.h"
#include "core/containment/host_checks.h"

static void test_each_errno_has_its_remedy(void **state)
{
	static const struct {
		enum cgroup_act act;
		int code;
		const char *remedy;	/* a part of it */
	} cases[] = {
		{ CGROUP_MAKE, EROFS, "read-only" }, { CGROUP_LIMIT, EROFS, "read-only" }, { CGROUP_MAKE, EACCES, "Delegate=yes" },
		{ CGROUP_ENTER, EACCES, "inside the delegated subtree" }, { CGROUP_MAKE, EAGAIN, "cgroup.max.descendants" },
		{ CGROUP_FIND, ENOENT, "--cgroupns=host" }, { CGROUP_HAND_DOWN, ENOENT, "v1 hierarchy" },
		{ CGROUP_HAND_DOWN, EBUSY, "move them" }, { CGROUP_ENTER, EBUSY, "leaf" }, { CGROUP_ENTER, EOPNOTSUPP, "cgroup.type" },
		{ CGROUP_HAND_DOWN, EOPNOTSUPP, "threaded" },
	};
	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct pr_error error = { 0 };
		pr_error_errno(&error, cases[i].code, "trying");
		assert_int_equal(cgroup_remedy(cases[i].act, &error), -cases[i].code);
		if (!strstr(error.remedy, cases[i].remedy))
			fail_msg("act %d, %s: %s", cases[i].act, strerror(cases[i].code), error.remedy);
	}
	struct pr_error other = { 0 };
	pr_error_errno(&other, EIO, "trying");
	assert_int_equal(cgroup_remedy(CGROUP_MAKE, &other), -EIO);
	assert_string_equal(other.remedy, "");
}

/* cpu and cpuacct of one hierarchy, by whatever name it is reached; bound a second time; a hierarchy of systemd's. */
static void test_each_hierarchy_once(void **state)
{
	static struct host_hierarchy list[HOST_HIERARCHIES_MAX];
	static const char mountinfo[] =
		"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		"33 31 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"42 31 0:38 /below /mnt rw - cgroup2 cgroup2 rw\n";
	(void)state;
	assert_int_equal(host_hierarchies(mountinfo, list), 3);
	assert_string_equal(list[0].point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_false(list[0].unified);
	assert_string_equal(list[2].point, "/sys/fs/cgroup/unified");
	assert_true(list[2].unified);
	assert_int_equal(host_hierarchies("", list), 0);
	assert_int_equal(host_hierarchies("torn 1 0:3\n", list), 0);
}

static size_t warnings_of(const char *pattern, const char *swaps, bool limited)
{
	struct json_object *list = json_object_new_array();
	host_checks_core_pattern(list, pattern);
	host_checks_swap(list, swaps, limited);
	size_t count = json_object_array_length(list);
	json_object_put(list);
	return count;
}

static void test_warnings(void **state)
{
	static const char heading[] = "Filename\t\t\t\tType\t\tSize\n", swap[] = "Filename\tType\n/dev/vdb partition 1 0 -2\n";
	(void)state;
	assert_int_equal(warnings_of("core\n", heading, false), 0);
	assert_int_equal(warnings_of("|/usr/lib/systemd/systemd-coredump %P %u\n", heading, false), 1);
	assert_int_equal(warnings_of("/var/crash/%p\n", swap, false), 1);
	assert_int_equal(warnings_of("core\n", swap, true), 0);
	assert_int_equal(warnings_of(NULL, NULL, false), 0);

	struct json_object *list = json_object_new_array(), *tried;
	host_checks_core_pattern(list, "|/usr/lib/systemd/systemd-coredump %P %u\n");
	json_object_object_get_ex(json_object_array_get_idx(list, 0), "tried", &tried);
	assert_non_null(strstr(json_object_get_string(tried), "/usr/lib/systemd/systemd-coredump as root"));
	json_object_put(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_errno_has_its_remedy), cmocka_unit_test(test_each_hierarchy_once), cmocka_unit_test(test_warnings),
	};
	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
