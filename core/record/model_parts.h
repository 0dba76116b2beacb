/* What model.c and model_json.c share, and nobody else includes. */
#ifndef CORE_RECORD_MODEL_PARTS_H
#define CORE_RECORD_MODEL_PARTS_H

#include <proctor/model.h>

#define MODEL_NUMBER (INT64_C(1) << 53)	/* the largest number that is taken from an event or a snapshot */

/* Copies a text (NULL: none), cut at a whole character; the rest of the field is zeroed. */
void model_text(char *field, size_t size, const char *text);

void model_task_init(struct pr_task *task, const char *id);
int model_add_task(struct pr_model *model, const char *id, struct pr_task **ret_task);

/* Counts a task in (by 1) or out (by -1) of the counts that its state puts it under. */
void model_count(struct pr_model *model, const struct pr_task *task, int by);

/* process_containment of an event. */
void model_containment(struct pr_containment *containment, struct json_object *from);

/* A finite number; false for anything else. */
bool model_reward(struct json_object *value, double *ret_reward);

#endif
