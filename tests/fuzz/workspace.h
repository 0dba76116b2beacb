/* A store that lives as long as the fuzzing process. */
#ifndef TESTS_FUZZ_WORKSPACE_H
#define TESTS_FUZZ_WORKSPACE_H

#include "core/workspace/store.h"

struct store *fuzz_store(void);

#endif
