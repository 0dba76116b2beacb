/* The id pairs of idrange.h. */
#include "core/containment/idrange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/containment/host.h"
#include "core/containment/layers/layers.h"

#define ROOT_BASE 1900000000u
#define ROOT_PAIRS 32768u
#define ROOT_TRIES 16u
#define PAIRS_LEAST 2u	/* the dry run has two boundaries */

/* Does [base, base + count) touch a range of this /etc/subuid or /etc/subgid file (NAME:FIRST:COUNT)? */
static bool touches(const char *file, unsigned long base, unsigned long count)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, file, 1u << 20, &text) < 0 || !text.data)
		return false;
	for (const char *line = text.data; *line;) {
		const char *colon = strchr(line, ':');
		const char *end = strchrnul(line, '\n');
		unsigned long first, length;
		if (colon && colon < end && sscanf(colon, ":%lu:%lu", &first, &length) == 2 &&
		    first < base + count && base < first + length)
			return true;
		line = *end ? end + 1 : end;
	}
	return false;
}

static int open_lock(char *path, size_t size, struct pr_error *error)
{
	/* One place for all of a user's workers, whatever XDG_RUNTIME_DIR each of them has. */
	uid_t user = host_own_uid();
	if (user == 0 && access("/run", W_OK) == 0)
		snprintf(path, size, "/run/proctor");
	else
		snprintf(path, size, "/tmp/proctor-%u", (unsigned)user);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return pr_error_errno(error, errno, "creating %s for the lock of the id range", path);
	struct stat status;
	if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022) != 0) {
		pr_error_set(error, EPERM, "%s is not a directory of ours alone", path);
		return pr_error_remedy(error, "remove it");
	}
	size_t used = strlen(path);
	snprintf(path + used, size - used, "/ids.lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? pr_error_errno(error, errno, "opening %s", path) : fd;
}

/* Is all of [base, base + count) an id of this user namespace? In the first one everything is. */
static bool is_mapped(const char *file, unsigned long base, unsigned long count)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	if (io_read_file(AT_FDCWD, file, 65536, &text) < 0 || !text.data)
		return false;
	for (const char *line = text.data; *line;) {
		const char *end = strchrnul(line, '\n');
		unsigned long inside, outside, length;
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &length) == 3 && base >= inside && base + count <= inside + length)
			return true;
		line = *end ? end + 1 : end;
	}
	return false;
}

/* Root's own, clear of what is given to users and to systemd. */
static int find_free(uid_t *ret_base, struct pr_error *error)
{
	uid_t base = ROOT_BASE;
	unsigned count = 2 * ROOT_PAIRS, i = 0;
	while (i < ROOT_TRIES && (touches("/etc/subuid", base, count) || touches("/etc/subgid", base, count))) {
		base += count;
		i++;
	}
	if (i == ROOT_TRIES) {
		pr_error_set(error, EADDRINUSE, "no boundary: the user ids %u to %u are all given to users in /etc/subuid or /etc/subgid",
			     ROOT_BASE, base - 1);
		return pr_error_remedy(error, "leave some %u ids from there on free", count);
	}
	if (!is_mapped("/proc/self/uid_map", base, count) || !is_mapped("/proc/self/gid_map", base, count)) {
		pr_error_set(error, EPERM, "no boundary: this user namespace has no user ids %u to %u, which runs would get", base,
			     base + count - 1);
		return pr_error_remedy(error, "run proctor on the host as an ordinary user, or start the container with --userns=host");
	}
	*ret_base = base;
	return 0;
}

int id_range_open(struct id_range *range, unsigned outer_count, struct pr_error *error)
{
	char path[128];
	uid_t base = 1;
	unsigned pairs = outer_count ? outer_count / 2 : ROOT_PAIRS;

	*range = (struct id_range){ .lock = -1, .candidate = CANDIDATE_ID };
	if (outer_count == OUTER_NO_RANGE) {
		range->pairs = ROOT_PAIRS;
		range->candidate = CANDIDATE_ID_SHARED;
		return 0;
	}
	if (pairs < PAIRS_LEAST) {
		pr_error_set(error, ERANGE, "no boundary: a range of %u subordinate ids is too small: a run takes 2, and a worker's dry run %u",
			     outer_count, 2 * PAIRS_LEAST);
		return pr_error_remedy(error, "a larger range in /etc/subuid and /etc/subgid: as root, usermod --add-subuids 200000-265535 "
				       "--add-subgids 200000-265535 USER");
	}
	if (!outer_count) {
		int r = find_free(&base, error);
		if (r < 0)
			return r;
	}
	int lock = open_lock(path, sizeof path, error);
	if (lock < 0)
		return lock;
	range->held = calloc(pairs ? pairs : 1, 1);
	if (!range->held) {
		close(lock);
		return pr_error_errno(error, ENOMEM, "the id range");
	}
	range->lock = lock;
	range->base = base;
	range->pairs = pairs;
	return 0;
}

void id_range_close(struct id_range *range)
{
	cleanup_close(&range->lock);
	free(range->held);
	*range = (struct id_range){ .lock = -1 };
}

static int lock_pair(const struct id_range *range, unsigned pair, short type)
{
	struct flock one = { .l_type = type, .l_whence = SEEK_SET, .l_start = pair, .l_len = 1 };
	return fcntl(range->lock, F_OFD_SETLK, &one) < 0 ? -errno : 0;
}

int id_range_take(struct id_range *range, uid_t *ret_base, struct pr_error *error)
{
	if (!range->held) {
		*ret_base = 0;
		return 0;
	}
	for (unsigned tried = 0; tried < range->pairs; tried++) {
		unsigned pair = (range->next + tried) % range->pairs;
		if (range->held[pair] || lock_pair(range, pair, F_WRLCK) < 0)
			continue;
		range->held[pair] = 1;
		range->next = (pair + 1) % range->pairs;
		*ret_base = range->base + 2 * pair;
		return 0;
	}
	pr_error_set(error, EAGAIN, "all %u pairs of user ids are in use by other runs of this user", range->pairs);
	return pr_error_remedy(error, "fewer at a time, or a larger range in /etc/subuid and /etc/subgid");
}

void id_range_give_back(struct id_range *range, uid_t base)
{
	unsigned pair = (base - range->base) / 2;
	if (!range->held || pair >= range->pairs || !range->held[pair])
		return;
	range->held[pair] = 0;
	lock_pair(range, pair, F_UNLCK);
}
