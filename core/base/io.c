/* The descriptor and file helpers of io.h. */
#include "core/base/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

int io_write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;
	while (length > 0) {
		ssize_t n = write(fd, at, length);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

int io_read_all(int fd, struct buffer *buffer, size_t limit)
{
	size_t got = 0;
	for (;;) {
		size_t want = 16384;
		if (want > limit - got)
			want = limit - got + 1;	/* one more tells "exactly the limit" from "over it" */
		int r = buffer_reserve(buffer, want);
		if (r < 0)
			return r;
		ssize_t n = read(fd, buffer->data + buffer->length, want);
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0) {
			buffer->data[buffer->length] = '\0';
			return 0;
		}
		got += (size_t)n;
		if (got > limit)
			return -EFBIG;
		buffer->length += (size_t)n;
	}
}

int io_read_file(int dirfd, const char *path, size_t limit, struct buffer *buffer)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return io_read_all(fd, buffer, limit);
}

int io_write_file(int dirfd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t length = strlen(text);
	ssize_t n;
	do
		n = write(fd, text, length);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

int io_replace_file(int dirfd, const char *path, const void *bytes, size_t length, mode_t mode, struct pr_error *error)
{
	char temporary[4096];
	if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= sizeof temporary)
		return pr_error_errno(error, ENAMETOOLONG, "writing %s", path);
	_cleanup_close_ int fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return pr_error_errno(error, errno, "creating %s", temporary);
	int r = io_write_all(fd, bytes, length);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dirfd, temporary, dirfd, path) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(dirfd, temporary, 0);
		return pr_error_errno(error, -r, "writing %s", path);
	}
	char parent[4096];
	snprintf(parent, sizeof parent, "%s", path);
	char *slash = strrchr(parent, '/');
	if (slash == parent)
		slash[1] = '\0';
	else if (slash)
		*slash = '\0';
	_cleanup_close_ int directory = openat(dirfd, slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || fsync(directory) < 0)
		return pr_error_errno(error, errno, "syncing the directory of %s", path);
	return 0;
}

int io_mkdir_p(const char *path, mode_t mode, struct pr_error *error)
{
	char partial[4096];
	size_t length = strlen(path);
	if (length == 0 || length >= sizeof partial)
		return pr_error_errno(error, ENAMETOOLONG, "creating the directory %s", path);
	memcpy(partial, path, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (partial[i] != '/' && partial[i] != '\0')
			continue;
		char kept = partial[i];
		partial[i] = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST) {
			int code = errno;
			struct stat status;
			/* A read-only parent answers EROFS for a directory that is there (mkdir(2)). */
			if (stat(partial, &status) < 0 || !S_ISDIR(status.st_mode))
				return pr_error_errno(error, code, "creating the directory %s", partial);
		}
		partial[i] = kept;
	}
	struct stat status;
	if (stat(path, &status) < 0)
		return pr_error_errno(error, errno, "looking at the directory %s", path);
	if (!S_ISDIR(status.st_mode))
		return pr_error_errno(error, ENOTDIR, "creating the directory %s", path);
	return 0;
}

int io_sealed_memfd(const char *name, const void *bytes, size_t length)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	int r = io_write_all(fd, bytes, length);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	return take_fd(&fd);
}

void io_take_standard_descriptors(void)
{
	int fd;
	/* Not close-on-exec: our own programs are to find them taken too. */
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int io_set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * IO_MESSAGE_FDS)];
};

int io_send_message(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = length };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd_count > IO_MESSAGE_FDS)
		return -EINVAL;
	if (fd_count > 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
	}
	ssize_t n;
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

ssize_t io_receive_message(int socket, void *bytes, size_t size, int *ret_fds, size_t *ret_fd_count)
{
	union control control = { 0 };
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
	};
	int fds[IO_MESSAGE_FDS];
	size_t count = 0;

	ssize_t n;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
			if (count < IO_MESSAGE_FDS)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		return -EMSGSIZE;
	}
	if (count > 0)
		memcpy(ret_fds, fds, count * sizeof fds[0]);
	*ret_fd_count = count;
	return n;
}
