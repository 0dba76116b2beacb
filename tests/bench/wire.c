/*
 * What watching costs the line and the machine, at 120x40 under a pty, beside htop and btop where they are installed,
 * interleaved: bytes to the first paint, bytes a second, CPU and wake-ups (voluntary context switches of all threads).
 *
 * Our rounds are played by a stand-in for the core (tests/terminal/stand_in.h), so that nothing else runs: four tasks
 * under way, of twelve; the same, frozen; and 300 tasks, 24 at once, of which ten a second end, with 200 refusals a
 * second. `--only flood` (or "four tasks", "nothing changes", htop, btop) measures one.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/bench/report.h"
#include "tests/support/skip.h"
#include "tests/terminal/stand_in.h"
#include "tests/terminal/terminal.h"

#define ROWS 40
#define COLUMNS 120
#define WARM_UP_MS 2500		/* after the first paint: peers read their files, we the log */
#define FLOOD_TASKS 300
#define FLOOD_AT_ONCE 24

/* ------- what is played ------- */

static void open_twelve(struct stand_in_core *core)
{
	static const char *const verdicts[] = { "pass", "fail", "invalid", "error" };
	static const char *const reasons[] = { "", "tests fail", "left a symlink: out (workspace)", "baseline test passes (fixture)" };
	stand_in_open_round(core, 12, 4);
	for (int task = 1; task <= 4; task++) {
		stand_in_run_task(core, task, "patched");
		stand_in_end_task(core, task, verdicts[task - 1], reasons[task - 1], 61000 + task * 1000);
	}
	for (int task = 5; task <= 8; task++)
		stand_in_run_task(core, task, "agent");
}

static void play_four(struct stand_in_core *core, void *argument)
{
	(void)argument;
	open_twelve(core);
	for (int64_t ms = 60000;; ms += 1000) {
		stand_in_progress(core, 5, 4, ms);
		stand_in_serve(core, 1000);
	}
}

/* Frozen: every clock stands still, and the core goes on to say so. */
static void play_still(struct stand_in_core *core, void *argument)
{
	(void)argument;
	open_twelve(core);
	stand_in_progress(core, 5, 4, 60000);
	stand_in_event(core, "{\"type\":\"control\",\"verb\":\"freeze\",\"who\":{\"uid\":0,\"pid\":1},\"task\":null,\"ms\":3.1,"
		       "\"processes\":41,\"runs\":4}");
	for (;;) {
		stand_in_progress(core, 5, 4, 60000);
		stand_in_serve(core, 1000);
	}
}

static void sample(struct stand_in_core *core, int first, int count, int step)
{
	stand_in_progress(core, first, count, 1000 + step * 20);
	for (int i = 0; i < count; i++) {
		char tail[200];
		snprintf(tail, sizeof tail, "{\"type\":\"tail\",\"task\":\"task-%03d\",\"phase\":\"agent\",\"stream\":\"stdout\","
			 "\"text\":\"line %d of a candidate that does not stop talking\"}", first + i, step);
		stand_in_say(core, tail);
	}
}

static void play_flood(struct stand_in_core *core, void *argument)
{
	(void)argument;
	int first = 1, next = 1;
	stand_in_open_round(core, FLOOD_TASKS, FLOOD_AT_ONCE);
	while (next <= FLOOD_AT_ONCE)
		stand_in_run_task(core, next++, "agent");
	stand_in_watched(core, 10000);
	for (int step = 0;; step++) {
		for (int i = 0; i < 4; i++)
			stand_in_eventf(core, "{\"type\":\"refusal\",\"task\":\"task-%03d\",\"phase\":\"agent\",\"layer\":\"limits\","
					"\"what\":\"fork\",\"object\":\"processes\",\"program\":\"sh\",\"ancestry\":\"\",\"errno\":\"EAGAIN\","
					"\"count\":%d,\"first_ms\":1,\"last_ms\":2,\"certainty\":\"recorded\"}",
					first + (step + i) % (next - first), step + 1);
		/* Samples come once a second, with what each task said since. */
		if (step % 50 == 0)
			sample(core, first, next - first, step);
		if (step % 5 == 4 && next <= FLOOD_TASKS) {
			stand_in_run_task(core, first, "patched");
			stand_in_end_task(core, first, first % 3 ? "pass" : "fail", first % 3 ? "" : "tests fail", 1000 + step);
			stand_in_run_task(core, next++, "agent");
			first++;
		}
		stand_in_serve(core, 20);
	}
}

/* ------- what is measured ------- */

struct cost {
	struct samples paint, bytes, cpu, wakes;
};

struct subject {
	const char *name;	/* of the case */
	const char *situation;
	const char *program;
	void (*play)(struct stand_in_core *, void *);
	bool there;
	struct cost cost;
};

static struct subject subjects[] = {
	{ .name = "proctor", .situation = "four tasks", .play = play_four },
	{ .name = "proctor", .situation = "nothing changes", .play = play_still },
	{ .name = "proctor", .situation = "flood", .play = play_flood },
	{ .name = "htop", .program = "htop" },
	{ .name = "btop", .program = "btop" },
};

/* One program, from its start on, for so many seconds. */
static bool measure(struct subject *subject, int seconds)
{
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	struct stand_in round = { .pid = -1 };
	const char *const watch[] = { PROCTOR_BUILD "/proctor", "watch", "--display", "full", NULL };
	const char *const peer[] = { subject->program, NULL };
	if (subject->play)
		stand_in_start(&round, subject->play, NULL);
	int64_t cpu[2], switches[2];
	bool right = terminal_start(&terminal, &(struct terminal_start){ .argv = subject->play ? watch : peer,
			.environment = subject->play ? round.variables : NULL, .term = "xterm-256color",
			.rows = ROWS, .columns = COLUMNS }) == 0;
	/* The first paint is over once nothing has come for a while. */
	for (int waits = 0; right && terminal.written == 0 && waits < 500; waits++)
		terminal_listen(&terminal, 10);
	right = right && terminal.written > 0;
	if (right)
		terminal_settle(&terminal, 250, 3000);
	/* In a flood no first paint is ever over. */
	if (subject->play != play_flood)
		samples_add(&subject->cost.paint, (double)terminal.written);
	terminal_listen(&terminal, WARM_UP_MS);
	right = right && process_cost(terminal.pid, &cpu[0], &switches[0]);
	uint64_t before = terminal.written;
	int64_t start = clock_mono_ns();
	terminal_listen(&terminal, seconds * 1000);
	double took = (double)(clock_mono_ns() - start) / (double)NS_PER_S;
	right = right && process_cost(terminal.pid, &cpu[1], &switches[1]) && !terminal.ended;
	if (right) {
		samples_add(&subject->cost.bytes, (double)(terminal.written - before) / took);
		samples_add(&subject->cost.cpu, (double)(cpu[1] - cpu[0]) / 1e6 / took);
		samples_add(&subject->cost.wakes, (double)(switches[1] - switches[0]) / took);
	} else {
		fprintf(stderr, "wire: %s ended, or painted nothing\n", subject->name);
	}
	if (subject->play)
		stand_in_stop(&round);
	return right;
}

static void report_peers(struct report *report, size_t offset)
{
	struct samples *all[ELEMENTS(subjects)];
	for (size_t i = 0; i < ELEMENTS(subjects); i++)
		all[i] = (struct samples *)((char *)&subjects[i].cost + offset);
	for (size_t i = 0; i < ELEMENTS(subjects); i++)
		if (!subjects[i].play)
			report_row(report, all[i], NULL);
}

static void report_all(bool json)
{
	static const struct {
		const char *what, *unit;
		size_t offset;
	} figures[] = {
		{ "first paint", "B", offsetof(struct cost, paint) },
		{ "bytes", "B/s", offsetof(struct cost, bytes) },
		{ "cpu", "ms/s", offsetof(struct cost, cpu) },
		{ "wake-ups", "1/s", offsetof(struct cost, wakes) },
	};
	for (size_t f = 0; f < ELEMENTS(figures); f++) {
		for (size_t i = 0; i < ELEMENTS(subjects) && subjects[i].play; i++) {
			char name[64];
			snprintf(name, sizeof name, "wire: %s, %s", figures[f].what, subjects[i].situation);
			struct report report = { .bench = name, .unit = figures[f].unit, .json = json };
			struct samples *own = (struct samples *)((char *)&subjects[i].cost + figures[f].offset);
			struct samples *htop = (struct samples *)((char *)&subjects[3].cost + figures[f].offset);
			own->name = "proctor";
			report_row(&report, own, htop->count ? htop : NULL);
			if (i == 0)
				report_peers(&report, figures[f].offset);
		}
	}
}

int main(int argc, char **argv)
{
	int seconds = 10, kept = 1;
	const char *only = NULL;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
			seconds = atoi(argv[++i]);
		else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
			only = argv[++i];
		else
			argv[kept++] = argv[i];
	}
	struct bench_options options = bench_options_read(kept, argv, (struct bench_options){ .rounds = 3 });
	if (access(PROCTOR_BUILD "/proctor", X_OK) < 0)
		skip_program("%s/proctor is not built", PROCTOR_BUILD);

	bool whole = true;
	for (size_t i = 0; i < ELEMENTS(subjects); i++) {
		struct subject *subject = &subjects[i];
		subject->there = subject->play || bench_installed(subject->program);
		if (only && strcmp(only, subject->play ? subject->situation : subject->name) != 0) {
			subject->there = false;
			continue;
		}
		subject->cost.paint.name = subject->cost.bytes.name = subject->cost.cpu.name = subject->cost.wakes.name = subject->name;
		if (!subject->there)
			fprintf(stderr, "wire: no row of %s: it is not installed\n", subject->program);
	}
	for (int round = 0; round < options.rounds && whole; round++)
		for (size_t i = 0; i < ELEMENTS(subjects) && whole; i++)
			if (subjects[i].there)
				whole = measure(&subjects[i], seconds);
	report_all(options.json);
	for (size_t i = 0; i < ELEMENTS(subjects); i++) {
		samples_release(&subjects[i].cost.paint);
		samples_release(&subjects[i].cost.bytes);
		samples_release(&subjects[i].cost.cpu);
		samples_release(&subjects[i].cost.wakes);
	}
	return whole ? 0 : 1;
}
