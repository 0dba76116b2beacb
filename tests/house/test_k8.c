/*
 * Law K8: exactly one function kills a boundary, and each kill primitive has at most one call site in core/ and
 * tui/ (attempts and tests aside). A second copy of a guard would make every deletion probe unsound.
 *
 * The probe of this law is a planted second call: each primitive's must turn the count red, and what only
 * looks like a call must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/house/sources.h"
#include "tests/house/tokens.h"

/*
 * What can end another process. `number` is the name below SYS_ and __NR_ where syscall(2) reaches it too.
 * Aliases of one primitive stand in one row: the law counts primitives, not spellings.
 */
struct primitive {
	const char *name;
	const char *spellings[8];
};

static const struct primitive PRIMITIVES[] = {
	{ "kill", { "kill", "SYS_kill", "__NR_kill", "uv_kill", "uv_process_kill" } },
	{ "killpg", { "killpg" } },
	{ "tgkill", { "tgkill", "SYS_tgkill", "__NR_tgkill", "tkill", "SYS_tkill", "__NR_tkill", "pthread_kill" } },
	{ "pidfd_send_signal", { "pidfd_send_signal", "SYS_pidfd_send_signal", "__NR_pidfd_send_signal" } },
	{ "rt_sigqueueinfo", { "rt_sigqueueinfo", "SYS_rt_sigqueueinfo", "__NR_rt_sigqueueinfo", "sigqueue",
			       "SYS_rt_tgsigqueueinfo", "__NR_rt_tgsigqueueinfo", "pthread_sigqueue" } },
};

static const char KILL_FILE[] = "cgroup.kill";

/* Calls that name the file and do not write it. */
static const char *const LOOKERS[] = { "access", "faccessat", "stat", "fstatat", "statx", "strcmp" };

struct site {
	const char *path;
	unsigned line;
};

struct tally {
	struct site sites[16];
	int count;
};

static void note(struct tally *tally, const char *path, unsigned line)
{
	if (tally->count < (int)ELEMENTS(tally->sites))
		tally->sites[tally->count] = (struct site){ path, line };
	tally->count++;
}

/* After these a name followed by "(" is a call; after another name it is a declaration. */
static bool statement_keyword(const struct token *token)
{
	static const char *const keywords[] = { "return", "else", "do", "case", "sizeof", "goto" };
	for (size_t i = 0; i < ELEMENTS(keywords); i++)
		if (token_is(token, TOKEN_NAME, keywords[i]))
			return true;
	return false;
}

static bool is_call(const struct token_list *list, size_t at)
{
	static const struct token none = { .kind = TOKEN_END };
	const struct token *token = &list->tokens[at];
	const struct token *before = at ? token - 1 : &none;
	const struct token *after = token + 1;

	if (strncmp(token->text, "SYS_", 4) == 0 || strncmp(token->text, "__NR_", 5) == 0) {
		/* Handed to syscall(2); a filter's list of numbers is no call. */
		return at >= 2 && token_is(before, TOKEN_PUNCTUATION, "(") && token_is(before - 1, TOKEN_NAME, "syscall");
	}
	if (!token_is(after, TOKEN_PUNCTUATION, "("))
		return false;
	if (token_is(before, TOKEN_PUNCTUATION, ".") || token_is(before, TOKEN_PUNCTUATION, "->"))
		return false;
	/* SCMP_SYS(kill) has a ")" after it and is not here; `int kill(` and `*kill(` are declarations. */
	if (before->kind == TOKEN_NAME)
		return statement_keyword(before);
	return true;
}

static bool names_kill_file(const struct token *token)
{
	size_t length = strlen(token->text), tail = strlen(KILL_FILE);
	/* A path ends in the file's name and has no space; a message has. */
	return token->kind == TOKEN_STRING && length >= tail && strcmp(token->text + length - tail, KILL_FILE) == 0 &&
	       !strchr(token->text, ' ');
}

/* The name before the innermost "(" that is open at `at`; NULL where the innermost bracket is none of a call. */
static const char *callee_of(const struct token_list *list, size_t at)
{
	int depth = 0;
	while (at-- > 0) {
		const struct token *token = &list->tokens[at];
		if (token->kind != TOKEN_PUNCTUATION)
			continue;
		if (strchr(")}]", token->text[0]))
			depth++;
		else if (strchr("({[", token->text[0]) && depth-- == 0)
			return token->text[0] == '(' && at && list->tokens[at - 1].kind == TOKEN_NAME ?
				       list->tokens[at - 1].text : NULL;
	}
	return NULL;
}

static bool written_at(const struct token_list *list, size_t at)
{
	const char *callee = callee_of(list, at);
	if (!callee)
		return false;
	for (size_t i = 0; i < ELEMENTS(LOOKERS); i++)
		if (strcmp(callee, LOOKERS[i]) == 0)
			return false;
	return true;
}

/* `#define NAME "cgroup.kill"`: then each use of NAME counts as the literal would. */
static const char *macro_of(const struct token_list *list, size_t at)
{
	if (at < 3 || !list->tokens[at].in_directive || list->tokens[at - 1].kind != TOKEN_NAME ||
	    !token_is(&list->tokens[at - 2], TOKEN_NAME, "define"))
		return NULL;
	return list->tokens[at - 1].text;
}

static void count_macro(const struct sources *sources, const char *macro, struct tally *tally)
{
	for (size_t i = 0; i < sources->count; i++) {
		struct token_list list = tokens_of(sources->files[i].text);
		for (size_t at = 0; at < list.count; at++)
			if (token_is(&list.tokens[at], TOKEN_NAME, macro) && written_at(&list, at))
				note(tally, sources->files[i].path, list.tokens[at].line);
		tokens_release(&list);
	}
}

static void count_kill_file(const struct sources *sources, struct tally *tally)
{
	for (size_t i = 0; i < sources->count; i++) {
		struct token_list list = tokens_of(sources->files[i].text);
		for (size_t at = 0; at < list.count; at++) {
			if (!names_kill_file(&list.tokens[at]))
				continue;
			const char *macro = macro_of(&list, at);
			if (macro)
				count_macro(sources, macro, tally);
			else if (written_at(&list, at))
				note(tally, sources->files[i].path, list.tokens[at].line);
		}
		tokens_release(&list);
	}
}

static void count_primitive(const struct sources *sources, const struct primitive *primitive, struct tally *tally)
{
	for (size_t i = 0; i < sources->count; i++) {
		struct token_list list = tokens_of(sources->files[i].text);
		for (size_t at = 0; at < list.count; at++)
			for (size_t s = 0; s < ELEMENTS(primitive->spellings) && primitive->spellings[s]; s++)
				if (token_is(&list.tokens[at], TOKEN_NAME, primitive->spellings[s]) && is_call(&list, at))
					note(tally, sources->files[i].path, list.tokens[at].line);
		tokens_release(&list);
	}
}

/* True where the law holds; prints the sites of a primitive that has two. */
static bool law_holds(const char *name, const struct tally *tally, bool print)
{
	if (tally->count <= 1)
		return true;
	for (int i = 0; print && i < tally->count && i < (int)ELEMENTS(tally->sites); i++)
		print_error("%s: call site %d of %d: %s:%u\n", name, i + 1, tally->count, tally->sites[i].path,
			    tally->sites[i].line);
	return false;
}

static void read_rooms(struct sources *sources)
{
	static const char *const endings[] = { ".c", ".h", NULL };
	sources_read(sources, "core", endings);
	sources_read(sources, "tui", endings);
	/* The confirmation's attempts are hostile on purpose: the law leaves them out. */
	for (size_t i = 0; i < sources->count; i++)
		if (strstr(sources->files[i].path, "/attempts/"))
			sources->files[i].text[0] = '\0';
}

static void test_each_primitive_has_one_site(void **state)
{
	(void)state;
	struct sources sources = { 0 };
	read_rooms(&sources);
	assert_true(sources.count > 10);
	bool holds = true;
	for (size_t i = 0; i < ELEMENTS(PRIMITIVES); i++) {
		struct tally tally = { 0 };
		count_primitive(&sources, &PRIMITIVES[i], &tally);
		holds = law_holds(PRIMITIVES[i].name, &tally, true) && holds;
	}
	struct tally tally = { 0 };
	count_kill_file(&sources, &tally);
	holds = law_holds(KILL_FILE, &tally, true) && holds;
	sources_release(&sources);
	assert_true(holds);
}

/* The boundary itself must be killed somewhere, or there is nothing that the law speaks of. */
static void test_the_boundary_has_its_site(void **state)
{
	(void)state;
	struct sources sources = { 0 };
	read_rooms(&sources);
	struct tally tally = { 0 };
	count_kill_file(&sources, &tally);
	sources_release(&sources);
	assert_int_equal(tally.count, 1);
}

static void test_a_planted_second_site_is_red(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(PRIMITIVES); i++) {
		for (size_t s = 0; s < ELEMENTS(PRIMITIVES[i].spellings) && PRIMITIVES[i].spellings[s]; s++) {
			const char *spelling = PRIMITIVES[i].spellings[s];
			bool number = strncmp(spelling, "SYS_", 4) == 0 || strncmp(spelling, "__NR_", 5) == 0;
			char planted[256];
			if (number)
				snprintf(planted, sizeof planted, "void f(void) { if (1) syscall(%s, 1, 9); }\n", spelling);
			else
				snprintf(planted, sizeof planted, "int f(void) { return %s (1, 9); }\n", spelling);
			struct sources sources = { 0 };
			read_rooms(&sources);
			sources_plant(&sources, "core/planted_one.c", planted);
			sources_plant(&sources, "core/planted_two.c", planted);
			struct tally tally = { 0 };
			count_primitive(&sources, &PRIMITIVES[i], &tally);
			sources_release(&sources);
			assert_false(law_holds(spelling, &tally, false));
		}
	}
}

static void test_a_planted_second_write_is_red(void **state)
{
	(void)state;
	static const char *const planted[] = {
		"int f(int fd) { return io_write_file(fd, \"cgroup.kill\", \"1\"); }\n",
		"int f(void) { return open(\"/sys/fs/cgroup/x/cgroup.kill\", 1); }\n",
		"#define KILL_NAME \"cgroup.kill\"\nint f(int fd) { return openat(fd, KILL_NAME, 1); }\n",
	};
	for (size_t i = 0; i < ELEMENTS(planted); i++) {
		struct sources sources = { 0 };
		read_rooms(&sources);
		sources_plant(&sources, "core/planted.c", planted[i]);
		struct tally tally = { 0 };
		count_kill_file(&sources, &tally);
		sources_release(&sources);
		assert_false(law_holds(KILL_FILE, &tally, false));
	}
}

static void test_what_only_looks_like_a_call(void **state)
{
	(void)state;
	static const char harmless[] =
		"/* kill(1, 9); */\n"
		"// kill(1, 9); \\\n kill(1, 9);\n"
		"const char *words = \"kill(1, 9); \\\" kill(2, 9)\";\n"
		"char quote = '\"'; int kill(int pid, int signal);\n"
		"void f(struct s *s) { s->kill(1); s->on.kill(2); boundary_kill(3); }\n"
		"unsigned filter[] = { SCMP_SYS(kill), SYS_kill };\n"
		"struct need { const char *file; } needed[] = { { \"cgroup.kill\" } };\n"
		"const char *remedy = \"a kernel with cgroup.kill in it\";\n"
		"int g(int fd) { return faccessat(fd, \"cgroup.kill\", 2, 0); }\n"
		"/* \"cgroup.kill\" */\n";
	struct sources sources = { 0 };
	sources_plant(&sources, "core/harmless.c", harmless);
	struct tally calls = { 0 }, writes = { 0 };
	count_primitive(&sources, &PRIMITIVES[0], &calls);
	count_kill_file(&sources, &writes);
	sources_release(&sources);
	assert_int_equal(calls.count, 0);
	assert_int_equal(writes.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_primitive_has_one_site),
		cmocka_unit_test(test_the_boundary_has_its_site),
		cmocka_unit_test(test_a_planted_second_site_is_red),
		cmocka_unit_test(test_a_planted_second_write_is_red),
		cmocka_unit_test(test_what_only_looks_like_a_call),
	};
	return cmocka_run_group_tests_name("K8", tests, NULL, NULL);
}
