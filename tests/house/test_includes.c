/*
 * Which room may look into which (docs/architecture.md, "Rooms"), read from the sources' own includes, and that
 * the front's program is linked against nothing that executes, opens repositories or speaks HTTP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/house/elf_image.h"
#include "tests/house/sources.h"
#include "tests/house/tokens.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

/*
 * The one table. A room is a folder; the longest name that a file is below is its room. Beside its own it may include
 * these files and folders of the tree, with all below them.
 */
struct room {
	const char *folder;
	const char *may[12];
};

static const struct room ROOMS[] = {
	{ "include/proctor/", { "include/proctor/" } },
	{ "core/base/", { "include/proctor/" } },
	{ "core/record/", { "include/proctor/", "core/base/" } },
	{ "core/workspace/", { "include/proctor/", "core/base/", "core/record/" } },
	{ "core/workspace/inside/", { "include/proctor/", "core/base/", "core/record/glob.h", "core/workspace/limits.h",
				      "core/workspace/stream.h" } },
	{ "core/containment/", { "include/proctor/", "core/base/", "core/workspace/inside/", "core/workspace/limits.h" } },
	{ "core/evaluation/", { "include/proctor/", "core/base/", "core/record/", "core/workspace/" } },
	{ "core/round/", { "include/proctor/", "core/base/", "core/record/", "core/workspace/", "core/evaluation/",
			   "core/containment/protocol.h" } },
	{ "tui/", { "include/proctor/", "core/base/", "core/record/" } },
};

/* Libraries that a front must not be linked against, by the start of their names. */
static const char *const NOT_IN_FRONT[] = { "libseccomp", "libgit2", "libcurl", "libmicrohttpd", "libarchive" };

static bool below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	return folder[length - 1] == '/' ? strncmp(path, folder, length) == 0 : strcmp(path, folder) == 0;
}

static const struct room *room_of(const char *path)
{
	const struct room *found = NULL;
	for (size_t i = 0; i < ELEMENTS(ROOMS); i++)
		if (below(path, ROOMS[i].folder) && (!found || strlen(ROOMS[i].folder) > strlen(found->folder)))
			found = &ROOMS[i];
	return found;
}

/* The own room and what lies in it, and what the table names. */
static bool allowed(const struct room *room, const char *included)
{
	if (below(included, room->folder))
		return true;
	for (size_t i = 0; i < ELEMENTS(room->may) && room->may[i]; i++)
		if (below(included, room->may[i]))
			return true;
	return false;
}

/* The tree's path of an #include at `at` ("" where it is a header of the system). */
static void included_path(const struct token_list *list, size_t at, const char *own_path, char *ret_path, size_t size)
{
	const struct token *token = &list->tokens[at];
	ret_path[0] = '\0';
	if (token->kind == TOKEN_STRING) {
		/* Quoted includes are from the tree's root; what is not there is a neighbour of the file. */
		static const char *const tops[] = { "core/", "tui/", "tests/", "include/" };
		for (size_t i = 0; i < ELEMENTS(tops); i++) {
			if (strncmp(token->text, tops[i], strlen(tops[i])) == 0) {
				snprintf(ret_path, size, "%s", token->text);
				return;
			}
		}
		const char *slash = strrchr(own_path, '/');
		snprintf(ret_path, size, "%.*s%s", slash ? (int)(slash + 1 - own_path) : 0, own_path, token->text);
		return;
	}
	/* <proctor/event.h> comes as punctuation and names. */
	if (!token_is(token, TOKEN_PUNCTUATION, "<") || !token_is(token + 1, TOKEN_NAME, "proctor"))
		return;
	snprintf(ret_path, size, "include/");
	for (token++; token->kind != TOKEN_END && token->in_directive && !token_is(token, TOKEN_PUNCTUATION, ">"); token++) {
		size_t used = strlen(ret_path);
		snprintf(ret_path + used, size - used, "%s", token->text);
	}
}

/* How many includes of these sources the table does not allow. */
static int count_faults(const struct sources *sources, bool print)
{
	int faults = 0;
	for (size_t i = 0; i < sources->count; i++) {
		const char *path = sources->files[i].path;
		const struct room *room = room_of(path);
		if (!room) {
			if (print)
				print_error("%s: in no room of the table\n", path);
			faults++;
			continue;
		}
		struct token_list list = tokens_of(sources->files[i].text);
		for (size_t at = 0; at + 2 < list.count; at++) {
			if (!token_is(&list.tokens[at], TOKEN_PUNCTUATION, "#") || !list.tokens[at].starts_line ||
			    !token_is(&list.tokens[at + 1], TOKEN_NAME, "include"))
				continue;
			char included[512];
			included_path(&list, at + 2, path, included, sizeof included);
			if (!included[0] || allowed(room, included))
				continue;
			if (print)
				print_error("%s:%u: %s may not include %s\n", path, list.tokens[at].line, room->folder, included);
			faults++;
		}
		tokens_release(&list);
	}
	return faults;
}

static void read_tree(struct sources *sources)
{
	static const char *const endings[] = { ".c", ".h", NULL };
	sources_read(sources, "include/proctor", endings);
	sources_read(sources, "core", endings);
	sources_read(sources, "tui", endings);
}

static void test_includes_go_one_way(void **state)
{
	(void)state;
	struct sources sources = { 0 };
	read_tree(&sources);
	assert_true(sources.count > 20);
	int faults = count_faults(&sources, true);
	sources_release(&sources);
	assert_int_equal(faults, 0);
}

/* The test can fail: each of these looks where its room may not. */
static void test_planted_includes_are_refused(void **state)
{
	(void)state;
	static const struct { const char *path, *text; bool refused; } planted[] = {
		{ "tui/a.c", "#include \"core/round/scheduler.h\"\n", true },
		{ "tui/a.c", "#include \"core/workspace/store.h\"\n", true },
		{ "tui/a.c", "#include \"core/record/json.h\"\n", false },
		{ "core/base/a.c", "#include \"core/record/json.h\"\n", true },
		{ "core/record/a.c", "#  include \"core/workspace/store.h\"\n", true },
		{ "core/record/a.c", "#include <proctor/event.h>\n", false },
		{ "core/containment/a.c", "#include \"core/workspace/store.h\"\n", true },
		{ "core/containment/a.c", "#include \"core/workspace/inside/unpack.h\"\n", false },
		{ "core/containment/layers/a.c", "#include \"core/record/json.h\"\n", true },
		{ "core/workspace/inside/a.c", "#include \"core/workspace/tree.h\"\n", true },
		{ "core/workspace/inside/a.c", "#include \"core/workspace/stream.h\"\n", false },
		{ "core/round/a.c", "#include \"core/containment/kill.h\"\n", true },
		{ "core/round/a.c", "#include \"core/containment/protocol.h\"\n", false },
		{ "core/evaluation/a.c", "#include \"core/round/round.h\"\n", true },
		{ "include/proctor/a.h", "#include \"core/base/buffer.h\"\n", true },
		{ "core/base/a.c", "/* #include \"tui/app.h\" */\n", false },
		{ "core/elsewhere/a.c", "\n", true },
	};
	for (size_t i = 0; i < ELEMENTS(planted); i++) {
		struct sources sources = { 0 };
		sources_plant(&sources, planted[i].path, planted[i].text);
		int faults = count_faults(&sources, false);
		sources_release(&sources);
		if ((faults > 0) != planted[i].refused)
			fail_msg("%s: %s", planted[i].path, planted[i].text);
	}
}

/* Files that include a header of curses, but for the one that may: views and layouts are pure, and drawn in one place. */
static int count_curses(const struct sources *sources)
{
	int faults = 0;
	for (size_t i = 0; i < sources->count; i++) {
		struct token_list list = tokens_of(sources->files[i].text);
		for (size_t at = 0; at + 3 < list.count; at++) {
			if (!token_is(&list.tokens[at], TOKEN_NAME, "include") || !token_is(&list.tokens[at + 1], TOKEN_PUNCTUATION, "<"))
				continue;
			bool curses = strstr(list.tokens[at + 2].text, "curses") != NULL || token_is(&list.tokens[at + 2], TOKEN_NAME, "term");
			if (curses && strcmp(sources->files[i].path, "tui/full/term.c") != 0) {
				print_message("%s includes curses\n", sources->files[i].path);
				faults++;
			}
		}
		tokens_release(&list);
	}
	return faults;
}

static void test_one_file_knows_curses(void **state)
{
	(void)state;
	struct sources sources = { 0 };
	read_tree(&sources);
	int faults = count_curses(&sources);
	sources_release(&sources);
	assert_int_equal(faults, 0);

	/* It can fail. */
	struct sources planted = { 0 };
	sources_plant(&planted, "tui/full/views/tasks.c", "#include <ncursesw/curses.h>\n");
	sources_plant(&planted, "tui/full/term.c", "#include <curses.h>\n");
	faults = count_curses(&planted);
	sources_release(&planted);
	assert_int_equal(faults, 1);
}

static void test_the_front_links_no_sandbox(void **state)
{
	(void)state;
	const char *const path = PROCTOR_BUILD "/proctor";
	if (!scratch_exists(path))
		skip_test("%s is not built", path);
	struct elf_image image;
	assert_int_equal(elf_image_open(&image, path), 0);
	char needed[64][128];
	int count = elf_image_needed(&image, needed, 64);
	elf_image_close(&image);
	assert_true(count > 0);
	for (int n = 0; n < count; n++)
		for (size_t i = 0; i < ELEMENTS(NOT_IN_FRONT); i++)
			if (strncmp(needed[n], NOT_IN_FRONT[i], strlen(NOT_IN_FRONT[i])) == 0)
				fail_msg("proctor is linked against %s", needed[n]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_includes_go_one_way),
		cmocka_unit_test(test_planted_includes_are_refused),
		cmocka_unit_test(test_one_file_knows_curses),
		cmocka_unit_test(test_the_front_links_no_sandbox),
	};
	return cmocka_run_group_tests_name("includes", tests, NULL, NULL);
}
