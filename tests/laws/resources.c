/* K13, memory and CPU time: each bounded while the run lives, by what the kernel did and not by what was written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/laws/law.h"

#define FINISH_MS 60000
#define MIB (UINT64_C(1) << 20)
#define CPU_MS 400

/*
 * 32 MiB, with a workspace, /tmp, HOME and /dev/shm of 1, 1, 1 and 32 MiB that are charged to the same cgroup: 67 in
 * all. tail(1) keeps a line without an end in memory: 100 MiB of it.
 */
static void judge_memory(const struct worker_start *how, struct verdict *verdict)
{
	static const char *const argv[] = { "/bin/sh", "-c", "head -c 100M /dev/zero | tail -n 1 | wc -c", NULL };
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .memory_bytes = 32 * MIB, .workspace_bytes = MIB });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	if (!result || !result->closed)
		law_broken(verdict, "no end of it");
	else if (strcmp(result->output->data, "104857600\n") == 0)
		law_broken(verdict, "100 MiB were held below a limit of 67");
	else if (event_number(result->event, "oom_kills") <= 0)
		law_broken(verdict, "%s, and no kill by the memory limit was counted", result->outcome);
	else
		law_holds(verdict, "%s, %lld killed by the memory limit", result->outcome,
			  (long long)event_number(result->event, "oom_kills"));
	worker_free(worker);
}

/* "XmY.Zs" of the shell's times(1), in ms. */
static double milliseconds(const char *text)
{
	char *end;
	double minutes = strtod(text, &end);
	return *end == 'm' ? 60e3 * minutes + 1e3 * strtod(end + 1, NULL) : -1;
}

/* CPU time of two seconds' spinning in ms, or -1. */
static double spin(struct worker *worker)
{
	static const char *const argv[] = { "/bin/sh", "-c", "timeout 2 sh -c 'while :; do :; done'; times", NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .cpus = 0.05 });
	const struct run_result *result = run > 0 ? worker_finish(worker, run, FINISH_MS) : NULL;
	/* The second line is the children's: user and system. */
	const char *line = result && result->closed ? strchr(result->output->data, '\n') : NULL;
	const char *second = line ? strchr(line, ' ') : NULL;
	return second ? milliseconds(line + 1) + milliseconds(second + 1) : -1;
}

/*
 * A twentieth of a CPU, for two seconds: 100 ms. The probe gets several times that on a busy machine too. In a guest the time
 * that its host takes away counts as used, so the least of three is judged.
 */
static void judge_cpu(const struct worker_start *how, struct verdict *verdict)
{
	struct worker *worker = law_worker(how, verdict);
	if (!worker)
		return;
	double least = spin(worker);
	for (int i = 0; i < 2 && least > CPU_MS; i++) {
		double used = spin(worker);
		least = used < least ? used : least;
	}
	if (least < 0)
		law_broken(verdict, "no times of it");
	else if (least > CPU_MS)
		law_broken(verdict, "%.0f ms of CPU time in 2 s with a twentieth of a CPU", least);
	else
		law_holds(verdict, "%.0f ms of CPU time in 2 s with a twentieth of a CPU", least);
	worker_free(worker);
}

const struct law resource_laws[] = {
	{ "K13-memory", "memory is bounded while it runs", "memory-limit", judge_memory },
	{ "K13-cpu", "CPU time is bounded while it runs", "cpu-limit", judge_cpu },
	{ 0 },
};
