/*
 * What a task left on the disk, for its view: bounded parts of the files below DIR/tasks/TASK, as they are
 * at the moment. Texts are as the candidate wrote them: they are made safe where they are drawn.
 */
#ifndef TUI_FULL_EVIDENCE_H
#define TUI_FULL_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

#include <proctor/model.h>

#define EVIDENCE_TAIL ((size_t)16 * 1024)	/* bytes from the end of the output */
#define EVIDENCE_PATCH ((size_t)128 * 1024)	/* bytes from the beginning of the patch */
#define EVIDENCE_RESULT ((size_t)1024 * 1024)
#define EVIDENCE_FILES 32

struct json_object;

struct evidence {
	char task[PR_TASK_ID];
	char directory[1536];
	struct json_object *result;	/* result.json; NULL: not there yet; owned */
	struct buffer patch;
	bool patch_cut;
	struct buffer tail;		/* of the file `tail_name`, or told by the core */
	char tail_name[64];
	bool tail_cut;			/* something stands before it */
	struct {
		char name[64];
		int64_t bytes;
	} files[EVIDENCE_FILES];
	size_t file_count;
};

/* Reads it anew. What is not there is left empty. */
void evidence_read(struct evidence *evidence, const char *round_directory, const struct pr_task *task);
void evidence_release(struct evidence *evidence);

#endif
