// SPDX-License-Identifier: Apache-2.0
// Reports of rules, and parts of rules that run in their own processes.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/plugin/table.h"
#include "tools/plugin_check/check.h"

// ---- what rules say ----

// Adds a line, or as much of it as there is room for.
static void add_line(char *lines, size_t size, const char *line) {
  const size_t used = strlen(lines);
  if (used + 8 < size) snprintf(lines + used, size - used, "%s%s", used > 0 ? "\n" : "", line);
}

static void add_failure(check_t *check, const byoc_diag_t *diag, const char *format, va_list arguments) {
  char text[4096];
  const int size = vsnprintf(text, sizeof(text), format, arguments);
  if (diag != NULL && diag->status != BYOC_OK && size >= 0 && (size_t)size + 2 < sizeof(text)) {
    memcpy(text + size, ": ", 3);
    byoc_diag_format(diag, text + size + 2, sizeof(text) - (size_t)size - 2);
  }
  for (char *c = text; *c != '\0'; ++c) *c = *c == '\n' ? ' ' : *c;
  check->answer->failure_count += 1;
  add_line(check->answer->findings, sizeof(check->answer->findings), text);
}

void check_fail(check_t *check, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_failure(check, NULL, format, arguments);
  va_end(arguments);
}

void check_fail_diag(check_t *check, const byoc_diag_t *diag, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_failure(check, diag, format, arguments);
  va_end(arguments);
}

void check_property(check_t *check, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  add_line(check->answer->facts, sizeof(check->answer->facts), text);
}

void check_warn(check_t *check, const char *format, ...) {
  char text[1024] = CHECK_WARNING;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + strlen(text), sizeof(text) - strlen(text), format, arguments);
  va_end(arguments);
  add_line(check->answer->facts, sizeof(check->answer->facts), text);
}

void check_doing(check_t *check, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(check->answer->doing, sizeof(check->answer->doing), format, arguments);
  va_end(arguments);
}

void check_end(check_t *check) {
  check->answer->is_ended = 1;
  _exit(0);
}

void check_stop(check_t *check, const byoc_diag_t *diag, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_failure(check, diag, format, arguments);
  va_end(arguments);
  check_end(check);
}

static noreturn void skip(check_t *check, const char *format, va_list arguments) {
  char text[1024];
  vsnprintf(text, sizeof(text), format, arguments);
  add_line(check->answer->facts, sizeof(check->answer->facts), text);
  check->answer->is_skipped = 1;
  check_end(check);
}

void check_skip(check_t *check, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  skip(check, format, arguments);
}

void check_tried(check_t *check, size_t count) {
  (void)__atomic_fetch_add(&check->answer->tried_count, (int64_t)count, __ATOMIC_RELAXED);
}

void check_need_tried(check_t *check, const char *format, ...) {
  if (check->answer->tried_count > 0 || check->answer->failure_count > 0) return;
  va_list arguments;
  va_start(arguments, format);
  skip(check, format, arguments);
}

void check_needs_code(check_t *check) {
  if (byoc_plugin_is_table(check->plugin)) check_skip(check, "a table has no code of its own");
}

void check_ok(check_t *check, byoc_status_t status, const byoc_diag_t *diag, const char *what) {
  if (status != BYOC_OK) check_stop(check, diag, "%s", what);
}

bool check_is_waived(const check_t *check, const char *id) {
  const size_t size = strlen(id);
  for (size_t i = 0; i < check->waivers.count; ++i) {
    const char *waiver = check->waivers.items[i];
    if (strncmp(waiver, id, size) == 0 && (waiver[size] == '\0' || waiver[size] == ':')) return true;
  }
  return false;
}

void *check_allocate(check_t *check, size_t count, size_t size) {
  void *memory = byoc_allocate(byoc_allocator_system(), count, size);
  if (memory == NULL) check_stop(check, NULL, "out of memory");
  return memory;
}

byoc_plugin_registry_t *check_load(check_t *check, byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  const byoc_plugin_options_t options = {.paths = &check->plugin, .path_count = 1, .environment = ""};
  byoc_plugin_registry_t *registry = NULL;
  check_doing(check, "loading the plugin");
  check_ok(check, byoc_plugin_registry_create(&options, allocator, &diag, &registry), &diag, "it is refused");
  byoc_plugin_registry_load_all(registry);
  const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, 0);
  if (entry->state != BYOC_PLUGIN_LOADED) check_stop(check, NULL, "it is refused: %s", entry->reason);
  return registry;
}

// ---- parts of rules ----

void check_judge_end(check_t *check, const byoc_child_t *child) {
  const char *name = sigabbrev_np(child->number);
  const char *before = check->answer->doing[0] != '\0' ? " while " : "", *doing = check->answer->doing;
  switch (child->end) {
  case BYOC_CHILD_CRASHED:
    check_fail(check, "it crashed (SIG%s, %s)%s%s", name != NULL ? name : "?", strsignal(child->number), before, doing);
    break;
  case BYOC_CHILD_LATE:
    check_fail(check, "it hung: it was stopped after %u ms%s%s", (unsigned)child->timeout_ms, before, doing);
    break;
  case BYOC_CHILD_ENDED:
    check_fail(check, "something ended or stopped the process (signal %d)%s%s", child->number, before, doing);
    break;
  default:
    check_fail(check, "it ended the process%s%s", before, doing);
  }
}

typedef struct part_t {
  check_t *check;
  void (*body)(check_t *check, void *self);
  void *self;
} part_t;

static void run_part(void *self, void *answer) {
  const part_t *part = self;
  *(int32_t *)answer = 1;
  part->body(part->check, part->self);
  check_end(part->check);
}

void check_apart(check_t *check, uint32_t timeout_ms, void (*body)(check_t *check, void *self), void *self) {
  byoc_diag_t diag = {0};
  byoc_child_t child;
  int32_t began = 0;
  part_t part = {check, body, self};
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms, .keeps_messages = check->keeps_messages};
  check_ok(check, byoc_child_start(&limits, run_part, &part, &began, sizeof(began), &diag, &child), &diag,
           "starting a process");
  byoc_child_await(&child);
  if (!check->answer->is_ended) check_judge_end(check, &child);
  if (check->answer->is_skipped) check_end(check);
  check->answer->is_ended = 0;
}
