/*
 * Birth: clone3 straight into a cgroup, into namespaces of the run's own, behind every layer, up to the exec
 * of proctor-init. There is no bootstrap program and no moment outside the cgroup (K5).
 *
 *   worker                                   child (our code until exec)
 *     clone3(INTO_CGROUP|PIDFD|NEW...)  -->    waits on the go pipe
 *     uid_map, gid_map
 *     go byte                           -->    v1 cgroups, ids, PDEATHSIG, cgroup namespace, network, mounts
 *     <-- detached workspace mount             (SCM_RIGHTS on the status socket)
 *                                              landlock, privileges, seccomp, descriptors
 *     <-- end of file: the exec worked         execve(proctor-init), which waits for its order (report.h)
 *     <-- {stage, errno}: it did not
 *
 * On x86-64 the child shares our memory on a stack of its own (CLONE_VM without CLONE_VFORK: the worker must
 * write the maps), which saves copying the address space. The worker sleeps in poll() until the child has
 * exec'd or died, so the two never run C library code at once but for the bare calls before the go byte.
 * Under a sanitizer, and on other machines, the address space is copied.
 */
#ifndef CORE_CONTAINMENT_BIRTH_H
#define CORE_CONTAINMENT_BIRTH_H

#include <linux/filter.h>
#include <sys/types.h>

#include "core/containment/cgroup.h"
#include "core/containment/layers/layers.h"

enum birth_kind { BIRTH_RUN, BIRTH_COLLECTOR };

/*
 * Namespaces that take long to take down, which the last process to leave them would do on its way out: the worker holds
 * them until it has told of the end.
 */
enum slow_namespace { SLOW_MOUNTS, SLOW_NETWORK, SLOW_NAMESPACES };

/* Where the descriptors stand when proctor-init begins; the stream of a run comes with its order (report.h). */
enum init_descriptor { INIT_REPORT = 3, INIT_STREAM = 4, INIT_WORKSPACE = 5 };

struct birth {
	enum birth_kind kind;
	const struct cgroup_leaf *leaf;
	uid_t ids;			/* the run's pair (BIRTH_RUN) */
	uid_t candidate;		/* CANDIDATE_ID or CANDIDATE_ID_SHARED */
	uint64_t processes;		/* of each of the pair, whatever the cgroup says (BIRTH_RUN); 0 is no limit */
	int user_namespace;		/* the run's, to collect from (BIRTH_COLLECTOR) */
	struct mounts_plan mounts;
	int landlock_abi;
	const struct sock_fprog *filter;
	int image;			/* proctor-init, as a sealed memory file */
	int standard[3];		/* 0, 1 and 2 of the program */
	int report;			/* INIT_REPORT; -1 none */
	int stream;			/* INIT_STREAM: what a collector writes; -1 none */
	char *const *argv;
	char *const *envp;

	/* filled by birth_start */
	pid_t pid;
	int pidfd;
	int kept_workspace;		/* a detached mount (BIRTH_RUN) */
	int kept_namespace;		/* the user namespace (BIRTH_RUN) */
	int slow[SLOW_NAMESPACES];	/* (BIRTH_RUN); -1 */
	const char *stage;		/* where it failed */
};

/*
 * 0 when proctor-init runs. A negative errno otherwise, `stage` set; a child that was born may then still be
 * in the leaf, dying or stuck: the caller kills the leaf as always and reaps `pid` where it is > 0.
 */
int birth_start(struct birth *birth, struct pr_error *error);

#endif
