/* Plain mode, from a recorded list of events: the lines, the clock, the summary, and what hostile text becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/digest.h"
#include "tui/plain.h"

/* `mono` in s; the rest as it stands in a log. X: seconds, "members" */
struct recorded {
	int seconds;
	const char *members;
};

static uint64_t quiet_until;

static void render(const struct recorded *events, size_t count, struct buffer *out, char ret_head[static DIGEST_HEX])
{
	struct plain plain = { .quiet_until = quiet_until };
	struct pr_model model = PR_MODEL_INIT;
	for (size_t i = 0; i < count; i++) {
		_cleanup_buffer_ struct buffer line = BUFFER_INIT;
		struct pr_message message;
		struct pr_error error = { 0 };
		assert_true(buffer_printf(&line, "{\"seq\":%zu,\"prev\":\"\",\"at\":1767323045000,\"mono\":%lld,%s}", i + 1,
					  events[i].seconds * 1000000000LL, events[i].members) >= 0);
		if (pr_wire_parse(line.data, line.length, &message, &error) < 0)
			fail_msg("%s: %s", line.data, error.message);
		assert_true(pr_model_apply(&model, message.object) >= 0);
		assert_int_equal(plain_event(&plain, &message, line.data, line.length, &model, out), 0);
		digest_bytes(line.data, line.length, ret_head);
		pr_message_release(&message);
	}
	pr_model_release(&model);
}

#define OPENED \
	"\"type\":\"round.opened\",\"round\":\"smoke-20260102-030405\",\"name\":\"smoke\",\"kind\":\"smoke\",\"dir\":\"/s/smoke-20260102-030405\"," \
	"\"version\":\"0.1.0\",\"tasks\":[{\"task\":\"clamp\",\"source\":\"d\"},{\"task\":\"leak\",\"source\":\"d\"},{\"task\":\"late\",\"source\":\"d\"}]," \
	"\"parallel\":2,\"agent\":\"claude\",\"profile\":\"p\",\"wall_clock_ms\":600000,\"tests_wall_clock_ms\":2500,\"resumed\":false"

static const struct recorded ROUND[] = {
	{ 100, OPENED },
	{ 100, "\"type\":\"preflight.check\",\"id\":\"limits\",\"state\":\"warn\",\"tried\":\"pids: by cgroup v1\",\"remedy\":null" },
	{ 101, "\"type\":\"preflight.check\",\"id\":\"repository\",\"state\":\"FAIL\",\"tried\":\"commit is not there\",\"remedy\":\"git fetch\"" },
	{ 101, "\"type\":\"preflight.verdict\",\"ok\":9,\"warn\":1,\"fail\":0,\"unknown\":0" },
	{ 101, "\"type\":\"round.gate\",\"state\":\"waiting\",\"by\":null" },
	{ 105, "\"type\":\"round.gate\",\"state\":\"open\",\"by\":\"command\"" },
	{ 105, "\"type\":\"round.started\"" },
	{ 105, "\"type\":\"task.phase\",\"task\":\"clamp\",\"phase\":\"agent\",\"state\":\"started\"" },
	{ 106, "\"type\":\"refusal\",\"task\":\"clamp\",\"phase\":\"agent\",\"layer\":\"limits\",\"what\":\"fork\",\"object\":\"pids.max 64\",\"program\":\"sh\",\"ancestry\":[],\"errno\":11,\"count\":3,\"first_ms\":1,\"last_ms\":2,\"certainty\":\"recorded\"" },
	{ 107, "\"type\":\"task.output.cut\",\"task\":\"clamp\",\"phase\":\"agent\",\"stream\":\"stdout\",\"limit_bytes\":4194304" },
	{ 108, "\"type\":\"control\",\"verb\":\"freeze\",\"who\":{\"uid\":0,\"pid\":7},\"task\":null,\"ms\":3,\"processes\":41,\"runs\":2" },
	{ 109, "\"type\":\"control\",\"verb\":\"thaw\",\"who\":{\"uid\":0,\"pid\":7},\"task\":null" },
	{ 110, "\"type\":\"task.phase\",\"task\":\"clamp\",\"phase\":\"agent\",\"state\":\"ended\",\"wall_ms\":5250,\"termination\":\"exited\",\"exit_code\":0" },
	{ 110, "\"type\":\"boundary.closed\",\"task\":\"clamp\",\"phase\":\"agent\",\"run\":1,\"killed\":2,\"remaining\":0,\"removed\":true,\"nested\":0,\"ms\":1.13,\"cleanup\":\"ok\"" },
	{ 111, "\"type\":\"task.verdict\",\"task\":\"clamp\",\"status\":\"ok\",\"verdict\":\"pass\",\"validity\":\"valid\",\"reward\":1.0,\"cause\":null,\"charged_to\":null,\"reason\":\"\",\"violations\":[],\"episode\":\"episode-3f9c\",\"refusals\":3,\"wall_ms\":6000,\"spend_usd_micro\":80000" },
	{ 171, "\"type\":\"task.verdict\",\"task\":\"leak\",\"status\":\"invalid\",\"verdict\":\"invalid\",\"validity\":\"invalid\",\"reward\":0.0,\"cause\":null,\"charged_to\":\"candidate\",\"reason\":\"left a symlink: out -> /etc\",\"violations\":[\"/resource-limit.v1:symlink\"],\"episode\":\"episode-77\",\"refusals\":0,\"wall_ms\":66000,\"spend_usd_micro\":0" },
	{ 172, "\"type\":\"fault\",\"what\":\"disk\",\"message\":\"No space left on device\",\"charged_to\":\"host\"" },
	{ 173, "\"type\":\"control\",\"verb\":\"stop\",\"who\":{\"uid\":0,\"pid\":7},\"task\":null,\"ms\":9,\"killed\":41,\"remaining\":0,\"removed\":2" },
	{ 173, "\"type\":\"task.verdict\",\"task\":\"late\",\"status\":\"stopped\",\"verdict\":\"stopped\",\"validity\":null,\"reward\":null,\"cause\":\"owner_stop\",\"charged_to\":\"owner\",\"reason\":\"\",\"violations\":[],\"episode\":null,\"refusals\":0,\"wall_ms\":0,\"spend_usd_micro\":0" },
	{ 174, "\"type\":\"spend.dance\",\"what\":\"of a later version\"" },
	{ 175, "\"type\":\"round.finished\",\"state\":\"stopped\",\"tasks\":3,\"pass\":1,\"fail\":0,\"invalid\":1,\"error\":0,\"stopped\":1,\"spend_usd_micro\":80000,\"wall_ms\":70000,\"head\":\"\"" },
};

static const char EXPECTED[] =
	"00:00  round        smoke-20260102-030405 opened (smoke): 3 tasks, 2 at a time, agent claude; at most 10:00 for the agent and 2.5 s for each test\n"
	"00:00  preflight    warn    limits: pids: by cgroup v1\n"
	"00:01  preflight    FAIL    repository: commit is not there; try: git fetch\n"
	"00:01  preflight    9 ok, 1 warn, 0 FAIL, 0 unknown\n"
	"00:01  round        waits for its owner at the gate: proctor start smoke-20260102-030405\n"
	"00:05  round        gate open, by command\n"
	"00:05  round        started\n"
	"00:05  clamp        agent started\n"
	"00:06  clamp        agent fork refused by limits: pids.max 64, EAGAIN, at least 3 times, by sh (recorded)\n"
	"00:07  clamp        agent stdout over its cap of 4 MiB: what came after is not kept\n"
	"00:08  round        FROZEN in 3 ms: 2 runs, 41 processes stand still (by uid 0, pid 7)\n"
	"00:09  round        thawed, the clocks go on (by uid 0, pid 7)\n"
	"00:10  clamp        agent ended after 5.2 s: exited 0\n"
	"00:10  clamp        agent boundary empty: 2 killed, 0 remaining, removed, 1.1 ms\n"
	"00:11  clamp        pass 1.0; took 6 s, $0.08, at least 3 refusals, episode-3f9c\n"
	"01:11  leak         INVALID 0.0: left a symlink: out -> /etc; charged to candidate; took 1:06, episode-77\n"
	"01:12  round        FAULT disk: No space left on device; charged to host\n"
	"01:13  round        STOPPED in 9 ms: 41 processes killed, 0 remaining, 2 boundaries removed (by uid 0, pid 7)\n"
	"01:13  late         STOPPED: owner_stop; charged to owner\n";

static const char SUMMARY[] =
	"01:15  round        STOPPED after 1:10\n"
	"01:15  summary      leak INVALID 0.0: left a symlink: out -> /etc; charged to candidate\n"
	"01:15  summary      3 tasks: 1 pass, 0 fail, 1 invalid, 0 error, 1 stopped; spend $0.08\n"
	"01:15  summary      3 refusals, at least, in 1 of 3 tasks\n"
	"01:15  summary      evidence: /s/smoke-20260102-030405\n";

static void test_a_recorded_round(void **state)
{
	(void)state;
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char head[DIGEST_HEX], tail[256];
	render(ROUND, ELEMENTS(ROUND), &out, head);
	size_t at = sizeof EXPECTED - 1;
	assert_true(out.length > at);
	char kept = out.data[at];
	out.data[at] = '\0';
	assert_string_equal(out.data, EXPECTED);
	out.data[at] = kept;

	/* An event of a later version is shown by its name and its text. */
	assert_true(strncmp(out.data + at, "01:14  round        spend.dance: {", 34) == 0);
	assert_non_null(strstr(out.data + at, "of a later version"));
	at += strcspn(out.data + at, "\n") + 1;
	assert_memory_equal(out.data + at, SUMMARY, sizeof SUMMARY - 1);
	snprintf(tail, sizeof tail, "01:15  summary      log head: %s, event %zu\n"
		 "01:15  summary      resume: proctor run --resume smoke-20260102-030405\n", head, ELEMENTS(ROUND));
	assert_string_equal(out.data + at + sizeof SUMMARY - 1, tail);
}

/* A core of another boot has another monotonic clock; ours goes on from where it stood. */
static void test_the_clock_over_a_resume(void **state)
{
	(void)state;
	static const struct recorded events[] = {
		{ 1000, OPENED }, { 1030, "\"type\":\"round.started\"" }, { 5, OPENED }, { 15, "\"type\":\"round.started\"" },
		{ 2, "\"type\":\"round.started\"" },
	};
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char head[DIGEST_HEX];
	render(events, ELEMENTS(events), &out, head);
	assert_non_null(strstr(out.data, "00:30  round        started\n00:30  round        smoke"));
	/* A clock that goes backwards shows the last time. */
	assert_non_null(strstr(out.data, "00:40  round        started\n00:40  round        started\n"));
}

/* Phases in which no command runs say their end only where they took a while; a hold says what to do. */
static void test_short_phases_and_a_hold(void **state)
{
	(void)state;
	static const struct recorded events[] = {
		{ 0, "\"type\":\"task.phase\",\"task\":\"a\",\"phase\":\"collect\",\"state\":\"ended\",\"wall_ms\":999,\"termination\":null" },
		{ 0, "\"type\":\"task.phase\",\"task\":\"a\",\"phase\":\"collect\",\"state\":\"ended\",\"wall_ms\":1000,\"termination\":null" },
		{ 0, "\"type\":\"task.phase\",\"task\":\"a\",\"phase\":\"patched\",\"state\":\"ended\",\"wall_ms\":9,\"termination\":\"exited\",\"exit_code\":1" },
		{ 0, "\"type\":\"control\",\"verb\":\"hold\",\"who\":{\"uid\":0,\"pid\":7},\"task\":null,\"why\":\"5 equal errors; go on: proctor start r\"" },
	};
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char head[DIGEST_HEX];
	render(events, ELEMENTS(events), &out, head);
	assert_string_equal(out.data,
		"00:00  a            collect ended after 1 s\n"
		"00:00  a            patched ended after 9 ms: exited 1\n"
		"00:00  round        HELD: 5 equal errors; go on: proctor start r\n");
}

/* A boundary that was found empty and was removed is no news; each other end of one is. */
static void test_an_empty_boundary_is_silent(void **state)
{
	(void)state;
	static const struct {
		const char *members, *words;
	} cases[] = {
		{ "\"killed\":0,\"remaining\":0,\"removed\":true,\"nested\":0,\"cleanup\":\"ok\"", NULL },
		{ "\"killed\":1,\"remaining\":0,\"removed\":true,\"nested\":0,\"cleanup\":\"ok\"", "boundary empty: 1 killed, 0 remaining, removed" },
		{ "\"killed\":0,\"remaining\":1,\"removed\":false,\"nested\":0,\"cleanup\":\"ok\"", "NOT EMPTY: 0 killed, 1 remaining, NOT removed" },
		{ "\"killed\":0,\"remaining\":0,\"removed\":false,\"nested\":0,\"cleanup\":\"ok\"", "NOT removed" },
		{ "\"killed\":0,\"remaining\":0,\"removed\":true,\"nested\":2,\"cleanup\":\"ok\"", "2 nested cgroups" },
		{ "\"killed\":0,\"remaining\":0,\"removed\":true,\"nested\":0,\"cleanup\":\"a directory\"", "left: a directory" },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer out = BUFFER_INIT, members = BUFFER_INIT;
		char head[DIGEST_HEX];
		assert_true(buffer_printf(&members, "\"type\":\"boundary.closed\",\"task\":\"t\",\"phase\":\"agent\",%s,\"ms\":1", cases[i].members) >= 0);
		render(&(struct recorded){ 0, members.data }, 1, &out, head);
		if (!cases[i].words)
			assert_int_equal(out.length, 0);
		else if (!out.length || !strstr(out.data, cases[i].words))
			fail_msg("%s: %s", cases[i].words, out.length ? out.data : "nothing");
	}
}

/* What lines are about stands in a column of its own, as wide as the longest name of the round, within bounds. */
static void test_the_columns(void **state)
{
	(void)state;
#define NAMED(id) "\"type\":\"round.opened\",\"round\":\"r\",\"kind\":\"smoke\",\"tasks\":[{\"task\":\"" id "\"},{\"task\":\"b\"}]"
	static const struct {
		const char *opened, *line;
	} cases[] = {
		{ NAMED("a"), "00:00  round        started\n" },
		{ NAMED("broken-baseline"), "00:00  round           started\n" },
		{ NAMED("a-name-that-is-longer-than-any-column-should-be"), "00:00  round        started\n" },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer out = BUFFER_INIT;
		char head[DIGEST_HEX];
		const struct recorded events[] = { { 0, cases[i].opened }, { 0, "\"type\":\"round.started\"" } };
		render(events, ELEMENTS(events), &out, head);
		assert_string_equal(strchr(out.data, '\n') + 1, cases[i].line);
	}
}

/* A round that never ran is not one that was stopped; one with tasks to run again says how. */
static void test_how_it_ended(void **state)
{
	(void)state;
#define ENDED(state) "\"type\":\"round.finished\",\"state\":\"" state "\",\"tasks\":3,\"wall_ms\":20"
	static const struct {
		const char *finished, *words;
	} cases[] = {
		{ ENDED("refused"), "round        REFUSED after 20 ms\n" },
		{ ENDED("drained"), "round        DRAINED after 20 ms\n" },
		{ ENDED("failed"), "round        FAILED after 20 ms\n" },
		{ ENDED("finished"), "round        finished after 20 ms\n" },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer out = BUFFER_INIT;
		char head[DIGEST_HEX];
		const struct recorded events[] = { { 0, OPENED }, { 0, cases[i].finished } };
		render(events, ELEMENTS(events), &out, head);
		assert_non_null(strstr(out.data, cases[i].words));
		assert_non_null(strstr(out.data, "resume: proctor run --resume smoke-20260102-030405\n"));
		assert_true((strstr(out.data, "has no verdict") == NULL) == (i == 0));
	}
}

/* A fault is said once, and what to do about it where something can be done. */
static void test_faults(void **state)
{
	(void)state;
	static const struct recorded events[] = {
		{ 0, "\"type\":\"fault\",\"what\":\"no-boundary\",\"message\":\"no boundary: no cgroup2\",\"charged_to\":\"host\",\"remedy\":\"mount one\"" },
		{ 0, "\"type\":\"fault\",\"what\":\"disk\",\"message\":\"no space\",\"charged_to\":\"host\"" },
	};
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char head[DIGEST_HEX];
	render(events, ELEMENTS(events), &out, head);
	assert_string_equal(out.data, "00:00  round        FAULT no boundary: no cgroup2; charged to host; try: mount one\n"
				      "00:00  round        FAULT disk: no space; charged to host\n");
}

/* What was shown before a resume is not shown again, and its clock goes on all the same. */
static void test_a_resume_begins_where_it_begins(void **state)
{
	(void)state;
	static const struct recorded events[] = {
		{ 1000, OPENED }, { 1030, "\"type\":\"round.started\"" }, { 5, OPENED }, { 15, "\"type\":\"round.started\"" },
	};
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char head[DIGEST_HEX];
	quiet_until = 2;
	render(events, ELEMENTS(events), &out, head);
	quiet_until = 0;
	assert_int_equal(strncmp(out.data, "00:30  round        smoke-20260102-030405 opened", 47), 0);
	assert_non_null(strstr(out.data, "\n00:40  round        started\n"));
}

/* Whatever an event holds, one event is one line of printable text. */
static void test_hostile_text(void **state)
{
	(void)state;
#define EVIL "\\u001b]0;owned\\u0007\\n00:00  round        pass\\r\\u009b2J\\u202eafter"
	static const struct recorded events[] = {
		{ 0, OPENED },
		{ 0, "\"type\":\"preflight.check\",\"id\":\"" EVIL "\",\"state\":\"" EVIL "\",\"tried\":\"" EVIL "\",\"remedy\":\"" EVIL "\"" },
		{ 0, "\"type\":\"task.phase\",\"task\":\"" EVIL "\",\"phase\":\"" EVIL "\",\"state\":\"ended\",\"termination\":\"" EVIL "\"" },
		{ 0, "\"type\":\"refusal\",\"task\":\"" EVIL "\",\"layer\":\"" EVIL "\",\"what\":\"" EVIL "\",\"object\":\"" EVIL "\",\"program\":\"" EVIL "\",\"errno\":\"" EVIL "\",\"certainty\":\"" EVIL "\"" },
		{ 0, "\"type\":\"task.verdict\",\"task\":\"clamp\",\"verdict\":\"fail\",\"reward\":0.25,\"reason\":\"" EVIL "\",\"charged_to\":\"" EVIL "\",\"episode\":\"" EVIL "\"" },
		{ 0, "\"type\":\"control\",\"verb\":\"" EVIL "\",\"task\":\"" EVIL "\"" },
		{ 0, "\"type\":\"fault\",\"what\":\"" EVIL "\",\"message\":\"" EVIL "\",\"charged_to\":\"" EVIL "\"" },
		{ 0, "\"type\":\"boundary.closed\",\"task\":\"" EVIL "\",\"phase\":\"" EVIL "\",\"cleanup\":\"" EVIL "\"" },
		{ 0, "\"type\":\"task.output.cut\",\"task\":\"" EVIL "\",\"stream\":\"" EVIL "\"" },
		{ 0, "\"type\":\"" EVIL "\"" },
		{ 0, "\"type\":\"fault\",\"what\":\"a\\u0000b\"" },
	};
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	char head[DIGEST_HEX];
	render(events, ELEMENTS(events), &out, head);
	size_t lines = 0;
	for (size_t i = 0; i < out.length; i++) {
		unsigned char byte = (unsigned char)out.data[i];
		lines += byte == '\n';
		if (byte != '\n' && (byte < 0x20 || byte > 0x7e))
			fail_msg("byte %02x at %zu", byte, i);
	}
	assert_int_equal(lines, ELEMENTS(events));
}

/* Members that are missing or of the wrong kind: a line all the same, and no crash. */
static void test_nothing_in_it(void **state)
{
	(void)state;
	for (enum pr_event event = 0; event < PR_EVENT_COUNT; event++) {
		static const char *const members[] = { "", ",\"task\":7,\"verdict\":[],\"ms\":\"x\",\"who\":1,\"state\":{},\"errno\":99999" };
		for (size_t i = 0; i < ELEMENTS(members); i++) {
			_cleanup_buffer_ struct buffer out = BUFFER_INIT;
			_cleanup_buffer_ struct buffer text = BUFFER_INIT;
			char head[DIGEST_HEX];
			assert_true(buffer_printf(&text, "\"type\":\"%s\"%s", pr_event_name(event), members[i]) >= 0);
			render(&(struct recorded){ 0, text.data }, 1, &out, head);
			assert_true(out.length > 0 && out.data[out.length - 1] == '\n');
		}
	}
}

int main(void)
{
	setlocale(LC_CTYPE, "C");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_recorded_round),
		cmocka_unit_test(test_the_clock_over_a_resume),
		cmocka_unit_test(test_short_phases_and_a_hold),
		cmocka_unit_test(test_an_empty_boundary_is_silent),
		cmocka_unit_test(test_the_columns),
		cmocka_unit_test(test_how_it_ended),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_a_resume_begins_where_it_begins),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_nothing_in_it),
	};
	return cmocka_run_group_tests_name("tui_plain", tests, NULL, NULL);
}
