/* network: a namespace with nothing in it but loopback, which is brought up (network_namespaces(7)). */
#include "core/containment/layers/layers.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/base/cleanup.h"

int network_loopback_up(void)
{
	struct ifreq request;
	memset(&request, 0, sizeof request);
	memcpy(request.ifr_name, "lo", 3);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return -errno;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}
