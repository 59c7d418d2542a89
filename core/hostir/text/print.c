// SPDX-License-Identifier: Apache-2.0
// Prints host programs: declarations and instructions.
#include <inttypes.h>
#include <string.h>

#include "core/hostir/text/text_internal.h"
#include "core/ir/text_names.h"

const char *const byoc_host_c_type_names[BYOC_HOST_C_TYPE_COUNT] = {"void", "i32",     "i64",   "f32",
                                                                    "f64",  "pointer", "status"};

const char *const byoc_host_relation_words[BYOC_RELATION_COUNT] = {
#define BYOC_RELATION_WORD(NAME, text) text,
    BYOC_RELATION_LIST(BYOC_RELATION_WORD)
#undef BYOC_RELATION_WORD
};

const char *const byoc_host_allocation_words[BYOC_HOST_ALLOCATION_COUNT] = {
#define BYOC_ALLOCATION_WORD(NAME, text) text,
    BYOC_HOST_ALLOCATION_LIST(BYOC_ALLOCATION_WORD)
#undef BYOC_ALLOCATION_WORD
};

const char *const byoc_host_buffer_kind_names[BYOC_HOST_BUFFER_VIEW + 1] = {"input", "output", "constant", "local",
                                                                            "view"};

static void print_quoted(const char *text, byoc_string_t *out) {
  byoc_text_print_quoted(text, strlen(text), out);
}

// ---- declarations ----

static void print_constant(byoc_host_printer_t *printer, const byoc_host_buffer_t *buffer) {
  byoc_string_t *out = printer->out;
  byoc_string_append(out, " = ");
  if (buffer->constant != NULL) {
    byoc_text_print_name('@', buffer->constant->name, out);
  } else if (buffer->bound_by != NULL) {
    print_quoted(buffer->bound_by->name, out);
    byoc_string_appendf(out, " %u", buffer->bound_index);
  } else {
    byoc_host_print_tensor(printer, buffer->type, buffer->data, (size_t)buffer->size_bytes);
  }
}

static void print_buffer(byoc_host_printer_t *printer, const byoc_host_buffer_t *buffer) {
  byoc_string_t *out = printer->out;
  byoc_string_appendf(out, "  %-8s ", byoc_host_buffer_kind_names[buffer->kind]);
  byoc_text_print_name('%', buffer->name, out);
  byoc_string_append(out, buffer->is_value ? " : value " : " : ");
  byoc_type_print(buffer->type, out);
  if (buffer->called != NULL) {
    byoc_string_append(out, " called ");
    print_quoted(buffer->called, out);
  }
  if (buffer->device != NULL && buffer->base == NULL) { // a view is where its base is
    byoc_string_append(out, " on ");
    byoc_text_print_name('%', buffer->device->name, out);
  }
  if (strcmp(buffer->scope, BYOC_HOST_MAIN_SCOPE) != 0 && (buffer->device == NULL || buffer->base == NULL)) {
    byoc_string_append(out, " scope ");
    print_quoted(buffer->scope, out);
  }
  if (buffer->kind == BYOC_HOST_BUFFER_LOCAL && buffer->offset_bytes != BYOC_HOST_OFFSET_NONE) {
    byoc_string_appendf(out, " at %" PRIu64, buffer->offset_bytes);
  } else if (buffer->kind == BYOC_HOST_BUFFER_VIEW) {
    byoc_string_append(out, " = ");
    byoc_text_print_name('%', buffer->base->name, out);
    byoc_string_append(out, " + ");
    if (byoc_host_buffer_moves(buffer)) byoc_dim_print(buffer->offset, out);
    if (!byoc_host_buffer_moves(buffer)) byoc_string_appendf(out, "%" PRIu64, buffer->offset_bytes);
  } else if (buffer->kind == BYOC_HOST_BUFFER_CONSTANT) {
    print_constant(printer, buffer);
  } else if (buffer->over != NULL) {
    byoc_string_append(out, " over ");
    byoc_text_print_name('%', buffer->over->name, out);
  }
  byoc_string_append(out, "\n");
}

static void print_symbols(const byoc_host_program_t *program, byoc_string_t *out) {
  for (size_t i = 0; i < program->symbols.count; ++i) {
    byoc_string_append(out, "  symbol   ");
    byoc_text_print_word(program->symbols.data[i], out);
    byoc_string_append(out, i < program->input_symbol_count ? " of inputs\n" : "\n");
  }
}

// ---- instructions ----

static void print_list(byoc_host_buffer_t *const *buffers, size_t count, byoc_string_t *out) {
  byoc_string_append(out, "(");
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    if (buffers[i] == NULL) byoc_string_append(out, "none");
    if (buffers[i] != NULL) byoc_text_print_name('%', buffers[i]->name, out);
  }
  byoc_string_append(out, ")");
}

static void print_operands(const byoc_host_instruction_t *i, byoc_string_t *out) {
  print_list(i->operands.data, i->operands.count, out);
}

static void print_results(const byoc_host_instruction_t *i, byoc_string_t *out) {
  byoc_string_append(out, " -> ");
  print_list(i->results.data, i->results.count, out);
}

// "[N, floordiv(H, 2)]"
static void print_values(const byoc_dim_t *dims, size_t count, byoc_string_t *out) {
  byoc_string_append(out, "[");
  for (size_t k = 0; k < count; ++k) {
    if (k > 0) byoc_string_append(out, ", ");
    byoc_dim_print(dims[k], out);
  }
  byoc_string_append(out, "]");
}

static void print_dims(const byoc_dim_t *dims, size_t count, byoc_string_t *out) {
  byoc_string_append(out, " ");
  print_values(dims, count, out);
}

// "operand 0 + 16 step 32", "i32 101"
static void print_c_argument(const byoc_c_argument_t *argument, byoc_string_t *out) {
  switch (argument->kind) {
  case BYOC_C_ARGUMENT_INTEGER:
    byoc_string_appendf(out, "%s %" PRId64, byoc_host_c_type_names[argument->type], argument->integer);
    return;
  case BYOC_C_ARGUMENT_REAL:
    byoc_string_appendf(out, "%s ", byoc_host_c_type_names[argument->type]);
    byoc_string_append_f64(out, argument->real);
    return;
  case BYOC_C_ARGUMENT_NULL:
    byoc_string_append(out, "null");
    return;
  case BYOC_C_ARGUMENT_RUNTIME:
    byoc_string_append(out, "runtime");
    return;
  default:
    break;
  }
  byoc_string_appendf(out, "%s %u", argument->kind == BYOC_C_ARGUMENT_OPERAND ? "operand" : "result", argument->index);
  if (argument->offset_bytes != 0) byoc_string_appendf(out, " + %" PRId64, argument->offset_bytes);
  if (argument->step_bytes != 0) byoc_string_appendf(out, " step %" PRId64, argument->step_bytes);
}

static void print_c_call(const byoc_host_instruction_t *i, byoc_string_t *out) {
  const byoc_c_call_t *call = i->c_call;
  byoc_string_appendf(out, "%s ", byoc_host_c_type_names[call->return_type]);
  byoc_text_print_word(call->symbol, out);
  print_operands(i, out);
  print_results(i, out);
  byoc_string_append(out, " with (");
  for (uint32_t a = 0; a < call->argument_count; ++a) {
    if (a > 0) byoc_string_append(out, ", ");
    print_c_argument(&call->arguments[a], out);
  }
  byoc_string_append(out, ")");
  if (call->repeat_count != 1) byoc_string_appendf(out, " times %" PRId64, call->repeat_count);
  if (call->result_from_operand >= 0) byoc_string_appendf(out, " start operand %d", call->result_from_operand);
}

// "%x binds N at 0, is 2 * N at 1"
static void print_match(const byoc_host_instruction_t *i, byoc_string_t *out) {
  byoc_text_print_name('%', i->operands.data[0]->name, out);
  for (uint32_t k = 0; k < i->match_count; ++k) {
    const byoc_host_match_t *match = &i->matches[k];
    byoc_string_append(out, k > 0 ? ", " : " ");
    byoc_string_append(out, match->symbol != BYOC_HOST_SYMBOL_NONE ? "binds " : "is ");
    byoc_dim_print(match->dim, out);
    byoc_string_appendf(out, " at %u", match->axis);
  }
}

static void print_bind(const byoc_host_program_t *program, const byoc_host_instruction_t *i, byoc_string_t *out) {
  byoc_text_print_name('%', i->operands.data[0]->name, out);
  byoc_string_append(out, " to");
  for (uint32_t k = 0; k < i->symbol_count; ++k) {
    byoc_string_append(out, k > 0 ? ", " : " ");
    byoc_text_print_word(program->symbols.data[i->symbols[k]], out);
  }
  byoc_string_append(out, " by ");
  print_quoted(i->symbol, out);
}

static void print_name_of_relation(const char *word, const char *name, byoc_string_t *out) {
  if (name == NULL) return;
  byoc_string_appendf(out, " %s ", word);
  print_quoted(name, out);
}

// "(N is M, K is_multiple_of 2 by "Conv 'c'")"
static void print_require(const byoc_host_instruction_t *i, byoc_string_t *out) {
  byoc_string_append(out, i->of_inputs ? "of inputs (" : "(");
  for (size_t k = 0; k < i->relations.count; ++k) {
    const byoc_host_relation_t *relation = &i->relations.data[k];
    if (k > 0) byoc_string_append(out, ", ");
    byoc_dim_print(relation->left, out);
    byoc_string_appendf(out, " %s ", byoc_host_relation_words[relation->kind]);
    byoc_dim_print(relation->right, out);
    print_name_of_relation("by", relation->names.where, out);
    print_name_of_relation("left", relation->names.left, out);
    print_name_of_relation("right", relation->names.right, out);
  }
  byoc_string_append(out, ")");
}

static void print_call(const byoc_host_instruction_t *i, byoc_string_t *out) {
  if (i->launch != NULL) byoc_host_print_launch_head(i->launch, out);
  if (i->launch == NULL && i->symbol != NULL) byoc_text_print_word(i->symbol, out);
  print_operands(i, out);
  if (i->kernel != NULL && i->kernel->symbols.count > 0) print_dims(i->dims, i->kernel->symbols.count, out);
  if (i->region_count == 0 || i->results.count > 0) print_results(i, out);
  if (i->launch != NULL) byoc_host_print_arguments(i->launch, out);
  if (i->collective != NULL) byoc_host_print_collective(i->collective, out);
  if (i->takes_operand > 0) byoc_string_appendf(out, " over %u", i->takes_operand - 1);
  if (i->engine != NULL && i->json != NULL) {
    byoc_string_append(out, " by ");
    print_quoted(i->engine->name, out);
    byoc_string_append(out, " ");
    print_quoted(i->json->name, out);
  }
  if (i->op == BYOC_HOST_CONTAINER && i->axis != 0) byoc_string_appendf(out, " axis %" PRId64, i->axis);
  if (i->op == BYOC_HOST_CONTAINER && i->flag != 0) byoc_string_appendf(out, " flag %" PRId64, i->flag);
  if (i->op == BYOC_HOST_LOOP && i->dims != NULL && byoc_host_loop_dim_count(i) > 0) {
    byoc_string_append(out, " scanned");
    print_dims(i->dims, byoc_host_loop_dim_count(i), out);
  }
}

// "I from 0 to 8 step 2 carrying (%x) -> (%y)"
static void print_counted_loop(const byoc_host_program_t *program, const byoc_host_instruction_t *i,
                               byoc_string_t *out) {
  byoc_text_print_word(program->symbols.data[i->count->symbol], out);
  byoc_string_append(out, " from ");
  byoc_dim_print(i->count->start, out);
  byoc_string_append(out, " to ");
  byoc_dim_print(i->count->stop, out);
  byoc_string_append(out, " step ");
  byoc_dim_print(i->count->step, out);
  if (i->operands.count == 0 && i->results.count == 0) return;
  byoc_string_append(out, " carrying ");
  print_operands(i, out);
  print_results(i, out);
}

static void print_operation(const byoc_host_program_t *program, const byoc_host_instruction_t *i, byoc_string_t *out) {
  switch (i->op) {
  case BYOC_HOST_ALLOCATE:
  case BYOC_HOST_FREE:
    byoc_text_print_name('%', i->operands.data[0]->name, out);
    if (i->allocation != BYOC_HOST_FRESH) byoc_string_appendf(out, " %s", byoc_host_allocation_words[i->allocation]);
    return;
  case BYOC_HOST_COPY:
  case BYOC_HOST_SHARE:
    byoc_text_print_name('%', i->operands.data[0]->name, out);
    byoc_string_append(out, " -> ");
    byoc_text_print_name('%', i->results.data[0]->name, out);
    return;
  case BYOC_HOST_MATCH:
    print_match(i, out);
    return;
  case BYOC_HOST_BIND:
    print_bind(program, i, out);
    return;
  case BYOC_HOST_REQUIRE:
    print_require(i, out);
    return;
  case BYOC_HOST_YIELD:
    print_operands(i, out);
    return;
  case BYOC_HOST_LET:
    byoc_text_print_word(program->symbols.data[i->symbols[0]], out);
    byoc_string_append(out, " = ");
    byoc_dim_print(i->dims[0], out);
    return;
  case BYOC_HOST_STORE:
    print_values(i->dims, byoc_host_store_count(i), out);
    print_results(i, out);
    return;
  case BYOC_HOST_FILL:
    byoc_text_print_name('%', i->results.data[0]->name, out);
    byoc_string_appendf(out, " with %" PRIu64, i->pattern);
    return;
  case BYOC_HOST_BARRIER:
    return;
  case BYOC_HOST_AWAIT:
    byoc_host_print_events(i, out);
    return;
  case BYOC_HOST_C_CALL:
    print_c_call(i, out);
    break;
  default:
    if (i->count != NULL) print_counted_loop(program, i, out);
    if (i->count == NULL) print_call(i, out);
    break;
  }
  if (i->workspace != NULL) {
    byoc_string_append(out, " workspace ");
    byoc_text_print_name('%', i->workspace->name, out);
  }
  if (i->function != NULL && i->op != BYOC_HOST_KERNEL) {
    byoc_string_append(out, " of ");
    byoc_text_print_name('@', i->function->name, out);
  }
  if (i->flops >= 0) {
    byoc_string_append(out, " flops ");
    byoc_string_append_f64(out, i->flops);
    if (i->arithmetic != BYOC_ARITHMETIC_F32) byoc_string_appendf(out, " %s", byoc_arithmetic_name(i->arithmetic));
  }
}

static void print_region(const byoc_host_program_t *program, const byoc_host_region_t *region, int depth,
                         byoc_string_t *out);

static void print_regions(const byoc_host_program_t *program, const byoc_host_instruction_t *i, int depth,
                          byoc_string_t *out) {
  static const char *const branches[] = {"then", "else"};
  for (uint32_t r = 0; r < i->region_count; ++r) {
    byoc_string_appendf(out, "%*s%s", 2 * depth, "", i->op == BYOC_HOST_LOOP ? "body" : branches[r]);
    if (i->op == BYOC_HOST_LOOP && (i->count == NULL || i->regions[r].parameters.count > 0)) {
      byoc_string_append(out, " ");
      print_list(i->regions[r].parameters.data, i->regions[r].parameters.count, out);
    }
    byoc_string_append(out, " {\n");
    print_region(program, &i->regions[r], depth + 1, out);
    byoc_string_appendf(out, "%*s}\n", 2 * depth, "");
  }
}

static void print_region(const byoc_host_program_t *program, const byoc_host_region_t *region, int depth,
                         byoc_string_t *out) {
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    byoc_string_appendf(out, "%*s%s ", 2 * depth, "", byoc_host_op_name(i->op));
    print_operation(program, i, out);
    byoc_host_print_order(i, out);
    if (i->origin != NULL && i->origin[0] != '\0') {
      byoc_string_append(out, " ");
      print_quoted(i->origin, out);
    }
    byoc_string_append(out, "\n");
    print_regions(program, i, depth, out);
  }
}

// ---- the whole ----

void byoc_host_program_print(const byoc_host_program_t *program, const byoc_host_print_options_t *options,
                             byoc_string_t *out) {
  byoc_host_printer_t printer = {.program = program, .out = out};
  if (options != NULL) printer.options = *options;
  byoc_string_append(out, "host program ");
  print_quoted(program->name, out);
  if (program->is_dynamic) byoc_string_append(out, " dynamic");
  if (program->cpu_features[0] != '\0') {
    byoc_string_append(out, " requires ");
    print_quoted(program->cpu_features, out);
  }
  if (program->rank_count > 0) byoc_string_appendf(out, " rank %d of %u", program->rank, program->rank_count);
  if (program->rank_build != 0) byoc_string_appendf(out, " build %" PRId64, (int64_t)program->rank_build);
  byoc_string_appendf(out, " workspace %" PRIu64 " bound %" PRIu64, program->workspace_size_bytes,
                      program->workspace_bound_bytes);
  if (program->live_bound_bytes.expr != NULL || program->live_bound_bytes.constant != 0) {
    byoc_string_append(out, " live ");
    byoc_dim_print(program->live_bound_bytes, out);
  }
  byoc_string_append(out, " {\n");
  print_symbols(program, out);
  byoc_host_print_devices(program, out);
  for (size_t i = 0; i < program->buffers.count; ++i) print_buffer(&printer, program->buffers.data[i]);
  byoc_string_append(out, "\n");
  print_region(program, &program->body, 1, out);
  byoc_string_append(out, "}\n");
  if (!printer.options.program_only) byoc_host_print_parts(&printer);
}
