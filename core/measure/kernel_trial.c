// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on generated data, compiled and interpreted.
#include "core/measure/kernel_trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hostir/program/dim_value.h"
#include "core/kernel/interpret.h"
#include "core/measure/compare.h"
#include "core/measure/data.h"
#include "core/measure/special_values.h"
#include "core/measure/window.h"

// A trial uses at most this much memory.
#define MOST_BYTES (UINT64_C(1) << 30)
// At most this many elements for generated sizes.
#define MOST_OPEN_BYTES (UINT64_C(8) << 20)
// A difference counts only if it occurs on so many sets of data.
enum { SEEDS = 3, MOST_PARAMETERS = 64 };

// ---- data ----

typedef struct trial_t {
  const byoc_kernel_trial_t *trial;
  const byoc_loop_kernel_t *partition; // the part of a long kernel that is interpreted; NULL: all of it
  byoc_arena_t arena;
  byoc_runtime_t runtime;
  uint64_t seed;
  DLTensor tensors[MOST_PARAMETERS];
  size_t sizes[MOST_PARAMETERS], counts[MOST_PARAMETERS];
  int64_t symbols[MOST_PARAMETERS];
  void *expected[MOST_PARAMETERS]; // by output
  size_t tensor_count, bytes;
} trial_t;

static void run_in_shares(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self, (void)grain;
  // Chunks in another order than threads would begin them: iterations must not depend on each other.
  const int64_t half = count / 2;
  if (half > 0) body(argument, half, count, 0);
  if (count > 0) body(argument, 0, half > 0 ? half : count, 0);
}

static void drop_error(void *self, const char *message) {
  (void)self, (void)message;
}

static bool evaluate(const trial_t *t, byoc_dim_t dim, int64_t *out_value) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel;
  *out_value = dim.constant;
  if (byoc_dim_is_constant(dim)) return true;
  if (dim.expr->kind == BYOC_DIM_UNKNOWN) return false;
  if (dim.expr->kind == BYOC_DIM_SYMBOL) {
    for (size_t i = 0; i < kernel->symbols.count; ++i) {
      *out_value = t->symbols[i];
      if (strcmp(kernel->symbols.data[i], dim.expr->symbol) == 0) return true;
    }
    return false;
  }
  int64_t left = 0, right = 0;
  if (!evaluate(t, dim.expr->left, &left) || !evaluate(t, dim.expr->right, &right)) return false;
  *out_value = byoc_host_dim_value(dim.expr->kind, left, right);
  return true;
}

// Memory for a parameter of the kernel; false if it cannot be had at these sizes.
static bool make_tensor(trial_t *t, uint32_t parameter) {
  const byoc_loop_buffer_t *buffer = t->trial->kernel->parameters.data[parameter];
  const uint32_t at = byoc_loop_tensor_index(t->trial->kernel, parameter);
  const uint64_t most = t->trial->kernel->symbols.count > 0 ? MOST_OPEN_BYTES : MOST_BYTES;
  int64_t *shape = BYOC_ARENA_ARRAY(&t->arena, int64_t, (size_t)buffer->rank + 1);
  uint64_t count = 1;
  if (shape == NULL || buffer->dtype == BYOC_DTYPE_STRING) return false;
  for (int32_t d = 0; d < buffer->rank; ++d) {
    if (!evaluate(t, buffer->dims[d], &shape[d]) || shape[d] < 0 || (uint64_t)shape[d] > most) return false;
    count *= (uint64_t)shape[d];
    if (count > most) return false;
  }
  t->counts[at] = (size_t)count;
  t->sizes[at] = (size_t)(count * byoc_dtype_bits(buffer->dtype) + 7) / 8;
  t->bytes += t->sizes[at];
  if (t->bytes > most) return false;
  void *data = byoc_arena_allocate_aligned(&t->arena, t->sizes[at] + 1, BYOC_BUFFER_ALIGNMENT);
  t->tensors[at] =
      (DLTensor){.data = data,
                 .device = {kDLCPU, 0},
                 .ndim = buffer->rank,
                 .dtype = {byoc_dtype_dlpack_code(buffer->dtype), (uint8_t)byoc_dtype_bits(buffer->dtype), 1},
                 .shape = shape};
  if (parameter < t->trial->kernel->input_count) return data != NULL;
  void **expected = &t->expected[parameter - t->trial->kernel->input_count];
  *expected = byoc_arena_allocate_aligned(&t->arena, t->sizes[at] + 1, BYOC_BUFFER_ALIGNMENT);
  return data != NULL && *expected != NULL;
}

static bool make_tensors(trial_t *t) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel;
  const bool has_symbols = kernel->symbols.count > 0;
  t->tensor_count = kernel->parameters.count + has_symbols;
  if (t->tensor_count > MOST_PARAMETERS || kernel->symbols.count > MOST_PARAMETERS) return false;
  for (uint32_t i = 0; i < kernel->parameters.count; ++i) {
    if (!make_tensor(t, i)) return false;
  }
  if (!has_symbols) return true;
  int64_t *shape = BYOC_ARENA_ARRAY(&t->arena, int64_t, 1);
  if (shape == NULL) return false;
  shape[0] = (int64_t)kernel->symbols.count;
  t->tensors[kernel->input_count] =
      (DLTensor){.data = t->symbols, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLInt, 64, 1}, .shape = shape};
  return true;
}

static const byoc_host_buffer_t *constant_of(const trial_t *t, uint32_t input) {
  const byoc_host_instruction_t *call = t->trial->call;
  if (input >= call->operands.count) return NULL;
  const byoc_host_buffer_t *buffer = call->operands.data[input];
  return buffer != NULL && buffer->kind == BYOC_HOST_BUFFER_CONSTANT ? buffer : NULL;
}

static void fill(trial_t *t, bool is_special) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel;
  uint64_t random = t->seed;
  for (uint32_t i = 0; i < kernel->input_count; ++i) {
    const DLTensor *tensor = &t->tensors[i];
    const byoc_host_buffer_t *constant = constant_of(t, i);
    const bool fits = constant != NULL && constant->data != NULL && constant->size_bytes == t->sizes[i];
    if (fits) {
      memcpy(tensor->data, constant->data, t->sizes[i]);
    } else {
      (is_special ? byoc_measure_fill_special : byoc_measure_fill)(kernel->parameters.data[i]->dtype, tensor->data,
                                                                   t->sizes[i], &random);
    }
  }
}

// ---- both executors ----

static byoc_call_t make_call(const trial_t *t, const DLTensor *tensors) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel;
  return (byoc_call_t){.struct_size = sizeof(byoc_call_t),
                       .input_count = kernel->input_count + (kernel->symbols.count > 0),
                       .output_count = kernel->output_count,
                       .tensors = tensors,
                       .runtime = &t->runtime};
}

static bool interpret(const trial_t *t, const byoc_loop_kernel_t *kernel) {
  DLTensor tensors[MOST_PARAMETERS];
  byoc_interpreter_t *interpreter = NULL;
  byoc_diag_t refusal = {0};
  if (kernel == NULL) return false;
  memcpy(tensors, t->tensors, t->tensor_count * sizeof(*tensors));
  for (uint32_t i = 0; i < kernel->output_count; ++i) {
    tensors[byoc_loop_tensor_index(kernel, kernel->input_count + i)].data = t->expected[i];
  }
  if (byoc_interpreter_create(kernel, byoc_allocator_system(), &refusal, &interpreter) != BYOC_OK) return false;
  const byoc_call_t call = make_call(t, tensors);
  const int32_t status = byoc_interpreter_run(interpreter, &call);
  byoc_interpreter_destroy(interpreter);
  return status == BYOC_OK;
}

// Fills results so that they cannot look right by chance. A kernel may leave some as they were: those past a count.
static void spoil(const trial_t *t) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel;
  for (uint32_t i = 0; i < kernel->output_count; ++i) {
    const uint32_t at = byoc_loop_tensor_index(kernel, kernel->input_count + i);
    memset(t->tensors[at].data, 0xA5, t->sizes[at]);
    memset(t->expected[i], 0xA5, t->sizes[at]);
  }
}

static byoc_status_t compare(const trial_t *t, bool is_special, byoc_diag_t *why) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel;
  for (uint32_t i = 0; i < kernel->output_count; ++i) {
    const uint32_t at = byoc_loop_tensor_index(kernel, kernel->input_count + i);
    char name[64];
    snprintf(name, sizeof(name), "output%u%s", (unsigned)i, is_special ? " on NaN and infinities" : "");
    BYOC_RETURN_IF_ERROR(byoc_cost_check(kernel->parameters.data[kernel->input_count + i]->dtype, t->expected[i],
                                         t->tensors[at].data, t->counts[at], name, why));
  }
  return BYOC_OK;
}

// BYOC_MISMATCH if they differ, BYOC_UNSUPPORTED if the interpreter cannot run it so.
static byoc_status_t try_data(trial_t *t, byoc_packed_function_t function, bool is_special, byoc_diag_t *why) {
  const byoc_loop_kernel_t *kernel = t->trial->kernel, *partition = t->partition;
  fill(t, is_special);
  spoil(t);
  if (partition == NULL && !interpret(t, kernel)) return BYOC_UNSUPPORTED;
  const byoc_call_t call = make_call(t, t->tensors);
  const int32_t status = function(&call);
  if (status != BYOC_OK && partition != NULL) return BYOC_UNSUPPORTED;
  if (status != BYOC_OK) return byoc_diag_error(why, BYOC_MISMATCH, "it fails (%s)", byoc_status_name(status));
  for (uint32_t i = 0; i < kernel->output_count && partition != NULL; ++i) {
    const uint32_t at = byoc_loop_tensor_index(kernel, kernel->input_count + i);
    memcpy(t->expected[i], t->tensors[at].data, t->sizes[at]); // some iterations write over it
  }
  if (partition != NULL && !interpret(t, partition)) return BYOC_UNSUPPORTED;
  return compare(t, is_special, why);
}

// A difference must occur on other data too.
static byoc_kernel_verdict_t try_seeds(trial_t *t, byoc_packed_function_t function, bool is_special, byoc_diag_t *why) {
  for (uint64_t seed = BYOC_MEASURE_SEED; seed < BYOC_MEASURE_SEED + SEEDS; ++seed) {
    t->seed = seed;
    const byoc_status_t status = try_data(t, function, is_special, why);
    if (status != BYOC_MISMATCH) return status == BYOC_OK ? BYOC_KERNEL_RIGHT : BYOC_KERNEL_UNCHECKED;
  }
  return BYOC_KERNEL_WRONG;
}

static byoc_kernel_verdict_t try_sizes(trial_t *t, byoc_packed_function_t function, byoc_diag_t *why) {
  t->bytes = 0;
  byoc_arena_init(&t->arena, byoc_allocator_system());
  t->partition = byoc_kernel_take_windows(t->trial->kernel, t->trial->call->function, &t->arena);
  byoc_kernel_verdict_t verdict =
      make_tensors(t) ? try_seeds(t, function, false, why) : (byoc_kernel_verdict_t)BYOC_KERNEL_UNCHECKED;
  const byoc_host_instruction_t *call = t->trial->call;
  const bool takes_special = call->function != NULL && byoc_measure_takes_special(call->function);
  if (verdict == BYOC_KERNEL_RIGHT && takes_special && try_seeds(t, function, true, why) == BYOC_KERNEL_WRONG) {
    verdict = BYOC_KERNEL_WRONG;
  }
  byoc_arena_deinit(&t->arena);
  return verdict;
}

byoc_kernel_verdict_t byoc_kernel_trial_run(const byoc_kernel_trial_t *trial, byoc_packed_function_t function,
                                            byoc_diag_t *why) {
  // The sizes of all symbols, and the step from one symbol to the next.
  static const int64_t sizes[][2] = {{13, 0}, {7, 0}, {1, 0}, {3, 2}, {16, 0}};
  trial_t t = {.trial = trial};
  t.runtime = (byoc_runtime_t){.struct_size = sizeof(t.runtime),
                               .thread_count = 2,
                               .self = &t,
                               .parallel_for = run_in_shares,
                               .set_error = drop_error};
  const size_t symbol_count = trial->kernel->symbols.count;
  if (symbol_count == 0) return try_sizes(&t, function, why);
  byoc_kernel_verdict_t verdict = BYOC_KERNEL_UNCHECKED;
  for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]) && symbol_count <= MOST_PARAMETERS; ++k) {
    for (size_t i = 0; i < symbol_count; ++i) t.symbols[i] = sizes[k][0] + (int64_t)i * sizes[k][1];
    const byoc_kernel_verdict_t found = try_sizes(&t, function, why);
    if (found == BYOC_KERNEL_WRONG) return found;
    if (found == BYOC_KERNEL_RIGHT) verdict = found;
  }
  return verdict;
}
