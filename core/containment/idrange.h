/*
 * Host ids of each run's own: a pair (init, candidate) a run, locked against every other worker of the same user.
 *
 * Root: from 1,900,000,000 on, clear of /etc/subuid and of 524288 to 1879048191 (which systemd hands out).
 * An ordinary user: from the range that /etc/subuid gives, as seen in the outer user namespace (outer.h), 1 and up.
 * A pair is held by an open file description lock (fcntl(2), F_OFD_SETLK) on one byte of a file, so a worker
 * that dies lets go of all it held.
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
	uint8_t *held;		/* ours, one byte a pair */
};

/* `outer_count` is the size of the subordinate range of an ordinary user, 0 for root. */
int id_range_open(struct id_range *range, unsigned outer_count, struct pr_error *error);
void id_range_close(struct id_range *range);

/* Takes a pair: its first id (init; the candidate has the next one). */
int id_range_take(struct id_range *range, uid_t *ret_base, struct pr_error *error);
void id_range_give_back(struct id_range *range, uid_t base);

#endif
