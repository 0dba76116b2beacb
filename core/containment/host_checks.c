/* The warnings of host_checks.h. They read files of /proc and of our own cgroup; nothing is changed. */
#include "core/containment/host_checks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/containment/scope.h"

static void warn(struct json_object *list, const char *id, const char *tried, const char *remedy)
{
	struct json_object *check = json_object_new_object();
	json_object_object_add(check, "id", json_object_new_string(id));
	json_object_object_add(check, "state", json_object_new_string("warn"));
	json_object_object_add(check, "tried", json_object_new_string(tried));
	json_object_object_add(check, "remedy", remedy && remedy[0] ? json_object_new_string(remedy) : NULL);
	json_object_array_add(list, check);
}

static void check_controllers(struct json_object *list, const struct cgroup_tree *tree)
{
	char text[sizeof tree->why[0].message + 64];
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		if (tree->generation[i] != GENERATION_NONE)
			continue;
		snprintf(text, sizeof text, "no limit on %s: %s", cgroup_resource_name((enum cgroup_resource)i), tree->why[i].message);
		warn(list, "controllers", text, tree->why[i].remedy);
	}
}

void host_checks_swap(struct json_object *list, const char *swaps, bool limited)
{
	/* A heading, then a line for each. */
	const char *first = swaps ? strchr(swaps, '\n') : NULL;
	if (!limited && first && first[1])
		warn(list, "swap", "this host swaps, and no limit on that is to be had: a run's memory is bounded, what of it is swapped out is not",
		     "boot with swapaccount=1, or swapoff -a");
}

static void check_swap(struct json_object *list, const struct cgroup_tree *tree)
{
	_cleanup_buffer_ struct buffer swaps = BUFFER_INIT;
	bool limited = tree->generation[RESOURCE_MEMORY] == GENERATION_V1 ?
			       faccessat(tree->v1[RESOURCE_MEMORY].parent, "memory.memsw.limit_in_bytes", F_OK, 0) == 0 :
			       faccessat(tree->parent, "memory.swap.max", F_OK, 0) == 0;
	if (tree->generation[RESOURCE_MEMORY] != GENERATION_NONE && io_read_file(AT_FDCWD, "/proc/swaps", 65536, &swaps) == 0)
		host_checks_swap(list, swaps.data, limited);
}

void host_checks_core_pattern(struct json_object *list, const char *pattern)
{
	char text[256];
	if (!pattern || pattern[0] != '|')
		return;
	snprintf(text, sizeof text, "a process that crashes starts %.*s as root, outside of the boundary, and hands it its memory",
		 (int)strcspn(pattern + 1, " \n") < 100 ? (int)strcspn(pattern + 1, " \n") : 100, pattern + 1);
	warn(list, "core dumps", text, "as root: sysctl kernel.core_pattern=core");
}

static void check_core_pattern(struct json_object *list)
{
	_cleanup_buffer_ struct buffer pattern = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, "/proc/sys/kernel/core_pattern", 4096, &pattern) == 0)
		host_checks_core_pattern(list, pattern.data);
}

static void check_linger(struct json_object *list, const struct cgroup_tree *tree)
{
	char user[64], remedy[128];
	if (!strstr(tree->path, "/user@") || scope_check_linger(user, sizeof user) == 0)
		return;
	snprintf(remedy, sizeof remedy, "loginctl enable-linger %.60s", user);
	warn(list, "log-out", "the boundary's cgroup is your user manager's, which ends with your last log-out, and the round with it", remedy);
}

void host_checks_add(struct json_object *list, const struct cgroup_tree *tree)
{
	check_controllers(list, tree);
	check_swap(list, tree);
	check_core_pattern(list);
	check_linger(list, tree);
}
