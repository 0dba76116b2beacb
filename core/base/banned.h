/*
 * Calls that do not compile in this project, with what to use instead. Included before every file by
 * the build. System headers are read first, so that the poisoned names are only refused in our code.
 */
#ifndef CORE_BASE_BANNED_H
#define CORE_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

#ifdef __GNUC__
#pragma GCC poison strcpy strcat	/* snprintf, struct buffer */
#pragma GCC poison sprintf vsprintf	/* snprintf, buffer_printf */
#pragma GCC poison gets strncpy strtok	/* fgets or io_read_*, snprintf, strchr */
#pragma GCC poison system popen		/* nothing here runs a shell */
#pragma GCC poison rand			/* getrandom(2) */
#undef alloca
#pragma GCC poison alloca		/* an array of fixed size, or the heap */
#endif

#endif
