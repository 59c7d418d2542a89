// SPDX-License-Identifier: Apache-2.0
// Makes a target for each precision that a target offers.
#include "core/targets/precision.h"

#include <string.h>

#include "core/targets/option.h"

// The option; option_count: there is none.
static size_t find_option(const byoc_target_kind_t *kind) {
  size_t index = 0;
  while (index < kind->option_count && kind->options[index].type != BYOC_OPTION_PRECISION) ++index;
  return index;
}

const char *byoc_target_precision(const byoc_target_t *target) {
  const size_t index = find_option(target->kind);
  return index < target->kind->option_count ? target->values[index].s : NULL;
}

static bool print_text(byoc_target_list_t *list, byoc_target_t *target) {
  byoc_string_t text;
  byoc_string_init(&text, list->arena.allocator);
  byoc_string_append(&text, target->kind->name);
  for (size_t i = 0; i < target->kind->option_count; ++i) {
    byoc_string_append(&text, " ");
    byoc_option_print(&target->kind->options[i], &target->values[i], &text);
  }
  target->text = text.failed ? NULL : byoc_arena_copy_string(&list->arena, text.data);
  byoc_string_deinit(&text);
  return target->text != NULL;
}

// The same target with another value of that option; NULL: out of memory.
static byoc_target_t *make_other(byoc_target_list_t *list, const byoc_target_t *target, size_t option,
                                 const char *precision, size_t size) {
  const size_t count = target->kind->option_count;
  byoc_target_t *other = byoc_arena_copy(&list->arena, target, sizeof(*target));
  if (other == NULL) return NULL;
  other->values = byoc_arena_copy(&list->arena, target->values, count * sizeof(*target->values));
  const char *value = byoc_arena_format(&list->arena, "%.*s", (int)size, precision);
  if (other->values == NULL || value == NULL) return NULL;
  other->values[option] = (byoc_target_value_t){.s = value, .given = true};
  return print_text(list, other) ? other : NULL;
}

static bool has_text(const byoc_target_list_t *list, const char *text) {
  for (size_t t = 0; t < list->targets.count; ++t) {
    if (strcmp(list->targets.data[t]->text, text) == 0) return true;
  }
  return false;
}

static bool insert(byoc_target_list_t *list, size_t at, byoc_target_t *target) {
  if (!byoc_vector_push(&list->targets, list->arena.allocator, target)) return false;
  for (size_t t = list->targets.count - 1; t > at; --t) list->targets.data[t] = list->targets.data[t - 1];
  list->targets.data[at] = target;
  return true;
}

// Adds the others behind the target at `at`; their number is added to *added. False if out of memory.
static bool offer(byoc_target_list_t *list, size_t at, size_t *added) {
  const byoc_target_t *target = list->targets.data[at];
  const size_t option = find_option(target->kind);
  if (option == target->kind->option_count || target->values[option].given) return true;
  size_t place = at + 1;
  for (const char *choice = target->kind->options[option].choices; *choice != '\0';) {
    const size_t size = strcspn(choice, "|");
    const bool is_own = strlen(target->values[option].s) == size && memcmp(target->values[option].s, choice, size) == 0;
    byoc_target_t *other = is_own ? NULL : make_other(list, target, option, choice, size);
    if (!is_own && other == NULL) return false;
    if (other != NULL && !has_text(list, other->text)) {
      if (!insert(list, place++, other)) return false;
      *added += 1;
    }
    choice += size + (choice[size] == '|');
  }
  return true;
}

byoc_status_t byoc_precisions_offer(byoc_target_list_t *list, byoc_diag_t *diag, size_t *out_added) {
  *out_added = 0;
  for (size_t t = 0; t < list->targets.count; ++t) {
    size_t added = 0;
    if (!offer(list, t, &added)) return byoc_diag_out_of_memory(diag);
    t += added;
    *out_added += added;
  }
  for (size_t t = 0; t < list->targets.count; ++t) list->targets.data[t]->index = (uint32_t)t;
  return BYOC_OK;
}

const char *byoc_target_short_name(const byoc_target_list_t *list, const byoc_target_t *target, byoc_arena_t *arena) {
  const size_t option = find_option(target->kind);
  bool has_other = false;
  for (size_t t = 0; t < list->targets.count; ++t) {
    const byoc_target_t *other = list->targets.data[t];
    has_other = has_other || (other->index != target->index && other->kind == target->kind);
  }
  if (!has_other || option == target->kind->option_count) return target->kind->name;
  return byoc_arena_format(arena, "%s -%s=%s", target->kind->name, target->kind->options[option].name,
                           target->values[option].s);
}
