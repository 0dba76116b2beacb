/* What proctor-init tells the worker over INIT_REPORT: one datagram each. Header only; static-safe. */
#ifndef CORE_CONTAINMENT_REPORT_H
#define CORE_CONTAINMENT_REPORT_H

#include <stdint.h>

enum report_kind {
	REPORT_SETUP_FAILED = 1,	/* value: errno; step: what failed. Init then waits to be killed */
	REPORT_EXEC_FAILED,		/* value: errno of the command's exec (K6) */
	REPORT_STARTED,			/* the command's exec worked */
	REPORT_EXITED,			/* value: wait status of the command (wait(2)) */
};

struct report {
	uint32_t kind;
	int32_t value;
	char step[56];
};

#endif
