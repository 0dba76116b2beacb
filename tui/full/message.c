/* The words of message.h. Pure. */
#include "tui/full/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tui/full/figures.h"

static void gate_words(const struct screen *screen, char *words, size_t size)
{
	const struct pr_model *model = screen->model;
	int64_t parallel = model->parallel > 0 ? model->parallel : 1;
	char all[64] = "";
	if (model->longest_ms > 0)
		snprintf(all, sizeof all, " All clocks together: %s.", figure_clock(model->longest_ms).text);
	snprintf(words, size, "This would run %u %s, %" PRId64 " at a time, with the agent %.60s: at most %s for the agent and %s for each test "
		 "command, unless a task says otherwise.%s",
		 (unsigned)model->counts.tasks, model->counts.tasks == 1 ? "task" : "tasks", parallel, model->agent,
		 figure_clock(model->wall_clock_ms).text, figure_clock(model->tests_wall_clock_ms).text, all);
}

/* The core has said nothing for a while: since when, and what waits for it. */
static void silent_words(const struct screen *screen, char *words, size_t size)
{
	char core[48] = "The core";
	if (screen->core > 0)
		snprintf(core, sizeof core, "The core (pid %" PRId64 ")", screen->core);
	if (screen->unanswered[0])
		snprintf(words, size, "%s does not answer. It was sent: %s; it does that in this order once it answers. What is shown is as it was.",
			 core, screen->unanswered);
	else
		snprintf(words, size, "%s does not answer. What is shown is as it was when it last did.", core);
}

/* It stands still: that, and its keys, are said whatever else there is to say. */
static bool frozen_words(const struct screen *screen, char *words, size_t size, enum role *ret_role, const char **ret_keys)
{
	const struct pr_model *model = screen->model;
	if (!model->frozen || !screen->live || screen->silent || model->finished || model->stopping)
		return false;
	*ret_role = ROLE_FROZEN;
	*ret_keys = screen->control ? "p thaw   S stop the round" : "";
	if (screen->stop.figures)
		stopkey_frozen(&screen->stop, words, size);
	else
		snprintf(words, size, "FROZEN: nothing runs until it is thawed.");
	return true;
}

/* A notice before what stands there in any case. */
static void with_notice(const struct screen *screen, char *words, size_t size)
{
	char both[2048];
	if (!screen->notice[0])
		return;
	snprintf(both, sizeof both, "%s   %s", screen->notice, words);
	snprintf(words, size, "%s", both);
}

void message_words(const struct screen *screen, char *words, size_t size, enum role *ret_role, const char **ret_keys)
{
	const struct pr_model *model = screen->model;
	const char *round = screen->round ? screen->round : model->round;
	stopkey_words(&screen->stop, model, round, words, size, ret_role, ret_keys);
	if (words[0] && screen->stop.stage != STOP_FROZEN)
		return;
	if (words[0] || frozen_words(screen, words, size, ret_role, ret_keys)) {
		with_notice(screen, words, size);
		return;
	}
	*ret_role = ROLE_NOTICE;
	if (screen->notice[0]) {
		snprintf(words, size, "%s", screen->notice);
	} else if (screen->fault[0] && !screen->silent && !screen_at_gate(screen)) {
		snprintf(words, size, "%s", screen->fault);
	} else if (model->finished) {
		return;
	} else if (screen->ended) {
		*ret_role = ROLE_ERROR;
		snprintf(words, size, "The core is gone before the round was over; resume: proctor run --resume %s", round);
	} else if (screen->silent) {
		*ret_role = ROLE_ERROR;
		silent_words(screen, words, size);
		*ret_keys = screen->control ? "S S stop the round without it" : "";
	} else if (screen_at_gate(screen)) {
		*ret_role = ROLE_HELD;
		gate_words(screen, words, size);
		*ret_keys = screen->control ? "y start   S stop   d leave it waiting" : "proctor start opens it   d leave it waiting";
	} else if (model->held) {
		*ret_role = ROLE_HELD;
		snprintf(words, size, "HELD: %s", model->held_why);
	}
}

bool message_is_fault(const struct screen *screen, const char *words)
{
	return screen->fault[0] && strcmp(words, screen->fault) == 0;
}

bool message_shows_fault(const struct screen *screen)
{
	char words[2048];
	enum role role;
	const char *keys;
	message_words(screen, words, sizeof words, &role, &keys);
	return message_is_fault(screen, words);
}
