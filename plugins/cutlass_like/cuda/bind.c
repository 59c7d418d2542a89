// SPDX-License-Identifier: Apache-2.0
// Writes a function's launches. CUTLASS convolves NHWC: the image is transposed before, the result after.
#include "cuda/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAUNCHES = 4, MOST_ARGUMENTS = 24, MOST_CONSTANTS = 4, NUMBER_BYTES = 24, SCRATCH_ALIGNMENT = 256 };

// Where a tensor lies: a BYOC_KERNEL_ARGUMENT_*, its index, and for scratch memory its first byte.
typedef struct place_t {
  uint32_t kind, index;
  uint64_t offset_bytes;
} place_t;

typedef struct writer_t {
  const byoc_host_t *host;
  byoc_function_t *function;
  byoc_kernel_launch_t launches[MOST_LAUNCHES];
  byoc_kernel_argument_t arguments[MOST_LAUNCHES][MOST_ARGUMENTS];
  char grids[MOST_LAUNCHES][3][NUMBER_BYTES], blocks[MOST_LAUNCHES][2][NUMBER_BYTES];
  uint32_t launch_count;
  byoc_tensor_data_t constants[MOST_CONSTANTS];
  int64_t dims[MOST_CONSTANTS];
  void *made[MOST_CONSTANTS]; // to be freed
  uint32_t constant_count;
  uint64_t scratch_bytes;
  bool out_of_memory;
} writer_t;

// ---- places ----

// `data` is the writer's from now on; NULL: out of memory.
static place_t add_made(writer_t *w, float *data, int64_t count) {
  uint32_t index = w->constant_count++;
  w->out_of_memory = w->out_of_memory || !data;
  w->made[index] = data;
  w->dims[index] = count;
  w->constants[index] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1),
                                             .dtype = BYOC_DTYPE_F32,
                                             .rank = 1,
                                             .dims = &w->dims[index],
                                             .data = data,
                                             .size_bytes = (uint64_t)count * sizeof(float)};
  return (place_t){BYOC_KERNEL_ARGUMENT_CONSTANT, index, 0};
}

// A parameter or a constant of the model; kind is 0 if it is neither.
static place_t find_value(writer_t *w, byoc_value_t *value) {
  const byoc_graph_api_t *graph = w->host->graph;
  int64_t parameter = graph->value_parameter_index(value);
  if (parameter >= 0) return (place_t){BYOC_KERNEL_ARGUMENT_OPERAND, (uint32_t)parameter, 0};
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (!graph->value_constant(value, &data)) return (place_t){0, 0, 0};
  w->constants[w->constant_count] = data;
  return (place_t){BYOC_KERNEL_ARGUMENT_CONSTANT, w->constant_count++, 0};
}

static place_t add_scratch(writer_t *w, int64_t floats) {
  place_t place = {BYOC_KERNEL_ARGUMENT_SCRATCH, 0, w->scratch_bytes};
  w->scratch_bytes +=
      ((uint64_t)floats * sizeof(float) + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
  return place;
}

static place_t add_bias(writer_t *w, const byoc_cutlass_match_t *match) {
  float *bias = malloc((size_t)match->channels * sizeof(float));
  for (int64_t i = 0; bias && i < match->channels; ++i) bias[i] = (float)match->shift[i];
  return add_made(w, bias, match->channels);
}

// ---- launches ----

static void begin_launch(writer_t *w, const char *module, const char *entry, int64_t x, int64_t y, int64_t z,
                         int32_t block_x, int32_t block_y) {
  uint32_t at = w->launch_count++;
  int64_t grid[] = {x, y, z};
  int32_t block[] = {block_x, block_y};
  w->launches[at] = (byoc_kernel_launch_t){.header = BYOC_HEADER(byoc_kernel_launch_t, 1),
                                           .module = module,
                                           .entry = entry,
                                           .arguments = w->arguments[at],
                                           .argument_stride = sizeof w->arguments[at][0]};
  for (int axis = 0; axis < 3; ++axis) {
    snprintf(w->grids[at][axis], NUMBER_BYTES, "%lld", (long long)grid[axis]);
    w->launches[at].grid[axis] = w->grids[at][axis];
    if (axis == 2) continue;
    snprintf(w->blocks[at][axis], NUMBER_BYTES, "%d", (int)block[axis]);
    w->launches[at].block[axis] = w->blocks[at][axis];
  }
}

static void add_argument(writer_t *w, byoc_kernel_argument_t argument) {
  byoc_kernel_launch_t *launch = &w->launches[w->launch_count - 1];
  w->arguments[w->launch_count - 1][launch->argument_count++] = argument;
}

static void add_place(writer_t *w, place_t place) {
  add_argument(w,
               (byoc_kernel_argument_t){.kind = place.kind, .index = place.index, .offset_bytes = place.offset_bytes});
}

static void add_integers(writer_t *w, uint32_t type, const int64_t *values, int count) {
  for (int i = 0; i < count; ++i)
    add_argument(w, (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_INTEGER, .type = type, .integer = values[i]});
}

static void add_real(writer_t *w, float value) {
  add_argument(w,
               (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_REAL, .type = BYOC_C_F32, .real = (double)value});
}

static void add_local(writer_t *w, const byoc_cutlass_kernel_t *kernel) {
  add_argument(w, (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_LOCAL,
                                           .integer = byoc_cutlass_cuda_shared_bytes(kernel)});
}

// y[matrix][column][row] = x[matrix][row][column] * factor + bias[row]; `bias` NULL: none.
static void turn(writer_t *w, place_t x, place_t y, const place_t *bias, int64_t matrices, int64_t rows,
                 int64_t columns, float factor) {
  begin_launch(w, BYOC_CUTLASS_CUDA_LAYOUTS, "cuda_turn", byoc_cutlass_ceil_div(columns, 32),
               byoc_cutlass_ceil_div(rows, 32), matrices, 32, 8);
  add_place(w, x);
  add_place(w, y);
  add_place(w, bias ? *bias : x);
  add_integers(w, BYOC_C_I32, (int64_t[]){rows, columns}, 2);
  add_real(w, factor);
  add_integers(w, BYOC_C_I32, (int64_t[]){bias != NULL}, 1);
}

// ---- products ----

// A's or B's place, weights with their factors.
static place_t find_weights(writer_t *w, const byoc_cutlass_match_t *match) {
  if (!match->problem.gemm.constant_b) return find_value(w, match->weights);
  const byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  int64_t matrices = byoc_cutlass_weight_matrices(gemm);
  return add_made(w, byoc_cutlass_scaled_weights(w->host->graph, match), matrices * gemm->k * gemm->n);
}

static const char *write_gemm(writer_t *w, const byoc_cutlass_match_t *match, const byoc_cutlass_kernel_t *kernel) {
  const byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  const byoc_cutlass_epilogue_t *epilogue = &match->problem.epilogue;
  int64_t m = gemm->m, n = gemm->n, k = gemm->k, matrices = byoc_cutlass_batch(gemm);
  place_t a = find_value(w, match->data), b = find_weights(w, match), d = {BYOC_KERNEL_ARGUMENT_RESULT, 0, 0}, c = d;
  int64_t step_c = n, batch_c = m * n;
  float beta = 0;
  if (epilogue->has_residual) {
    c = find_value(w, match->residual);
    beta = epilogue->beta;
  }
  if (!a.kind || !b.kind || !c.kind) return "an operand is neither a parameter nor a constant";
  if (epilogue->has_bias) {
    place_t bias = add_bias(w, match);
    if (epilogue->has_residual) { // both become one matrix
      place_t sum = add_scratch(w, matrices * m * n);
      begin_launch(w, BYOC_CUTLASS_CUDA_LAYOUTS, "cuda_join", byoc_cutlass_ceil_div(matrices * m * n, 256), 1, 1, 256,
                   1);
      add_place(w, c);
      add_place(w, sum);
      add_place(w, bias);
      add_integers(w, BYOC_C_I32, &n, 1);
      add_integers(w, BYOC_C_I64, (int64_t[]){matrices * m * n}, 1);
      add_real(w, beta);
      c = sum;
    } else {
      c = bias;
      step_c = batch_c = 0;
    }
    beta = 1;
  }
  begin_launch(w, kernel->entry, kernel->entry, byoc_cutlass_ceil_div(m, kernel->tile_m),
               byoc_cutlass_ceil_div(n, kernel->tile_n), matrices, byoc_cutlass_cuda_threads(kernel), 1);
  const place_t places[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) add_place(w, places[i]);
  int64_t step_a = gemm->transpose_a ? m : k, step_b = gemm->transpose_b ? k : n;
  add_integers(w, BYOC_C_I32, (int64_t[]){m, n, k, step_a, step_b, step_c}, 6);
  add_integers(
      w, BYOC_C_I64,
      (int64_t[]){byoc_cutlass_cuda_batch_step(gemm, true), byoc_cutlass_cuda_batch_step(gemm, false), batch_c}, 3);
  add_real(w, epilogue->alpha);
  add_real(w, beta);
  add_local(w, kernel);
  return NULL;
}

// ---- convolutions ----

// [out][in][h][w] → [out][h][w][in], with factors.
static float *make_filter(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match) {
  const byoc_cutlass_conv_t *conv = &match->problem.conv;
  int64_t taps = conv->kernel_h * conv->kernel_w;
  float *from = byoc_cutlass_scaled_weights(graph, match);
  float *to = from ? malloc((size_t)(conv->out * conv->in * taps) * sizeof(float)) : NULL;
  for (int64_t o = 0; to && o < conv->out; ++o)
    for (int64_t i = 0; i < conv->in; ++i)
      for (int64_t t = 0; t < taps; ++t) to[(o * taps + t) * conv->in + i] = from[(o * conv->in + i) * taps + t];
  free(from);
  return to;
}

static const char *write_conv(writer_t *w, const byoc_cutlass_match_t *match, const byoc_cutlass_kernel_t *kernel) {
  const byoc_cutlass_conv_t *conv = &match->problem.conv;
  const byoc_cutlass_epilogue_t *epilogue = &match->problem.epilogue;
  int64_t batch = conv->batch, pixels = conv->in_h * conv->in_w, results = conv->out_h * conv->out_w;
  place_t x = find_value(w, match->data), y = {BYOC_KERNEL_ARGUMENT_RESULT, 0, 0}, d = y, bias = y, c;
  if (!x.kind) return "an operand is neither a parameter nor a constant";
  place_t filter =
      add_made(w, make_filter(w->host->graph, match), conv->out * conv->in * conv->kernel_h * conv->kernel_w);
  if (epilogue->has_bias) bias = add_bias(w, match);
  c = bias;
  if (conv->in > 1 && pixels > 1) {
    place_t turned = add_scratch(w, batch * conv->in * pixels);
    turn(w, x, turned, NULL, batch, conv->in, pixels, 1);
    x = turned;
  }
  if (epilogue->has_residual) { // the bias is added on the way
    place_t residual = find_value(w, match->residual);
    if (!residual.kind) return "an operand is neither a parameter nor a constant";
    c = add_scratch(w, batch * conv->out * results);
    turn(w, residual, c, epilogue->has_bias ? &bias : NULL, batch, conv->out, results, epilogue->beta);
  }
  bool turns_back = conv->out > 1 && results > 1;
  if (turns_back) d = add_scratch(w, batch * conv->out * results);
  begin_launch(w, kernel->entry, kernel->entry, byoc_cutlass_ceil_div(batch * results, kernel->tile_m),
               byoc_cutlass_ceil_div(conv->out, kernel->tile_n), 1, byoc_cutlass_cuda_threads(kernel), 1);
  if (!epilogue->has_residual && !epilogue->has_bias) c = d;
  const place_t places[] = {x, filter, c, d};
  for (int i = 0; i < 4; ++i) add_place(w, places[i]);
  const int64_t numbers[] = {batch,          conv->in_h,       conv->in_w,       conv->in,
                             conv->out,      conv->kernel_h,   conv->kernel_w,   conv->out_h,
                             conv->out_w,    conv->pad_top,    conv->pad_left,   conv->stride_h,
                             conv->stride_w, conv->dilation_h, conv->dilation_w, epilogue->has_residual};
  add_integers(w, BYOC_C_I32, numbers, sizeof numbers / sizeof *numbers);
  add_real(w, epilogue->has_residual || epilogue->has_bias ? 1 : 0);
  add_local(w, kernel);
  if (turns_back) turn(w, d, y, NULL, batch, results, conv->out, 1);
  return NULL;
}

static int32_t answer(writer_t *w, const byoc_device_api_t *device, byoc_codegen_t *codegen) {
  char scratch[NUMBER_BYTES];
  snprintf(scratch, sizeof scratch, "%llu", (unsigned long long)w->scratch_bytes);
  const byoc_kernel_binding_t binding = {.header = BYOC_HEADER(byoc_kernel_binding_t, 1),
                                         .launches = w->launches,
                                         .launch_count = w->launch_count,
                                         .launch_stride = sizeof w->launches[0],
                                         .constants = w->constants,
                                         .constant_count = w->constant_count,
                                         .constant_stride = sizeof w->constants[0],
                                         .scratch_bytes = w->scratch_bytes ? scratch : NULL};
  return device->bind_kernels(codegen, w->function, &binding);
}

int32_t byoc_cutlass_cuda_bind(const byoc_host_t *host, const byoc_device_api_t *device, byoc_codegen_t *codegen,
                               byoc_function_t *function, const byoc_cutlass_match_t *match,
                               const byoc_cutlass_kernel_t *kernel) {
  writer_t *w = calloc(1, sizeof *w);
  if (!w) return host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "cutlass: out of memory");
  w->host = host;
  w->function = function;
  bool is_conv = kernel->kind == BYOC_CUTLASS_CONV;
  const char *reason = is_conv ? write_conv(w, match, kernel) : write_gemm(w, match, kernel);
  int32_t status;
  if (w->out_of_memory)
    status = host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "cutlass: out of memory");
  else
    status = reason ? host->codegen->decline(codegen, function, reason) : answer(w, device, codegen);
  for (uint32_t i = 0; i < w->constant_count; ++i) free(w->made[i]);
  free(w);
  return status;
}
