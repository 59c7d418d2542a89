// SPDX-License-Identifier: Apache-2.0
// Reports of a build to its user: log lines by level on standard error, and one progress line on a terminal.
#ifndef BYOC_CORE_BASE_LOG_H_
#define BYOC_CORE_BASE_LOG_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum byoc_log_level_t {
  BYOC_LOG_ERROR,
  BYOC_LOG_WARNING, // shown unless quiet
  BYOC_LOG_INFO,    // shown with --verbose: the steps of a build
  BYOC_LOG_DEBUG,
} byoc_log_level_t;

void byoc_log_set_level(byoc_log_level_t level);
// Sets the stream for lines and progress; NULL: standard error, which is the default.
void byoc_log_set_stream(FILE *stream);
byoc_log_level_t byoc_log_level(void);
void byoc_log(byoc_log_level_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Progress of one long task. It is shown on a terminal once the task has run for half a second, redrawn at most ten
// times per second, and wiped by _end. Nothing is printed if standard error is not a terminal. A `total` of 0 means
// unknown.
typedef struct byoc_progress_t {
  const char *title;
  int64_t done, total;
  int64_t start_ns, drawn_ns;
  bool drawn;
} byoc_progress_t;
void byoc_progress_begin(byoc_progress_t *progress, const char *title, int64_t total);
void byoc_progress_step(byoc_progress_t *progress, int64_t done, const char *detail);
void byoc_progress_end(byoc_progress_t *progress);

// Shows a line of progress on a terminal, at once, until another one replaces it or _end wipes it.
void byoc_progress_show(const char *line);
void byoc_progress_wipe(void);

// Monotonic clock in nanoseconds.
int64_t byoc_now_ns(void);

#endif // BYOC_CORE_BASE_LOG_H_
