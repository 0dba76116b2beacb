/* What the worker says about its boundaries: graded, by what was tried (rulings, "The claim is graded"). */
#ifndef CORE_CONTAINMENT_FACTS_H
#define CORE_CONTAINMENT_FACTS_H

#include <json-c/json.h>

#include "core/containment/run.h"

/*
 * `process_containment` of a run that left so many processes behind; `trusted`: without layers, which claims no more
 * than its kill boundary. The caller's reference.
 */
struct json_object *facts_containment(const struct worker *worker, unsigned remaining, bool trusted);

/* Each axis with what was tried: {"kill_boundary_enforced": {"value", "tried", "reason", "remedy"}, ...}. */
struct json_object *facts_axes(const struct worker *worker);

/* The lines of `ready`: [{id, state, tried, remedy}]. */
struct json_object *facts_tried(const struct worker *worker, unsigned swept);

/* {"memory": "v2" | "v1" | "none", ...} */
struct json_object *facts_limits(const struct worker *worker);

#endif
