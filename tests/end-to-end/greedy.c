/*
 * greedy SHARE: takes as much of one of the host's shares as it gets, up to a bound, says how much, and waits.
 * greedy calls: tries calls that lead past the boundary's own, and names those that were not refused as they should be.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int take_inotify(void)
{
	return inotify_init1(IN_CLOEXEC) < 0 ? 0 : 1;
}

static int take_terminal(void)
{
	return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) < 0 ? 0 : 1;
}

/* Each holds a queued signal. */
static int take_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;
	return timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ? 0 : 1;
}

/* A MiB that lies unread in datagram sockets of our own loopback; a full socket drops without a word, so it is asked. */
static int take_sockets(void)
{
	static char bytes[1000];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	int from = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	long held = 0;
	for (int i = 0; i < 64 && held < 1 << 20; i++) {
		uint32_t memory[9] = { 0 };	/* the first is what the receiving side holds (sock_diag(7), SK_MEMINFO) */
		socklen_t size = sizeof memory;
		int to = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		address.sin_port = 0;
		if (bind(to, (struct sockaddr *)&address, sizeof address) < 0 || getsockname(to, (struct sockaddr *)&address, &length) < 0)
			break;
		for (int sent = 0; sent < 400; sent++)
			sendto(from, bytes, sizeof bytes, 0, (struct sockaddr *)&address, sizeof address);
		getsockopt(to, SOL_SOCKET, SO_MEMINFO, memory, &size);
		held += memory[0];
	}
	close(from);
	return held >= 1 << 20;
}

static int take_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	return pid > 0;
}

static const struct {
	const char *name;
	int (*take)(void);
	int most;
} shares[] = {
	{ "inotify", take_inotify, 4000 }, { "terminals", take_terminal, 4000 }, { "timers", take_timer, 20000 },
	{ "sockets", take_sockets, 400 }, { "processes", take_process, 200 },
};

static int huge_mapping(void)
{
	return mmap(NULL, 2u << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED ? -1 : 0;
}

/* ERROR 0: the call is to succeed. */
static int try_calls(void)
{
	unsigned long context = 0;
	int wrong = 0;
#define TRY(error, call) \
	do { \
		errno = 0; \
		int r = (int)(call); \
		if ((r < 0 ? errno : 0) != (error)) \
			wrong += printf("%s: %d, errno %d\n", #call, r, errno) > 0; \
	} while (0)
	TRY(ENOSYS, syscall(SYS_io_setup, 16, &context));
	TRY(ENOMEM, memfd_create("x", MFD_HUGETLB));
	TRY(ENOMEM, huge_mapping());
	TRY(EPROTONOSUPPORT, socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
	TRY(EPROTONOSUPPORT, socket(AF_INET6, SOCK_SEQPACKET | SOCK_CLOEXEC, IPPROTO_SCTP));
	TRY(EPROTONOSUPPORT, socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE));
	TRY(ESOCKTNOSUPPORT, socket(AF_INET, SOCK_DCCP, 0));
	TRY(ESOCKTNOSUPPORT, socket(AF_INET, SOCK_PACKET | SOCK_NONBLOCK, 0));
	TRY(0, socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
	TRY(0, socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP));
	TRY(0, socket(AF_UNIX, SOCK_SEQPACKET, 0));
	TRY(0, socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	TRY(0, syncfs(open("/usr", O_RDONLY | O_CLOEXEC)));
	TRY(0, memfd_create("x", 0));
	return wrong;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "calls") == 0)
		return try_calls();
	for (size_t i = 0; argc == 2 && i < sizeof shares / sizeof shares[0]; i++) {
		if (strcmp(argv[1], shares[i].name) != 0)
			continue;
		int count = 0;
		while (count < shares[i].most && shares[i].take())
			count++;
		printf("took %d.\n", count);
		fflush(stdout);
		pause();
	}
	return 64;
}
