/*
 * The program inside a boundary unpacks a subject stream (../stream.h). Static-safe: no heap beyond one
 * fixed buffer, no libc state, only descriptors; called by init with the file-system ids of the candidate.
 */
#ifndef CORE_WORKSPACE_INSIDE_UNPACK_H
#define CORE_WORKSPACE_INSIDE_UNPACK_H

/*
 * Reads the stream from `stream_fd` and creates its entries below `workspace_fd` and `home_fd` (each a
 * directory that is empty or ours; below HOME a directory of the stream may stand already). Modes are exact.
 * 0, or a negative errno; `*ret_step` then names what failed: "stream" (-EBADMSG: not what stream.h says, or cut),
 * "depth", or the call ("read" "write" "mkdirat" "openat" "symlinkat" "fchmod" "close"). The stream may be any
 * descriptor; no more than the stream is read only where it ends the file. Not for two threads at once.
 *
 * System calls: those above, and umask.
 */
int unpack(int stream_fd, int workspace_fd, int home_fd, const char **ret_step);

#endif
