/* Recorded rounds on a screen (stage.h). */
#include "tests/screens/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/record/jsonc.h"
#include "tests/support/scratch.h"

#define LOGS PROCTOR_SOURCE "/tests/screens/logs/"
#define SHOWN_DIRECTORY "/var/lib/proctor/rounds/smoke-20260102-030000/tasks/"

void stage_fold(struct stage *stage, const char *json)
{
	_cleanup_jsonc_ struct json_object *event = jsonc_read_object(json, strlen(json));
	if (!event)
		fail_msg("no JSON object: %.300s", json);
	assert_true(pr_model_apply(&stage->model, event) >= 0);
}

static bool fold_file(struct stage *stage, const char *path)
{
	_cleanup_free_ char *text = scratch_read(path);
	for (char *line = text, *next; line && *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		stage_fold(stage, line);
	}
	return text != NULL;
}

void stage_open(struct stage *stage, const char *name)
{
	*stage = (struct stage){ .model = PR_MODEL_INIT, .screen = SCREEN_INIT, .canvas = CANVAS_INIT };
	_cleanup_free_ char *log = scratch_text(LOGS "%s.jsonl", name ? name : "");
	_cleanup_free_ char *live = scratch_text(LOGS "%s.live", name ? name : "");
	if (name && !fold_file(stage, log))
		fail_msg("%s is not there", log);
	if (name)
		fold_file(stage, live);
	stage->screen.model = &stage->model;
	stage->screen.round = stage->model.round;
	stage->screen.live = stage->screen.control = true;
	/* A while after the last event, so that the clock is not at its first second. */
	stage->screen.now_ns = stage->model.last_mono_ns + 2 * NS_PER_S;
}

void stage_close(struct stage *stage)
{
	canvas_release(&stage->canvas);
	evidence_release(&stage->evidence);
	screen_release(&stage->screen);
	pr_model_release(&stage->model);
}

void stage_select(struct stage *stage, const char *task)
{
	snprintf(stage->screen.selected, sizeof stage->screen.selected, "%s", task);
	const struct pr_task *found = pr_model_task(&stage->model, task);
	assert_non_null(found);
	evidence_read(&stage->evidence, PROCTOR_SOURCE "/tests/screens/logs", found);
	/* Where this source tree lies is nobody's business. */
	snprintf(stage->evidence.directory, sizeof stage->evidence.directory, SHOWN_DIRECTORY "%s", task);
	stage->screen.evidence = &stage->evidence;
	stage->screen.moved = true;
}

void stage_draw(struct stage *stage, enum view_id view, int columns, int rows, enum pr_charset charset)
{
	stage->screen.view = view;
	assert_true(screen_draw(&stage->screen, columns, rows, charset, &stage->canvas) >= 0);
}
