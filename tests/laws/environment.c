/* E7: the environment is a sealed map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/laws/law.h"

#define FINISH_MS 20000

static void judge_e7(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const argv[] = { "/usr/bin/env", "-0", NULL };
	static const char *const declared[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "ODD=a=b c\nd", NULL };
	static const char expected[] = "PATH=/usr/bin:/bin\0LANG=C.UTF-8\0ODD=a=b c\nd";	/* the literal's NUL ends the last */
	setenv("PROCTOR_TEST_SECRET", "must-not-be-seen", 1);
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .environment = declared });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed || strcmp(result->outcome, "exited") != 0)
		law_broken(verdict, "env did not run");
	else if (memmem(result->output->data, result->output->length, "must-not-be-seen", 16))
		law_broken(verdict, "a variable of the worker's was inherited");
	else if (result->output->length != sizeof expected || memcmp(result->output->data, expected, sizeof expected) != 0)
		law_broken(verdict, "%zu bytes of environment, %zu declared", result->output->length, sizeof expected);
	else
		law_holds(verdict, "exactly the declared keys and values, nothing inherited");
	worker_free(worker);
}

const struct law environment_laws[] = {
	{ "E7", "the environment is a sealed map", "sealed-environment", judge_e7 },
	{ 0 },
};
