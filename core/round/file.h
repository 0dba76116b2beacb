/*
 * The round file (docs/round-file.md): from bytes to a struct round_spec, or to all of its faults at once.
 *
 *     struct round_spec spec = { 0 };
 *     struct faults faults = { .pool = &spec.pool };
 *     round_file_read(path, 0, &spec, &faults, &error)     -> 0, or -EBADMSG with faults, or another errno
 *     ...
 *     pool_release(&spec.pool);
 *
 * What is read is checked as far as the host's files tell without running anything: programs are looked
 * for among what the sandbox shows, files and directories must be there. Whether a commit is there is
 * asked by subject.c, which has a store. What this version does not deliver is a fault with a remedy.
 */
#ifndef CORE_ROUND_FILE_H
#define CORE_ROUND_FILE_H

#include <sys/types.h>

#include "core/round/faults.h"
#include "core/round/spec.h"
#include <proctor/error.h>

#define ROUND_FILE_BYTES ((size_t)1048576)
#define ROUND_COMPILED_BYTES ((size_t)67108864)	/* `repeat` writes each task out */

enum {
	ROUND_FILE_COMPILED = 1,	/* our own round.json (compile.h): its own keys are allowed, files are not looked for */
};

int round_file_read(const char *path, unsigned flags, struct round_spec *spec, struct faults *faults,
		    struct pr_error *error);

#endif
