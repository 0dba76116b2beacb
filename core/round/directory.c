/* Making, locking and finding a round's directory (directory.h). */
#include "core/round/directory.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"

#define RESERVE_FILE "reserve"
#define RESERVE_BYTES 262144
#define SCRATCH_PREFIX "proctor-check"
#define TEMPORARY_TRIES 10
#define PUBLISH_TRIES 60	/* seconds that the name may run ahead where rounds start faster than one a second */

static int explain(struct pr_error *error)
{
	if (error && (error->code == ENOSPC || error->code == EDQUOT))
		pr_error_remedy(error, "free some space there, or set XDG_STATE_HOME to a place that has some");
	else if (error && (error->code == EMFILE || error->code == ENFILE))
		pr_error_remedy(error, "allow more open files: ulimit -n 1024");
	else if (error && error->code == EFBIG)
		pr_error_remedy(error, "allow larger files: ulimit -f unlimited");
	else if (error && error->remedy[0] == '\0')
		pr_error_remedy(error, "set XDG_STATE_HOME to a directory that you may write");
	return error ? -error->code : -EIO;
}

/* Below a directory descriptor: no path is used twice, no link is followed. */
static void remove_below(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	_cleanup_closedir_ DIR *directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(directory));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_below(fd, entry->d_name);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

void directory_remove(const char *path)
{
	remove_below(AT_FDCWD, path);
}

static int take_lock(int dirfd, int *ret_fd, struct pr_error *error)
{
	_cleanup_close_ int fd = openat(dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return pr_error_errno(error, errno, "opening the round's lock");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return pr_error_errno(error, errno, "locking the round");
		return pr_error_set(error, EBUSY, "the round is live: another core holds its lock");
	}
	/* Who holds it, for a person that looks; the lock itself is what counts. */
	char text[32];
	int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)length, 0) < 0)
		return pr_error_errno(error, errno, "writing the round's lock");
	*ret_fd = take_fd(&fd);
	return 0;
}

static int open_directory(struct round_directory *directory, struct pr_error *error)
{
	directory->fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory->fd < 0)
		return pr_error_errno(error, errno, "opening the round's directory %s", directory->path);
	return take_lock(directory->fd, &directory->lock_fd, error);
}

/* ------- temporary directories ------- */

/* PREFIX...XXXXXX, as mkdtemp(3) fills it in. */
static bool is_temporary(const char *entry, const char *prefix)
{
	size_t length = strlen(entry);
	if (length < strlen(prefix) + 7 || strncmp(entry, prefix, strlen(prefix)) != 0 || entry[length - 7] != '.')
		return false;
	for (const char *at = entry + length - 6; *at; at++)
		if (!isalnum((unsigned char)*at))
			return false;
	return true;
}

/*
 * Removes one that a killed core left. Who holds its lock is alive; who has no lock yet has nothing in it yet, and
 * one that loses its directory here between two system calls makes another (make_temporary()).
 */
static bool is_left(int parent, const char *name, int *ret_lock)
{
	struct stat status;
	_cleanup_close_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0 || status.st_uid != geteuid())
		return false;
	*ret_lock = openat(fd, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return *ret_lock < 0 || flock(*ret_lock, LOCK_EX | LOCK_NB) == 0;
}

static bool remove_left(int parent, const char *name, bool locked)
{
	if (locked)
		remove_below(parent, name);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static void sweep(const char *parent, const char *prefix, directory_ask *ask, directory_tell *tell, void *context)
{
	char path[PATH_MAX + 256];
	_cleanup_closedir_ DIR *directory = opendir(parent);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		_cleanup_close_ int lock = -1;
		if (!is_temporary(entry->d_name, prefix) || !is_left(dirfd(directory), entry->d_name, &lock))
			continue;
		snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
		bool removed = (!ask || ask(context, path)) && remove_left(dirfd(directory), entry->d_name, lock >= 0);
		if (tell)
			tell(context, path, removed);
	}
}

static const char *scratch_top(void)
{
	const char *top = getenv("TMPDIR");
	return top && top[0] == '/' ? top : "/tmp";
}

int directory_sweep(directory_ask *ask, directory_tell *tell, void *context, struct pr_error *error)
{
	char rounds[PATH_MAX];
	int r = place_rounds(rounds, sizeof rounds, error);
	if (r < 0)
		return r;
	sweep(rounds, ".", ask, tell, context);
	sweep(scratch_top(), SCRATCH_PREFIX, ask, tell, context);
	return 0;
}

/* mkdtemp(3) by `template`, and the lock of what it made. */
static int make_temporary(const char *template, struct round_directory *directory, struct pr_error *error)
{
	for (int i = 0;; i++) {
		struct stat status;
		snprintf(directory->path, sizeof directory->path, "%s", template);
		if (!mkdtemp(directory->path)) {
			int r = pr_error_errno(error, errno, "making a directory in %.*s",
					       (int)(strrchr(template, '/') - template), template);
			directory->path[0] = '\0';
			return r;
		}
		int r = open_directory(directory, error);
		if (r >= 0 && fstat(directory->lock_fd, &status) == 0 && status.st_nlink > 0)
			return 0;
		bool swept = r >= 0 || r == -EBUSY || r == -ENOENT;
		directory_discard(directory);
		if (!swept || i == TEMPORARY_TRIES)
			return r < 0 ? r : pr_error_set(error, EBUSY, "%s was removed while it was made", template);
		*error = (struct pr_error){ 0 };
	}
}

static int fill(struct round_directory *directory, const char *rounds, struct pr_error *error)
{
	if (mkdirat(directory->fd, "tasks", 0700) < 0)
		return pr_error_errno(error, errno, "making the directory of tasks in %s", rounds);
	int r = directory_reserve(directory);
	return r < 0 ? pr_error_errno(error, -r, "making a round's directory in %s", rounds) : 0;
}

int directory_make(const char *name, struct round_directory *ret_directory, struct pr_error *error)
{
	struct round_directory directory = ROUND_DIRECTORY_NONE;
	char rounds[PATH_MAX], template[PATH_MAX];
	struct pr_error ours = { 0 };
	if (!error)
		error = &ours;

	int r = place_rounds(rounds, sizeof rounds, error);
	if (r < 0)
		return explain(error);
	if ((size_t)snprintf(template, sizeof template, "%s/.%s.XXXXXX", rounds, name) >= sizeof template)
		return pr_error_errno(error, ENAMETOOLONG, "the rounds' directory %s", rounds);
	sweep(rounds, ".", NULL, NULL, NULL);
	r = make_temporary(template, &directory, error);
	if (r >= 0)
		r = fill(&directory, rounds, error);
	if (r < 0) {
		directory_discard(&directory);
		return explain(error);
	}
	*ret_directory = directory;
	return 0;
}

int directory_make_scratch(struct round_directory *ret_directory, struct pr_error *error)
{
	struct round_directory directory = ROUND_DIRECTORY_NONE;
	const char *top = scratch_top();
	char template[PATH_MAX];
	struct pr_error ours = { 0 };
	if (!error)
		error = &ours;

	if ((size_t)snprintf(template, sizeof template, "%s/" SCRATCH_PREFIX ".XXXXXX", top) >= sizeof template)
		return pr_error_errno(error, ENAMETOOLONG, "the temporary directory %s", top);
	sweep(top, SCRATCH_PREFIX, NULL, NULL, NULL);
	int r = make_temporary(template, &directory, error);
	if (r < 0) {
		pr_error_prefix(error, "to read the subjects into: ");
		return pr_error_remedy(error, "set TMPDIR to a directory that you may write and that has room");
	}
	*ret_directory = directory;
	return 0;
}

int directory_publish(const char *name, struct round_directory *directory, struct pr_error *error)
{
	char rounds[PATH_MAX], path[PATH_MAX], full[DIRECTORY_NAME];
	time_t now = time(NULL);

	snprintf(rounds, sizeof rounds, "%s", directory->path);
	*strrchr(rounds, '/') = '\0';
	for (int i = 0; i < PUBLISH_TRIES; i++, now++) {
		struct tm utc;
		char stamp[32];
		/* UTC: the newest run of a name is the last one in order, whatever the time zone and its summer do. */
		gmtime_r(&now, &utc);
		strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
		snprintf(full, sizeof full, "%s-%s", name, stamp);
		if ((size_t)snprintf(path, sizeof path, "%s/%s", rounds, full) >= sizeof path)
			return pr_error_errno(error, ENAMETOOLONG, "the round's directory %s/%s", rounds, full);
		if (renameat2(AT_FDCWD, directory->path, AT_FDCWD, path, RENAME_NOREPLACE) == 0) {
			_cleanup_close_ int parent = open(rounds, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (parent >= 0)
				(void)fsync(parent);
			memcpy(directory->path, path, sizeof path);
			memcpy(directory->name, full, sizeof full);
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	struct pr_error ours = { 0 };
	error = error ? error : &ours;
	pr_error_errno(error, errno, "naming the round's directory %s", path);
	return explain(error);
}

void directory_release(struct round_directory *directory)
{
	cleanup_close(&directory->lock_fd);
	cleanup_close(&directory->fd);
	directory->lock_fd = directory->fd = -1;
}

void directory_discard(struct round_directory *directory)
{
	if (directory->path[0])
		directory_remove(directory->path);
	directory_release(directory);
}

/* NAME of NAME-YYYYMMDD-HHMMSS is `name`. */
static bool is_run_of(const char *entry, const char *name)
{
	static const char form[] = "-dddddddd-dddddd";
	size_t length = strlen(name);
	if (strncmp(entry, name, length) != 0 || strlen(entry) != length + sizeof form - 1)
		return false;
	for (size_t i = 0; i < sizeof form - 1; i++) {
		char c = entry[length + i];
		if (form[i] == 'd' ? c < '0' || c > '9' : c != form[i])
			return false;
	}
	return true;
}

static int find_newest(const char *rounds, const char *name, char *ret_name, size_t size)
{
	char newest[DIRECTORY_NAME] = "";
	_cleanup_closedir_ DIR *directory = opendir(rounds);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (is_run_of(entry->d_name, name) && strlen(entry->d_name) < sizeof newest &&
		    strcmp(entry->d_name, newest) > 0)
			memcpy(newest, entry->d_name, strlen(entry->d_name) + 1);
	if (!newest[0])
		return -ENOENT;
	snprintf(ret_name, size, "%s", newest);
	return 0;
}

int directory_open(const char *round, struct round_directory *ret_directory, struct pr_error *error)
{
	struct round_directory directory = ROUND_DIRECTORY_NONE;
	char rounds[PATH_MAX], path[PATH_MAX + DIRECTORY_NAME + 2];

	int r = place_rounds(rounds, sizeof rounds, error);
	if (r < 0)
		return r;
	if (strchr(round, '/')) {
		snprintf(path, sizeof path, "%s", round);
	} else {
		char name[DIRECTORY_NAME];
		snprintf(name, sizeof name, "%s", round);
		snprintf(path, sizeof path, "%s/%s", rounds, name);
		if (access(path, F_OK) < 0 && find_newest(rounds, round, name, sizeof name) == 0)
			snprintf(path, sizeof path, "%s/%s", rounds, name);
	}
	if (!realpath(path, directory.path)) {
		r = pr_error_errno(error, errno, "looking for the round %s", round);
		pr_error_remedy(error, "`proctor list` names the rounds that are there");
		return r;
	}
	snprintf(directory.name, sizeof directory.name, "%s", strrchr(directory.path, '/') + 1);
	r = open_directory(&directory, error);
	if (r < 0) {
		directory_release(&directory);
		if (r == -EBUSY) {
			pr_error_set(error, EBUSY, "the round %s is live", directory.name);
			pr_error_remedy(error, "`proctor watch %s` shows it, `proctor stop %s` ends it", directory.name, directory.name);
		}
		return r;
	}
	*ret_directory = directory;
	return 0;
}

int directory_reserve(const struct round_directory *directory)
{
	_cleanup_close_ int fd = openat(directory->fd, RESERVE_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int r = posix_fallocate(fd, 0, RESERVE_BYTES);
	return r == EOPNOTSUPP ? 0 : -r;
}

int directory_spend_reserve(const struct round_directory *directory)
{
	return unlinkat(directory->fd, RESERVE_FILE, 0) < 0 ? -errno : 0;
}
