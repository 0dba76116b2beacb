/* The order of feed.h. Owns the link and the log reader; called by show.c. */
#include "tui/feed.h"

#include <errno.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"

#define CONNECT_RETRY_MS 20
#define CONNECT_RETRIES 100
#define LOG_RETRY_MS 50
#define LOG_RETRIES 100		/* a line that the core has told of is in the file already; 5 s is beyond any doubt */

void feed_release(struct feed *feed)
{
	link_release(&feed->link);
	log_reader_close(feed->log);
	feed->log = NULL;
}

static bool has_link(const struct feed *feed)
{
	return feed->link.fd >= 0 && !feed->link.ended && !feed->greeting;
}

/*
 * A core that begins holds the lock a little before it can be reached, and one that ends a little after:
 * a refusal counts once it lasts.
 */
static int connect_to_core(struct feed *feed, const struct round_place *place, const char *path, struct pr_error *error)
{
	for (unsigned tries = 0;; tries++) {
		int r = link_open(&feed->link, path, place->name, error);
		if (r >= 0) {
			feed->known = feed->link.seq;
			r = link_watch_from(&feed->link, feed->link.seq + 1, error);
		}
		if (r >= 0)
			return r;
		link_release(&feed->link);
		feed->link = (struct link)LINK_INIT;
		if (!round_is_live(place)) {
			*error = (struct pr_error){ 0 };
			return 0;
		}
		if ((r != -ENOENT && r != -ECONNREFUSED && r != -ECONNRESET) || tries == CONNECT_RETRIES)
			return r;
		clock_sleep_ns(CONNECT_RETRY_MS * NS_PER_MS);
	}
}

int feed_open_log(struct feed *feed, const struct round_place *place, struct pr_error *error)
{
	char path[4096];
	int r = round_log(place, path, sizeof path, error);
	return r < 0 ? r : log_reader_open(path, &feed->log, error);
}

int feed_reach(struct feed *feed, const struct round_place *place, struct pr_error *error)
{
	char path[4096];
	link_release(&feed->link);
	feed->link = (struct link)LINK_INIT;
	feed->greeting = false;
	int r = round_socket(place, path, sizeof path, error);
	if (r >= 0)
		r = link_connect(&feed->link, path, place->name, error);
	if (r < 0) {
		link_release(&feed->link);
		feed->link = (struct link)LINK_INIT;
		return r;
	}
	feed->greeting = true;
	return 0;
}

int feed_greeted(struct feed *feed, const struct round_place *place, struct pr_error *error)
{
	int r = feed->greeting ? link_hello(&feed->link, place->name, error) : 0;
	if (r == 0)
		return 0;
	feed->greeting = false;
	if (r > 0) {
		feed->over = false;
		feed->waited = 0;
		if (feed->link.seq > feed->known)
			feed->known = feed->link.seq;
		r = link_watch_from(&feed->link, feed->link.seq + 1, error);
	}
	if (r >= 0)
		return 1;
	link_release(&feed->link);
	feed->link = (struct link)LINK_INIT;
	return r;
}

int feed_open(struct feed *feed, const struct round_place *place, struct pr_error *error)
{
	char path[4096];
	int r = feed_open_log(feed, place, error);
	if (r < 0 || !round_is_live(place))
		return r;
	r = round_socket(place, path, sizeof path, error);
	if (r >= 0)
		r = connect_to_core(feed, place, path, error);
	return r;
}

/* The next line of the log that was not handed out yet. */
static int from_log(struct feed *feed, struct pr_message *ret_event, const char **ret_line, size_t *ret_length,
		    struct pr_error *error)
{
	int r;
	while ((r = log_reader_next(feed->log, ret_line, ret_length, error)) > 0) {
		r = pr_wire_parse(*ret_line, *ret_length, ret_event, error);
		if (r < 0) {
			pr_error_prefix(error, "event %llu of the log: ", (unsigned long long)feed->next);
			return r;
		}
		if (ret_event->type == PR_MESSAGE_EVENT && ret_event->seq >= feed->next) {
			feed->next = ret_event->seq + 1;
			feed->waited = 0;
			return 1;
		}
		pr_message_release(ret_event);
	}
	return r;
}

static int from_link(struct feed *feed, struct pr_message *ret_event, const char **ret_line, size_t *ret_length)
{
	while (link_next(&feed->link, ret_event, ret_line, ret_length) > 0) {
		bool logged = ret_event->type == PR_MESSAGE_EVENT || ret_event->type == PR_MESSAGE_SNAPSHOT;
		bool passing = ret_event->type == PR_MESSAGE_EVENT && (ret_event->event == PR_EVENT_PROGRESS || ret_event->event == PR_EVENT_TAIL);
		if (ret_event->type == PR_MESSAGE_ANSWER || (passing && feed->ephemeral))
			return 1;
		if (ret_event->type == PR_MESSAGE_EVENT && ret_event->seq == feed->next) {
			feed->next++;
			return 1;
		}
		/* Later than the next one: something was dropped on the way, and the log has it. */
		if (logged && ret_event->seq >= feed->next)
			feed->known = ret_event->seq;
		pr_message_release(ret_event);
		if (feed->known >= feed->next)
			break;
	}
	return 0;
}

int feed_next(struct feed *feed, struct pr_message *ret_event, const char **ret_line, size_t *ret_length,
	      struct pr_error *error)
{
	int r = 0;
	if (has_link(feed) && feed->known < feed->next)
		r = from_link(feed, ret_event, ret_line, ret_length);
	if (r != 0 || (has_link(feed) && feed->known < feed->next))
		return r;
	r = from_log(feed, ret_event, ret_line, ret_length, error);
	if (r != 0)
		return r;
	if (!has_link(feed)) {
		feed->over = true;
		return 0;
	}
	if (++feed->waited > LOG_RETRIES)
		return pr_error_set(error, EIO, "the log does not hold event %llu, which the core has told of",
				    (unsigned long long)feed->next);
	return 0;
}

bool feed_is_behind(const struct feed *feed)
{
	return has_link(feed) ? feed->known >= feed->next : !feed->over;
}

int feed_wait_ms(const struct feed *feed)
{
	if (!has_link(feed))
		return 0;
	return feed_is_behind(feed) ? LOG_RETRY_MS : -1;
}
