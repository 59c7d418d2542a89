// SPDX-License-Identifier: Apache-2.0
// Rules about the process: hooks and functions leave it as they found it.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/plugin/hygiene.h"
#include "tools/plugin_check/calls.h"
#include "tools/plugin_check/hooks.h"
#include "tools/plugin_check/trial.h"

enum { MOST_SPECIMENS = 40, MOST_FILES = 1024, MOST_FAILURES = 8 };

// The resources of a process, besides its settings.
typedef struct state_t {
  byoc_hygiene_t settings;
  bool open[MOST_FILES]; // file descriptors
  bool has_children;
  off_t printed_bytes;
} state_t;

typedef struct watcher_t {
  check_t *check;
  int output_fd; // takes the place of standard output and error
  state_t before;
  bool ignores_files; // the host opens some of its own, such as its caches
  int failures;
} watcher_t;

static void list_files(bool open[MOST_FILES]) {
  memset(open, 0, MOST_FILES * sizeof(open[0]));
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) return;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < MOST_FILES) open[fd] = true;
  }
  (void)closedir(folder);
}

static bool has_children(void) {
  siginfo_t info = {0};
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void take(const watcher_t *watcher, state_t *out) {
  (void)fflush(stdout);
  (void)fflush(stderr);
  byoc_hygiene_take(&out->settings);
  list_files(out->open);
  out->has_children = has_children();
  out->printed_bytes = lseek(watcher->output_fd, 0, SEEK_END);
}

static void fail(watcher_t *watcher, const char *who, const char *what) {
  if (watcher->failures++ < MOST_FAILURES) check_fail(watcher->check, "%s %s", who, what);
}

static void say_printed(watcher_t *watcher, const char *who, off_t from) {
  char text[161], message[256];
  const ssize_t size = pread(watcher->output_fd, text, sizeof(text) - 1, from);
  text[size > 0 ? size : 0] = '\0';
  snprintf(message, sizeof(message), "prints: %s", text);
  fail(watcher, who, message);
}

static void compare(watcher_t *watcher, const char *who) {
  const state_t *before = &watcher->before;
  const char *changed = byoc_hygiene_changed(&before->settings);
  static state_t after;
  take(watcher, &after);
  if (changed != NULL) fail(watcher, who, changed);
  if (after.printed_bytes > before->printed_bytes) say_printed(watcher, who, before->printed_bytes);
  if (after.has_children && !before->has_children) fail(watcher, who, "leaves a child process behind");
  for (int fd = 0; fd < MOST_FILES && !watcher->ignores_files; ++fd) {
    if (before->open[fd] == after.open[fd]) continue;
    fail(watcher, who, after.open[fd] ? "leaves a file open" : "closes a file of the process");
    break;
  }
}

static void begin(watcher_t *watcher, check_t *check) {
  *watcher = (watcher_t){.check = check, .output_fd = memfd_create("byoc-plugin-check", MFD_CLOEXEC)};
  if (watcher->output_fd < 0) check_skip(check, "no file can be made in memory");
  (void)dup2(watcher->output_fd, STDOUT_FILENO);
  (void)dup2(watcher->output_fd, STDERR_FILENO);
}

// ---- hooks ----

static void enter_hook(void *self, const char *hook) {
  watcher_t *watcher = self;
  (void)hook;
  take(watcher, &watcher->before);
}

static void leave_hook(void *self, const char *hook) {
  compare(self, hook);
}

static void run_hooks(trial_t *trial) {
  byoc_diag_t diag = {0};
  trial_build_t built;
  trial_add_usual(trial, MOST_SPECIMENS);
  check_ok(trial->check,
           trial_open(trial, 0, trial->specimens.items.count, &trial->targets, (byoc_placer_t){0}, BYOC_BUILD_GENERATED,
                      byoc_allocator_system(), &diag, &built),
           &diag, "compiling specimens of its rules");
  trial_close(&built);
}

void check_hygiene_hooks(check_t *check) {
  static watcher_t watcher;
  begin(&watcher, check);
  const hook_watch_t watch = {.self = &watcher, .enter = enter_hook, .leave = leave_hook};
  const byoc_target_registry_t kinds = hooks_watched(check, &watch);
  // Files that the host opens in the first build are open in the second one.
  watcher.ignores_files = true;
  trial_each(check, &kinds, false, run_hooks);
  watcher.ignores_files = false;
  trial_each(check, &kinds, false, run_hooks);
}

// ---- functions ----

static int32_t run_function(void *self, const char *name, const byoc_call_t *call, bool keeps_results,
                            int32_t (*body)(void *body_self, const byoc_call_t *call), void *body_self) {
  watcher_t *watcher = self;
  char who[160];
  (void)keeps_results;
  check_doing(watcher->check, "running '%s'", name);
  check_tried(watcher->check, 1);
  snprintf(who, sizeof(who), "the function '%s'", name);
  take(watcher, &watcher->before);
  const int32_t status = body(body_self, call);
  compare(watcher, who);
  return status;
}

static watcher_t function_watcher;

static void run_functions(trial_t *trial) {
  const byoc_call_watch_t watch = {.self = &function_watcher, .run = run_function};
  trial->counts_calls = true;
  trial_add_usual(trial, MOST_SPECIMENS);
  trial_values(trial, (byoc_placer_t){0}, &watch, "with the process watched");
}

void check_hygiene_functions(check_t *check) {
  begin(&function_watcher, check);
  trial_each(check, NULL, false, run_functions);
}
