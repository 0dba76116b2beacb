/* The key table: no press means two things in one place, all that it says is said; and bytes become presses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/full/keys.h"
#include "tui/full/press.h"

static void test_presses_are_unique(void **state)
{
	(void)state;
	for (enum verb one = 0; one < VERB_COUNT; one++)
		for (enum verb other = one + 1; other < VERB_COUNT; other++)
			for (size_t i = 0; i < KEY_PRESSES; i++)
				for (size_t j = 0; j < KEY_PRESSES; j++) {
					int press = key_table[one].presses[i];
					if (press == PRESS_NONE || press != key_table[other].presses[j])
						continue;
					if (key_table[one].scope & key_table[other].scope)
						fail_msg("%s and %s have a key in common", key_table[one].shown, key_table[other].shown);
				}
}

static bool is_plain(int press)
{
	return press < 0x7f;
}

static void test_table_is_whole(void **state)
{
	(void)state;
	for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
		const struct key *key = &key_table[verb];
		bool plain = false;
		for (size_t i = 0; i < KEY_PRESSES; i++) {
			plain |= key->presses[i] != PRESS_NONE && is_plain(key->presses[i]);
			for (unsigned scope = 1; key->presses[i] && scope <= SCOPE_GATE; scope <<= 1)
				if (key->scope & scope)
					assert_int_equal(keys_verb(key->presses[i], scope), verb);
		}
		/* A key that a terminal sends by a sequence of its own has a letter beside it. */
		if (!plain)
			fail_msg("%s has no plain key", key->help);
		assert_true(key->shown[0] && key->help[0] && key->scope);
	}
	assert_int_equal(keys_verb('y', SCOPE_ALL), VERB_NONE);
	assert_int_equal(keys_verb('y', SCOPE_TASKS | SCOPE_GATE), VERB_START);
	assert_int_equal(keys_verb('\n', SCOPE_TASKS), VERB_OPEN);
	assert_int_equal(keys_verb(PRESS_NONE, ~0u), VERB_NONE);
	assert_int_equal(keys_verb(PRESS_UNKNOWN, ~0u), VERB_NONE);
}

static void test_sheet_names_every_key(void **state)
{
	(void)state;
	_cleanup_buffer_ struct buffer sheet = BUFFER_INIT;
	assert_int_equal(keys_sheet(&sheet), 0);
	for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
		assert_non_null(strstr(sheet.data, key_table[verb].shown));
		assert_non_null(strstr(sheet.data, key_table[verb].help));
	}
}

static void assert_presses(const char *bytes, const int *expected, size_t count)
{
	struct presses presses = { .length = 0 };
	presses_feed(&presses, bytes, strlen(bytes));
	for (size_t i = 0; i < count; i++) {
		int press = presses_next(&presses);
		if (press != expected[i])
			fail_msg("press %zu of %zu is %#x, not %#x", i, count, (unsigned)press, (unsigned)expected[i]);
	}
	assert_int_equal(presses_next(&presses), PRESS_NONE);
}

static void test_bytes_become_presses(void **state)
{
	(void)state;
	assert_presses("jS\r", (int[]){ 'j', 'S', '\r' }, 3);
	assert_presses("\x1b[A\x1bOB\x1b[5~q", (int[]){ PRESS_UP, PRESS_DOWN, PRESS_PAGE_UP, 'q' }, 4);
	/* Sequences that mean nothing to us are swallowed whole: no S stops anything, no x either. */
	assert_presses("\x1b[200~\x1b[1;5S\x1b[<0;3;4M\x1bOSj", (int[]){ PRESS_UNKNOWN, PRESS_UNKNOWN, PRESS_UNKNOWN, PRESS_UNKNOWN, 'j' }, 5);
	assert_presses("\x1b]0;Sx\x07k\x1bPSx\x1b\\l", (int[]){ PRESS_UNKNOWN, 'k', PRESS_UNKNOWN, 'l' }, 4);
	/* Two presses that a slow line brought together. */
	assert_presses("\x1b" "n", (int[]){ PRESS_ESCAPE, 'n' }, 2);
	/* What no key of ours sends. */
	assert_presses("\xc3\xa4", (int[]){ PRESS_UNKNOWN, PRESS_UNKNOWN }, 2);
}

static void test_an_escape_waits_a_moment(void **state)
{
	(void)state;
	struct presses presses = { .length = 0 };
	presses_feed(&presses, "\x1b", 1);
	assert_int_equal(presses_next(&presses), PRESS_NONE);
	int wait = presses_wait_ms(&presses);
	assert_true(wait > 0 && wait < 1000);
	clock_sleep_ns((wait + 5) * NS_PER_MS);
	assert_int_equal(presses_next(&presses), PRESS_ESCAPE);
	assert_int_equal(presses_wait_ms(&presses), -1);
	/* Torn: what there is of it means nothing. */
	presses_feed(&presses, "\x1b[1", 3);
	assert_int_equal(presses_next(&presses), PRESS_NONE);
	clock_sleep_ns((wait + 5) * NS_PER_MS);
	assert_int_equal(presses_next(&presses), PRESS_UNKNOWN);
	assert_int_equal(presses_next(&presses), PRESS_NONE);
}

static void test_a_flood_never_fills_it(void **state)
{
	(void)state;
	struct presses presses = { .length = 0 };
	char flood[PRESSES_BYTES];
	memset(flood, '1', sizeof flood);
	memcpy(flood, "\x1b[", 2);
	presses_feed(&presses, flood, sizeof flood);
	while (presses_next(&presses) != PRESS_NONE)
		;
	assert_true(presses_room(&presses) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_presses_are_unique),
		cmocka_unit_test(test_table_is_whole),
		cmocka_unit_test(test_sheet_names_every_key),
		cmocka_unit_test(test_bytes_become_presses),
		cmocka_unit_test(test_an_escape_waits_a_moment),
		cmocka_unit_test(test_a_flood_never_fills_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
