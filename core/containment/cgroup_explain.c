/* What an errno of a cgroup file means, and what helps (cgroups(7)). One table; called wherever one is made or written. */
#include "core/containment/cgroup.h"

#include <errno.h>

#include "core/base/cleanup.h"

#define ANY (CGROUP_FIND | CGROUP_MAKE | CGROUP_ENTER | CGROUP_HAND_DOWN | CGROUP_LIMIT)
#define DELEGATE "run as root, or have a cgroup delegated: with systemd systemd-run --user --scope -p Delegate=yes -- proctor ..., " \
	"else by root (docs/hosts.md)"

static const struct {
	int acts, code;
	const char *remedy;
} rows[] = {
	{ ANY, EROFS, "the cgroup file system is mounted read-only, as containers have it: mount it writable (docker run --privileged, "
		      "podman run --security-opt unmask=/sys/fs/cgroup), or run proctor on the host" },
	{ CGROUP_MAKE | CGROUP_HAND_DOWN | CGROUP_LIMIT, EACCES, DELEGATE },
	{ CGROUP_MAKE | CGROUP_HAND_DOWN | CGROUP_LIMIT, EPERM, DELEGATE },
	{ CGROUP_ENTER, EACCES, "the cgroup that holds your shell must be inside the delegated subtree (docs/hosts.md)" },
	{ CGROUP_ENTER, EPERM, "the cgroup that holds your shell must be inside the delegated subtree (docs/hosts.md)" },
	{ CGROUP_MAKE, EAGAIN, "cgroup.max.descendants or cgroup.max.depth of a cgroup above it is used up: raise it, or proctor sweep" },
	{ CGROUP_MAKE, ENOSPC, "the kernel has no more room for cgroups: proctor sweep removes what is left of dead rounds" },
	{ CGROUP_FIND, ENOENT, "our cgroup is not below the mount of the hierarchy: in a container, start it with --cgroupns=host, "
			       "or mount cgroup2 anew inside it" },
	{ CGROUP_FIND, ENODEV, "our cgroup was removed: start proctor from a new shell" },
	{ CGROUP_MAKE, ENOENT, "the cgroup above was removed meanwhile: start proctor from a new shell" },
	{ CGROUP_MAKE, ENODEV, "the cgroup above was removed meanwhile: start proctor from a new shell" },
	{ CGROUP_ENTER, ENOENT, "the cgroup is outside of our cgroup namespace (mount option nsdelegate)" },
	{ CGROUP_HAND_DOWN, ENOENT, "a v1 hierarchy holds the controller, or the cgroup above does not hand it down" },
	{ CGROUP_LIMIT, ENOENT, "the controller was taken back by whoever delegated the subtree" },
	{ CGROUP_HAND_DOWN, EBUSY, "processes are in that cgroup itself: move them into one below it first, "
				   "mkdir .../shell && echo PID > .../shell/cgroup.procs (docs/hosts.md)" },
	{ CGROUP_ENTER, EBUSY, "that cgroup hands controllers down and may hold no process: start proctor from a leaf" },
	{ CGROUP_LIMIT, EBUSY, "more is used there already than the limit allows" },
	{ CGROUP_ENTER, EOPNOTSUPP, "a threaded cgroup is above it: start proctor from one whose cgroup.type is domain" },
	{ CGROUP_HAND_DOWN, EOPNOTSUPP, "a threaded cgroup hands no memory controller down: start proctor from one whose cgroup.type is domain" },
	{ CGROUP_LIMIT, EINVAL, "the kernel does not take that value: choose another limit" },
};

int cgroup_remedy(enum cgroup_act act, struct pr_error *error)
{
	if (!error)
		return 0;
	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if ((rows[i].acts & (int)act) && rows[i].code == error->code)
			return pr_error_remedy(error, "%s", rows[i].remedy);
	return -error->code;
}
