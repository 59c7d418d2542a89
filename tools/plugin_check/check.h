// SPDX-License-Identifier: Apache-2.0
// The tools of the rules of byoc-plugin-check. To add a rule:
//
//   1. Add a line to rules.def: id, function, stage, the rows that it proves, one line that says what must hold.
//   2. Write the function in a *_rules.c of this folder. It runs in a watched child process, so that it may do
//   anything;
//      it calls check_fail for each thing that is wrong, and check_doing before it lets the plugin's code run. It
//      returns nothing: a rule without a call of check_fail has passed.
//
//      Example:
//        void check_options_help(check_t *check) {
//          for (size_t i = 0; i < check->entry->kind_count; ++i) {
//            if (!has_help(check, i)) check_fail(check, "kind %zu has options without help", i);
//          }
//        }
//
//   3. Add a plugin that is bad in this one way: tests/plugin_check/bad/<id>.c, or <id>+<what>.c for a further one. The
//      test plugin_check_bad_<id> then asserts that this rule, and no other, fails.
//
// A crash, an exit and a hang of the child are failures of the rule that ran.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_CHECK_H_
#define BYOC_TOOLS_PLUGIN_CHECK_CHECK_H_

#include <stdnoreturn.h>

#include "core/base/child.h"
#include "core/plugin/registry.h"
#include "tools/common/options.h"

typedef struct check_t check_t;

// The objects that exist when a rule of the stage runs.
typedef enum check_stage_t {
  CHECK_FILE,   // check->plugin. The rule reads the file only.
  CHECK_LOAD,   // the same; the rule may load the plugin itself. If it fails, no later rule runs.
  CHECK_ALONE,  // check->registry and check->entry too: the plugin alone, loaded in this child. It may have no targets.
  CHECK_LOADED, // check->registry and check->entry too: the plugin alone, loaded in this child
  CHECK_GATE,   // the same. If it fails, no later rule runs: it would fail for the same reason.
  CHECK_DRIVER, // check->driver; NULL: the rule is skipped. The rule loads it itself, and no plugin.
  CHECK_DRIVER_GATE, // the same. If it fails, no later rule about the driver runs.
} check_stage_t;

typedef struct check_rule_t {
  const char *id;
  void (*run)(check_t *check);
  check_stage_t stage;
  const char *rows; // of the requirements, separated by spaces
  const char *text; // what must hold
} check_rule_t;

#define RULE(id, function, stage, rows, text) void function(check_t *check);
#include "tools/plugin_check/rules.def"
#undef RULE

enum { CHECK_TEXT_BYTES = 1 << 15 };

// The reports of a rule. The parent sees them too, even if the child crashes.
typedef struct check_answer_t {
  int32_t failure_count;
  int32_t is_skipped;
  int32_t is_ended;                 // the rule ended by itself
  int64_t tried_count;              // what the rule has tried of the plugin, of any kind
  char doing[256];                  // what the child is about to do; for a crash, an exit or a hang
  char findings[CHECK_TEXT_BYTES];  // one line for each failure; of the first CHECK_TEXT_BYTES bytes
  char facts[CHECK_TEXT_BYTES / 8]; // one line for each thing worth knowing: "it takes 31 of 40 operators"
} check_answer_t;

struct check_t {
  const char *plugin;               // path of the shared object; NULL: there are rules about the driver only
  const char *driver;               // path of the shared object with a driver; NULL: none
  int64_t ordinal;                  // of the device that the driver opens
  byoc_string_items_t targets;      // target lists; in CHECK_LOADED those that this processor can run, at least one
  const char *current_target;       // the one of them that a rule about several is at
  byoc_string_items_t needs;        // libraries that the plugin may link to
  byoc_string_items_t waivers;      // "id" or "id:reason"
  const char *case_folder;          // of other case tables; NULL: those of the program
  byoc_string_items_t case_filters; // only the cases whose "file/name" holds one of these texts; empty: all
  byoc_string_items_t refused;      // target lists that the plugin must refuse
  bool keeps_messages;              // standard error of the children is that of the program
  const char *folder;               // for temporary files: empty when a rule begins, removed after it
  const char *cache_folder;         // of the compile cache; removed with the last rule. $BYOC_CACHE_DIR goes first.
  const check_rule_t *rule;         // the running one
  byoc_plugin_registry_t *registry; // CHECK_LOADED
  const byoc_plugin_entry_t *entry; // CHECK_LOADED
  check_answer_t *answer;           // of the running rule
};

// Operators that select values keep NaN. Plugins built with headers before minor 5 need not do so.
static inline bool check_asks_for_nan(const check_t *check) {
  return check->entry == NULL || !check->entry->has_note || check->entry->note.abi_minor_built >= 5;
}

// ---- for rules ----

// Notes something that is wrong, and goes on.
void check_fail(check_t *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The same with the text of a diagnostic behind it.
void check_fail_diag(check_t *check, const byoc_diag_t *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Ends the rule: as it stands; as failed for this reason; as one that does not concern this plugin.
noreturn void check_end(check_t *check);
noreturn void check_stop(check_t *check, const byoc_diag_t *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
noreturn void check_skip(check_t *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Counts what the rule tried of the plugin: calls of functions, regions. Any thread, and any part of the rule, may.
void check_tried(check_t *check, size_t count);
// Skips the rule for this reason if it tried nothing and found nothing wrong: it would pass whatever the plugin did.
void check_need_tried(check_t *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Ends the rule as failed unless the status is BYOC_OK.
void check_ok(check_t *check, byoc_status_t status, const byoc_diag_t *diag, const char *what);
// Ends the rule as one that does not concern a table, which has no code of its own.
void check_needs_code(check_t *check);
// Says what the plugin is asked to do next: "generating code for 'negate'".
void check_doing(check_t *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A line for the report that is no failure.
void check_property(check_t *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
// A line for the report that is no failure, and is always shown.
#define CHECK_WARNING "warning: "
void check_warn(check_t *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Was the rule, or this part of it ("operators.values/nan"), waived by --waive?
bool check_is_waived(const check_t *check, const char *id);

// `count` elements of `size` bytes, cleared; they live until the rule ends.
void *check_allocate(check_t *check, size_t count, size_t size);

// Runs a part of the rule in a process of its own, a copy of this one, and waits for it. Its reports count for the
// rule; if it skips the rule, the rule ends. `timeout_ms` 0: the time of the rule.
void check_apart(check_t *check, uint32_t timeout_ms, void (*body)(check_t *check, void *self), void *self);

// The plugin alone in a registry, loaded. Ends the rule if it is refused.
byoc_plugin_registry_t *check_load(check_t *check, byoc_allocator_t allocator);

// Notes how a process that ran a rule, or a part of one, ended without saying so: that is the plugin's fault.
void check_judge_end(check_t *check, const byoc_child_t *child);

#endif // BYOC_TOOLS_PLUGIN_CHECK_CHECK_H_
