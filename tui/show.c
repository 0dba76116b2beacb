/*
 * The loop of show.h: one poll(2) over the core, standard output, signals, and standard input while it asks.
 * Nothing in it blocks, so a reader that does not read and a core that does not speak leave it able to detach.
 *
 * What may happen, and what then:
 *
 *                    watcher           starter                              attached
 *   SIGINT           ends by it        explains; the second time detaches   stops the round; the second time leaves
 *   SIGTERM, SIGHUP  ends by it        detaches and ends by it              stops the round; the second time leaves
 *   output gone      ends              detaches                             stops the round
 *   core gone        says how to resume
 *
 * "Leaves" closes the descriptor that the core watches, which stops the round too, without our seeing it.
 */
#include "tui/show.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/command.h"
#include "tui/feed.h"
#include "tui/format.h"
#include "tui/full/app.h"
#include "tui/interrupt.h"
#include "tui/notice.h"
#include "tui/output.h"

#define CORE_EXIT NS_PER_S	/* how long a core may take from its last word to its end */

struct show {
	const struct round_place *place;
	const struct show_settings *settings;
	struct feed feed;
	struct display display;
	struct pr_model model;
	struct output output;
	int signals;
	unsigned interrupts;	/* signals so far */
	int commands;		/* sent so far: their ids */
	bool asking;		/* the question stands on the terminal */
	bool gate_seen;		/* the round waited and was asked about, or refused */
	bool declined;		/* the owner said no */
	bool refused;		/* there was nobody to ask */
	bool stopping;		/* we told the core to stop */
	bool leave;		/* to end now, with `exit_code` */
	int exit_code;
	int ended_by;		/* the signal to end by; 0: none */
};

static void show_release(struct show *show)
{
	feed_release(&show->feed);
	pr_model_release(&show->model);
	output_release(&show->output);
	cleanup_close(&show->signals);
}

int show_exit_code(const struct pr_model *model)
{
	if (strcmp(model->state, "refused") == 0 || strcmp(model->state, "failed") == 0)
		return EXIT_REFUSED;
	if (strcmp(model->state, "finished") != 0)
		return EXIT_STOPPED;
	/* Over before it began: the host could not offer what the round asks for. */
	if (!model->started && model->preflight.known && model->preflight.fail > 0)
		return EXIT_REFUSED;
	return EXIT_DONE;
}

static void leave(struct show *show, int exit_code)
{
	show->leave = true;
	show->exit_code = exit_code;
}

static void detach(struct show *show, int exit_code)
{
	if (show->settings->role == SHOW_STARTER)
		notice("detached; the round goes on. proctor watch %s shows it again, proctor stop %s ends it",
		       show->place->name, show->place->name);
	leave(show, exit_code);
}

static int command(struct show *show, enum pr_verb verb, struct pr_error *error)
{
	char id[PR_COMMAND_ID];
	snprintf(id, sizeof id, "%ld-%lld-%d", (long)getpid(), (long long)clock_mono_ns(), show->commands++);
	if (show->feed.link.fd < 0 || show->feed.link.ended)
		return pr_error_set(error, ECONNRESET, "the core of round %s is gone", show->place->name);
	return link_command(&show->feed.link, id, verb, NULL, error);
}

/* Tells the core to stop; its answer is the round's end. */
static int stop(struct show *show, struct pr_error *error)
{
	if (show->stopping)
		return 0;
	show->stopping = true;
	return command(show, PR_VERB_STOP, error);
}

static int question(const struct show *show, struct buffer *out)
{
	const struct pr_model *model = &show->model;
	struct line line;
	line_begin(&line, out);
	line_add(&line, "This would run ");
	line_count(&line, model->counts.tasks, "task", "tasks");
	line_add(&line, " (");
	for (uint32_t i = 0; i < model->counts.tasks && i < 8; i++) {
		line_add(&line, i ? ", " : "");
		line_text(&line, model->tasks[i].id, 72);
	}
	line_add(&line, "%s), %lld at a time, with the agent ", model->counts.tasks > 8 ? ", ..." : "", (long long)model->parallel);
	line_text(&line, model->agent, 100);
	line_add(&line, ".\nWall clock at most: ");
	line_duration(&line, model->wall_clock_ms);
	line_add(&line, " for the agent and ");
	line_duration(&line, model->tests_wall_clock_ms);
	line_add(&line, " for each test, unless a task says otherwise");
	if (model->longest_ms > 0) {
		line_add(&line, "; all clocks together: ");
		line_duration(&line, model->longest_ms);
	}
	line_add(&line, ".");
	int r = line_end(&line);
	return r < 0 ? r : buffer_add_text(out, "Start? [y/N] ");
}

bool show_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* The round waits for its owner: ask, or refuse where the terminal went away since. */
static int at_gate(struct show *show, struct pr_error *error)
{
	if (!show->settings->asks || show->gate_seen)
		return 0;
	show->gate_seen = true;
	if (!show_can_ask()) {
		show->refused = true;
		return stop(show, error);
	}
	_cleanup_buffer_ struct buffer words = BUFFER_INIT;
	if (question(show, &words) < 0)
		return pr_error_errno(error, ENOMEM, "asking");
	show->asking = true;
	notice_prompt(words.data);
	return 0;
}

static int answered(struct show *show, struct pr_error *error)
{
	char line[256];
	ssize_t length = read(STDIN_FILENO, line, sizeof line - 1);
	if (length < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	line[length > 0 ? length : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	show->asking = false;
	if (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0)
		return command(show, PR_VERB_START, error);
	if (length <= 0)
		notice_prompt("\n");
	show->declined = true;
	return stop(show, error);
}

static int take_event(struct show *show, const struct pr_message *event, const char *line, size_t length,
		      struct pr_error *error)
{
	if (event->type == PR_MESSAGE_ANSWER) {
		/* Somebody else was first, or the round is over: what follows tells. */
		if (!event->ok)
			notice("the core refuses: %s", event->message);
		return 0;
	}
	if (pr_model_apply(&show->model, event->object) < 0 ||
	    display_event(&show->display, event, line, length, &show->model, output_queue(&show->output)) < 0)
		return pr_error_errno(error, ENOMEM, "showing round %s", show->place->name);
	if (event->event != PR_EVENT_ROUND_GATE)
		return 0;
	if (show->asking && show->model.gate == PR_GATE_OPEN) {
		show->asking = false;
		notice_prompt("\n");
	}
	return 0;
}

/* A round that was resumed has ends before its last one. */
static bool seen_to_its_end(const struct show *show)
{
	return show->feed.over || (show->model.finished && !feed_is_behind(&show->feed));
}

/* Takes what there is while the reader of our output takes it too. */
static int take_events(struct show *show, struct pr_error *error)
{
	while (!seen_to_its_end(show) && !output_full(&show->output)) {
		struct pr_message event;
		const char *line;
		size_t length;
		int r = feed_next(&show->feed, &event, &line, &length, error);
		if (r > 0) {
			r = take_event(show, &event, line, length, error);
			pr_message_release(&event);
			if (r < 0)
				return r;
			continue;
		}
		/* All that came is shown: only what is still so now counts as waiting. */
		if (r == 0 && show->model.gate == PR_GATE_WAITING && !show->model.started && !show->feed.over &&
		    output_idle(&show->output))
			return at_gate(show, error);
		return r;
	}
	return 0;
}

static int interrupted(struct show *show, int number, struct pr_error *error)
{
	show->interrupts++;
	if (show->settings->role == SHOW_ATTACHED && show->interrupts == 1) {
		notice("stopping round %s: %s", show->place->name, strsignal(number));
		return stop(show, error);
	}
	if (show->settings->role == SHOW_ATTACHED) {
		notice("leaving round %s, which its core stops", show->place->name);
		leave(show, EXIT_STOPPED);
		return 0;
	}
	if (show->settings->role == SHOW_STARTER && number == SIGINT) {
		if (show->asking) {
			notice_prompt("\n");
			show->asking = false;
			show->declined = true;
			return stop(show, error);
		}
		if (show->interrupts == 1)
			notice("the round goes on without this command. Ctrl-C again detaches; proctor stop %s ends the round, "
			       "proctor watch %s shows it again", show->place->name, show->place->name);
		else
			detach(show, EXIT_DONE);
		return 0;
	}
	show->ended_by = number;
	detach(show, EXIT_DONE);
	return 0;
}

/* The reader of our output went away, or its disk is full. */
static int output_lost(struct show *show, struct pr_error *error)
{
	int fault = show->output.fault;
	if (fault != EPIPE && fault != EIO)
		notice("writing the output: %s", strerror(fault));
	if (show->settings->role == SHOW_ATTACHED)
		return stop(show, error);
	detach(show, fault == EPIPE || fault == EIO ? EXIT_DONE : EXIT_REFUSED);
	return 0;
}

static int wait_for_more(struct show *show, struct pr_error *error)
{
	enum { CORE, OUTPUT, SIGNALS, INPUT, WAITED };
	bool reads = show->feed.link.fd >= 0 && !show->feed.link.ended && !output_full(&show->output);
	struct pollfd wanted[WAITED] = {
		[CORE] = { .fd = reads ? show->feed.link.fd : -1, .events = POLLIN },
		/* Without POLLOUT still told when the reader is gone, poll(2). */
		[OUTPUT] = { .fd = show->output.fault ? -1 : show->output.fd, .events = output_idle(&show->output) ? 0 : POLLOUT },
		[SIGNALS] = { .fd = show->signals, .events = POLLIN },
		[INPUT] = { .fd = show->asking ? STDIN_FILENO : -1, .events = POLLIN },
	};
	int r = poll(wanted, WAITED, seen_to_its_end(show) || output_full(&show->output) ? -1 : feed_wait_ms(&show->feed));
	if (r < 0)
		return errno == EINTR ? 0 : pr_error_errno(error, errno, "waiting");
	if (wanted[OUTPUT].revents & POLLOUT)
		output_push(&show->output);
	else if (wanted[OUTPUT].revents)
		show->output.fault = EPIPE;
	r = 0;
	if (show->output.fault && wanted[OUTPUT].fd >= 0)
		r = output_lost(show, error);
	if (r >= 0 && wanted[CORE].revents)
		link_fill(&show->feed.link);
	int number = wanted[SIGNALS].revents ? interrupt_take(show->signals) : 0;
	if (r >= 0 && number)
		r = interrupted(show, number, error);
	if (r >= 0 && wanted[INPUT].revents && show->asking)
		r = answered(show, error);
	return r;
}

/*
 * The core's end of the socket closes a moment before its lock is given up. What comes next, a list or a resume,
 * is to find the round as we tell it. False: the core stays.
 */
static bool core_is_gone(const struct show *show)
{
	for (int64_t until_ns = clock_mono_ns() + CORE_EXIT; round_is_live(show->place); clock_sleep_ns(5 * NS_PER_MS))
		if (clock_mono_ns() > until_ns)
			return false;
	return true;
}

static int is_over(struct show *show, struct pr_error *error)
{
	const char *name = show->place->name;
	bool gone = core_is_gone(show);
	if (show->refused) {
		pr_error_set(error, EPERM, "round %s is of kind smoke and asks before it starts; there is no terminal to ask on", name);
		pr_error_remedy(error, "proctor run --resume %s --yes", name);
		return EXIT_REFUSED;
	}
	if (show->model.finished)
		return show->declined ? EXIT_STOPPED : show_exit_code(&show->model);
	if (!gone) {
		pr_error_set(error, ECONNRESET, "the core of round %s closed the connection; the round goes on", name);
		pr_error_remedy(error, "proctor watch %s", name);
		return EXIT_REFUSED;
	}
	pr_error_set(error, ECONNRESET, "round %s is interrupted: its core is gone", name);
	pr_error_remedy(error, "proctor run --resume %s goes on with it; %s/core.log may say why", name, show->place->dir);
	return EXIT_REFUSED;
}

static int loop(struct show *show, struct pr_error *error)
{
	for (;;) {
		int r = take_events(show, error);
		if (r < 0)
			return r;
		if (seen_to_its_end(show) && output_idle(&show->output))
			return is_over(show, error);
		r = wait_for_more(show, error);
		if (r < 0)
			return r;
		if (show->leave)
			return show->exit_code;
	}
}

int show_round(const struct round_place *place, const struct show_settings *settings, struct pr_error *error)
{
	__attribute__((cleanup(show_release))) struct show show = {
		.place = place, .settings = settings, .feed = FEED_INIT, .model = PR_MODEL_INIT, .signals = -1,
		.display = { .mode = settings->display, .plain = { .quiet_until = settings->quiet_until } },
	};
	int shown;
	if (settings->display == DISPLAY_FULL && full_show(place, settings, &shown, error))
		return shown;
	if (settings->display == DISPLAY_FULL)
		show.display.mode = DISPLAY_PLAIN;
	output_init(&show.output, STDOUT_FILENO);
	show.signals = interrupt_open(error);
	if (show.signals < 0)
		return show.signals;
	int r = feed_open(&show.feed, place, error);
	if (r >= 0)
		r = loop(&show, error);
	if (show.ended_by)
		interrupt_die(show.ended_by);
	return r;
}
