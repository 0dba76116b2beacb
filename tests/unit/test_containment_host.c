/* Where our cgroup is, by mountinfo and the "0::" line; and which names a sweep may take. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/containment/host.h"
#include "core/containment/sweep.h"

#define HYBRID_MOUNTS \
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" \
	"39 31 0:36 / /sys/fs/cgroup/pids rw shared:9 master:3 - cgroup cgroup rw,pids\n" \
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
#define HYBRID_CGROUP "8:pids:/a/b\n4:cpu,cpuacct:/\n9:name=systemd:/x\n0::/user/leaf\n"

static const struct {
	const char *what, *mounts, *cgroup, *controller, *path;	/* path NULL: refused */
} cases[] = {
	{ "unified, root", "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n", "0::/\n", NULL, "/sys/fs/cgroup" },
	{ "unified, scope", "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/user.slice/run-1.scope\n", NULL,
	  "/sys/fs/cgroup/user.slice/run-1.scope" },
	{ "hybrid, v2", HYBRID_MOUNTS, HYBRID_CGROUP, NULL, "/sys/fs/cgroup/unified/user/leaf" },
	{ "hybrid, v1 pids", HYBRID_MOUNTS, HYBRID_CGROUP, "pids", "/sys/fs/cgroup/pids/a/b" },
	{ "hybrid, v1 cpu of two", HYBRID_MOUNTS, HYBRID_CGROUP, "cpu", "/sys/fs/cgroup/cpu,cpuacct" },
	{ "hybrid, no such v1", HYBRID_MOUNTS, HYBRID_CGROUP, "memory", NULL },
	{ "a word is not a part of a word", HYBRID_MOUNTS, HYBRID_CGROUP, "cpua", NULL },
	{ "the 0:: line last", HYBRID_MOUNTS, "1:name=systemd:/z\n0::/q\n", NULL, "/sys/fs/cgroup/unified/q" },
	{ "legacy", "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", "8:pids:/\n", NULL, NULL },
	{ "no mount", "", "0::/\n", NULL, NULL },
	{ "a sub-tree is mounted", "30 23 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/abc/x\n", NULL,
	  "/sys/fs/cgroup/x" },
	{ "another sub-tree is mounted", "30 23 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/docker/abcd\n", NULL, NULL },
	{ "outside of the namespace", "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/../other\n", NULL, NULL },
	{ "removed under us", "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/gone (deleted)\n", NULL, NULL },
	{ "an escaped mount point", "30 23 0:27 / /mnt/a\\040b rw - cgroup2 cgroup2 rw\n", "0::/c\n", NULL, "/mnt/a b/c" },
	{ "torn lines", "30 23\n30 23 0:27 / /x\n- cgroup2\n", "0:\n:\n0::/\n", NULL, NULL },
};

static void finds_our_cgroup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char path[4096] = "untouched";
		struct pr_error error = { 0 };
		int r = host_find_cgroup(cases[i].mounts, cases[i].cgroup, cases[i].controller, path, sizeof path, &error);
		if (cases[i].path) {
			if (r != 0 || strcmp(path, cases[i].path) != 0)
				fail_msg("%s: %d %s, wanted %s (%s)", cases[i].what, r, path, cases[i].path, error.message);
		} else {
			if (r >= 0 || error.message[0] == '\0' || strcmp(path, "untouched") != 0)
				fail_msg("%s: %d %s, wanted a refusal", cases[i].what, r, path);
		}
	}
}

/* The dead one has a pid beyond pid_max; a live one is never dead, whatever its name ends in. */
static void sweeps_the_dead_alone(void **state)
{
	char own[128], name[160];
	(void)state;
	assert_int_equal(sweep_own_name(own, sizeof own), 0);
	assert_false(sweep_is_dead(own));
	snprintf(name, sizeof name, "%s.worker", own);
	assert_false(sweep_is_dead(name));
	snprintf(name, sizeof name, "%s.other", own);
	assert_false(sweep_is_dead(name));

	const char *space = strrchr(own, '-');
	snprintf(name, sizeof name, "proctor-4194305-1%s", space);
	assert_true(sweep_is_dead(name));
	snprintf(name, sizeof name, "proctor-4194305-1%s.worker", space);
	assert_true(sweep_is_dead(name));
	/* Our pid with another start time: reused. */
	snprintf(name, sizeof name, "proctor-%d-1%s", getpid(), space);
	assert_true(sweep_is_dead(name));
	/* Another pid namespace is not ours to judge; nor is what we did not name. */
	assert_false(sweep_is_dead("proctor-4194305-1-1"));
	assert_false(sweep_is_dead("proctor-4194305-1"));
	assert_false(sweep_is_dead("proctor--4-1-1"));
	assert_false(sweep_is_dead("user.slice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(finds_our_cgroup), cmocka_unit_test(sweeps_the_dead_alone) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
