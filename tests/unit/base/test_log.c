// SPDX-License-Identifier: Apache-2.0
// Log lines: what is shown at which level, on a stream that is not a terminal.
#include "tests/support/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"

// What `body` writes to standard error.
static char *captured(void (*body)(void)) {
  fflush(stderr);
  FILE *file = tmpfile();
  assert_non_null(file);
  int saved = dup(STDERR_FILENO);
  assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  body();
  fflush(stderr);
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  long size = ftell(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  size = ftell(file);
  rewind(file);
  char *text = calloc(1, (size_t)size + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)size, file), size);
  fclose(file);
  return text;
}

static void say_all(void) {
  byoc_log(BYOC_LOG_ERROR, "e%d", 1);
  byoc_log(BYOC_LOG_WARNING, "w");
  byoc_log(BYOC_LOG_INFO, "i");
  byoc_log(BYOC_LOG_DEBUG, "d");
}

static char *shared_caches[2];

static void ask_for_caches(void) {
  for (int i = 0; i < 4; i++) {
    char *path = NULL;
    setenv("BYOC_CACHE_DIR", shared_caches[i % 2], 1);
    (void)byoc_cache_directory(byoc_allocator_system(), NULL, &path);
    byoc_free(byoc_allocator_system(), path);
  }
}

// A cache folder that others may write to is told once, also when two of them are asked for in turns.
static void refused_caches_are_told_once(void **state) {
  (void)state;
  char *folder = byoc_test_folder();
  char expected[2][160];
  setenv("TMPDIR", folder, 1);
  for (int i = 0; i < 2; i++) {
    shared_caches[i] = byoc_path_join(byoc_allocator_system(), folder, i == 0 ? "one" : "two");
    assert_int_equal(mkdir(shared_caches[i], 0700), 0);
    assert_int_equal(chmod(shared_caches[i], 0777), 0);
    snprintf(expected[i], sizeof expected[i], "warning: the cache '%s' is not used: ", shared_caches[i]);
  }
  char *text = captured(ask_for_caches);
  const char *one = strstr(text, expected[0]), *two = strstr(text, expected[1]);
  assert_true(one != NULL && two > one && strstr(one + 1, "is not used") < two + strlen(expected[1]));
  assert_null(strstr(two + 1, expected[0]));
  assert_null(strstr(two + 1, expected[1]));
  free(text);
  unsetenv("BYOC_CACHE_DIR");
  unsetenv("TMPDIR");
  for (int i = 0; i < 2; i++) byoc_free(byoc_allocator_system(), shared_caches[i]);
  byoc_test_ok(byoc_remove_tree(folder, NULL), NULL);
  free(folder);
}

static void levels(void **state) {
  (void)state;
  static const char *const expected[] = {"error: e1\n", "error: e1\nwarning: w\n", "error: e1\nwarning: w\ni\n",
                                         "error: e1\nwarning: w\ni\nd\n"};
  assert_int_equal(byoc_log_level(), BYOC_LOG_WARNING);
  for (int level = 0; level < 4; level++) {
    byoc_log_set_level((byoc_log_level_t)level);
    char *text = captured(say_all);
    byoc_test_same_text(text, expected[level]);
    free(text);
  }
  byoc_log_set_level(BYOC_LOG_WARNING);
}

static void show_progress(void) {
  byoc_progress_t progress;
  byoc_progress_begin(&progress, "tuning", 10);
  progress.start_ns -= 5000000000; // as if it had begun five seconds ago
  for (int i = 0; i < 10; i++) byoc_progress_step(&progress, i, "detail");
  byoc_progress_end(&progress);
}

static void no_progress_without_a_terminal(void **state) {
  (void)state;
  char *text = captured(show_progress);
  assert_string_equal(text, "");
  free(text);
}

// What `body` writes to a terminal of so many columns; 0 is a terminal that does not know. False: no terminals here.
static void capture_on_a_terminal(void (*body)(void), unsigned short columns, char *text, size_t text_size) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    byoc_test_skip("there is no pseudo-terminal");
  }
  int other_end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  int saved = dup(STDERR_FILENO);
  const struct winsize window = {.ws_row = 24, .ws_col = columns};
  assert_int_equal(ioctl(terminal, TIOCSWINSZ, &window), 0);
  assert_true(other_end >= 0 && saved >= 0 && dup2(other_end, STDERR_FILENO) >= 0);
  body();
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);
  close(other_end);
  size_t size = 0;
  // The text comes in pieces. After the last one, with nobody at the other end, reading fails.
  for (ssize_t got = 1; got > 0; size += got > 0 ? (size_t)got : 0) {
    got = read(terminal, text + size, text_size - 1 - size);
  }
  text[size] = '\0';
  close(terminal);
  assert_true(size > 0);
}

static void progress_on_a_terminal_is_drawn_and_wiped(void **state) {
  (void)state;
  char text[512];
  capture_on_a_terminal(show_progress, 0, text, sizeof text);
  // Once, unless the machine was so busy that ten steps took longer than a redraw.
  static const char first[] = "\r\033[Ktuning 0/10 detail", wipe[] = "\r\033[K";
  assert_memory_equal(text, first, sizeof first - 1);
  const char *last = strrchr(text, '\r');
  assert_true(last > text);
  assert_string_equal(last, wipe);
}

static void show_steps(void) {
  byoc_progress_show("reading");
  byoc_progress_t progress;
  byoc_progress_begin(&progress, "tuning", 10);
  byoc_progress_step(&progress, 1, NULL);
  progress.start_ns -= 600000000; // as if it had begun more than half a second ago
  byoc_progress_step(&progress, 2, NULL);
  byoc_progress_end(&progress);
  byoc_progress_show("linking");
  byoc_log(BYOC_LOG_WARNING, "w");
  byoc_progress_wipe(); // there is nothing left of it
}

// A step is shown at once, work within it after half a second; whatever comes next takes its place.
static void steps_are_shown_at_once(void **state) {
  (void)state;
  char text[512];
  capture_on_a_terminal(show_steps, 0, text, sizeof text);
  assert_string_equal(text, "\r\033[Kreading\r\033[Ktuning 2/10\r\033[K\r\033[Klinking\r\033[Kwarning: w\r\n");
}

static void show_long_progress(void) {
  char title[301] = "";
  memset(title, 'x', sizeof title - 1);
  byoc_progress_t progress;
  byoc_progress_begin(&progress, title, 0);
  progress.start_ns -= 2000000000; // short work shows no line
  byoc_progress_step(&progress, 1, NULL);
  byoc_progress_end(&progress);
}

// One column stays free; a terminal that does not know its width counts as one of 80 columns.
static void progress_fits_the_terminal(void **state) {
  (void)state;
  static const struct {
    unsigned short columns;
    size_t shown;
  } cases[] = {{40, 39}, {1, 0}, {0, 79}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    capture_on_a_terminal(show_long_progress, cases[i].columns, text, sizeof text);
    size_t shown = 0;
    for (const char *c = text; *c != '\0'; c++) shown += *c == 'x';
    assert_int_equal(shown, cases[i].shown);
  }
}

static void *say_often(void *argument) {
  for (int i = 0; i < 200; i++) byoc_log(BYOC_LOG_ERROR, "a line of thread %s", (const char *)argument);
  return NULL;
}

static void say_from_threads(void) {
  pthread_t threads[4];
  static char names[4][2] = {"0", "1", "2", "3"};
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, say_often, names[i]), 0);
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void lines_stay_whole(void **state) {
  (void)state;
  char *text = captured(say_from_threads);
  int lines = 0;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest), lines++) {
    assert_memory_equal(line, "error: a line of thread ", 24);
    assert_int_equal(strlen(line), 25);
  }
  assert_int_equal(lines, 800);
  free(text);
}

static void clock_moves_on(void **state) {
  (void)state;
  int64_t before = byoc_now_ns();
  usleep(2000);
  assert_true(byoc_now_ns() - before >= 1000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels),
      cmocka_unit_test(refused_caches_are_told_once),
      cmocka_unit_test(no_progress_without_a_terminal),
      cmocka_unit_test(progress_on_a_terminal_is_drawn_and_wiped),
      cmocka_unit_test(steps_are_shown_at_once),
      cmocka_unit_test(progress_fits_the_terminal),
      cmocka_unit_test(lines_stay_whole),
      cmocka_unit_test(clock_moves_on),
  };
  return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
