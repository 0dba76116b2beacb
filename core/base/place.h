/*
 * Where things are: our own programs, the rounds' directory, the sockets' directory (XDG Base Directory
 * Specification 0.8), and processes by pid and start time.
 */
#ifndef CORE_BASE_PLACE_H
#define CORE_BASE_PLACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <proctor/error.h>

/*
 * The path of a program of ours ("proctor-core", "proctor-worker", "proctor-init"): beside the running
 * executable, else in the directory it was installed for. -ENOENT names both places.
 */
int place_program(const char *name, char *ret_path, size_t size, struct pr_error *error);

/* $XDG_STATE_HOME/proctor/rounds, else ~/.local/state/proctor/rounds. Created (0700) where it is absent. */
int place_rounds(char *ret_path, size_t size, struct pr_error *error);

/*
 * The directory for control sockets: $XDG_RUNTIME_DIR/proctor, else (no such variable, or a path too
 * long for a socket name, unix(7): 107 bytes) /tmp/proctor-UID. Created 0700; refused where another
 * user owns it or others may enter it.
 */
int place_sockets(char *ret_path, size_t size, struct pr_error *error);

/*
 * The start time of a process in clock ticks after boot (field 22 of /proc/PID/stat, proc(5)): with the
 * pid it names one process for this boot. -ESRCH where there is none, or a zombie alone.
 */
int place_start_time(pid_t pid, uint64_t *ret_ticks);

#endif
