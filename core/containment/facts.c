/*
 * The graded claims. A capability is true only where this worker's dry run showed it; what was not tried is
 * "unknown" and never makes a run certifiable.
 */
#include "core/containment/facts.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "core/base/cleanup.h"

/* Until a confirmation exists on this boot a run may say no more than its kill boundary. */
#define PROFILE_SHOWN "traaviis.cgroup-kill-observed.v1"

enum shown { SHOWN_FALSE, SHOWN_TRUE, SHOWN_UNKNOWN };

static struct json_object *shown_value(enum shown shown)
{
	return shown == SHOWN_UNKNOWN ? json_object_new_string("unknown") : json_object_new_boolean(shown == SHOWN_TRUE);
}

struct json_object *facts_containment(const struct worker *worker, unsigned remaining)
{
	const struct {
		const char *name;
		enum shown shown;
		const char *reason;
	} axes[] = {
		{ "kill_boundary_enforced", worker->kill_boundary_shown ? SHOWN_TRUE : SHOWN_FALSE,
		  "the dry run did not end with an empty cgroup" },
		{ "control_plane_isolated", SHOWN_UNKNOWN, "entering other cgroups from inside was not tried" },
		{ "resource_controllers_enforced",
		  worker->pids_limit_tried && !worker->pids_limit_shown ? SHOWN_FALSE : SHOWN_UNKNOWN,
		  worker->pids_limit_tried && !worker->pids_limit_shown ? "no limit on processes held in the dry run"
									 : "the memory limit was not tried" },
		{ "cleanup_closed", worker->cleanup_shown ? SHOWN_TRUE : SHOWN_FALSE, "the dry run left its cgroup behind" },
	};
	struct json_object *record = json_object_new_object();
	struct json_object *reasons = json_object_new_array();
	bool certifiable = true;

	json_object_object_add(record, "profile", json_object_new_string(PROFILE_SHOWN));
	json_object_object_add(record, "enforced", json_object_new_boolean(worker->kill_boundary_shown && remaining == 0));
	json_object_object_add(record, "remaining_processes", json_object_new_int64(remaining));
	for (size_t i = 0; i < ELEMENTS(axes); i++) {
		json_object_object_add(record, axes[i].name, shown_value(axes[i].shown));
		if (axes[i].shown == SHOWN_TRUE)
			continue;
		certifiable = false;
		char text[160];
		snprintf(text, sizeof text, "%s: %s", axes[i].name, axes[i].reason);
		json_object_array_add(reasons, json_object_new_string(text));
	}
	if (remaining > 0) {
		certifiable = false;
		json_object_array_add(reasons, json_object_new_string("processes outlived the boundary"));
	}
	json_object_object_add(record, "certifiable", json_object_new_boolean(certifiable));
	json_object_object_add(record, "uncertifiable_reasons", reasons);
	return record;
}

static void add_check(struct json_object *list, const char *id, const char *state, const char *tried, const char *remedy)
{
	struct json_object *check = json_object_new_object();
	json_object_object_add(check, "id", json_object_new_string(id));
	json_object_object_add(check, "state", json_object_new_string(state));
	json_object_object_add(check, "tried", json_object_new_string(tried));
	json_object_object_add(check, "remedy", remedy ? json_object_new_string(remedy) : NULL);
	json_object_array_add(list, check);
}

struct json_object *facts_limits(const struct worker *worker)
{
	struct json_object *limits = json_object_new_object();
	for (int i = 0; i < RESOURCE_COUNT; i++)
		json_object_object_add(limits, cgroup_resource_name((enum cgroup_resource)i),
				       json_object_new_string(cgroup_generation_name(worker->tree.generation[i])));
	return limits;
}

struct json_object *facts_tried(const struct worker *worker, double dry_run_ms, unsigned swept)
{
	struct json_object *list = json_object_new_array();
	struct utsname name;
	char text[512];

	if (uname(&name) == 0) {
		snprintf(text, sizeof text, "%.64s: clone3 into a cgroup, pidfd, cgroup.kill; Landlock ABI %d", name.release,
			 worker->landlock_abi);
		add_check(list, "kernel", "ok", text, NULL);
	}
	snprintf(text, sizeof text, "born, %s, removed in %.1f ms below %.300s", worker->kill_boundary_shown ? "killed, empty" : "NOT EMPTY",
		 dry_run_ms, worker->tree.path);
	add_check(list, "kill boundary", worker->kill_boundary_shown && worker->cleanup_shown ? "ok" : "FAIL", text, NULL);
	if (worker->landlock_abi == 0)
		add_check(list, "landlock", "warn", "this kernel has no active Landlock: that layer is missing",
			  "boot with landlock in the lsm= list");
	const enum cgroup_generation *generation = worker->tree.generation;
	snprintf(text, sizeof text, "processes by %s (%s), memory by %s, cpu by %s",
		 cgroup_generation_name(generation[RESOURCE_PIDS]),
		 worker->pids_limit_shown ? "a fork past the limit was refused" : "not shown",
		 cgroup_generation_name(generation[RESOURCE_MEMORY]), cgroup_generation_name(generation[RESOURCE_CPU]));
	bool all = worker->pids_limit_shown && generation[RESOURCE_MEMORY] != GENERATION_NONE &&
		   generation[RESOURCE_CPU] != GENERATION_NONE;
	add_check(list, "limits", all ? "ok" : "warn", text,
		  all ? NULL : "delegate the pids, memory and cpu controllers (Delegate=yes)");
	if (swept > 0) {
		snprintf(text, sizeof text, "%u cgroup%s of owners that no longer live removed", swept, swept == 1 ? "" : "s");
		add_check(list, "leftovers", "ok", text, NULL);
	}
	return list;
}
