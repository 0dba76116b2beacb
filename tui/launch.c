/*
 * Our own programs by posix_spawn(3). They inherit nothing but the descriptors named here (all others are
 * close-on-exec), no blocked signal, and the default for those that we ignore.
 */
#include "tui/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "tui/command.h"
#include "tui/member.h"

#define LAUNCH_ARGUMENTS 16		/* more than any verb takes */
#define ANNOUNCEMENT_MAX (16 * 1024)	/* bytes; three paths and their names */
#define PROOF_MAX (64 * 1024)

#define CORE "proctor-core"
#define WORKER "proctor-worker"

extern char **environ;

struct launch {
	const char *program;
	const char *argv[LAUNCH_ARGUMENTS + 1];
	size_t count;
	int inherited[2];	/* descriptors that it keeps, under the same numbers */
	size_t inherited_count;
	int output;		/* what becomes its standard output; 0: ours */
};

static void launch_add(struct launch *launch, const char *argument)
{
	if (launch->count < LAUNCH_ARGUMENTS)
		launch->argv[launch->count++] = argument;
}

static int spawn(struct launch *launch, const char *path, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	int r = posix_spawnattr_setsigmask(&attributes, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attributes, &defaults);
	if (r == 0)
		r = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0 && launch->output)
		r = posix_spawn_file_actions_adddup2(&actions, launch->output, STDOUT_FILENO);
	/* A descriptor duplicated onto itself loses close-on-exec (POSIX.1-2024; glibc 2.29). */
	for (size_t i = 0; i < launch->inherited_count && r == 0; i++)
		r = posix_spawn_file_actions_adddup2(&actions, launch->inherited[i], launch->inherited[i]);
	if (r == 0)
		r = posix_spawn(ret_pid, path, &actions, &attributes, (char *const *)launch->argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* `extra` holds the program, what goes on after `arguments`, and the descriptors. */
static int launch(const struct launch *extra, const char *const arguments[], pid_t *ret_pid, struct pr_error *error)
{
	char path[4096];
	int r = place_program(extra->program, path, sizeof path, error);
	if (r < 0)
		return r;
	struct launch whole = *extra;
	whole.count = 0;
	launch_add(&whole, path);
	for (; *arguments; arguments++)
		launch_add(&whole, *arguments);
	for (size_t i = 0; i < extra->count; i++)
		launch_add(&whole, extra->argv[i]);
	whole.argv[whole.count] = NULL;
	r = spawn(&whole, path, ret_pid);
	return r < 0 ? pr_error_errno(error, -r, "starting %s", path) : 0;
}

/* The exit code of the program, told to the owner where it did not end by itself. */
static int wait_for(const char *program, pid_t pid, struct pr_error *error)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return pr_error_errno(error, errno, "waiting for %s", program);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	pr_error_set(error, ECHILD, "%s was ended by signal %d (%s)", program, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return EXIT_REFUSED;
}

int launch_and_wait(const char *const arguments[], struct pr_error *error)
{
	pid_t pid;
	int r = launch(&(struct launch){ .program = CORE }, arguments, &pid, error);
	return r < 0 ? r : wait_for(CORE, pid, error);
}

int launch_stop_begin(const char *directory, int *ret_proof_fd, pid_t *ret_worker, struct pr_error *error)
{
	const char *const arguments[] = { "--stop", directory, NULL };
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return pr_error_errno(error, errno, "a pipe for %s", WORKER);
	_cleanup_close_ int reading = ends[0];
	_cleanup_close_ int writing = ends[1];
	int r = io_set_nonblocking(reading, true);
	if (r < 0)
		return pr_error_errno(error, -r, "a pipe for %s", WORKER);
	r = launch(&(struct launch){ .program = WORKER, .output = writing }, arguments, ret_worker, error);
	if (r >= 0)
		*ret_proof_fd = take_fd(&reading);
	return r;
}

int launch_stop_end(pid_t worker, struct pr_error *error)
{
	return wait_for(WORKER, worker, error);
}

int launch_stop(const char *directory, struct buffer *ret_proof, struct pr_error *error)
{
	_cleanup_close_ int reading = -1;
	pid_t pid;
	int r = launch_stop_begin(directory, &reading, &pid, error);
	if (r < 0)
		return r;
	io_set_nonblocking(reading, false);
	int read = io_read_all(reading, ret_proof, PROOF_MAX);
	r = launch_stop_end(pid, error);
	return r == 0 && read < 0 ? pr_error_errno(error, -read, "reading what %s says", WORKER) : r;
}

static int copy_member(struct json_object *object, const char *key, char *ret_text, size_t size)
{
	const char *text = jsonc_text(object, key);
	if (!text || !text[0] || strlen(text) >= size)
		return -EBADMSG;
	memcpy(ret_text, text, strlen(text) + 1);
	return 0;
}

static int parse_announcement(const char *line, struct announced *ret_announced)
{
	_cleanup_jsonc_ struct json_object *object = json_tokener_parse(line);
	int r = copy_member(object, "round", ret_announced->round, sizeof ret_announced->round);
	if (r >= 0)
		r = copy_member(object, "dir", ret_announced->dir, sizeof ret_announced->dir);
	return r < 0 ? r : copy_member(object, "socket", ret_announced->socket, sizeof ret_announced->socket);
}

/* Reads to the end of the first line. 0: there was none, the core has closed its end. */
static int read_announcement(int fd, struct buffer *line)
{
	for (;;) {
		char bytes[1024];
		ssize_t length = read(fd, bytes, sizeof bytes);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return -errno;
		if (length == 0)
			return 0;
		int r = buffer_add(line, bytes, (size_t)length);
		if (r < 0)
			return r;
		if (memchr(line->data, '\n', line->length))
			return 1;
	}
}

int launch_round(const char *const arguments[], int *ret_attached, struct announced *ret_announced,
		 struct pr_error *error)
{
	int announce[2] = { -1, -1 }, attached[2] = { -1, -1 };
	if (pipe2(announce, O_CLOEXEC) < 0)
		return pr_error_errno(error, errno, "a pipe for proctor-core");
	_cleanup_close_ int reading = announce[0];
	_cleanup_close_ int writing = announce[1];
	if (ret_attached && pipe2(attached, O_CLOEXEC) < 0)
		return pr_error_errno(error, errno, "a pipe for proctor-core");
	_cleanup_close_ int theirs = attached[0];
	_cleanup_close_ int ours = attached[1];

	char numbers[2][16];
	struct launch extra = { .program = CORE, .inherited = { writing, theirs }, .inherited_count = ret_attached ? 2 : 1 };
	static const char *const names[] = { "--announce", "--attached" };
	for (size_t i = 0; i < extra.inherited_count; i++) {
		snprintf(numbers[i], sizeof numbers[i], "%d", extra.inherited[i]);
		launch_add(&extra, names[i]);
		launch_add(&extra, numbers[i]);
	}
	pid_t pid;
	int r = launch(&extra, arguments, &pid, error);
	if (r < 0)
		return r;
	close(take_fd(&writing));

	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	line.limit = ANNOUNCEMENT_MAX;
	r = read_announcement(reading, &line);
	if (r < 0)
		return pr_error_errno(error, -r, "reading the announcement of proctor-core");
	if (r == 0) {
		r = wait_for(CORE, pid, error);
		if (r == 0) {
			pr_error_set(error, EPROTO, "proctor-core ended without announcing a round");
			return EXIT_REFUSED;
		}
		return r;
	}
	struct announced announced;
	if (parse_announcement(line.data, &announced) < 0)
		return pr_error_set(error, EBADMSG, "the announcement of proctor-core is not to be read");
	*ret_announced = announced;
	if (ret_attached)
		*ret_attached = take_fd(&ours);
	return 0;
}
