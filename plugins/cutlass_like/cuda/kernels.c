// SPDX-License-Identifier: Apache-2.0
// Chooses a kernel's tiles and writes the names in front of its template.
#include "cuda/kernels.h"

#include <stdio.h>
#include <string.h>

extern const unsigned char byoc_embed_cutlass_cuda_gemm[], byoc_embed_cutlass_cuda_conv[];

// True if all of an operand's batch dimensions are its own, or none is: then one step leads from matrix to matrix.
static bool has_one_step(const byoc_cutlass_gemm_t *gemm, const bool *repeats) {
  bool all = true, none = true;
  for (uint32_t i = 0; i < gemm->batch_rank; ++i) {
    if (gemm->batch[i] == 1) continue;
    all = all && repeats[i];
    none = none && !repeats[i];
  }
  return all || none;
}

int64_t byoc_cutlass_cuda_batch_step(const byoc_cutlass_gemm_t *gemm, bool is_a) {
  const bool *repeats = is_a ? gemm->repeat_a : gemm->repeat_b;
  for (uint32_t i = 0; i < gemm->batch_rank; ++i)
    if (gemm->batch[i] != 1 && !repeats[i]) return is_a ? gemm->m * gemm->k : gemm->k * gemm->n;
  return 0;
}

static const char *refuse_gemm(const byoc_cutlass_gemm_t *gemm) {
  enum { MOST_MATRICES = 65535 }; // of the grid's third axis
  if (!has_one_step(gemm, gemm->repeat_a) || !has_one_step(gemm, gemm->repeat_b))
    return "some of an operand's matrices are repeated and some are not";
  if (byoc_cutlass_batch(gemm) > MOST_MATRICES) return "more matrices than a grid has";
  bool fits = gemm->m < 1 << 22 && gemm->n < 1 << 22 && gemm->k < 1 << 22;
  return fits ? NULL : "a dimension is too long";
}

static const char *refuse_conv(const byoc_cutlass_conv_t *conv) {
  if (conv->in_blocked || conv->out_blocked) return "blocks of channels are not supported on the GPU";
  if (conv->groups != 1) return "convolutions in groups are not supported on the GPU";
  if (conv->batch > 65535) return "more images than a grid has";
  int64_t most = INT32_MAX / 8;
  bool fits = conv->batch * conv->in * conv->in_h * conv->in_w < most &&
              conv->batch * conv->out * conv->out_h * conv->out_w < most;
  return fits ? NULL : "the tensors are too long";
}

bool byoc_cutlass_cuda_takes(const byoc_cutlass_match_t *match, const char **out_reason) {
  const byoc_cutlass_problem_t *problem = &match->problem;
  const byoc_cutlass_epilogue_t *epilogue = &problem->epilogue;
  if (problem->kind == BYOC_CUTLASS_ATTENTION)
    *out_reason = "attention is not supported on the GPU";
  else if (problem->kind == BYOC_CUTLASS_BITS)
    *out_reason = "weights of few bits are not supported on the GPU";
  else if (byoc_cutlass_has_half(problem))
    *out_reason = "f16 and bf16 are not supported on the GPU";
  else if (match->bytes)
    *out_reason = "products of bytes are not supported on the GPU";
  else if (epilogue->has_residual && epilogue->residual_last && epilogue->activation != BYOC_CUTLASS_ACT_NONE)
    *out_reason = "a sum behind the activation is not supported on the GPU";
  else
    *out_reason = problem->kind == BYOC_CUTLASS_CONV ? refuse_conv(&problem->conv) : refuse_gemm(&problem->gemm);
  return !*out_reason;
}

// ---- the kernel ----

static int32_t alignment(int64_t floats) {
  return floats % 4 == 0 ? 4 : floats % 2 == 0 ? 2 : 1;
}

static int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

// Large tiles where they still keep the processors of a GPU busy.
static void choose_tiles(int64_t rows, int64_t columns, int64_t matrices, byoc_cutlass_kernel_t *kernel) {
  enum { BUSY = 96 };
  static const int32_t tiles[][2] = {{128, 128}, {128, 64}, {64, 128}, {64, 64}};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; ++i) {
    kernel->tile_m = tiles[i][0];
    kernel->tile_n = tiles[i][1];
    int64_t groups = byoc_cutlass_ceil_div(rows, tiles[i][0]) * byoc_cutlass_ceil_div(columns, tiles[i][1]) * matrices;
    if (groups >= BUSY && rows * 2 > tiles[i][0] && columns * 2 > tiles[i][1]) break;
  }
  kernel->tile_k = 16;
  kernel->stages = kernel->tile_m == 64 && kernel->tile_n == 64 ? 4 : 3;
}

static void choose(const byoc_cutlass_problem_t *problem, byoc_cutlass_kernel_t *out) {
  *out = (byoc_cutlass_kernel_t){.kind = problem->kind,
                                 .activation = problem->epilogue.activation,
                                 .p0 = problem->epilogue.p0,
                                 .p1 = problem->epilogue.p1};
  if (problem->kind == BYOC_CUTLASS_CONV) {
    const byoc_cutlass_conv_t *conv = &problem->conv;
    choose_tiles(conv->batch * conv->out_h * conv->out_w, conv->out, 1, out);
    out->align_a = out->align_b = alignment(conv->in);
    out->align_c = alignment(conv->out);
    return;
  }
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  int64_t step_a = byoc_cutlass_cuda_batch_step(gemm, true), step_b = byoc_cutlass_cuda_batch_step(gemm, false);
  choose_tiles(gemm->m, gemm->n, byoc_cutlass_batch(gemm), out);
  out->transpose_a = gemm->transpose_a;
  out->transpose_b = gemm->transpose_b;
  out->align_a = least(alignment(gemm->transpose_a ? gemm->m : gemm->k), alignment(step_a));
  out->align_b = least(alignment(gemm->transpose_b ? gemm->k : gemm->n), alignment(step_b));
  out->align_c = alignment(gemm->n);
}

// Warps lie two by two.
int32_t byoc_cutlass_cuda_threads(const byoc_cutlass_kernel_t *kernel) {
  (void)kernel;
  return 4 * 32;
}

int32_t byoc_cutlass_cuda_shared_bytes(const byoc_cutlass_kernel_t *kernel) {
  int32_t tiles = kernel->stages * (kernel->tile_m + kernel->tile_n) * kernel->tile_k * 4;
  int32_t sums = 2 * 8 * (kernel->tile_n + 16) * 4; // rows that the epilogue turns around at once
  return tiles > sums ? tiles : sums;
}

// The name of an activation, and its formula of x. NaN stays NaN, unlike with fmaxf and fminf.
static const struct {
  const char *name, *text;
} activations[BYOC_CUTLASS_ACT_COUNT] = {
    [BYOC_CUTLASS_ACT_NONE] = {"plain", "x"},
    [BYOC_CUTLASS_ACT_RELU] = {"relu", "(x < 0.0f ? 0.0f : x)"},
    [BYOC_CUTLASS_ACT_LEAKY_RELU] = {"leaky", "(x > 0.0f ? x : x * P0)"},
    [BYOC_CUTLASS_ACT_CLIP] = {"clip", "(x != x ? x : fminf(fmaxf(x, P0), P1))"},
    [BYOC_CUTLASS_ACT_SIGMOID] = {"sigmoid", "(1.0f / (1.0f + expf(-x)))"},
    [BYOC_CUTLASS_ACT_TANH] = {"tanh", "tanhf(x)"},
    [BYOC_CUTLASS_ACT_GELU] = {"gelu", "(0.5f * x * (1.0f + erff(x * 0.70710678118654752f)))"},
    [BYOC_CUTLASS_ACT_GELU_TANH] = {"gelu_tanh",
                                    "(0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x))))"},
    [BYOC_CUTLASS_ACT_HARD_SIGMOID] = {"hard_sigmoid", "(x != x ? x : fminf(fmaxf(P0 * x + P1, 0.0f), 1.0f))"},
    [BYOC_CUTLASS_ACT_HARD_SWISH] = {"hard_swish", "(x * fminf(fmaxf(x / 6.0f + 0.5f, 0.0f), 1.0f))"},
    [BYOC_CUTLASS_ACT_SILU] = {"silu", "(x / (1.0f + expf(-x)))"},
};

static const char *layout_text(bool is_transposed) {
  return is_transposed ? "cutlass::layout::ColumnMajor" : "cutlass::layout::RowMajor";
}

void byoc_cutlass_cuda_kernel(const byoc_cutlass_problem_t *problem, byoc_cutlass_kernel_t *out_kernel,
                              byoc_plugin_string_t *out_text) {
  byoc_cutlass_kernel_t *kernel = out_kernel;
  byoc_plugin_string_t body = {0};
  choose(problem, kernel);
  byoc_plugin_string_add(&body, "#define TILE_M %d\n#define TILE_N %d\n#define TILE_K %d\n#define STAGES %d\n",
                         kernel->tile_m, kernel->tile_n, kernel->tile_k, kernel->stages);
  byoc_plugin_string_add(&body, "#define WARP_M %d\n#define WARP_N %d\n", kernel->tile_m / 2, kernel->tile_n / 2);
  byoc_plugin_string_add(&body, "#define ALIGN_A %d\n#define ALIGN_B %d\n#define ALIGN_C %d\n", kernel->align_a,
                         kernel->align_b, kernel->align_c);
  byoc_plugin_string_add(&body, "#define LAYOUT_A %s\n#define LAYOUT_B %s\n", layout_text(kernel->transpose_a),
                         layout_text(kernel->transpose_b));
  // Three products of tf32 for each one of f32: as exact as f32, at a third of tf32's speed.
  byoc_plugin_string_add(&body, "#define OPERATOR cutlass::arch::OpMultiplyAddFastF32\n");
  byoc_plugin_string_add(&body, "#define SHARED_BYTES %d\n", byoc_cutlass_cuda_shared_bytes(kernel));
  uint32_t p0, p1; // by their bits: infinity has no literal
  memcpy(&p0, &kernel->p0, sizeof p0);
  memcpy(&p1, &kernel->p1, sizeof p1);
  byoc_plugin_string_add(&body, "#define P0 __int_as_float(0x%08x)\n#define P1 __int_as_float(0x%08x)\n", p0, p1);
  byoc_plugin_string_add(&body, "#define ACTIVATION %s\n", activations[kernel->activation].text);
  const unsigned char *text =
      kernel->kind == BYOC_CUTLASS_CONV ? byoc_embed_cutlass_cuda_conv : byoc_embed_cutlass_cuda_gemm;
  byoc_plugin_string_add_bytes(&body, text, strlen((const char *)text));
  uint64_t hash = body.data ? byoc_plugin_hash_string(body.data) : 0;
  const char *kind = kernel->kind == BYOC_CUTLASS_CONV ? "conv" : "gemm";
  snprintf(kernel->entry, sizeof kernel->entry, "cutlass_%s_%c%c_%s_%016llx", kind, kernel->transpose_a ? 't' : 'n',
           kernel->transpose_b ? 't' : 'n', activations[kernel->activation].name, (unsigned long long)hash);
  byoc_plugin_string_add(out_text, "#define ENTRY %s\n", kernel->entry);
  byoc_plugin_string_add_bytes(out_text, body.data, body.length);
  if (!byoc_plugin_string_ok(&body)) out_text->failed = true;
  byoc_plugin_string_deinit(&body);
}
