// SPDX-License-Identifier: Apache-2.0
// Declares outputs that may be written over inputs, and makes programs right for that.
#include <string.h>

#include "core/hostir/program/edit.h"
#include "core/hostir/verify/in_place.h"
#include "core/ir/loop_in_place.h"
#include "core/ir/loop_keep.h"

// ---- declaring ----

static byoc_status_t find_port(const byoc_host_program_t *program, byoc_host_buffer_t *const *ports, size_t count,
                               const char *what, const char *name, byoc_diag_t *diag, byoc_host_buffer_t **out_port) {
  *out_port = NULL;
  byoc_allocator_t allocator = program->arena.allocator;
  const char **names = byoc_allocate(allocator, count + 1, sizeof(*names));
  if (names == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    names[i] = byoc_host_port_name(ports[i]);
    if (strcmp(names[i], name) == 0) *out_port = ports[i];
  }
  byoc_status_t status = BYOC_OK;
  if (*out_port == NULL) {
    status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model has no %s '%s'", what, name);
    const char *nearest = byoc_nearest_match(name, names, count);
    if (nearest != NULL) byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  }
  byoc_free(allocator, names);
  return status;
}

static byoc_status_t check_types(const byoc_host_buffer_t *output, byoc_diag_t *diag) {
  const byoc_host_buffer_t *input = output->over;
  if (byoc_type_is_tensor(output->type) && byoc_type_equal(output->type, input->type)) return BYOC_OK;
  byoc_string_t have, want;
  byoc_string_init(&have, byoc_allocator_system());
  byoc_string_init(&want, byoc_allocator_system());
  byoc_type_print(output->type, &have);
  byoc_type_print(input->type, &want);
  byoc_status_t status =
      have.failed || want.failed
          ? byoc_diag_out_of_memory(diag)
          : byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                            "the output '%s' is %s, so it cannot be written over the input '%s', "
                            "which is %s",
                            byoc_host_port_name(output), have.data, byoc_host_port_name(input), want.data);
  byoc_string_deinit(&have);
  byoc_string_deinit(&want);
  return status;
}

static byoc_status_t declare(byoc_host_program_t *program, const char *output_name, const char *input_name,
                             byoc_diag_t *diag, byoc_host_buffer_t **out_output) {
  byoc_host_buffer_t *output = NULL, *input = NULL;
  byoc_status_t status =
      find_port(program, program->outputs.data, program->outputs.count, "output", output_name, diag, &output);
  for (size_t i = 0; i < program->inputs.count && status == BYOC_INVALID_ARGUMENT; ++i) {
    if (strcmp(byoc_host_port_name(program->inputs.data[i]), output_name) != 0) continue;
    byoc_diag_hint(diag, "'%s' is an input; the output comes first", output_name);
  }
  if (status != BYOC_OK) return status;
  BYOC_RETURN_IF_ERROR(
      find_port(program, program->inputs.data, program->inputs.count, "input", input_name, diag, &input));
  if (output->over != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the output '%s' is written over the input '%s' already",
                           byoc_host_port_name(output), byoc_host_port_name(output->over));
  }
  for (size_t i = 0; i < program->outputs.count; ++i) {
    if (program->outputs.data[i]->over != input) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the input '%s' is written over by the output '%s' already",
                           byoc_host_port_name(input), byoc_host_port_name(program->outputs.data[i]));
  }
  output->over = input;
  *out_output = output;
  return BYOC_OK;
}

// ---- kernels ----

// Kernels that read the input and write the output at the same places may find them to be the same bytes.
static void let_overwrite(byoc_loop_kernel_t *kernel, const byoc_host_instruction_t *i, uint32_t r,
                          const byoc_host_buffer_t *input) {
  for (uint32_t k = 0; k < i->operands.count && k < 64; ++k) {
    if (byoc_host_buffer_root(i->operands.data[k]) != input) continue;
    if (byoc_loop_may_overwrite(kernel, k, r) || byoc_loop_keeps(kernel, k, r)) {
      kernel->overwritten[r] |= UINT64_C(1) << k;
    }
  }
}

static void let_kernels_overwrite(byoc_host_program_t *program, byoc_host_buffer_t *output) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op != BYOC_HOST_KERNEL) continue;
    byoc_loop_kernel_t *kernel = byoc_string_map_get(&program->kernel_names, i->kernel->name);
    for (uint32_t r = 0; r < i->results.count && r < BYOC_LOOP_OVERWRITING; ++r) {
      if (byoc_host_buffer_root(i->results.data[r]) == output) let_overwrite(kernel, i, r, output->over);
    }
  }
}

// ---- order ----

static bool shares_root(byoc_host_buffer_t *const *a, size_t a_count, byoc_host_buffer_t *const *b, size_t b_count,
                        bool pairs) {
  for (size_t i = 0; i < a_count; ++i) {
    for (size_t k = 0; k < b_count; ++k) {
      if (a[i] == NULL || b[k] == NULL) continue;
      const byoc_host_buffer_t *x = byoc_host_buffer_root(a[i]), *y = byoc_host_buffer_root(b[k]);
      if (x == y || (pairs && (x->over == y || y->over == x))) return true;
    }
  }
  return false;
}

// Must `first` stay in front of `second`? Both without nested instructions.
static bool depends(const byoc_host_instruction_t *second, const byoc_host_instruction_t *first) {
  if (second->region_count > 0 || first->region_count > 0) return true;
  // The second one must find the bytes that the first one writes, and must not overwrite bytes that the first one
  // reads.
  return shares_root(first->results.data, first->results.count, second->operands.data, second->operands.count, false) ||
         shares_root(first->results.data, first->results.count, second->results.data, second->results.count, true) ||
         shares_root(first->operands.data, first->operands.count, second->results.data, second->results.count, true);
}

// Moves the writer behind the reader if no instruction between them depends on it.
static bool move_behind(byoc_host_conflict_t *conflict) {
  const byoc_host_instruction_t *writer = conflict->writer, *reader = conflict->reader;
  if (writer == reader || writer->region != reader->region) return false;
  const byoc_host_instruction_t *at = writer->next;
  for (; at != NULL; at = at->next) {
    if (depends(at, writer)) return false;
    if (at == reader) break;
  }
  if (at == NULL) return false;
  byoc_host_instruction_move((byoc_host_instruction_t *)(uintptr_t)writer, writer->region, reader->next);
  return true;
}

// ---- a copy at the end ----

// kernel f(%x) -> (%y)  →  kernel f(%x) -> (%t), ..., copy %t -> %y
static byoc_status_t copy_at_the_end(byoc_host_program_t *program, byoc_host_buffer_t *output, byoc_diag_t *diag) {
  byoc_host_buffer_t *made = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_LOCAL, output->name, output->type);
  if (made == NULL || !byoc_host_replace_uses(program, output, made)) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < program->buffers.count; ++i) {
    byoc_host_buffer_t *view = program->buffers.data[i];
    if (view->kind == BYOC_HOST_BUFFER_VIEW && view->base == output) view->base = made;
  }
  byoc_host_instruction_t *copy = byoc_host_instruction_append(program, &program->body, BYOC_HOST_COPY);
  if (copy == NULL || !byoc_host_add_operand(program, copy, made) || !byoc_host_add_result(program, copy, output)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static byoc_status_t write_one_over(byoc_host_program_t *program, const char *output_name, const char *input_name,
                                    byoc_diag_t *diag) {
  byoc_host_buffer_t *output = NULL;
  BYOC_RETURN_IF_ERROR(declare(program, output_name, input_name, diag, &output));
  BYOC_RETURN_IF_ERROR(check_types(output, diag));
  if (output->is_value) return BYOC_OK;
  let_kernels_overwrite(program, output);
  byoc_host_conflict_t conflict = {0};
  for (size_t moves = 0;; ++moves) {
    BYOC_RETURN_IF_ERROR(byoc_host_find_conflict(program, output, NULL, diag, &conflict));
    if (conflict.reader == NULL) return BYOC_OK;
    // Each move brings a writer behind one more reader.
    if (moves == program->instruction_count || !move_behind(&conflict)) break;
  }
  return copy_at_the_end(program, output, diag);
}

// ---- all pairs ----

// The function that is called for one pair of names.
typedef byoc_status_t (*pair_function_t)(byoc_host_program_t *program, const char *output, const char *input,
                                         byoc_diag_t *diag);

// The string that a pattern's star stands for; NULL if the name does not fit, or if out of memory.
static const char *match_star(const char *pattern, const char *name, byoc_arena_t *arena, bool *out_fits) {
  const size_t before = strcspn(pattern, "*"), after = strlen(pattern) - before - 1, size = strlen(name);
  *out_fits = size >= before + after && strncmp(pattern, name, before) == 0 &&
              strcmp(pattern + before + 1, name + size - after) == 0;
  return *out_fits ? byoc_arena_format(arena, "%.*s", (int)(size - before - after), name + before) : NULL;
}

static byoc_status_t for_all_that_fit(byoc_host_program_t *program, const byoc_host_pair_t *pair,
                                      pair_function_t function, byoc_diag_t *diag) {
  const size_t before = strcspn(pair->input, "*");
  bool found = false;
  for (size_t i = 0; i < program->outputs.count; ++i) {
    bool fits = false;
    const char *name = byoc_host_port_name(program->outputs.data[i]);
    const char *star = match_star(pair->output, name, &program->arena, &fits);
    if (!fits) continue;
    const char *input = star == NULL ? NULL
                                     : byoc_arena_format(&program->arena, "%.*s%s%s", (int)before, pair->input, star,
                                                         pair->input + before + 1);
    if (input == NULL) return byoc_diag_out_of_memory(diag);
    found = true;
    BYOC_RETURN_IF_ERROR(function(program, name, input, diag));
  }
  if (found) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model has no output whose name fits '%s'", pair->output);
}

static byoc_status_t for_each_pair(byoc_host_program_t *program, const byoc_host_pair_t *pairs, size_t count,
                                   pair_function_t function, byoc_diag_t *diag) {
  for (size_t i = 0; i < count; ++i) {
    const bool has_stars = strchr(pairs[i].output, '*') != NULL && strchr(pairs[i].input, '*') != NULL;
    byoc_status_t status = has_stars ? for_all_that_fit(program, &pairs[i], function, diag)
                                     : function(program, pairs[i].output, pairs[i].input, diag);
    if (status != BYOC_OK && !has_stars && (strchr(pairs[i].output, '*') || strchr(pairs[i].input, '*'))) {
      byoc_diag_hint(diag, "a star stands for a part of many names only if the output and the input have one each");
    }
    BYOC_RETURN_IF_ERROR(status);
  }
  return BYOC_OK;
}

byoc_status_t byoc_host_write_over(byoc_host_program_t *program, const byoc_host_pair_t *pairs, size_t count,
                                   byoc_diag_t *diag) {
  return for_each_pair(program, pairs, count, write_one_over, diag);
}

// ---- before there is a program ----

// Dimensions that are not known yet may turn out to be the same.
static byoc_status_t check_one(byoc_host_program_t *program, const char *output_name, const char *input_name,
                               byoc_diag_t *diag) {
  byoc_host_buffer_t *output = NULL;
  BYOC_RETURN_IF_ERROR(declare(program, output_name, input_name, diag, &output));
  const bool is_known = byoc_type_is_static(output->type) && byoc_type_is_static(output->over->type);
  return is_known ? check_types(output, diag) : BYOC_OK;
}

static bool add_port(byoc_host_program_t *program, byoc_host_buffer_kind_t kind, const char *name,
                     const byoc_value_t *value) {
  const byoc_type_t *type = value->type != NULL ? value->type : byoc_type_unknown();
  return byoc_host_port_create(program, kind, name, type) != NULL;
}

byoc_status_t byoc_host_check_pairs(const byoc_graph_module_t *module, const byoc_host_pair_t *pairs, size_t count,
                                    byoc_allocator_t allocator, byoc_diag_t *diag) {
  const byoc_function_t *main = byoc_graph_module_main(module);
  if (count == 0 || main == NULL) return BYOC_OK;
  byoc_host_program_t *ports = NULL; // a program that has nothing else
  BYOC_RETURN_IF_ERROR(byoc_host_program_create(module, main->name, allocator, diag, &ports));
  const byoc_block_t *body = main->body;
  bool ok = true;
  for (size_t i = 0; i < body->parameters.count && ok; ++i) {
    const byoc_value_t *value = body->parameters.data[i];
    ok = add_port(ports, BYOC_HOST_BUFFER_INPUT, value->name ? value->name : "x", value);
  }
  for (size_t i = 0; i < body->results.count && ok; ++i) {
    const char *name = body->result_names.data[i];
    ok = add_port(ports, BYOC_HOST_BUFFER_OUTPUT, name ? name : "y", body->results.data[i]);
  }
  byoc_status_t status = ok ? for_each_pair(ports, pairs, count, check_one, diag) : byoc_diag_out_of_memory(diag);
  byoc_host_program_destroy(ports);
  return status;
}
