/* Running a program of the host's to its end (systemd-run, newuidmap): what it says on standard error is kept, bounded. */
#ifndef CORE_CONTAINMENT_PROGRAM_H
#define CORE_CONTAINMENT_PROGRAM_H

#include <stddef.h>

/*
 * Finds `argv[0]` on PATH and runs it. Returns its exit code (128 + signal), -ENOENT where it is nowhere, or another
 * negative errno. `ret_said`: its first line, printable ASCII alone. Ended after 20 s (-ETIMEDOUT).
 */
int program_run(char *const *argv, char *ret_said, size_t size);

/*
 * The path that PATH gives to `name`: 0, or -ENOENT. `ret_unreadable`, with room for `size`: the members of PATH
 * that could not be searched, one after the other; it may be behind one of them.
 */
int program_find(const char *name, char *ret_path, char *ret_unreadable, size_t size);

#endif
