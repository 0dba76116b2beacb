/* Skips that say why, and that PROCTOR_NO_SKIP=1 turns into failures. */
#ifndef TESTS_SUPPORT_SKIP_H
#define TESTS_SUPPORT_SKIP_H

#include <stdbool.h>

/*
 * Prints "skipped: REASON" (.ci/run gathers these lines). Returns true where the caller may skip, false
 * where it has to fail instead.
 */
bool skip_allowed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In a cmocka test: skips this one test, or fails it under PROCTOR_NO_SKIP. */
#define skip_test(...) do { \
		if (skip_allowed(__VA_ARGS__)) \
			skip(); \
		fail_msg("PROCTOR_NO_SKIP is set, and this test would skip"); \
	} while (0)

/* Ends the program: exit code 77, which ctest counts as a skip; 1 under PROCTOR_NO_SKIP. */
_Noreturn void skip_program(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
