// SPDX-License-Identifier: Apache-2.0
// Passes over functions that backends compile: outline-compiler-functions, merge-equal-functions,
// mark-compiler-functions-extern, inline-compiler-functions, inline-composites, name-unknown-dimensions, lower-kernels,
// spread-devices, plan-devices.
#include <stdio.h>
#include <string.h>

#include "core/device/plan.h"
#include "core/ir/attribute_names.h"
#include "core/ir/outline.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "core/pass/pass.h"

// ---- which functions ----

static bool is_for(const byoc_attributes_t *attributes, const byoc_pass_arguments_t *arguments) {
  const char *compiler = byoc_attributes_string(attributes, BYOC_ATTRIBUTE_COMPILER, NULL);
  return compiler != NULL && (arguments->compiler == NULL || strcmp(compiler, arguments->compiler) == 0);
}

// `self`: the pass' arguments.
static bool is_wanted(void *self, const byoc_function_t *function) {
  return is_for(&function->attributes, self);
}

// ---- outlining ----

typedef struct outliner_t {
  const byoc_pass_arguments_t *arguments;
  byoc_diag_t *diag;
  size_t *changes;
} outliner_t;

// func(%a) { ... } {Compiler = "x"} inline → call @x_0
static byoc_status_t outline_node(outliner_t *o, byoc_node_t *node) {
  char name[160];
  const char *symbol = byoc_attributes_string(&node->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, NULL);
  snprintf(name, sizeof(name), "%s_0", byoc_attributes_string(&node->attributes, BYOC_ATTRIBUTE_COMPILER, ""));
  byoc_function_t *function = NULL;
  BYOC_RETURN_IF_ERROR(byoc_outline_block(node, symbol != NULL ? symbol : name, o->diag, &function));
  *o->changes += 1;
  return BYOC_OK;
}

// Outlines inner ones first, so that the outer one's body calls them.
static byoc_status_t outline_in_block(outliner_t *o, byoc_block_t *block) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(outline_in_block(o, node->blocks[b]));
    if (!byoc_node_is(node, "byoc", "Function") || !is_for(&node->attributes, o->arguments)) continue;
    BYOC_RETURN_IF_ERROR(outline_node(o, node));
  }
  return BYOC_OK;
}

// A function that is bound to a name has it as its symbol, unless it has another one.
static byoc_status_t set_symbols(outliner_t *o, const byoc_graph_module_t *module) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (!is_for(&function->attributes, o->arguments) || function->kind != BYOC_FUNCTION_GRAPH) continue;
    if (byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL) != NULL) continue;
    char symbol[256];
    byoc_make_identifier(function->name, symbol, sizeof(symbol));
    if (!byoc_attributes_set_string(&function->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, symbol)) {
      return byoc_diag_out_of_memory(o->diag);
    }
    *o->changes += 1;
  }
  return BYOC_OK;
}

// Functions with the same symbol that remain after merging equal ones must differ.
static byoc_status_t check_symbols(const byoc_graph_module_t *module, byoc_diag_t *diag) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    const char *symbol = byoc_attributes_string(&function->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, NULL);
    for (size_t g = 0; g < f && symbol != NULL; ++g) {
      const byoc_function_t *other = module->functions.data[g];
      const char *taken = byoc_attributes_string(&other->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, "");
      if (strcmp(symbol, taken) != 0) continue;
      byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA,
                                             "functions '%s' and '%s' are different and have one global_symbol, '%s'",
                                             other->name, function->name, symbol);
      byoc_diag_hint(diag, "give one of them another symbol, or none: it gets one of its own then");
      return status;
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_outline_compiler_functions(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                                   byoc_diag_t *diag, size_t *changes) {
  outliner_t o = {.arguments = arguments, .diag = diag, .changes = changes};
  size_t function_count = module->functions.count, merged = 0; // outlined ones are added behind and need no second look
  for (size_t f = 0; f < function_count; ++f) {
    const byoc_function_t *function = module->functions.data[f];
    if (!byoc_function_is_in_scope(function)) continue;
    BYOC_RETURN_IF_ERROR_IN(diag, outline_in_block(&o, function->body), "function '%s'", function->name);
  }
  BYOC_RETURN_IF_ERROR(set_symbols(&o, module));
  if (*changes == 0) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_pass_merge_equal_functions(module, arguments, diag, &merged));
  return check_symbols(module, diag);
}

// ---- global functions ----

byoc_status_t byoc_pass_merge_equal_functions(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                              byoc_diag_t *diag, size_t *changes) {
  return byoc_merge_equal_functions(module, is_wanted, NULL, (void *)(uintptr_t)arguments, diag, changes);
}

// A function that a backend compiled becomes a stub: signature, body and calls stay, and Extern is its only attribute.
byoc_status_t byoc_pass_mark_compiler_functions_extern(byoc_graph_module_t *module,
                                                       const byoc_pass_arguments_t *arguments, byoc_diag_t *diag,
                                                       size_t *changes) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (!is_for(&function->attributes, arguments)) continue;
    byoc_attributes_clear(&function->attributes);
    if (!byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_EXTERN, 1)) return byoc_diag_out_of_memory(diag);
    function->kind = BYOC_FUNCTION_EXTERN;
    *changes += 1;
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_inline_compiler_functions(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                                  byoc_diag_t *diag, size_t *changes) {
  // Functions that stand inline become stubs in the same way.
  size_t function_count = module->functions.count, outlined = 0;
  outliner_t o = {.arguments = arguments, .diag = diag, .changes = &outlined};
  for (size_t f = 0; f < function_count; ++f) {
    BYOC_RETURN_IF_ERROR(outline_in_block(&o, module->functions.data[f]->body));
  }
  BYOC_RETURN_IF_ERROR(byoc_inline_functions(module, is_wanted, (void *)(uintptr_t)arguments, diag, changes));
  return byoc_pass_inline_composites(module, diag, changes);
}

// ---- composites ----

static bool is_composite(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPOSITE) != NULL &&
         byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) == NULL;
}

// call @composite(%x) → its body, except in inline functions that are regions themselves
static byoc_status_t inline_composites(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  for (byoc_node_t *node = block->first; node != NULL;) {
    bool is_region =
        byoc_node_is(node, "byoc", "Function") && byoc_attributes_find(&node->attributes, BYOC_ATTRIBUTE_COMPILER);
    for (uint32_t b = 0; b < node->block_count && !is_region; ++b) {
      BYOC_RETURN_IF_ERROR(inline_composites(node->blocks[b], diag, changes));
    }
    byoc_node_t *previous = node->previous, *next = node->next;
    if (node->callee != NULL && is_composite(NULL, node->callee)) {
      BYOC_RETURN_IF_ERROR_IN(diag, byoc_inline_call(node, diag), "inlining '%s'", node->callee->name);
      *changes += 1;
      next = previous != NULL ? previous->next : block->first; // the inlined nodes may hold calls too
    }
    node = next;
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_inline_composites(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  size_t before = *changes;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (byoc_function_is_open(function)) BYOC_RETURN_IF_ERROR(inline_composites(function->body, diag, changes));
  }
  return *changes > before ? byoc_erase_uncalled_functions(module, is_composite, NULL, diag) : BYOC_OK;
}

// ---- other passes ----

byoc_status_t byoc_pass_name_unknown_dimensions(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_name_unknown_dimensions(module, diag, changes);
}

byoc_status_t byoc_pass_lower_kernels(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  size_t before = module->functions.count;
  const byoc_kernel_options_t options = {.fuse = !module->is_unfused};
  BYOC_RETURN_IF_ERROR(byoc_kernel_lower_module(module, &options, diag));
  *changes = module->functions.count - before;
  return BYOC_OK;
}

byoc_status_t byoc_pass_spread_devices(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_plan_devices(module, BYOC_PLAN_SAID, diag, changes);
}

byoc_status_t byoc_pass_plan_devices(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_plan_devices(module, BYOC_PLAN_ALL, diag, changes);
}
