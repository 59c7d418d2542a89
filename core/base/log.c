// SPDX-License-Identifier: Apache-2.0
// Log lines and progress on standard error. One lock orders them, so that a log line never lands in a progress line.
#define _GNU_SOURCE
#include "core/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/base/task.h"
#include "core/base/visible.h"

static atomic_int current_level = BYOC_LOG_WARNING;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool line_drawn;     // a progress line is on the terminal
static FILE *_Atomic given; // NULL: standard error

static const int64_t show_after_ns = 500000000;
static const int64_t redraw_after_ns = 100000000;

void byoc_log_set_level(byoc_log_level_t level) {
  atomic_store(&current_level, (int)level);
}

void byoc_log_set_stream(FILE *stream) {
  atomic_store(&given, stream);
}

static FILE *log_stream(void) {
  FILE *stream = atomic_load(&given);
  return stream != NULL ? stream : stderr;
}

// The task that receives this thread's lines; NULL: the stream does.
static const byoc_task_t *listener(void) {
  const byoc_task_t *task = byoc_task_current();
  return task != NULL && task->log != NULL ? task : NULL;
}

byoc_log_level_t byoc_log_level(void) {
  const byoc_task_t *task = listener();
  return task != NULL ? task->log_level : (byoc_log_level_t)atomic_load(&current_level);
}

int64_t byoc_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Call with the lock held.
static void wipe_line(void) {
  if (line_drawn) fputs("\r\033[K", log_stream());
  line_drawn = false;
}

void byoc_log(byoc_log_level_t level, const char *format, ...) {
  if (level > byoc_log_level()) return;
  static const char *const prefixes[] = {"error: ", "warning: ", "", ""};
  char line[1024]; // long enough for most lines; if out of memory, the rest is cut
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  char *whole = length >= (int)sizeof(line) ? malloc((size_t)length + 1) : NULL;
  if (whole != NULL) {
    va_start(arguments, format);
    vsnprintf(whole, (size_t)length + 1, format, arguments);
    va_end(arguments);
  }
  const char *text = length < 0 ? "" : whole != NULL ? whole : line;
  const byoc_task_t *task = listener();
  if (task != NULL) {
    task->log(task->self, level, text);
  } else {
    pthread_mutex_lock(&lock);
    wipe_line();
    fputs(prefixes[level], log_stream());
    byoc_write_shown_lines(log_stream(), text);
    fputc('\n', log_stream());
    fflush(log_stream());
    pthread_mutex_unlock(&lock);
  }
  free(whole);
}

void byoc_progress_begin(byoc_progress_t *progress, const char *title, int64_t total) {
  *progress = (byoc_progress_t){.title = title, .total = total, .start_ns = byoc_now_ns()};
}

static int terminal_width(void) {
  struct winsize size;
  if (ioctl(fileno(log_stream()), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Writes the first `width` columns of a line.
static void write_cut(const char *line, size_t width) {
  const char *end = line + strlen(line);
  char shown[BYOC_SHOWN_BYTES];
  while (line < end) {
    line += byoc_show_character(line, (size_t)(end - line), shown);
    const size_t needed = byoc_shown_width(shown);
    if (needed > width) return;
    fputs(shown, log_stream());
    width -= needed;
  }
}

static void draw_line(const char *line) {
  pthread_mutex_lock(&lock);
  fputs("\r\033[K", log_stream());
  write_cut(line, (size_t)terminal_width() - 1);
  fflush(log_stream());
  line_drawn = true;
  pthread_mutex_unlock(&lock);
}

// True if a person may watch: not with --quiet, and not if standard error is a file.
static bool has_spectator(void) {
  return atomic_load(&current_level) >= BYOC_LOG_WARNING && isatty(fileno(log_stream()));
}

void byoc_progress_show(const char *line) {
  const byoc_task_t *task = byoc_task_current();
  if ((task == NULL || task->progress == NULL) && has_spectator()) draw_line(line);
}

void byoc_progress_wipe(void) {
  pthread_mutex_lock(&lock);
  if (line_drawn) {
    wipe_line();
    fflush(log_stream());
  }
  pthread_mutex_unlock(&lock);
}

void byoc_progress_step(byoc_progress_t *progress, int64_t done, const char *detail) {
  progress->done = done;
  const byoc_task_t *task = byoc_task_current();
  if (task != NULL && task->progress != NULL) {
    task->progress(task->self, progress->title, done, progress->total, detail);
    return;
  }
  if (!has_spectator()) return;
  int64_t now = byoc_now_ns();
  if (now - progress->start_ns < show_after_ns) return;
  if (progress->drawn && now - progress->drawn_ns < redraw_after_ns) return;
  char line[512];
  int length = snprintf(line, sizeof(line), "%s", progress->title);
  if (progress->total > 0 && length > 0 && length < (int)sizeof(line)) {
    snprintf(line + length, sizeof(line) - (size_t)length, " %lld/%lld", (long long)done, (long long)progress->total);
  }
  size_t used = strlen(line);
  if (detail != NULL) snprintf(line + used, sizeof(line) - used, " %s", detail);
  draw_line(line);
  progress->drawn = true;
  progress->drawn_ns = now;
}

void byoc_progress_end(byoc_progress_t *progress) {
  if (progress->drawn) byoc_progress_wipe();
  progress->drawn = false;
}
