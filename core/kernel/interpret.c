// SPDX-License-Identifier: Apache-2.0
// Runs the register code of kernels.
#include "core/kernel/interpret.h"

#include <stdio.h>
#include <string.h>

#include "core/kernel/bytecode.h"

#define REGISTER_BYTES (BYOC_INTERPRETER_LANES * sizeof(int64_t))

// Numbers of 64 bits of any class, moved as bits.
typedef int64_t __attribute__((may_alias)) word_t;

struct byoc_interpreter_t {
  byoc_allocator_t allocator;
  byoc_program_t program;
  char *registers;
  char *locals;
  void **data; // of each buffer
};

byoc_status_t byoc_interpreter_create(const byoc_loop_kernel_t *kernel, byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_interpreter_t **out_interpreter) {
  *out_interpreter = NULL;
  byoc_interpreter_t *interpreter = byoc_allocate(allocator, 1, sizeof(*interpreter));
  if (!interpreter) return byoc_diag_out_of_memory(diag);
  interpreter->allocator = allocator;
  byoc_status_t status = byoc_program_compile(kernel, allocator, diag, &interpreter->program);
  if (status != BYOC_OK) {
    byoc_free(allocator, interpreter);
    return status;
  }
  const byoc_program_t *program = &interpreter->program;
  interpreter->registers = byoc_allocate(allocator, program->register_count, REGISTER_BYTES);
  interpreter->locals = byoc_allocate(allocator, 1, program->local_bytes + 1);
  interpreter->data = byoc_allocate(allocator, program->buffers.count, sizeof(void *));
  if (!interpreter->registers || !interpreter->locals || !interpreter->data) {
    byoc_interpreter_destroy(interpreter);
    return byoc_diag_out_of_memory(diag);
  }
  *out_interpreter = interpreter;
  return BYOC_OK;
}

void byoc_interpreter_destroy(byoc_interpreter_t *interpreter) {
  if (!interpreter) return;
  byoc_free(interpreter->allocator, interpreter->registers);
  byoc_free(interpreter->allocator, interpreter->locals);
  byoc_free(interpreter->allocator, interpreter->data);
  byoc_program_deinit(&interpreter->program);
  byoc_free(interpreter->allocator, interpreter);
}

static void *register_at(byoc_interpreter_t *interpreter, uint32_t reg) {
  return interpreter->registers + (size_t)reg * REGISTER_BYTES;
}

static int64_t *integers(byoc_interpreter_t *interpreter, uint32_t reg) {
  return register_at(interpreter, reg);
}

static int32_t fail(const byoc_interpreter_t *interpreter, const byoc_call_t *call, const byoc_code_t *code,
                    int64_t index) {
  const byoc_code_buffer_t *buffer = &interpreter->program.buffers.data[code->buffer];
  char text[256];
  snprintf(text, sizeof(text), "kernel '%s': index %lld of buffer '%s' is outside [0, %lld)",
           interpreter->program.kernel->name, (long long)index, buffer->buffer->name, (long long)buffer->count);
  if (call->runtime && call->runtime->set_error) call->runtime->set_error(call->runtime->self, text);
  return BYOC_INTERNAL;
}

// Local buffers hold numbers in the form of registers.
static byoc_dtype_t storage_dtype(const byoc_code_buffer_t *buffer) {
  if (buffer->buffer->kind != BYOC_LOOP_BUFFER_LOCAL) return buffer->buffer->dtype;
  switch (byoc_code_class(buffer->buffer->dtype)) {
  case BYOC_CLASS_F32:
    return BYOC_DTYPE_F32;
  case BYOC_CLASS_F64:
    return BYOC_DTYPE_F64;
  default:
    return BYOC_DTYPE_I64;
  }
}

static bool inside(int64_t index, int64_t count) {
  return (uint64_t)index < (uint64_t)count;
}

// Loads or stores the elements first, first + step ...; false if one is out of range.
static bool run_ramp(byoc_interpreter_t *interpreter, const byoc_code_t *code, int64_t width, int64_t *out_bad) {
  const byoc_code_buffer_t *buffer = &interpreter->program.buffers.data[code->buffer];
  int64_t first = *integers(interpreter, code->a), last, reach;
  *out_bad = first;
  if (!inside(first, buffer->count)) return false;
  if (__builtin_mul_overflow(code->immediate, width - 1, &reach) || __builtin_add_overflow(first, reach, &last))
    return false;
  *out_bad = last;
  if (!inside(last, buffer->count)) return false;
  if (code->kind == BYOC_CODE_LOAD_RAMP)
    byoc_code_load_ramp(storage_dtype(buffer), interpreter->data[code->buffer], first, code->immediate,
                        register_at(interpreter, code->dst), width);
  else
    byoc_code_store_ramp(storage_dtype(buffer), interpreter->data[code->buffer], first, code->immediate,
                         register_at(interpreter, code->b), code->b_lanes, width);
  return true;
}

// The general forms, which work lane by lane.
static bool run_load(byoc_interpreter_t *interpreter, const byoc_code_t *code, int64_t width, int64_t *out_bad) {
  const byoc_code_buffer_t *buffer = &interpreter->program.buffers.data[code->buffer];
  const int64_t *index = integers(interpreter, code->a);
  const int64_t *mask = code->c == BYOC_CODE_NO_MASK ? NULL : integers(interpreter, code->c);
  byoc_dtype_t dtype = storage_dtype(buffer);
  void *dst = register_at(interpreter, code->dst), *data = interpreter->data[code->buffer];
  int64_t count = code->dst_lanes ? width : 1;
  if (buffer->is_vector && !mask && !code->a_lanes) { // one element of every lane, stored side by side
    *out_bad = *index;
    if (!inside(*index, buffer->count)) return false;
    byoc_code_load_ramp(dtype, data, *index * BYOC_INTERPRETER_LANES, 1, dst, count);
    return true;
  }
  bool is_float = byoc_code_class(dtype) == BYOC_CLASS_F32;
  for (int64_t l = 0; l < count; ++l) {
    int64_t at = index[code->a_lanes ? l : 0];
    if (mask && !mask[code->c_lanes ? l : 0]) {
      if (is_float)
        ((float *)dst)[l] = 0;
      else
        ((int64_t *)dst)[l] = 0;
      continue;
    }
    *out_bad = at;
    if (!inside(at, buffer->count)) return false;
    byoc_code_load_at(dtype, data, buffer->is_vector ? at * BYOC_INTERPRETER_LANES + l : at, dst, l);
  }
  return true;
}

static bool run_store(byoc_interpreter_t *interpreter, const byoc_code_t *code, int64_t width, int64_t *out_bad) {
  const byoc_code_buffer_t *buffer = &interpreter->program.buffers.data[code->buffer];
  const int64_t *index = integers(interpreter, code->a);
  byoc_dtype_t dtype = storage_dtype(buffer);
  const char *value = register_at(interpreter, code->b);
  void *data = interpreter->data[code->buffer];
  size_t size = byoc_code_class(dtype) == BYOC_CLASS_F32 ? sizeof(float) : sizeof(int64_t);
  int64_t count = code->dst_lanes ? width : 1;
  if (buffer->is_vector && !code->a_lanes) {
    *out_bad = *index;
    if (!inside(*index, buffer->count)) return false;
    byoc_code_store_ramp(dtype, data, *index * BYOC_INTERPRETER_LANES, 1, value, code->b_lanes, count);
    return true;
  }
  for (int64_t l = 0; l < count; ++l) {
    int64_t at = index[code->a_lanes ? l : 0];
    *out_bad = at;
    if (!inside(at, buffer->count)) return false;
    byoc_code_store_ramp(dtype, data, buffer->is_vector ? at * BYOC_INTERPRETER_LANES + l : at, 1,
                         value + (code->b_lanes ? (size_t)l * size : 0), 1, 1);
  }
  return true;
}

static void run_move(byoc_interpreter_t *interpreter, const byoc_code_t *code, int64_t count) {
  void *dst = register_at(interpreter, code->dst);
  const void *a = register_at(interpreter, code->a);
  bool is_float = code->operands == BYOC_CLASS_F32;
  if (code->a_lanes || !code->dst_lanes)
    memcpy(dst, a, (size_t)count * (is_float ? sizeof(float) : sizeof(int64_t)));
  else if (is_float)
    for (int64_t l = 0; l < count; ++l) ((float *)dst)[l] = *(const float *)a;
  else
    for (int64_t l = 0; l < count; ++l) ((word_t *)dst)[l] = *(const word_t *)a;
}

static void run_select(byoc_interpreter_t *interpreter, const byoc_code_t *code, int64_t count) {
  const int64_t *condition = integers(interpreter, code->a);
  int64_t a = code->a_lanes, b = code->b_lanes, c = code->c_lanes;
  if (code->operands == BYOC_CLASS_F32) {
    float *dst = register_at(interpreter, code->dst);
    const float *yes = register_at(interpreter, code->b), *no = register_at(interpreter, code->c);
    for (int64_t l = 0; l < count; ++l) dst[l] = condition[a * l] ? yes[b * l] : no[c * l];
  } else {
    word_t *dst = register_at(interpreter, code->dst);
    const word_t *yes = register_at(interpreter, code->b), *no = register_at(interpreter, code->c);
    for (int64_t l = 0; l < count; ++l) dst[l] = condition[a * l] ? yes[b * l] : no[c * l];
  }
}

static int32_t bind(byoc_interpreter_t *interpreter, const byoc_call_t *call) {
  byoc_program_t *program = &interpreter->program;
  const byoc_loop_kernel_t *kernel = program->kernel;
  bool has_symbols = kernel->symbols.count > 0;
  if (call->input_count != kernel->input_count + has_symbols || call->output_count != kernel->output_count)
    return BYOC_INVALID_ARGUMENT;
  const int64_t *symbols = has_symbols ? call->tensors[kernel->input_count].data : NULL;
  for (size_t i = 0; i < program->buffers.count; ++i) {
    byoc_code_buffer_t *buffer = &program->buffers.data[i];
    if (buffer->buffer->kind == BYOC_LOOP_BUFFER_LOCAL) {
      interpreter->data[i] = interpreter->locals + buffer->offset;
      continue;
    }
    const DLTensor *tensor = &call->tensors[byoc_loop_tensor_index(kernel, (uint32_t)i)];
    if (tensor->ndim != buffer->buffer->rank) return BYOC_INVALID_ARGUMENT;
    interpreter->data[i] = tensor->data;
    buffer->count = 1;
    for (int32_t axis = 0; axis < tensor->ndim; ++axis)
      if (__builtin_mul_overflow(buffer->count, tensor->shape[axis], &buffer->count)) return BYOC_INVALID_ARGUMENT;
  }
  for (size_t i = 0; i < program->presets.count; ++i) {
    const byoc_code_preset_t *preset = &program->presets.data[i];
    void *reg = register_at(interpreter, preset->reg);
    if (preset->is_dim)
      *(int64_t *)reg = symbols[preset->i];
    else if (preset->cls == BYOC_CLASS_F32)
      *(float *)reg = (float)preset->f;
    else if (preset->cls == BYOC_CLASS_F64)
      *(double *)reg = preset->f;
    else
      *(int64_t *)reg = preset->i;
  }
  return BYOC_OK;
}

static int64_t strip_width(int64_t begin, int64_t end) {
  return end - begin < BYOC_INTERPRETER_LANES ? end - begin : BYOC_INTERPRETER_LANES;
}

// Counts jumps back, and looks now and then whether the run is to end.
static bool ends_early(const byoc_call_t *call, uint32_t *jumps) {
  const byoc_runtime_t *runtime = call->runtime;
  return ++*jumps % 1024 == 0 && runtime != NULL && runtime->is_ending != NULL && runtime->is_ending(runtime->self);
}

int32_t byoc_interpreter_run(byoc_interpreter_t *interpreter, const byoc_call_t *call) {
  int32_t status = bind(interpreter, call);
  if (status != BYOC_OK) return status;
  const byoc_code_t *codes = interpreter->program.code.data;
  int64_t width = 1, bad = 0;
  uint32_t jumps = 0;
  for (uint32_t at = 0;;) {
    const byoc_code_t *code = &codes[at++];
    int64_t count = code->dst_lanes ? width : 1;
    int64_t *counter, limit;
    switch ((byoc_code_kind_t)code->kind) {
    case BYOC_CODE_OP:
      byoc_code_run_op(code, register_at(interpreter, code->dst), register_at(interpreter, code->a),
                       register_at(interpreter, code->b), count);
      break;
    case BYOC_CODE_MOVE:
      run_move(interpreter, code, count);
      break;
    case BYOC_CODE_RAMP: {
      int64_t *dst = integers(interpreter, code->dst);
      uint64_t first = (uint64_t)*integers(interpreter, code->a), step = (uint64_t)code->immediate;
      for (int64_t l = 0; l < count; ++l) dst[l] = (int64_t)(first + step * (uint64_t)l);
      break;
    }
    case BYOC_CODE_SELECT:
      run_select(interpreter, code, count);
      break;
    case BYOC_CODE_CAST:
      byoc_code_run_cast(code, register_at(interpreter, code->dst), register_at(interpreter, code->a), count);
      break;
    case BYOC_CODE_LOAD:
      if (!run_load(interpreter, code, width, &bad)) return fail(interpreter, call, code, bad);
      break;
    case BYOC_CODE_STORE:
      if (!run_store(interpreter, code, width, &bad)) return fail(interpreter, call, code, bad);
      break;
    case BYOC_CODE_LOAD_RAMP:
    case BYOC_CODE_STORE_RAMP:
      if (!run_ramp(interpreter, code, width, &bad)) return fail(interpreter, call, code, bad);
      break;
    case BYOC_CODE_REDUCE:
      byoc_code_run_reduce(code, register_at(interpreter, code->dst), register_at(interpreter, code->a), width);
      break;
    case BYOC_CODE_JUMP:
      at = code->target;
      break;
    case BYOC_CODE_JUMP_UNLESS:
      if (!*integers(interpreter, code->a)) at = code->target;
      break;
    case BYOC_CODE_FOR_BEGIN:
      if (*integers(interpreter, code->dst) >= *integers(interpreter, code->a)) at = code->target;
      break;
    case BYOC_CODE_FOR_NEXT:
      if (++*integers(interpreter, code->dst) < *integers(interpreter, code->a)) at = code->target;
      if (ends_early(call, &jumps)) return BYOC_CANCELLED;
      break;
    case BYOC_CODE_STRIP_BEGIN:
      counter = integers(interpreter, code->dst), limit = *integers(interpreter, code->a);
      if (*counter >= limit)
        at = code->target;
      else
        width = strip_width(*counter, limit);
      break;
    case BYOC_CODE_STRIP_NEXT:
      counter = integers(interpreter, code->dst), limit = *integers(interpreter, code->a);
      *counter += width;
      if (ends_early(call, &jumps)) return BYOC_CANCELLED;
      if (*counter < limit)
        at = code->target, width = strip_width(*counter, limit);
      else
        width = 1;
      break;
    case BYOC_CODE_END:
      return BYOC_OK;
    }
  }
}
