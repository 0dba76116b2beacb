/*
 * The layers that are put on between birth and exec, one file each. All of them run in the newborn child,
 * which may share the worker's memory (birth.h): no heap, no stdio, no global state is changed; what a
 * layer needs is prepared by the worker beforehand. Each returns 0 or a negative errno.
 *
 * Order, and why:
 *   ids         before all: the maps are written, but the child still has the worker's ids
 *   network     loopback up, needs CAP_NET_ADMIN of the new user namespace
 *   mounts      own root; needs CAP_SYS_ADMIN
 *   landlock    after mounts: a Landlocked task can neither mount nor pivot (landlock(7))
 *   privileges  after what needs them; init keeps CHOWN for what is protected, SETUID, SETGID and SETPCAP to start the candidate as another id
 *   seccomp     last: it refuses what the others needed
 */
#ifndef CORE_CONTAINMENT_LAYERS_H
#define CORE_CONTAINMENT_LAYERS_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <proctor/error.h>

/*
 * uid and gid of the candidate inside; init is 0 inside, and both are ids of the run's own outside. Without an id range
 * (outer.h) there is one id, the owner's: the candidate is 0 inside as well, without capabilities.
 */
#define CANDIDATE_ID 1000
#define CANDIDATE_ID_SHARED 0
#define WORKSPACE_PATH "/workspace"
#define HOME_PATH "/home/candidate"

/* --- ids ------------------------------------------------------------------------------------------- */

/* Becomes inner 0, without supplementary groups but with CANDIDATE_ID_SHARED: these cannot be given up then (ids.c). */
int ids_enter(uid_t candidate);
/* Worker: writes the two maps of a newborn's user namespace: 0 to base, and CANDIDATE_ID to base + 1. */
int ids_map(pid_t pid, uid_t base, uid_t candidate, struct pr_error *error);

/* --- network --------------------------------------------------------------------------------------- */

int network_loopback_up(void);

/* --- mounts ---------------------------------------------------------------------------------------- */

#define LATE_BINDS_MAX 64

struct mounts_plan {
	char template_path[32];		/* in the worker's mount namespace (template.h) */
	char workspace[128];		/* tmpfs options of the four writable places */
	char tmp[128];
	char home[128];
	char shm[128];
	bool whole_host;		/* without layers: no limit of the namespace's own on others below it */
	int workspace_fd;		/* a detached mount to attach as the workspace, or -1: a fresh tmpfs */
	struct late_bind {
		const char *path;	/* below a place that a tmpfs covers */
		int tree;		/* a detached read-only clone, made by the worker: the run's ids may not reach the path */
		bool directory;
	} late[LATE_BINDS_MAX];
	unsigned late_count;
};

/*
 * Enters the root. `*ret_keep` is a detached clone of the workspace's mount: it keeps the file system alive
 * when this mount namespace is gone (open_tree(2), Linux 5.2), for collection and for the next command on
 * the same tree. `*ret_step` names what failed.
 */
int mounts_enter(const struct mounts_plan *plan, int *ret_keep, const char **ret_step);
/* A collector's root: the template alone, nothing writable. */
int mounts_enter_bare(const char *template_path, const char **ret_step);

/* --- landlock -------------------------------------------------------------------------------------- */

/* The ABI of this kernel: 0 where Landlock is not built or not active (landlock(7)); negative errno else. */
int landlock_abi(void);
/* Where it is 0, which of the two: ENOSYS (not built in) or EOPNOTSUPP (not active at boot); else 0. */
int landlock_missing(void);
/* For init and candidate: reading and executing all of the root, writing its writable places. */
int landlock_enter(int abi);
/* For the collector: reading below one directory. */
int landlock_enter_reader(int abi, int directory_fd);

/* --- privileges ------------------------------------------------------------------------------------ */

int privileges_no_new(void);
/*
 * Empties the bounding and ambient sets but for `keep` (bits by capability number); needs CAP_SETPCAP. `held` is
 * what may still be in them: each capability is a call.
 */
int privileges_bound(uint64_t held, uint64_t keep);
#define HELD_ALL (~UINT64_C(0))
/* Sets permitted and effective to `keep`, inheritable to nothing. */
int privileges_limit(uint64_t keep);

/* CAP_CHOWN (of what is protected, until the command is started), CAP_SETGID, CAP_SETUID, CAP_SETPCAP */
#define KEEP_FOR_INIT ((1u << 0) | (1u << 6) | (1u << 7) | (1u << 8))
#define KEEP_FOR_COLLECTOR (1u << 2)				/* CAP_DAC_READ_SEARCH */

/* --- seccomp --------------------------------------------------------------------------------------- */

/* Worker, once: the filter as the kernel takes it; lives as long as the worker. */
int seccomp_build(struct sock_fprog *ret_program, struct pr_error *error);
int seccomp_enter(const struct sock_fprog *program);
/* The collector, once it runs (static-safe): reading, and writing to one descriptor; every other call is EPERM. */
int seccomp_enter_collector(int stream_fd);

#endif
