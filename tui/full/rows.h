/*
 * The order of the tasks on the screen: problems first, then what runs, what waits (folded to one line where
 * it is much), what is done. A task that did not pass has a second line that says why.
 */
#ifndef TUI_FULL_ROWS_H
#define TUI_FULL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <proctor/model.h>

#define ROWS_QUEUED_SHOWN 5	/* more queued tasks than these are folded */

struct row {
	enum row_kind { ROW_TASK, ROW_REASON, ROW_FOLD } kind;
	uint32_t task;		/* its place in the model; of ROW_FOLD the first one folded */
};

struct rows {
	struct row *list;	/* owned */
	size_t count;
	size_t room_;
};

/* -ENOMEM leaves what was there. */
int rows_build(struct rows *rows, const struct pr_model *model, bool unfolded);
void rows_release(struct rows *rows);

/* Worth a look: it did not pass, or it left processes behind. */
bool task_is_problem(const struct pr_task *task);
/* It has a line that says why. */
bool task_has_reason(const struct pr_task *task);

#endif
