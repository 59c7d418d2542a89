// SPDX-License-Identifier: Apache-2.0
// The plugin `cutlass`: its identity, options and rules. README.md has the map of its folders.
#include "byoc/plugin.h"

#include <string.h>

#include "codegen/generate.h"
#include "cuda/generate_cuda.h"
#include "cuda/kernels.h"
#include "patterns/match.h"

BYOC_PLUGIN_IDENTITY_NEEDS("cutlass", "0.1.0", "cutlass",
                           "Convolutions and matrix products as C specialised for each shape", 5);

// True if products in the target's precision take less time than those of f32, which only they do in plain layouts: a
// blocked layout would keep them from it.
static bool is_for_plain_layouts(const byoc_host_t *host, const byoc_target_t *target) {
  const char *precision = host->target->option_string(target, "precision"), *feature, *vendor;
  if (strcmp(precision, "int8") == 0) return true;
  for (size_t i = 0; strcmp(precision, "bf16") == 0 && byoc_cutlass_fast_bf16(i, &feature, &vendor); ++i)
    if (host->target->option_cpu_has(target, "mcpu", feature, vendor)) return true;
  return false;
}

static int32_t accept_region(void *self, byoc_region_t *region) {
  const byoc_host_t *host = ((const byoc_cutlass_state_t *)self)->host;
  byoc_node_t *nodes[BYOC_CUTLASS_MOST_NODES];
  uint64_t count = host->region->node_count(region);
  if (count > sizeof nodes / sizeof *nodes) return host->region->decline(region, "too many operators");
  for (uint64_t i = 0; i < count; ++i) nodes[i] = host->region->node_at(region, i);
  byoc_cutlass_match_t match;
  bool ok = byoc_cutlass_match(host->graph, nodes, (size_t)count, &match) == BYOC_OK;
  bool blocked = match.problem.conv.in_blocked || match.problem.conv.out_blocked;
  if (ok && blocked && is_for_plain_layouts(host, host->region->target(region))) {
    ok = false;
    match.reason = "products of lower precision need plain layouts";
  }
  if (ok && byoc_cutlass_is_cuda(host, host->region->target(region)))
    ok = byoc_cutlass_cuda_takes(&match, &match.reason);
  if (!ok) host->region->decline(region, match.reason ? match.reason : "not a product with an epilogue");
  byoc_cutlass_match_deinit(&match);
  return ok;
}

// The element types of products: of floats, and of bytes.
#define FLOATS "<f32|f16|bf16>"
#define BYTES  "<u8|i8>"

// Parts of patterns. An optional part matches if it is there; a constant summand is a bias.
#define ACTIVATED(p)                                                                                                   \
  "({Relu|LeakyRelu|Clip|Sigmoid|Tanh|HardSigmoid|HardSwish|Gelu|Swish}(" p ") | Clip(" p ", @) | Clip(" p ", @, @))"
#define GATED(p)    "(Mul(" p ", {Sigmoid|HardSigmoid}(" p ")))"
#define ERF(p)      "Add(Erf({Div|Mul}(" p ", @)), @)"
#define ERF_GELU(p) "(Mul(Mul(" p ", " ERF(p) "), @) | Mul(Mul(" p ", @), " ERF(p) ") | Mul(" p ", Mul(" ERF(p) ", @)))"
#define TANH(p)     "Add(Tanh(Mul(Add(" p ", Mul(Pow(" p ", @), @)), @)), @)"
#define TANH_GELU(p)                                                                                                   \
  "(Mul(Mul(" p ", " TANH(p) "), @) | Mul(Mul(" p ", @), " TANH(p) ") | Mul(" p ", Mul(" TANH(p) ", @)))"
#define ANY_LAYOUT "byoc::FromBlocked?(_)"
#define CONV_OF(x) "(Conv" FLOATS "(" x ", @) | Conv" FLOATS "(" x ", @, @))"
#define CONV       CONV_OF(ANY_LAYOUT)
#define NORMALISED "BatchNormalization?(" CONV ", @, @, @, @)"
#define CONV_BIAS  "{Add|Mul}?({Add|Mul}?(" NORMALISED ", @), @)"
#define CONST_GEMM                                                                                                     \
  "(Gemm" FLOATS "(_, @) | Gemm" FLOATS "(_, @, @) | MatMul" FLOATS "(_, @) | byoc::PackedMatMul<f32>(_, @, @, ...))"
#define GEMM_BIAS   "{Add|Mul|Div}?(" CONST_GEMM ", @)"
#define ANY_GEMM    "(Gemm" FLOATS "(_, _) | Gemm" FLOATS "(_, _, @) | Gemm" FLOATS "(_, _, _) | MatMul" FLOATS "(_, _))"
#define SCALED_GEMM "{Add|Mul|Div}?(" ANY_GEMM ", @)"

// The same between casts from f16 or bf16 to f32 and back, which loads and stores do. `x` and `y`: the operands.
#define MAYBE_CAST    "Cast?(_)"
#define ACT_IF_ANY(p) "{Relu|LeakyRelu|Clip|Sigmoid|Tanh|HardSigmoid|HardSwish|Gelu|Swish}?(" p ")"
#define CAST_CONV(x)  ACT_IF_ANY("Add?({Add|Mul}?(BatchNormalization?(" CONV_OF(x) ", @, @, @, @), @), _)")
#define CAST_GEMM(x)                                                                                                   \
  ACT_IF_ANY("Add?({Add|Mul|Div}?((Gemm" FLOATS "(" x ", @) | Gemm" FLOATS "(" x ", @, @) | MatMul" FLOATS "(" x       \
             ", @)), @), _)")
#define CAST_MATMUL(x, y)                                                                                              \
  ACT_IF_ANY("{Add|Mul|Div}?((Gemm" FLOATS "(" x ", " y ") | MatMul" FLOATS "(" x ", " y ")), @)")

// Products of bytes, and the operators that make floats of their sums.
#define BYTES_LINEAR                                                                                                   \
  "({QLinearConv|QLinearMatMul}" BYTES "(_" BYTES ", @, @, @" BYTES ", @, @, @, @, ...) | "                            \
  "com.microsoft::QGemm" BYTES "(_" BYTES ", @, @, @" BYTES ", @, @, ...))"
#define BYTES_PRODUCT                                                                                                  \
  "({ConvInteger|MatMulInteger}(_" BYTES ", @" BYTES ") | {ConvInteger|MatMulInteger}(_" BYTES ", @" BYTES ", _) | "   \
  "{ConvInteger|MatMulInteger}(_" BYTES ", @" BYTES ", _, @))"
#define BYTES_FLOAT                                                                                                    \
  "(Mul(Cast(" BYTES_PRODUCT "), _) | DequantizeLinear(Add?(" BYTES_PRODUCT ", @), @) | "                              \
  "DequantizeLinear(Add?(" BYTES_PRODUCT ", @), @, @))"
// Bytes that are cut by Relu or Clip, and bytes that are added to bytes: the end of a residual block.
#define CUT(p)    "{Relu|Clip|Max}(" p ", ...)"
#define BYTES_MAX "{Relu|Clip|Max}?(" BYTES_LINEAR ", ...)"
#define BYTES_JOIN                                                                                                     \
  "(com.microsoft::QLinearAdd(" BYTES_MAX ", @, @, _, @, @, @, @) | "                                                  \
  "com.microsoft::QLinearAdd(_, @, @, " BYTES_MAX ", @, @, @, @))"
#define AS_FLOATS(p) "(DequantizeLinear(" p ", @) | DequantizeLinear(" p ", @, @))"
#define BYTES_SUM    "Relu?(Add(" AS_FLOATS(BYTES_MAX) ", " AS_FLOATS("_") "))"
#define BYTES_BIAS   "{Add|Mul}?({Add|Mul}?(" BYTES_FLOAT ", @), @)"

#define RULE(rule_name, text)                                                                                          \
  { .header = BYOC_HEADER(byoc_rule_t, 1), .name = "cutlass." rule_name, .pattern = text, .accept = accept_region }

// A convolution in whichever layout the tensors around it have.
#define CONV_RULE(rule_name, text) RULE(rule_name, "byoc::ToBlocked?(" text ")")

// Rows are tried in this order, so the largest patterns come first.
static const byoc_rule_t rules[] = {
    RULE("attention", "Attention<f32>(_<f32>, _<f32>, _<f32>, ...)"),
    RULE("conv_cast", "Cast(" CAST_CONV(MAYBE_CAST) ")"),
    RULE("gemm_cast", "Cast(" CAST_GEMM(MAYBE_CAST) ")"),
    RULE("matmul_cast", "Cast(" CAST_MATMUL(MAYBE_CAST, MAYBE_CAST) ")"),
    RULE("conv_of_cast", CAST_CONV("Cast(_)")),
    RULE("gemm_of_cast", CAST_GEMM("Cast(_)")),
    RULE("matmul_of_casts", CAST_MATMUL("Cast(_)", MAYBE_CAST)),
    RULE("matmul_of_cast", CAST_MATMUL("_", "Cast(_)")),
    CONV_RULE("conv_gate", GATED(CONV_BIAS)),
    CONV_RULE("conv_add_act", ACTIVATED("Add(" CONV_BIAS ", " ANY_LAYOUT ")")),
    CONV_RULE("conv_act_add", "Add(" ACTIVATED(CONV_BIAS) ", " ANY_LAYOUT ")"),
    CONV_RULE("conv_act", ACTIVATED(CONV_BIAS)),
    CONV_RULE("conv_add", "Add(" CONV_BIAS ", " ANY_LAYOUT ")"),
    CONV_RULE("conv_scale", "{Add|Mul}({Add|Mul}?(" NORMALISED ", @), @)"),
    CONV_RULE("conv_bn", "BatchNormalization(" CONV ", @, @, @, @)"),
    CONV_RULE("conv", CONV),
    RULE("gemm_gelu", ERF_GELU(GEMM_BIAS)),
    RULE("gemm_gelu_tanh", TANH_GELU(GEMM_BIAS)),
    RULE("gemm_add_act", ACTIVATED("Add(" GEMM_BIAS ", _)")),
    RULE("gemm_act", ACTIVATED(GEMM_BIAS)),
    RULE("gemm_add", "Add(" GEMM_BIAS ", _)"),
    RULE("gemm_bias", "{Add|Mul|Div}(" CONST_GEMM ", @)"),
    RULE("gemm", CONST_GEMM),
    RULE("bytes_join_cut", CUT(BYTES_JOIN)),
    RULE("bytes_join", BYTES_JOIN),
    RULE("bytes_sum", "(QuantizeLinear(" BYTES_SUM ", @) | QuantizeLinear(" BYTES_SUM ", @, @))"),
    RULE("bytes_add_act", ACTIVATED("Add(" BYTES_BIAS ", _)")),
    RULE("bytes_act", ACTIVATED(BYTES_BIAS)),
    RULE("bytes_add", "Add(" BYTES_BIAS ", _)"),
    RULE("bytes_bias", "{Add|Mul}({Add|Mul}?(" BYTES_FLOAT ", @), @)"),
    RULE("bytes_float", BYTES_FLOAT),
    RULE("bytes_linear_max", CUT(BYTES_LINEAR)),
    RULE("bytes_linear", BYTES_LINEAR),
    RULE("bytes", BYTES_PRODUCT),
    RULE("matmul_act", ACTIVATED(SCALED_GEMM)),
    RULE("matmul_scale", "{Add|Mul|Div}(" ANY_GEMM ", @)"),
    RULE("matmul", ANY_GEMM),
};

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "mcpu",
     .type = BYOC_OPTION_CPU,
     .default_value = "native",
     .help = "processor of the generated code, in the words of target c; native: that of the artifact"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "tune_trials",
     .type = BYOC_OPTION_INT,
     .default_value = "0",
     .minimum = 0,
     .maximum = 1024,
     .help = "algorithms and blockings measured for each distinct shape; 0: choose by rule"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "tune_seconds",
     .type = BYOC_OPTION_INT,
     .default_value = "0",
     .minimum = 0,
     .maximum = 86400,
     .help = "budget for measuring the algorithms and blockings of all shapes of a build; 0: tune_trials alone counts"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "max_threads",
     .type = BYOC_OPTION_INT,
     .default_value = "16",
     .minimum = 1,
     .maximum = 256,
     .help = "threads that a function can use; workspaces grow with it"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "winograd",
     .type = BYOC_OPTION_BOOL,
     .default_value = "1",
     .help = "allow Winograd's algorithm for 3x3 convolutions, which rounds differently"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "precision",
     .type = BYOC_OPTION_PRECISION,
     .default_value = "f32",
     .choices = "f32|bf16|int8",
     .help = "precision of products of f32 with constant weights: bf16 rounds weights to 8 bits, int8 data and weights "
             "to 7; warnings name operators that keep f32 because it is faster or because there is no template"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "O",
     .type = BYOC_OPTION_INT,
     .default_value = "2",
     .minimum = 0,
     .maximum = 3,
     .help = "optimisation level of the C compiler"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "cc",
     .type = BYOC_OPTION_STRING,
     .default_value = "",
     .help = "C compiler, gcc or clang; empty: the host's"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "device",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "host",
     .choices = "host|cuda",
     .help = "where functions run; cuda: kernels of NVIDIA's CUTLASS on a GPU"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "arch",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "sm_80",
     .choices = "sm_80|sm_86|sm_87|sm_89|sm_90|sm_100|sm_120",
     .help = "with -device=cuda: the GPU that binaries are for; newer ones translate when a context is made"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "cuda_path",
     .type = BYOC_OPTION_STRING,
     .default_value = "",
     .help = "with -device=cuda: the folder into which pip installed NVRTC and CUTLASS"},
};

static int32_t runs_on_device(void *self, const byoc_target_t *target) {
  return byoc_cutlass_is_cuda(((const byoc_cutlass_state_t *)self)->host, target);
}

// The bound for results of lower precision: docs/targets.md, "Lower precision".
static double relative_error(void *self, const byoc_target_t *target) {
  const byoc_host_t *host = ((const byoc_cutlass_state_t *)self)->host;
  const char *precision = host->target->option_string(target, "precision");
  return strcmp(precision, "bf16") == 0 ? 0.05 : strcmp(precision, "int8") == 0 ? 0.1 : 0;
}

// Lives from query to destroy. There are no static variables: a process may hold the plugin for several hosts at once.
typedef struct cutlass_plugin_t {
  byoc_cutlass_state_t state; // first: `self` of the hooks points to it
  byoc_backend_t backend;
  const byoc_backend_t *backends[1];
} cutlass_plugin_t;

static void destroy(void *self) {
  const byoc_host_t *host = ((const cutlass_plugin_t *)self)->state.host;
  (void)host->resize(host, self, 0);
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  cutlass_plugin_t *plugin = host->resize(host, NULL, sizeof *plugin);
  if (!plugin) return host->error(host, BYOC_OUT_OF_MEMORY, "out of memory");
  *plugin = (cutlass_plugin_t){
      .state = {.host = host},
      .backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                  .target = "cutlass",
                  .description = "convolutions and matrix products as register-blocked C, specialised for each shape",
                  .flags = BYOC_BACKEND_REENTRANT | BYOC_BACKEND_EVERY_MACHINE,
                  .self = plugin,
                  .options = options,
                  .option_count = sizeof options / sizeof *options,
                  .option_stride = sizeof *options,
                  .rules = rules,
                  .rule_count = sizeof rules / sizeof *rules,
                  .rule_stride = sizeof *rules,
                  .generate = byoc_cutlass_generate,
                  .relative_error = relative_error,
                  .driver = "cuda",
                  .device_type = kDLCUDA,
                  .runs_on_device = runs_on_device}};
  plugin->backends[0] = &plugin->backend;
  out_plugin->self = plugin;
  out_plugin->backends = plugin->backends;
  out_plugin->backend_count = 1;
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
