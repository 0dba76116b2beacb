/*
 * The layers of a boundary, once: what refuses, and how a refusal of it is known.
 *
 * A run's profile is a set of these. Sources: seccomp(2), landlock(7), capabilities(7),
 * user_namespaces(7), mount_namespaces(7), pid_namespaces(7), network_namespaces(7), cgroups(7).
 */
#ifndef PROCTOR_LAYER_H
#define PROCTOR_LAYER_H

/* X(identifier, "id", "refuses", "recorded how") */
#define PR_LAYERS(X) \
	X(PR_LAYER_SECCOMP, "seccomp", "system calls outside the profile", "not recordable yet") \
	X(PR_LAYER_LANDLOCK, "landlock", "paths, signals and abstract sockets beyond the boundary", "inferred") \
	X(PR_LAYER_PRIVILEGES, "privileges", "whatever needs a capability; gaining one by exec", "inferred") \
	X(PR_LAYER_IDS, "ids", "what belongs to any other user of the host", "inferred") \
	X(PR_LAYER_MOUNTS, "mounts", "files outside a minimal read-only root", "inferred") \
	X(PR_LAYER_PROCESSES, "processes", "the host's processes: they do not exist inside", "inferred") \
	X(PR_LAYER_NETWORK, "network", "every address but loopback of the run's own", "inferred") \
	X(PR_LAYER_IPC, "ipc", "the host's IPC objects and names; further user namespaces", "inferred") \
	X(PR_LAYER_CGROUP, "cgroup", "outliving the run", "kernel events") \
	X(PR_LAYER_LIMITS, "limits", "more processes, memory or cpu than granted", "kernel counters") \
	X(PR_LAYER_ENVIRONMENT, "environment", "inherited variables, descriptors and terminals", "checked at start") \
	X(PR_LAYER_WORKSPACE, "workspace", "more bytes or inodes than granted; then the collector's rules", "collector") \
	X(PR_LAYER_OUTPUT, "output", "output over its cap", "reader") \
	X(PR_LAYER_CLOCK, "clock", "time over the wall clock", "timer") \
	X(PR_LAYER_BROKER, "broker", "spend over the cap; other models and hosts", "ledger")

enum pr_layer {
#define X(identifier, id, refuses, recorded) identifier,
	PR_LAYERS(X)
#undef X
	PR_LAYER_COUNT
};

#endif
