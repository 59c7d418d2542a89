// SPDX-License-Identifier: Apache-2.0
// Prints control flow, cells and symbols as C. Static programs have branches and counting loops only.
#include <string.h>

#include "core/compose/c/host_c.h"
#include "core/runtime/container.h"

// "(const int64_t[]){symbols[0], 3}"; NULL for a scalar.
static void emit_dim_list(byoc_host_c_t *host, const byoc_dim_t *dims, int32_t count, byoc_string_t *out) {
  byoc_string_append(out, count > 0 ? "(const int64_t[]){" : "0");
  for (int32_t d = 0; d < count; d++) {
    if (d > 0) byoc_string_append(out, ", ");
    byoc_host_c_emit_dim(host, dims[d], out);
  }
  if (count > 0) byoc_string_append(out, "}");
}

static void emit_index_list(const uint32_t *indices, size_t count, byoc_string_t *out) {
  byoc_string_append(out, count > 0 ? "(const uint32_t[]){" : "0");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) byoc_string_append(out, ", ");
    if (indices[i] == BYOC_CELL_NONE) byoc_string_append(out, "BYOC_CELL_NONE");
    if (indices[i] != BYOC_CELL_NONE) byoc_string_appendf(out, "%u", indices[i]);
  }
  if (count > 0) byoc_string_append(out, "}");
}

// The first `count` of the buffers' cells.
static void emit_cell_list(byoc_host_buffer_t *const *buffers, size_t count, byoc_string_t *out) {
  byoc_string_append(out, count > 0 ? "(const uint32_t[]){" : "0");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) byoc_string_append(out, ", ");
    if (buffers[i] == NULL) byoc_string_append(out, "BYOC_CELL_NONE");
    if (buffers[i] != NULL) byoc_string_appendf(out, "%u", buffers[i]->index);
  }
  if (count > 0) byoc_string_append(out, "}");
}

void byoc_host_c_emit_assign(const byoc_host_c_t *host, byoc_host_buffer_t *const *targets,
                             byoc_host_buffer_t *const *sources, size_t count, byoc_string_t *out) {
  if (count == 0) return;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "byoc_frame_assign(frame, ");
  emit_cell_list(targets, count, out);
  byoc_string_append(out, ", ");
  emit_cell_list(sources, count, out);
  byoc_string_appendf(out, ", %zu);\n", count);
}

static void emit_end(byoc_host_c_t *host, size_t step, byoc_string_t *out) {
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "STEP_END(%zu);\n", step);
}

// ---- calls ----

static void emit_place(byoc_host_c_t *host, size_t tensor, const byoc_host_buffer_t *buffer, byoc_string_t *out) {
  if (byoc_host_buffer_moves(buffer)) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "tensors[%zu].data = ", tensor);
    byoc_host_c_emit_address(host, &host->tensors.data[tensor], 0, out);
    byoc_string_append(out, "; // ");
    byoc_host_c_comment(out, buffer->name);
    byoc_string_append(out, "\n");
  }
  if (!byoc_host_buffer_in_cell(buffer)) return;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "PLACE(%zu, %u); // ", tensor, buffer->index);
  byoc_host_c_comment(out, buffer->name);
  byoc_string_append(out, "\n");
}

void byoc_host_c_emit_placing(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t call, byoc_string_t *out) {
  size_t first = host->calls.data[call].first_tensor, symbols = i->kernel != NULL ? i->kernel->symbols.count : 0;
  for (size_t k = 0; k < i->operands.count; k++) emit_place(host, first + k, i->operands.data[k], out);
  for (size_t k = 0; k < symbols; k++) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "arguments[%zu] = ", k);
    byoc_host_c_emit_dim(host, i->dims[k], out);
    byoc_string_append(out, ";\n");
  }
  if (symbols > 0) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "tensors[%zu].data = arguments;\n", first + i->operands.count);
  }
  first += i->operands.count + (symbols > 0);
  for (size_t k = 0; k < i->results.count; k++) emit_place(host, first + k, i->results.data[k], out);
}

// ---- cells, and zeros in the workspace ----

static byoc_status_t emit_zeros(byoc_host_c_t *host, const byoc_host_buffer_t *buffer, size_t step,
                                byoc_string_t *out) {
  byoc_host_c_tensor_t place;
  BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, buffer, &place));
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "memset(");
  byoc_host_c_emit_address(host, &place, 0, out);
  byoc_string_appendf(out, ", 0, %llu); // ", (unsigned long long)buffer->size_bytes);
  byoc_host_c_comment(out, buffer->name);
  byoc_string_append(out, "\n");
  emit_end(host, step, out);
  return BYOC_OK;
}

static void emit_allocate(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  byoc_host_c_indent(host, out);
  const byoc_host_instruction_t *copy = byoc_host_device_tables_handed_out(host->device_tables, buffer);
  const uint32_t command = copy != NULL ? byoc_host_device_tables_command(host->device_tables, copy) : 0;
  if (buffer->device != NULL && copy != NULL) {
    byoc_string_appendf(out, "status = byoc_devices_allocate_output(devices, frame, %u, %u, %u, %u, ",
                        byoc_host_device_tables_memory(host->device_tables, buffer), buffer->index,
                        copy->results.data[0]->index, command);
  } else if (buffer->device != NULL) {
    byoc_string_appendf(out, "status = byoc_devices_%s_cell(devices, frame, %u, %u, ",
                        byoc_host_device_tables_is_lent(host->device_tables, buffer) ? "announce" : "allocate",
                        byoc_host_device_tables_memory(host->device_tables, buffer), buffer->index);
  } else {
    byoc_string_append(out, "status = ");
    if (copy != NULL) byoc_string_appendf(out, "devices->commands[%u].is_idle ? BYOC_OK : ", command);
    byoc_string_appendf(out, "byoc_frame_allocate%s(frame, %u, ", i->allocation == BYOC_HOST_CACHED ? "_cached" : "",
                        buffer->index);
  }
  byoc_string_appendf(out, "%u, %d, ", (unsigned)buffer->type->dtype, (int)buffer->type->rank);
  emit_dim_list(host, buffer->type->dims, buffer->type->rank, out);
  byoc_string_append(out, "); // ");
  byoc_host_c_comment(out, buffer->name);
  byoc_string_append(out, "\n");
  emit_end(host, step, out);
  if (i->allocation != BYOC_HOST_ZEROED) return;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "byoc_frame_zero(frame, %u);\n", buffer->index);
}

static void emit_share(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  const byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  bool same = !byoc_type_is_tensor(to->type) || byoc_type_equal(from->type, to->type);
  byoc_host_c_indent(host, out);
  if (same) {
    byoc_string_appendf(out, "status = byoc_frame_share(frame, %u, %u, 0, 0, 0);", to->index, from->index);
  } else {
    byoc_string_appendf(out, "status = byoc_frame_share(frame, %u, %u, %u, %d, ", to->index, from->index,
                        (unsigned)to->type->dtype, (int)to->type->rank);
    if (to->type->rank == 0) byoc_string_append(out, "(const int64_t[]){0}");
    if (to->type->rank > 0) emit_dim_list(host, to->type->dims, to->type->rank, out);
    byoc_string_append(out, ");");
  }
  byoc_string_append(out, " // ");
  byoc_host_c_comment(out, to->name);
  byoc_string_append(out, "\n");
  emit_end(host, step, out);
}

static void emit_match(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  byoc_string_t what, name;
  byoc_string_init(&what, out->allocator);
  byoc_string_appendf(&what, "%s '%s'", buffer->kind == BYOC_HOST_BUFFER_INPUT ? "the input" : "the value",
                      buffer->name);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "status = byoc_frame_expect(frame, %u, %u, %d, ", buffer->index,
                      (unsigned)buffer->type->dtype, (int)buffer->type->rank);
  byoc_string_append_c_quoted(out, what.data);
  byoc_string_append(out, ");\n");
  emit_end(host, step, out);
  for (uint32_t k = 0; k < i->match_count; k++) {
    const byoc_host_match_t *match = &i->matches[k];
    byoc_host_c_indent(host, out);
    byoc_string_init(&name, out->allocator);
    byoc_dim_print(match->dim, &name);
    if (match->symbol != BYOC_HOST_SYMBOL_NONE) {
      byoc_string_appendf(out, "symbols[%u] = cells[%u]->dims[%u]; // ", match->symbol, buffer->index, match->axis);
      byoc_host_c_comment(out, name.data);
      byoc_string_append(out, "\n");
    } else {
      byoc_string_appendf(out, "status = byoc_frame_match(frame, %u, %u, ", buffer->index, match->axis);
      byoc_host_c_emit_dim(host, match->dim, out);
      byoc_string_append(out, ", ");
      byoc_string_append_c_quoted(out, what.data);
      byoc_string_append(out, ", ");
      byoc_string_append_c_quoted(out, name.data);
      byoc_string_append(out, ");\n");
      emit_end(host, step, out);
    }
    byoc_string_deinit(&name);
  }
  byoc_string_deinit(&what);
}

static void emit_relation(byoc_host_c_t *host, const byoc_host_relation_t *relation, size_t step, byoc_string_t *out) {
  static const char *const kinds[] = {
#define BYOC_RELATION_C(NAME, text) "BYOC_RELATION_" #NAME,
      BYOC_RELATION_LIST(BYOC_RELATION_C)
#undef BYOC_RELATION_C
  };
  const char *const names[] = {relation->names.where, relation->names.left, relation->names.right};
  byoc_string_t sides;
  byoc_string_init(&sides, out->allocator);
  byoc_string_appendf(&sides, "%s, ", kinds[relation->kind]);
  byoc_host_c_emit_dim(host, relation->left, &sides);
  byoc_string_append(&sides, ", ");
  byoc_host_c_emit_dim(host, relation->right, &sides);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "if (!byoc_relation_holds(%s)) {\n", sides.data);
  host->depth++;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "status = byoc_frame_refuse(frame, %s, &(const byoc_relation_names_t){", sides.data);
  for (size_t k = 0; k < 3; k++) {
    if (k > 0) byoc_string_append(out, ", ");
    if (names[k] == NULL) byoc_string_append(out, "0");
    if (names[k] != NULL) byoc_string_append_c_quoted(out, names[k]);
  }
  byoc_string_append(out, "});\n");
  emit_end(host, step, out);
  host->depth--;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "}\n");
  out->failed |= sides.failed;
  byoc_string_deinit(&sides);
}

// Shapes of inputs that were found to fit are not checked again.
static void emit_require(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  uint32_t count = host->program->input_symbol_count;
  if (i->of_inputs) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "if (!byoc_frame_has_seen(frame, %u)) {\n", count);
    host->depth++;
  }
  for (size_t k = 0; k < i->relations.count; k++) emit_relation(host, &i->relations.data[k], step, out);
  if (i->of_inputs) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "byoc_frame_see(frame, %u);\n", count);
    host->depth--;
    byoc_host_c_indent(host, out);
    byoc_string_append(out, "}\n");
  }
}

static byoc_status_t emit_bind(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  byoc_host_c_tensor_t place;
  BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, i->operands.data[0], &place));
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "status = byoc_frame_bind(frame, ");
  byoc_string_append_c_quoted(out, i->symbol);
  byoc_string_append(out, ", (const int64_t *)(const void *)(");
  byoc_host_c_emit_address(host, &place, 0, out);
  byoc_string_append(out, "), ");
  emit_index_list(i->symbols, i->symbol_count, out);
  byoc_string_appendf(out, ", %u);\n", i->symbol_count);
  emit_end(host, step, out);
  return BYOC_OK;
}

static byoc_status_t emit_container(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step,
                                    byoc_string_t *out) {
  const char *function = NULL;
#define BYOC_CONTAINER_NAME(op, name)                                                                                  \
  if (strcmp(i->symbol, op) == 0) function = #name;
  BYOC_CONTAINER_LIST(BYOC_CONTAINER_NAME)
#undef BYOC_CONTAINER_NAME
  if (function == NULL) {
    return byoc_diag_error(host->diag, BYOC_INTERNAL, "'%s' is no operator on containers", i->symbol);
  }
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "status = %s(frame, &(const byoc_container_call_t){%u, %zu, ", function,
                      i->results.data[0]->index, i->operands.count);
  emit_cell_list(i->operands.data, i->operands.count, out);
  byoc_string_appendf(out, ", %lld, %lld});\n", (long long)i->axis, (long long)i->flag);
  emit_end(host, step, out);
  return BYOC_OK;
}

// ---- branches and loops ----

static byoc_status_t emit_nested(byoc_host_c_t *host, const byoc_host_region_t *region,
                                 byoc_host_c_emit_region_t emit_region, byoc_string_t *out) {
  host->depth++;
  byoc_status_t status = emit_region(host, region, out);
  host->depth--;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "}");
  return status;
}

static byoc_status_t emit_branch(byoc_host_c_t *host, const byoc_host_instruction_t *i,
                                 byoc_host_c_emit_region_t emit_region, byoc_string_t *out) {
  byoc_host_c_tensor_t condition;
  BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, i->operands.data[0], &condition));
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "if (*(const uint8_t *)(");
  byoc_host_c_emit_address(host, &condition, 0, out);
  byoc_string_append(out, ") != 0) {\n");
  BYOC_RETURN_IF_ERROR(emit_nested(host, &i->regions[0], emit_region, out));
  byoc_string_append(out, " else {\n");
  BYOC_RETURN_IF_ERROR(emit_nested(host, &i->regions[1], emit_region, out));
  byoc_string_append(out, "\n");
  return BYOC_OK;
}

static void emit_loop_head(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  const byoc_host_region_t *body = &i->regions[0];
  size_t carried = body->parameters.count - 2;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "int64_t trips_%zu = ", step);
  if (i->operands.data[0] == NULL) byoc_string_append(out, "INT64_MAX;\n");
  if (i->operands.data[0] != NULL) {
    byoc_string_appendf(out, "byoc_cell_integer(cells[%u], 0);\n", i->operands.data[0]->index);
  }
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "int64_t goes_on_%zu = ", step);
  if (i->operands.data[1] == NULL) byoc_string_append(out, "1;\n");
  if (i->operands.data[1] != NULL) {
    byoc_string_appendf(out, "byoc_cell_integer(cells[%u], 0);\n", i->operands.data[1]->index);
  }
  byoc_host_c_emit_assign(host, body->parameters.data + 2, i->operands.data + 2, carried, out);
  const byoc_dim_t *dims = i->dims;
  for (size_t k = carried; k < i->results.count; k++) {
    const byoc_type_t *type = i->results.data[k]->type;
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "status = byoc_frame_scan_begin(frame, %u, %u, %d, ", i->results.data[k]->index,
                        (unsigned)type->dtype, (int)type->rank - 1);
    emit_dim_list(host, dims, type->rank - 1, out);
    byoc_string_append(out, ");\n");
    emit_end(host, step, out);
    dims += type->rank - 1;
  }
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "for (int64_t turn_%zu = 0; turn_%zu < trips_%zu && goes_on_%zu; ++turn_%zu) {\n", step,
                      step, step, step, step);
  host->depth++;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "status = byoc_frame_begin_turn(frame, %u, turn_%zu);\n", body->parameters.data[0]->index,
                      step);
  emit_end(host, step, out);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "RUN_MAY_END(%zu);\n", step);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "status = byoc_frame_set_bool(frame, %u, 1);\n", body->parameters.data[1]->index);
  emit_end(host, step, out);
  byoc_host_c_emit_iteration(host, step, out);
  host->depth--;
}

static byoc_status_t emit_loop(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step,
                               byoc_host_c_emit_region_t emit_region, byoc_string_t *out) {
  const byoc_host_region_t *body = &i->regions[0];
  size_t outer = host->loop;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "{\n");
  host->depth++;
  host->loop = step;
  host->loop_depth++;
  emit_loop_head(host, i, step, out);
  byoc_status_t status = emit_nested(host, body, emit_region, out);
  host->loop_depth--;
  host->loop = outer;
  byoc_string_append(out, "\n");
  byoc_host_c_emit_loop_end(host, i, body->parameters.data + 2, body->parameters.count - 2, out);
  return status;
}

static void emit_yield(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  const byoc_host_instruction_t *owner = i->region->owner;
  if (owner->op == BYOC_HOST_BRANCH) {
    byoc_host_c_emit_assign(host, owner->results.data, i->operands.data, owner->results.count, out);
    return;
  }
  if (owner->count != NULL) {
    byoc_host_c_emit_assign(host, i->region->parameters.data, i->operands.data, i->operands.count, out);
    return;
  }
  size_t carried = i->region->parameters.count - 2;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "goes_on_%zu = byoc_cell_integer(cells[%u], 0);\n", host->loop, i->operands.data[0]->index);
  for (size_t k = carried; k < owner->results.count; k++) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "status = byoc_frame_scan_append(frame, %u, %u, trips_%zu);\n",
                        owner->results.data[k]->index, i->operands.data[k + 1]->index, host->loop);
    emit_end(host, step, out);
  }
  byoc_host_c_emit_assign(host, i->region->parameters.data + 2, i->operands.data + 1, carried, out);
}

byoc_status_t byoc_host_c_emit_dynamic(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step,
                                       byoc_host_c_emit_region_t emit_region, byoc_string_t *out) {
  byoc_status_t status = BYOC_OK;
  if (byoc_host_c_emit_counting(host, i, step, emit_region, out, &status)) return status;
  switch (i->op) {
  case BYOC_HOST_ALLOCATE:
    if (!i->operands.data[0]->is_value) return emit_zeros(host, i->operands.data[0], step, out);
    emit_allocate(host, i, step, out);
    return BYOC_OK;
  case BYOC_HOST_FREE:
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "byoc_frame_release(frame, %u);\n", i->operands.data[0]->index);
    return BYOC_OK;
  case BYOC_HOST_SHARE:
    emit_share(host, i, step, out);
    return BYOC_OK;
  case BYOC_HOST_MATCH:
    emit_match(host, i, step, out);
    return BYOC_OK;
  case BYOC_HOST_REQUIRE:
    emit_require(host, i, step, out);
    return BYOC_OK;
  case BYOC_HOST_BIND:
    return emit_bind(host, i, step, out);
  case BYOC_HOST_CONTAINER:
    return emit_container(host, i, step, out);
  case BYOC_HOST_BRANCH:
    return emit_branch(host, i, emit_region, out);
  case BYOC_HOST_LOOP:
    return emit_loop(host, i, step, emit_region, out);
  case BYOC_HOST_YIELD:
    emit_yield(host, i, step, out);
    return BYOC_OK;
  default:
    return byoc_diag_error(host->diag, BYOC_INTERNAL, "an instruction of kind %d cannot be compiled", (int)i->op);
  }
}
