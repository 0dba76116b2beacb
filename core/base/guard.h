/*
 * Guards and their deletion probes.
 *
 * A guard is one place in the code that a law rests on. In the test build (PROCTOR_TEST_BUILD) the
 * environment variable PROCTOR_WITHOUT=ID[,ID...] takes the named guards out, so that a test can show
 * that its law then goes red. A release build has no switch: guard_holds() is the constant true, and
 * neither the variable's name nor an id is in the binary (tests/house checks it).
 *
 * Ids are listed in GUARDS below, once; using one that is not listed does not compile.
 */
#ifndef CORE_BASE_GUARD_H
#define CORE_BASE_GUARD_H

#include <stdbool.h>

/* X(identifier, "id", "what goes when it is taken out", "laws that must go red") */
#define GUARDS(X) \
	X(GUARD_CGROUP_KILL, "cgroup-kill", "boundary_kill() writes nothing", "K1 K2 K3") \
	X(GUARD_CGROUP_BIRTH, "cgroup-birth", "no CLONE_INTO_CGROUP at birth", "K5") \
	X(GUARD_KILL_BOUNDARY, "kill-boundary", "runs are forced down to traaviis.process-group.v1: no cgroup, no pid namespace", \
	  "K15") \
	X(GUARD_REFUSAL, "refusal", "a worker that could bear no boundary says that it is ready", "K14") \
	X(GUARD_DRAIN_WAIT, "drain-wait", "a run is closed without waiting until its cgroup is empty", "K7") \
	X(GUARD_REMOVE_RETRY, "remove-retry", "a busy cgroup is not tried again", "K9") \
	X(GUARD_REMOVE_NESTED, "remove-nested", "cgroups inside a run's own are left", "K11") \
	X(GUARD_SWEEP, "sweep", "what dead owners left is not swept", "K9-sweep") \
	X(GUARD_SWEEP_OWNER, "sweep-owner", "one live owner (PROCTOR_SWEEP_OWNER, a pid) is taken for dead", "K9-live") \
	X(GUARD_EXEC_STATUS, "exec-status", "a failed exec is not reported", "K6") \
	X(GUARD_NO_FOLLOW, "no-follow", "the collector follows symbolic links", "E3 E4 E5") \
	X(GUARD_TYPE_CHECK, "type-check", "the collector takes every file type for a regular file", "E3 E5") \
	X(GUARD_NON_BLOCK, "non-block", "the collector opens without O_NONBLOCK", "E4") \
	X(GUARD_OUTPUT_CAP, "output-cap", "output is kept without a cap", "E6") \
	X(GUARD_SEALED_ENVIRONMENT, "sealed-environment", "a candidate inherits the worker's environment", "E7") \
	X(GUARD_DESCRIPTORS, "descriptors", "inherited descriptors stay open", "L-descriptors") \
	X(GUARD_COLLECT_BOUNDS, "collect-bounds", "the collector's bounds of E1 are not checked", "E1 E2") \
	X(GUARD_COLLECT_EMPTY, "collect-empty", "a workspace is collected while processes of its run live", "K4") \
	X(GUARD_COLLECTOR_CALLS, "collector-calls", "the collector loads no filter of its own", "L-collector") \
	X(GUARD_PIDS_LIMIT, "pids-limit", "no limit on the number of processes is set", "K13") \
	X(GUARD_MEMORY_LIMIT, "memory-limit", "no limit on memory is set", "K13-memory") \
	X(GUARD_CPU_LIMIT, "cpu-limit", "no limit on CPU time is set", "K13-cpu") \
	X(GUARD_NO_NEW_PRIVS, "no-new-privs", "no_new_privs is not set", "L-no-new-privs") \
	X(GUARD_CAPABILITIES, "capabilities", "the candidate and the collector keep their capabilities", \
	  "L-capabilities L-collector-capability") \
	X(GUARD_SECCOMP, "seccomp", "no filter is loaded", "L-seccomp") \
	X(GUARD_LANDLOCK, "landlock", "no Landlock domain is entered", "L-landlock") \
	X(GUARD_NETWORK, "network", "no network namespace of the run's own", "L-network") \
	X(GUARD_CGROUP_VIEW, "cgroup-view", "the host's cgroup file systems are in view, writable", "L-cgroup-view K12") \
	X(GUARD_IDS, "ids", "the candidate has the owner's own ids", "L-ids K12") \
	X(GUARD_USER_NAMESPACES, "user-namespaces", "the limit on user namespaces stays the host's", "L-user-namespaces") \
	X(GUARD_CGROUP_NAMESPACE, "cgroup-namespace", "no cgroup namespace of the run's own", "L-cgroup-namespace") \
	X(GUARD_PROCESSES, "processes", "no pid namespace of the run's own", "L-processes") \
	X(GUARD_SESSION, "session", "the candidate has no session of its own", "L-session") \
	X(GUARD_IPC, "ipc", "no ipc namespace of the run's own", "L-ipc") \
	X(GUARD_HOST_NAME, "host-name", "no uts namespace of the run's own", "L-host-name")

enum guard {
#define X(identifier, id, what, laws) identifier,
	GUARDS(X)
#undef X
};

#ifdef PROCTOR_TEST_BUILD
bool guard_holds(enum guard guard);
/* The variable as it stands ("PROCTOR_WITHOUT=..."), to hand on to our own programs inside a boundary; NULL when unset. */
const char *guard_environment(void);
#else
static inline __attribute__((always_inline)) bool guard_holds(enum guard guard)
{
	(void)guard;
	return true;
}
static inline const char *guard_environment(void)
{
	return (void *)0;
}
#endif

#endif
