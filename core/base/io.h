/*
 * Descriptors and files: whole reads and writes, bounded, and messages with descriptors.
 *
 * Every function keeps going over EINTR. All descriptors that are opened here are close-on-exec.
 */
#ifndef CORE_BASE_IO_H
#define CORE_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buffer.h"
#include <proctor/error.h>

/* Writes all of it, or fails with a negative errno (a blocking descriptor). */
int io_write_all(int fd, const void *bytes, size_t length);

/* Reads to the end of file, at most `limit` bytes: -EFBIG where there is more. Appends to `buffer`. */
int io_read_all(int fd, struct buffer *buffer, size_t limit);

/* Opens `path` below `dirfd` (AT_FDCWD: as it stands) and reads it whole, at most `limit` bytes. */
int io_read_file(int dirfd, const char *path, size_t limit, struct buffer *buffer);

/* Writes a short text into an existing file (a cgroup's or a proc file); one write(2). */
int io_write_file(int dirfd, const char *path, const char *text);

/* Replaces `path` atomically: a temporary sibling, fsync, rename, fsync of the directory. */
int io_replace_file(int dirfd, const char *path, const void *bytes, size_t length, mode_t mode, struct pr_error *error);

/* mkdir -p with `mode` for what is created; -ENOTDIR where something else stands there. */
int io_mkdir_p(const char *path, mode_t mode, struct pr_error *error);

/* An anonymous file (memfd_create(2)) holding the bytes, sealed against change, offset 0. Returns the fd. */
int io_sealed_memfd(const char *name, const void *bytes, size_t length);

int io_set_nonblocking(int fd, bool on);

/* Where descriptors 0 to 2 are closed they become /dev/null, or the next file that is opened becomes standard output. */
void io_take_standard_descriptors(void);

#define IO_MESSAGE_FDS 8	/* most descriptors in one message */

/*
 * One SOCK_SEQPACKET message with up to IO_MESSAGE_FDS descriptors (unix(7), SCM_RIGHTS). The
 * descriptors stay the caller's. MSG_NOSIGNAL. -EMSGSIZE: longer than the socket takes.
 */
int io_send_message(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count);

/*
 * Receives one message. Returns its length (0: the peer has closed), -EAGAIN on an empty non-blocking
 * socket, -EMSGSIZE where the message or its descriptors were cut (the descriptors are then closed).
 * Received descriptors are close-on-exec and the caller's; `*ret_fd_count` is at most IO_MESSAGE_FDS.
 */
ssize_t io_receive_message(int socket, void *bytes, size_t size, int *ret_fds, size_t *ret_fd_count);

#endif
