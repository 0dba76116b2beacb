/* E6: output is capped while it is read. Judged through a whole round: the core is what reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/workspace/limits.h"
#include "tests/laws/law.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#define ROUND_MS 60000
#define FLOOD_MIB 24		/* six times the cap, and no more: without the guard it is kept */

static const char round_text[] =
	"{\"round\": \"flood\", \"kind\": \"baseline\", \"agent\": {\"name\": \"flood\", \"command\": [\"/bin/sh\", \"-c\","
	" \"i=0; while [ $i -lt %d ]; do head -c 1048576 /dev/zero; i=$((i+1)); done; exit 0\"]},"
	" \"tasks\": [{\"id\": \"flood\", \"directory\": \"subject\","
	" \"tests\": [{\"command\": [\"true\"]}]}]}\n";

/* The file of the captured output: rounds/NAME-.../tasks/flood/agent.stdout. */
static off_t captured_size(const char *output, char **ret_result)
{
	const char *at = strstr(output, "\"dir\":\"");
	const char *end = at ? strchr(at + 7, '"') : NULL;
	if (!end)
		return -1;
	char *directory = strndup(at + 7, (size_t)(end - at - 7));
	/* json-c writes '/' as '\/'. */
	char *to = directory;
	for (const char *from = directory; *from; from++)
		if (*from != '\\')
			*to++ = *from;
	*to = '\0';
	char *path = scratch_text("%s/tasks/flood/agent.stdout", directory);
	struct stat status;
	off_t size = stat(path, &status) == 0 ? status.st_size : -1;
	free(path);
	path = scratch_text("%s/tasks/flood/result.json", directory);
	*ret_result = scratch_read(path);
	free(path);
	free(directory);
	return size;
}

static void judge_output(const char *output, struct verdict *verdict)
{
	char *result = NULL;
	off_t size = captured_size(output, &result);
	bool cut = strstr(output, "task.output.cut") != NULL;
	bool invalid = strstr(output, "\"status\":\"invalid\"") && strstr(output, "stdout_too_large");
	/* "exit_code": null, whether or not the kill won the race: the truncation flag tells. */
	bool no_code = strstr(output, "\"exit_code\":0") == NULL;
	if (size == (off_t)OUTPUT_BYTES && cut && invalid && no_code)
		law_holds(verdict, "%lld bytes kept of %d MiB, cut while read, invalid", (long long)size, FLOOD_MIB);
	else
		law_broken(verdict, "%lld bytes kept, cut %d, invalid %d, no exit code %d", (long long)size, cut, invalid, no_code);
	free(result);
}

static void judge_e6(const struct worker_start *how, struct verdict *verdict)
{
	char *scratch = scratch_directory("law-e6");
	char *round = scratch_text("%s/flood.round.json", scratch);
	char *subject = scratch_text("%s/subject/file", scratch);
	char *text = scratch_text(round_text, FLOOD_MIB);
	char *state = scratch_text("XDG_STATE_HOME=%s/state", scratch);
	char *without = how->without ? scratch_text("PROCTOR_WITHOUT=%s", how->without) : scratch_text("PROCTOR_WITHOUT");
	/* The programs beside the worker that is asked for. */
	char *program = scratch_text("%.*s/proctor", (int)(strrchr(how->program, '/') - how->program), how->program);
	const char *const argv[] = { program, "run", round, "--yes", "--display", "json", NULL };
	const char *const environment[] = { state, without, NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;

	scratch_write(round, 0644, text);
	scratch_write(subject, 0644, "x\n");
	int code = process_run(&process, &(struct process_start){ .argv = argv, .environment = environment }, ROUND_MS);
	if (code != 0)
		law_broken(verdict, "proctor run ended with %d: %.200s", code, process.error.data ? process.error.data : "");
	else
		judge_output(process.output.data ? process.output.data : "", verdict);
	scratch_remove(scratch);
	free(scratch);
	free(round);
	free(subject);
	free(text);
	free(state);
	free(without);
	free(program);
}

const struct law output_laws[] = {
	{ "E6", "output is capped while it is read", "output-cap", judge_e6 },
	{ 0 },
};
