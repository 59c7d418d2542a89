// SPDX-License-Identifier: Apache-2.0
// fold-constants: values that depend on constants and known shapes only are computed now, by the pipeline of every
// model: the foldable nodes of a function become a small module, which is lowered and evaluated.
//
// fold-constants leaves DequantizeLinear, and what is computed from its result, as it is: constants of few bits keep
// their form, whichever passes ran before. fold-dequantised folds that too, but for constants that a rule of the build
// reads as they are.
#include <string.h>

#include "core/hostir/evaluate/evaluate.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/pass/pass.h"
#include "core/ir/virtual_device.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/pass/kept_weights.h"
#include "core/pass/pass.h"

// A result that is computed from weights is folded unless it is much larger than they are: weights of four bits become
// f32 at most, which is eight times their size. A result of small operands (filled, expanded, counted up) is folded if
// it is no larger than exporters' masks, which have 2048 by 2048 positions in f32. Larger results are computed at run
// time.
#define FOLD_GROWTH      8
#define FOLD_SMALL_BYTES (INT64_C(16) << 20)
// All folding in one module shares one budget: FOLD_GROWTH times the constants that it came with, so that each of them
// can be converted once, plus room for so many masks.
#define FOLD_MASKS 16

typedef struct folder_t {
  byoc_function_t *function;
  byoc_map_t foldable; // pointer map: nodes whose results are known
  bool dequantises;    // constants of integers become floats
  uint64_t kept;       // but not those of these types
  byoc_diag_t *diag;
  size_t changes;
} folder_t;

// ---- which nodes can be folded ----

static bool is_known(const folder_t *f, const byoc_value_t *value) {
  if (value == NULL || byoc_value_is_constant(value)) return true;
  const byoc_node_t *producer = byoc_value_producer(value);
  return producer != NULL && byoc_pointer_map_find(&f->foldable, producer) != NULL;
}

static int64_t fold_budget(const byoc_graph_module_t *module) {
  int64_t budget = FOLD_MASKS * FOLD_SMALL_BYTES;
  for (size_t i = 0; i < module->constants.count; ++i) {
    budget += FOLD_GROWTH * (int64_t)module->constants.data[i]->size_bytes;
  }
  return budget;
}

// Charges the results of the node to the module's budget. An intermediate result that nothing else reads frees its
// share.
static bool pay(const folder_t *f, const byoc_node_t *node) {
  int64_t *budget = &f->function->module->fold_budget_bytes, given = 0, made = 0, freed = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *operand = node->operands[i];
    if (operand == NULL) continue;
    int64_t size = byoc_type_size_bytes(operand->type);
    given += size;
    if (!byoc_value_is_constant(operand) && operand->uses.count == 1) freed += size;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    int64_t size = byoc_type_size_bytes(node->results[r]->type);
    if (size < 0 || __builtin_add_overflow(made, size, &made)) return false;
  }
  if ((made > FOLD_SMALL_BYTES && made / FOLD_GROWTH > given) || made - freed > *budget) return false;
  if (made > freed) *budget -= made - freed;
  return true;
}

static bool is_foldable(const folder_t *f, const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  if (op == NULL || node->block_count > 0 || node->result_count == 0) return false;
  if (op->traits & (BYOC_OP_RANDOM | BYOC_OP_CONTROL)) return false;
  if (op->point == NULL && op->loops == NULL && !op->is_view && op->expand == NULL) return false;
  if (!f->dequantises && strcmp(node->op, "DequantizeLinear") == 0) return false; // of each domain
  if (byoc_node_is_kept_weight(node, f->kept)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!is_known(f, node->operands[i])) return false;
    const byoc_value_t *operand = node->operands[i];
    if (operand && (!byoc_type_is_static(operand->type) || operand->type->dtype == BYOC_DTYPE_STRING)) return false;
    if (operand && !byoc_value_serves(node->results[0], operand))
      return false; // a node that moves it to another device stays
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_type_t *type = node->results[r]->type;
    if (!byoc_type_is_static(type) || type->dtype == BYOC_DTYPE_STRING) return false;
    if (node->results[r]->device.target != NULL) return false; // the user named its target
  }
  return pay(f, node);
}

// ---- shapes: known from the type alone ----

static byoc_status_t replace_by_constant(folder_t *f, byoc_value_t *value, byoc_constant_t *constant) {
  byoc_value_t *folded = constant ? byoc_function_constant(f->function, constant) : NULL;
  if (folded == NULL || !byoc_value_replace_uses(value, folded)) return byoc_diag_out_of_memory(f->diag);
  f->changes += 1;
  return BYOC_OK;
}

// Shape(x) → constant, Size(x) → constant, where the dimensions asked for are known
static byoc_status_t fold_shape(folder_t *f, byoc_node_t *node) {
  bool is_shape = byoc_node_is_onnx(node, "Shape"), is_size = byoc_node_is_onnx(node, "Size");
  if ((!is_shape && !is_size) || node->results[0]->uses.count == 0) return BYOC_OK;
  const byoc_type_t *type = node->operands[0]->type, *result = node->results[0]->type;
  if (type->rank < 0 || !byoc_type_is_static(result)) return BYOC_OK;
  int64_t first = is_shape ? byoc_node_int(node, "start") : 0;
  if (first < 0) first += type->rank;
  first = first < 0 ? 0 : first;
  int64_t values[BYOC_MAX_RANK] = {0}, count = byoc_type_element_count(result);
  if (is_size) {
    values[0] = byoc_type_element_count(type);
    if (values[0] < 0) return BYOC_OK;
  }
  for (int64_t i = 0; is_shape && i < count; ++i) {
    if (first + i >= type->rank || !byoc_dim_is_constant(type->dims[first + i])) return BYOC_OK;
    values[i] = type->dims[first + i].constant;
  }
  const char *name = node->results[0]->name ? node->results[0]->name : "shape";
  return replace_by_constant(f, node->results[0], byoc_constant_create(f->function->module, name, result, values));
}

// Gather(Shape(x), 1), Concat(Mod(...), ...) → constant, where other dimensions of x are open, but not these
static byoc_status_t fold_followed(folder_t *f, byoc_node_t *node) {
  if (node->callee || node->result_count != 1 || node->operand_count == 0 || node->block_count > 0) return BYOC_OK;
  const byoc_value_t *result = node->results[0];
  const byoc_type_t *type = result->type;
  if (!byoc_type_is_tensor(type) || type->dtype != BYOC_DTYPE_I64 || !byoc_type_is_static(type)) return BYOC_OK;
  if (result->uses.count == 0 || result->device.target != NULL || byoc_node_is_onnx(node, "Shape")) return BYOC_OK;
  byoc_dim_t dims[BYOC_MAX_RANK];
  int64_t values[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!byoc_shape_value(result, &f->function->module->arena, &count, dims)) return BYOC_OK;
  if (count == 0 || count != byoc_type_element_count(type)) return BYOC_OK;
  for (int32_t i = 0; i < count; ++i) {
    if (!byoc_dim_is_constant(dims[i])) return BYOC_OK;
    values[i] = dims[i].constant;
  }
  const char *name = result->name ? result->name : "sizes";
  return replace_by_constant(f, node->results[0], byoc_constant_create(f->function->module, name, type, values));
}

static byoc_status_t fold_shapes(folder_t *f, byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    BYOC_RETURN_IF_ERROR(fold_shape(f, node));
    BYOC_RETURN_IF_ERROR(fold_followed(f, node));
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(fold_shapes(f, node->blocks[b]));
  }
  return BYOC_OK;
}

// ---- other nodes: evaluated ----

typedef struct batch_t {
  folder_t *folder;
  byoc_graph_module_t *module; // the small module
  byoc_function_t *main;
  byoc_map_t values;                  // pointer map: value of the function → its copy in `main`
  BYOC_VECTOR(byoc_value_t *) wanted; // values of the function that other nodes use
} batch_t;

// The copy of an operand: of a node copied before, or of a constant, whose data both modules share.
static byoc_status_t copy_operand(batch_t *b, byoc_value_t *operand, byoc_value_t **out_copy) {
  *out_copy = operand ? byoc_pointer_map_get(&b->values, operand) : NULL;
  if (operand == NULL || *out_copy != NULL) return BYOC_OK;
  const byoc_type_t *type = byoc_type_copy(operand->type, &b->module->arena);
  byoc_constant_t *constant =
      type ? byoc_constant_wrap(b->module, operand->constant->name, type, operand->constant->data) : NULL;
  *out_copy = constant ? byoc_function_constant(b->main, constant) : NULL;
  if (*out_copy != NULL && byoc_pointer_map_put(&b->values, operand, *out_copy)) return BYOC_OK;
  return byoc_diag_out_of_memory(b->folder->diag);
}

// Does a node that is not folded read the value?
static bool is_wanted(const folder_t *f, const byoc_value_t *value) {
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_node_t *user = value->uses.data[u].node;
    if (user == NULL || byoc_pointer_map_find(&f->foldable, user) == NULL) return true;
  }
  return false;
}

static byoc_status_t copy_node(batch_t *b, const byoc_node_t *node) {
  byoc_value_t **operands = BYOC_ARENA_ARRAY(&b->module->arena, byoc_value_t *, node->operand_count);
  if (operands == NULL) return byoc_diag_out_of_memory(b->folder->diag);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(copy_operand(b, node->operands[i], &operands[i]));
  }
  byoc_node_t *copy = byoc_node_create(b->main->body, NULL, node->domain, node->op, node->since_version, operands,
                                       node->operand_count, node->result_count);
  if (copy == NULL || !byoc_attributes_copy(&copy->attributes, &node->attributes)) {
    return byoc_diag_out_of_memory(b->folder->diag);
  }
  copy->name = node->name; // the module that has it outlives the copy
  for (uint32_t r = 0; r < node->result_count; ++r) {
    byoc_value_t *value = node->results[r], *made = copy->results[r];
    made->type = byoc_type_copy(value->type, &b->module->arena);
    if (made->type == NULL || !byoc_pointer_map_put(&b->values, value, made)) {
      return byoc_diag_out_of_memory(b->folder->diag);
    }
    if (!is_wanted(b->folder, value)) continue;
    if (!byoc_block_add_result(b->main->body, value->name, made) ||
        !byoc_vector_push(&b->wanted, b->module->allocator, value)) {
      return byoc_diag_out_of_memory(b->folder->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t evaluate(batch_t *b, void *const *outputs) {
  byoc_diag_t *diag = b->folder->diag;
  byoc_allocator_t allocator = b->module->allocator;
  byoc_host_program_t *program = NULL;
  byoc_evaluator_t *evaluator = NULL;
  byoc_status_t status = byoc_kernel_lower_module(b->module, NULL, diag);
  if (status == BYOC_OK) status = byoc_host_lower(b->module, allocator, diag, &program);
  if (status == BYOC_OK) status = byoc_host_pass_run_list(BYOC_HOST_STANDARD_PASSES, program, NULL, diag);
  if (status == BYOC_OK) status = byoc_evaluator_create(program, NULL, 1, allocator, diag, &evaluator);
  if (status == BYOC_OK) status = byoc_evaluator_run(evaluator, NULL, outputs, diag);
  byoc_evaluator_destroy(evaluator);
  byoc_host_program_destroy(program);
  return status;
}

static byoc_status_t fold_batch(batch_t *b) {
  byoc_graph_module_t *module = b->folder->function->module;
  size_t count = b->wanted.count;
  void **outputs = byoc_allocate(module->allocator, count, sizeof(void *));
  byoc_constant_t **constants = byoc_allocate(module->allocator, count, sizeof(*constants));
  byoc_status_t status = outputs && constants ? BYOC_OK : byoc_diag_out_of_memory(b->folder->diag);
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    const byoc_value_t *value = b->wanted.data[i];
    const char *name = value->name ? value->name : "folded";
    constants[i] = byoc_constant_allocate(module, name, value->type, &outputs[i]);
    if (constants[i] == NULL) status = byoc_diag_out_of_memory(b->folder->diag);
  }
  if (status == BYOC_OK) status = evaluate(b, outputs);
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    status = replace_by_constant(b->folder, b->wanted.data[i], constants[i]);
  }
  byoc_free(module->allocator, constants);
  byoc_free(module->allocator, outputs);
  return status;
}

static bool is_refusal(byoc_status_t status) {
  return status == BYOC_INVALID_DATA || status == BYOC_INVALID_ARGUMENT;
}

// Folds the foldable nodes of one block; nested blocks may use constants that were folded outside of them.
static byoc_status_t fold_block(folder_t *f, byoc_block_t *block) {
  byoc_allocator_t allocator = f->function->module->allocator;
  batch_t batch = {.folder = f};
  byoc_pointer_map_init(&f->foldable, allocator);
  byoc_pointer_map_init(&batch.values, allocator);
  byoc_status_t status = byoc_graph_module_create(allocator, f->diag, &batch.module);
  if (status == BYOC_OK) {
    batch.main = byoc_function_create(batch.module, "main");
    const bool is_clamped = byoc_indices_are_clamped(f->function->module);
    if (batch.main == NULL || (is_clamped && !byoc_indices_set_clamped(batch.module))) {
      status = byoc_diag_out_of_memory(f->diag);
    }
  }
  for (byoc_node_t *node = block->first; node != NULL && status == BYOC_OK; node = node->next) {
    if (is_foldable(f, node) && !byoc_pointer_map_put(&f->foldable, node, node)) {
      status = byoc_diag_out_of_memory(f->diag);
    }
  }
  for (size_t i = 0; i < f->foldable.count && status == BYOC_OK; ++i) {
    status = copy_node(&batch, f->foldable.entries[i].value);
  }
  if (status == BYOC_OK && batch.wanted.count > 0) status = fold_batch(&batch);
  if (block->owner != NULL && is_refusal(status)) { // a branch that does not fit together fails when it is run
    byoc_diag_clear(f->diag);
    status = BYOC_OK;
  }
  byoc_vector_deinit(&batch.wanted, allocator);
  byoc_map_deinit(&batch.values);
  byoc_map_deinit(&f->foldable);
  byoc_graph_module_destroy(batch.module);
  for (byoc_node_t *node = block->first; node != NULL && status == BYOC_OK; node = node->next) {
    for (uint32_t n = 0; n < node->block_count && status == BYOC_OK; ++n) status = fold_block(f, node->blocks[n]);
  }
  return status;
}

static byoc_status_t fold_module(byoc_graph_module_t *module, bool dequantises, uint64_t kept, byoc_diag_t *diag,
                                 size_t *changes) {
  size_t function_count = module->functions.count;
  if (!module->has_fold_budget) module->fold_budget_bytes = fold_budget(module);
  module->has_fold_budget = true;
  for (size_t i = 0; i < function_count; ++i) {
    folder_t f = {.function = module->functions.data[i], .dequantises = dequantises, .kept = kept, .diag = diag};
    if (f.function->kind != BYOC_FUNCTION_GRAPH || !byoc_function_is_in_scope(f.function)) continue;
    BYOC_RETURN_IF_ERROR_IN(diag, fold_shapes(&f, f.function->body), "in '%s'", f.function->name);
    BYOC_RETURN_IF_ERROR_IN(diag, fold_block(&f, f.function->body), "in '%s'", f.function->name);
    *changes += f.changes;
  }
  size_t removed = 0; // the nodes whose results are constants now
  BYOC_RETURN_IF_ERROR(byoc_pass_remove_dead_code(module, diag, &removed));
  return *changes > 0 ? byoc_infer_module(module, diag) : BYOC_OK;
}

byoc_status_t byoc_pass_fold_constants(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return fold_module(module, false, 0, diag, changes);
}

byoc_status_t byoc_pass_fold_dequantised(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                         byoc_diag_t *diag, size_t *changes) {
  return fold_module(module, true, byoc_kept_weights(arguments->targets), diag, changes);
}
