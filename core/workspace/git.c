/* libgit2's start, its errors and its names (git.h). */
#include "core/workspace/git.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <proctor/text.h>

#include "core/base/cleanup.h"
#include "core/record/utf8.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int start_result;

static void start(void)
{
	static const git_config_level_t levels[] = {
		GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL,
	};

	start_result = git_libgit2_init();
	for (size_t i = 0; i < ELEMENTS(levels) && start_result >= 0; i++)
		start_result = git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
	if (start_result >= 0)
		start_result = git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 1);
	if (start_result >= 0)
		start_result = git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
#if LIBGIT2_VER_MAJOR > 1 || (LIBGIT2_VER_MAJOR == 1 && LIBGIT2_VER_MINOR >= 7)
	if (start_result >= 0)
		start_result = git_libgit2_opts(GIT_OPT_SET_HOMEDIR, "");
#endif
}

int git_start(struct pr_error *error)
{
	pthread_once(&once, start);
	if (start_result < 0)
		return git_failed(error, start_result, "starting libgit2");
	return 0;
}

int git_failed(struct pr_error *error, int result, const char *format, ...)
{
	static const struct { int result, code; } codes[] = {
		{ GIT_ENOTFOUND, ENOENT }, { GIT_EEXISTS, EEXIST }, { GIT_EAMBIGUOUS, ENOTUNIQ }, { GIT_EBUFS, ENOBUFS },
		{ GIT_EINVALIDSPEC, EINVAL }, { GIT_ELOCKED, EBUSY }, { GIT_EMISMATCH, EBADMSG },
	};
	int code = EIO;
	for (size_t i = 0; i < ELEMENTS(codes); i++)
		if (codes[i].result == result)
			code = codes[i].code;
	if (!error)
		return -code;

	char what[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	/* libgit2 puts names of files and references into its messages. */
	const git_error *last = git_error_last();
	struct pr_safe_text why;
	pr_safe_text_from_str(&why, last && last->message ? last->message : "no reason given", 400);
	return pr_error_set(error, code, "%s: %s", what, pr_safe_text_str(&why));
}

/* Characters that HFS+ leaves out when it compares names. */
static bool hfs_ignores(uint32_t character)
{
	return (character >= 0x200c && character <= 0x200f) || (character >= 0x202a && character <= 0x202e) ||
	       (character >= 0x206a && character <= 0x206f) || character == 0xfeff;
}

bool git_name_is_repository(const char *component, size_t length)
{
	char plain[8];	/* enough for the two names and for telling that there is more */
	size_t used = 0;

	for (size_t at = 0; at < length && used < sizeof plain;) {
		uint32_t character = 0;
		size_t step = utf8_decode(component + at, length - at, &character);
		if (step == 0) {
			step = 1;
			character = 0xfffd;
		}
		at += step;
		if (hfs_ignores(character))
			continue;
		if (character == ':')
			break;	/* an NTFS stream of the name before it */
		plain[used++] = character < 0x80 ? (char)character : '?';
	}
	if (used < sizeof plain)
		while (used > 0 && (plain[used - 1] == '.' || plain[used - 1] == ' '))
			used--;
	else if (strncasecmp(plain, ".git", 4) == 0) {
		/* ".git" and dots and spaces without end */
		size_t rest = 4;
		while (rest < length && (component[rest] == '.' || component[rest] == ' '))
			rest++;
		return rest == length;
	}
	if (used == 4 && strncasecmp(plain, ".git", 4) == 0)
		return true;
	return used == 5 && strncasecmp(plain, "git~", 4) == 0 && plain[4] >= '1' && plain[4] <= '9';
}

bool git_path_holds_repository(const char *path)
{
	for (const char *at = path; at;) {
		const char *end = strchrnul(at, '/');
		if (git_name_is_repository(at, (size_t)(end - at)))
			return true;
		at = *end ? end + 1 : NULL;
	}
	return false;
}
