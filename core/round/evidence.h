/*
 * A task's evidence: its trees, streams and patch. Everything here reads or writes files and may take a
 * while, so it is called from libuv's threads; one thread at a time has a struct evidence, and the loop looks at
 * it only while none has (task.c).
 *
 * evidence_init -> evidence_prepare -> (agent) -> evidence_collect -> evidence_patch -> (tests) -> evidence_release
 */
#ifndef CORE_ROUND_EVIDENCE_H
#define CORE_ROUND_EVIDENCE_H

#include "core/evaluation/verdict.h"
#include "core/round/spec.h"
#include "core/round/subject.h"
#include "core/workspace/collection.h"
#include "core/workspace/store.h"

struct evidence {
	struct store *store;
	const struct task_spec *spec;
	const struct subject *subject;
	const struct limits_spec *limits;	/* of the workspace; borrowed */
	int dirfd;			/* tasks/TASK; borrowed */

	/* Streams, in files without a name; -1: none. agent_fd holds HOME too, and protects nothing as the others do. */
	int agent_fd, subject_fd, patched_fd;
	int pipe;			/* the collector's stream; owned once evidence_collect() has it */
	int wake;			/* an eventfd: no writer of the pipe is left, take what is there */

	enum collection_outcome outcome;
	enum workspace_reason reason;
	char path[300];			/* safe text */
	struct tree collected, patched;
	bool has_collected, has_patched;

	enum verdict_patch patch;
	char patch_words[300];
	bool partial;
	size_t unsaid;			/* paths that the rendering cannot say */
	size_t patch_bytes;
	size_t restored;		/* protected paths */
	char subject_object[STORE_ID], collected_object[STORE_ID], patched_object[STORE_ID];

	struct pr_error error;		/* of the call that failed */
};

int evidence_init(struct evidence *evidence, struct store *store, const struct task_spec *spec,
		  const struct subject *subject, const struct limits_spec *limits, int dirfd);
void evidence_release(struct evidence *evidence);

/* The subject as streams. Negative errno with `error` set, here and below. */
int evidence_prepare(struct evidence *evidence);
/* Reads the collector's stream to its end, then `outcome`, and `collected` where it is whole. */
int evidence_collect(struct evidence *evidence);
/* The patch, the protected paths, the stream for the patched tests. May find a violation: look at `outcome` again. */
int evidence_patch(struct evidence *evidence);
/* A descriptor of its own offset on one of the streams, or -errno. */
int evidence_stream(int fd);

#endif
