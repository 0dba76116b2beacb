/*
 * Host ids of each run's own: a pair (init, candidate) a run, locked against every other worker of the same user.
 *
 * Root: from 1,900,000,000 on, clear of /etc/subuid and of 524288 to 1879048191 (which systemd hands out).
 * An ordinary user: from the range that /etc/subuid gives, as seen in the outer user namespace (outer.h), 1 and up.
 * A pair is held by an open file description lock (fcntl(2), F_OFD_SETLK) on one byte of a file, so a worker
 * that dies lets go of all it held.
 * Without a range all runs have the one id that the outer namespace maps, the owner's: nothing is locked.
 */
#ifndef CORE_CONTAINMENT_IDRANGE_H
#define CORE_CONTAINMENT_IDRANGE_H

#include <stdint.h>
#include <sys/types.h>

#include <proctor/error.h>

struct id_range {
	int lock;		/* the lock file */
	uid_t base;
	unsigned pairs;
	unsigned next;		/* where the next search begins: a fresh pair before a used one */
	uint8_t *held;		/* ours, one byte a pair; NULL: there is no range */
	uid_t candidate;	/* its id inside a run (layers.h) */
};

/*
 * `outer_count` is how many ids the outer namespace has beside the user's own: the subordinate range of an ordinary user, 0
 * for root. OUTER_NO_RANGE: it has none beside it.
 */
#define OUTER_NO_RANGE 1
int id_range_open(struct id_range *range, unsigned outer_count, struct pr_error *error);
void id_range_close(struct id_range *range);

/* Takes a pair: its first id (init; the candidate has the next one). */
int id_range_take(struct id_range *range, uid_t *ret_base, struct pr_error *error);
void id_range_give_back(struct id_range *range, uid_t base);

#endif
