/* The order of rows.h. Owns the list; knows nothing of the screen. */
#include "tui/full/rows.h"

#include <errno.h>
#include <stdlib.h>

bool task_is_problem(const struct pr_task *task)
{
	return task->verdict == PR_VERDICT_ERROR || task->verdict == PR_VERDICT_INVALID ||
	       task->verdict == PR_VERDICT_FAIL || (task->closed_known && task->remaining > 0);
}

bool task_has_reason(const struct pr_task *task)
{
	return task->verdict != PR_VERDICT_NONE && task->verdict != PR_VERDICT_PASS && task->reason[0];
}

enum group { GROUP_PROBLEM, GROUP_RUNNING, GROUP_QUEUED, GROUP_DONE, GROUP_COUNT };

static enum group group_of(const struct pr_task *task)
{
	if (task->verdict == PR_VERDICT_ERROR || (task->closed_known && task->remaining > 0))
		return GROUP_PROBLEM;
	if (task->verdict != PR_VERDICT_NONE)
		return GROUP_DONE;
	return task->running ? GROUP_RUNNING : GROUP_QUEUED;
}

static int reserve(struct rows *rows, size_t count)
{
	if (count <= rows->room_)
		return 0;
	struct row *list = realloc(rows->list, count * sizeof *list);
	if (!list)
		return -ENOMEM;
	rows->list = list;
	rows->room_ = count;
	return 0;
}

int rows_build(struct rows *rows, const struct pr_model *model, bool unfolded)
{
	int r = reserve(rows, (size_t)model->counts.tasks * 2 + 1);
	if (r < 0)
		return r;
	/* Before anything has started they are what there is to see. */
	bool folds = model->counts.queued > ROWS_QUEUED_SHOWN && model->started;
	rows->count = 0;
	for (enum group group = 0; group < GROUP_COUNT; group++) {
		bool first = true;
		for (uint32_t i = 0; i < model->counts.tasks; i++) {
			const struct pr_task *task = &model->tasks[i];
			if (group_of(task) != group)
				continue;
			if (group == GROUP_QUEUED && folds && first)
				rows->list[rows->count++] = (struct row){ ROW_FOLD, i };
			first = false;
			if (group == GROUP_QUEUED && folds && !unfolded)
				continue;
			rows->list[rows->count++] = (struct row){ ROW_TASK, i };
			if (task_has_reason(task))
				rows->list[rows->count++] = (struct row){ ROW_REASON, i };
		}
	}
	return 0;
}

void rows_release(struct rows *rows)
{
	free(rows->list);
	*rows = (struct rows){ 0 };
}
