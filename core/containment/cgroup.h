/*
 * Cgroups: where ours are on this host, and their life.
 *
 *   v2, the kill boundary          BASE/proctor-PID-START.worker/   the worker alone; never killed (see below)
 *                                  BASE/proctor-PID-START/          the round's parent: frozen and thawed
 *                                                        rN/        one leaf a run: born into, killed, removed (spareN: spare.h)
 *   v1 controllers, where a hybrid host keeps pids, memory or cpu there:
 *                                  OWN PATH/proctor-PID-START/rN/   limits alone
 *
 * BASE is our own cgroup of the unified hierarchy (the "0::" line of /proc/self/cgroup below the cgroup2
 * mount of /proc/self/mountinfo), or one above it that an ordinary user owns too: controllers can
 * only be handed down from a cgroup that holds no process (cgroups(7), "no internal processes"). See cgroup_base.c.
 * PID and START (place_start_time) name the owner for this boot, so that a sweep never takes a live round's.
 *
 * A leaf is used once. Since the fix of the race of fork against cgroup.kill (seen on 6.18) a birth by
 * CLONE_INTO_CGROUP is killed at once where the spawning process's cgroup and the destination have seen a
 * different number of kills: so the worker sits in a fresh leaf that is never killed, no ancestor of a
 * later birth is ever killed, and no killed leaf is used again.
 *
 * After open, everything goes through directory descriptors: the worker covers /sys for itself later.
 */
#ifndef CORE_CONTAINMENT_CGROUP_H
#define CORE_CONTAINMENT_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <proctor/error.h>

/* The resources we bound, and the files of each generation. X(identifier, "controller", v2 file, v1 file) */
#define CGROUP_RESOURCES(X) \
	X(RESOURCE_PIDS, "pids", "pids.max", "pids.max") \
	X(RESOURCE_MEMORY, "memory", "memory.max", "memory.limit_in_bytes") \
	X(RESOURCE_CPU, "cpu", "cpu.max", "cpu.cfs_quota_us")

enum cgroup_resource {
#define X(identifier, controller, v2, v1) identifier,
	CGROUP_RESOURCES(X)
#undef X
	RESOURCE_COUNT
};

const char *cgroup_resource_name(enum cgroup_resource resource);

enum cgroup_generation { GENERATION_NONE, GENERATION_V2, GENERATION_V1 };
const char *cgroup_generation_name(enum cgroup_generation generation);

/* Where a round's cgroups may be made (cgroup_base.c). */
struct cgroup_base {
	char own[4096];		/* our own cgroup */
	char path[4096];	/* BASE */
	bool whole;		/* controllers can be handed down from there, or there are none */
	bool crowded;		/* once its processes were moved to a leaf of it; systemd delegated it, so they are the owner's */
};
/* `scoped`: systemd made our own cgroup for us (scope.h); else, where systemd is there, only what it delegated is taken. */
int cgroup_base_find(bool scoped, struct cgroup_base *ret_base, struct pr_error *error);
/* Moves the processes of a crowded BASE into BASE/supervisor, where they stay. */
int cgroup_base_empty(const char *path, struct pr_error *error);
bool cgroup_has_controllers(const char *path);	/* one of ours, in cgroup.controllers */

struct cgroup_tree {
	char path[4096];			/* of the round's parent on the unified hierarchy */
	int base;				/* directory descriptors; -1 where there is none */
	int parent;
	int home;				/* where the worker came from, and goes back to */
	char name[64];				/* proctor-PID-START */
	enum cgroup_generation generation[RESOURCE_COUNT];
	struct pr_error why[RESOURCE_COUNT];	/* where generation is NONE: what was tried, and how it failed */
	struct {
		char path[4096];		/* of our parent in this v1 hierarchy */
		int base, parent;
		enum cgroup_resource first;	/* the first resource of the same hierarchy (they may be co-mounted) */
	} v1[RESOURCE_COUNT];			/* used where generation is V1 */
};

/* What was tried with a cgroup: the same errno means another thing in each. */
enum cgroup_act {
	CGROUP_FIND = 1,	/* finding or opening our own cgroup */
	CGROUP_MAKE = 2,	/* mkdir */
	CGROUP_ENTER = 4,	/* writing to cgroup.procs */
	CGROUP_HAND_DOWN = 8,	/* writing to cgroup.subtree_control */
	CGROUP_LIMIT = 16,	/* writing a limit */
};
/* Adds to `error` what its code means there and what helps, where that is known. Returns -error->code (or 0). */
int cgroup_remedy(enum cgroup_act act, struct pr_error *error);

struct cgroup_limits {
	uint64_t processes;	/* init counted by the caller; 0 is no limit */
	uint64_t memory_bytes;	/* 0 is no limit */
	double cpus;		/* 0 is no limit */
	bool as_a_whole;	/* where memory runs out all of it is killed (v2: memory.oom.group), init too */
};

/*
 * Finds the places, sweeps what dead owners left, makes the round's parent and moves the caller into its own leaf.
 * A host without a writable hierarchy is refused with a remedy; a controller that cannot be had is not (`why`).
 */
int cgroup_tree_open(struct cgroup_tree *tree, bool scoped, unsigned *ret_swept, struct pr_error *error);
/* Moves the caller back to BASE and removes parent and leaf. */
void cgroup_tree_close(struct cgroup_tree *tree);
void cgroup_tree_init(struct cgroup_tree *tree);

/*
 * Finds the places, sweeps what dead owners left, makes the round's parent and moves the caller into its own leaf.
 * A host without a writable hierarchy is refused with a remedy; a controller that cannot be had is not (`why`).
 */
int cgroup_tree_open(struct cgroup_tree *tree, bool scoped, unsigned *ret_swept, struct pr_error *error);
/* Moves the caller back to BASE and removes parent and leaf. */
void cgroup_tree_close(struct cgroup_tree *tree);
void cgroup_tree_init(struct cgroup_tree *tree);

struct cgroup_leaf {
	char name[32];			/* rN, spareN */
	int fd;				/* the v2 directory */
	int events;			/* its cgroup.events, for POLLPRI; */
	int v1[RESOURCE_COUNT];		/* the v1 directories, -1 where none */
	int v1_tasks[RESOURCE_COUNT];	/* their `tasks` files, for the child to enter */
};

void cgroup_leaf_init(struct cgroup_leaf *leaf);
/*
 * Makes the leaf's directories, writes its limits and reads them back: one that does not stand is a failure.
 * On failure nothing is left.
 */
int cgroup_leaf_make(struct cgroup_tree *tree, const char *name, const struct cgroup_limits *limits,
		     struct cgroup_leaf *leaf, struct pr_error *error);
/*
 * Enters the v1 directories; called by the newborn child at the barrier, while it is our code and has not forked
 * (K5). A thread that moves itself ("0" to `tasks`) does not take the kernel's lock on all forks, whose writer waits
 * for a grace period of RCU: some 10 ms, against microseconds.
 */
int cgroup_leaf_enter_v1(const struct cgroup_leaf *leaf);
void cgroup_leaf_release(struct cgroup_leaf *leaf);	/* closes descriptors, removes nothing */

/* Processes in the cgroup and below, by cgroup.procs; a bounded count (65,536). */
unsigned cgroup_count(int fd);
/* cgroup.events of an open directory: 1, 0, or a negative errno (-ENODEV: removed). */
int cgroup_populated(int events_fd);
int cgroup_frozen(int events_fd);
int cgroup_open_events(int fd);

/* Waits by POLLPRI until `populated 0` (or `frozen 1`), at most `timeout_ns`. -ETIMEDOUT. */
int cgroup_wait_empty(int events_fd, int64_t timeout_ns);
int cgroup_wait_frozen(int events_fd, int64_t timeout_ns);

int cgroup_freeze(int fd, bool on);

/*
 * Removes `name` below `parent`, with what was nested in it first, depth-first and bounded (K11: 4,096
 * directories, depth 32); EBUSY is retried for 2 s (K9). `*ret_nested` counts the directories below.
 */
int cgroup_remove(int parent, const char *name, unsigned *ret_nested);
int cgroup_leaf_remove(struct cgroup_tree *tree, struct cgroup_leaf *leaf, unsigned *ret_nested);

/* The counts of a leaf begin at 0 with it: it is used once, so there is no start value to subtract. */
struct cgroup_counts {
	uint64_t pids_refused;		/* forks refused: pids.events "max" */
	uint64_t memory_refused;	/* memory.events "max", v1 memory.failcnt */
	uint64_t oom_kills;		/* by the leaf's own limit */
	uint64_t host_oom_kills;	/* by a limit above it, or by the host's memory: not the candidate's doing */
	uint64_t memory_bytes;		/* now */
};
void cgroup_leaf_counts(const struct cgroup_tree *tree, const struct cgroup_leaf *leaf, struct cgroup_counts *ret_counts);

#endif
