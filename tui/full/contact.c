/* The contact of contact.h. Owns nothing but its times. */
#include "tui/full/contact.h"

#include <errno.h>

#include "core/base/clock.h"

static void try_to_reach(struct contact *contact)
{
	struct pr_error ignored = { 0 };
	contact->tried_ns = clock_mono_ns();
	/* What refuses now may not in a moment; one that never does is said to be silent. */
	if (feed_reach(contact->feed, contact->place, &ignored) >= 0 && contact->feed->link.core > 0)
		contact->screen->core = contact->feed->link.core;
}

int contact_open(struct contact *contact, struct pr_error *error)
{
	contact->away_ns = clock_mono_ns();
	int r = feed_open_log(contact->feed, contact->place, error);
	if (r >= 0 && round_is_live(contact->place))
		try_to_reach(contact);
	return r < 0 ? r : 0;
}

static bool is_connected(const struct contact *contact)
{
	return contact->feed->link.fd >= 0 && !contact->feed->link.ended;
}

/* Tasks run, and so the core tells of them once a second. */
static bool is_to_speak(const struct contact *contact)
{
	const struct pr_model *model = contact->screen->model;
	return contact->screen->live && model->started && !model->finished && model->counts.running > 0;
}

static void look_for_core(struct contact *contact, int64_t now)
{
	struct screen *screen = contact->screen;
	if (screen->live)
		contact->away_ns = now;
	screen->live = false;
	if (screen->model->finished) {
		screen->silent = false;
		return;
	}
	if (!is_connected(contact) && contact->feed->over)
		screen->ended = !round_is_live(contact->place);
	if (!is_connected(contact) && !screen->ended && contact->feed->over && now >= contact->tried_ns + CONTACT_RETRY_NS)
		try_to_reach(contact);
	screen->silent = !screen->ended && now >= contact->away_ns + CONTACT_AWAY_NS;
}

int contact_look(struct contact *contact, bool *ret_changed, struct pr_error *error)
{
	struct screen *screen = contact->screen;
	bool live = screen->live, ended = screen->ended, silent = screen->silent;
	int64_t now = clock_mono_ns();
	struct pr_error why = { 0 };
	int r = feed_greeted(contact->feed, contact->place, &why);
	if (r == -EPROTO) {
		*error = why;
		return r;
	}
	if (r > 0)
		contact_heard(contact, now);
	if (is_connected(contact) && !contact->feed->greeting) {
		screen->live = true;
		screen->ended = false;
		screen->silent &= is_to_speak(contact) || screen->unanswered[0];
	} else {
		look_for_core(contact, now);
	}
	screen->silent |= screen->live && screen->unanswered[0];
	*ret_changed |= live != screen->live || ended != screen->ended || silent != screen->silent;
	return r > 0 ? 1 : 0;
}

void contact_heard(struct contact *contact, int64_t now_ns)
{
	contact->screen->heard_ns = now_ns;
	contact->screen->silent = false;
	stopkey_heard(&contact->screen->stop);
}

bool contact_quiet(struct contact *contact, int64_t now_ns)
{
	struct screen *screen = contact->screen;
	bool silent = is_to_speak(contact) && now_ns >= screen->heard_ns + CONTACT_SILENCE_NS;
	if (!silent || screen->silent)
		return false;
	screen->silent = true;
	return true;
}

int64_t contact_due_ns(const struct contact *contact)
{
	const struct screen *screen = contact->screen;
	if (screen->model->finished || screen->ended)
		return 0;
	if (screen->live)
		return is_to_speak(contact) && !screen->silent ? screen->heard_ns + CONTACT_SILENCE_NS : 0;
	int64_t silent = screen->silent ? 0 : contact->away_ns + CONTACT_AWAY_NS;
	/* A connection that waits for its hello wakes us by itself. */
	if (is_connected(contact))
		return silent;
	int64_t again = contact->tried_ns + CONTACT_RETRY_NS;
	return silent && silent < again ? silent : again;
}
