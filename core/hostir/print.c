// Prints host programs.
#include <inttypes.h>

#include "core/hostir/program.h"
#include "core/ir/text_names.h"

const char *byoc_host_op_name(byoc_host_op_t op) {
  switch (op) {
#define BYOC_HOST_OP_CASE(NAME, text)                                                                                  \
  case BYOC_HOST_##NAME:                                                                                               \
    return text;
    BYOC_HOST_OP_LIST(BYOC_HOST_OP_CASE)
#undef BYOC_HOST_OP_CASE
  default:
    return "?";
  }
}

static const char *buffer_kind_name(byoc_host_buffer_kind_t kind) {
  switch (kind) {
  case BYOC_HOST_BUFFER_INPUT:
    return "input   ";
  case BYOC_HOST_BUFFER_OUTPUT:
    return "output  ";
  case BYOC_HOST_BUFFER_CONSTANT:
    return "constant";
  case BYOC_HOST_BUFFER_LOCAL:
    return "local   ";
  case BYOC_HOST_BUFFER_VIEW:
    return "view    ";
  }
  return "?";
}

static bool is_identifier(const char *name) {
  if (*name == '\0') return false;
  for (; *name; ++name) {
    bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9') ||
                 *name == '_' || *name == '.';
    if (!plain) return false;
  }
  return true;
}

static void print_name(char sigil, const char *name, byoc_string_t *out) {
  byoc_string_appendf(out, "%c", sigil);
  if (is_identifier(name)) {
    byoc_string_append(out, name);
  } else {
    byoc_string_append_quoted(out, name);
  }
}

static void print_buffer(const byoc_host_buffer_t *buffer, byoc_string_t *out) {
  byoc_string_appendf(out, "  %s ", buffer_kind_name(buffer->kind));
  print_name('%', buffer->name, out);
  byoc_string_append(out, buffer->is_value ? " : value " : " : ");
  byoc_type_print(buffer->type, out);
  if (buffer->kind == BYOC_HOST_BUFFER_LOCAL && buffer->offset_bytes != BYOC_HOST_OFFSET_NONE) {
    byoc_string_appendf(out, " at %" PRIu64, buffer->offset_bytes);
  } else if (buffer->kind == BYOC_HOST_BUFFER_VIEW) {
    byoc_string_append(out, " = ");
    print_name('%', buffer->base->name, out);
    byoc_string_appendf(out, " + %" PRIu64, buffer->offset_bytes);
  } else if (buffer->kind == BYOC_HOST_BUFFER_CONSTANT && buffer->constant != NULL) {
    byoc_string_append(out, " = ");
    print_name('@', buffer->constant->name, out);
  }
  byoc_string_append(out, "\n");
}

static void print_list(byoc_host_buffer_t *const *buffers, size_t count, byoc_string_t *out) {
  byoc_string_append(out, "(");
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) byoc_string_append(out, ", ");
    if (buffers[i] == NULL) byoc_string_append(out, "none");
    if (buffers[i] != NULL) print_name('%', buffers[i]->name, out);
  }
  byoc_string_append(out, ")");
}

static void print_c_argument(const byoc_c_argument_t *argument, const byoc_host_instruction_t *call,
                             byoc_string_t *out) {
  switch (argument->kind) {
  case BYOC_C_ARGUMENT_INTEGER:
    byoc_string_appendf(out, "%" PRId64, argument->integer);
    return;
  case BYOC_C_ARGUMENT_REAL:
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
  bool is_operand = argument->kind == BYOC_C_ARGUMENT_OPERAND;
  print_name('%', (is_operand ? call->operands.data : call->results.data)[argument->index]->name, out);
  if (argument->offset_bytes) byoc_string_appendf(out, " + %" PRId64, argument->offset_bytes);
  if (argument->step_bytes) byoc_string_appendf(out, " step %" PRId64, argument->step_bytes);
}

// " [N, floordiv(H, 2)]": the values of a call's symbols.
static void print_dims(const byoc_dim_t *dims, size_t count, byoc_string_t *out) {
  byoc_string_append(out, " [");
  for (size_t k = 0; k < count; ++k) {
    if (k > 0) byoc_string_append(out, ", ");
    byoc_dim_print(dims[k], out);
  }
  byoc_string_append(out, "]");
}

// "%x binds N at 0, is 2*N at 1"
static void print_match(const byoc_host_instruction_t *i, byoc_string_t *out) {
  print_name('%', i->operands.data[0]->name, out);
  for (uint32_t k = 0; k < i->match_count; ++k) {
    const byoc_host_match_t *match = &i->matches[k];
    byoc_string_append(out, k > 0 ? ", " : " ");
    byoc_string_append(out, match->symbol != BYOC_HOST_SYMBOL_NONE ? "binds " : "is ");
    byoc_dim_print(match->dim, out);
    byoc_string_appendf(out, " at %u", match->axis);
  }
}

static void print_bind(const byoc_host_program_t *program, const byoc_host_instruction_t *i, byoc_string_t *out) {
  print_name('%', i->operands.data[0]->name, out);
  byoc_string_append(out, " ->");
  for (uint32_t k = 0; k < i->symbol_count; ++k) {
    byoc_string_append(out, k > 0 ? ", " : " ");
    byoc_text_print_word(program->symbols.data[i->symbols[k]], out);
  }
}

const char *byoc_host_instruction_name(const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_MATCH || i->op == BYOC_HOST_REQUIRE || i->op == BYOC_HOST_BIND) return "checking shapes";
  if (i->op == BYOC_HOST_ALLOCATE) { // named after the operator that is about to run
    while (i->op == BYOC_HOST_ALLOCATE && i->next != NULL) i = i->next;
  }
  if (i->origin != NULL && i->origin[0] != '\0') return i->origin;
  return i->symbol != NULL ? i->symbol : byoc_host_op_name(i->op);
}

// "N is M, K is a multiple of 2"
static void print_require(const byoc_host_instruction_t *i, byoc_string_t *out) {
  static const char *const texts[] = {
#define BYOC_RELATION_TEXT(NAME, text) text,
      BYOC_RELATION_LIST(BYOC_RELATION_TEXT)
#undef BYOC_RELATION_TEXT
  };
  for (size_t k = 0; k < i->relations.count; ++k) {
    const byoc_host_relation_t *relation = &i->relations.data[k];
    if (k > 0) byoc_string_append(out, ", ");
    byoc_dim_print(relation->left, out);
    byoc_string_appendf(out, " %s ", texts[relation->kind]);
    byoc_dim_print(relation->right, out);
  }
}

static void print_region(const byoc_host_program_t *program, const byoc_host_region_t *region, int depth,
                         byoc_string_t *out);

static void print_instruction(const byoc_host_program_t *program, const byoc_host_instruction_t *i, int depth,
                              byoc_string_t *out) {
  static const char *const branches[] = {"then", "else"};
  byoc_string_appendf(out, "%*s%s", 2 * depth, "", byoc_host_op_name(i->op));
  if (i->op != BYOC_HOST_YIELD) byoc_string_append(out, " ");
  switch (i->op) {
  case BYOC_HOST_ALLOCATE:
  case BYOC_HOST_FREE:
    print_name('%', i->operands.data[0]->name, out);
    break;
  case BYOC_HOST_COPY:
  case BYOC_HOST_SHARE:
    print_name('%', i->operands.data[0]->name, out);
    byoc_string_append(out, " -> ");
    print_name('%', i->results.data[0]->name, out);
    break;
  case BYOC_HOST_MATCH:
    print_match(i, out);
    break;
  case BYOC_HOST_BIND:
    print_bind(program, i, out);
    break;
  case BYOC_HOST_REQUIRE:
    print_require(i, out);
    break;
  case BYOC_HOST_YIELD:
    print_list(i->operands.data, i->operands.count, out);
    break;
  case BYOC_HOST_C_CALL:
    byoc_string_appendf(out, "%s(", i->symbol);
    for (uint32_t a = 0; a < i->c_call->argument_count; ++a) {
      if (a > 0) byoc_string_append(out, ", ");
      print_c_argument(&i->c_call->arguments[a], i, out);
    }
    byoc_string_append(out, ")");
    if (i->c_call->repeat_count > 1) byoc_string_appendf(out, " times %" PRId64, i->c_call->repeat_count);
    break;
  default:
    if (i->symbol != NULL) byoc_string_append(out, i->symbol);
    print_list(i->operands.data, i->operands.count, out);
    if (i->kernel != NULL && i->kernel->symbols.count > 0) print_dims(i->dims, i->kernel->symbols.count, out);
    byoc_string_append(out, " -> ");
    print_list(i->results.data, i->results.count, out);
    if (i->engine != NULL) byoc_string_appendf(out, " by %s", i->engine->name);
    if (i->workspace != NULL) {
      byoc_string_append(out, " workspace ");
      print_name('%', i->workspace->name, out);
    }
    break;
  }
  if (i->origin != NULL && i->origin[0] != '\0') byoc_string_appendf(out, "  // %s", i->origin);
  byoc_string_append(out, "\n");
  for (uint32_t r = 0; r < i->region_count; ++r) {
    byoc_string_appendf(out, "%*s%s", 2 * depth, "", i->op == BYOC_HOST_LOOP ? "body" : branches[r]);
    if (i->op == BYOC_HOST_LOOP) {
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
    print_instruction(program, i, depth, out);
  }
}

void byoc_host_program_print(const byoc_host_program_t *program, byoc_string_t *out) {
  byoc_string_append(out, "host program ");
  byoc_string_append_quoted(out, program->name);
  byoc_string_appendf(out, " {  // workspace %" PRIu64 " bytes, liveness bound %" PRIu64 "\n",
                      program->workspace_size_bytes, program->workspace_bound_bytes);
  for (size_t i = 0; i < program->symbols.count; ++i) {
    byoc_string_append(out, "  symbol   ");
    byoc_text_print_word(program->symbols.data[i], out);
    byoc_string_append(out, "\n");
  }
  for (size_t i = 0; i < program->buffers.count; ++i) print_buffer(program->buffers.data[i], out);
  byoc_string_append(out, "\n");
  print_region(program, &program->body, 1, out);
  byoc_string_append(out, "}\n");
}
