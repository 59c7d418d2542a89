// SPDX-License-Identifier: Apache-2.0
// Properties of a problem that do not depend on its template: its size, its tensors' layouts, heights of tiles.
#include "problem/problem.h"

bool byoc_cutlass_has_half(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_types_t *types = &problem->types;
  return byoc_cutlass_is_half(types->data) || byoc_cutlass_is_half(types->weights) ||
         byoc_cutlass_is_half(types->residual) || byoc_cutlass_is_half(types->result);
}

int64_t byoc_cutlass_batch(const byoc_cutlass_gemm_t *gemm) {
  int64_t batch = 1;
  for (uint32_t i = 0; i < gemm->batch_rank; ++i) batch *= gemm->batch[i];
  return batch;
}

static int64_t count_matrices(const byoc_cutlass_gemm_t *gemm, const bool *repeat) {
  int64_t matrices = 1;
  for (uint32_t i = 0; i < gemm->batch_rank; ++i) matrices *= repeat[i] ? 1 : gemm->batch[i];
  return matrices;
}

int64_t byoc_cutlass_data_matrices(const byoc_cutlass_gemm_t *gemm) {
  return count_matrices(gemm, gemm->repeat_a);
}

int64_t byoc_cutlass_weight_matrices(const byoc_cutlass_gemm_t *gemm) {
  return count_matrices(gemm, gemm->repeat_b);
}

bool byoc_cutlass_is_open(const byoc_cutlass_problem_t *problem) {
  return (problem->kind == BYOC_CUTLASS_GEMM && problem->gemm.open_rows) ||
         (problem->kind == BYOC_CUTLASS_BITS && problem->bits.open_rows) ||
         (problem->kind == BYOC_CUTLASS_CONV && problem->conv.open_batch) ||
         (problem->kind == BYOC_CUTLASS_ATTENTION && problem->attention.open);
}

int64_t byoc_cutlass_open_size(int64_t in, int64_t out) {
  int64_t size = 7168 / (in > out ? in : out); // 112 with 64 channels, 14 with 512
  return size < 8 ? 8 : size > 112 ? 112 : size;
}

int64_t byoc_cutlass_macs(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_gemm_t *g = &problem->gemm;
  const byoc_cutlass_attention_t *a = &problem->attention;
  if (problem->kind == BYOC_CUTLASS_ATTENTION)
    return a->batch * a->heads * a->queries * a->keys * (a->size + a->value_size);
  if (problem->kind == BYOC_CUTLASS_BITS) return problem->bits.rows * problem->bits.columns * problem->bits.depth;
  if (problem->kind == BYOC_CUTLASS_GEMM) return byoc_cutlass_batch(g) * g->m * g->n * g->k;
  return c->batch * c->groups * c->out * c->in * c->kernel_h * c->kernel_w * c->out_h * c->out_w;
}

int32_t byoc_cutlass_even_rows(int64_t total, int32_t most) {
  int64_t panels = byoc_cutlass_ceil_div(total, most);
  return (int32_t)byoc_cutlass_ceil_div(total, panels);
}

int32_t byoc_cutlass_tile_rows(int64_t total, int32_t most, int32_t least) {
  for (int32_t rows = most; rows >= least && rows >= most - 2; --rows)
    if (total % rows == 0) return rows;
  return byoc_cutlass_even_rows(total, most);
}

bool byoc_cutlass_may_read_in_place(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  if (problem->kind == BYOC_CUTLASS_GEMM) return problem->gemm.constant_b || !problem->gemm.transpose_b;
  return conv->kernel_h == 1 && conv->kernel_w == 1 && conv->stride_h == 1 && conv->stride_w == 1 &&
         conv->pad_top == 0 && conv->pad_left == 0 && conv->out_h == conv->in_h && conv->out_w == conv->in_w;
}

bool byoc_cutlass_takes_layouts(const byoc_cutlass_conv_t *conv) {
  bool depthwise = conv->in == 1 && conv->groups > 1;
  if (!conv->in_blocked && !conv->out_blocked) return true;
  if (conv->pad_top < 0 || conv->pad_left < 0 || conv->open_h || conv->open_w) return false;
  if (depthwise)
    return conv->out == 1 && conv->in_blocked && conv->out_blocked && conv->groups % BYOC_CUTLASS_BLOCK == 0;
  return !(conv->in_blocked && conv->in % BYOC_CUTLASS_BLOCK) && !(conv->out_blocked && conv->out % BYOC_CUTLASS_BLOCK);
}
