/* The names of proctor/event.h: each list gives its table, and a lookup over it. */
#include <proctor/event.h>

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"

static int from_name(const char *const *names, int count, const char *name)
{
	for (int i = 0; name && i < count; i++)
		if (!strcmp(names[i], name))
			return i;
	return -EINVAL;
}

static const char *const event_names[] = {
#define X(identifier, name, logged) [identifier] = name,
	PR_EVENTS(X)
#undef X
};

static const char *const phase_names[] = {
#define X(identifier, name) [identifier] = name,
	PR_PHASES(X)
#undef X
};

static const char *const verdict_names[] = {
#define X(identifier, name) [identifier] = name,
	PR_VERDICTS(X)
#undef X
};

static const char *const verb_names[] = {
#define X(identifier, name) [identifier] = name,
	PR_VERBS(X)
#undef X
};

const char *pr_event_name(enum pr_event event)
{
	return event_names[event];
}

int pr_event_from_name(const char *name)
{
	return from_name(event_names, ELEMENTS(event_names), name);
}

const char *pr_phase_name(enum pr_phase phase)
{
	return phase_names[phase];
}

int pr_phase_from_name(const char *name)
{
	return from_name(phase_names, ELEMENTS(phase_names), name);
}

const char *pr_verdict_name(enum pr_verdict verdict)
{
	return verdict_names[verdict];
}

int pr_verdict_from_name(const char *name)
{
	return from_name(verdict_names, ELEMENTS(verdict_names), name);
}

const char *pr_verb_name(enum pr_verb verb)
{
	return verb_names[verb];
}

int pr_verb_from_name(const char *name)
{
	return from_name(verb_names, ELEMENTS(verb_names), name);
}
