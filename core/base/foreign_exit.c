// SPDX-License-Identifier: Apache-2.0
// Defines _exit and _Exit, so that foreign code cannot end the process silently: libc's functions call no handler.
// Libraries that a program loads use the program's functions before libc's.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/foreign.h"

__attribute__((visibility("default"))) _Noreturn void _exit(int code) {
  byoc_foreign_refuse("called _exit()");
  for (;;) (void)syscall(SYS_exit_group, code);
}

__attribute__((visibility("default"))) _Noreturn void _Exit(int code) {
  _exit(code);
}
