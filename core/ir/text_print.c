// SPDX-License-Identifier: Apache-2.0
// Prints modules in the text form that text_parse.c reads.
#include "core/ir/module_text.h"

#include <string.h>

#include "core/ir/loop_text.h"
#include "core/ir/text_names.h"
#include "core/ir/text_parts.h"

typedef struct printer_t {
  byoc_string_t *out;
  const byoc_print_options_t *options;
  byoc_arena_t arena; // made-up names
  byoc_map_t names;   // value → its printed name; values without one are numbered
  byoc_map_t used;    // names given in this function
  uint64_t unnamed;
} printer_t;

static void print_block_body(printer_t *printer, const byoc_block_t *block, int indent);

// ---- values ----

// `name`, or name_1, name_2 ...: given to only one value of the function. NULL if out of memory.
static const char *claim_name(printer_t *printer, const char *name) {
  const char *candidate = name;
  for (uint64_t number = 1; byoc_string_map_find(&printer->used, candidate); ++number) {
    candidate = byoc_arena_format(&printer->arena, "%s_%llu", name, (unsigned long long)number);
    if (!candidate) return NULL;
  }
  return byoc_string_map_put(&printer->used, candidate, printer) ? candidate : NULL;
}

static void print_value(printer_t *printer, const byoc_value_t *value) {
  if (!value) {
    byoc_string_append(printer->out, "_");
    return;
  }
  if (value->kind == BYOC_VALUE_CONSTANT) {
    byoc_text_print_name('@', value->constant->name, printer->out);
    return;
  }
  const char *name = byoc_pointer_map_get(&printer->names, value);
  if (!name) {
    // An unnamed value's name starts with the sigil, which distinguishes its number from a name made of digits.
    name = value->name && value->name[0]
               ? claim_name(printer, value->name)
               : byoc_arena_format(&printer->arena, "%%%llu", (unsigned long long)printer->unnamed++);
    if (!name || !byoc_pointer_map_put(&printer->names, value, (void *)(uintptr_t)name)) {
      printer->out->failed = true;
      return;
    }
  }
  if (value->name && value->name[0]) {
    byoc_text_print_name('%', name, printer->out);
  } else {
    byoc_string_append(printer->out, name);
  }
}

static void print_type_of(printer_t *printer, const byoc_value_t *value) {
  byoc_type_print(value && value->type ? value->type : byoc_type_unknown(), printer->out);
}

static void print_values(printer_t *printer, byoc_value_t *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) byoc_string_append(printer->out, ", ");
    print_value(printer, values[i]);
  }
}

// ---- blocks ----

// (%x : f32[N]) -> (%y : f32[N])
static void print_signature(printer_t *printer, const byoc_block_t *block) {
  byoc_string_t *out = printer->out;
  byoc_string_append(out, "(");
  for (size_t i = 0; i < block->parameters.count; ++i) {
    const byoc_value_t *value = block->parameters.data[i];
    if (i > 0) byoc_string_append(out, ", ");
    print_value(printer, value);
    byoc_string_append(out, " : ");
    print_type_of(printer, value);
    byoc_virtual_device_print(&value->device, out);
  }
  byoc_string_append(out, ") -> (");
  for (size_t i = 0; i < block->results.count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    if (block->result_names.data[i]) {
      byoc_text_print_name('%', block->result_names.data[i], out);
      byoc_string_append(out, " : ");
    }
    print_type_of(printer, block->results.data[i]);
  }
  byoc_string_append(out, ")");
}

static void print_operator(printer_t *printer, const byoc_node_t *node) {
  byoc_string_t *out = printer->out;
  if (node->callee) {
    byoc_string_append(out, "call ");
    byoc_text_print_name('@', node->callee->name, out);
  } else {
    if (node->domain[0]) {
      byoc_text_print_word(node->domain, out);
      byoc_string_append(out, "::");
    }
    // The name of an operator called "call" must not read as a call.
    if (!node->domain[0] && strcmp(node->op, "call") == 0) {
      byoc_text_print_quoted(node->op, strlen(node->op), out);
    } else {
      byoc_text_print_word(node->op, out);
    }
    byoc_string_appendf(out, "@%d", node->since_version);
  }
  if (!node->name[0]) return;
  byoc_string_append(out, " ");
  byoc_text_print_quoted(node->name, strlen(node->name), out);
  byoc_string_append(out, " ");
}

static void print_node(printer_t *printer, const byoc_node_t *node, int indent) {
  byoc_string_t *out = printer->out;
  byoc_string_indent(out, indent);
  if (node->result_count > 0) {
    // Names are chosen before those of nested blocks, so that a value's name does not depend on the blocks inside.
    print_values(printer, node->results, node->result_count);
    byoc_string_append(out, " = ");
  }
  print_operator(printer, node);
  byoc_string_append(out, "(");
  print_values(printer, node->operands, node->operand_count);
  byoc_string_append(out, ")");
  if (node->attributes.count > 0) byoc_string_append(out, " ");
  byoc_attributes_print(&node->attributes, out);
  for (uint32_t i = 0; i < node->block_count; ++i) {
    byoc_string_append(out, i == 0 ? " [" : ", ");
    byoc_text_print_word(node->block_names[i], out);
    byoc_string_append(out, " ");
    print_signature(printer, node->blocks[i]);
    byoc_string_append(out, " {\n");
    print_block_body(printer, node->blocks[i], indent + 2);
    byoc_string_indent(out, indent);
    byoc_string_append(out, "}");
  }
  if (node->block_count > 0) byoc_string_append(out, "]");
  for (uint32_t i = 0; i < node->result_count; ++i) {
    byoc_string_append(out, i == 0 ? " : " : ", ");
    print_type_of(printer, node->results[i]);
    byoc_virtual_device_print(&node->results[i]->device, out);
  }
  byoc_string_append(out, "\n");
}

static void print_block_body(printer_t *printer, const byoc_block_t *block, int indent) {
  BYOC_FOR_EACH_NODE(node, block) {
    print_node(printer, node, indent);
  }
  byoc_string_indent(printer->out, indent);
  byoc_string_append(printer->out, block->results.count > 0 ? "return " : "return");
  print_values(printer, block->results.data, block->results.count);
  byoc_string_append(printer->out, "\n");
}

// ---- functions ----

// Prints the devices of this function's constants: constants {@w on {...}}
static void print_constant_devices(printer_t *printer, const byoc_function_t *function) {
  byoc_string_t *out = printer->out;
  bool any = false;
  for (size_t i = 0; i < function->constants.count; ++i) {
    const byoc_value_t *value = function->constants.entries[i].value;
    if (value->uses.count == 0 || byoc_virtual_device_is_free(&value->device)) continue;
    byoc_string_append(out, any ? ", " : " constants {");
    byoc_text_print_name('@', value->constant->name, out);
    byoc_virtual_device_print(&value->device, out);
    any = true;
  }
  if (any) byoc_string_append(out, "}");
}

static void print_function(printer_t *printer, const byoc_function_t *function) {
  const int indent = 2; // it stands in a module
  byoc_string_t *out = printer->out;
  byoc_map_clear(&printer->names);
  byoc_map_clear(&printer->used);
  printer->unnamed = 0;
  byoc_string_indent(out, indent);
  if (function->kind == BYOC_FUNCTION_EXTERN) byoc_string_append(out, "extern ");
  if (function->kind == BYOC_FUNCTION_KERNEL) byoc_string_append(out, "kernel ");
  byoc_string_append(out, "func ");
  byoc_text_print_name('@', function->name, out);
  print_signature(printer, function->body);
  if (function->attributes.count > 0) byoc_string_append(out, " attributes ");
  byoc_attributes_print(&function->attributes, out);
  print_constant_devices(printer, function);
  if (function->kernel) {
    byoc_string_append(out, " loops ");
    byoc_loop_kernel_print(function->kernel, out);
  }
  if (function->kind != BYOC_FUNCTION_GRAPH && byoc_function_is_opaque(function)) {
    byoc_string_append(out, "\n");
    return;
  }
  byoc_string_append(out, " {\n");
  print_block_body(printer, function->body, indent + 2);
  byoc_string_indent(out, indent);
  byoc_string_append(out, "}\n");
}

static void printer_init(printer_t *printer, const byoc_print_options_t *options, byoc_string_t *out) {
  *printer = (printer_t){.out = out, .options = options};
  byoc_arena_init(&printer->arena, out->allocator);
  byoc_pointer_map_init(&printer->names, out->allocator);
  byoc_string_map_init(&printer->used, out->allocator);
}

static void printer_deinit(printer_t *printer) {
  byoc_map_deinit(&printer->names);
  byoc_map_deinit(&printer->used);
  byoc_arena_deinit(&printer->arena);
}

void byoc_graph_print(const byoc_graph_module_t *module, const byoc_print_options_t *options, byoc_string_t *out) {
  printer_t printer;
  printer_init(&printer, options, out);
  byoc_string_append(out, "module ");
  byoc_attributes_print(&module->attributes, out);
  byoc_string_append(out, module->attributes.count > 0 ? " {\n" : "{\n");
  for (size_t i = 0; i < module->constants.count; ++i) {
    const byoc_constant_t *constant = module->constants.data[i];
    byoc_string_append(out, "  constant ");
    byoc_text_print_name('@', constant->name, out);
    byoc_string_append(out, " : ");
    byoc_type_print(constant->type, out);
    byoc_string_append(out, " = ");
    byoc_constant_print_data(constant, options, out);
    byoc_string_append(out, "\n");
  }
  for (size_t i = 0; i < module->functions.count; ++i) {
    if (i > 0 || module->constants.count > 0) byoc_string_append(out, "\n");
    print_function(&printer, module->functions.data[i]);
  }
  byoc_string_append(out, "}\n");
  printer_deinit(&printer);
}
