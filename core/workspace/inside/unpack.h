/*
 * The program inside a boundary unpacks a subject stream (../stream.h). Static-safe: no heap beyond one
 * fixed buffer, no libc state, only descriptors; called by init with the file-system ids of the candidate.
 */
#ifndef CORE_WORKSPACE_INSIDE_UNPACK_H
#define CORE_WORKSPACE_INSIDE_UNPACK_H

/*
 * Reads the stream from `stream_fd` and creates its entries below `workspace_fd` and `home_fd` (each a
 * directory that is empty or ours). 0, or a negative errno; `*ret_step` names what failed ("mkdirat", ...).
 */
int unpack(int stream_fd, int workspace_fd, int home_fd, const char **ret_step);

#endif
