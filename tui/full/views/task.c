/* One task: its phases, its clock, what its tests said, its containment, its output, its patch, its files. */
#include "tui/full/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tui/full/figures.h"
#include "tui/full/glyphs.h"
#include "tui/member.h"

#define TAIL_LINES 200

struct pages {
	struct document document;
	const struct screen *screen;
	const struct pr_task *task;
	const struct evidence *evidence;	/* NULL: none */
	enum pr_charset charset;
	int columns;
};

static void add_state(struct pages *pages)
{
	const struct pr_task *task = pages->task;
	struct document *document = &pages->document;
	struct state_look look = task_look(pages->screen, task, pages->charset);
	char verdict[32];
	verdict_words(task, verdict, sizeof verdict);
	document_heading(document, "%s", task->id);
	document_add(document, look.role, "state", "%s %s", look.mark, verdict[0] ? verdict : look.word);
	if (task->reason[0]) {
		document_prose(document, ROLE_TEXT, "why", task->reason, pages->columns, pages->charset);
		if (task->charged_to[0])
			document_add(document, ROLE_TEXT, "charged to", "%s", task->charged_to);
	}
	if (task->source[0])
		document_add(document, ROLE_TEXT, "source", "%s", task->source);
	if (task->episode[0])
		document_add(document, ROLE_TEXT, "episode", "%s", task->episode);
}

static void add_clock(struct pages *pages)
{
	const struct pr_task *task = pages->task;
	struct document *document = &pages->document;
	char text[96];
	if (task->running && task->limit_ms > 0) {
		snprintf(text, sizeof text, "%s / %s", figure_clock(task->wall_ms).text, figure_clock(task->limit_ms).text);
		document_bar(document, "wall clock", task->wall_ms, task->limit_ms, text);
	} else if (task->running || task->verdict != PR_VERDICT_NONE) {
		document_add(document, ROLE_TEXT, "wall clock", "%s", figure_took(task->wall_ms).text);
	}
	int64_t limit = task->spend_usd_micro + task->reserved_usd_micro;
	if (limit > 0) {
		snprintf(text, sizeof text, "%s / %s", figure_money(task->spend_usd_micro).text, figure_money(limit).text);
		document_bar(document, "spend", task->spend_usd_micro, limit, text);
	} else {
		document_add(document, ROLE_MUTED, "spend", "-");
	}
	if (task->running) {
		document_add(document, ROLE_TEXT, "now", "%" PRId64 " %s, %s of memory, %s of output", task->processes,
			     task->processes == 1 ? "process" : "processes", figure_bytes(task->memory_bytes).text,
			     figure_bytes(task->output_bytes).text);
		if (task->idle_ms >= 0)
			document_add(document, ROLE_TEXT, "idle", "%s", figure_clock(task->idle_ms).text);
	}
	if (task->refusals)
		document_add(document, ROLE_REFUSAL, "refusals", "%" PRIu64 ", at least", task->refusals);
	else
		document_add(document, ROLE_TEXT, "refusals", "none recorded");
	if (task->stdout_cut || task->stderr_cut)
		document_add(document, ROLE_NOTICE, "output", "over its cap: what came after is not kept");
}

static void add_phases(struct pages *pages)
{
	document_heading(&pages->document, "Phases");
	for (enum pr_phase phase = PR_PHASE_PREPARE; phase < PR_PHASE_DONE; phase++) {
		const struct pr_phase_record *record = &pages->task->phases[phase];
		const char *name = pr_phase_name(phase);
		char code[32] = "";
		if (record->has_exit_code)
			snprintf(code, sizeof code, " %" PRId64, record->exit_code);
		if (record->state == PR_PHASE_RUNNING)
			document_add(&pages->document, ROLE_RUNNING, name, "running");
		else if (record->state == PR_PHASE_ENDED)
			document_add(&pages->document, ROLE_TEXT, name, "%-8s  %s%s", figure_took(record->wall_ms).text,
				     record->termination, code);
	}
}

static void append(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);
	snprintf(text + used, size - used, "%s", more);
}

static void add_test(struct pages *pages, const char *phase, size_t number, struct json_object *test)
{
	char command[400] = "", declared[64] = "", label[24];
	struct json_object *words = member(test, "command"), *codes = member(test, "expected_exit_codes");
	for (size_t i = 0; json_object_is_type(words, json_type_array) && i < json_object_array_length(words); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(words, i));
		append(command, sizeof command, i ? " " : "");
		append(command, sizeof command, word ? word : "");
	}
	for (size_t i = 0; json_object_is_type(codes, json_type_array) && i < json_object_array_length(codes); i++) {
		char code[24];
		snprintf(code, sizeof code, "%s%" PRId64, i ? ", " : "", json_object_get_int64(json_object_array_get_idx(codes, i)));
		append(declared, sizeof declared, code);
	}
	snprintf(label, sizeof label, "%s %zu", phase, number);
	bool expected = member_true(test, "as_expected");
	char ended[64];
	if (member_is_number(test, "exit_code"))
		snprintf(ended, sizeof ended, "%s %" PRId64, member_text_or(test, "termination", "exited"), member_int(test, "exit_code"));
	else
		snprintf(ended, sizeof ended, "%s", member_text_or(test, "termination", "not executed"));
	enum glyph mark = expected ? GLYPH_PASS : GLYPH_FAIL;
	document_add(&pages->document, expected ? ROLE_PASS : ROLE_FAIL, label, "%s %s, declared %s   %s",
		     glyph(pages->charset, mark), ended, declared, command);
}

static void add_tests(struct pages *pages)
{
	static const char *const phases[] = { "baseline", "patched" };
	if (!pages->evidence || !pages->evidence->result)
		return;
	bool first = true;
	for (size_t p = 0; p < ELEMENTS(phases); p++) {
		struct json_object *tests = member(pages->evidence->result, phases[p]);
		for (size_t i = 0; json_object_is_type(tests, json_type_array) && i < json_object_array_length(tests); i++) {
			if (first)
				document_heading(&pages->document, "Tests");
			first = false;
			add_test(pages, phases[p], i + 1, json_object_array_get_idx(tests, i));
		}
	}
}

static void add_truth(struct pages *pages, const char *label, enum pr_truth truth, const char *words)
{
	static const struct {
		const char *word, *meaning;
		enum role role;
	} looks[] = {
		[PR_UNKNOWN] = { "unknown", "not shown: ", ROLE_NOTICE },
		[PR_FALSE] = { "NO", "not so: ", ROLE_FAIL },
		[PR_TRUE] = { "yes", "", ROLE_PASS },
	};
	document_add(&pages->document, looks[truth].role, label, "%-8s %s%s", looks[truth].word, looks[truth].meaning, words);
}

static void add_containment(struct pages *pages)
{
	const struct pr_task *task = pages->task;
	const struct pr_containment *containment = &task->containment;
	if (!containment->known && !task->closed_known)
		return;
	document_heading(&pages->document, "Containment");
	if (task->closed_known) {
		bool clean = task->remaining == 0 && task->removed;
		document_add(&pages->document, clean ? ROLE_TEXT : ROLE_ALERT, "last boundary",
			     "%" PRId64 " killed, %" PRId64 " remaining, %s in %s", task->killed, task->remaining,
			     task->removed ? "removed" : "NOT removed", figure_us(task->closed_us).text);
	}
	if (!containment->known)
		return;
	document_add(&pages->document, ROLE_TEXT, "profile", "%s", containment->profile);
	add_truth(pages, "kill boundary", containment->kill_boundary_enforced, "every process of it can be killed, and was");
	add_truth(pages, "control plane", containment->control_plane_isolated, "it cannot reach what steers it");
	add_truth(pages, "limits", containment->resource_controllers_enforced, "the kernel enforces memory, processes and cpu");
	add_truth(pages, "cleanup", containment->cleanup_closed, "nothing of it is left");
	add_truth(pages, "certifiable", containment->certifiable, "each of these was tried on this machine and held");
	if (containment->why_not[0])
		document_prose(&pages->document, ROLE_MUTED, "because", containment->why_not, pages->columns, pages->charset);
}

static void add_tail(struct pages *pages)
{
	const struct evidence *evidence = pages->evidence;
	if (!evidence || evidence->tail.length == 0)
		return;
	document_heading(&pages->document, "Output: %sthe end of %s", evidence->tail_cut ? "... " : "", evidence->tail_name);
	/* The last lines, in order. */
	const char *bytes = evidence->tail.data;
	size_t end = evidence->tail.length, from = end;
	int lines = 0;
	if (bytes[end - 1] == '\n')
		end--;
	from = end;
	while (from > 0 && lines < TAIL_LINES)
		if (bytes[--from] == '\n' && ++lines == TAIL_LINES)
			from++;
	for (size_t at = from; at <= end;) {
		const char *feed = memchr(bytes + at, '\n', end - at);
		size_t length = feed ? (size_t)(feed - bytes) - at : end - at;
		document_bytes(&pages->document, ROLE_OUTPUT, bytes + at, length);
		at += length + 1;
	}
}

static enum role patch_role(const char *line, size_t length)
{
	static const struct {
		const char *begin;
		enum role role;
	} kinds[] = {
		{ "+++", ROLE_HUNK }, { "---", ROLE_HUNK }, { "@@", ROLE_HUNK }, { "diff ", ROLE_HUNK }, { "index ", ROLE_HUNK },
		{ "+", ROLE_ADDED }, { "-", ROLE_REMOVED },
	};
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if (length >= strlen(kinds[i].begin) && memcmp(line, kinds[i].begin, strlen(kinds[i].begin)) == 0)
			return kinds[i].role;
	return ROLE_OUTPUT;
}

static void add_patch(struct pages *pages)
{
	const struct evidence *evidence = pages->evidence;
	if (!evidence || evidence->patch.length == 0)
		return;
	document_heading(&pages->document, "Patch%s", evidence->patch_cut ? ": its beginning" : "");
	const char *bytes = evidence->patch.data;
	for (size_t at = 0; at < evidence->patch.length;) {
		const char *feed = memchr(bytes + at, '\n', evidence->patch.length - at);
		size_t length = feed ? (size_t)(feed - bytes) - at : evidence->patch.length - at;
		document_bytes(&pages->document, patch_role(bytes + at, length), bytes + at, length);
		at += length + 1;
	}
}

static void add_files(struct pages *pages)
{
	const struct evidence *evidence = pages->evidence;
	if (!evidence || evidence->file_count == 0)
		return;
	document_heading(&pages->document, "Files in %s", evidence->directory);
	for (size_t i = 0; i < evidence->file_count; i++)
		document_add(&pages->document, ROLE_TEXT, evidence->files[i].name, "%s", figure_bytes(evidence->files[i].bytes).text);
}

static void draw_task(struct screen *screen, struct canvas *canvas)
{
	struct pages pages = { .screen = screen, .task = screen_task(screen), .charset = canvas->charset,
			       .columns = screen->layout.areas[AREA_BODY].columns };
	if (!pages.task) {
		struct pen pen = pen_at(canvas, screen->layout.areas[AREA_BODY], 0, ROLE_MUTED);
		pen_text(&pen, " There is no such task.", 0);
		return;
	}
	if (screen->evidence && strcmp(screen->evidence->task, pages.task->id) == 0)
		pages.evidence = screen->evidence;
	add_state(&pages);
	add_clock(&pages);
	add_phases(&pages);
	add_tests(&pages);
	/* While it runs, what it says stands last, where G follows it. */
	if (!pages.task->running)
		add_tail(&pages);
	add_patch(&pages);
	add_containment(&pages);
	add_files(&pages);
	if (pages.task->running)
		add_tail(&pages);
	document_draw(&pages.document, screen, canvas);
	document_release(&pages.document);
}

/* The next problem's task, from here. */
static bool next_problem(struct screen *screen)
{
	enum view_id view = screen->view;
	bool moved = view_tasks.verb(screen, VERB_NEXT);
	screen->view = view;
	screen->scroll[VIEW_TASK] = 0;
	screen->follow[VIEW_TASK] = false;
	return moved;
}

static bool task_verb(struct screen *screen, enum verb verb)
{
	return verb == VERB_NEXT ? next_problem(screen) : screen_scroll(screen, verb);
}

const struct view view_task = { .scope = SCOPE_TASK, .heading = false, .draw = draw_task, .verb = task_verb };
