/*
 * Where this process's cgroups are, by /proc/self/mountinfo and /proc/self/cgroup alone (never by the
 * build, the distribution or a fixed path): unified, hybrid and legacy hosts, mounts of a sub-tree.
 */
#ifndef CORE_CONTAINMENT_HOST_H
#define CORE_CONTAINMENT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <proctor/error.h>

/*
 * The directory of our own cgroup. `controller` NULL: of the unified hierarchy (the "0::" line and a
 * cgroup2 mount); else of the v1 hierarchy that holds that controller. -ENOENT where there is none.
 */
int host_own_cgroup(const char *controller, char *ret_path, size_t size, struct pr_error *error);

/* The same from given texts, for tests. */
int host_find_cgroup(const char *mountinfo, const char *cgroup, const char *controller, char *ret_path, size_t size,
		     struct pr_error *error);

/* Is systemd pid 1 of this host (sd_booted(3))? Then cgroups are its own, and what it delegates ours. */
bool host_has_systemd(void);

/* A mount of a cgroup hierarchy. */
struct host_hierarchy {
	char point[4096];
	char device[32];	/* major:minor, one a hierarchy */
	bool unified;
};
#define HOST_HIERARCHIES_MAX 32

/* Each hierarchy that is mounted, once, however often (and by whatever symbolic links) it can be reached. */
size_t host_hierarchies(const char *mountinfo, struct host_hierarchy list[static HOST_HIERARCHIES_MAX]);

/*
 * The id of our effective user in the user namespace above ours (/proc/self/uid_map): in the outer namespace of
 * an ordinary user (outer.h), where we are 0, it is the user's own.
 */
uid_t host_own_uid(void);

#endif
