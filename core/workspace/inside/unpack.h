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
 * Of a PROTECTED entry (stream.h) the modes are exact for the candidate, who is then no longer its owner but of its
 * group: the group has what the owner had, less the writing of files; a directory is sticky. So are the workspace's
 * own directory and those above it. `protect` takes the ownership of what a descriptor (O_PATH for a link) is of: 0 or a
 * negative errno. NULL: a stream with such an entry is -EBADMSG.
 *
 * System calls: those above, and umask.
 */
typedef int unpack_protect(int fd);
int unpack(int stream_fd, int workspace_fd, int home_fd, unpack_protect *protect, const char **ret_step);

#endif
