/* The sweep of leftovers.h. Each kind adds its items to one list, which is printed at the end. */
#include "core/round/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "core/record/jsonc.h"
#include "core/round/directory.h"
#include "core/round/journal.h"
#include <proctor/text.h>

#define ANSWER_MAX (16u << 20)
#define MOUNTINFO_MAX (4u << 20)
#define YOUNG_S 60	/* a socket of a round that we do not know: its core may be about to listen */

struct sweep {
	bool dry_run;
	struct json_object *items;
};

static void add_item(struct sweep *sweep, const char *kind, const char *path, bool removed)
{
	struct json_object *item = json_object_new_object();
	set_text(item, "kind", kind);
	set_value(item, "path", pr_safe_text_json(path, strlen(path)));
	set_truth(item, "removed", removed);
	json_object_array_add(sweep->items, item);
}

/* ------- cgroups ------- */

static int read_answer(int fd, struct buffer *answer, pid_t pid, struct pr_error *error)
{
	int r = io_read_all(fd, answer, ANSWER_MAX), status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return pr_error_errno(error, -r, "reading what proctor-worker found");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return pr_error_set(error, ECHILD, "proctor-worker --sweep did not end well");
	return 0;
}

static int sweep_cgroups(struct sweep *sweep, struct pr_error *error)
{
	char path[PATH_MAX];
	int ends[2];
	int r = place_program("proctor-worker", path, sizeof path, error);
	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return pr_error_errno(error, errno, "a pipe for proctor-worker");
	_cleanup_close_ int reading = ends[0];
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl(path, path, "--sweep", sweep->dry_run ? "--dry-run" : NULL, (char *)NULL);
		_exit(127);
	}
	r = pid < 0 ? pr_error_errno(error, errno, "starting %s", path) : 0;
	close(ends[1]);
	if (r < 0)
		return r;
	_cleanup_buffer_ struct buffer answer = BUFFER_INIT;
	r = read_answer(reading, &answer, pid, error);
	if (r < 0)
		return r;
	_cleanup_jsonc_ struct json_object *object = jsonc_read_object(answer.data ? answer.data : "", answer.length);
	struct json_object *items = json_object_object_get(object, "items");
	if (!json_object_is_type(items, json_type_array))
		return pr_error_set(error, EBADMSG, "proctor-worker --sweep said something that is no list");
	for (size_t i = 0; i < json_object_array_length(items); i++)
		json_object_array_add(sweep->items, json_object_get(json_object_array_get_idx(items, i)));
	return 0;
}

/* ------- sockets ------- */

static bool is_refused(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= sizeof address.sun_path)
		return false;
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
}

/* With the round's lock held nobody can begin to listen there. */
static void sweep_socket(struct sweep *sweep, const char *directory, const char *rounds, const char *name)
{
	char path[PATH_MAX + 256], lock[PATH_MAX + 256];
	struct stat status;
	snprintf(path, sizeof path, "%s/%s", directory, name);
	snprintf(lock, sizeof lock, "%s/%.*s/lock", rounds, (int)(strlen(name) - strlen(".sock")), name);
	if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
		return;
	_cleanup_close_ int fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 ? flock(fd, LOCK_EX | LOCK_NB) < 0 : time(NULL) - status.st_mtime < YOUNG_S)
		return;
	if (is_refused(path))
		add_item(sweep, "socket", path, !sweep->dry_run && unlink(path) == 0);
}

static int sweep_sockets(struct sweep *sweep, struct pr_error *error)
{
	char directory[PATH_MAX], rounds[PATH_MAX];
	int r = place_sockets(directory, sizeof directory, error);
	if (r == 0)
		r = place_rounds(rounds, sizeof rounds, error);
	if (r < 0)
		return r;
	_cleanup_closedir_ DIR *stream = opendir(directory);
	for (struct dirent *entry; stream && (entry = readdir(stream));) {
		size_t length = strlen(entry->d_name);
		if (length > 5 && strcmp(entry->d_name + length - 5, ".sock") == 0)
			sweep_socket(sweep, directory, rounds, entry->d_name);
	}
	return 0;
}

/* ------- directories and mounts ------- */

/* The mount point that is the fifth word of a line of mountinfo; true where it is at or below `path`. */
static bool is_below(const char *line, const char *path, char *ret_point, size_t size)
{
	char point[PATH_MAX];
	if (sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
		return false;
	size_t length = strlen(path);
	if (strncmp(point, path, length) != 0 || (point[length] != '/' && point[length] != '\0'))
		return false;
	snprintf(ret_point, size, "%s", point);
	return true;
}

/* The last one first: it may stand on another. False where one is left. */
static bool sweep_mounts(struct sweep *sweep, const char *path)
{
	_cleanup_buffer_ struct buffer mountinfo = BUFFER_INIT;
	char point[PATH_MAX];
	bool clear = true;
	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_MAX, &mountinfo) < 0 || !mountinfo.data)
		return false;
	for (char *end = mountinfo.data + mountinfo.length; end > mountinfo.data;) {
		*--end = '\0';
		char *line = memrchr(mountinfo.data, '\n', (size_t)(end - mountinfo.data));
		line = line ? line + 1 : mountinfo.data;
		if (is_below(line, path, point, sizeof point)) {
			bool removed = !sweep->dry_run && umount2(point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
			add_item(sweep, "mount", point, removed);
			clear &= removed;
		}
		end = line;
	}
	return clear;
}

static bool on_directory(void *context, const char *path)
{
	struct sweep *sweep = context;
	return sweep_mounts(sweep, path) && !sweep->dry_run;
}

static void on_swept(void *context, const char *path, bool removed)
{
	add_item(context, "directory", path, removed);
}

/* ------- what is said ------- */

static unsigned count(const struct sweep *sweep, const char *kind, const char *member)
{
	unsigned sum = 0;
	for (size_t i = 0; i < json_object_array_length(sweep->items); i++) {
		struct json_object *item = json_object_array_get_idx(sweep->items, i), *value;
		const char *of = jsonc_text(item, "kind");
		if (kind && (!of || strcmp(of, kind) != 0))
			continue;
		if (!member)
			sum++;
		else if (json_object_object_get_ex(item, member, &value))
			sum += (unsigned)json_object_get_int64(value);
	}
	return sum;
}

static const char *const kinds[] = { "cgroup", "socket", "directory", "mount" };

static void print_json(const struct sweep *sweep, unsigned left)
{
	static const char *const plurals[] = { "cgroups", "sockets", "directories", "mounts" };
	_cleanup_jsonc_ struct json_object *object = json_object_new_object();
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	set_truth(object, "dry_run", sweep->dry_run);
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		set_number(object, plurals[i], count(sweep, kinds[i], NULL));
	set_number(object, "killed", sweep->dry_run ? 0 : count(sweep, NULL, "killed"));
	set_number(object, "left", left);
	set_value(object, "items", json_object_get(sweep->items));
	if (jsonc_write(object, &line) >= 0)
		puts(line.data);
}

static void print_line(const struct sweep *sweep, struct json_object *item)
{
	const char *kind = jsonc_text(item, "kind"), *path = jsonc_text(item, "path");
	bool removed = json_object_get_boolean(json_object_object_get(item, "removed"));
	int64_t killed = json_object_get_int64(json_object_object_get(item, "killed"));
	struct pr_safe_text text;
	pr_safe_text_from(&text, path ? path : "", path ? strlen(path) : 0, 0, PR_CHARSET_UTF8);
	printf("%-10s %s: ", kind ? kind : "", pr_safe_text_str(&text));
	if (killed > 0)
		printf("%lld process%s %s, ", (long long)killed, killed == 1 ? "" : "es", sweep->dry_run ? "live in it" : "killed");
	printf("%s\n", sweep->dry_run ? "would be removed" : removed ? "removed" : "COULD NOT BE REMOVED");
}

static void print_text(const struct sweep *sweep, unsigned left)
{
	size_t found = json_object_array_length(sweep->items);
	for (size_t i = 0; i < found; i++)
		print_line(sweep, json_object_array_get_idx(sweep->items, i));
	if (found == 0)
		printf("nothing is left of rounds that no longer run\n");
	else if (sweep->dry_run)
		printf("%zu found; proctor sweep removes them\n", found);
	else
		printf("%zu removed, %u left, %u processes killed\n", found - left, left, count(sweep, NULL, "killed"));
}

int leftovers_sweep(bool dry_run, bool json, struct pr_error *error)
{
	struct sweep sweep = { .dry_run = dry_run, .items = json_object_new_array() };
	int r = sweep.items ? sweep_cgroups(&sweep, error) : pr_error_errno(error, ENOMEM, "sweeping");
	if (r == 0)
		r = sweep_sockets(&sweep, error);
	if (r == 0)
		r = directory_sweep(on_directory, on_swept, &sweep, error);
	if (r == 0) {
		unsigned left = (unsigned)json_object_array_length(sweep.items) - count(&sweep, NULL, "removed");
		if (json)
			print_json(&sweep, left);
		else
			print_text(&sweep, left);
		r = !dry_run && left > 0;
	}
	json_object_put(sweep.items);
	return r;
}
