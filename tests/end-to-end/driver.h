/*
 * Drives the programs of this build as a user does, in places of its own: state, sockets and round files lie in
 * one scratch directory, so that tests share nothing with the owner's rounds.
 *
 * Life cycle: driver_open, rounds, driver_close. Closing ends every round that this driver started (by the
 * processes that carry its state directory in their environment), so that a test that fails leaves nothing.
 */
#ifndef TESTS_END_TO_END_DRIVER_H
#define TESTS_END_TO_END_DRIVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/process.h"
#include "tests/support/survivors.h"

struct driver {
	char *root;			/* /tmp/pt-XXXXXX: short, a socket's path has 107 bytes */
	char *state;			/* $XDG_STATE_HOME */
	char *rounds;			/* where runs lie */
	char *variables[4];		/* as process_start takes them */
	struct survivors before;	/* when the driver was opened */
};

/* Exits the program (as a skip) where the programs are not built or the caller is not root. */
void driver_open(struct driver *driver);
void driver_close(struct driver *driver);

/* Nothing of this build is left that was not there at driver_open: waits at most `timeout_ms`. How much is left. */
int driver_left(struct driver *driver, int timeout_ms);

/* `proctor ARGUMENT...` (the list ends with NULL), from the driver's root. Standard input is empty. */
int driver_start(struct driver *driver, struct process *process, const char *const *arguments);
/* The same to its end: the exit code, or -ETIMEDOUT (it is then killed). Output in `process`, to release. */
int driver_run(struct driver *driver, struct process *process, int timeout_ms, const char *const *arguments);
#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/*
 * Round files. A task works on the directory "subject" of the driver: an empty file "seed" and whatever a test
 * puts there. Its agent is a shell command; its test holds where a file "done" stands.
 */
struct task_text {
	const char *id;
	const char *agent;		/* for sh -c; "touch done" passes */
	const char *wall_clock;		/* NULL: 60s */
};

/* Writes NAME.round.json with these tasks (ends with an id of NULL); the path is the caller's to free. */
char *driver_round(struct driver *driver, const char *name, int parallel, const struct task_text *tasks);
/* A file of the test's own text in the driver's root; the path is the caller's to free. */
char *driver_file(struct driver *driver, const char *name, const char *text);

/* The newest run's directory, heap; NULL where there is none. How many runs there are. */
char *driver_newest(struct driver *driver);
int driver_run_count(struct driver *driver);
/* A file of the newest run, heap; NULL where it cannot be read. */
char *driver_read(struct driver *driver, const char *name);

/* Waits until the newest run's log holds this text. */
bool driver_await_log(struct driver *driver, const char *text, int timeout_ms);

/* The live core, and the worker below it, of this driver's newest round; -1 where there is none. */
pid_t driver_core(struct driver *driver);
pid_t driver_worker(struct driver *driver);
/* Waits until such a process exists (or is gone). */
pid_t driver_await_worker(struct driver *driver, pid_t other_than, int timeout_ms);
bool driver_await_gone(pid_t pid, int timeout_ms);

/* Processes on this host whose command line holds this text (a sleep of an odd length): what a candidate started. */
int driver_count_commands(const char *text);
bool driver_await_commands(const char *text, int count, int timeout_ms);
bool driver_await_more(const char *text, int least, int timeout_ms);

#endif
