/*
 * The graded claims. A capability is true only where this worker's dry run showed it; what was not tried is
 * "unknown" and never makes a run certifiable.
 */
#include "core/containment/facts.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "core/base/cleanup.h"
#include "core/base/guard.h"
#include "core/containment/host_checks.h"

static const struct {
	const char *name, *check;
} axis_rows[] = {
#define X(identifier, name_, check_) [identifier] = { name_, check_ },
	CONTAINMENT_AXES(X)
#undef X
};

static const char *const profile_names[] = {
#define X(identifier, name) [identifier] = name,
	CONTAINMENT_PROFILES(X)
#undef X
};

static struct json_object *axis_value(enum axis_value value)
{
	return value == AXIS_UNKNOWN ? json_object_new_string("unknown") : json_object_new_boolean(value == AXIS_TRUE);
}

struct json_object *facts_containment(const struct worker *worker, unsigned remaining, bool trusted)
{
	static const struct axis_finding without_layers = { .value = AXIS_FALSE,
							    .reason = "residency.trusted-local.v1 has no layers in its way" };
	struct json_object *record = json_object_new_object();
	struct json_object *reasons = json_object_new_array();
	bool certifiable = true;

	/* Until a confirmation exists on this boot a run may say no more than its kill boundary. */
	bool bounded = guard_holds(GUARD_KILL_BOUNDARY);
	json_object_object_add(record, "profile", json_object_new_string(profile_names[bounded ? CONTAINMENT_CGROUP_KILL :
											       CONTAINMENT_PROCESS_GROUP]));
	json_object_object_add(record, "enforced",
			       json_object_new_boolean(bounded && worker->axes.of[AXIS_KILL_BOUNDARY].value == AXIS_TRUE &&
						       remaining == 0));
	json_object_object_add(record, "remaining_processes", json_object_new_int64(remaining));
	for (size_t i = 0; i < AXIS_COUNT; i++) {
		const struct axis_finding *axis = i == AXIS_CONTROL_PLANE && trusted ? &without_layers : &worker->axes.of[i];
		json_object_object_add(record, axis_rows[i].name, axis_value(axis->value));
		if (axis->value == AXIS_TRUE)
			continue;
		certifiable = false;
		char text[300];
		snprintf(text, sizeof text, "%s: %s", axis_rows[i].name, axis->reason[0] ? axis->reason : "it was not tried");
		json_object_array_add(reasons, json_object_new_string(text));
	}
	if (remaining > 0) {
		certifiable = false;
		json_object_array_add(reasons, json_object_new_string("processes outlived the boundary"));
	}
	if (trusted)
		json_object_array_add(reasons, json_object_new_string("workspace: a process of the host that the agent can talk to can be handed a "
								      "file of it, and write there while it is collected"));
	if (worker->own_ids) {
		certifiable = false;
		json_object_array_add(reasons, json_object_new_string("ids: init and candidate share the owner's own id, and the owner's "
								      "supplementary groups were kept"));
	}
	json_object_object_add(record, "certifiable", json_object_new_boolean(certifiable));
	json_object_object_add(record, "uncertifiable_reasons", reasons);
	return record;
}

struct json_object *facts_axes(const struct worker *worker)
{
	struct json_object *axes = json_object_new_object();
	for (size_t i = 0; i < AXIS_COUNT; i++) {
		const struct axis_finding *axis = &worker->axes.of[i];
		struct json_object *one = json_object_new_object();
		json_object_object_add(one, "value", axis_value(axis->value));
		json_object_object_add(one, "tried", json_object_new_string(axis->tried));
		json_object_object_add(one, "reason", axis->reason[0] ? json_object_new_string(axis->reason) : NULL);
		json_object_object_add(one, "remedy", axis->remedy ? json_object_new_string(axis->remedy) : NULL);
		json_object_object_add(axes, axis_rows[i].name, one);
	}
	return axes;
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

/* What a host cannot give weakens a run and is told; without a kill that holds nothing can be ended. */
static const char *axis_state(enum axis axis, enum axis_value value, const char *remedy)
{
	if (value == AXIS_UNKNOWN)
		return "unknown";
	if (value == AXIS_TRUE)
		return remedy ? "warn" : "ok";
	return axis == AXIS_KILL_BOUNDARY || axis == AXIS_CLEANUP ? "FAIL" : "warn";
}

/* Told apart, since the remedy is another one. */
static void add_landlock(struct json_object *list)
{
	bool built = landlock_missing() == EOPNOTSUPP;
	add_check(list, "landlock", "warn",
		  built ? "Landlock is built into this kernel and not active: that layer is missing"
			: "this kernel has no Landlock: that layer is missing",
		  built ? "boot with landlock in the lsm= list" : "use a kernel with CONFIG_SECURITY_LANDLOCK, 5.13 or later");
}

struct json_object *facts_tried(const struct worker *worker, unsigned swept)
{
	struct json_object *list = json_object_new_array();
	struct utsname name;
	char text[512];

	if (uname(&name) == 0) {
		snprintf(text, sizeof text, "%.64s: clone3 into a cgroup, pidfd, cgroup.kill; Landlock ABI %d", name.release,
			 worker->landlock_abi);
		add_check(list, "kernel", "ok", text, NULL);
	}
	for (size_t i = 0; i < AXIS_COUNT; i++) {
		const struct axis_finding *axis = &worker->axes.of[i];
		add_check(list, axis_rows[i].check, axis_state((enum axis)i, axis->value, axis->remedy), axis->tried, axis->remedy);
	}
	if (worker->own_ids) {
		snprintf(text, sizeof text, "every run has the owner's own id, as the round allows: %.400s", worker->own_ids);
		add_check(list, "ids", "warn", text, worker->own_ids_remedy);
	}
	if (worker->landlock_abi == 0)
		add_landlock(list);
	host_checks_add(list, &worker->tree);
	if (swept > 0) {
		snprintf(text, sizeof text, "%u cgroup%s of owners that no longer live removed", swept, swept == 1 ? "" : "s");
		add_check(list, "leftovers", "ok", text, NULL);
	}
	return list;
}
