/* Any bytes as a collection stream: an outcome, never a crash; a whole one has names that lead down only. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/workspace/collection.h"
#include "core/workspace/stream.h"
#include "tests/fuzz/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct collection *collection;
	struct tree tree = { 0 };
	enum workspace_reason reason;
	enum collection_outcome outcome;
	char *path = NULL;

	if (collection_new(fuzz_store(), NULL, &WORKSPACE_LIMITS_E1, &collection, NULL) < 0)
		abort();
	/* The first byte says in which pieces it comes. */
	size_t step = length ? bytes[0] % 64 + 1 : 1;
	for (size_t at = 1; at < length; at += step)
		if (collection_feed(collection, bytes + at, step < length - at ? step : length - at, NULL) < 0)
			abort();
	if (collection_finish(collection, &outcome, &tree, &reason, &path, NULL) < 0)
		abort();
	for (size_t i = 0; i < tree.count; i++)
		if (!stream_name_stands(tree.entries[i].path, strlen(tree.entries[i].path)))
			abort();
	if (outcome == COLLECTION_VIOLATION && (!path || reason > REASON_WORKSPACE_TOO_LARGE))
		abort();
	free(path);
	tree_release(&tree);
	collection_free(collection);
	return 0;
}
