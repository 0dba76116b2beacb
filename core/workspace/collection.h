/*
 * A collection: the core's end of the stream that the collector sends from inside a fresh boundary.
 *
 * The stream is untrusted: every record is checked again for order, bounds, names and types, content is
 * digested and stored as it comes, and memory stays at one file (64 MiB at most). Feed the bytes as they
 * arrive, in pieces of any size, then finish. Content that equals the subject's at the same path is not stored twice.
 */
#ifndef CORE_WORKSPACE_COLLECTION_H
#define CORE_WORKSPACE_COLLECTION_H

#include "core/workspace/limits.h"
#include "core/workspace/tree.h"

struct collection;

enum collection_outcome {
	COLLECTION_WHOLE,	/* the tree is complete */
	COLLECTION_VIOLATION,	/* refused at first proof: the candidate's doing (reason, path) */
	COLLECTION_BROKEN,	/* no whole stream: the host's fault (the collector died, I/O error) */
};

/* `subject` (may be NULL; sorted) must outlive the collection; its symbolic links may stand unchanged, no others. */
int collection_new(struct store *store, const struct tree *subject, const struct workspace_limits *limits,
		   struct collection **ret_collection, struct pr_error *error);
void collection_free(struct collection *collection);

/* 0, or a negative errno for an error of ours (store, memory). After a violation further bytes are dropped. */
int collection_feed(struct collection *collection, const void *bytes, size_t length, struct pr_error *error);

/* The stream has had its last record (or is beyond repair): no further byte is of interest. */
bool collection_ended(const struct collection *collection);

/*
 * Ends the stream. Returns 0 for each outcome; a negative errno is an error of ours. COLLECTION_BROKEN: `error` says what
 * was wrong with the stream, for the event that charges the host; nothing else is filled. COLLECTION_WHOLE: `ret_tree` is filled (sorted; the caller's). COLLECTION_VIOLATION:
 * `ret_reason` is one of limits.h' reasons, `ret_path` the path as raw bytes (heap, NUL-terminated).
 */
int collection_finish(struct collection *collection, enum collection_outcome *ret_outcome, struct tree *ret_tree,
		      enum workspace_reason *ret_reason, char **ret_path, struct pr_error *error);

#endif
