// SPDX-License-Identifier: Apache-2.0
// cutlass_bench: how near each plan of a convolution comes to the machine's peak.
//
//   cutlass_bench [-p] [-m] [-a] [-w] [-r ROUNDS] [-u MICROSECONDS] [SHAPE...]      SHAPE:
//   channels,out,size,kernel,stride,pad[,batch[,groups]]
//
// Without shapes those of ResNet-50 and VGG-19. Tensors are blocked; -p: plain ones, -m: plain input, blocked output.
// -a measures every candidate, else the default alone; -w without Winograd. Weights change from run to run, as in a
// network that is larger than the caches. Each round times a loop of nothing but multiply-adds right before and after
// the plan; the percentages are of that loop's rate: the median over the rounds, and the best time by the best rate,
// which a machine that throttles or serves others changes least.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels.h"

enum { MOST_PLANS = 1024, MOST_ROUNDS = 1001, WEIGHT_BYTES = 48 << 20 };

typedef double (*peak_t)(int64_t turns);

typedef struct options_t {
  bool plain_in, plain_out, all, winograd;
  int rounds;
  double window; // seconds
} options_t;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *aligned(size_t count) {
  void *memory = NULL;
  assert_int_equal(posix_memalign(&memory, 4096, count * sizeof(float) + 4096), 0);
  float *values = memory;
  for (size_t i = 0; i < count; ++i) values[i] = (float)(i * 7 % 31) * 0.01f - 0.15f;
  return memory;
}

static const char peak_text[] = "\nstatic double peak(int64_t turns) {\n"
                                "  vf s[24], a = v_set1(0.999f), b = v_set1(0.001f), all = v_zero();\n"
                                "  for (int i = 0; i < 24; ++i) s[i] = v_set1((float)i);\n"
                                "  for (int64_t t = 0; t < turns; ++t) {\n"
                                "#pragma GCC unroll 24\n"
                                "    for (int i = 0; i < 24; ++i) s[i] = v_fma(s[i], a, b);\n"
                                "  }\n"
                                "  for (int i = 0; i < 24; ++i) all += s[i];\n"
                                "  float out[LANES];\n"
                                "  v_store(out, all);\n"
                                "  return out[0];\n"
                                "}\n"
                                "__attribute__((visibility(\"default\"))) double (*const peaks[])(int64_t) = {peak};\n";

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Percent of the peak, median; *out_best: of the best time by the best peak.
static double measure(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                      byoc_packed_function_t function, peak_t peak, int rounds, double window, double *out_best,
                      double *out_peak) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  size_t packed = byoc_cutlass_packed_floats(problem, plan);
  size_t copies = WEIGHT_BYTES / sizeof(float) / packed + 1, stride = (packed + 15) / 16 * 16;
  size_t results = (size_t)(c->batch * c->groups * c->out * c->out_h * c->out_w);
  float *data = aligned((size_t)(c->batch * c->groups * c->in * c->in_h * c->in_w)),
        *weights = aligned(copies * stride);
  float *bias = aligned((size_t)(c->groups * c->out)), *residual = aligned(results), *result = aligned(results);
  size_t workspace_size = (size_t)byoc_cutlass_workspace_bytes(problem, plan);
  float *workspace = aligned(workspace_size / sizeof(float));
  DLTensor tensors[] = {{.data = data}, {.data = weights}, {.data = bias}, {.data = residual}, {.data = result}};
  byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .parallel_for = kernels_run_shares};
  byoc_call_t call = {.struct_size = sizeof(call),
                      .input_count = 4,
                      .output_count = 1,
                      .tensors = tensors,
                      .runtime = &runtime,
                      .workspace = workspace,
                      .workspace_size_bytes = workspace_size};
  double flops = 2.0 * (double)byoc_cutlass_macs(problem), percent[MOST_ROUNDS], best = 0, best_peak = 0;
  double once = flops / 50e9;
  int64_t peak_turns = (int64_t)(100e9 * (once > window ? once : window) / (48 * 16)) / 4;
  int turns = (int)(window / once) + 1;
  size_t copy = 0;
  volatile double sink = 0; // keeps the loop
  (void)sink;
  for (int r = 0; r < rounds; ++r) {
    double t0 = now();
    sink = peak(peak_turns);
    double t1 = now();
    for (int i = 0; i < turns; ++i) {
      tensors[1].data = weights + copy * stride;
      copy = (copy + 1) % copies;
      function(&call);
    }
    double t2 = now();
    sink = peak(peak_turns);
    double t3 = now();
    double rate = 24.0 * byoc_cutlass_isa_lanes(plan->isa) * 2 * 2 * (double)peak_turns / (t1 - t0 + t3 - t2);
    double achieved = flops * turns / (t2 - t1);
    percent[r] = achieved / rate * 100;
    if (achieved > best) best = achieved;
    if (rate > best_peak) best_peak = rate;
  }
  qsort(percent, (size_t)rounds, sizeof(*percent), by_value);
  *out_peak = best_peak;
  *out_best = best / best_peak * 100;
  free(data), free(weights), free(bias), free(residual), free(result), free(workspace);
  return percent[rounds / 2];
}

static void bench(const char *shape, const options_t *options) {
  static byoc_cutlass_plan_t plans[MOST_PLANS];
  long long in = 0, out = 0, size = 0, kernel = 1, stride = 1, pad = 0, batch = 1, groups = 1;
  if (sscanf(shape, "%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld", &in, &out, &size, &kernel, &stride, &pad, &batch,
             &groups) < 6)
    fail_msg("%s: a shape is channels,out,size,kernel,stride,pad[,batch[,groups]]", shape);
  byoc_cutlass_problem_t problem = {
      .kind = BYOC_CUTLASS_CONV, .epilogue = {.alpha = 1.0f, .beta = 1.0f, .has_bias = true}, .inputs = {0, 1, 2, 3}};
  problem.epilogue.activation = BYOC_CUTLASS_ACT_RELU;
  problem.conv = (byoc_cutlass_conv_t){.batch = batch,
                                       .groups = groups,
                                       .in = in / groups,
                                       .out = out / groups,
                                       .in_h = size,
                                       .in_w = size,
                                       .out_h = (size + 2 * pad - kernel) / stride + 1,
                                       .out_w = (size + 2 * pad - kernel) / stride + 1,
                                       .kernel_h = kernel,
                                       .kernel_w = kernel,
                                       .stride_h = stride,
                                       .stride_w = stride,
                                       .dilation_h = 1,
                                       .dilation_w = 1,
                                       .pad_top = pad,
                                       .pad_left = pad,
                                       .in_blocked = !options->plain_in && in / groups % BYOC_CUTLASS_BLOCK == 0,
                                       .out_blocked = !options->plain_out && out / groups % BYOC_CUTLASS_BLOCK == 0};
  byoc_cutlass_isa_t isa = BYOC_CUTLASS_ISA_COUNT - 1;
  while (isa > 0 && !kernels_run_here(isa, BYOC_CUTLASS_DOT_F32)) --isa;
  size_t count = byoc_cutlass_plan_candidates(&problem, isa, 1, options->winograd, plans, MOST_PLANS);
  if (!options->all) count = 1;
  for (size_t start = 0; start < count; start += 8) {
    size_t group = count - start < 8 ? count - start : 8;
    kernels_t kernels;
    kernels_begin(&kernels, isa);
    byoc_plugin_string_add(&kernels.text, "%s", peak_text);
    for (size_t i = 0; i < group; ++i) kernels_add(&kernels, &problem, &plans[start + i]);
    kernels_compile(&kernels, "-O2");
    peak_t const *peaks = (peak_t const *)dlsym(kernels.library, "peaks");
    for (size_t i = 0; i < group; ++i) {
      const byoc_cutlass_plan_t *p = &plans[start + i];
      double rate = 0, best = 0,
             percent =
                 measure(&problem, p, kernels.functions[i], peaks[0], options->rounds, options->window, &best, &rate);
      printf("%-24s %5.1f %%  best %5.1f %%  of %.0f GFLOP/s  form %u edge %d transposed %d direct %d rows %d lines %d "
             "vectors %d depth "
             "%d panels %d "
             "pass %d\n",
             shape, percent, best, rate * 1e-9, p->form, p->edge, p->transposed, p->direct, p->rows, p->lines,
             p->vectors, p->block_depth, p->block_panels, p->pass_panels);
      fflush(stdout);
    }
    kernels_end(&kernels);
  }
}

int main(int argc, char **argv) {
  static const char *const shapes[] = {
      "3,64,224,7,2,3",    "64,64,56,1,1,0",    "64,64,56,3,1,1",     "64,256,56,1,1,0",   "256,64,56,1,1,0",
      "256,128,56,1,1,0",  "256,128,56,1,2,0",  "128,128,56,3,2,1",   "128,128,28,3,1,1",  "128,512,28,1,1,0",
      "256,512,56,1,2,0",  "512,128,28,1,1,0",  "512,256,28,1,1,0",   "256,256,28,3,2,1",  "256,256,14,3,1,1",
      "256,1024,14,1,1,0", "512,1024,28,1,2,0", "1024,256,14,1,1,0",  "1024,512,14,1,1,0", "512,512,14,3,2,1",
      "512,512,7,3,1,1",   "512,2048,7,1,1,0",  "1024,2048,14,1,2,0", "2048,512,7,1,1,0",  "3,64,224,3,1,1",
      "64,64,224,3,1,1",   "64,128,112,3,1,1",  "128,128,112,3,1,1",  "128,256,56,3,1,1",  "256,256,56,3,1,1",
      "256,512,28,3,1,1",  "512,512,28,3,1,1",  "512,512,14,3,1,1"};
  options_t options = {.rounds = 101, .window = 400e-6, .winograd = true};
  for (int c; (c = getopt(argc, argv, "pmawr:u:")) != -1;) {
    if (c == 'p') options.plain_in = options.plain_out = true;
    if (c == 'm') options.plain_in = true;
    if (c == 'a') options.all = true;
    if (c == 'w') options.winograd = false;
    if (c == 'r') options.rounds = atoi(optarg);
    if (c == 'u') options.window = atof(optarg) * 1e-6;
    if (c == '?') return 2;
  }
  if (options.rounds < 1 || options.rounds > MOST_ROUNDS) options.rounds = 101;
  if (optind == argc)
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); ++i) bench(shapes[i], &options);
  for (int i = optind; i < argc; ++i) bench(argv[i], &options);
  return 0;
}
