// SPDX-License-Identifier: Apache-2.0
// stream-axis: nodes that can be computed part by part along one axis of the inputs become Loops of independent
// iterations. So values inside of a loop take the memory of one part.
//
//   stream-axis{axis=batch}      the dimension that the model calls so, one index at a time
//   stream-axis{axis=x.0:4}      dimension 0 of the input x, in 4 parts
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/ir/attribute_names.h"
#include "core/pass/pass.h"
#include "core/pass/stream_axis.h"

// ---- which axis ----

// "NAME:parts"; without parts, 0.
static byoc_status_t read_parts(char *name, byoc_diag_t *diag, int64_t *out_parts) {
  *out_parts = 0;
  char *colon = strrchr(name, ':'), *end = NULL;
  if (colon == NULL) return BYOC_OK;
  *out_parts = strtoll(colon + 1, &end, 10);
  if (*out_parts < 1 || *out_parts == INT64_MAX || *end != '\0' || strchr("0123456789", colon[1]) == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is no number of parts", colon + 1);
  }
  *colon = '\0';
  return BYOC_OK;
}

// Marks dimension `dim` of the input as the axis. All inputs that have it are of one size.
static byoc_status_t mark(byoc_stream_axis_t *s, const byoc_value_t *input, int64_t dim, int64_t *size) {
  const byoc_type_t *type = input->type;
  if (!byoc_type_is_tensor(type) || type->rank < 0 || dim >= type->rank) {
    return byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "the axis '%s': input '%s' has no dimension %lld", s->name,
                           input->name, (long long)dim);
  }
  if (!byoc_dim_is_constant(type->dims[dim])) {
    byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "the axis '%s' of input '%s' is open", s->name, input->name);
    byoc_diag_hint(s->diag, "give it a size: --dim NAME=VALUE");
    return BYOC_INVALID_ARGUMENT;
  }
  *size = type->dims[dim].constant;
  return byoc_pointer_map_put(&s->dims, input, (void *)(uintptr_t)(dim + 1)) ? BYOC_OK
                                                                             : byoc_diag_out_of_memory(s->diag);
}

static bool is_symbol(byoc_dim_t dim, const char *name) {
  return dim.expr != NULL && dim.expr->kind == BYOC_DIM_SYMBOL && strcmp(dim.expr->symbol, name) == 0;
}

// The dimensions that have this name: open ones, and those that were given a size ("NAME=INPUT.2").
static byoc_status_t mark_named(byoc_stream_axis_t *s, int64_t *size) {
  const byoc_block_t *body = s->function->body;
  const byoc_attributes_t *attributes = &body->function->module->attributes;
  size_t count = 0;
  const char *const *named = byoc_attributes_strings(attributes, BYOC_ATTRIBUTE_DIMENSIONS, &count);
  for (size_t p = 0; p < body->parameters.count; ++p) {
    const byoc_value_t *input = body->parameters.data[p];
    const int32_t rank = byoc_type_is_tensor(input->type) ? input->type->rank : 0;
    for (int32_t d = 0; d < rank; ++d) {
      char text[512];
      snprintf(text, sizeof text, "%s=%s.%d", s->name, input->name != NULL ? input->name : "", d);
      bool is_it = is_symbol(input->type->dims[d], s->name);
      for (size_t i = 0; i < count && !is_it; ++i) is_it = strcmp(named[i], text) == 0;
      if (is_it && byoc_stream_axis_dim(s, input) < 0) BYOC_RETURN_IF_ERROR(mark(s, input, d, size));
    }
  }
  return BYOC_OK;
}

static byoc_status_t mark_of_input(byoc_stream_axis_t *s, int64_t *size) {
  const byoc_block_t *body = s->function->body;
  const char *dot = strrchr(s->name, '.');
  if (dot == NULL || dot[1] == '\0' || strspn(dot + 1, "0123456789") != strlen(dot + 1)) return BYOC_OK;
  const size_t length = (size_t)(dot - s->name);
  for (size_t p = 0; p < body->parameters.count; ++p) {
    const byoc_value_t *input = body->parameters.data[p];
    if (input->name == NULL || strlen(input->name) != length || strncmp(input->name, s->name, length) != 0) continue;
    return mark(s, input, strtoll(dot + 1, NULL, 10), size);
  }
  return BYOC_OK;
}

static byoc_status_t refuse_name(const byoc_stream_axis_t *s) {
  const byoc_block_t *body = s->function->body;
  byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "no dimension of the inputs is called '%s'", s->name);
  if (body->parameters.count > 0) {
    byoc_diag_hint(s->diag, "dimension 0 of the first input is '%s.0'", body->parameters.data[0]->name);
  }
  return BYOC_INVALID_ARGUMENT;
}

static byoc_status_t check_parts(const byoc_stream_axis_t *s, int64_t size) {
  if (size % s->parts == 0) return BYOC_OK;
  byoc_string_t list;
  byoc_string_init(&list, s->function->module->allocator);
  enum { MOST_SHOWN = 1000 };
  for (int64_t parts = 2; parts <= size && parts <= MOST_SHOWN; ++parts) {
    if (size % parts == 0) byoc_string_appendf(&list, "%s%lld", list.size > 0 ? ", " : "", (long long)parts);
  }
  byoc_diag_error(s->diag, BYOC_INVALID_ARGUMENT, "the axis '%s' of %lld does not divide into %lld equal parts",
                  s->name, (long long)size, (long long)s->parts);
  if (list.size > 0) byoc_diag_hint(s->diag, "it divides into %s", list.data);
  byoc_string_deinit(&list);
  return BYOC_INVALID_ARGUMENT;
}

// ---- the pass ----

static byoc_status_t refuse_all(const byoc_stream_axis_t *s) {
  if (s->obstacle == NULL) {
    return byoc_diag_error(s->diag, BYOC_UNSUPPORTED, "no operator reads the axis '%s'", s->name);
  }
  char text[256];
  byoc_node_describe(s->obstacle, text, sizeof text);
  byoc_diag_error(s->diag, BYOC_UNSUPPORTED,
                  "nothing can be computed in %lld parts along the axis '%s': %s needs all of it", (long long)s->parts,
                  s->name, text);
  return BYOC_UNSUPPORTED;
}

// Loops of dynamic shapes pass values in cells, so that no memory would be saved.
static byoc_status_t check_shapes(const byoc_stream_axis_t *s) {
  const byoc_block_t *body = s->function->body;
  const byoc_value_t *open = NULL;
  for (size_t p = 0; p < body->parameters.count && open == NULL; ++p) {
    if (!byoc_type_is_static(body->parameters.data[p]->type)) open = body->parameters.data[p];
  }
  for (const byoc_node_t *node = body->first; node != NULL && open == NULL; node = node->next) {
    for (uint32_t r = 0; r < node->result_count && open == NULL; ++r) {
      if (!byoc_type_is_static(node->results[r]->type)) open = node->results[r];
    }
  }
  if (open == NULL) return BYOC_OK;
  byoc_diag_error(s->diag, BYOC_UNSUPPORTED, "the axis '%s': the shape of '%s' is not known before the run", s->name,
                  open->name != NULL ? open->name : "");
  byoc_diag_hint(s->diag, "give open dimensions a size: --dim NAME=VALUE");
  return BYOC_UNSUPPORTED;
}

static bool is_cut_anywhere(const byoc_stream_axis_t *s) {
  for (size_t i = 0; i < s->cuts.count; ++i) {
    if (((const byoc_cut_t *)s->cuts.entries[i].value)->is_cut) return true;
  }
  return false;
}

static byoc_status_t cut_function(byoc_stream_axis_t *s, char *name, size_t *changes) {
  int64_t size = 0;
  BYOC_RETURN_IF_ERROR(read_parts(name, s->diag, &s->parts));
  BYOC_RETURN_IF_ERROR(mark_named(s, &size));
  if (s->dims.count == 0) BYOC_RETURN_IF_ERROR(mark_of_input(s, &size));
  if (s->dims.count == 0) return refuse_name(s);
  if (s->parts == 0) s->parts = size;
  BYOC_RETURN_IF_ERROR(check_parts(s, size));
  if (s->parts < 2) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(check_shapes(s));
  BYOC_RETURN_IF_ERROR(byoc_stream_axis_find(s));
  if (!is_cut_anywhere(s)) return refuse_all(s);
  for (uint32_t stage = 0; stage < s->stage_count; ++stage) BYOC_RETURN_IF_ERROR(byoc_stream_axis_loop(s, stage));
  for (size_t i = 0; i < s->cuts.count; ++i) *changes += ((const byoc_cut_t *)s->cuts.entries[i].value)->is_cut;
  byoc_log(BYOC_LOG_INFO, "axis %s: %zu of %zu operators in loops over %lld parts", s->name, *changes, s->cuts.count,
           (long long)s->parts);
  return BYOC_OK;
}

byoc_status_t byoc_pass_stream_axis(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                    byoc_diag_t *diag, size_t *changes) {
  byoc_function_t *function = byoc_graph_module_main(module);
  if (function == NULL) return BYOC_OK;
  if (arguments->axis == NULL) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "no axis is given");
    byoc_diag_hint(diag, "write stream-axis{axis=INPUT.0}, or stream-axis{axis=NAME:4} for 4 parts");
    return BYOC_INVALID_ARGUMENT;
  }
  byoc_stream_axis_t s = {.function = function, .diag = diag};
  byoc_arena_init(&s.scratch, module->allocator);
  byoc_pointer_map_init(&s.cuts, module->allocator);
  byoc_pointer_map_init(&s.dims, module->allocator);
  byoc_pointer_map_init(&s.stacked, module->allocator);
  char *name = byoc_arena_copy_string(&s.scratch, arguments->axis);
  s.name = name;
  byoc_status_t status = name != NULL ? cut_function(&s, name, changes) : byoc_diag_out_of_memory(diag);
  if (s.probe != NULL) byoc_function_erase(s.probe);
  byoc_map_deinit(&s.stacked);
  byoc_map_deinit(&s.dims);
  byoc_map_deinit(&s.cuts);
  byoc_arena_deinit(&s.scratch);
  return status;
}
