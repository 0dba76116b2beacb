/* The switches of guard.h; empty in a release build. Static-safe: used by the program inside a boundary too. */
#include "core/base/guard.h"

#ifdef PROCTOR_TEST_BUILD
#include <stdlib.h>
#include <string.h>

static const char *const guard_ids[] = {
#define X(identifier, id, what, laws) [identifier] = id,
	GUARDS(X)
#undef X
};

extern char **environ;

const char *guard_environment(void)
{
	for (char **entry = environ; entry && *entry; entry++)
		if (strncmp(*entry, "PROCTOR_WITHOUT=", strlen("PROCTOR_WITHOUT=")) == 0)
			return *entry;
	return NULL;
}

bool guard_holds(enum guard guard)
{
	const char *list = getenv("PROCTOR_WITHOUT");
	const char *id = guard_ids[guard];
	size_t length = strlen(id);

	for (const char *at = list; at && *at;) {
		const char *end = strchrnul(at, ',');
		if ((size_t)(end - at) == length && memcmp(at, id, length) == 0)
			return false;
		at = *end ? end + 1 : end;
	}
	return true;
}
#else
typedef int guard_is_constant;	/* ISO C wants a translation unit to declare something */
#endif
