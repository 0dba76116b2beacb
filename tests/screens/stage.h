/* What a test of screens draws from: a model folded from a recorded log (logs/), a screen over it, the cells. */
#ifndef TESTS_SCREENS_STAGE_H
#define TESTS_SCREENS_STAGE_H

#include "tui/full/evidence.h"
#include "tui/full/screen.h"

#include <proctor/model.h>

struct stage {
	struct pr_model model;
	struct screen screen;
	struct evidence evidence;
	struct canvas canvas;
};

/* Folds logs/NAME.jsonl and, where it is there, logs/NAME.live. NULL: nothing is folded. Fails the test on a fault. */
void stage_open(struct stage *stage, const char *name);
void stage_close(struct stage *stage);

/* Folds one event, given as JSON. */
void stage_fold(struct stage *stage, const char *json);
/* Selects a task and reads what logs/tasks has of it. */
void stage_select(struct stage *stage, const char *task);
void stage_draw(struct stage *stage, enum view_id view, int columns, int rows, enum pr_charset charset);

#endif
