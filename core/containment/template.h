/*
 * Templates: the read-only part of a root, put together once a worker and (root, read-only paths).
 *
 * The worker takes a mount namespace of its own and covers /sys with a tmpfs for them: every host has the
 * directory, no candidate gets anything of it, and the worker reaches its cgroups by descriptors. A child
 * finds the template in its copy of the namespace, so a run pays for one clone, not for thirty mounts.
 *
 *   /sys/N/           tmpfs, read-only    usr (read-only, recursive) · bin sbin lib* as the host has them
 *                                         etc (a few files of ours, a few of the host's) · dev (six nodes)
 *                                         proc workspace tmp home/candidate dev/shm dev/pts: empty, to be mounted on
 */
#ifndef CORE_CONTAINMENT_TEMPLATE_H
#define CORE_CONTAINMENT_TEMPLATE_H

#include <stddef.h>

#include "core/containment/layers/layers.h"

/* In place of a root: the whole host as it stands, for a run without layers (residency.trusted-local.v1). */
#define ROOT_WHOLE_HOST "whole host"
#include <proctor/error.h>

/* Once, at the worker's start: the namespace and the cover. */
int template_prepare(struct pr_error *error);

/*
 * The template for a root ("host", or the directory of a root file system) with read-only paths (absolute).
 * Fills `plan->template_path` and the late binds: paths below a place that a tmpfs covers later (/tmp, HOME,
 * the workspace) are bound by the child. `paths` must outlive the birth. -ENOENT names the path that is not there.
 */
int template_get(const char *root, const char *const *paths, size_t count, struct mounts_plan *plan, struct pr_error *error);

/* Closes what template_get opened for one birth. Harmless on a plan that holds nothing. */
void template_release(struct mounts_plan *plan);

#endif
