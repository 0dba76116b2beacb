/*
 * A round without its core: a process of the test's own keeps the round's directory, lock, log and socket as a core
 * does, and plays what it is told, at whatever pace. The program that watches cannot tell the difference; its figures
 * are not those of a machine that is busy with candidates.
 *
 *     struct stand_in round;
 *     stand_in_start(&round, play, argument);        forks; play(core, argument) runs in the child
 *     ... start `proctor watch` with round.variables ...
 *     stand_in_stop(&round);
 *
 * In the child:
 *
 *     stand_in_event(core, "{\"type\":...}")  into the log, then to who watches
 *     stand_in_say(core, "{\"type\":...}")    to who watches alone: progress, tail
 *     stand_in_serve(core, ms)                takes connections and commands for so long
 *
 * Commands are answered as by a core with 2 tasks of 41 processes: freeze, thaw, drain, stop, start.
 */
#ifndef TESTS_TERMINAL_STAND_IN_H
#define TESTS_TERMINAL_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stand_in_core;

struct stand_in {
	char *root;			/* a scratch directory */
	const char *variables[5];	/* XDG_STATE_HOME=..., XDG_RUNTIME_DIR=..., HOME=...; ends with NULL */
	char *texts[4];
	char name[64];			/* the round's */
	pid_t pid;
};

/* Exits the test on failure. Returns once the round can be reached. */
void stand_in_start(struct stand_in *round, void (*play)(struct stand_in_core *, void *), void *argument);
void stand_in_stop(struct stand_in *round);

void stand_in_event(struct stand_in_core *core, const char *json);
void stand_in_eventf(struct stand_in_core *core, const char *format, ...) __attribute__((format(printf, 2, 3)));
void stand_in_say(struct stand_in_core *core, const char *json);
void stand_in_serve(struct stand_in_core *core, int ms);
/* Serves until somebody watches, or the time is over. */
bool stand_in_watched(struct stand_in_core *core, int timeout_ms);
bool stand_in_frozen(const struct stand_in_core *core);
bool stand_in_asked_to_stop(const struct stand_in_core *core);

/* Events that each round begins with: opened with so many tasks ("task-001", ...), preflight, the gate, the start. */
void stand_in_open_round(struct stand_in_core *core, int tasks, int parallel);
/* A task from its first phase to `phase` (started), quickly. */
void stand_in_run_task(struct stand_in_core *core, int task, const char *phase);
/* A task's verdict, its boundary closed. */
void stand_in_end_task(struct stand_in_core *core, int task, const char *verdict, const char *reason, int wall_ms);
/* progress of the tasks first ... first+count-1, so many ms into their phase. */
void stand_in_progress(struct stand_in_core *core, int first, int count, int64_t wall_ms);

#define _cleanup_stand_in_ _cleanup_(stand_in_stop)

#endif
