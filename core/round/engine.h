/*
 * What everything in a live round shares: the loop, the worker, the journal, and a clock that stands still
 * while the round is frozen. Owned by round.c; runs and tasks borrow it.
 */
#ifndef CORE_ROUND_ENGINE_H
#define CORE_ROUND_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/base/clock.h"
#include "core/round/directory.h"
#include "core/round/journal.h"
#include "core/round/spec.h"
#include "core/round/subject.h"
#include "core/round/worker.h"

struct run;

struct engine {
	uv_loop_t *loop;
	struct worker worker;
	struct journal journal;
	struct store *store;
	struct round_directory directory;
	struct round_spec spec;
	struct subjects subjects;
	struct run *runs;		/* live ones: asked for, not closed */
	uint64_t last_run;		/* numbers are never used twice */
	bool frozen;			/* from the request on: nothing is dispatched, clocks stand */
	int64_t frozen_since_ns, frozen_ns;
};

/* Monotonic, in ns, standing still while frozen: the only clock that a wall clock is measured by. */
static inline int64_t engine_clock_ns(const struct engine *engine)
{
	int64_t now = engine->frozen ? engine->frozen_since_ns : clock_mono_ns();
	return now - engine->frozen_ns;
}

#endif
