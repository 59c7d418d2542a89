// SPDX-License-Identifier: Apache-2.0
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
#include "core/plugin/kept_answer.h"
#include "core/plugin/table.h"
#include "core/targets/cpu.h"
#include "core/targets/target.h"
#include "tools/plugin_check/runner.h"

#define RULE(id, function, stage, rows, text) {id, function, stage, rows, text},
const check_rule_t check_rules[] = {
#include "tools/plugin_check/rules.def"
};
#undef RULE
const size_t check_rule_count = sizeof(check_rules) / sizeof(check_rules[0]);

enum { EXITED = 113 }; // exit code of a child whose plugin called exit

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
  byoc_string_items_t all = check->targets;
  if (check->entry->kind_count == 0) check_skip(check, "it has no targets");
  check->targets.count = 0;
  for (size_t i = 0; i < all.count; ++i) {
    const char *mark = strchr(all.items[i], '?');
    char name[64];
    uint64_t features = 0;
    snprintf(name, sizeof(name), "%.*s", mark != NULL ? (int)(mark - all.items[i]) : 0, all.items[i]);
    const char *targets = mark != NULL ? mark + 1 + strspn(mark + 1, " ") : all.items[i];
    if (mark != NULL && (byoc_cpu_parse(name, byoc_machine_host(), NULL, &features) != BYOC_OK ||
                         (features & ~byoc_cpu_detect()) != 0)) {
      check_property(check, "'%s' is left out: this processor is not %s", targets, name);
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

// Runs in the child. The reports of the rule are in memory that the parent shares.
static void run_in_child(void *self, void *answer) {
  check_t *check = self;
  *(int32_t *)answer = 1;
  if (atexit(leave) != 0) _exit(EXITED);
  (void)setenv("TMPDIR", check->folder, 1);
  (void)setenv("BYOC_CACHE_DIR", check->cache_folder, 0);
  byoc_session_limit_threads(1);  // threads.generate asks for more
  byoc_kept_answers_switch_off(); // each hook is called
  const check_stage_t stage = check->rule->stage;
  if (stage == CHECK_ALONE || stage == CHECK_LOADED || stage == CHECK_GATE) {
    check->registry = check_load(check, byoc_allocator_system());
    check->entry = byoc_plugin_registry_at(check->registry, 0);
    if (stage != CHECK_ALONE) settle_targets(check);
  }
  check->rule->run(check);
  check_end(check);
}

static byoc_status_t run_child(check_t *check, uint32_t timeout_ms, byoc_diag_t *diag) {
  (void)fflush(stdout); // the child would write out again what is still buffered
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms, .keeps_messages = check->keeps_messages};
  byoc_child_t child;
  int32_t began = 0;
  BYOC_RETURN_IF_ERROR(byoc_child_start(&limits, run_in_child, check, &began, sizeof(began), diag, &child));
  byoc_child_await(&child);
  if (!check->answer->is_ended) check_judge_end(check, &child);
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
