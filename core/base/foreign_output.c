// SPDX-License-Identifier: Apache-2.0
// Catches the output of foreign code on standard output and standard error.
#define _GNU_SOURCE
#include "core/base/foreign_output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/log.h"

static int memory_fd = -1; // -1: nothing is caught
static int output_fd, error_fd;
static FILE *log_stream; // of log lines while output is caught

// A copy of a descriptor that no program inherits and that is none of the standard ones.
static int copy_of(int fd) {
  return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

void byoc_foreign_output_init(void) {
  // A child gets memory of its own: it shares that of its parent.
  if (memory_fd >= 0) (void)close(memory_fd);
  memory_fd = -1;
  if (getenv("LD_DEBUG") != NULL) return; // the dynamic linker prints whenever it works
  output_fd = copy_of(STDOUT_FILENO);
  error_fd = copy_of(STDERR_FILENO);
  const int log_fd = copy_of(STDERR_FILENO), fd = memfd_create("byoc-foreign", MFD_CLOEXEC);
  log_stream = log_fd >= 0 ? fdopen(log_fd, "w") : NULL;
  if (output_fd >= 0 && error_fd >= 0 && log_stream != NULL) memory_fd = fd;
}

void byoc_foreign_output_begin(void) {
  if (memory_fd < 0) return;
  (void)fflush(stdout);
  byoc_log_set_stream(log_stream);
  (void)dup2(memory_fd, STDOUT_FILENO);
  (void)dup2(memory_fd, STDERR_FILENO);
}

void byoc_foreign_output_end(void) {
  if (memory_fd < 0) return;
  (void)dup2(output_fd, STDOUT_FILENO);
  (void)dup2(error_fd, STDERR_FILENO);
  byoc_log_set_stream(NULL);
}

const char *byoc_foreign_output_misuse(void) {
  if (memory_fd < 0) return NULL;
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) return "closed standard output";
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) return "closed standard error";
  (void)fflush(stdout);
  return lseek(memory_fd, 0, SEEK_CUR) > 0 ? "printed" : NULL;
}

size_t byoc_foreign_output_read(char *text, size_t size) {
  if (memory_fd < 0) return 0;
  ssize_t got = pread(memory_fd, text, size, 0);
  while (got > 0 && text[got - 1] == '\n') --got;
  return got > 0 ? (size_t)got : 0;
}

int byoc_foreign_output_terminal(void) {
  return memory_fd >= 0 ? error_fd : STDERR_FILENO;
}
