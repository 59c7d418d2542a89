// SPDX-License-Identifier: Apache-2.0
// The rule about the required slots of the plugin's tables: each is filled, and with any of them nulled the host
// refuses the tables by the name of the slot.
#include <stdlib.h>
#include <string.h>

#include "core/base/child.h"
#include "core/plugin/abi.h"
#include "core/plugin/host.h"
#include "core/plugin/identity.h"
#include "core/plugin/library.h"
#include "core/plugin/negotiate.h"
#include "tools/plugin_check/check.h"

typedef struct slots_t {
  check_t *check;
  byoc_plugin_note_t note;
  const byoc_plugin_t *plugin; // as query filled it; a copy with one slot nulled while that is tried
  size_t count;                // slots so far
} slots_t;

static bool is_needed(const byoc_abi_field_t *field) {
  return field->need == BYOC_ABI_REQUIRED || field->need == BYOC_ABI_ONE_OF;
}

static byoc_status_t negotiate(slots_t *slots, byoc_diag_t *diag) {
  byoc_arena_t arena;
  byoc_target_kind_t *kinds = NULL;
  size_t count = 0;
  byoc_arena_init(&arena, byoc_allocator_system());
  const byoc_status_t status = byoc_plugin_negotiate(slots->plugin, &slots->note, ".", &arena, diag, &kinds, &count);
  byoc_arena_deinit(&arena);
  return status;
}

// ---- what is empty ----

static void report_empty(slots_t *slots, byoc_status_t status, const byoc_diag_t *diag) {
  if (status != BYOC_OK) check_fail(slots->check, "%s", diag->message);
}

// The elements of an array of a backend.
static void report_elements(slots_t *slots, const void *array, uint64_t stride, uint32_t count,
                            const byoc_abi_struct_t *shape, const char *what) {
  void *element = check_allocate(slots->check, 1, shape->size_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    char name[64];
    byoc_diag_t diag = {0};
    snprintf(name, sizeof(name), "%s %u", what, (unsigned)i);
    report_empty(slots, byoc_abi_read_at(array, stride, i, shape, name, element, &diag), &diag);
  }
  free(element);
}

static void report_backends(slots_t *slots) {
  for (uint64_t i = 0; i < slots->plugin->backend_count; ++i) {
    char name[64];
    byoc_diag_t diag = {0};
    byoc_backend_t backend;
    snprintf(name, sizeof(name), "backend %llu", (unsigned long long)i);
    report_empty(slots, byoc_abi_read(slots->plugin->backends[i], byoc_abi_of(byoc_backend_t), name, &backend, &diag),
                 &diag);
    report_elements(slots, backend.options, backend.option_stride, backend.option_count, byoc_abi_of(byoc_option_t),
                    "option");
    report_elements(slots, backend.rules, backend.rule_stride, backend.rule_count, byoc_abi_of(byoc_rule_t), "rule");
  }
}

// ---- what is nulled ----

// `at` is a struct of the copy. Nulls `field` in it, or every alternative if it is one of them.
static void try_without(slots_t *slots, const byoc_abi_struct_t *shape, const byoc_abi_field_t *field, char *at) {
  char *saved = check_allocate(slots->check, 1, shape->size_bytes);
  memcpy(saved, at, shape->size_bytes);
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    const byoc_abi_field_t *other = &byoc_abi_fields[i];
    const bool is_nulled = other == field || (field->need == BYOC_ABI_ONE_OF && other->need == BYOC_ABI_ONE_OF);
    if (is_nulled) memset(at + other->offset, 0, other->size_bytes);
  }
  char wanted[96];
  byoc_diag_t diag = {0};
  snprintf(wanted, sizeof(wanted), "'%s'", field->name);
  const byoc_status_t status = negotiate(slots, &diag);
  if (status == BYOC_OK) {
    check_fail(slots->check, "the host takes it without '%s' of a %s", field->name, shape->name);
  } else if (strstr(diag.message, wanted) == NULL) {
    check_fail_diag(slots->check, &diag, "without '%s' of a %s, the host does not name the slot", field->name,
                    shape->name);
  }
  memcpy(at, saved, shape->size_bytes);
  free(saved);
  slots->count += 1;
}

// A struct of the copy, which is as large as the host's: what its filler did not have stays as it is.
static void null_each(slots_t *slots, const byoc_abi_struct_t *shape, char *at) {
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    if (is_needed(&byoc_abi_fields[i])) try_without(slots, shape, &byoc_abi_fields[i], at);
  }
}

// A copy of an array, whose elements are as large as the host's structs.
static char *copy_elements(slots_t *slots, const void *array, uint32_t stride, uint32_t count,
                           const byoc_abi_struct_t *shape) {
  char *copy = check_allocate(slots->check, (size_t)count + 1, shape->size_bytes);
  for (uint32_t i = 0; i < count; ++i) {
    byoc_diag_t diag = {0};
    check_ok(slots->check, byoc_abi_read_at(array, stride, i, shape, "it", copy + (size_t)i * shape->size_bytes, &diag),
             &diag, "reading its tables again");
  }
  return copy;
}

static void null_elements(slots_t *slots, const byoc_abi_struct_t *shape, char *elements, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) null_each(slots, shape, elements + (size_t)i * shape->size_bytes);
}

static void null_backend(slots_t *slots, byoc_backend_t *backend) {
  const byoc_abi_struct_t *rule = byoc_abi_of(byoc_rule_t), *option = byoc_abi_of(byoc_option_t);
  char *rules = copy_elements(slots, backend->rules, backend->rule_stride, backend->rule_count, rule);
  char *options = copy_elements(slots, backend->options, backend->option_stride, backend->option_count, option);
  backend->rules = (const byoc_rule_t *)(const void *)rules;
  backend->rule_stride = rule->size_bytes;
  backend->options = (const byoc_option_t *)(const void *)options;
  backend->option_stride = option->size_bytes;
  null_each(slots, byoc_abi_of(byoc_backend_t), (char *)backend);
  null_elements(slots, rule, rules, backend->rule_count);
  null_elements(slots, option, options, backend->option_count);
}

static void null_backends(slots_t *slots) {
  const size_t count = (size_t)slots->plugin->backend_count;
  byoc_plugin_t *copy = check_allocate(slots->check, 1, sizeof(*copy));
  byoc_backend_t *backends = check_allocate(slots->check, count, sizeof(*backends));
  const byoc_backend_t **list = check_allocate(slots->check, count, sizeof(*list));
  for (size_t i = 0; i < count; ++i) {
    byoc_diag_t diag = {0};
    check_ok(slots->check,
             byoc_abi_read(slots->plugin->backends[i], byoc_abi_of(byoc_backend_t), "it", &backends[i], &diag), &diag,
             "reading its tables again");
    list[i] = &backends[i];
  }
  *copy = *slots->plugin;
  copy->backends = list;
  slots->plugin = copy;
  for (size_t i = 0; i < count; ++i) null_backend(slots, &backends[i]);
}

// ---- the rule ----

static void look(void *self, void *began) {
  slots_t *slots = self;
  byoc_diag_t diag = {0};
  byoc_plugin_library_t *library = NULL;
  *(int32_t *)began = 1;
  check_doing(slots->check, "the host calls byoc_plugin_query");
  if (byoc_plugin_library_ask(slots->check->plugin, &slots->note, byoc_host_fill_tables, byoc_allocator_system(), &diag,
                              &library) != BYOC_OK) {
    check_skip(slots->check, "its query fails, as load.accepted says");
  }
  slots->plugin = &library->plugin;
  if (slots->plugin->backend_count == 0) check_skip(slots->check, "it has no backends");
  if (slots->plugin->backends == NULL) check_skip(slots->check, "its backends are missing, as load.accepted says");
  check_doing(slots->check, "the host reads its tables");
  if (negotiate(slots, &diag) == BYOC_OK) {
    null_backends(slots);
    check_property(slots->check, "%zu required slots, each refused by its name where it is nulled", slots->count);
  } else {
    report_backends(slots);
  }
  check_end(slots->check);
}

// In a process of its own, since a query that does not come back is for load.accepted to tell.
void check_load_required(check_t *check) {
  check_needs_code(check);
  slots_t slots = {.check = check};
  byoc_diag_t diag = {0};
  bool has_note = false;
  check_ok(check, byoc_plugin_identity_read(check->plugin, &diag, &slots.note, &has_note), &diag,
           "it is refused before it is loaded");
  byoc_child_t child;
  int32_t began = 0;
  const byoc_child_limits_t limits = {.keeps_messages = check->keeps_messages};
  check_ok(check, byoc_child_start(&limits, look, &slots, &began, sizeof(began), &diag, &child), &diag,
           "starting a process");
  byoc_child_await(&child);
  if (!check->answer->is_ended) check_skip(check, "its query does not come back, as load.accepted says");
  check_end(check);
}
