/* Reading subjects (subject.h); the only caller of source.h. */
#include "core/round/subject.h"

#include <string.h>

#include "core/base/cleanup.h"
#include "core/workspace/source.h"

/* A round file with faults may have tasks that name none. */
static bool has_subject(const struct task_spec *task)
{
	return task->place && (task->kind == SUBJECT_DIRECTORY || task->commit);
}

static size_t find_subject(struct subjects *subjects, const struct task_spec *task)
{
	for (size_t i = 0; i < subjects->count; i++) {
		const struct subject *subject = &subjects->items[i];
		if (subject->kind == task->kind && strcmp(subject->place, task->place) == 0 &&
		    (task->kind == SUBJECT_DIRECTORY || strcmp(subject->commit, task->commit) == 0))
			return i;
	}
	struct subject *subject = &subjects->items[subjects->count];
	*subject = (struct subject){ .kind = task->kind, .place = task->place, .commit = task->commit };
	tree_init(&subject->tree);
	return subjects->count++;
}

static int read_subject(struct subject *subject, struct store *store, struct pr_error *error)
{
	int r = subject->kind == SUBJECT_GIT
		? source_git(store, subject->place, subject->commit, &subject->tree, subject->commit_id, error)
		: source_directory(store, subject->place, &subject->tree, error);
	subject->read = true;
	return r;
}

int subjects_read(struct subjects *subjects, struct store *store, struct round_spec *spec, const bool *wanted,
		  struct faults *faults, struct pr_error *error)
{
	size_t found = faults->count;

	subjects->items = calloc(spec->task_count, sizeof subjects->items[0]);
	subjects->of_task = calloc(spec->task_count, sizeof subjects->of_task[0]);
	if (!subjects->items || !subjects->of_task)
		return pr_error_errno(error, ENOMEM, "reading the subjects");
	for (size_t i = 0; i < spec->task_count; i++) {
		struct task_spec *task = &spec->tasks[i];
		struct pr_error why = { 0 };
		if (!has_subject(task))
			continue;
		struct subject *subject = &subjects->items[subjects->of_task[i] = find_subject(subjects, task)];
		if (subject->read || (wanted && !wanted[i]) || read_subject(subject, store, &why) >= 0)
			continue;
		/* Ours and not the subject's. */
		if (why.code == EMFILE || why.code == ENFILE || why.code == ENOMEM || why.code == ENOSPC || why.code == EDQUOT) {
			if (error)
				*error = why;
			return -why.code;
		}
		faults_add(faults, task->source_at, "%s%s%s", why.message, why.remedy[0] ? "; " : "", why.remedy);
	}
	/* Only now: a subject is found again by the commit as it was written. */
	for (size_t i = 0; i < spec->task_count; i++)
		if (has_subject(&spec->tasks[i]) && subjects->items[subjects->of_task[i]].commit_id[0])
			spec->tasks[i].commit = subjects->items[subjects->of_task[i]].commit_id;
	if (faults->count == found)
		return 0;
	faults_sort(faults);
	return pr_error_set(error, EBADMSG, "%zu subject%s cannot be used", faults->count - found, faults->count - found == 1 ? "" : "s");
}

void subjects_release(struct subjects *subjects)
{
	for (size_t i = 0; i < subjects->count; i++)
		tree_release(&subjects->items[i].tree);
	free(subjects->items);
	free(subjects->of_task);
	*subjects = (struct subjects){ 0 };
}

const struct subject *subject_of(const struct subjects *subjects, size_t task)
{
	return &subjects->items[subjects->of_task[task]];
}
