// SPDX-License-Identifier: Apache-2.0
// Lists the passes over modules in one table, and runs those of simplify until nothing changes.
#include "core/pass/pass.h"

#include <string.h>

#include "core/hostir/pass/pass.h"
#include "core/op/op.h"
#include "core/pass/layouts.h"

// Columns of the list in pass.h.
#define PLAIN(NAME)    .run = byoc_pass_##NAME
#define TARGETS(NAME)  .run_with = byoc_pass_##NAME
#define COMPILER(NAME) .run_with = byoc_pass_##NAME, .argument = "compiler"
#define AXIS(NAME)     .run_with = byoc_pass_##NAME, .argument = "axis"
#define LIST(NAME)     .run_with = byoc_pass_##NAME, .argument = "without"
#define BYOC_PASS_ROW(NAME, text, kind, works_on, line)                                                                \
  {.name = text, .summary = line, .stage = BYOC_PASS_##works_on, kind(NAME)},
static const byoc_pass_t rows[] = {BYOC_PASS_LIST(BYOC_PASS_ROW)};
#undef BYOC_PASS_ROW

const byoc_passes_t byoc_graph_passes = {
    .rows = rows, .count = sizeof(rows) / sizeof(rows[0]), .below = &byoc_host_passes};

const byoc_pass_t *byoc_pass_find(const char *name) {
  return byoc_passes_find(&byoc_graph_passes, name);
}

// The passes of simplify, in order. Those of the first half run before a model is copied or cut, too: then copies share
// what was folded or packed, and ranks cut weights in the form in which they are stored.
static const struct {
  const char *name;
  bool settles;
} simplifying[] = {{"inline-functions", true},
                   {"differentiate", false},
                   {"settle-dimensions", true},
                   {"write-out", false},
                   {"canonicalise", true},
                   {"remove-identities", false},
                   {"fold-structure", true},
                   {"move-quantised", true},
                   {"fold-quantised", true},
                   {"raise-units", true},
                   {"split-recurrent", false},
                   {"split-transposed", false},
                   {"keep-packed-weights", true},
                   {"fold-constants", true},
                   {"fold-pad", false},
                   {"cut-kernels", false},
                   {"fold-batch-norm", false},
                   {"flush-subnormals", false},
                   {"recognise-activations", false},
                   {"recognise-layer-norm", false},
                   {"recognise-attention", false},
                   {"move-transposes", false},
                   {"merge-equal-nodes", false},
                   {"remove-dead-code", true}};
enum { SIMPLIFYING_COUNT = sizeof(simplifying) / sizeof(simplifying[0]), SIMPLIFY_ROUNDS = 8 };

static byoc_status_t run_round(byoc_graph_module_t *module, const byoc_pass_options_t *options, bool settles_only,
                               byoc_diag_t *diag, size_t *changes) {
  for (size_t i = 0; i < SIMPLIFYING_COUNT; ++i) {
    size_t count = 0;
    bool wants_targets = strcmp(simplifying[i].name, "recognise-attention") == 0;
    if (wants_targets && (options == NULL || options->targets == NULL)) continue; // no target could claim it
    if (settles_only && !simplifying[i].settles) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find(simplifying[i].name), module, options, diag, &count));
    *changes += count;
  }
  return BYOC_OK;
}

// Constants of integers become floats when no pass has found a use for them as they are.
byoc_status_t byoc_simplify(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag,
                            size_t *changes) {
  BYOC_RETURN_IF_ERROR(byoc_infer_module(module, diag));
  for (int round = 0; round < SIMPLIFY_ROUNDS; ++round) {
    size_t before = *changes, count = 0;
    BYOC_RETURN_IF_ERROR(run_round(module, options, false, diag, changes));
    if (*changes != before && round + 1 < SIMPLIFY_ROUNDS) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("fold-dequantised"), module, options, diag, &count));
    *changes += count;
    if (count == 0) break;
  }
  // Only now: formulas are recognised by values that they read more than once.
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("split-dequantised"), module, options, diag, &count));
  *changes += count;
  return BYOC_OK;
}

byoc_status_t byoc_pass_settle_constants(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                         byoc_diag_t *diag, size_t *changes) {
  BYOC_RETURN_IF_ERROR(byoc_infer_module(module, diag));
  for (int round = 0; round < SIMPLIFY_ROUNDS; ++round) {
    size_t before = *changes;
    BYOC_RETURN_IF_ERROR(run_round(module, arguments->options, true, diag, changes));
    if (*changes == before) break;
  }
  return BYOC_OK;
}

// {without=NAME} switches that pass off until this one ends.
byoc_status_t byoc_pass_simplify(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments, byoc_diag_t *diag,
                                 size_t *changes) {
  if (arguments->without == NULL) return byoc_simplify(module, arguments->options, diag, changes);
  BYOC_RETURN_IF_ERROR(byoc_pass_check_switch(arguments->without, diag));
  byoc_pass_options_t options = arguments->options != NULL ? *arguments->options : (byoc_pass_options_t){0};
  byoc_switches_t switches = options.switches != NULL ? *options.switches : (byoc_switches_t){0};
  options.switches = &switches;
  if (!byoc_switches_turn_off(&switches, arguments->without)) return byoc_diag_out_of_memory(diag);
  return byoc_simplify(module, &options, diag, changes);
}

byoc_status_t byoc_propose_layouts(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                   size_t *out_changes) {
  const byoc_pass_options_t options = {.targets = targets};
  return byoc_pass_run(byoc_pass_find("propose-layouts"), module, &options, diag, out_changes);
}

byoc_status_t byoc_pass_check_switch(const char *name, byoc_diag_t *diag) {
  // Later steps of the pipeline rely on these passes; they are no improvements.
  static const char *const needed[] = {
      "infer-types",    "inline-functions", "differentiate",     "canonicalise",
      "simplify",       "settle-constants", "inline-composites", "name-unknown-dimensions",
      "settle-layouts", "cancel-layouts",   "lower-kernels",     "spread-devices",
      "plan-devices"};
  const byoc_pass_t *pass = byoc_pass_find(name);
  if (pass == NULL) return byoc_passes_unknown(&byoc_graph_passes, name, diag);
  const bool is_for_compilers = pass->argument != NULL && strcmp(pass->argument, "compiler") == 0;
  bool is_needed = is_for_compilers || pass->gives != 0; // what a host pass gives, others need
  for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); ++i) is_needed |= strcmp(needed[i], name) == 0;
  return is_needed ? byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "no build can do without the pass %s", name)
                   : BYOC_OK;
}

byoc_status_t byoc_pass_run_list(const char *names, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                                 byoc_diag_t *diag) {
  return byoc_passes_run(&byoc_graph_passes, names, (byoc_pass_subject_t){.module = module}, options, diag, NULL);
}

byoc_status_t byoc_pass_run_list_on(byoc_function_t *const *functions, size_t function_count, const char *names,
                                    const byoc_pass_options_t *options, byoc_diag_t *diag) {
  if (function_count == 0) return BYOC_OK;
  byoc_graph_module_t *module = functions[0]->module;
  byoc_map_t scope;
  byoc_pointer_map_init(&scope, module->allocator);
  bool ok = true;
  for (size_t f = 0; f < function_count && ok; ++f) ok = byoc_pointer_map_put(&scope, functions[f], functions[f]);
  module->scope = &scope;
  byoc_status_t status = ok ? byoc_pass_run_list(names, module, options, diag) : byoc_diag_out_of_memory(diag);
  module->scope = NULL;
  byoc_map_deinit(&scope);
  return status;
}
