/* A table of verbs. Pure. */
#include "tui/proof.h"

#include "tui/member.h"

static void frozen(struct line *line, struct json_object *object)
{
	line_add(line, "FROZEN in ");
	line_ms(line, member_double(object, "ms"));
	line_add(line, ": ");
	line_count(line, member_int(object, "runs"), "run", "runs");
	line_add(line, ", ");
	line_count(line, member_int(object, "processes"), "process stands", "processes stand");
	line_add(line, " still");
}

static void stopped(struct line *line, struct json_object *object)
{
	line_add(line, "STOPPED in ");
	line_ms(line, member_double(object, "ms"));
	line_add(line, ": ");
	line_count(line, member_int(object, "killed"), "process", "processes");
	line_add(line, " killed, %lld remaining, ", (long long)member_int(object, "remaining"));
	/* A boolean where it is one task's. */
	line_count(line, member_true(object, "removed") ? 1 : member_int(object, "removed"), "boundary", "boundaries");
	line_add(line, " removed");
}

static const struct {
	void (*figures)(struct line *line, struct json_object *object);
	const char *words, *already;
} verbs[PR_VERB_COUNT] = {
	[PR_VERB_START] = { NULL, "the gate is opened", "its gate is open already" },
	[PR_VERB_FREEZE] = { frozen, "freeze asked for", "stands still already" },
	[PR_VERB_THAW] = { NULL, "thawed, the clocks go on", "is not frozen" },
	[PR_VERB_DRAIN] = { NULL, "draining: what runs is finished, nothing more is started", "starts nothing more already" },
	[PR_VERB_STOP] = { stopped, "stop asked for", "is over, or being stopped already" },
};

void line_done(struct line *line, enum pr_verb verb, struct json_object *object)
{
	if (member_true(object, "already"))
		line_add(line, "%s", verbs[verb].already);
	else if (verbs[verb].figures && member_is_number(object, "ms"))
		verbs[verb].figures(line, object);
	else
		line_add(line, "%s", verbs[verb].words);
}
