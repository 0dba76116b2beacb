/*
 * K12: a candidate cannot leave its cgroup for the parent's or a sibling's, nor make one. It tries as one who knows every path
 * on the host; whether it went is read from outside, from the cgroups. The worker's own claim must agree.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"
#include "tests/laws/law.h"

#define FINISH_MS 20000
#define MADE "made-by-a-candidate"

/* $1 is its marker, then directories: enters each (what entering is called differs), makes one in each, stays. */
static const char try_line[] =
	"mark=$1; shift; for d in \"$@\"; do for f in cgroup.procs tasks; do (echo $$ > $d/$f) 2>/dev/null; done; "
	"mkdir $d/" MADE " 2>/dev/null; done; echo tried; exec sleep $mark";

struct scene {
	struct worker *worker;
	const char *parents[8];		/* on the host: v2's first, then v1's */
	size_t count;
	char neighbour[4400];		/* the leaf of a run that lives, on v2 */
};

static bool is_empty(const char *directory, const char *file)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	char path[4600];
	snprintf(path, sizeof path, "%s/%s", directory, file);
	return io_read_file(AT_FDCWD, path, 1u << 20, &text) < 0 || text.length == 0;
}

static bool unmake(const char *directory)
{
	char path[4600];
	snprintf(path, sizeof path, "%s/" MADE, directory);
	return rmdir(path) == 0;
}

static bool set_scene(const struct worker_start *how, struct scene *scene, struct verdict *verdict)
{
	char marker[64];
	struct json_object *v1 = NULL;
	law_marker(marker, sizeof marker);
	scene->worker = law_worker(how, verdict);
	if (!scene->worker)
		return false;
	struct json_object *ready = worker_ready(scene->worker);
	scene->parents[scene->count++] = event_text(ready, "cgroup");
	json_object_object_get_ex(ready, "v1", &v1);
	for (size_t i = 0; v1 && i < json_object_array_length(v1) && scene->count < ELEMENTS(scene->parents); i++)
		scene->parents[scene->count++] = json_object_get_string(json_object_array_get_idx(v1, i));
	const char *const argv[] = { "/bin/sh", "-c", "echo up; exec sleep $1", "sh", marker, NULL };
	int run = worker_run(scene->worker, &(struct run_spec){ .argv = argv });
	if (run <= 0 || !worker_await_output(scene->worker, run, "up", FINISH_MS) ||
	    !law_find_leaf(scene->parents[0], marker, scene->neighbour, sizeof scene->neighbour))
		return law_broken(verdict, "no neighbour came up");
	return true;
}

/* Lets a candidate try these directories. Its marker tells it from the others. */
static bool let_try(struct scene *scene, const char *const *directories, size_t count, char *marker, size_t size, struct verdict *verdict)
{
	const char *argv[16] = { "/bin/sh", "-c", try_line, "sh", marker };
	law_marker(marker, size);
	memcpy(argv + 5, directories, count * sizeof *directories);
	int run = worker_run(scene->worker, &(struct run_spec){ .argv = argv });
	if (run <= 0 || !worker_await_output(scene->worker, run, "tried", FINISH_MS))
		return law_broken(verdict, "the candidate did not come up");
	return true;
}

static bool stays(struct scene *scene, struct verdict *verdict)
{
	char marker[64], leaf[4400];
	const char *const sibling[] = { scene->neighbour };

	if (!let_try(scene, scene->parents, scene->count, marker, sizeof marker, verdict))
		return false;
	for (size_t i = 0; i < scene->count; i++) {
		bool made = unmake(scene->parents[i]);
		if (!is_empty(scene->parents[i], "cgroup.procs"))
			return law_broken(verdict, "a candidate entered the parent %s", scene->parents[i]);
		if (made)
			return law_broken(verdict, "a candidate made a cgroup beside its own in %s", scene->parents[i]);
	}
	if (!let_try(scene, sibling, 1, marker, sizeof marker, verdict))
		return false;
	if (unmake(scene->neighbour))
		return law_broken(verdict, "a candidate made a cgroup in its sibling's");
	if (!law_find_leaf(scene->parents[0], marker, leaf, sizeof leaf))
		return law_broken(verdict, "a candidate is in none of the round's cgroups");
	if (strcmp(leaf, scene->neighbour) == 0)
		return law_broken(verdict, "a candidate entered its sibling");
	return true;
}

static void judge_k12(const struct worker_start *how, struct verdict *verdict)
{
	struct scene scene = { 0 };
	struct json_object *containment = NULL, *claimed = NULL;
	bool good = set_scene(how, &scene, verdict) && stays(&scene, verdict);
	if (scene.worker && json_object_object_get_ex(worker_ready(scene.worker), "containment", &containment))
		json_object_object_get_ex(containment, "control_plane_isolated", &claimed);
	bool isolated = json_object_is_type(claimed, json_type_boolean) && json_object_get_boolean(claimed);
	if (good && !isolated)
		law_broken(verdict, "the candidate stayed, but not the worker's own prober: %s",
			   json_object_to_json_string(containment));
	else if (good)
		law_holds(verdict, "it entered neither parent nor sibling and made no cgroup, in %zu hierarchies", scene.count);
	else if (scene.worker && isolated && strstr(verdict->why, "a candidate"))
		law_broken(verdict, "AND CLAIMED ISOLATED: %.300s", verdict->why);
	worker_free(scene.worker);
}

/*
 * Three layers stand in the way of a path, each enough by itself; a birth into a cgroup, which Landlock does not see, has
 * the filter in its way; a cgroup file system mounted anew has four.
 */
static const struct asking k12_askings[] = {
	{ "cgroup-view", true, false },
	{ "ids", true, false },
	{ "landlock", true, false },
	{ "seccomp", true, false },
	{ "user-namespaces", true, false },
	{ "cgroup-namespace", true, false },
	{ "capabilities", true, false },
	{ "cgroup-view,ids", true, true },
	{ "cgroup-view,landlock", true, false },
	{ "ids,landlock", true, false },
	{ "cgroup-view,ids,seccomp", false, false },
	{ "seccomp,user-namespaces,landlock", true, false },
	{ "ids,seccomp,user-namespaces", true, true },
	{ "ids,landlock,seccomp", true, false },
	{ "ids,landlock,seccomp,user-namespaces", false, false },
	{ NULL, false, false },
};

const struct law control_laws[] = {
	{ "K12", "nobody leaves its cgroup or makes one", "cgroup-view,ids,landlock", judge_k12 },
	{ 0 },
};

const struct law_more control_more[] = { { "K12", k12_askings, NULL }, { 0 } };
