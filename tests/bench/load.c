/* Loads for a worker (load.h). */
#include "tests/bench/load.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/support/skip.h"

#define READY_MS 60000

static const struct {
	const char *name, *word;
} kinds[LOAD_KINDS] = {
	[LOAD_SLEEPERS] = { "sleepers", "sleep" },
	[LOAD_SPINNERS] = { "spinners", "spin" },
	[LOAD_BOMB] = { "bomb", "bomb" },
};

const char *load_name(enum load_kind kind)
{
	return kinds[kind].name;
}

int load_share(const struct load *load)
{
	return (load->processes + load->boundaries - 1) / load->boundaries;
}

void load_command(const struct load *load, char texts[static 2][16], const char *ret_argv[static LOAD_ARGUMENTS])
{
	int share = load_share(load);
	snprintf(texts[0], sizeof texts[0], "%d", load->kind == LOAD_BOMB ? 2 * share + 10 : share);
	snprintf(texts[1], sizeof texts[1], "%d", LOAD_SECONDS);
	const char *const argv[LOAD_ARGUMENTS] = { LOAD_PROGRAM, kinds[load->kind].word, texts[0], texts[1] };
	for (int i = 0; i < LOAD_ARGUMENTS; i++)
		ret_argv[i] = argv[i];
}

bool load_start(struct worker *worker, const struct load *load, int ret_runs[static LOAD_BOUNDARIES_MAX])
{
	char texts[2][16];
	const char *argv[LOAD_ARGUMENTS];
	load_command(load, texts, argv);
	/* Our init is a process of the boundary too. */
	int limit = load_share(load) + (load->kind == LOAD_BOMB ? 1 : 8);
	const struct run_spec spec = { .argv = argv, .read_only = (const char *[]){ LOAD_PROGRAM, NULL }, .processes = limit,
				       .memory_bytes = UINT64_C(256) << 20, .workspace_bytes = UINT64_C(16) << 20, .inodes = 1000,
				       .output_fd = load->output_fd };
	bool whole = true;
	for (int i = 0; i < load->boundaries; i++)
		whole = (ret_runs[i] = worker_run(worker, &spec)) > 0 && whole;
	for (int i = 0; i < load->boundaries && whole && !load->output_fd; i++)
		whole = worker_await_output(worker, ret_runs[i], "ready\n", READY_MS);
	if (!whole)
		fprintf(stderr, "%s in %d boundaries did not start\n", kinds[load->kind].name, load->boundaries);
	return whole;
}

struct worker *load_worker(const char *bench)
{
	if (access(PROCTOR_BUILD "/proctor-worker", X_OK) < 0)
		skip_program("%s/proctor-worker is not built", PROCTOR_BUILD);
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	if (!worker || !worker_refused(worker))
		return worker;
	fprintf(stderr, "%s: no boundary on this host: %s\n", bench, event_text(worker_refused(worker), "message"));
	worker_free(worker);
	return NULL;
}
