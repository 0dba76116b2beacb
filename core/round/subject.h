/*
 * Subjects of a round: each distinct (repository, commit) or directory is read once, before anything
 * starts, so that a missing commit or a subject that no collection would take is a fault of the round file, and
 * every task and repeat starts from the same sealed tree.
 */
#ifndef CORE_ROUND_SUBJECT_H
#define CORE_ROUND_SUBJECT_H

#include "core/round/faults.h"
#include "core/round/spec.h"
#include "core/workspace/store.h"
#include "core/workspace/tree.h"

struct subject {
	enum subject_kind kind;
	const char *place, *commit;	/* as the first task says them */
	char commit_id[STORE_ID];	/* full; empty for a directory */
	struct tree tree;
	bool read;
};

struct subjects {
	struct subject *items;		/* one for each task at most */
	size_t count;
	size_t *of_task;		/* number of the subject, by task */
};

/*
 * Reads the subjects of all tasks for which `wanted` (NULL: all) is true, and puts the full commit ids into the
 * spec. -EBADMSG: there are faults. The subjects must outlive every task that uses them.
 */
int subjects_read(struct subjects *subjects, struct store *store, struct round_spec *spec, const bool *wanted,
		  struct faults *faults, struct pr_error *error);
void subjects_release(struct subjects *subjects);
const struct subject *subject_of(const struct subjects *subjects, size_t task);

#endif
