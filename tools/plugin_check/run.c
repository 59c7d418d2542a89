// Runs rules, each in a watched child process, and learns how each ended.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/plugin/table.h"
#include "core/target/cpu.h"
#include "core/target/target.h"
#include "tools/plugin_check/check.h"

#define RULE(id, function, stage, rows, text) {id, function, stage, rows, text},
const check_rule_t check_rules[] = {
#include "tools/plugin_check/rules.def"
};
#undef RULE
const size_t check_rule_count = sizeof(check_rules) / sizeof(check_rules[0]);

enum { EXITED = 113 }; // exit code of a child whose plugin called exit

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

void check_fact(check_t *check, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
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

void check_skip(check_t *check, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(check->answer->facts, sizeof(check->answer->facts), format, arguments);
  va_end(arguments);
  check->answer->is_skipped = 1;
  check_end(check);
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

// ---- running them ----

static void leave(void) {
  _exit(EXITED); // without the exit handlers of the parent
}

// Ends the rule unless a target list can be read and begins with a target of the plugin, the one that rules are about.
static void check_first_target(check_t *check, const char *text) {
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(check->registry);
  byoc_diag_t diag = {0};
  byoc_target_list_t targets;
  check_ok(check, byoc_target_list_parse(&text, 1, &kinds, byoc_allocator_system(), &diag, &targets), &diag,
           "reading its target");
  const byoc_target_kind_t *first = targets.targets.data[0]->kind;
  if (first->backend == NULL) {
    check_stop(check, NULL, "'%s' begins with the host's target '%s', not with one of the plugin's", text, first->name);
  }
  byoc_target_list_deinit(&targets);
}

// The target lists that this processor can run: "x86-64-v3? TARGETS" is left out on an older one. If the user named
// none: each target of the plugin.
static void settle_targets(check_t *check) {
  byoc_text_items_t all = check->targets;
  if (check->entry->kind_count == 0) check_skip(check, "it has no targets");
  check->targets.count = 0;
  for (size_t i = 0; i < all.count; ++i) {
    const char *mark = strchr(all.items[i], '?');
    char name[64];
    uint64_t features = 0;
    snprintf(name, sizeof(name), "%.*s", mark != NULL ? (int)(mark - all.items[i]) : 0, all.items[i]);
    const char *targets = mark != NULL ? mark + 1 + strspn(mark + 1, " ") : all.items[i];
    if (mark != NULL && (byoc_cpu_parse(name, NULL, &features) != BYOC_OK || (features & ~byoc_cpu_detect()) != 0)) {
      check_fact(check, "'%s' is left out: this processor is not %s", targets, name);
      continue;
    }
    check_first_target(check, targets);
    check->targets.items[check->targets.count++] = targets;
  }
  for (size_t i = 0; i < check->entry->kind_count && all.count == 0; ++i) {
    char *targets = check_allocate(check, 256, 1);
    snprintf(targets, 256, "%s; c -O=0", check->entry->kinds[i].name);
    check->targets.items[check->targets.count++] = targets;
  }
  if (check->targets.count == 0) check_skip(check, "this processor can run none of the targets");
}

// Runs in the child. What the rule says is in memory that the parent sees too.
static void run_in_child(void *self, void *answer) {
  check_t *check = self;
  *(int32_t *)answer = 1;
  if (atexit(leave) != 0) _exit(EXITED);
  (void)setenv("TMPDIR", check->folder, 1);
  (void)setenv("BYOC_CACHE_DIR", check->cache_folder, 0);
  const check_stage_t stage = check->rule->stage;
  if (stage == CHECK_ALONE || stage == CHECK_LOADED || stage == CHECK_GATE) {
    check->registry = check_load(check, byoc_allocator_system());
    check->entry = byoc_plugin_registry_at(check->registry, 0);
    if (stage != CHECK_ALONE) settle_targets(check);
  }
  check->rule->run(check);
  check_end(check);
}

// A child that ended without saying so ended by the plugin's fault.
static void judge_end(check_t *check, const byoc_child_t *child) {
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

void check_apart(check_t *check, void (*body)(check_t *check, void *self), void *self) {
  byoc_diag_t diag = {0};
  byoc_child_t child;
  int32_t began = 0;
  part_t part = {check, body, self};
  const byoc_child_limits_t limits = {.keeps_messages = check->keeps_messages};
  check_ok(check, byoc_child_start(&limits, run_part, &part, &began, sizeof(began), &diag, &child), &diag,
           "starting a process");
  byoc_child_await(&child);
  if (!check->answer->is_ended) judge_end(check, &child);
  if (check->answer->is_skipped) check_end(check);
  check->answer->is_ended = 0;
}

static byoc_status_t run_child(check_t *check, uint32_t timeout_ms, byoc_diag_t *diag) {
  (void)fflush(stdout); // the child would write out again what is still buffered
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms, .keeps_messages = check->keeps_messages};
  byoc_child_t child;
  int32_t began = 0;
  BYOC_RETURN_IF_ERROR(byoc_child_start(&limits, run_in_child, check, &began, sizeof(began), diag, &child));
  byoc_child_await(&child);
  if (!check->answer->is_ended) judge_end(check, &child);
  return BYOC_OK;
}

static check_verdict_t verdict_of(const check_t *check) {
  if (check->answer->failure_count > 0) return check_is_waived(check, check->rule->id) ? CHECK_WAIVED : CHECK_FAILED;
  return check->answer->is_skipped ? CHECK_SKIPPED : CHECK_PASSED;
}

static byoc_status_t run_with_answer(check_t *check, uint32_t timeout_ms, byoc_diag_t *diag,
                                     check_result_t *out_result) {
  const int64_t begin_ns = byoc_now_ns();
  byoc_status_t status = byoc_make_private_directories(check->folder, diag);
  if (status == BYOC_OK) status = run_child(check, timeout_ms, diag);
  if (status == BYOC_OK) status = byoc_remove_tree(check->folder, diag);
  BYOC_RETURN_IF_ERROR(status);
  *out_result = (check_result_t){.rule = check->rule,
                                 .verdict = verdict_of(check),
                                 .failure_count = check->answer->failure_count,
                                 .elapsed_ms = (byoc_now_ns() - begin_ns) / 1000000,
                                 .findings = byoc_copy_string(byoc_allocator_system(), check->answer->findings),
                                 .facts = byoc_copy_string(byoc_allocator_system(), check->answer->facts)};
  if (out_result->findings != NULL && out_result->facts != NULL) return BYOC_OK;
  check_result_deinit(out_result);
  return byoc_diag_out_of_memory(diag);
}

byoc_status_t check_run_rule(check_t *check, const check_rule_t *rule, uint32_t timeout_ms, byoc_diag_t *diag,
                             check_result_t *out_result) {
  void *memory = mmap(NULL, sizeof(check_answer_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return byoc_diag_out_of_memory(diag);
  check->answer = memory;
  check->rule = rule;
  byoc_status_t status = run_with_answer(check, timeout_ms, diag, out_result);
  check->answer = NULL;
  check->rule = NULL;
  (void)munmap(memory, sizeof(check_answer_t));
  return status;
}

void check_result_deinit(check_result_t *result) {
  byoc_free(byoc_allocator_system(), result->findings);
  byoc_free(byoc_allocator_system(), result->facts);
  *result = (check_result_t){0};
}
