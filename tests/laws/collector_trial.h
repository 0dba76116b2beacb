/* What the test build's collector does on demand (collector_trial.c). */
#ifndef TESTS_LAWS_COLLECTOR_TRIAL_H
#define TESTS_LAWS_COLLECTOR_TRIAL_H

#include "core/base/cleanup.h"

#define COLLECTOR_TRIAL "proctor:trial"	/* the first scratch glob */

int collector_trial(const char *glob);

#endif
