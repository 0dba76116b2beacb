/* Signals by signalfd(2). Called by the commands that wait for something. */
#include "tui/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/cleanup.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

int interrupt_open(struct pr_error *error)
{
	sigset_t wanted;
	sigemptyset(&wanted);
	for (size_t i = 0; i < ELEMENTS(ending); i++) {
		struct sigaction action;
		/* A blocked signal is delivered to a signalfd even where it is ignored: leave those alone. */
		if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&wanted, ending[i]);
	}
	if (sigprocmask(SIG_BLOCK, &wanted, NULL) < 0)
		return pr_error_errno(error, errno, "blocking signals");
	int fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? pr_error_errno(error, errno, "a descriptor for signals") : fd;
}

int interrupt_take(int fd)
{
	struct signalfd_siginfo info;
	return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

void interrupt_die(int signal)
{
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, signal);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	raise(signal);
}
