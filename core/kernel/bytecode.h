// SPDX-License-Identifier: Apache-2.0
// Register code of the interpreter. Internal to core/kernel.
//
// A register holds one number or, as a vector, one number per lane of the current strip. Numbers have one of three
// classes: float (f32 and narrower), double, int64 (integers and bool; u64 as its bits).
#ifndef BYOC_CORE_KERNEL_BYTECODE_H_
#define BYOC_CORE_KERNEL_BYTECODE_H_

#include "core/ir/loop.h"

#define BYOC_INTERPRETER_LANES 256

typedef enum byoc_code_class_t { BYOC_CLASS_F32, BYOC_CLASS_F64, BYOC_CLASS_INT } byoc_code_class_t;

typedef enum byoc_code_kind_t {
  BYOC_CODE_OP,        // dst = op(a, b), wrapped to dtype if integers need it
  BYOC_CODE_MOVE,      // dst = a
  BYOC_CODE_RAMP,      // dst[l] = a + immediate * l
  BYOC_CODE_SELECT,    // dst = a ? b : c
  BYOC_CODE_CAST,      // dst (dtype) = a (from)
  BYOC_CODE_LOAD,      // dst = buffer[a], 0 in lanes that mask c excludes
  BYOC_CODE_LOAD_RAMP, // dst[l] = buffer[a + immediate * l], no mask
  BYOC_CODE_STORE,     // buffer[a] = b
  BYOC_CODE_STORE_RAMP,
  BYOC_CODE_REDUCE,      // dst = op(... op(dst, a[0]) ..., a[n - 1])
  BYOC_CODE_JUMP,        // jump to target
  BYOC_CODE_JUMP_UNLESS, // jump to target if a is 0
  BYOC_CODE_FOR_BEGIN,   // jump to target unless dst < a
  BYOC_CODE_FOR_NEXT,    // ++dst; jump to target if dst < a
  BYOC_CODE_STRIP_BEGIN, // the same over strips: also sets the number of lanes in use
  BYOC_CODE_STRIP_NEXT,
  BYOC_CODE_END,
} byoc_code_kind_t;

#define BYOC_CODE_NO_MASK UINT32_MAX

typedef struct byoc_code_t {
  uint8_t kind;
  uint8_t op;                                   // byoc_loop_op_t
  uint8_t operands;                             // class of the operands
  uint8_t dst_lanes, a_lanes, b_lanes, c_lanes; // vector registers?
  uint8_t dtype, from;
  uint32_t dst, a, b, c;
  uint32_t buffer; // index into the program's buffers
  uint32_t target;
  int64_t immediate;
} byoc_code_t;

typedef struct byoc_code_buffer_t {
  const byoc_loop_buffer_t *buffer;
  int64_t count;  // elements; parameters: set before each run
  size_t offset;  // LOCAL: bytes into the program's local memory
  bool is_vector; // LOCAL, one per lane: element i of lane l is at i * BYOC_INTERPRETER_LANES + l
} byoc_code_buffer_t;

// A register that is set before the first instruction: a literal or a run-time dimension.
typedef struct byoc_code_preset_t {
  uint32_t reg;
  byoc_code_class_t cls;
  int64_t i;
  double f;
  bool is_dim; // the value of the kernel's symbol i
} byoc_code_preset_t;

typedef struct byoc_program_t {
  byoc_allocator_t allocator;
  const byoc_loop_kernel_t *kernel;
  BYOC_VECTOR(byoc_code_t) code;
  BYOC_VECTOR(byoc_code_buffer_t) buffers; // parameters first
  BYOC_VECTOR(byoc_code_preset_t) presets;
  uint32_t register_count;
  size_t local_bytes;
} byoc_program_t;

byoc_status_t byoc_program_compile(const byoc_loop_kernel_t *kernel, byoc_allocator_t allocator, byoc_diag_t *diag,
                                   byoc_program_t *out_program);
void byoc_program_deinit(byoc_program_t *program);

byoc_code_class_t byoc_code_class(byoc_dtype_t dtype);
// One instruction on `count` lanes; operands that are single numbers are read again for every lane.
void byoc_code_run_op(const byoc_code_t *code, void *dst, const void *a, const void *b, int64_t count);
void byoc_code_run_cast(const byoc_code_t *code, void *dst, const void *a, int64_t count);
void byoc_code_run_reduce(const byoc_code_t *code, void *dst, const void *a, int64_t count);
// Loads or stores `count` elements data[first], data[first + step] ... of a tensor, or those at the indices of a
// vector, to or from a register. Every index has been checked.
void byoc_code_load_ramp(byoc_dtype_t dtype, const void *data, int64_t first, int64_t step, void *dst, int64_t count);
void byoc_code_load_at(byoc_dtype_t dtype, const void *data, int64_t index, void *dst, int64_t lane);
void byoc_code_store_ramp(byoc_dtype_t dtype, void *data, int64_t first, int64_t step, const void *value,
                          int64_t value_step, int64_t count);

#endif // BYOC_CORE_KERNEL_BYTECODE_H_
