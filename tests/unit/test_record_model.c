/* The fold: the counts always cover all tasks, a snapshot says the same as the events, nothing hostile breaks it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/record/jsonc.h"
#include <proctor/model.h>

#define _cleanup_model_ _cleanup_(pr_model_release)

static uint64_t seq;

/* Folds one event; seq goes on by itself. */
static int fold(struct pr_model *model, const char *members)
{
	char text[4096];

	snprintf(text, sizeof text, "{\"seq\":%llu,\"prev\":\"%064llu\",\"at\":%llu,\"mono\":%llu,%s}",
		 (unsigned long long)seq + 1, (unsigned long long)seq, (unsigned long long)seq + 1000,
		 (unsigned long long)seq + 500, members);
	_cleanup_jsonc_ struct json_object *event = jsonc_read_object(text, strlen(text));
	assert_non_null(event);
	seq++;
	return pr_model_apply(model, event);
}

static int fold_ephemeral(struct pr_model *model, const char *text)
{
	_cleanup_jsonc_ struct json_object *event = jsonc_read_object(text, strlen(text));

	assert_non_null(event);
	return pr_model_apply(model, event);
}

/* The counts are what the tasks say, and no task is left out. */
static void check_counts(const struct pr_model *model)
{
	struct pr_counts counts = { .tasks = model->counts.tasks };
	uint64_t refusals = 0;

	for (uint32_t i = 0; i < model->counts.tasks; i++) {
		const struct pr_task *task = &model->tasks[i];
		refusals += task->refusals;
		if (task->verdict == PR_VERDICT_NONE) {
			*(task->running ? &counts.running : &counts.queued) += 1;
			continue;
		}
		assert_false(task->running);
		assert_int_equal(task->phase, PR_PHASE_DONE);
		counts.done++;
		counts.pass += task->verdict == PR_VERDICT_PASS;
		counts.fail += task->verdict == PR_VERDICT_FAIL;
		counts.invalid += task->verdict == PR_VERDICT_INVALID;
		counts.error += task->verdict == PR_VERDICT_ERROR;
		counts.stopped += task->verdict == PR_VERDICT_STOPPED;
	}
	assert_memory_equal(&counts, &model->counts, sizeof counts);
	assert_int_equal(counts.queued + counts.running + counts.done, counts.tasks);
	assert_int_equal(counts.pass + counts.fail + counts.invalid + counts.error + counts.stopped, counts.done);
	assert_true(model->refusals >= refusals);
}

#define CONTAINMENT "\"process_containment\":{\"profile\":\"proctor.confined.v1\",\"enforced\":true,\"remaining_processes\":0," \
	"\"kill_boundary_enforced\":true,\"control_plane_isolated\":\"unknown\",\"resource_controllers_enforced\":false," \
	"\"cleanup_closed\":true,\"certifiable\":false,\"uncertifiable_reasons\":[\"one\",\"two\"]}"

static void open_round(struct pr_model *model)
{
	seq = 0;
	assert_int_equal(fold(model, "\"type\":\"round.opened\",\"round\":\"smoke-20260101-000000\",\"name\":\"smoke\","
				     "\"kind\":\"smoke\",\"dir\":\"/r\",\"version\":\"0.1.0\",\"parallel\":2,\"agent\":\"claude -p\","
				     "\"profile\":\"residency.confined-local.v1\",\"wall_clock_ms\":600000,"
				     "\"tests_wall_clock_ms\":120000,\"resumed\":false,\"tasks\":["
				     "{\"task\":\"a\",\"source\":\"repos/a@main\"},{\"task\":\"b\",\"source\":\"x\"},"
				     "{\"task\":\"c\",\"source\":\"y\"},{\"task\":\"d\"},{\"task\":\"e\"}]"), 1);
}

/* Half a round, in which every type of event stands at least once. */
static void play(struct pr_model *model)
{
	open_round(model);
	fold(model, "\"type\":\"preflight.check\",\"id\":\"kernel\",\"state\":\"ok\"");
	fold(model, "\"type\":\"preflight.verdict\",\"ok\":5,\"warn\":1,\"fail\":0,\"unknown\":2");
	fold(model, "\"type\":\"round.gate\",\"state\":\"waiting\",\"by\":\"\"");
	fold(model, "\"type\":\"round.gate\",\"state\":\"open\",\"by\":\"command\"");
	fold(model, "\"type\":\"round.started\"");
	fold(model, "\"type\":\"task.phase\",\"task\":\"a\",\"phase\":\"agent\",\"state\":\"started\"");
	fold(model, "\"type\":\"task.phase\",\"task\":\"b\",\"phase\":\"agent\",\"state\":\"started\"");
	fold(model, "\"type\":\"refusal\",\"task\":\"a\",\"phase\":\"agent\",\"layer\":\"network\",\"count\":6");
	fold(model, "\"type\":\"refusal\",\"task\":\"a\",\"phase\":\"agent\",\"layer\":\"seccomp\",\"count\":1");
	fold(model, "\"type\":\"task.output.cut\",\"task\":\"a\",\"phase\":\"agent\",\"stream\":\"stderr\",\"limit_bytes\":4194304");
	fold(model, "\"type\":\"task.phase\",\"task\":\"a\",\"phase\":\"agent\",\"state\":\"ended\",\"wall_ms\":1234,"
		    "\"termination\":\"signalled\",\"exit_code\":-9");
	fold(model, "\"type\":\"boundary.closed\",\"task\":\"a\",\"phase\":\"agent\",\"killed\":3,\"remaining\":0,\"removed\":true,"
		    "\"ms\":1.25,\"cleanup\":\"ok\"," CONTAINMENT);
	fold(model, "\"type\":\"task.verdict\",\"task\":\"a\",\"status\":\"ok\",\"verdict\":\"pass\",\"validity\":\"valid\","
		    "\"reward\":0.85,\"cause\":null,\"charged_to\":null,\"reason\":\"\",\"violations\":[],"
		    "\"episode\":\"episode-1\",\"refusals\":9,\"wall_ms\":2345,\"spend_usd_micro\":310000," CONTAINMENT);
	fold(model, "\"type\":\"task.verdict\",\"task\":\"c\",\"status\":\"invalid\",\"verdict\":\"invalid\",\"reward\":0.0,"
		    "\"cause\":\"symlink\",\"charged_to\":\"candidate\",\"reason\":\"left a symlink\",\"violations\":[\"x\",\"y\"],"
		    "\"spend_usd_micro\":5");
	fold(model, "\"type\":\"task.verdict\",\"task\":\"d\",\"status\":\"error\",\"verdict\":\"error\",\"reward\":null,"
		    "\"cause\":\"wall_clock\",\"charged_to\":\"host\",\"reason\":\"r\"");
	fold(model, "\"type\":\"control\",\"verb\":\"freeze\",\"who\":{\"uid\":1000,\"pid\":7},\"task\":null,\"ms\":2.5,"
		    "\"processes\":41,\"runs\":2");
	fold(model, "\"type\":\"fault\",\"what\":\"worker\",\"message\":\"died\",\"charged_to\":\"host\"");
	fold_ephemeral(model, "{\"type\":\"progress\",\"frozen\":true,\"tasks\":[{\"task\":\"b\",\"phase\":\"agent\",\"wall_ms\":77,"
			      "\"limit_ms\":600000,\"processes\":4,\"memory_bytes\":1024,\"output_bytes\":9,\"idle_ms\":0}]}");
}

static void test_a_round(void **state)
{
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT;

	(void)state;
	play(&model);
	check_counts(&model);
	assert_int_equal(model.counts.tasks, 5);
	assert_int_equal(model.counts.running, 1);
	assert_int_equal(model.counts.queued, 1);
	assert_int_equal(model.counts.pass, 1);
	assert_int_equal(model.counts.invalid, 1);
	assert_int_equal(model.counts.error, 1);
	assert_string_equal(model.name, "smoke");
	assert_int_equal(model.preflight.ok, 5);
	assert_int_equal(model.gate, PR_GATE_OPEN);
	assert_string_equal(model.gate_by, "command");
	assert_true(model.started && model.frozen && !model.finished);
	assert_int_equal(model.refusals, 9);
	assert_int_equal(model.spend_usd_micro, 310005);
	assert_int_equal(model.control.verb, PR_VERB_FREEZE);
	assert_int_equal(model.control.us, 2500);
	assert_int_equal(model.control.uid, 1000);
	assert_int_equal(model.control.killed, -1);
	assert_int_equal(model.faults, 1);
	assert_int_equal(model.started_at_ms, 1005);
	const struct pr_task *a = pr_model_task(&model, "a"), *b = pr_model_task(&model, "b"), *c = pr_model_task(&model, "c");
	assert_int_equal(a->verdict, PR_VERDICT_PASS);
	assert_true(a->has_reward && a->reward == 0.85);
	assert_true(a->stderr_cut && !a->stdout_cut);
	assert_int_equal(a->phases[PR_PHASE_AGENT].exit_code, -9);
	assert_string_equal(a->phases[PR_PHASE_AGENT].termination, "signalled");
	assert_int_equal(a->killed, 3);
	assert_int_equal(a->closed_us, 1250);
	assert_int_equal(a->containment.enforced, PR_TRUE);
	assert_int_equal(a->containment.control_plane_isolated, PR_UNKNOWN);
	assert_int_equal(a->containment.resource_controllers_enforced, PR_FALSE);
	assert_string_equal(a->containment.why_not, "one, two");
	assert_int_equal(b->processes, 4);
	assert_int_equal(b->idle_ms, 0);
	assert_int_equal(c->violations, 2);
	assert_string_equal(c->reason, "left a symlink");
	assert_false(pr_model_task(&model, "d")->has_reward);
	assert_null(pr_model_task(&model, "zz"));
	/* On to the end. */
	fold(&model, "\"type\":\"control\",\"verb\":\"thaw\",\"who\":{\"uid\":0,\"pid\":1}");
	assert_false(model.frozen);
	fold(&model, "\"type\":\"control\",\"verb\":\"drain\"");
	assert_true(model.draining);
	fold(&model, "\"type\":\"control\",\"verb\":\"stop\",\"task\":\"b\",\"killed\":4,\"remaining\":0,\"removed\":1,\"ms\":9");
	assert_false(model.stopping);
	fold(&model, "\"type\":\"control\",\"verb\":\"stop\",\"task\":null,\"killed\":4,\"remaining\":0,\"removed\":1,\"ms\":9");
	assert_true(model.stopping);
	fold(&model, "\"type\":\"task.verdict\",\"task\":\"b\",\"status\":\"stopped\",\"verdict\":\"stopped\"");
	fold(&model, "\"type\":\"task.verdict\",\"task\":\"e\",\"status\":\"stopped\",\"verdict\":\"stopped\"");
	fold(&model, "\"type\":\"round.finished\",\"state\":\"stopped\",\"wall_ms\":99,\"spend_usd_micro\":310005,\"head\":\"abc\"");
	check_counts(&model);
	assert_true(model.finished);
	assert_string_equal(model.state, "stopped");
	assert_string_equal(model.head, "abc");
	assert_int_equal(model.counts.done, 5);
	assert_int_equal(model.counts.stopped, 2);
}

static void test_what_is_folded_is_passed_over(void **state)
{
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT;

	(void)state;
	play(&model);
	uint64_t last = model.seq;
	for (seq = 0; seq < last;)
		assert_int_equal(fold(&model, "\"type\":\"task.verdict\",\"task\":\"b\",\"verdict\":\"fail\""), 0);
	assert_int_equal(model.counts.fail, 0);
	assert_int_equal(fold(&model, "\"type\":\"something.new\",\"task\":\"b\""), 0);
	assert_int_equal(model.seq, last + 1);
	assert_int_equal(fold_ephemeral(&model, "{\"type\":\"task.verdict\",\"task\":\"b\",\"verdict\":\"fail\"}"), 0);
	assert_int_equal(fold_ephemeral(&model, "{\"type\":\"tail\",\"task\":\"b\",\"text\":\"x\"}"), 0);
	/* Progress of a task that is done, of another phase, of an unknown task: no effect. */
	fold_ephemeral(&model, "{\"type\":\"progress\",\"tasks\":[{\"task\":\"a\",\"phase\":\"done\",\"processes\":5},"
			       "{\"task\":\"b\",\"phase\":\"baseline\",\"processes\":5},{\"task\":\"q\",\"phase\":\"agent\"}]}");
	assert_int_equal(pr_model_task(&model, "a")->processes, 0);
	assert_int_equal(pr_model_task(&model, "b")->processes, 4);
	assert_int_equal(model.counts.tasks, 5);
	check_counts(&model);
}

static void test_resume(void **state)
{
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT;

	(void)state;
	play(&model);
	fold(&model, "\"type\":\"task.verdict\",\"task\":\"e\",\"status\":\"stopped\",\"verdict\":\"stopped\"");
	fold(&model, "\"type\":\"round.opened\",\"resumed\":true,\"tasks\":[{\"task\":\"a\"},{\"task\":\"b\"}]");
	check_counts(&model);
	/* Finished episodes stand; what ran and what was stopped is queued again. */
	assert_int_equal(model.counts.done, 3);
	assert_int_equal(model.counts.queued, 2);
	assert_int_equal(model.counts.running, 0);
	assert_true(model.resumed && !model.frozen && !model.started);
	fold(&model, "\"type\":\"task.phase\",\"task\":\"b\",\"phase\":\"prepare\",\"state\":\"started\"");
	/* A verdict is taken back where its task runs again. */
	fold(&model, "\"type\":\"task.phase\",\"task\":\"d\",\"phase\":\"agent\",\"state\":\"started\"");
	check_counts(&model);
	assert_int_equal(model.counts.running, 2);
	assert_int_equal(model.counts.error, 0);
}

static void test_snapshot_round_trip(void **state)
{
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT, copy = PR_MODEL_INIT;
	_cleanup_buffer_ struct buffer one = BUFFER_INIT, two = BUFFER_INIT;

	(void)state;
	play(&model);
	_cleanup_jsonc_ struct json_object *object = pr_model_to_json(&model, PR_LINE);
	assert_int_equal(jsonc_write(object, &one), 0);
	_cleanup_jsonc_ struct json_object *read = jsonc_read_object(one.data, one.length);
	assert_int_equal(pr_model_from_json(read, &copy, NULL), 0);
	/* The same in every field but those of the fold alone. */
	struct pr_model a = model, b = copy;
	a.tasks = b.tasks = NULL;
	a.index_ = b.index_ = NULL;
	a.room_ = b.room_ = a.index_room_ = b.index_room_ = a.last_ = b.last_ = 0;
	assert_memory_equal(&a.counts, &b.counts, sizeof a.counts);
	assert_int_equal(a.seq, b.seq);
	assert_string_equal(a.dir, b.dir);
	assert_string_equal(a.last_fault, b.last_fault);
	assert_int_equal(a.control.us, b.control.us);
	assert_int_equal(a.control.killed, b.control.killed);
	assert_int_equal(a.preflight.unknown, b.preflight.unknown);
	for (uint32_t i = 0; i < model.counts.tasks; i++) {
		const struct pr_task *x = &model.tasks[i], *y = &copy.tasks[i];
		assert_string_equal(x->id, y->id);
		assert_string_equal(x->source, y->source);
		assert_string_equal(x->reason, y->reason);
		assert_string_equal(x->episode, y->episode);
		assert_true(x->reward == y->reward && x->has_reward == y->has_reward);
		assert_memory_equal(x->phases, y->phases, sizeof x->phases);
		assert_int_equal(x->idle_ms, y->idle_ms);
		assert_int_equal(x->violations, y->violations);
		assert_int_equal(x->removed, y->removed);
		assert_int_equal(x->containment.enforced, y->containment.enforced);
		assert_int_equal(x->containment.remaining_processes, y->containment.remaining_processes);
		assert_string_equal(x->containment.why_not, y->containment.why_not);
	}
	/* And written again it is the same text. */
	_cleanup_jsonc_ struct json_object *again = pr_model_to_json(&copy, PR_LINE);
	assert_int_equal(jsonc_write(again, &two), 0);
	assert_string_equal(one.data, two.data);
	check_counts(&copy);
	/* It goes on from there as the first one does. */
	uint64_t kept = seq;
	fold(&model, "\"type\":\"task.verdict\",\"task\":\"b\",\"status\":\"ok\",\"verdict\":\"fail\",\"reward\":0.5");
	seq = kept;
	fold(&copy, "\"type\":\"task.verdict\",\"task\":\"b\",\"status\":\"ok\",\"verdict\":\"fail\",\"reward\":0.5");
	assert_memory_equal(&model.counts, &copy.counts, sizeof model.counts);
}

static void test_many_tasks(void **state)
{
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT;
	char members[256];

	(void)state;
	seq = 0;
	for (unsigned i = 0; i < PR_MODEL_TASKS + 50; i++) {
		snprintf(members, sizeof members, "\"type\":\"task.phase\",\"task\":\"t%u\",\"phase\":\"agent\",\"state\":\"started\"", i);
		fold(&model, members);
	}
	assert_int_equal(model.counts.tasks, PR_MODEL_TASKS);
	check_counts(&model);
	for (unsigned i = 0; i < PR_MODEL_TASKS; i++) {
		snprintf(members, sizeof members, "t%u", i);
		assert_string_equal(pr_model_task(&model, members)->id, members);
	}
}

/* A verdict without words is an error; a task's id that cannot be one is no task. */
static void test_hostile_members(void **state)
{
	static const char *const events[] = {
		"\"type\":\"round.opened\",\"tasks\":{},\"round\":7,\"parallel\":\"x\",\"dir\":null,\"wall_clock_ms\":-5",
		"\"type\":\"round.opened\",\"tasks\":[1,null,[],{\"task\":3},{\"task\":\"\"},{\"task\":\"a\\u0000b\"}]",
		"\"type\":\"task.phase\",\"task\":\"x\",\"phase\":\"done\",\"state\":\"started\"",
		"\"type\":\"task.phase\",\"task\":\"x\",\"phase\":\"queued\",\"state\":\"started\"",
		"\"type\":\"task.phase\",\"task\":\"x\",\"phase\":7,\"state\":\"started\"",
		"\"type\":\"task.phase\",\"task\":\"x\",\"phase\":\"agent\"",
		"\"type\":\"task.phase\",\"phase\":\"agent\",\"state\":\"started\"",
		"\"type\":\"task.verdict\"",
		"\"type\":\"task.verdict\",\"task\":[]",
		"\"type\":\"refusal\",\"count\":-3",
		"\"type\":\"refusal\",\"task\":\"x\",\"count\":18446744073709551615",
		"\"type\":\"control\",\"verb\":9,\"who\":[],\"ms\":-1,\"removed\":\"all\"",
		"\"type\":\"control\",\"verb\":\"no such\",\"ms\":1e300",
		"\"type\":\"boundary.closed\",\"task\":\"x\",\"ms\":\"soon\",\"process_containment\":{\"profile\":1,\"enforced\":3,\"uncertifiable_reasons\":{}}",
		"\"type\":\"boundary.closed\",\"task\":\"x\",\"process_containment\":{\"remaining_processes\":-4}",
		"\"type\":\"boundary.closed\",\"process_containment\":[]",
		"\"type\":\"round.finished\",\"head\":4,\"wall_ms\":99999999999999999",
		"\"type\":\"preflight.verdict\",\"ok\":-1",
		"\"type\":\"round.gate\",\"state\":{}",
		"\"type\":\"spend.settled\",\"task\":\"x\",\"spend_usd_micro\":-1",
		"\"type\":null",
		"\"type\":[]",
	};
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT;

	(void)state;
	open_round(&model);
	for (size_t i = 0; i < ELEMENTS(events); i++) {
		assert_true(fold(&model, events[i]) >= 0);
		check_counts(&model);
	}
	assert_string_equal(model.dir, "/r");
	assert_int_equal(model.parallel, 2);
	assert_int_equal(model.wall_clock_ms, 600000);
	assert_int_equal(model.control.us, -1);
	fold(&model, "\"type\":\"task.verdict\",\"task\":\"x\"");
	assert_int_equal(pr_model_task(&model, "x")->verdict, PR_VERDICT_ERROR);
	assert_int_equal(pr_model_apply(&model, NULL), 0);
	fold_ephemeral(&model, "{\"type\":\"progress\",\"tasks\":[1,null,{}],\"frozen\":3}");
	check_counts(&model);
}

static void test_texts_are_cut_at_characters(void **state)
{
	_cleanup_model_ struct pr_model model = PR_MODEL_INIT;
	char members[2048], reason[1024];

	(void)state;
	open_round(&model);
	for (size_t i = 0; i < 1000; i += 2)
		memcpy(reason + i, "\xc3\xa9", 3);
	snprintf(members, sizeof members, "\"type\":\"task.verdict\",\"task\":\"a\",\"verdict\":\"fail\",\"reason\":\"%.1000s\"", reason);
	fold(&model, members);
	assert_int_equal(strlen(pr_model_task(&model, "a")->reason), PR_LINE - 2);
}

static void test_hostile_snapshots(void **state)
{
	static const char *const snapshots[] = {
		"{}", "{\"tasks\":5}", "{\"tasks\":[null,3,{},{\"id\":3},{\"id\":\"a\",\"verdict\":99,\"phase\":-1}]}",
		"{\"tasks\":[{\"id\":\"a\",\"phase\":6},{\"id\":\"b\",\"running\":true,\"verdict\":2},{\"id\":\"a\",\"verdict\":1}]}",
		"{\"gate\":77,\"seq\":-1,\"control\":[],\"parallel\":-1}",
		"{\"control\":{\"verb\":\"x\",\"control.us\":-9}}",
		"{\"tasks\":[{\"id\":\"a\",\"phases\":{\"agent\":{\"state\":\"odd\",\"wall_ms\":-1}},\"violations\":-1,\"reward\":\"x\"}]}",
		"{\"counts\":{\"tasks\":1000}}",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(snapshots); i++) {
		_cleanup_model_ struct pr_model model = PR_MODEL_INIT;
		_cleanup_jsonc_ struct json_object *object = jsonc_read_object(snapshots[i], strlen(snapshots[i]));
		assert_non_null(object);
		assert_int_equal(pr_model_from_json(object, &model, NULL), 0);
		check_counts(&model);
	}
	struct pr_model none = PR_MODEL_INIT;
	assert_int_equal(pr_model_from_json(NULL, &none, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_round),
		cmocka_unit_test(test_what_is_folded_is_passed_over),
		cmocka_unit_test(test_resume),
		cmocka_unit_test(test_snapshot_round_trip),
		cmocka_unit_test(test_many_tasks),
		cmocka_unit_test(test_hostile_members),
		cmocka_unit_test(test_texts_are_cut_at_characters),
		cmocka_unit_test(test_hostile_snapshots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
