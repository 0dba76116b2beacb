/*
 * Calls that do not compile in this project, with what to use instead. Included before every file by
 * the build. Function-like macros, so that a parameter of the same name in a system header stands.
 */
#ifndef CORE_BASE_BANNED_H
#define CORE_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BANNED(call) this_project_does_not_call_##call

#undef strcpy
#define strcpy(...) BANNED(strcpy)	/* snprintf, struct buffer */
#undef strcat
#define strcat(...) BANNED(strcat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)	/* snprintf, buffer_printf */
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef gets
#define gets(...) BANNED(gets)		/* io_read_all */
#undef strncpy
#define strncpy(...) BANNED(strncpy)	/* snprintf */
#undef strtok
#define strtok(...) BANNED(strtok)	/* strchr */
#undef system
#define system(...) BANNED(system)	/* nothing here runs a shell */
#undef popen
#define popen(...) BANNED(popen)
#undef rand
#define rand(...) BANNED(rand)		/* getrandom(2) */
#undef alloca
#define alloca(...) BANNED(alloca)	/* an array of fixed size, or the heap */

#endif
