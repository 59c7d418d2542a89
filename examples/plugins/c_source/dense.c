// SPDX-License-Identifier: Apache-2.0
// dense.c - a code generator: products of matrices with constant weights, with bias and Relu where they follow, as C
// source that is specialised for the weights' shape and spreads its rows over the threads of the context. The number of
// rows may be known at run time only.
#include <byoc/plugin.h>
#include <stdio.h>

BYOC_PLUGIN_IDENTITY("dense", "1.0", "dense", "Products with constant weights as C source");

// Each way to match it is offered to the search: with and without the bias, with and without the Relu.
#define PATTERN "relu:Relu?(Add?(MatMul(%x, @w), @b))"

static const byoc_host_t *host; // lives until the plugin is unloaded

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "grain",
     .type = BYOC_OPTION_INT,
     .default_value = "8",
     .minimum = 1,
     .maximum = 65536,
     .help = "rows that a thread takes at least"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "O",
     .type = BYOC_OPTION_INT,
     .default_value = "3",
     .minimum = 0,
     .maximum = 3,
     .help = "optimisation level of the C compiler"},
};

// ---- what it takes ----

static int32_t accept(void *self, byoc_region_t *region) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_region_api_t *api = host->region;
  const byoc_value_t *x = api->value(region, "x"), *w = api->value(region, "w"), *b = api->value(region, "b");
  (void)self;
  if (graph->value_dtype(x) != BYOC_DTYPE_F32) return api->decline(region, "x is not f32");
  if (graph->value_rank(x) < 2) return api->decline(region, "x is not at least a matrix");
  if (graph->value_rank(w) != 2) return api->decline(region, "w is not a matrix");
  if (graph->value_dim(w, 0) == 0) return api->decline(region, "w has no rows");
  if (b == NULL) return 1; // the optional Add is not part of this match
  const int32_t rank = graph->value_rank(b);
  const int64_t columns = graph->value_dim(w, 1);
  if (rank < 1 || graph->value_element_count(b) != columns || graph->value_dim(b, rank - 1) != columns) {
    return api->decline(region, "b is not one row of the result");
  }
  return rank <= graph->value_rank(x) ? 1 : api->decline(region, "b has a larger rank than the product");
}

// ---- what it makes ----

// x is tensor 0, the constants follow in the order in which they are bound, the result comes last.
static const char template[] =
    "#include \"byoc/call.h\"\n"
    "enum { DEPTH = %lld, COLUMNS = %lld, HAS_BIAS = %d, HAS_RELU = %d };\n"
    "static void rows(void *argument, int64_t begin, int64_t end, int32_t worker) {\n"
    "  const byoc_call_t *call = (const byoc_call_t *)argument;\n"
    "  const float *w = (const float *)call->tensors[1].data;\n"
    "  (void)worker;\n"
    "  for (int64_t r = begin; r < end; ++r) {\n"
    "    const float *x = (const float *)call->tensors[0].data + r * DEPTH;\n"
    "    float *y = (float *)call->tensors[2 + HAS_BIAS].data + r * COLUMNS;\n"
    "    for (int64_t c = 0; c < COLUMNS; ++c) y[c] = 0;\n"
    "    for (int64_t k = 0; k < DEPTH; ++k) {\n"
    "      for (int64_t c = 0; c < COLUMNS; ++c) y[c] += x[k] * w[k * COLUMNS + c];\n"
    "    }\n"
    "    if (HAS_BIAS) {\n"
    "      const float *b = (const float *)call->tensors[1 + HAS_BIAS].data;\n"
    "      for (int64_t c = 0; c < COLUMNS; ++c) y[c] += b[c];\n"
    "    }\n"
    "    for (int64_t c = 0; HAS_RELU && c < COLUMNS; ++c) y[c] = y[c] < 0 ? 0 : y[c];\n"
    "  }\n"
    "}\n"
    "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
    "  const byoc_runtime_t *runtime = call->runtime;\n"
    "  int64_t count = 1;\n"
    "  for (int d = 0; d + 1 < call->tensors[0].ndim; ++d) count *= call->tensors[0].shape[d];\n"
    "  runtime->parallel_for(runtime->self, rows, (void *)call, count, %lld);\n"
    "  return BYOC_OK;\n"
    "}\n";

static int32_t generate_one(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_codegen_api_t *api = host->codegen;
  const byoc_target_t *target = api->target(codegen);
  // The bindings of the rule, once more: they died when accept returned.
  byoc_region_t *region = api->match(codegen, function, NULL, PATTERN);
  if (region == NULL) return api->error(codegen, BYOC_INTERNAL, "its own pattern does not match");
  const byoc_value_t *w = host->region->value(region, "w"), *b = host->region->value(region, "b");

  byoc_tensor_data_t constants[2] = {{.header = BYOC_HEADER(byoc_tensor_data_t, 1)},
                                     {.header = BYOC_HEADER(byoc_tensor_data_t, 1)}};
  if (!graph->value_constant(w, &constants[0])) return api->error(codegen, BYOC_INTERNAL, "w is not constant");
  if (b != NULL && !graph->value_constant(b, &constants[1])) {
    return api->error(codegen, BYOC_INTERNAL, "b is not constant");
  }

  const char *symbol = graph->function_symbol(function);
  char source[4096], level[8];
  const int size = snprintf(source, sizeof(source), template, (long long)graph->value_dim(w, 0),
                            (long long)graph->value_dim(w, 1), b != NULL, host->region->node(region, "relu") != NULL,
                            symbol, (long long)host->target->option_int(target, "grain"));
  if (size < 0 || (size_t)size >= sizeof(source)) return api->error(codegen, BYOC_INTERNAL, "the source is too long");
  snprintf(level, sizeof(level), "-O%d", (int)host->target->option_int(target, "O"));
  const char *const flags[] = {level};

  const byoc_c_source_t module = {.header = BYOC_HEADER(byoc_c_source_t, 1),
                                  .name = symbol,
                                  .source = source,
                                  .flags = {flags, 1},
                                  .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1),
                                         .constants = constants,
                                         .constant_count = b != NULL ? 2 : 1,
                                         .constant_stride = sizeof(constants[0])};
  const int32_t status = api->add_c_source(codegen, &module);
  return status == BYOC_OK ? api->bind_packed(codegen, function, &binding) : status;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  const uint64_t count = host->codegen->function_count(codegen);
  (void)self;
  for (uint64_t i = 0; i < count; ++i) {
    host->codegen->progress(codegen, "dense", i, count);
    const int32_t status = generate_one(codegen, host->codegen->function_at(codegen, i));
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

// ---- the plugin ----

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "dense.matmul", .pattern = PATTERN, .accept = accept}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "dense",
                                       .description = "products with constant weights as C source",
                                       .options = options,
                                       .option_count = sizeof(options) / sizeof(options[0]),
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = sizeof(rules) / sizeof(rules[0]),
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = generate};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
