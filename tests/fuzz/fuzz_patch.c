/* Any bytes as a patch over a small tree: applied whole or refused, and what was applied is a tree. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/workspace/patch.h"
#include "tests/fuzz/workspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void add(struct tree *tree, const char *path, const char *text)
{
	char id[STORE_ID], sha256[DIGEST_HEX];
	digest_bytes(text, strlen(text), sha256);
	if (store_write(fuzz_store(), text, strlen(text), id, NULL) < 0 ||
	    tree_add(tree, path, TREE_FILE, 0644, strlen(text), id, sha256) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct tree before;
	struct tree after = { 0 };

	if (before.count == 0) {
		add(&before, "a", "one\ntwo\nthree\n");
		add(&before, "b", "x\ny");
		add(&before, "d/e", "");
		if (tree_complete(&before, NULL, NULL) < 0)
			abort();
	}
	int r = patch_apply(fuzz_store(), &before, (const char *)bytes, length, &after, NULL);
	if (r != 0 && r != -EBADMSG)
		abort();
	if (r == 0 && tree_complete(&after, NULL, NULL) < 0)
		abort();
	tree_release(&after);
	return 0;
}
