/*
 * Other containments, as benchmarks run them beside ours: each /bin/true from the spawn to its end and to what it
 * leaves removed. None has our filter or our limits; what each does is in its comment (peers.c).
 */
#ifndef TESTS_BENCH_PEERS_H
#define TESTS_BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>

struct peer {
	const char *name;
	bool (*prepare)(void);		/* false: it cannot run here */
	const char *(*missing)(void);	/* why not */
	double (*once)(void);		/* ms; negative where it failed */
	void (*release)(void);
};

/* posix_spawn first: the others are compared with it. Prepare, then once, then release. */
#define PEERS 4
extern const struct peer peers[PEERS];

/*
 * bwrap with everything unshared and a root like ours (read-only /usr, fresh /proc, /dev, /tmp, /workspace), and `shown`
 * read-only at its own path (NULL: nothing more). Writes its arguments, a command has to follow; returns how many.
 */
#define PEER_BWRAP_ARGUMENTS 40
size_t peer_bwrap(const char *ret_argv[static PEER_BWRAP_ARGUMENTS], const char *shown);

/* A cgroup for a peer, below our own; it is empty when it is removed. */
struct peer_cgroup {
	char path[4200];
	int fd;			/* -1: there is none */
};

/* `controller` NULL: of the unified hierarchy; else where that controller is, v1 or v2. False where it cannot be made. */
bool peer_cgroup_make(struct peer_cgroup *cgroup, const char *controller);
/* The limits that a boundary of ours would have: false where the cgroup takes none. */
bool peer_cgroup_limit_processes(const struct peer_cgroup *cgroup, int processes);
bool peer_cgroup_limit_cpu(const struct peer_cgroup *cgroup);	/* to one */
void peer_cgroup_remove(struct peer_cgroup *cgroup);

#endif
