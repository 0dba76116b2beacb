/*
 * landlock: what paths may be opened for what, by ABI (landlock(7), uapi/linux/landlock.h). Debian 12's
 * header stops at ABI 2, so the constants are our own and the kernel alone is asked.
 *
 * Scoped signals and abstract sockets (ABI 6) keep both inside the domain of init and candidate. Network
 * ports are not handled: loopback must work, and nothing else is there.
 */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/guard.h"

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE (1ull << 2)
#define FS_READ_DIR (1ull << 3)
#define FS_MAKE_CHAR (1ull << 6)
#define FS_MAKE_BLOCK (1ull << 11)
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define FS_READ (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)

#define SCOPE_ABSTRACT_UNIX_SOCKET (1ull << 0)
#define SCOPE_SIGNAL (1ull << 1)

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH 1

struct ruleset_attributes {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct path_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

static int ask_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
	return abi < 0 ? -errno : (int)abi;
}

int landlock_abi(void)
{
	int abi = ask_abi();
	return abi == -ENOSYS || abi == -EOPNOTSUPP ? 0 : abi;
}

int landlock_missing(void)
{
	int abi = ask_abi();
	return abi == -ENOSYS || abi == -EOPNOTSUPP ? -abi : 0;
}

/* The rights that the ABI knows: a bit that it does not know is EINVAL. */
static uint64_t handled(int abi)
{
	static const struct {
		int abi;
		unsigned bits;
	} known[] = { { 5, 16 }, { 3, 15 }, { 2, 14 }, { 1, 13 } };
	for (size_t i = 0; i < ELEMENTS(known); i++)
		if (abi >= known[i].abi)
			return (1ull << known[i].bits) - 1;
	return 0;
}

static int new_ruleset(int abi)
{
	struct ruleset_attributes attributes = { .handled_access_fs = handled(abi) };
	if (abi >= 6)
		attributes.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
	/* An older kernel takes a longer structure as long as what it does not know is zero (copy_struct_from_user). */
	long fd = syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	if (fd < 0)
		return -errno;
	fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	return (int)fd;
}

static int allow(int ruleset, int abi, int parent_fd, uint64_t access)
{
	struct path_beneath rule = { .allowed_access = access & handled(abi), .parent_fd = parent_fd };
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

static int allow_path(int ruleset, int abi, const char *path, uint64_t access)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : allow(ruleset, abi, fd, access);
}

static int restrict_self(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

int landlock_enter(int abi)
{
	static const struct {
		const char *path;
		uint64_t access;
	} rules[] = {
		{ "/", FS_READ },
		{ "/dev", FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV },
		{ "/dev/shm", ~(FS_MAKE_CHAR | FS_MAKE_BLOCK) },
		{ "/tmp", ~(FS_MAKE_CHAR | FS_MAKE_BLOCK) },
		{ HOME_PATH, ~(FS_MAKE_CHAR | FS_MAKE_BLOCK) },
		{ WORKSPACE_PATH, ~(FS_MAKE_CHAR | FS_MAKE_BLOCK) },
	};
	if (abi <= 0 || !guard_holds(GUARD_LANDLOCK))
		return 0;
	_cleanup_close_ int ruleset = new_ruleset(abi);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < ELEMENTS(rules); i++) {
		int r = allow_path(ruleset, abi, rules[i].path, rules[i].access);
		if (r < 0)
			return r;
	}
	return restrict_self(ruleset);
}

int landlock_enter_reader(int abi, int directory_fd)
{
	if (abi <= 0 || !guard_holds(GUARD_LANDLOCK))
		return 0;
	_cleanup_close_ int ruleset = new_ruleset(abi);
	if (ruleset < 0)
		return ruleset;
	int r = allow(ruleset, abi, directory_fd, FS_READ_FILE | FS_READ_DIR);
	return r < 0 ? r : restrict_self(ruleset);
}
