/*
 * A run: one boundary from its birth to its removal, and what is kept of it until it is released.
 *
 *   run_start ----> STARTING --started--> RUNNING --exited, killed, lost--> CLOSING --empty--> CLOSED
 *                        \____ setup or exec failed __________________________/
 *
 * Every path goes through CLOSING: killed, waited for until the kernel says empty (K7, 30 s), counted,
 * removed (K1, K9). Single-threaded; the loop (serve.c) calls run_step when a descriptor of it is ready.
 */
#ifndef CORE_CONTAINMENT_RUN_H
#define CORE_CONTAINMENT_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/containment/axes.h"
#include "core/containment/birth.h"
#include "core/containment/cgroup.h"
#include "core/containment/idrange.h"

enum run_state { RUN_STARTING, RUN_RUNNING, RUN_CLOSING, RUN_CLOSED };

/* What the command did. X(identifier, "name") */
#define RUN_OUTCOMES(X) \
	X(OUTCOME_NONE, "none") \
	X(OUTCOME_EXITED, "exited") \
	X(OUTCOME_SIGNALLED, "signalled") \
	X(OUTCOME_EXEC_FAILED, "exec_failed") \
	X(OUTCOME_KILLED, "killed") \
	X(OUTCOME_LOST, "lost") \
	X(OUTCOME_SETUP_FAILED, "setup_failed")

enum run_outcome {
#define X(identifier, name) identifier,
	RUN_OUTCOMES(X)
#undef X
};
const char *run_outcome_name(enum run_outcome outcome);

/* A pair of host ids, shared by the runs that use one workspace after the other. */
struct id_pair {
	uid_t base;
	unsigned holders;
};

/* What all runs of a worker share. */
struct worker {
	struct cgroup_tree tree;
	struct id_range ids;
	const char *own_ids, *own_ids_remedy;	/* why runs have the owner's id (outer.h), or NULL */
	struct sock_fprog filter;
	int landlock_abi;
	int image;		/* proctor-init, sealed */
	int null;		/* /dev/null */
	bool frozen;
	struct axes axes;	/* what the dry run showed */
	unsigned live;		/* runs that are not closed */
	struct spare *spare;	/* spare.h */
	uint64_t spares;	/* made so far: no name is used twice */
};

/* What a birth depends on is compared in spare.c. */
struct run_request {
	uint64_t number;
	enum birth_kind kind;
	char **argv;		/* of the command; for a collector its scratch globs */
	char **environment;	/* "K=V" */
	char *directory;
	char *root;
	char **read_only;
	size_t read_only_count;
	struct cgroup_limits limits;
	uint64_t workspace_bytes, workspace_inodes;
	struct run *of;		/* the run whose workspace is used or collected, or NULL */
	int output[2];		/* stdout, stderr; borrowed */
	int stream;		/* subject in, or collection out; -1 none; borrowed */
	bool dry;		/* of the dry run: nothing is kept for the next one like it */
};

struct run {
	struct run *next;
	uint64_t number;
	enum birth_kind kind;
	enum run_state state;
	struct cgroup_leaf leaf;
	struct id_pair *ids;
	pid_t pid;		/* of init, until reaped; 0 then */
	int pidfd;
	int report;
	int workspace;		/* kept until released */
	int user_namespace;
	int slow[SLOW_NAMESPACES];	/* birth.h; until run_let_go */
	bool trusted;			/* without layers (residency.trusted-local.v1) */
	bool late_binds;		/* its root holds paths that were bound for it alone */

	enum run_outcome outcome;
	int code, signal, error;	/* by outcome */
	char stage[64];
	bool kill_asked;
	bool started_told, exited_told;

	int64_t closing_since_ns, closing_deadline_ns;
	int64_t look_again_ns;
	bool alone;		/* nothing but init was left when the command ended, and init ends by itself */
	bool init_gone;		/* seen dead while closing: `populated 0` is due, see run_wait_ns */
	unsigned killed, remaining, nested;
	bool removed;
	double closing_ms;
	struct cgroup_counts counts;
};

/*
 * The boundary that a run as asked for needs, with a leaf of this name, up to its init, which waits for its order. What is
 * to be executed is not looked at. Not counted as live. On failure nothing is left of it and `*ret_run` is untouched.
 */
int run_prepare(struct worker *worker, const struct run_request *request, const char *name, struct run **ret_run,
		struct pr_error *error);
/* Kills and removes what run_prepare made and no one used. False where something of it is left. */
bool run_discard(struct worker *worker, struct run *run);
bool run_is_dead(const struct run *run);	/* its init */

/* Starts the run, in the spare boundary where that fits. On failure nothing is left of it and `*ret_run` is untouched. */
int run_start(struct worker *worker, const struct run_request *request, struct run **ret_run, struct pr_error *error);

/* The descriptors to poll for it now; at most 3. */
size_t run_poll(const struct run *run, struct pollfd ret_fds[static 3]);
/*
 * How long to sleep at most before the next run_step, in ns; INT64_MAX where only its descriptors matter. The kernel
 * holds back a notification of cgroup.events that comes within 10 ms of the last one (cgroup_file_notify): a
 * short run would wait for that, so once init is dead the file is looked at again, from 0.1 ms on, doubling.
 */
int64_t run_wait_ns(struct run *run);

/* Looks at all its descriptors and its deadline; true when its state changed. */
bool run_step(struct worker *worker, struct run *run);

/* Begins to close it, whatever it does; harmless when it is closing already. */
void run_close(struct worker *worker, struct run *run);

/* Closes all that a closed run has no more use for; takes a while, so its end is told before. */
void run_let_go(struct run *run);

/* Forgets a closed run: workspace, ids, memory. */
void run_free(struct worker *worker, struct run *run);

#endif
