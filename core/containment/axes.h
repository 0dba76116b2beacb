/*
 * The capability axes of a boundary (rulings, "The claim is graded and never inferred"): each is true where the worker's
 * dry run showed it by trying, false where it tried and it was not so, unknown where it could not be tried.
 */
#ifndef CORE_CONTAINMENT_AXES_H
#define CORE_CONTAINMENT_AXES_H

/* X(identifier, "name in process_containment", "name of the check") */
#define CONTAINMENT_AXES(X) \
	X(AXIS_KILL_BOUNDARY, "kill_boundary_enforced", "kill boundary") \
	X(AXIS_CONTROL_PLANE, "control_plane_isolated", "control plane") \
	X(AXIS_RESOURCES, "resource_controllers_enforced", "limits") \
	X(AXIS_CLEANUP, "cleanup_closed", "cleanup")

enum axis {
#define X(identifier, name, check) identifier,
	CONTAINMENT_AXES(X)
#undef X
	AXIS_COUNT
};

enum axis_value { AXIS_UNKNOWN, AXIS_FALSE, AXIS_TRUE };

struct axis_finding {
	enum axis_value value;
	char tried[400];	/* what was tried, and what was seen */
	char reason[200];	/* why it is not true; empty where it is */
	const char *remedy;	/* NULL where it is true */
};

struct axes {
	struct axis_finding of[AXIS_COUNT];
};

/*
 * The containment profiles, strongest first; which one a run has is facts.c's to say. X(identifier, "name")
 *   CONFINED         all of our layers, confirmed on this boot
 *   CGROUP_KILL      the kill boundary, as observed; the layers are there and nothing is claimed of them
 *   PROCESS_GROUP    a session and a group are killed, which setsid(2) defeats: enforced is false
 *   UNCONTAINED      an adapter that runs no process
 */
#define CONTAINMENT_PROFILES(X) \
	X(CONTAINMENT_CONFINED, "proctor.confined.v1") \
	X(CONTAINMENT_CGROUP_KILL, "traaviis.cgroup-kill-observed.v1") \
	X(CONTAINMENT_PROCESS_GROUP, "traaviis.process-group.v1") \
	X(CONTAINMENT_UNCONTAINED, "traaviis.uncontained.v1")

enum containment_profile {
#define X(identifier, name) identifier,
	CONTAINMENT_PROFILES(X)
#undef X
};

#endif
