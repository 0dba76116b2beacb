/* The commands' table and the pages made from it. Owns nothing; prints nothing. */
#include "tui/command.h"

#include "core/base/cleanup.h"
#include "tui/nearest.h"

#define TAKES(option) OPTION_BIT(OPTION_##option)

#define ROUND_WORDS \
	"ROUND is the full name of a run, the bare NAME of a round for its newest run,\n" \
	"or the path of a run's directory.\n"

const struct command command_table[] = {
	{ .name = "run", .words = "[FILE]", .words_max = 1, .function = command_run,
	  .may_be_stopped = true, .options = TAKES(YES) | TAKES(ATTACHED) | TAKES(DETACH) | TAKES(DISPLAY) | TAKES(RESUME),
	  .summary = "start a round and show it to its end",
	  .description =
	  "Checks the round file FILE, starts a core of its own for the round, and shows what\n"
	  "happens until the round is over. A round of kind `smoke` asks before it starts;\n"
	  "without a terminal to ask on nothing is started, unless --yes is given.\n"
	  "\n"
	  "The round belongs to its core, not to this command: it goes on when the terminal is\n"
	  "closed, the line drops or the reader of the output goes away. Ctrl-C says so once;\n"
	  "the second time it detaches, with exit code 0. A hang-up or SIGTERM detaches and ends\n"
	  "this command by that signal. With --attached each of these stops the round instead,\n"
	  "and so does the death of this command.\n"
	  "\n"
	  "With --resume a round that was stopped, drained, refused, failed or interrupted goes on:\n"
	  "tasks with a verdict keep it. The lines begin where the last core ended.\n",
	  .examples =
	  "proctor run docs/examples/smoke/smoke.round.json --yes\n"
	  "proctor run nightly.round.json --detach\n"
	  "proctor run ci.round.json --yes --attached --display json\n"
	  "proctor run --resume nightly\n" },
	{ .name = "watch", .words = "[ROUND]", .words_max = 1, .function = command_watch,
	  .options = TAKES(DISPLAY) | TAKES(CONTROL),
	  .summary = "show a round from its beginning; read-only unless --control is given",
	  .description =
	  "Shows what happened in a round since it was opened, and follows it to its end where it\n"
	  "still runs. A round that is over is replayed from its log. Without ROUND: the newest\n"
	  "run. Any number of watchers may look; none of them slows the round.\n"
	  "\n" ROUND_WORDS,
	  .examples = "proctor watch\nproctor watch smoke --display json\nproctor watch smoke-20260102-030405\n" },
	{ .name = "start", .words = "ROUND", .words_min = 1, .words_max = 1, .function = command_start,
	  .summary = "open the gate of a round that waits for its owner",
	  .description =
	  "Answers the question that a smoke round asks before it starts, and lets a round go on\n"
	  "that was held after five equal errors in a row.\n\n" ROUND_WORDS,
	  .examples = "proctor start smoke\n" },
	{ .name = "freeze", .words = "ROUND", .words_min = 1, .words_max = 1, .function = command_freeze,
	  .summary = "make every process of a round stand still",
	  .description =
	  "The processes stay where they are and the clocks of the round stand still, until it is\n"
	  "thawed or stopped.\n\n" ROUND_WORDS,
	  .examples = "proctor freeze smoke\n" },
	{ .name = "thaw", .words = "ROUND", .words_min = 1, .words_max = 1, .function = command_thaw,
	  .summary = "let a frozen round go on",
	  .description = ROUND_WORDS,
	  .examples = "proctor thaw smoke\n" },
	{ .name = "drain", .words = "ROUND", .words_min = 1, .words_max = 1, .function = command_drain,
	  .summary = "finish the tasks that run, start no other",
	  .description = "What was not started can be resumed later.\n\n" ROUND_WORDS,
	  .examples = "proctor drain smoke\nproctor run --resume smoke\n" },
	{ .name = "stop", .words = "ROUND", .words_min = 1, .words_max = 1, .function = command_stop,
	  .may_fault = true, .options = TAKES(TASK),
	  .summary = "kill every process of a round, or of one task",
	  .description =
	  "Prints the proof: how many processes were killed, how many the kernel still counts, how\n"
	  "many boundaries were removed, and how long it took. Evidence that was collected stays.\n"
	  "The round can be resumed. Exit code 1 where processes are left.\n"
	  "\n"
	  "It does not need a live core: where none answers within 10 s, the same kill is done\n"
	  "by proctor-worker from the round's own record of its cgroup.\n\n" ROUND_WORDS,
	  .examples = "proctor stop smoke\nproctor stop smoke --task clamp\n" },
	{ .name = "wait", .words = "ROUND", .words_min = 1, .words_max = 1, .function = command_wait,
	  .may_be_stopped = true,
	  .summary = "return when a round is over",
	  .description =
	  "Exit code 0 for a round that finished, 3 for one that its owner stopped or drained, 2\n"
	  "for one whose core is gone.\n\n" ROUND_WORDS,
	  .examples = "proctor run nightly.round.json --detach && proctor wait nightly\n" },
	{ .name = "list", .words = "", .function = command_list,
	  .options = TAKES(JSON),
	  .summary = "the rounds on this machine, newest first",
	  .description =
	  "States: waiting (at its gate), running, held (after five equal errors in a row; proctor\n"
	  "start goes on), frozen, draining, finished, stopped, refused (there was no boundary),\n"
	  "failed (a full disk, a worker that died too often), and interrupted: its core is gone\n"
	  "before the round was over; how to resume it stands below.\n"
	  "DONE counts the tasks with a verdict, without those that were stopped. HEAD is the digest\n"
	  "of the log's last line.\n",
	  .examples = "proctor list\nproctor list --json\n" },
	{ .name = "check", .words = "FILE", .words_min = 1, .words_max = 1, .function = command_check,
	  .options = TAKES(JSON),
	  .summary = "check a round file, and run nothing",
	  .description =
	  "Prints every fault with its line and column, and what is allowed there; of the subjects\n"
	  "too, which it reads.\n",
	  .examples = "proctor check smoke.round.json\nproctor check smoke.round.json --json\n" },
	{ .name = "sweep", .words = "", .function = command_sweep,
	  .may_fault = true, .options = TAKES(DRY_RUN) | TAKES(JSON),
	  .summary = "remove what rounds that no longer run left behind",
	  .description =
	  "Cgroups of workers that are dead, with every process in them; sockets where nobody answers;\n"
	  "directories that a start did not finish, and mounts in them. Each round that starts does\n"
	  "this for its own place. A round that lives is never touched, and the directories of\n"
	  "rounds that are over stay: they are the evidence. Exit code 1 where something could not\n"
	  "be removed.\n",
	  .examples = "proctor sweep --dry-run\nproctor sweep\nproctor sweep --json\n" },
	{ .name = "help", .words = "[COMMAND]", .words_max = 1, .function = command_print_help,
	  .summary = "the commands, or what one of them does and takes",
	  .description = "`proctor help keys` prints the keys of the screen.\n",
	  .examples = "proctor help\nproctor help run\nproctor help keys\n" },
};

const size_t command_count = ELEMENTS(command_table);

const struct command *command_find(const char *name, const char **ret_nearest)
{
	struct nearest nearest = NEAREST_INIT;
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(name, command_table[i].name) == 0)
			return &command_table[i];
		nearest_offer(&nearest, name, command_table[i].name);
	}
	if (ret_nearest)
		*ret_nearest = nearest.name;
	return NULL;
}

int command_synopsis(const struct command *command, struct buffer *out)
{
	int r = buffer_printf(out, "proctor %s", command->name);
	for (enum option option = 0; option < OPTION_COUNT && r >= 0; option++) {
		const struct option_entry *entry = &option_table[option];
		if (command->options & OPTION_BIT(option))
			r = buffer_printf(out, " [--%s%s%s]", entry->name, entry->argument ? " " : "",
					  entry->argument ? entry->argument : "");
	}
	if (r >= 0 && command->words[0])
		r = buffer_printf(out, " %s", command->words);
	return r;
}

static int option_lines(unsigned options, struct buffer *out)
{
	int r = buffer_add_text(out, "\nOptions:\n");
	for (enum option option = 0; option < OPTION_COUNT && r >= 0; option++) {
		const struct option_entry *entry = &option_table[option];
		char left[64], letter[8] = "    ";
		if (!(options & OPTION_BIT(option)))
			continue;
		if (entry->letter)
			snprintf(letter, sizeof letter, "-%c, ", entry->letter);
		snprintf(left, sizeof left, "%s--%s%s%s", letter, entry->name, entry->argument ? " " : "",
			 entry->argument ? entry->argument : "");
		r = buffer_printf(out, "  %-29s %s\n", left, entry->summary);
	}
	return r;
}

/* Each line of `text` behind two spaces. */
static int indented(const char *text, struct buffer *out)
{
	int r = 0;
	while (*text && r >= 0) {
		size_t length = strcspn(text, "\n");
		r = buffer_printf(out, "  %.*s\n", (int)length, text);
		text += length + (text[length] == '\n');
	}
	return r;
}

bool command_exits_with(const struct command *command, enum exit_code code)
{
	return (code != EXIT_FAULT || command->may_fault) && (code != EXIT_STOPPED || command->may_be_stopped);
}

/* NULL: of any. */
static int exit_lines(const struct command *command, struct buffer *out)
{
	int r = buffer_add_text(out, "\nExit codes:\n");
#define X(identifier, number, meaning) \
	if (r >= 0 && (!command || command_exits_with(command, identifier))) \
		r = buffer_printf(out, "  %2d  %s\n", number, meaning);
	EXITS(X)
#undef X
	return r;
}

int command_help(const struct command *command, struct buffer *out)
{
	int r = buffer_add_text(out, "Usage: ");
	if (r >= 0)
		r = command_synopsis(command, out);
	if (r >= 0)
		r = buffer_printf(out, "\n\n%s: %s.\n", command->name, command->summary);
	if (r >= 0 && command->description[0])
		r = buffer_printf(out, "\n%s", command->description);
	if (r >= 0)
		r = option_lines(command->options | OPTION_BIT(OPTION_HELP), out);
	if (r >= 0)
		r = buffer_add_text(out, "\nExamples:\n");
	if (r >= 0)
		r = indented(command->examples, out);
	return r < 0 ? r : exit_lines(command, out);
}

int command_overview(struct buffer *out)
{
	int r = buffer_add_text(out, "proctor runs untrusted work by coding agents under supervision.\n\n"
				"Usage: proctor COMMAND [OPTIONS] ...\n\nCommands:\n");
	for (size_t i = 0; i < command_count && r >= 0; i++)
		r = buffer_printf(out, "  %-8s %s\n", command_table[i].name, command_table[i].summary);
	if (r >= 0)
		r = option_lines(OPTION_BIT(OPTION_HELP) | OPTION_BIT(OPTION_VERSION), out);
	if (r >= 0)
		r = buffer_add_text(out, "\n`proctor help COMMAND` says what a command does and takes.\n");
	return r < 0 ? r : exit_lines(NULL, out);
}
