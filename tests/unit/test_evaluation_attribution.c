/* The attribution table: every row is whole and agrees with itself and with the scoring of formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/evaluation/attribution.h"

static void every_row_is_whole(void **state)
{
	(void)state;
	for (int i = 0; i < ATTRIBUTION_COUNT; i++) {
		const struct attribution_row *row = attribution_row((enum attribution)i);
		assert_non_null(row->id);
		assert_true(row->id[0] && row->words[0] && row->reason[0]);
		assert_null(strchr(row->reason, '\n'));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(attribution_row((enum attribution)k)->id, row->id);
	}
}

/* Formats, Scoring: invalid is 0.0; an error is no reward and an invalid episode; what is scored is valid. */
static void status_reward_and_validity_agree(void **state)
{
	(void)state;
	for (int i = 0; i < ATTRIBUTION_COUNT; i++) {
		const struct attribution_row *row = attribution_row((enum attribution)i);
		switch (row->status) {
		case STATUS_INVALID:
			assert_int_equal(row->reward, REWARD_ZERO);
			assert_string_equal(row->validity, "invalid");
			assert_int_equal(row->charged, CHARGED_CANDIDATE);
			break;
		case STATUS_ERROR:
			assert_int_equal(row->reward, REWARD_NULL);
			assert_string_equal(row->validity, "invalid");
			assert_int_not_equal(row->charged, CHARGED_NOBODY);
			break;
		case STATUS_OK:
		case STATUS_SCORED:
			assert_int_not_equal(row->reward, REWARD_NULL);
			assert_string_equal(row->validity, "valid");
			break;
		case STATUS_STOPPED:
		case STATUS_REFUSED:
			assert_int_equal(row->reward, REWARD_NULL);
			assert_null(row->validity);
			break;
		}
	}
}

static void causes_are_those_of_the_rulings(void **state)
{
	static const char *const causes[] = { "workspace_quota", "memory_limit", "process_limit", "wall_clock", "spend_limit",
		"round_limit", "provider", "owner_stop" };
	(void)state;
	for (size_t c = 0; c < sizeof causes / sizeof causes[0]; c++) {
		int rows = 0;
		for (int i = 0; i < ATTRIBUTION_COUNT; i++) {
			const char *cause = attribution_row((enum attribution)i)->cause;
			rows += cause && strcmp(cause, causes[c]) == 0;
		}
		assert_true(rows > 0);
	}
	for (int i = 0; i < ATTRIBUTION_COUNT; i++) {
		const char *cause = attribution_row((enum attribution)i)->cause;
		int known = cause == NULL;
		for (size_t c = 0; cause && c < sizeof causes / sizeof causes[0]; c++)
			known += strcmp(cause, causes[c]) == 0;
		assert_int_equal(known, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(status_reward_and_validity_agree),
		cmocka_unit_test(causes_are_those_of_the_rulings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
