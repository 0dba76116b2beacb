/*
 * Laws and their deletion probes (rulings). A law is a function that judges a real worker from outside and
 * says whether the law holds. Each is asked three times:
 *
 *   the release build                          it must hold
 *   the guarded build, every guard in place    it must hold: the build alone changes nothing
 *   the guarded build without the named guard  it must NOT hold, or the law proves nothing
 *
 * A law that rests on several layers is asked more: without some it must hold, without all of them it must not.
 *
 * A host that cannot test a law skips it, with the reason; it never passes there.
 */
#ifndef TESTS_LAWS_LAW_H
#define TESTS_LAWS_LAW_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/support/worker_harness.h"

struct verdict {
	bool holds;
	char why[512];		/* what was seen, in either case */
};

/* One more asking of the guarded build. */
struct asking {
	const char *without;	/* guard ids, comma separated */
	bool holds;		/* what is wanted */
	bool landlock;		/* wanted only where the kernel has an active Landlock */
};

struct law {
	const char *id;		/* as in the rulings */
	const char *says;
	const char *guard;	/* taken out by the probe */
	void (*judge)(const struct worker_start *how, struct verdict *verdict);
};

/* What a few laws have beside that. */
struct law_more {
	const char *id;
	const struct asking *askings;	/* ends with an entry without guards; NULL: none */
	/* Says why this host cannot tell, or NULL; may be NULL itself. */
	const char *(*missing)(struct json_object *ready);
};

extern const struct law kill_laws[], birth_laws[], bounds_laws[], evidence_laws[], environment_laws[], output_laws[], layer_laws[], resource_laws[],
	collector_laws[], control_laws[], lifecycle_laws[], profile_laws[];
extern const struct law_more control_more[], lifecycle_more[], profile_more[];

void law_holds(struct verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns false, so that a judge may `return (void)law_broken(...)`. */
bool law_broken(struct verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A worker that is ready, or NULL with the verdict broken. */
struct worker *law_worker(const struct worker_start *how, struct verdict *verdict);

/* Processes of the host whose command line holds `marker`, waited for at most so long to become none. */
int law_processes(const char *marker);
int law_processes_settle(const char *marker, int timeout_ms);
/* The cgroup below a round's parent that holds a process with this in its command line; waits 2 s for it. */
bool law_find_leaf(const char *parent, const char *marker, char *ret_path, size_t size);
/* A marker that no other process has: a number of seconds to sleep. */
void law_marker(char *ret_marker, size_t size);

#endif
