// SPDX-License-Identifier: Apache-2.0
// Runs one operator from text: parsed, inferred, lowered to kernels, interpreted.
#ifndef BYOC_TESTS_UNIT_OPS_OPS_SUPPORT_H_
#define BYOC_TESTS_UNIT_OPS_OPS_SUPPORT_H_

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "byoc/call.h"
#include "core/ir/module_text.h"
#include "core/kernel/interpret.h"
#include "core/kernel/lower_module.h"
#include "core/op/op.h"
#include "core/ops/byoc/symbolic.h"
#include "tests/support/support.h"

enum { OPS_MAX_VALUES = 256 };

// The tensors of one run of a module's main function.
typedef struct ops_run_t {
  byoc_graph_module_t *module;
  struct {
    byoc_value_t *value;
    void *data;
    bool owned;
  } slots[OPS_MAX_VALUES];
  size_t slot_count;
  byoc_map_t symbols; // values of symbolic dimensions: text map → const byoc_dim_t *
} ops_run_t;

// The run-time size of a dimension.
static inline int64_t ops_extent(const ops_run_t *run, byoc_dim_t dim) {
  bool failed = false;
  dim = byoc_dim_substitute(dim, &run->symbols, &run->module->arena, &failed);
  assert_true(!failed && byoc_dim_is_constant(dim));
  return dim.constant;
}

static inline void *ops_data(const ops_run_t *run, const byoc_value_t *value) {
  if (value->kind == BYOC_VALUE_CONSTANT) return (void *)(uintptr_t)value->constant->data;
  for (size_t i = 0; i < run->slot_count; ++i) {
    if (run->slots[i].value == value) return run->slots[i].data;
  }
  fail_msg("a value without data");
  return NULL;
}

static inline void ops_bind(ops_run_t *run, byoc_value_t *value, void *data, bool owned) {
  assert_true(run->slot_count < OPS_MAX_VALUES);
  run->slots[run->slot_count].value = value;
  run->slots[run->slot_count].data = data;
  run->slots[run->slot_count++].owned = owned;
}

static inline void ops_call(ops_run_t *run, byoc_node_t *node) {
  DLTensor tensors[OPS_MAX_VALUES] = {{0}};
  int64_t shapes[OPS_MAX_VALUES][BYOC_MAX_RANK];
  uint32_t count = node->operand_count + node->result_count;
  const byoc_loop_kernel_t *kernel = node->callee->kernel;
  int64_t symbols[OPS_MAX_VALUES], symbol_count = (int64_t)kernel->symbols.count;
  assert_true(count + 1 <= OPS_MAX_VALUES && symbol_count <= OPS_MAX_VALUES);
  for (uint32_t i = 0; i < count; ++i) {
    bool input = i < node->operand_count;
    byoc_value_t *value = input ? node->operands[i] : node->results[i - node->operand_count];
    const byoc_type_t *type = value->type;
    if (!input) {
      int64_t size = byoc_dtype_bits(type->dtype) / 8;
      for (int32_t d = 0; d < type->rank; ++d) size *= ops_extent(run, type->dims[d]);
      void *data = malloc((size_t)size + 1);
      assert_non_null(data);
      memset(data, 0xA5, (size_t)size + 1); // elements that a kernel forgets to write are noticed
      ops_bind(run, value, data, true);
    }
    uint32_t at = byoc_loop_tensor_index(kernel, i);
    for (int32_t d = 0; d < type->rank; ++d) shapes[i][d] = ops_extent(run, type->dims[d]);
    tensors[at].data = ops_data(run, value);
    tensors[at].ndim = type->rank;
    tensors[at].shape = shapes[i];
    tensors[at].device.device_type = kDLCPU;
    tensors[at].dtype.code = byoc_dtype_dlpack_code(type->dtype);
    tensors[at].dtype.bits = (uint8_t)byoc_dtype_bits(type->dtype);
    tensors[at].dtype.lanes = 1;
  }
  for (int64_t k = 0; k < symbol_count; ++k) {
    bool failed = false;
    symbols[k] = ops_extent(run, byoc_dim_symbol(&run->module->arena, kernel->symbols.data[k], &failed));
  }
  if (symbol_count > 0) {
    tensors[node->operand_count] =
        (DLTensor){.data = symbols, .ndim = 1, .shape = &symbol_count, .dtype = {kDLInt, 64, 1}, .device = {kDLCPU, 0}};
  }
  byoc_diag_t diag = {0};
  byoc_interpreter_t *interpreter = NULL;
  byoc_test_ok(byoc_interpreter_create(node->callee->kernel, byoc_allocator_system(), &diag, &interpreter), &diag);
  byoc_call_t call = {
      sizeof call, node->operand_count + (symbol_count > 0), node->result_count, 0, tensors, NULL, NULL, 0};
  byoc_status_t status = byoc_interpreter_run(interpreter, &call);
  byoc_interpreter_destroy(interpreter);
  assert_int_equal(status, BYOC_OK);
}

// `inputs` are in the order of main's parameters and stay the caller's. If there is a symbol N, its value is `n`.
static inline void ops_run_symbolic(const char *text, int64_t n, const void *const *inputs, ops_run_t *run) {
  byoc_diag_t diag = {0};
  byoc_dim_t size = byoc_dim_constant(n);
  memset(run, 0, sizeof *run);
  byoc_string_map_init(&run->symbols, byoc_allocator_system());
  assert_true(byoc_string_map_put(&run->symbols, "N", &size));
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &run->module), &diag);
  byoc_test_ok(byoc_infer_module(run->module, &diag), &diag);
  byoc_test_ok(byoc_kernel_lower_module(run->module, NULL, &diag), &diag);
  byoc_block_t *body = byoc_graph_module_main(run->module)->body;
  for (size_t i = 0; i < body->parameters.count; ++i) {
    ops_bind(run, body->parameters.data[i], (void *)(uintptr_t)inputs[i], false);
  }
  BYOC_FOR_EACH_NODE(node, body) {
    const byoc_op_t *op = byoc_op_of(node);
    if (byoc_is_guard(node)) continue; // the host program runs it
    if (node->callee) {
      ops_call(run, node);
    } else {
      assert_true(op && op->is_view);
      ops_bind(run, node->results[0], ops_data(run, node->operands[0]), false);
    }
  }
  byoc_map_deinit(&run->symbols);
}

static inline void ops_run(const char *text, const void *const *inputs, ops_run_t *run) {
  ops_run_symbolic(text, 0, inputs, run);
}

static inline void *ops_result(const ops_run_t *run, size_t index) {
  return ops_data(run, byoc_graph_module_main(run->module)->body->results.data[index]);
}

static inline void ops_done(ops_run_t *run) {
  for (size_t i = 0; i < run->slot_count; ++i) {
    if (run->slots[i].owned) free(run->slots[i].data);
  }
  byoc_graph_module_destroy(run->module);
}

// Fails at the first element that is further off than one part in ten thousand.
static inline void ops_near(const float *actual, const float *expected, size_t count, const char *what) {
  for (size_t i = 0; i < count; ++i) {
    float tolerance = 1e-5f + 1e-4f * fabsf(expected[i]);
    bool same = (isnan(actual[i]) && isnan(expected[i])) || actual[i] == expected[i] ||
                fabsf(actual[i] - expected[i]) <= tolerance;
    if (!same) fail_msg("%s: element %zu is %.9g, expected %.9g", what, i, (double)actual[i], (double)expected[i]);
  }
}

static inline void ops_fill(float *values, size_t count, uint64_t seed) {
  byoc_test_random_t random = {.state = seed};
  for (size_t i = 0; i < count; ++i) values[i] = byoc_test_float(&random);
}

#endif // BYOC_TESTS_UNIT_OPS_OPS_SUPPORT_H_
