/* What the agent finds beside its subject: files below HOME, and a repository of one commit where it wants one. */
#ifndef CORE_ROUND_AGENT_FILES_H
#define CORE_ROUND_AGENT_FILES_H

#include <stdbool.h>

#include "core/round/evidence.h"

/* Is there any of it? */
bool agent_files_wanted(const struct agent_spec *agent);

/*
 * The agent's stream: the subject, `.git`, HOME. Works in `evidence->dirfd`, and leaves nothing there. Negative errno with
 * `evidence->error` set.
 */
int agent_files_stream(struct evidence *evidence, int fd);

#endif
