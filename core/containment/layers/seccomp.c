/*
 * seccomp: the system calls that a candidate does not get (seccomp(2), libseccomp). A list of refusals
 * over "allow": real agents and their tests use nearly everything else, and what they cannot do without
 * is known by trying. So clone3 is ENOSYS (glibc, Go and Node fall back to clone; EPERM breaks them),
 * ptrace stays allowed (it reaches only the pid namespace; LeakSanitizer and debuggers need it), and an
 * unknown or foreign call is ENOSYS too, as on a kernel that lacks it. The collector's own is seccomp_collector.c.
 */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "core/base/cleanup.h"
#include "core/base/guard.h"
#include "core/base/io.h"

#define NAMESPACE_FLAGS (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
			 CLONE_NEWCGROUP | 0x80 /* CLONE_NEWTIME */)
#define LOW_32 0xffffffffull

/* Whole calls. Names that this libseccomp does not know are numbered in `unnamed` below. */
static const struct {
	const char *call;
	int code;
} refused_calls[] = {
	/* namespaces and mounts */
	{ "setns", EPERM }, { "mount", EPERM }, { "umount2", EPERM }, { "pivot_root", EPERM }, { "chroot", EPERM },
	{ "open_tree", EPERM }, { "move_mount", EPERM }, { "fsopen", EPERM }, { "fsconfig", EPERM },
	{ "fsmount", EPERM }, { "fspick", EPERM }, { "mount_setattr", EPERM },
	/* a second way to what a filter cannot see into */
	{ "clone3", ENOSYS }, { "io_uring_setup", ENOSYS }, { "io_uring_enter", ENOSYS }, { "io_uring_register", ENOSYS },
	/* other processes' memory and descriptors, file handles */
	{ "process_vm_readv", EPERM }, { "process_vm_writev", EPERM }, { "pidfd_getfd", EPERM }, { "kcmp", EPERM },
	{ "process_madvise", EPERM }, { "name_to_handle_at", EPERM }, { "open_by_handle_at", EPERM },
	/* kernel surface */
	{ "userfaultfd", EPERM }, { "perf_event_open", EPERM }, { "bpf", EPERM }, { "fanotify_init", EPERM },
	{ "fanotify_mark", EPERM }, { "keyctl", EPERM }, { "add_key", EPERM }, { "request_key", EPERM },
	{ "init_module", EPERM }, { "finit_module", EPERM }, { "delete_module", EPERM }, { "kexec_load", EPERM },
	{ "kexec_file_load", EPERM }, { "reboot", EPERM }, { "swapon", EPERM }, { "swapoff", EPERM }, { "acct", EPERM },
	{ "quotactl", EPERM }, { "quotactl_fd", EPERM }, { "syslog", EPERM }, { "vhangup", EPERM },
	{ "lookup_dcookie", ENOSYS }, { "nfsservctl", ENOSYS }, { "uselib", ENOSYS }, { "_sysctl", ENOSYS },
	{ "iopl", EPERM }, { "ioperm", EPERM }, { "modify_ldt", EPERM },
	{ "clock_settime", EPERM }, { "settimeofday", EPERM }, { "stime", EPERM }, { "adjtimex", EPERM },
	{ "clock_adjtime", EPERM }, { "sethostname", EPERM }, { "setdomainname", EPERM },
	/* shared beyond the process: System V IPC and message queues; scheduling and memory policy of the host */
	{ "shmget", ENOSYS }, { "shmat", ENOSYS }, { "shmctl", ENOSYS }, { "shmdt", ENOSYS }, { "semget", ENOSYS },
	{ "semop", ENOSYS }, { "semctl", ENOSYS }, { "semtimedop", ENOSYS }, { "msgget", ENOSYS }, { "msgsnd", ENOSYS },
	{ "msgrcv", ENOSYS }, { "msgctl", ENOSYS }, { "mq_open", ENOSYS }, { "mq_unlink", ENOSYS },
	{ "mq_timedsend", ENOSYS }, { "mq_timedreceive", ENOSYS }, { "mq_notify", ENOSYS }, { "mq_getsetattr", ENOSYS },
	{ "sched_setscheduler", EPERM }, { "sched_setattr", EPERM }, { "set_mempolicy", EPERM }, { "mbind", EPERM },
	{ "migrate_pages", EPERM }, { "move_pages", EPERM }, { "personality", EPERM },
	/* one count for the whole host (fs.aio-max-nr), used up by anybody */
	{ "io_setup", ENOSYS },
	/* All that a candidate can write is memory: what these would flush is the host's. They say that it is done. */
	{ "sync", 0 }, { "syncfs", 0 },
};

/* Newer than libseccomp 2.5.4: by number, the same on every architecture from 424 on. */
static const struct {
	int number;
	int code;
} refused_numbers[] = {
	{ 457, EPERM },		/* statmount, 6.8 */
	{ 458, EPERM },		/* listmount, 6.8 */
	{ 459, ENOSYS },	/* lsm_get_self_attr, 6.8 */
	{ 460, ENOSYS },	/* lsm_set_self_attr */
	{ 461, ENOSYS },	/* lsm_list_modules */
	{ 450, EPERM },		/* set_mempolicy_home_node, 5.17 */
	{ 467, EPERM },		/* open_tree_attr, 6.15 */
};
#define FIRST_UNKNOWN_NUMBER 470	/* newer than this list: as on a kernel without them */
#define LAST_UNKNOWN_NUMBER 547		/* 512 to 547 are x32's on x86-64 */

static int refuse_calls(scmp_filter_ctx filter)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < ELEMENTS(refused_calls); i++) {
		int number = seccomp_syscall_resolve_name(refused_calls[i].call);
		/* A negative number is a call that this architecture does not have. */
		if (number >= 0)
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)refused_calls[i].code), number, 0);
	}
	for (size_t i = 0; r == 0 && i < ELEMENTS(refused_numbers); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)refused_numbers[i].code), refused_numbers[i].number, 0);
	for (int number = FIRST_UNKNOWN_NUMBER; r == 0 && number <= LAST_UNKNOWN_NUMBER; number++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0);
	return r;
}

/* A namespace flag anywhere among the flags: one rule a bit, since a filter compares and does not test. */
static int refuse_namespaces(scmp_filter_ctx filter)
{
	int r = 0;
	for (unsigned bit = 0; r == 0 && bit < 32; bit++) {
		uint64_t flag = 1ull << bit;
		if (!(NAMESPACE_FLAGS & flag))
			continue;
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
		/* In clone the low byte is the exit signal: 0x80 there is no namespace. */
		if (r == 0 && flag != 0x80)
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					     SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
	}
	return r;
}

/* Huge pages come out of the host's pool, which no memory limit counts: as on a host whose pool is empty. */
static int refuse_huge_pages(scmp_filter_ctx filter)
{
	int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOMEM), SCMP_SYS(mmap), 1,
				 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB));
	return r < 0 ? r : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOMEM), SCMP_SYS(memfd_create), 1,
					    SCMP_A1(SCMP_CMP_MASKED_EQ, MFD_HUGETLB, MFD_HUGETLB));
}

/* Typing into a terminal: TIOCSTI and TIOCLINUX; the kernel compares the low 32 bits of the request alone. */
static int refuse_terminal_input(scmp_filter_ctx filter)
{
	static const uint64_t requests[] = { TIOCSTI, TIOCLINUX };
	int r = 0;
	for (size_t i = 0; r == 0 && i < ELEMENTS(requests); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_32, requests[i]));
	return r;
}

/* Unix, IPv4, IPv6 and route netlink are what programs need; every other family is as if not built in. */
static int refuse_families(scmp_filter_ctx filter)
{
	static const int allowed[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	int r = 0;
	for (int family = 0; r == 0 && family < 64; family++) {
		bool listed = false;
		for (size_t i = 0; i < ELEMENTS(allowed); i++)
			listed |= allowed[i] == family;
		for (int pair = 0; r == 0 && !listed && pair < 2; pair++)
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT),
					     pair ? SCMP_SYS(socketpair) : SCMP_SYS(socket), 1,
					     SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_32, (uint64_t)family));
	}
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GE, 64, 0));
	/* Only NETLINK_ROUTE (protocol 0). */
	for (unsigned bit = 0; r == 0 && bit < 32; bit++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, LOW_32, AF_NETLINK),
				     SCMP_A2(SCMP_CMP_MASKED_EQ, 1ull << bit, 1ull << bit));
	return r;
}

/*
 * Of the Internet families TCP, UDP and ping. The rest are seldom used corners of the kernel, and asking for one
 * loads its module (net-pf-2-proto-132).
 */
static int refuse_protocols(scmp_filter_ctx filter)
{
	static const uint64_t protocols[] = { IPPROTO_DCCP, IPPROTO_SCTP, IPPROTO_UDPLITE, 115 /* L2TP */, 256 /* SMC */,
					      262 /* MPTCP */ };
	static const uint64_t types[] = { SOCK_DCCP, SOCK_PACKET };
	int r = 0;
	for (size_t i = 0; r == 0 && i < ELEMENTS(protocols); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, LOW_32, protocols[i]));
	/* SOCK_NONBLOCK and SOCK_CLOEXEC stand above the type's four bits. */
	for (size_t i = 0; r == 0 && i < ELEMENTS(types); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ESOCKTNOSUPPORT), SCMP_SYS(socket), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, types[i]));
	return r;
}

static int export(scmp_filter_ctx filter, struct sock_fprog *ret_program)
{
	_cleanup_close_ int fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = seccomp_export_bpf(filter, fd);
	if (r < 0)
		return r;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = io_read_all(fd, &bytes, 1u << 20);
	if (r < 0)
		return r;
	ret_program->len = (unsigned short)(bytes.length / sizeof(struct sock_filter));
	ret_program->filter = (struct sock_filter *)(void *)buffer_take(&bytes);
	return 0;
}

int seccomp_build(struct sock_fprog *ret_program, struct pr_error *error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter)
		return pr_error_errno(error, ENOMEM, "building the seccomp filter");
	/* Another ABI's calls (i386, x32) answer as a kernel without it. */
	int r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = refuse_calls(filter);
	if (r == 0)
		r = refuse_namespaces(filter);
	if (r == 0)
		r = refuse_terminal_input(filter);
	if (r == 0)
		r = refuse_families(filter);
	if (r == 0)
		r = refuse_protocols(filter);
	if (r == 0)
		r = refuse_huge_pages(filter);
	if (r == 0)
		r = export(filter, ret_program);
	seccomp_release(filter);
	if (r < 0)
		return pr_error_errno(error, -r, "building the seccomp filter");
	return 0;
}

int seccomp_enter(const struct sock_fprog *program)
{
	if (!guard_holds(GUARD_SECCOMP))
		return 0;
	return syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, program) < 0 ? -errno : 0;
}
