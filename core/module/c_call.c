// SPDX-License-Identifier: Apache-2.0
// Stores calls of C functions in nodes, reads them back and checks them.
#include "core/module/c_call.h"

#include <string.h>

#include "core/op/schema.h"

enum { INTS_PER_ARGUMENT = 6 };

static byoc_status_t verify_argument(const byoc_c_argument_t *argument, uint32_t position, uint32_t operand_count,
                                     uint32_t result_count, byoc_diag_t *diag) {
  switch (argument->kind) {
  case BYOC_C_ARGUMENT_INTEGER:
    if (argument->type == BYOC_C_I32 || argument->type == BYOC_C_I64) return BYOC_OK;
    break;
  case BYOC_C_ARGUMENT_REAL:
    if (argument->type == BYOC_C_F32 || argument->type == BYOC_C_F64) return BYOC_OK;
    break;
  case BYOC_C_ARGUMENT_OPERAND:
  case BYOC_C_ARGUMENT_RESULT: {
    bool is_operand = argument->kind == BYOC_C_ARGUMENT_OPERAND;
    uint32_t count = is_operand ? operand_count : result_count;
    if (argument->index < count && argument->type == BYOC_C_POINTER) return BYOC_OK;
    if (argument->index < count) break;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "argument %u names %s %u of %u", position,
                           is_operand ? "operand" : "result", argument->index, count);
  }
  case BYOC_C_ARGUMENT_NULL:
  case BYOC_C_ARGUMENT_RUNTIME:
    if (argument->type == BYOC_C_POINTER) return BYOC_OK;
    break;
  default:
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "argument %u has unknown kind %u", position, argument->kind);
  }
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "argument %u has a type (%u) that its kind (%u) does not take",
                         position, argument->type, argument->kind);
}

static byoc_status_t verify_call(const byoc_c_call_t *call, uint32_t operand_count, uint32_t result_count,
                                 byoc_diag_t *diag) {
  if (call->repeat_count < 1) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "repeat_count is %lld, must be at least 1",
                           (long long)call->repeat_count);
  }
  if (call->return_type > BYOC_C_STATUS || call->return_type == BYOC_C_POINTER) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "unknown return type %u", call->return_type);
  }
  if (call->result_from_operand < -1 || call->result_from_operand >= (int64_t)operand_count ||
      (call->result_from_operand >= 0 && result_count == 0)) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "result_from_operand is %d, there are %u operands and %u results",
                           call->result_from_operand, operand_count, result_count);
  }
  for (uint32_t i = 0; i < call->argument_count; ++i) {
    BYOC_RETURN_IF_ERROR(verify_argument(&call->arguments[i], i, operand_count, result_count, diag));
  }
  return BYOC_OK;
}

byoc_status_t byoc_c_call_verify(const byoc_c_call_t *call, uint32_t operand_count, uint32_t result_count,
                                 byoc_diag_t *diag) {
  if (call->symbol == NULL || call->symbol[0] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "a C call has no symbol");
  }
  BYOC_RETURN_IF_ERROR_IN(diag, verify_call(call, operand_count, result_count, diag), "C call of '%s'", call->symbol);
  return BYOC_OK;
}

byoc_status_t byoc_c_call_to_attributes(const byoc_c_call_t *call, byoc_attributes_t *attributes, byoc_diag_t *diag) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, attributes->arena->allocator);
  byoc_status_t status = BYOC_OK;
  int64_t *ints = BYOC_ARENA_ARRAY(&scratch, int64_t, (size_t)call->argument_count * INTS_PER_ARGUMENT);
  double *reals = BYOC_ARENA_ARRAY(&scratch, double, call->argument_count);
  if (ints == NULL || reals == NULL) {
    status = byoc_diag_out_of_memory(diag);
    goto cleanup;
  }
  for (uint32_t i = 0; i < call->argument_count; ++i) {
    const byoc_c_argument_t *argument = &call->arguments[i];
    const int64_t fields[INTS_PER_ARGUMENT] = {argument->kind,    argument->type,         argument->index,
                                               argument->integer, argument->offset_bytes, argument->step_bytes};
    memcpy(ints + (size_t)i * INTS_PER_ARGUMENT, fields, sizeof(fields));
    reals[i] = argument->real;
  }
  if (!byoc_attributes_set_string(attributes, "symbol", call->symbol) ||
      !byoc_attributes_set_int(attributes, "return_type", call->return_type) ||
      !byoc_attributes_set_int(attributes, "repeat_count", call->repeat_count) ||
      !byoc_attributes_set_int(attributes, "result_from_operand", call->result_from_operand) ||
      !byoc_attributes_set_ints(attributes, "arguments", ints, (size_t)call->argument_count * INTS_PER_ARGUMENT) ||
      !byoc_attributes_set_floats(attributes, "reals", reals, call->argument_count)) {
    status = byoc_diag_out_of_memory(diag);
  }
cleanup:
  byoc_arena_deinit(&scratch);
  return status;
}

byoc_status_t byoc_c_call_from_node(const byoc_node_t *node, byoc_arena_t *arena, byoc_diag_t *diag,
                                    byoc_c_call_t **out_call) {
  *out_call = NULL;
  size_t int_count = 0, real_count = 0;
  const int64_t *ints = byoc_node_ints(node, "arguments", &int_count);
  const double *reals = byoc_node_floats(node, "reals", &real_count);
  if (int_count != real_count * INTS_PER_ARGUMENT) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "CallC has %zu argument fields for %zu arguments", int_count,
                           real_count);
  }
  byoc_c_call_t *call = BYOC_ARENA_NEW(arena, byoc_c_call_t);
  byoc_c_argument_t *arguments = BYOC_ARENA_ARRAY(arena, byoc_c_argument_t, real_count);
  char *symbol = byoc_arena_copy_string(arena, byoc_node_text(node, "symbol"));
  if (call == NULL || arguments == NULL || symbol == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < real_count; ++i) {
    const int64_t *fields = ints + i * INTS_PER_ARGUMENT;
    arguments[i] = (byoc_c_argument_t){.kind = (uint32_t)fields[0],
                                       .type = (uint32_t)fields[1],
                                       .index = (uint32_t)fields[2],
                                       .integer = fields[3],
                                       .real = reals[i],
                                       .offset_bytes = fields[4],
                                       .step_bytes = fields[5]};
  }
  *call = (byoc_c_call_t){
      .header = BYOC_HEADER(byoc_c_call_t, 1),
      .symbol = symbol,
      .return_type = (uint32_t)byoc_node_int(node, "return_type"),
      .argument_count = (uint32_t)real_count,
      .arguments = arguments,
      .repeat_count = byoc_node_int(node, "repeat_count"),
      .result_from_operand = (int32_t)byoc_node_int(node, "result_from_operand"),
  };
  BYOC_RETURN_IF_ERROR(byoc_c_call_verify(call, node->operand_count, node->result_count, diag));
  *out_call = call;
  return BYOC_OK;
}
