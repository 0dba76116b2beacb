/*
 * seccomp of the collector: a list of what it may do, over "refuse" (EPERM). It needs no more than to read what stands
 * below one directory and to write one stream, and from here on it gets no more: no exec, no process, no socket, no
 * signal, no file opened for writing. It enters by itself, after its exec, behind the candidate's filter (seccomp.c),
 * which birth has loaded; the kernel asks both. Static-safe: the filter is written out, no libseccomp.
 */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/guard.h"

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "the machine's name for seccomp(2) is to be added here"
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ALLOW

/* What makes an open(2) more than reading. O_TMPFILE is O_DIRECTORY with one of these. */
#define NOT_READING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

int seccomp_enter_collector(int stream_fd)
{
	/* The low half of an argument, little-endian, is all that the kernel takes of a descriptor and of flags. */
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
		REFUSE,
		LOAD(nr),
		ALLOW_CALL(read),
		ALLOW_CALL(getdents64),
		ALLOW_CALL(close),
		ALLOW_CALL(fstat),
		ALLOW_CALL(newfstatat),
		ALLOW_CALL(readlinkat),
		ALLOW_CALL(exit_group),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 4),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)stream_fd, 0, 1),
		ALLOW,
		REFUSE,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NOT_READING, 1, 0),
		ALLOW,
		REFUSE,
	};
	const struct sock_fprog program = { .len = ELEMENTS(filter), .filter = filter };

	if (!guard_holds(GUARD_COLLECTOR_CALLS))
		return 0;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}
