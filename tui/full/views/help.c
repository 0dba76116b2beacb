/* The keys, from their table, and the words that the screens use. */
#include "tui/full/document.h"

#include "core/base/cleanup.h"

static const struct {
	const char *word, *meaning;
} glossary[] = {
	{ "task", "one piece of work for an agent, on a subject of its own" },
	{ "round", "tasks that run together under one file; it belongs to its core and survives every screen" },
	{ "core", "the process that runs a round; this screen only shows it and sends it keys" },
	{ "candidate", "what is judged: the agent and everything that it starts or leaves behind" },
	{ "boundary", "what a candidate cannot leave: its own cgroup, namespaces, filters and limits; killed as a whole" },
	{ "phase", "prepare, agent, collect, baseline (the tests on the subject as it was), patched (the tests on what the agent left)" },
	{ "verdict", "pass, FAIL, INVALID (it broke a rule), error (no judgement: not the candidate's fault unless it says so), stopped" },
	{ "charged to", "whose fault it is: candidate, fixture, host, provider, owner" },
	{ "fixture", "what the owner made: subject, tests, round file; where it does not do what it claims, the task is an error" },
	{ "refusal", "a layer did not let something through; ordinary programs are refused things too" },
	{ "violation", "a rule of the task that was broken, as by a link out of the workspace; unlike a refusal it makes the task INVALID" },
	{ "refused", "how many refusals were recorded: a lower bound" },
	{ "certainty", "of a refusal: recorded (a layer told it), inferred (from counters), possible" },
	{ "certifiable", "every claim of the containment was tried on this machine and held; a claim not tried is unknown" },
	{ "ninth route", "the way out by writing one's own pid into cgroup.procs of the parent: a candidate must not reach it" },
	{ "arm", "one way to try an attempt again with a layer left out, to see which layer refuses it" },
	{ "spend", "money for the model so far; - where there is no meter" },
	{ "reserved", "money set aside for requests under way: at most this much more" },
	{ "held", "dispatch waits: many equal errors in a row that are not the candidates'" },
	{ "freeze", "every process stands still where it is, and so do the clocks; thaw lets it go on" },
	{ "drain", "finish what runs, start nothing more; it can be resumed" },
	{ "stop", "kill every process, and prove it: killed, remaining, boundaries removed; it can be resumed" },
	{ "detach", "leave the round alone and go; proctor watch shows it again" },
	{ "idle", "how long a task has said nothing" },
	{ "log", "the round's events in order, each bound to the one before by its digest" },
	{ "log head", "the digest of the log's last line: it stands for the whole" },
};

static void draw_help(struct screen *screen, struct canvas *canvas)
{
	struct document document = { 0 };
	int columns = screen->layout.areas[AREA_BODY].columns;
	document_heading(&document, "Keys%s", screen->control ? "" : " (those that act on the round need --control)");
	for (enum verb verb = 0; verb < VERB_COUNT; verb++)
		document_prose(&document, ROLE_TEXT, key_table[verb].shown, key_table[verb].help, columns, canvas->charset);
	document_heading(&document, "Words");
	for (size_t i = 0; i < ELEMENTS(glossary); i++)
		document_prose(&document, ROLE_TEXT, glossary[i].word, glossary[i].meaning, columns, canvas->charset);
	document_draw(&document, screen, canvas);
	document_release(&document);
}

const struct view view_help = { .scope = SCOPE_HELP, .heading = false, .draw = draw_help, .verb = screen_scroll };
