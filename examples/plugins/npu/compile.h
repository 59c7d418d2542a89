// SPDX-License-Identifier: Apache-2.0
// compile.h - from a function of layers to a command stream, with the memory of the chip planned.
#ifndef NPU_COMPILE_H_
#define NPU_COMPILE_H_

#include "layer.h"

typedef struct npu_program_t {
  npu_stream_t *stream;
  uint8_t *records; // of all convolutions
  int64_t stream_bytes, record_bytes;
  int64_t cycles;
  char reason[128]; // if it is not one: why
} npu_program_t;

// The nodes [0, count), in topological order, as one program; `results` are the values that others read. Returns 0,
// with the reason in the program, if they do not fit into a memory of so many bytes, or if one of them is no layer. The
// caller frees the program, either way.
int npu_compile(const byoc_graph_api_t *graph, byoc_node_t *const *nodes, uint64_t count,
                const byoc_value_t *const *inputs, uint64_t input_count, const byoc_value_t *const *results,
                uint64_t result_count, int64_t memory_bytes, int64_t clock_mhz, npu_program_t *out_program);
void npu_program_free(npu_program_t *program);

#endif // NPU_COMPILE_H_
