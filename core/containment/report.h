/* What the worker and proctor-init tell each other over INIT_REPORT: one datagram each. Header only; static-safe. */
#ifndef CORE_CONTAINMENT_REPORT_H
#define CORE_CONTAINMENT_REPORT_H

#include <stdint.h>

/*
 * Worker to the init of a run, once: what to execute. The texts, each with its NUL, are in a memory file, for a command
 * and its environment may be longer than a datagram: the directory, the arguments, the environment.
 */
struct order {
	uint32_t arguments, environment;	/* how many of each */
	uint64_t bytes;				/* of all texts */
	uint32_t candidate;			/* its id inside (layers.h) */
};

/* The descriptors beside an order; the subject is left out where there is none. */
enum order_descriptor { ORDER_TEXTS, ORDER_STDOUT, ORDER_STDERR, ORDER_SUBJECT, ORDER_DESCRIPTORS };

enum report_kind {
	REPORT_SETUP_FAILED = 1,	/* value: errno; step: what failed. Init then waits to be killed */
	REPORT_EXEC_FAILED,		/* value: errno of the command's exec (K6) */
	REPORT_STARTED,			/* the command's exec worked */
	REPORT_EXITED,			/* value: wait status of the command (wait(2)) */
};

struct report {
	uint32_t kind;
	int32_t value;
	uint32_t alone;		/* REPORT_EXITED: 1 where nothing but init was left; it then ends by itself */
	char step[52];
};

#endif
