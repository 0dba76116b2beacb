/*
 * Bytes of a candidate reach a terminal as safe text alone: whatever it prints, names or leaves, plain output has
 * no control byte but the line feed, no invalid UTF-8 and nothing that turns the direction of text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"

static struct driver driver;

/* Decodes one character; 0 bytes where it is no UTF-8 (RFC 3629). */
static size_t decode(const unsigned char *at, uint32_t *ret_character)
{
	static const struct { unsigned char mask, lead; uint32_t least; } forms[] = {
		{ 0x80, 0x00, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 }, { 0xf8, 0xf0, 0x10000 },
	};
	for (size_t i = 0; i < ELEMENTS(forms); i++) {
		if ((at[0] & forms[i].mask) != forms[i].lead)
			continue;
		uint32_t character = at[0] & (unsigned char)~forms[i].mask;
		for (size_t n = 1; n <= i; n++) {
			if ((at[n] & 0xc0) != 0x80)
				return 0;
			character = character << 6 | (at[n] & 0x3f);
		}
		*ret_character = character;
		return character < forms[i].least || character > 0x10ffff || (character & 0x1ff800) == 0xd800 ? 0 : i + 1;
	}
	return 0;
}

/* Controls of C0 and C1, and the characters that turn or isolate the direction of what follows (UAX 9). */
static bool dangerous(uint32_t c)
{
	return (c < 0x20 && c != '\n') || c == 0x7f || (c >= 0x80 && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029;
}

/* The offset of the first byte that may not be printed, or -1. */
static long first_unsafe(const struct buffer *text)
{
	for (size_t at = 0; at < text->length;) {
		uint32_t character;
		size_t length = decode((const unsigned char *)text->data + at, &character);
		if (length == 0 || at + length > text->length || dangerous(character))
			return (long)at;
		at += length;
	}
	return -1;
}

static void assert_safe(const char *what, const struct buffer *text)
{
	long at = first_unsafe(text);
	if (at < 0)
		return;
	char around[64] = "";
	for (long i = at > 4 ? at - 4 : 0; i < at + 8 && i < (long)text->length; i++) {
		size_t used = strlen(around);
		snprintf(around + used, sizeof around - used, "%02x ", (unsigned char)text->data[i]);
	}
	fail_msg("%s: an unsafe byte at %ld: %s", what, at, around);
}

/* What a candidate prints: a title, a clear, colours, a query, C1, bidi, invalid bytes, a long line, a carriage return. */
#define PRINTS \
	"printf '\\033]0;owned\\007\\033[2J\\033[31mred\\033[0m\\033[c\\033Pq\\033\\\\\\n'; " \
	"printf '\\302\\2332J \\342\\200\\256live\\342\\201\\246 \\377\\376 \\300\\257 \\355\\240\\200\\n'; " \
	"printf 'one\\rtwo\\btwo\\tthree\\v\\f\\000end\\n'; " \
	"head -c 1000000 /dev/zero | tr '\\000' x; echo; "

static void run_all(const char *name, const struct task_text *tasks)
{
	_cleanup_free_ char *file = driver_round(&driver, name, 2, tasks);
	_cleanup_process_ struct process plain = PROCESS_INIT, watch = PROCESS_INIT, json = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &plain, 60000, ARGUMENTS("run", file, "--display", "plain")), 0);
	assert_safe("run, plain, output", &plain.output);
	assert_safe("run, plain, errors", &plain.error);
	assert_true(plain.output.length > 0);
	assert_int_equal(driver_run(&driver, &watch, 60000, ARGUMENTS("watch", name, "--display", "plain")), 0);
	assert_safe("watch, plain", &watch.output);
	assert_int_equal(driver_run(&driver, &json, 60000, ARGUMENTS("watch", name, "--display", "json")), 0);
	assert_safe("watch, json", &json.output);
	struct events events = events_read(json.output.data);
	assert_int_equal(events.broken, 0);
	assert_true(events_count(&events, "task.verdict", NULL) >= 1);
	events_release(&events);
}

static void test_hostile_output(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "out", PRINTS "touch done", NULL },
					   { "error", "{ " PRINTS "} >&2; " PRINTS "touch done", NULL }, { 0 } };
	run_all("output", tasks);
}

static void test_hostile_names(void **state)
{
	(void)state;
	const struct task_text tasks[] = {
		/* Names in a patch, and a name that is refused and so told. */
		{ "names", "touch done \"$(printf 'a\\nb\\033[2Jc')\" \"$(printf 'x\\342\\200\\256y')\" \"$(printf '\\377\\376')\"", NULL },
		{ "link", "ln -s /etc \"$(printf 'leak\\n\\033]0;owned\\007\\302\\233')\"", NULL },
		{ "fifo", "mkfifo \"$(printf '\\342\\201\\246pipe\\r')\"", NULL },
		{ 0 },
	};
	run_all("names", tasks);
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	struct events events = events_read(log);
	assert_string_equal(member_text(events_find(&events, "task.verdict", "link", 0), "verdict"), "invalid");
	assert_string_equal(member_text(events_find(&events, "task.verdict", "fifo", 0), "verdict"), "invalid");
	events_release(&events);
	struct buffer whole = { .data = log, .length = strlen(log) };
	assert_safe("the log", &whole);
}

/* The program that a candidate becomes bears a name of its choice. */
static void test_hostile_program_name(void **state)
{
	(void)state;
	const struct task_text tasks[] = {
		{ "program", "cp /bin/true \"$(printf 'p\\033[2J')\"; ./p*; exit 5", NULL }, { 0 },
	};
	run_all("program", tasks);
}

/* The check can fail. */
static void test_the_check_itself(void **state)
{
	(void)state;
	static const struct { const char *text; bool safe; } cases[] = {
		{ "plain text\nand more \xc3\xa9 \xe2\x80\xa6\n", true }, { "\033[2J", false }, { "a\rb", false }, { "a\tb", false },
		{ "\xc2\x9b", false }, { "\xe2\x80\xae", false }, { "\xff", false }, { "\xc0\xaf", false }, { "\xe2\x80", false },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		char copy[64];
		snprintf(copy, sizeof copy, "%s", cases[i].text);
		struct buffer text = { .data = copy, .length = strlen(copy) };
		assert_int_equal(first_unsafe(&text) < 0, cases[i].safe);
	}
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	driver_close(&driver);
	return 0;
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_check_itself), CASE(test_hostile_output), CASE(test_hostile_names),
		CASE(test_hostile_program_name),
	};
	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
