/*
 * Programs as a sandbox would find them: what it shows of the host is known before anything starts, so a
 * command that cannot be there is a fault of the round file and not a surprise in the night.
 */
#ifndef CORE_ROUND_PROGRAM_H
#define CORE_ROUND_PROGRAM_H

#include "core/round/spec.h"
#include <proctor/error.h>

/* Whose program it is says what can be done about one that is missing. */
enum program_owner { PROGRAM_OF_AGENT, PROGRAM_OF_TEST };

/*
 * Looks for `name` (absolute, or bare: then on `path`, NULL for the default) among what the sandbox shows: /usr, /bin,
 * /sbin, /lib* of the root, the read_only binds and `bind` (may be NULL). 0, or -ENOENT/-EACCES (also where only
 * its owner may execute it: a candidate has an id of its own) with what is missing in the message and what to do in the remedy.
 */
int program_find(const struct sandbox_spec *sandbox, const char *bind, const char *name, const char *path,
		 enum program_owner owner, struct pr_error *error);

#endif
