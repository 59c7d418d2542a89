// SPDX-License-Identifier: Apache-2.0
// Prints counting loops as C, with the scalars, stored elements and moving views that depend on their indices.
#include "core/compose/c/host_c.h"

static void emit_end(const byoc_host_c_t *host, size_t step, byoc_string_t *out) {
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "STEP_END(%zu);\n", step);
}

// ---- symbols ----

// Sets a symbol to the expression `value`, and checks it unless it cannot be negative.
static void emit_symbol(const byoc_host_c_t *host, uint32_t symbol, const char *value, byoc_host_range_t range,
                        size_t step, byoc_string_t *out) {
  const char *name = host->program->symbols.data[symbol];
  byoc_host_c_indent(host, out);
  if (range.least >= 0) {
    byoc_string_appendf(out, "symbols[%u] = %s; // ", symbol, value);
    byoc_host_c_comment(out, name);
    byoc_string_append(out, "\n");
    return;
  }
  byoc_string_appendf(out, "status = byoc_frame_set_symbol(frame, %u, %s, ", symbol, value);
  byoc_string_append_c_quoted(out, name);
  byoc_string_append(out, ");\n");
  emit_end(host, step, out);
}

static void emit_let(const byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  byoc_string_t value;
  byoc_string_init(&value, out->allocator);
  byoc_host_c_emit_dim(host, i->dims[0], &value);
  emit_symbol(host, i->symbols[0], value.data, byoc_host_range_of(&host->ranges, i->dims[0]), step, out);
  out->failed |= value.failed;
  byoc_string_deinit(&value);
}

static byoc_status_t emit_store(byoc_host_c_t *host, const byoc_host_instruction_t *i, byoc_string_t *out) {
  byoc_host_c_tensor_t place;
  BYOC_RETURN_IF_ERROR(byoc_host_c_locate(host, i->results.data[0], &place));
  const int64_t count = byoc_type_element_count(i->results.data[0]->type);
  for (int64_t k = 0; k < count; k++) {
    byoc_host_c_indent(host, out);
    byoc_string_append(out, "((int64_t *)(void *)(");
    byoc_host_c_emit_address(host, &place, 0, out);
    byoc_string_appendf(out, "))[%lld] = ", (long long)k);
    byoc_host_c_emit_dim(host, i->dims[k], out);
    byoc_string_append(out, ";\n");
  }
  return BYOC_OK;
}

// ---- views ----

void byoc_host_c_emit_checks(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  for (size_t k = 0; k < i->operands.count + i->results.count; k++) {
    const byoc_host_buffer_t *view =
        k < i->operands.count ? i->operands.data[k] : i->results.data[k - i->operands.count];
    if (view == NULL || !byoc_host_buffer_moves(view) || byoc_host_stays_inside(&host->ranges, view)) continue;
    byoc_host_c_indent(host, out);
    byoc_string_append(out, "status = byoc_frame_check_view(frame, ");
    byoc_host_c_emit_dim(host, view->offset, out);
    byoc_string_appendf(out, ", %lluu, %lluu, ", (unsigned long long)view->size_bytes,
                        (unsigned long long)view->base->size_bytes);
    byoc_string_append_c_quoted(out, view->name);
    byoc_string_append(out, ");\n");
    emit_end(host, step, out);
  }
}

// ---- loops ----

static void emit_head(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step, byoc_string_t *out) {
  const byoc_host_count_t *count = i->count;
  const bool is_up = byoc_host_range_of(&host->ranges, count->step).least > 0;
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "const int64_t stop_%zu = ", step);
  byoc_host_c_emit_dim(host, count->stop, out);
  byoc_string_appendf(out, ", step_%zu = ", step);
  byoc_host_c_emit_dim(host, count->step, out);
  byoc_string_append(out, ";\n");
  byoc_host_c_emit_assign(host, i->regions[0].parameters.data, i->operands.data, i->operands.count, out);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "for (int64_t turn_%zu = ", step);
  byoc_host_c_emit_dim(host, count->start, out);
  byoc_string_appendf(out, "; turn_%zu %c stop_%zu; turn_%zu = byoc_dim_add(turn_%zu, step_%zu)) {\n", step,
                      is_up ? '<' : '>', step, step, step, step);
}

// The lowest index: it may not be negative, and is checked unless this is known.
static byoc_host_range_t index_range(const byoc_host_c_t *host, const byoc_host_count_t *count) {
  byoc_host_range_t range = byoc_host_range_of(&host->ranges, count->start);
  if (byoc_host_range_of(&host->ranges, count->step).least > 0) return range;
  const byoc_host_range_t stop = byoc_host_range_of(&host->ranges, count->stop);
  range.least = stop.least >= -1 ? 0 : stop.least + 1;
  return range;
}

void byoc_host_c_emit_loop_end(byoc_host_c_t *host, const byoc_host_instruction_t *loop,
                               byoc_host_buffer_t *const *carried, size_t count, byoc_string_t *out) {
  const byoc_host_region_t *body = &loop->regions[0];
  byoc_host_c_emit_leave(host, out);
  byoc_host_c_emit_assign(host, loop->results.data, carried, count, out);
  for (size_t k = 0; k < body->parameters.count; k++) {
    byoc_host_c_indent(host, out);
    byoc_string_appendf(out, "byoc_frame_release(frame, %u);\n", body->parameters.data[k]->index);
  }
  host->depth--;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "}\n");
}

static byoc_status_t emit_loop(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step,
                               byoc_host_c_emit_region_t emit_region, byoc_string_t *out) {
  const byoc_host_region_t *body = &i->regions[0];
  char iteration[40];
  snprintf(iteration, sizeof(iteration), "turn_%zu", step);
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "{\n");
  host->depth++;
  emit_head(host, i, step, out);
  host->depth++;
  host->loop_depth++;
  emit_symbol(host, i->count->symbol, iteration, index_range(host, i->count), step, out);
  byoc_host_c_indent(host, out);
  byoc_string_appendf(out, "RUN_MAY_END(%zu);\n", step);
  byoc_host_c_emit_iteration(host, step, out);
  byoc_status_t status = emit_region(host, body, out);
  host->loop_depth--;
  host->depth--;
  byoc_host_c_indent(host, out);
  byoc_string_append(out, "}\n");
  byoc_host_c_emit_loop_end(host, i, body->parameters.data, i->results.count, out);
  return status;
}

bool byoc_host_c_emit_counting(byoc_host_c_t *host, const byoc_host_instruction_t *i, size_t step,
                               byoc_host_c_emit_region_t emit_region, byoc_string_t *out, byoc_status_t *out_status) {
  *out_status = BYOC_OK;
  if (i->op == BYOC_HOST_LET) {
    emit_let(host, i, step, out);
  } else if (i->op == BYOC_HOST_STORE) {
    *out_status = emit_store(host, i, out);
  } else if (i->op == BYOC_HOST_LOOP && i->count != NULL) {
    *out_status = emit_loop(host, i, step, emit_region, out);
  } else {
    return false;
  }
  return true;
}
