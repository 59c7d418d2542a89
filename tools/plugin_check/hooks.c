// SPDX-License-Identifier: Apache-2.0
// Stands between the host and the hooks of a plugin.
#include "tools/plugin_check/hooks.h"

#include <ffi.h>
#include <stdlib.h>
#include <string.h>

typedef struct watched_t {
  check_t *check;
  const hook_watch_t *watch;
  const byoc_backend_t *original;
  byoc_target_kind_t kind;
  byoc_backend_t backend;
  byoc_rule_t *rules;
} watched_t;

typedef struct watched_rule_t {
  watched_t *owner;
  const byoc_rule_t *original;
} watched_rule_t;

typedef struct kinds_t {
  byoc_target_registry_t usual;
  watched_t *watched;
  size_t count;
} kinds_t;

static void *allocate(check_t *check, size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (memory == NULL) check_stop(check, NULL, "out of memory");
  return memory;
}

// ---- around hooks ----

static void enter(const watched_t *w, char *text, size_t size, const char *name, const char *rule) {
  if (rule != NULL) snprintf(text, size, "the hook accept of the rule '%s'", rule);
  if (rule == NULL) snprintf(text, size, "the hook %s of '%s'", name, w->kind.name);
  check_doing(w->check, "%s runs", text);
  if (w->watch->enter != NULL) w->watch->enter(w->watch->self, text);
}

static void leave(const watched_t *w, const char *text) {
  if (w->watch->leave != NULL) w->watch->leave(w->watch->self, text);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "generate", NULL);
  const int32_t status = w->original->generate(w->original->self, codegen);
  leave(w, text);
  return status;
}

static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "generate_function", NULL);
  const int32_t status = w->original->generate_function(w->original->self, codegen, function);
  leave(w, text);
  return status;
}

static int32_t prepare(void *self, byoc_codegen_t *codegen) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "prepare", NULL);
  const int32_t status = w->original->prepare(w->original->self, codegen);
  leave(w, text);
  return status;
}

static double relative_error(void *self, const byoc_target_t *target) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "relative_error", NULL);
  const double error = w->original->relative_error(w->original->self, target);
  leave(w, text);
  if (w->watch->stated_error != NULL) w->watch->stated_error(w->watch->self, text, error);
  return error;
}

static int32_t runs_on_device(void *self, const byoc_target_t *target) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "runs_on_device", NULL);
  const int32_t runs = w->original->runs_on_device(w->original->self, target);
  leave(w, text);
  return runs;
}

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "state_costs", NULL);
  const int32_t status = w->original->state_costs(w->original->self, query);
  leave(w, text);
  return status;
}

static int32_t state_target_costs(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "state_target_costs", NULL);
  const int32_t status = w->original->state_target_costs(w->original->self, target, out_costs);
  leave(w, text);
  return status;
}

static int32_t partition(void *self, const byoc_partition_query_t *query) {
  const watched_t *w = self;
  char text[160];
  enter(w, text, sizeof(text), "partition", NULL);
  const int32_t status = w->original->partition(w->original->self, query);
  leave(w, text);
  return status;
}

// accept(self, region) of one rule: all rules share `self`, so each has a function of its own, made by libffi.
static void accept(ffi_cif *cif, void *result, void **arguments, void *rule) {
  (void)cif;
  const watched_rule_t *of = rule;
  const watched_t *w = of->owner;
  byoc_region_t *region = *(byoc_region_t **)arguments[1];
  int32_t accepted = 0;
  if (w->watch->answer == NULL || !w->watch->answer(w->watch->self, &accepted)) {
    char text[160];
    enter(w, text, sizeof(text), NULL, of->original->name);
    accepted = of->original->accept(w->original->self, region);
    leave(w, text);
    if (w->watch->answered != NULL) w->watch->answered(w->watch->self, text, accepted);
  }
  *(ffi_sarg *)result = accepted;
}

// ---- making them ----

static void watch_accept(watched_t *w, byoc_rule_t *rule, const byoc_rule_t *original) {
  static ffi_cif cif;
  static ffi_type *types[] = {&ffi_type_pointer, &ffi_type_pointer};
  void *code = NULL;
  watched_rule_t *of = allocate(w->check, 1, sizeof(*of));
  *of = (watched_rule_t){w, original};
  ffi_closure *closure = ffi_closure_alloc(sizeof(*closure), &code);
  if (closure == NULL || ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 2, &ffi_type_sint32, types) != FFI_OK ||
      ffi_prep_closure_loc(closure, &cif, accept, of, code) != FFI_OK) {
    check_skip(w->check, "this system allows no functions made at run time");
  }
  memcpy(&rule->accept, &code, sizeof(rule->accept)); // ISO C has no cast from object to function pointer
}

static void watch_kind(watched_t *w, check_t *check, const hook_watch_t *watch, const byoc_target_kind_t *kind) {
  const byoc_backend_t *original = kind->backend;
  *w = (watched_t){.check = check, .watch = watch, .original = original, .kind = *kind, .backend = *original};
  w->rules = allocate(check, original->rule_count, sizeof(*w->rules));
  for (uint32_t i = 0; i < original->rule_count; ++i) {
    w->rules[i] = original->rules[i];
    if (w->rules[i].accept != NULL) watch_accept(w, &w->rules[i], &original->rules[i]);
  }
  w->kind.backend = &w->backend;
  w->backend.self = w;
  w->backend.rules = w->rules;
  w->backend.generate = original->generate != NULL ? generate : NULL;
  w->backend.generate_function = original->generate_function != NULL ? generate_function : NULL;
  w->backend.prepare = original->prepare != NULL ? prepare : NULL;
  w->backend.relative_error = original->relative_error != NULL ? relative_error : NULL;
  w->backend.runs_on_device = original->runs_on_device != NULL ? runs_on_device : NULL;
  w->backend.state_costs = original->state_costs != NULL ? state_costs : NULL;
  w->backend.state_target_costs = original->state_target_costs != NULL ? state_target_costs : NULL;
  w->backend.partition = original->partition != NULL ? partition : NULL;
}

static const byoc_target_kind_t *look_up(const void *self, const char *name) {
  const kinds_t *kinds = self;
  for (size_t i = 0; i < kinds->count; ++i) {
    if (strcmp(kinds->watched[i].kind.name, name) == 0) return &kinds->watched[i].kind;
  }
  return kinds->usual.lookup(kinds->usual.self, name);
}

byoc_target_registry_t hooks_watched(check_t *check, const hook_watch_t *watch) {
  const byoc_plugin_entry_t *entry = check->entry;
  kinds_t *kinds = allocate(check, 1, sizeof(*kinds));
  kinds->usual = byoc_plugin_registry_targets(check->registry);
  kinds->watched = allocate(check, entry->kind_count, sizeof(*kinds->watched));
  kinds->count = entry->kind_count;
  for (size_t i = 0; i < entry->kind_count; ++i) watch_kind(&kinds->watched[i], check, watch, &entry->kinds[i]);
  byoc_target_registry_t watched = kinds->usual;
  watched.self = kinds;
  watched.lookup = look_up;
  watched.refusal = NULL;
  return watched;
}
