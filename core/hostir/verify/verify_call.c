// SPDX-License-Identifier: Apache-2.0
// Checks an instruction of a host program on its own: counts, types and alignment against its callee.
#include <string.h>

#include "byoc/call.h"
#include "core/hostir/verify/verify_internal.h"
#include "core/module/c_call.h"
#include "core/runtime/check.h"

// ---- counts ----

#define ANY SIZE_MAX

static const struct {
  size_t operands, results; // ANY: checked elsewhere
  uint32_t regions;
  bool of_cells; // operands and results are values
  bool may_lack; // operands may be left out
} shapes[BYOC_HOST_OP_COUNT] = {
    [BYOC_HOST_ALLOCATE] = {1, 0, 0, false, false},   [BYOC_HOST_FREE] = {1, 0, 0, false, false},
    [BYOC_HOST_KERNEL] = {ANY, ANY, 0, false, false}, [BYOC_HOST_PACKED] = {ANY, ANY, 0, false, false},
    [BYOC_HOST_ENGINE] = {ANY, ANY, 0, false, false}, [BYOC_HOST_C_CALL] = {ANY, ANY, 0, false, false},
    [BYOC_HOST_COPY] = {1, 1, 0, false, false},       [BYOC_HOST_SHARE] = {1, 1, 0, true, false},
    [BYOC_HOST_MATCH] = {1, 0, 0, true, false},       [BYOC_HOST_BIND] = {1, 0, 0, false, false},
    [BYOC_HOST_REQUIRE] = {0, 0, 0, false, false},    [BYOC_HOST_CONTAINER] = {ANY, 1, 0, true, true},
    [BYOC_HOST_BRANCH] = {1, ANY, 2, false, false},   [BYOC_HOST_LOOP] = {ANY, ANY, 1, true, true},
    [BYOC_HOST_YIELD] = {ANY, 0, 0, true, false},     [BYOC_HOST_LET] = {0, 0, 0, false, false},
    [BYOC_HOST_STORE] = {0, 1, 0, false, false},      [BYOC_HOST_LAUNCH] = {ANY, ANY, 0, false, false},
    [BYOC_HOST_FILL] = {0, 1, 0, false, false},       [BYOC_HOST_BARRIER] = {0, 0, 0, false, false},
    [BYOC_HOST_AWAIT] = {0, 0, 0, false, false},      [BYOC_HOST_COLLECTIVE] = {ANY, ANY, 0, false, false},
};

static byoc_status_t check_counts(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const size_t operands = shapes[i->op].operands, results = shapes[i->op].results;
  if (operands != ANY && i->operands.count != operands) {
    return byoc_host_verify_refuse(v, "it has %zu operands, not %zu", i->operands.count, operands);
  }
  if (results != ANY && i->results.count != results) {
    return byoc_host_verify_refuse(v, "it has %zu results, not %zu", i->results.count, results);
  }
  if (i->region_count != shapes[i->op].regions) {
    return byoc_host_verify_refuse(v, "it has %u regions, not %u", i->region_count, shapes[i->op].regions);
  }
  for (size_t k = 0; k < i->operands.count; ++k) {
    const byoc_host_buffer_t *operand = i->operands.data[k];
    if (operand == NULL && !shapes[i->op].may_lack) return byoc_host_verify_refuse(v, "operand %zu is left out", k);
    if (operand != NULL && shapes[i->op].of_cells && !operand->is_value) {
      return byoc_host_verify_refuse(v, "operand %zu, '%s', is not a value", k, operand->name);
    }
  }
  bool makes_cells = shapes[i->op].of_cells || i->op == BYOC_HOST_BRANCH;
  for (size_t k = 0; k < i->results.count; ++k) {
    const byoc_host_buffer_t *result = i->results.data[k];
    if (makes_cells && !result->is_value) {
      return byoc_host_verify_refuse(v, "result %zu, '%s', is not a value", k, result->name);
    }
  }
  return BYOC_OK;
}

// ---- types ----

static bool is_scalar_of(const byoc_host_buffer_t *buffer, byoc_dtype_t dtype) {
  if (buffer->type->kind == BYOC_TYPE_UNKNOWN) return true;
  return byoc_type_is_tensor(buffer->type) && buffer->type->dtype == dtype &&
         (!byoc_type_is_static(buffer->type) || byoc_type_element_count(buffer->type) == 1);
}

static byoc_status_t check_scalar(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, byoc_dtype_t dtype,
                                  const char *what) {
  if (buffer == NULL || is_scalar_of(buffer, dtype)) return BYOC_OK;
  return byoc_host_verify_refuse(v, "%s, '%s', is not one element of type %s", what, buffer->name,
                                 byoc_dtype_name(dtype));
}

static const byoc_type_t *skip_optional(const byoc_type_t *type) {
  return type->kind == BYOC_TYPE_OPTIONAL ? type->element : type;
}

// Does a value of one type serve as one of the other? The element of an optional is the same value. Shapes of cells,
// and unknown types, are compared when the program runs.
static bool is_same_kind(const byoc_type_t *a, const byoc_type_t *b) {
  for (;;) {
    a = skip_optional(a);
    b = skip_optional(b);
    if (a->kind == BYOC_TYPE_UNKNOWN || b->kind == BYOC_TYPE_UNKNOWN) return true;
    if (a->kind != b->kind) return false;
    if (byoc_type_is_tensor(a)) return a->dtype == b->dtype;
    if (a->element == NULL || b->element == NULL) return true;
    a = a->element;
    b = b->element;
  }
}

static byoc_status_t check_given(byoc_host_verifier_t *v, const byoc_host_buffer_t *from,
                                 const byoc_host_buffer_t *to) {
  if (is_same_kind(from->type, to->type)) return BYOC_OK;
  return byoc_host_verify_refuse(v, "'%s' becomes '%s', which has another type", from->name, to->name);
}

// A tensor may be read as one of other elements of the same size.
static byoc_status_t check_share(byoc_host_verifier_t *v, const byoc_host_buffer_t *from,
                                 const byoc_host_buffer_t *to) {
  const bool are_tensors = byoc_type_is_tensor(from->type) && byoc_type_is_tensor(to->type);
  return are_tensors && byoc_host_same_bits(from->type, to->type) ? BYOC_OK : check_given(v, from, to);
}

// Memory that byoc allocates is aligned to BYOC_BUFFER_ALIGNMENT, which backends may rely on (byoc/call.h). A caller's
// buffers are aligned to their elements; all code relies on that.
static byoc_status_t check_alignment(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, bool of_backend) {
  if (buffer->kind != BYOC_HOST_BUFFER_VIEW || buffer->size_bytes == 0) return BYOC_OK;
  const uint32_t bits = byoc_dtype_bits(buffer->type->dtype);
  bool is_ours = buffer->base->kind == BYOC_HOST_BUFFER_LOCAL || buffer->base->kind == BYOC_HOST_BUFFER_CONSTANT;
  const uint64_t alignment = of_backend && is_ours ? BYOC_BUFFER_ALIGNMENT : bits > 8 ? bits / 8 : 1;
  if (byoc_host_range_of_offset(&v->ranges, buffer).divisor % alignment == 0) return BYOC_OK;
  if (byoc_host_buffer_moves(buffer)) {
    return byoc_host_verify_refuse(v, "buffer '%s' may be anywhere in '%s'; the callee takes multiples of %llu",
                                   buffer->name, buffer->base->name, (unsigned long long)alignment);
  }
  return byoc_host_verify_refuse(v, "buffer '%s' is at byte %llu of '%s'; the callee takes multiples of %llu",
                                 buffer->name, (unsigned long long)buffer->offset_bytes, buffer->base->name,
                                 (unsigned long long)alignment);
}

// ---- calls ----

static bool is_check(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_PACKED && i->function == NULL &&
         (strcmp(i->symbol, BYOC_CHECK_DIMS) == 0 || strcmp(i->symbol, BYOC_CHECK_RANGE) == 0 ||
          strcmp(i->symbol, BYOC_CHECK_FAIL) == 0);
}

// The pointers that a C function gets must point into their buffers, in every repetition.
static byoc_status_t check_c_call(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->c_call == NULL) return byoc_host_verify_refuse(v, "it has no description of its C function");
  if (byoc_c_call_verify(i->c_call, (uint32_t)i->operands.count, (uint32_t)i->results.count, v->diag) != BYOC_OK) {
    return byoc_diag_context(v->diag, BYOC_INTERNAL, "host program '%s': instruction %zu", v->program->name, v->number);
  }
  for (uint32_t k = 0; k < i->c_call->argument_count; ++k) {
    const byoc_c_argument_t *argument = &i->c_call->arguments[k];
    bool is_operand = argument->kind == BYOC_C_ARGUMENT_OPERAND;
    if (!is_operand && argument->kind != BYOC_C_ARGUMENT_RESULT) continue;
    const byoc_host_buffer_t *buffer =
        is_operand ? i->operands.data[argument->index] : i->results.data[argument->index];
    if (!byoc_type_is_static(buffer->type)) continue;
    int64_t last = 0;
    bool fits = !__builtin_mul_overflow(argument->step_bytes, i->c_call->repeat_count - 1, &last) &&
                !__builtin_add_overflow(last, argument->offset_bytes, &last) && argument->offset_bytes >= 0 &&
                last >= 0 && (uint64_t)argument->offset_bytes <= buffer->size_bytes &&
                (uint64_t)last <= buffer->size_bytes;
    if (fits) continue;
    return byoc_host_verify_refuse(v, "argument %u points outside of buffer '%s'", k, buffer->name);
  }
  return BYOC_OK;
}

static byoc_status_t check_call(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_KERNEL) BYOC_RETURN_IF_ERROR(byoc_host_verify_kernel(v, i));
  if (i->op == BYOC_HOST_C_CALL) BYOC_RETURN_IF_ERROR(check_c_call(v, i));
  if (i->symbol == NULL) return byoc_host_verify_refuse(v, "it has no symbol to call");
  if (i->op == BYOC_HOST_ENGINE && (i->engine == NULL || i->json == NULL)) {
    return byoc_host_verify_refuse(v, "it has no engine to run its function");
  }
  if (i->results.count == 0 && !is_check(i)) return byoc_host_verify_refuse(v, "a call without results");
  bool of_backend = i->op == BYOC_HOST_PACKED || i->op == BYOC_HOST_ENGINE;
  if (of_backend) BYOC_RETURN_IF_ERROR(byoc_host_verify_function(v, i));
  if (i->op == BYOC_HOST_PACKED && i->function == NULL) {
    BYOC_RETURN_IF_ERROR(byoc_host_verify_artifact_function(v, i));
  }
  for (size_t k = 0; k < i->operands.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_alignment(v, i->operands.data[k], of_backend));
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_alignment(v, i->results.data[k], of_backend));
  }
  return i->workspace != NULL ? check_alignment(v, i->workspace, true) : BYOC_OK;
}

static byoc_status_t check_collective(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  BYOC_RETURN_IF_ERROR(byoc_host_verify_collective(v, i));
  if (i->operands.count > 0) BYOC_RETURN_IF_ERROR(check_alignment(v, i->operands.data[0], false));
  return i->results.count > 0 ? check_alignment(v, i->results.data[0], false) : BYOC_OK;
}

// ---- operators on containers ----

static const struct {
  const char *symbol;
  size_t least, most; // operands; those behind the least may be left out
} containers[] = {
    {"SequenceEmpty", 0, 0}, {"SequenceConstruct", 0, ANY}, {"SequenceInsert", 2, 3},     {"SequenceErase", 1, 2},
    {"SequenceAt", 2, 2},    {"SequenceLength", 1, 1},      {"ConcatFromSequence", 1, 1}, {"SplitToSequence", 1, 2},
    {"Optional", 0, 1},      {"OptionalHasElement", 0, 1},  {"OptionalGetElement", 1, 1}, {"RankIs", 1, 1},
    {"AsRank", 1, 1},
};

static byoc_status_t check_container(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const size_t count = i->operands.count;
  for (size_t k = 0; k < sizeof(containers) / sizeof(containers[0]); ++k) {
    if (i->symbol == NULL || strcmp(containers[k].symbol, i->symbol) != 0) continue;
    if (count < containers[k].least || count > containers[k].most) {
      return byoc_host_verify_refuse(v, "it has %zu operands, and takes at least %zu", count, containers[k].least);
    }
    const size_t needed = containers[k].most == ANY ? count : containers[k].least;
    for (size_t operand = 0; operand < needed; ++operand) {
      if (i->operands.data[operand] == NULL) return byoc_host_verify_refuse(v, "operand %zu is left out", operand);
    }
    return BYOC_OK;
  }
  return byoc_host_verify_refuse(v, "it has no operator");
}

// ---- control ----

// A loop that counts carries values only; it works on static buffers in place.
static byoc_status_t check_counted_loop(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_region_t *body = &i->regions[0];
  if (i->operands.count != i->results.count || i->operands.count != body->parameters.count) {
    return byoc_host_verify_refuse(v, "%zu operands, %zu parameters and %zu results do not fit", i->operands.count,
                                   body->parameters.count, i->results.count);
  }
  for (size_t k = 0; k < i->operands.count; ++k) {
    if (i->operands.data[k] == NULL) return byoc_host_verify_refuse(v, "operand %zu is left out", k);
    BYOC_RETURN_IF_ERROR(check_given(v, i->operands.data[k], body->parameters.data[k]));
    BYOC_RETURN_IF_ERROR(check_given(v, body->parameters.data[k], i->results.data[k]));
  }
  return BYOC_OK;
}

static byoc_status_t check_loop(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_region_t *body = &i->regions[0];
  if (i->count != NULL) return check_counted_loop(v, i);
  if (i->operands.count < 2 || i->results.count + 2 < i->operands.count ||
      body->parameters.count != i->operands.count) {
    return byoc_host_verify_refuse(v, "%zu operands, %zu parameters and %zu results do not fit", i->operands.count,
                                   body->parameters.count, i->results.count);
  }
  BYOC_RETURN_IF_ERROR(check_scalar(v, i->operands.data[0], BYOC_DTYPE_I64, "the trip count"));
  BYOC_RETURN_IF_ERROR(check_scalar(v, i->operands.data[1], BYOC_DTYPE_BOOL, "the condition"));
  BYOC_RETURN_IF_ERROR(check_scalar(v, body->parameters.data[0], BYOC_DTYPE_I64, "the iteration"));
  BYOC_RETURN_IF_ERROR(check_scalar(v, body->parameters.data[1], BYOC_DTYPE_BOOL, "the condition"));
  for (size_t k = 2; k < i->operands.count; ++k) {
    if (i->operands.data[k] == NULL) return byoc_host_verify_refuse(v, "operand %zu is left out", k);
    BYOC_RETURN_IF_ERROR(check_given(v, i->operands.data[k], body->parameters.data[k]));
    BYOC_RETURN_IF_ERROR(check_given(v, body->parameters.data[k], i->results.data[k - 2]));
  }
  for (size_t k = i->operands.count - 2; k < i->results.count; ++k) {
    const byoc_type_t *type = i->results.data[k]->type;
    if (byoc_type_is_tensor(type) && type->rank > 0) continue;
    return byoc_host_verify_refuse(v, "result %zu, '%s', is scanned, but has no first dimension", k,
                                   i->results.data[k]->name);
  }
  return BYOC_OK;
}

static byoc_status_t check_yield(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_instruction_t *owner = i->region->owner;
  if (owner == NULL) return byoc_host_verify_refuse(v, "a yield outside of a region");
  bool of_loop = owner->op == BYOC_HOST_LOOP && owner->count == NULL;
  size_t wanted = owner->results.count + of_loop;
  if (i->operands.count != wanted) {
    return byoc_host_verify_refuse(v, "a yield of %zu values; its owner takes %zu", i->operands.count, wanted);
  }
  if (of_loop) BYOC_RETURN_IF_ERROR(check_scalar(v, i->operands.data[0], BYOC_DTYPE_BOOL, "the condition"));
  for (size_t k = of_loop; k < wanted; ++k) {
    BYOC_RETURN_IF_ERROR(check_given(v, i->operands.data[k], owner->results.data[k - of_loop]));
  }
  return BYOC_OK;
}

static byoc_status_t check_copy(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  // A command of a device may find its size when the program runs.
  const bool is_command = i->on.queue != NULL && !byoc_host_device_is_host(i->on.queue->device);
  const bool is_same = is_command && from->kind != BYOC_HOST_BUFFER_VIEW && to->kind != BYOC_HOST_BUFFER_VIEW &&
                       byoc_type_equal(from->type, to->type);
  if (!is_same && (!byoc_type_is_static(from->type) || !byoc_type_is_static(to->type))) {
    return byoc_host_verify_refuse(v, "buffer '%s' is copied from '%s', but their sizes are not known", to->name,
                                   from->name);
  }
  if (byoc_host_verify_holds_strings(from) != byoc_host_verify_holds_strings(to)) {
    return byoc_host_verify_refuse(v, "buffer '%s' is copied from '%s', but only one of them holds strings", to->name,
                                   from->name);
  }
  if (from->size_bytes != to->size_bytes) {
    return byoc_host_verify_refuse(v, "buffer '%s' is copied from '%s', which has another size", to->name, from->name);
  }
  return BYOC_OK;
}

static byoc_status_t check_match(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  bool is_known = byoc_type_is_tensor(buffer->type) && buffer->type->rank != BYOC_RANK_UNKNOWN;
  if (!is_known || !byoc_host_buffer_in_cell(buffer)) {
    return byoc_host_verify_refuse(v, "'%s' is no tensor of a known rank in a cell", buffer->name);
  }
  for (uint32_t k = 0; k < i->match_count; ++k) {
    if (i->matches[k].axis < (uint32_t)buffer->type->rank) continue;
    return byoc_host_verify_refuse(v, "'%s' has no dimension %u", buffer->name, i->matches[k].axis);
  }
  return BYOC_OK;
}

static byoc_status_t check_store(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->results.data[0];
  if (i->dims != NULL && byoc_type_is_static(buffer->type) && buffer->type->dtype == BYOC_DTYPE_I64 &&
      byoc_type_element_count(buffer->type) > 0) {
    return check_alignment(v, buffer, false);
  }
  return byoc_host_verify_refuse(v, "'%s' is no tensor of known size and type i64 with elements", buffer->name);
}

static byoc_status_t check_bind(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  if (byoc_type_is_tensor(buffer->type) && buffer->type->dtype == BYOC_DTYPE_I64 &&
      byoc_type_element_count(buffer->type) == (int64_t)i->symbol_count) {
    return check_alignment(v, buffer, false);
  }
  return byoc_host_verify_refuse(v, "%u symbols are bound to '%s', which has another size or type", i->symbol_count,
                                 buffer->name);
}

// Does the instruction keep a value beyond its own end?
static bool passes_on(byoc_host_op_t op) {
  return op == BYOC_HOST_SHARE || op == BYOC_HOST_CONTAINER || op == BYOC_HOST_LOOP || op == BYOC_HOST_YIELD;
}

// Zeroed or cached. A cached buffer is written again in the next iteration, so nothing else may have its cell then.
static byoc_status_t check_allocation(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  const char *word = i->allocation == BYOC_HOST_ZEROED ? "zeroed" : "cached";
  if (!byoc_type_is_tensor(buffer->type) || buffer->type->dtype == BYOC_DTYPE_STRING) {
    return byoc_host_verify_refuse(v, "buffer '%s' is %s, but holds no numbers", buffer->name, word);
  }
  if (i->allocation != BYOC_HOST_CACHED) return BYOC_OK;
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    const byoc_host_instruction_t *user = buffer->uses.data[k].instruction;
    if (user->op == BYOC_HOST_ALLOCATE && user->allocation != BYOC_HOST_CACHED) {
      return byoc_host_verify_refuse(v, "buffer '%s' is cached here, and not where it is allocated elsewhere",
                                     buffer->name);
    }
    if (!buffer->is_value || !passes_on(user->op)) continue;
    return byoc_host_verify_refuse(v, "buffer '%s' is cached, but a %s passes it on", buffer->name,
                                   byoc_host_op_name(user->op));
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_verify_alone(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  BYOC_RETURN_IF_ERROR(check_counts(v, i));
  BYOC_RETURN_IF_ERROR(byoc_host_verify_on_device(v, i));
  switch (i->op) {
  case BYOC_HOST_ALLOCATE:
    return i->allocation == BYOC_HOST_FRESH ? BYOC_OK : check_allocation(v, i);
  case BYOC_HOST_KERNEL:
  case BYOC_HOST_PACKED:
  case BYOC_HOST_ENGINE:
  case BYOC_HOST_C_CALL:
    return check_call(v, i);
  case BYOC_HOST_COPY:
    return check_copy(v, i);
  case BYOC_HOST_SHARE:
    return check_share(v, i->operands.data[0], i->results.data[0]);
  case BYOC_HOST_MATCH:
    return check_match(v, i);
  case BYOC_HOST_BIND:
    return check_bind(v, i);
  case BYOC_HOST_CONTAINER:
    return check_container(v, i);
  case BYOC_HOST_LET:
    if (i->symbol_count == 1 && i->dims != NULL) return BYOC_OK;
    return byoc_host_verify_refuse(v, "it gives no value to a symbol");
  case BYOC_HOST_STORE:
    return check_store(v, i);
  case BYOC_HOST_COLLECTIVE:
    return check_collective(v, i);
  case BYOC_HOST_BRANCH:
    return check_scalar(v, i->operands.data[0], BYOC_DTYPE_BOOL, "the condition");
  case BYOC_HOST_LOOP:
    return check_loop(v, i);
  case BYOC_HOST_YIELD:
    return check_yield(v, i);
  default:
    return BYOC_OK;
  }
}
