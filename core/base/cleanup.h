/* Scope-bound ownership: `_cleanup_` releases at the end of the scope, `take_*` hands ownership on. */
#ifndef CORE_BASE_CLEANUP_H
#define CORE_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

/* Keeps errno: a cleanup must not change what the failing call left there. */
static inline void cleanup_close(int *fd)
{
	if (*fd >= 0) {
		int kept = errno;
		close(*fd);
		errno = kept;
	}
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_closedir(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

/* Returns the pointer and leaves NULL behind. */
#define take_ptr(pointer) ({ __typeof__(pointer) taken_ = (pointer); (pointer) = NULL; taken_; })

/* Returns the descriptor and leaves -1 behind. */
static inline int take_fd(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

#endif
