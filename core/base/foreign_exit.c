// SPDX-License-Identifier: Apache-2.0
// _exit and _Exit, so that foreign code cannot end the process silently: libc's end it without a call of anybody. The
// functions of a program come first for all libraries that it loads.
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
