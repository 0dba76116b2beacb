/* The bounds of E1 that stand behind the collection: result.json and candidate.patch, each at its edge. */
#include "tests/unit/test_workspace.h"

#include "core/round/evidence.h"

#define EDGE 8388608	/* rulings, E1 */

/* A whole collection with one file of blanks, which is no patch, so that one is rendered; then what evidence_patch makes of it. */
static void patch_of(struct place *place, const char *name, size_t length, bool in_subject, enum collection_outcome *ret_outcome,
		     enum workspace_reason *ret_reason)
{
	struct subject subject = { 0 };
	const struct task_spec spec = { .id = "t" };
	const struct limits_spec limits = { .workspace_bytes = 1u << 30, .inodes = 1000 };
	struct evidence evidence;
	_cleanup_free_ char *blanks = malloc(length);
	memset(blanks, ' ', length);
	assert_int_equal(evidence_init(&evidence, place->store, &spec, &subject, &limits, place->fd), 0);
	if (in_subject)
		add_content(place, &subject.tree, name, TREE_FILE, 0644, blanks, length);
	add_content(place, &evidence.collected, name, TREE_FILE, 0644, blanks, length);
	evidence.outcome = COLLECTION_WHOLE;
	evidence.has_collected = true;
	int r = evidence_patch(&evidence);
	if (r < 0)
		fail_msg("%s", evidence.error.message);
	*ret_outcome = evidence.outcome;
	*ret_reason = evidence.reason;
	evidence_release(&evidence);
	tree_release(&subject.tree);
}

static void at_the_edge(struct place *place, const char *name, enum workspace_reason reason)
{
	enum collection_outcome outcome;
	enum workspace_reason found;

	patch_of(place, name, EDGE, false, &outcome, &found);
	assert_int_equal(outcome, COLLECTION_WHOLE);
	patch_of(place, name, EDGE + 1, false, &outcome, &found);
	assert_int_equal(outcome, COLLECTION_VIOLATION);
	assert_int_equal(found, reason);
	/* what the subject held is no result */
	patch_of(place, name, EDGE + 1, true, &outcome, &found);
	assert_int_equal(outcome, COLLECTION_WHOLE);

	setenv("PROCTOR_WITHOUT", "collect-bounds", 1);
	patch_of(place, name, EDGE + 1, false, &outcome, &found);
	unsetenv("PROCTOR_WITHOUT");
	assert_int_equal(outcome, COLLECTION_WHOLE);
}

static void test_result(void **state)
{
	at_the_edge(*state, "result.json", REASON_RESULT_TOO_LARGE);
}

static void test_patch(void **state)
{
	at_the_edge(*state, "candidate.patch", REASON_PATCH_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = { place_test(test_result), place_test(test_patch) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
