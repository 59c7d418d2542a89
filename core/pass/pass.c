// SPDX-License-Identifier: Apache-2.0
// The table of passes, and the manager that runs lists of them.
#include "core/pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/task.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"
#include "core/op/op.h"
#include "core/pass/layouts.h"

enum { FUNCTIONS = false, MODULE = true };
#define BYOC_PASS_ROW(NAME, text, works_on, line)                                                                      \
  {.name = text, .summary = line, .run = byoc_pass_##NAME, .works_on_module = works_on},
#define BYOC_COMPILER_PASS_ROW(NAME, text, works_on, line)                                                             \
  {.name = text, .summary = line, .run_with = byoc_pass_##NAME, .takes_compiler = true, .works_on_module = works_on},
#define BYOC_TARGET_PASS_ROW(NAME, text, works_on, line)                                                               \
  {.name = text, .summary = line, .run_with = byoc_pass_##NAME, .works_on_module = works_on},
#define BYOC_AXIS_PASS_ROW(NAME, text, works_on, line)                                                                 \
  {.name = text, .summary = line, .run_with = byoc_pass_##NAME, .takes_axis = true, .works_on_module = works_on},
static const byoc_pass_t passes[] = {BYOC_PASS_LIST(BYOC_PASS_ROW) BYOC_COMPILER_PASS_LIST(
    BYOC_COMPILER_PASS_ROW) BYOC_TARGET_PASS_LIST(BYOC_TARGET_PASS_ROW) BYOC_AXIS_PASS_LIST(BYOC_AXIS_PASS_ROW)};
#undef BYOC_PASS_ROW
#undef BYOC_AXIS_PASS_ROW
#undef BYOC_TARGET_PASS_ROW
#undef BYOC_COMPILER_PASS_ROW
enum { PASS_COUNT = sizeof(passes) / sizeof(passes[0]) };

const byoc_pass_t *byoc_pass_at(size_t index) {
  return index < PASS_COUNT ? &passes[index] : NULL;
}

const byoc_pass_t *byoc_pass_find(const char *name) {
  for (size_t i = 0; i < PASS_COUNT; ++i) {
    if (strcmp(passes[i].name, name) == 0) return &passes[i];
  }
  return NULL;
}

byoc_status_t byoc_pass_print_after(const char *name, const byoc_graph_module_t *module,
                                    const byoc_pass_options_t *options, byoc_diag_t *diag) {
  bool wanted = options != NULL && options->print_after != NULL &&
                (strcmp(options->print_after, name) == 0 || strcmp(options->print_after, "all") == 0);
  if (!wanted) return BYOC_OK;
  byoc_string_t text;
  byoc_string_init(&text, module->allocator);
  byoc_string_appendf(&text, "// after %s\n", name);
  const byoc_print_options_t print = {.elide_bytes = options->print_elide_bytes};
  byoc_graph_print(module, &print, &text);
  byoc_status_t status = text.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && options->print_out != NULL) {
    byoc_string_append_bytes(options->print_out, text.data, text.size);
  } else if (status == BYOC_OK && (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout) != 0)) {
    status = byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
  }
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t run_pass(const byoc_pass_t *pass, const byoc_pass_arguments_t *arguments,
                              byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag,
                              size_t *out_changes) {
  size_t changes = 0;
  if (out_changes != NULL) *out_changes = 0;
  if (options != NULL && !byoc_switches_is_on(options->switches, pass->name)) {
    byoc_log(BYOC_LOG_DEBUG, "%-32s is switched off", pass->name);
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_task_check(diag));
  int64_t start_ns = byoc_now_ns();
  byoc_status_t status = BYOC_OK;
  if (pass->run_with != NULL) {
    status = pass->run_with(module, arguments, diag, &changes);
  } else if (pass->run == byoc_pass_simplify) {
    status = byoc_simplify(module, options, diag, &changes);
  } else {
    status = pass->run(module, diag, &changes);
  }
  // A pass that ran out of memory may have left rewrites out.
  if (status == BYOC_OK && module->arena.is_exhausted) status = byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR_IN(diag, status, "pass %s", pass->name);
  byoc_log(changes > 0 ? BYOC_LOG_INFO : BYOC_LOG_DEBUG, "%-32s %6zu changes %8.2f ms", pass->name, changes,
           (double)(byoc_now_ns() - start_ns) / 1e6);
#ifdef NDEBUG
  bool verify = changes > 0;
#else
  bool verify = true;
#endif
  if (verify) BYOC_RETURN_IF_ERROR_IN(diag, byoc_graph_verify(module, diag), "after pass %s", pass->name);
  if (out_changes != NULL) *out_changes = changes;
  return byoc_pass_print_after(pass->name, module, options, diag);
}

static byoc_pass_arguments_t options_arguments(const byoc_pass_options_t *options) {
  if (options == NULL) return (byoc_pass_arguments_t){0};
  return (byoc_pass_arguments_t){.targets = options->targets, .axis = options->stream_axis};
}

byoc_status_t byoc_pass_run(const byoc_pass_t *pass, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                            byoc_diag_t *diag, size_t *out_changes) {
  const byoc_pass_arguments_t arguments = options_arguments(options);
  return run_pass(pass, &arguments, module, options, diag, out_changes);
}

enum { SIMPLIFY_ROUNDS = 8 };

byoc_status_t byoc_simplify(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag,
                            size_t *changes) {
  static const char *const names[] = {"inline-functions",      "differentiate",        "write-out",
                                      "canonicalise",          "remove-identities",    "fold-structure",
                                      "split-recurrent",       "split-transposed",     "fold-quantised",
                                      "keep-packed-weights",   "fold-constants",       "fold-pad",
                                      "cut-kernels",           "fold-batch-norm",      "flush-subnormals",
                                      "recognise-activations", "recognise-layer-norm", "recognise-attention",
                                      "move-transposes",       "merge-equal-nodes",    "remove-dead-code"};
  BYOC_RETURN_IF_ERROR(byoc_infer_module(module, diag));
  for (int round = 0; round < SIMPLIFY_ROUNDS; ++round) {
    size_t before = *changes;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
      size_t count = 0;
      bool wants_targets = strcmp(names[i], "recognise-attention") == 0;
      if (wants_targets && (options == NULL || options->targets == NULL)) continue; // no target could claim it
      BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find(names[i]), module, options, diag, &count));
      *changes += count;
    }
    if (*changes == before) break;
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_simplify(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_simplify(module, NULL, diag, changes);
}

byoc_status_t byoc_propose_layouts(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                   size_t *out_changes) {
  const byoc_pass_options_t options = {.targets = targets};
  return byoc_pass_run(byoc_pass_find("propose-layouts"), module, &options, diag, out_changes);
}

static byoc_status_t unknown_pass(const char *name, const byoc_pass_options_t *options, byoc_diag_t *diag) {
  if (byoc_host_pass_find(name) != NULL) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is a pass over host programs, and this is a module", name);
    byoc_diag_hint(diag, "byoc build MODEL --emit=host --constants -o FILE.host writes a host program");
    return BYOC_INVALID_ARGUMENT;
  }
  enum { MAX_NAMES = 64 };
  const char *names[MAX_NAMES];
  size_t count = 0;
  for (size_t i = 0; i < PASS_COUNT && count < MAX_NAMES; ++i) names[count++] = passes[i].name;
  for (size_t i = 0; options != NULL && i < options->more_count && count < MAX_NAMES; ++i) {
    names[count++] = options->more[i].name;
  }
  const byoc_host_pass_t *host = NULL;
  for (size_t i = 0; (host = byoc_host_pass_at(i)) != NULL && count < MAX_NAMES; ++i) names[count++] = host->name;
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no pass '%s'", name);
  const char *nearest = byoc_nearest_match(name, names, count);
  if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean '%s'? byoc opt --help lists them", nearest);
  } else {
    byoc_diag_hint(diag, "byoc opt --help lists them");
  }
  return status;
}

byoc_status_t byoc_pass_check_print_after(const char *name, byoc_diag_t *diag) {
  static const char *const steps[] = {"all", "place", "generate"};
  for (size_t i = 0; name != NULL && i < sizeof(steps) / sizeof(steps[0]); ++i) {
    if (strcmp(name, steps[i]) == 0) return BYOC_OK;
  }
  bool is_pass = name == NULL || byoc_pass_find(name) != NULL || byoc_host_pass_find(name) != NULL;
  return is_pass ? BYOC_OK : unknown_pass(name, NULL, diag);
}

byoc_status_t byoc_pass_check_switch(const char *name, byoc_diag_t *diag) {
  // Later steps of the pipeline rely on these passes; they are no improvements.
  static const char *const needed[] = {
      "infer-types",    "inline-functions",  "differentiate",           "canonicalise",
      "simplify",       "inline-composites", "name-unknown-dimensions", "settle-layouts",
      "cancel-layouts", "lower-kernels",     "spread-devices",          "plan-devices"};
  const byoc_pass_t *pass = byoc_pass_find(name);
  const byoc_host_pass_t *host = byoc_host_pass_find(name);
  if (pass == NULL && host == NULL) return unknown_pass(name, NULL, diag);
  bool is_needed = pass != NULL ? pass->takes_compiler : byoc_host_pass_is_needed(host);
  for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); ++i) is_needed |= strcmp(needed[i], name) == 0;
  return is_needed ? byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "no build can do without the pass %s", name)
                   : BYOC_OK;
}

static const byoc_pass_t *find_pass(const char *name, const byoc_pass_options_t *options) {
  for (size_t i = 0; options != NULL && i < options->more_count; ++i) {
    if (strcmp(options->more[i].name, name) == 0) return &options->more[i];
  }
  return byoc_pass_find(name);
}

// "{compiler=NAME}" or "{axis=NAME:parts}" behind a pass; `text` is cut at the closing brace.
static byoc_status_t parse_arguments(const byoc_pass_t *pass, char *text, byoc_diag_t *diag,
                                     byoc_pass_arguments_t *arguments) {
  const char *key = pass->takes_compiler ? "compiler=" : "axis=";
  char *end = strchr(text, '}');
  if (end == NULL || end[1] != '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s: its arguments, '{%s', do not end with '}'",
                           pass->name, text);
  }
  *end = '\0';
  const bool takes_any = pass->takes_compiler || pass->takes_axis;
  if (!takes_any || strncmp(text, key, strlen(key)) != 0 || text[strlen(key)] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s takes %s, not {%s}", pass->name,
                           pass->takes_compiler ? "{compiler=NAME}"
                           : pass->takes_axis   ? "{axis=NAME:parts}"
                                                : "no arguments",
                           text);
  }
  if (pass->takes_compiler) arguments->compiler = text + strlen(key);
  if (pass->takes_axis) arguments->axis = text + strlen(key);
  return BYOC_OK;
}

byoc_status_t byoc_pass_run_list(const char *names, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                                 byoc_diag_t *diag) {
  while (*names != '\0') {
    size_t size = strcspn(names, ",");
    char name[128];
    snprintf(name, sizeof(name), "%.*s", (int)size, names);
    names += size + (names[size] == ',');
    if (name[0] == '\0') continue;
    char *text = strchr(name, '{');
    if (text != NULL) *text++ = '\0';
    const byoc_pass_t *pass = find_pass(name, options);
    if (pass == NULL) return unknown_pass(name, options, diag);
    if (pass->works_on_module && module->scope != NULL) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s works on whole modules, not on functions", name);
    }
    byoc_pass_arguments_t arguments = options_arguments(options);
    if (text != NULL) BYOC_RETURN_IF_ERROR(parse_arguments(pass, text, diag, &arguments));
    BYOC_RETURN_IF_ERROR(run_pass(pass, &arguments, module, options, diag, NULL));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_run_list_on(byoc_function_t *const *functions, size_t function_count, const char *names,
                                    byoc_diag_t *diag) {
  if (function_count == 0) return BYOC_OK;
  byoc_graph_module_t *module = functions[0]->module;
  byoc_map_t scope;
  byoc_pointer_map_init(&scope, module->allocator);
  bool ok = true;
  for (size_t f = 0; f < function_count && ok; ++f) ok = byoc_pointer_map_put(&scope, functions[f], functions[f]);
  module->scope = &scope;
  byoc_status_t status = ok ? byoc_pass_run_list(names, module, NULL, diag) : byoc_diag_out_of_memory(diag);
  module->scope = NULL;
  byoc_map_deinit(&scope);
  return status;
}
