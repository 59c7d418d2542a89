// SPDX-License-Identifier: Apache-2.0
// Rules about what the loaded plugin announces: that its note says the same, its options, its patterns.
#include <stdlib.h>
#include <string.h>

#include "core/plugin/identity.h"
#include "core/plugin/lint.h"
#include "core/plugin/table.h"
#include "core/targets/option.h"
#include "tools/plugin_check/check.h"

void check_tables_note(check_t *check) {
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  bool has_note = false;
  check_ok(check, byoc_plugin_any_identity(check->plugin, &diag, &note, &has_note), &diag, "its note");
  if (memcmp(&note, &check->entry->note, sizeof(note)) != 0) check_fail(check, "its note changes when it is loaded");
  for (size_t i = 0; i < check->entry->kind_count; ++i) {
    const byoc_target_kind_t *kind = &check->entry->kinds[i];
    if (!byoc_plugin_note_has_target(&note, kind->name))
      check_fail(check, "its note does not announce '%s'", kind->name);
    if (kind->description == NULL || kind->description[0] == '\0') {
      check_fail(check, "target '%s' has no description", kind->name);
    }
  }
}

// ---- options ----

static void check_option(check_t *check, const byoc_target_kind_t *kind, const byoc_option_schema_t *option,
                         byoc_arena_t *arena) {
  byoc_diag_t diag = {0};
  byoc_target_value_t value;
  const size_t help_size = option->help != NULL ? strlen(option->help) : 0;
  if (help_size == 0) check_fail(check, "%s -%s has no help", kind->name, option->name);
  if (help_size > 0 && (strchr(option->help, '\n') != NULL || option->help[help_size - 1] == '.')) {
    check_fail(check, "the help of %s -%s is not one line without a full stop", kind->name, option->name);
  }
  if (option->default_value == NULL) check_fail(check, "%s -%s states no default", kind->name, option->name);
  if (byoc_option_default(option, byoc_machine_host(), arena, &diag, &value) != BYOC_OK) {
    check_fail_diag(check, &diag, "the default of %s -%s", kind->name, option->name);
  }
}

// `text` is refused in words that hold `part`.
static void expect_refused(check_t *check, const char *text, const char *part) {
  byoc_diag_t diag = {0};
  byoc_target_list_t list = {0};
  char message[2048];
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(check->registry);
  byoc_status_t status = byoc_target_list_parse(&text, 1, &kinds, byoc_allocator_system(), &diag, &list);
  byoc_target_list_deinit(&list);
  byoc_diag_format(&diag, message, sizeof(message));
  if (status == BYOC_OK) check_fail(check, "'%.80s' is accepted", text);
  if (status != BYOC_OK && strstr(message, part) == NULL) {
    check_fail(check, "'%.80s' is refused without naming %s: %s", text, part, message);
  }
}

static void misuse_text(check_t *check, const byoc_target_kind_t *kind, const byoc_option_schema_t *option) {
  const size_t size = (option->maximum > 0 ? (size_t)option->maximum : BYOC_OPTION_STRING_LIMIT) + 1;
  char *too_long = check_allocate(check, 1, size + 200);
  const int used = snprintf(too_long, 200, "%s -%s=", kind->name, option->name);
  memset(too_long + used, 'x', size);
  expect_refused(check, too_long, option->name);
}

static void misuse_option(check_t *check, const byoc_target_kind_t *kind, const byoc_option_schema_t *option) {
  char text[512];
  if (option->type == BYOC_OPTION_STRING) {
    misuse_text(check, kind, option);
    return;
  }
  snprintf(text, sizeof(text), "%s -%s=no-such-value", kind->name, option->name);
  expect_refused(check, text, option->name);
  const bool has_range = option->type == BYOC_OPTION_INT && (option->minimum != 0 || option->maximum != 0);
  if (has_range && option->maximum < INT64_MAX) {
    snprintf(text, sizeof(text), "%s -%s=%lld", kind->name, option->name, (long long)option->maximum + 1);
    expect_refused(check, text, option->name);
  }
  if (has_range && option->minimum > INT64_MIN) {
    snprintf(text, sizeof(text), "%s -%s=%lld", kind->name, option->name, (long long)option->minimum - 1);
    expect_refused(check, text, option->name);
  }
  if (option->type != BYOC_OPTION_BOOL) {
    snprintf(text, sizeof(text), "%s -%s=", kind->name, option->name);
    expect_refused(check, text, option->name);
  }
  // A misspelt name gets a hint with the right one.
  snprintf(text, sizeof(text), "%s -%sx=1", kind->name, option->name);
  if (strlen(option->name) > 2) expect_refused(check, text, option->name);
}

void check_options_described(check_t *check) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  for (size_t i = 0; i < check->entry->kind_count; ++i) {
    const byoc_target_kind_t *kind = &check->entry->kinds[i];
    char text[200];
    snprintf(text, sizeof(text), "%s -no_such_option=1", kind->name);
    expect_refused(check, text, "no_such_option");
    for (size_t k = 0; k < kind->option_count; ++k) {
      check_option(check, kind, &kind->options[k], &arena);
      misuse_option(check, kind, &kind->options[k]);
    }
  }
  byoc_arena_deinit(&arena);
}

// ---- patterns ----

typedef struct lint_t {
  check_t *check;
  const char *rule;
} lint_t;

static void add_oddity(void *self, const char *sentence) {
  const lint_t *lint = self;
  check_fail(lint->check, "%s: %s", lint->rule, sentence);
}

void check_patterns_known(check_t *check) {
  for (size_t i = 0; i < check->entry->kind_count; ++i) {
    const byoc_backend_t *backend = check->entry->kinds[i].backend;
    for (uint32_t r = 0; r < backend->rule_count; ++r) {
      lint_t lint = {check, backend->rules[r].name};
      byoc_plugin_lint_rule(&backend->rules[r], byoc_allocator_system(), add_oddity, &lint);
    }
  }
}
