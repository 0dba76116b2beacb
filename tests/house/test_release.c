/*
 * A release program has no guard switch (core/base/guard.h): neither the variable's name, nor an id, nor the
 * function is in it. The programs of the test build have all of them, so that this test can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/guard.h"
#include "tests/house/elf_image.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

static const char VARIABLE[] = "PROCTOR_WITHOUT";

/* `switched`: the program rests a law on a guard, so that its twin of the test build must hold the switch. */
static const struct { const char *name; bool switched; } PROGRAMS[] = {
	{ "proctor", false },
	{ "proctor-core", true },
	{ "proctor-worker", true },
	{ "proctor-init", true },
};

static const char *const IDS[] = {
#define X(identifier, id, what, laws) id,
	GUARDS(X)
#undef X
};

/*
 * An id stands in a binary as a whole C string. Ids without a hyphen ("network", "seccomp") are the words of
 * layers and of the round file too and tell nothing.
 */
static bool holds_id(const struct elf_image *image, const char *id)
{
	char whole[128] = { 0 };
	size_t length = strlen(id);
	assert_true(length + 2 <= sizeof whole);
	memcpy(whole + 1, id, length);
	return strchr(id, '-') && elf_image_loads(image, whole, length + 2);
}

/* What of the switches the image holds; NULL where nothing. */
static const char *switch_in(const struct elf_image *image)
{
	if (elf_image_loads(image, VARIABLE, strlen(VARIABLE)))
		return VARIABLE;
	static const char *const symbols[] = { "guard_holds", "guard_environment" };
	for (size_t i = 0; i < ELEMENTS(symbols); i++)
		if (elf_image_defines(image, symbols[i]))
			return symbols[i];
	/* A table of ids without the rest would be a guard's leftover; two are no coincidence of words. */
	int ids = 0;
	const char *last = NULL;
	for (size_t i = 0; i < ELEMENTS(IDS); i++) {
		if (holds_id(image, IDS[i])) {
			last = IDS[i];
			ids++;
		}
	}
	return ids ? last : NULL;
}

static void test_release_programs_have_no_switch(void **state)
{
	(void)state;
	int looked = 0;
	for (size_t i = 0; i < ELEMENTS(PROGRAMS); i++) {
		_cleanup_free_ char *path = scratch_text("%s/%s", PROCTOR_BUILD, PROGRAMS[i].name);
		struct elf_image image;
		if (elf_image_open(&image, path) < 0) {
			if (scratch_exists(path))
				fail_msg("%s is no ELF file", path);
			continue;
		}
		looked++;
		const char *found = switch_in(&image);
		elf_image_close(&image);
		if (found)
			fail_msg("%s holds %s", path, found);
	}
	if (looked < (int)ELEMENTS(PROGRAMS))
		skip_test("%d of %d programs are not built", (int)ELEMENTS(PROGRAMS) - looked, (int)ELEMENTS(PROGRAMS));
}

static void test_programs_of_the_test_build_have_it(void **state)
{
	(void)state;
	int looked = 0, wanted = 0;
	for (size_t i = 0; i < ELEMENTS(PROGRAMS); i++) {
		if (!PROGRAMS[i].switched)
			continue;
		wanted++;
		_cleanup_free_ char *path = scratch_text("%s/tests/guarded/%s", PROCTOR_BUILD, PROGRAMS[i].name);
		struct elf_image image;
		if (elf_image_open(&image, path) < 0)
			continue;
		looked++;
		bool variable = elf_image_loads(&image, VARIABLE, strlen(VARIABLE));
		bool function = elf_image_defines(&image, "guard_holds");
		bool id = false;
		for (size_t n = 0; n < ELEMENTS(IDS); n++)
			id = id || holds_id(&image, IDS[n]);
		elf_image_close(&image);
		if (!variable || !function || !id)
			fail_msg("%s lacks %s", path, !variable ? VARIABLE : !function ? "guard_holds" : "the ids");
	}
	if (looked < wanted)
		skip_test("%d of %d programs with guard switches are not built", wanted - looked, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release_programs_have_no_switch),
		cmocka_unit_test(test_programs_of_the_test_build_have_it),
	};
	return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
