// SPDX-License-Identifier: Apache-2.0
// Copies of a model for several numbers of threads, and the choice between them.
#include "core/compile/thread_cases.h"

#include "core/compile/choice.h"
#include "core/ir/attribute_names.h"
#include "core/ir/structural.h"
#include "core/op/op.h"

// ---- one copy for each number ----

byoc_status_t byoc_thread_cases_begin(byoc_thread_cases_t *cases, byoc_graph_module_t *module,
                                      const byoc_thread_list_t *threads, byoc_diag_t *diag) {
  *cases = (byoc_thread_cases_t){.module = module, .threads = threads};
  byoc_pointer_map_init(&cases->scope, module->allocator);
  byoc_function_t *main = byoc_graph_module_main(module);
  for (size_t i = 0; i < threads->count; ++i) {
    const char *name = byoc_arena_format(&module->arena, "%s.threads%d", main->name, (int)threads->counts[i]);
    if (name != NULL) name = byoc_graph_module_unique_name(module, name);
    cases->functions[i] = name != NULL ? byoc_function_clone(main, name) : NULL;
    if (cases->functions[i] == NULL) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_thread_cases_open(byoc_thread_cases_t *cases, size_t i, byoc_diag_t *diag) {
  byoc_map_deinit(&cases->scope);
  byoc_pointer_map_init(&cases->scope, cases->module->allocator);
  byoc_function_t *function = cases->functions[i];
  if (!byoc_pointer_map_put(&cases->scope, function, function)) return byoc_diag_out_of_memory(diag);
  cases->module->scope = &cases->scope;
  return BYOC_OK;
}

void byoc_thread_cases_close(byoc_thread_cases_t *cases) {
  cases->module->scope = NULL;
}

void byoc_thread_cases_deinit(byoc_thread_cases_t *cases) {
  byoc_thread_cases_close(cases);
  byoc_map_deinit(&cases->scope);
}

static bool is_in_scope(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_function_is_in_scope(function);
}

byoc_status_t byoc_thread_cases_keep_open(byoc_graph_module_t *module, byoc_diag_t *diag) {
  if (module->scope == NULL) return BYOC_OK;
  byoc_function_t *main = byoc_graph_module_main(module), *open = NULL;
  const char *name = main->name;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (open == NULL && byoc_function_is_open(function)) open = function;
  }
  byoc_graph_module_keep_functions(module, is_in_scope, NULL);
  module->scope = NULL;
  return open != NULL && byoc_function_rename(open, name) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- the choice ----

typedef struct joining_t {
  byoc_graph_module_t *module;
  byoc_function_t *main;
  byoc_value_t **results; // of the main function's nodes, each once
  size_t result_count;
  const byoc_function_t *functions[BYOC_THREAD_LIST_MAX]; // those that differ from the one before
  int64_t counts[BYOC_THREAD_LIST_MAX];
  size_t count;
  byoc_diag_t *diag;
} joining_t;

static void list_cases(joining_t *j, const byoc_thread_cases_t *cases) {
  for (size_t i = 0; i < cases->threads->count; ++i) {
    const byoc_function_t *function = cases->functions[i];
    if (j->count > 0 && byoc_function_structural_equal(j->functions[j->count - 1], function,
                                                       BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES)) {
      continue;
    }
    j->functions[j->count] = function;
    j->counts[j->count++] = cases->threads->counts[i];
  }
}

// The copy's value that stands where the main function has this result.
static byoc_value_t *clone_of(const joining_t *j, const byoc_function_t *function, const byoc_value_t *result) {
  size_t r = 0;
  while (j->main->body->results.data[r] != result) ++r;
  return function->body->results.data[r];
}

// Puts the nodes of a case into the block. `out` gets the value of each result.
static byoc_status_t copy_case(const joining_t *j, const byoc_function_t *function, byoc_block_t *block,
                               byoc_value_t **out) {
  byoc_map_t map;
  byoc_pointer_map_init(&map, j->module->allocator);
  const byoc_block_t *from = function->body;
  bool ok = true;
  for (size_t p = 0; p < from->parameters.count && ok; ++p) {
    ok = byoc_pointer_map_put(&map, from->parameters.data[p], j->main->body->parameters.data[p]);
  }
  for (const byoc_node_t *node = from->first; node != NULL && ok; node = node->next) {
    ok = byoc_node_clone(node, block, NULL, &map) != NULL;
  }
  for (size_t k = 0; k < j->result_count && ok; ++k) {
    out[k] = byoc_pointer_map_get(&map, clone_of(j, function, j->results[k]));
    ok = out[k] != NULL;
  }
  byoc_map_deinit(&map);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(j->diag);
}

// Has the context at least that many threads? NULL: out of memory.
static byoc_value_t *ask(const joining_t *j, byoc_block_t *block, int64_t threads) {
  const int64_t one = 1;
  const byoc_type_t *type = byoc_type_tensor_static(&j->module->arena, BYOC_DTYPE_I64, 1, &one);
  const byoc_type_t *answer = byoc_type_tensor_static(&j->module->arena, BYOC_DTYPE_BOOL, 0, NULL);
  byoc_constant_t *constant = type != NULL ? byoc_constant_create(j->module, "threads", type, &threads) : NULL;
  byoc_value_t *number = constant != NULL ? byoc_function_constant(j->main, constant) : NULL;
  byoc_node_t *node = number != NULL ? byoc_node_create(block, NULL, "byoc", "ThreadsAtLeast", 1, &number, 1, 1) : NULL;
  if (node == NULL || answer == NULL || !byoc_node_set_name(node, BYOC_THREAD_NODES)) return NULL;
  node->results[0]->type = answer;
  return node->results[0];
}

static byoc_status_t make_choice(const joining_t *j, size_t i, byoc_block_t *block, byoc_node_t **out_choice) {
  byoc_value_t *answer = ask(j, block, j->counts[i]);
  byoc_node_t *choice =
      answer != NULL ? byoc_node_create(block, NULL, "", "If", 16, &answer, 1, (uint32_t)j->result_count) : NULL;
  const bool is_whole = choice != NULL && byoc_node_set_name(choice, BYOC_THREAD_NODES) &&
                        byoc_node_add_block(choice, "then_branch") != NULL &&
                        byoc_node_add_block(choice, "else_branch") != NULL;
  const char *const names[] = {byoc_arena_format(&j->module->arena, "threads=%d", (int)j->counts[i]), "fewer threads"};
  if (!is_whole || names[0] == NULL ||
      !byoc_attributes_set_strings(&choice->attributes, BYOC_ATTRIBUTE_CASES, names, 2)) {
    return byoc_diag_out_of_memory(j->diag);
  }
  for (size_t k = 0; k < j->result_count; ++k) {
    choice->results[k]->type = j->results[k]->type;
    choice->results[k]->device = j->results[k]->device;
  }
  *out_choice = choice;
  return BYOC_OK;
}

// Fills a block with the choice between the case at `i` and those below it.
static byoc_status_t fill(const joining_t *j, size_t i, byoc_block_t *block, byoc_value_t **out) {
  if (i == 0) return copy_case(j, j->functions[0], block, out);
  byoc_node_t *choice = NULL;
  BYOC_RETURN_IF_ERROR(make_choice(j, i, block, &choice));
  for (uint32_t b = 0; b < 2; ++b) {
    byoc_block_t *branch = choice->blocks[b];
    BYOC_RETURN_IF_ERROR(b == 0 ? copy_case(j, j->functions[i], branch, out) : fill(j, i - 1, branch, out));
    for (size_t k = 0; k < j->result_count; ++k) {
      if (!byoc_block_add_result(branch, NULL, out[k])) return byoc_diag_out_of_memory(j->diag);
    }
  }
  for (size_t k = 0; k < j->result_count; ++k) out[k] = choice->results[k];
  return BYOC_OK;
}

static byoc_status_t join(joining_t *j, byoc_value_t **values) {
  byoc_block_t *body = j->main->body;
  byoc_node_t *last = body->last;
  j->result_count = byoc_choice_list_results(body, j->results);
  if (j->result_count == 0) return BYOC_OK; // nothing is computed
  BYOC_RETURN_IF_ERROR(fill(j, j->count - 1, body, values));
  const size_t result_count = body->results.count;
  for (size_t k = 0; k < j->result_count; ++k) {
    for (uint32_t r = 0; r < result_count; ++r) {
      if (body->results.data[r] != j->results[k]) continue;
      if (!byoc_block_set_result(body, r, values[k])) return byoc_diag_out_of_memory(j->diag);
    }
  }
  for (byoc_node_t *node = last, *before = NULL; node != NULL; node = before) {
    before = node->previous;
    byoc_node_erase(node);
  }
  return j->count < 2 ||
                 byoc_attributes_set_ints(&j->module->attributes, BYOC_ATTRIBUTE_THREAD_PLANS, j->counts, j->count)
             ? BYOC_OK
             : byoc_diag_out_of_memory(j->diag);
}

byoc_status_t byoc_thread_cases_join(byoc_thread_cases_t *cases, byoc_diag_t *diag) {
  byoc_graph_module_t *module = cases->module;
  joining_t j = {.module = module, .main = byoc_graph_module_main(module), .diag = diag};
  const size_t room = j.main->body->results.count + 1;
  j.results = BYOC_ARENA_ARRAY(&module->arena, byoc_value_t *, room);
  byoc_value_t **values = BYOC_ARENA_ARRAY(&module->arena, byoc_value_t *, room);
  if (j.results == NULL || values == NULL) return byoc_diag_out_of_memory(diag);
  list_cases(&j, cases);
  BYOC_RETURN_IF_ERROR(join(&j, values));
  for (size_t i = 0; i < cases->threads->count; ++i) byoc_function_erase(cases->functions[i]);
  return BYOC_OK;
}
