/*
 * Many processes in boundaries of one worker: sleepers, spinners, or fork bombs that their limit holds (crowd.c), spread
 * evenly, so that one boundary and 64 hold as many together.
 */
#ifndef TESTS_BENCH_LOAD_H
#define TESTS_BENCH_LOAD_H

#include <stdbool.h>

#include "tests/support/worker_harness.h"

enum load_kind { LOAD_SLEEPERS, LOAD_SPINNERS, LOAD_BOMB, LOAD_KINDS };

#define LOAD_SECONDS 120		/* after which the processes end by themselves */
#define LOAD_BOUNDARIES_MAX 64
#define LOAD_COUNTS { 1, 8, LOAD_BOUNDARIES_MAX }

struct load {
	enum load_kind kind;
	int boundaries;		/* at most LOAD_BOUNDARIES_MAX */
	int processes;		/* of all together; a bomb is held there */
	int output_fd;		/* standard output of all; 0: read by the harness, which then waits for the load to be ready */
};

const char *load_name(enum load_kind kind);
int load_share(const struct load *load);	/* processes of one boundary, rounded up */

/* The path of the program that a load is, and its arguments for one share, to be run where it is shown at that path. */
#define LOAD_PROGRAM PROCTOR_BUILD "/tests/bench/crowd"
#define LOAD_ARGUMENTS 5
void load_command(const struct load *load, char texts[static 2][16], const char *ret_argv[static LOAD_ARGUMENTS]);

/* Starts the load and waits until all of it is there. What fails is told on standard error. */
bool load_start(struct worker *worker, const struct load *load, int ret_runs[static LOAD_BOUNDARIES_MAX]);

/* A worker that is ready, or NULL with what it said on standard error. Ends the program (as a skip) where it is not built. */
struct worker *load_worker(const char *bench);

#endif
