// SPDX-License-Identifier: Apache-2.0
// kernels.h - from a problem to a kernel of CUTLASS and its launch.
#ifndef BYOC_CUTLASS_CUDA_KERNELS_H_
#define BYOC_CUTLASS_CUDA_KERNELS_H_

#include "common/plugin_string.h"
#include "patterns/match.h"

// The parameters of a kernel's source. Shapes are not among them, so that one kernel serves many shapes.
typedef struct byoc_cutlass_kernel_t {
  uint32_t kind; // BYOC_CUTLASS_CONV or BYOC_CUTLASS_GEMM
  bool transpose_a, transpose_b;
  int32_t tile_m, tile_n, tile_k, stages;
  int32_t align_a, align_b, align_c; // floats that are read at once
  uint32_t activation;               // BYOC_CUTLASS_ACT_*
  float p0, p1;
  char entry[64]; // "cutlass_gemm_nt_relu_" and a hash of the text: n(ot) or t(ransposed) for A and for B
} byoc_cutlass_kernel_t;

// True if the templates compute the match; otherwise *out_reason says why not.
bool byoc_cutlass_cuda_takes(const byoc_cutlass_match_t *match, const char **out_reason);

// The kernel of a problem that byoc_cutlass_cuda_takes accepts, and its source, NUL-terminated.
void byoc_cutlass_cuda_kernel(const byoc_cutlass_problem_t *problem, byoc_cutlass_kernel_t *out_kernel,
                              byoc_plugin_string_t *out_text);

// Shared memory and threads of a work-group.
int32_t byoc_cutlass_cuda_shared_bytes(const byoc_cutlass_kernel_t *kernel);
int32_t byoc_cutlass_cuda_threads(const byoc_cutlass_kernel_t *kernel);

// Floats between two matrices of an operand; 0 if it is repeated.
int64_t byoc_cutlass_cuda_batch_step(const byoc_cutlass_gemm_t *gemm, bool is_a);

#endif // BYOC_CUTLASS_CUDA_KERNELS_H_
