/* The graded claims: an axis is what the dry run showed, and the conjunction is of true alone (rulings). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/containment/facts.h"

static struct worker worker_with(enum axis odd, enum axis_value value)
{
	struct worker worker;
	memset(&worker, 0, sizeof worker);
	for (int i = 0; i < AXIS_COUNT; i++)
		worker.axes.of[i].value = i == (int)odd ? value : AXIS_TRUE;
	return worker;
}

static struct json_object *member(struct json_object *object, const char *name)
{
	struct json_object *found = NULL;
	assert_true(json_object_object_get_ex(object, name, &found));
	return found;
}

static void test_all_true_is_certifiable(void **state)
{
	(void)state;
	struct worker worker = worker_with(AXIS_COUNT, AXIS_TRUE);
	struct json_object *facts = facts_containment(&worker, 0, false);
	assert_true(json_object_get_boolean(member(facts, "certifiable")));
	assert_true(json_object_get_boolean(member(facts, "enforced")));
	assert_int_equal(json_object_array_length(member(facts, "uncertifiable_reasons")), 0);
	/* Nothing is confirmed on this boot: the weaker name. */
	assert_string_equal(json_object_get_string(member(facts, "profile")), "traaviis.cgroup-kill-observed.v1");
	json_object_put(facts);
}

/* Each axis alone, false or unknown, ends it, and says so by its name. */
static void test_one_axis_ends_it(void **state)
{
	(void)state;
	static const char *const names[] = {
#define X(identifier, name, check) name,
		CONTAINMENT_AXES(X)
#undef X
	};
	for (int axis = 0; axis < AXIS_COUNT; axis++)
		for (enum axis_value value = AXIS_UNKNOWN; value <= AXIS_FALSE; value++) {
			struct worker worker = worker_with((enum axis)axis, value);
			struct json_object *facts = facts_containment(&worker, 0, false);
			struct json_object *claimed = member(facts, names[axis]), *reasons = member(facts, "uncertifiable_reasons");
			assert_false(json_object_get_boolean(member(facts, "certifiable")));
			if (value == AXIS_UNKNOWN)
				assert_string_equal(json_object_get_string(claimed), "unknown");
			else
				assert_true(json_object_is_type(claimed, json_type_boolean) && !json_object_get_boolean(claimed));
			assert_int_equal(json_object_array_length(reasons), 1);
			const char *reason = json_object_get_string(json_object_array_get_idx(reasons, 0));
			assert_int_equal(strncmp(reason, names[axis], strlen(names[axis])), 0);
			json_object_put(facts);
		}
}

static void test_survivors_end_it(void **state)
{
	(void)state;
	struct worker worker = worker_with(AXIS_COUNT, AXIS_TRUE);
	struct json_object *facts = facts_containment(&worker, 3, false);
	assert_int_equal(json_object_get_int(member(facts, "remaining_processes")), 3);
	assert_false(json_object_get_boolean(member(facts, "enforced")));
	assert_false(json_object_get_boolean(member(facts, "certifiable")));
	json_object_put(facts);
}

/* Without layers no more than the kill boundary is claimed, whatever the dry run showed of a run with them. */
static void test_without_layers(void **state)
{
	(void)state;
	struct worker worker = worker_with(AXIS_COUNT, AXIS_TRUE);
	struct json_object *facts = facts_containment(&worker, 0, true);
	assert_true(json_object_get_boolean(member(facts, "enforced")));
	assert_false(json_object_get_boolean(member(facts, "control_plane_isolated")));
	assert_false(json_object_get_boolean(member(facts, "certifiable")));
	json_object_put(facts);
}

/* A worker that tried nothing claims nothing. */
static void test_nothing_tried(void **state)
{
	(void)state;
	struct worker worker;
	memset(&worker, 0, sizeof worker);
	struct json_object *facts = facts_containment(&worker, 0, false);
	assert_false(json_object_get_boolean(member(facts, "enforced")));
	assert_false(json_object_get_boolean(member(facts, "certifiable")));
	assert_int_equal(json_object_array_length(member(facts, "uncertifiable_reasons")), AXIS_COUNT);
	json_object_put(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_true_is_certifiable), cmocka_unit_test(test_one_axis_ends_it),
		cmocka_unit_test(test_survivors_end_it), cmocka_unit_test(test_without_layers),
		cmocka_unit_test(test_nothing_tried),
	};
	return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
