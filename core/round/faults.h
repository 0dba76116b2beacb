/*
 * The faults of a round file: gathered all, sorted by place, printed as
 * FILE:LINE:COLUMN: what is wrong; what is allowed
 */
#ifndef CORE_ROUND_FAULTS_H
#define CORE_ROUND_FAULTS_H

#include <stdio.h>

#include "core/round/pool.h"
#include "core/round/spec.h"

#define FAULTS_MAX 200		/* a file with more is not the file that was meant; the rest is counted */

struct fault {
	struct place_in_file at;
	const char *text;	/* "what is wrong; what is allowed": safe to print */
};

struct faults {
	struct pool *pool;
	struct fault items[FAULTS_MAX];
	size_t count;		/* may be over FAULTS_MAX: then that many are kept */
};

/* Text that came from the file is made printable on the way. */
void faults_add(struct faults *faults, struct place_in_file at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void faults_sort(struct faults *faults);
void faults_print(const struct faults *faults, const char *file, FILE *out);
size_t faults_kept(const struct faults *faults);

#endif
