/*
 * privileges: no capability, none to be gained (capabilities(7)). no_new_privs comes first: without it a
 * filter could only be loaded while CAP_SYS_ADMIN is held.
 */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/guard.h"

int privileges_no_new(void)
{
	if (!guard_holds(GUARD_NO_NEW_PRIVS))
		return 0;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int privileges_bound(uint64_t held, uint64_t keep)
{
	if (!guard_holds(GUARD_CAPABILITIES))
		return 0;
	/* Past the kernel's last capability the call answers EINVAL: that ends the loop on every kernel. */
	for (int capability = 0; capability < 64; capability++) {
		if (keep >> capability & 1 || !(held >> capability & 1))
			continue;
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break;
			return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	return 0;
}

int privileges_limit(uint64_t keep)
{
	if (!guard_holds(GUARD_CAPABILITIES))
		return 0;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
