// SPDX-License-Identifier: Apache-2.0
// A stranger's backend: Abs on static f32 tensors, as C source.
#include <stdio.h>

#include <byoc/plugin.h>

BYOC_PLUGIN_IDENTITY("stranger", "0.3", "stranger", "Abs as C source");

static const byoc_host_t *host;

static int32_t accept(void *self, byoc_region_t *region) {
  const byoc_value_t *x = host->region->value(region, "x");
  (void)self;
  if (host->graph->value_dtype(x) != BYOC_DTYPE_F32) return host->region->decline(region, "not f32");
  if (host->graph->value_element_count(x) < 0) return host->region->decline(region, "the shape is not static");
  return 1;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  const byoc_codegen_api_t *api = host->codegen;
  (void)self;
  for (uint64_t i = 0; i < api->function_count(codegen); ++i) {
    byoc_function_t *function = api->function_at(codegen, i);
    const char *symbol = host->graph->function_symbol(function);
    char source[600];
    snprintf(source, sizeof(source),
             "#include \"byoc/call.h\"\n"
             "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
             "  const float *x = (const float *)call->tensors[0].data;\n"
             "  float *y = (float *)call->tensors[1].data;\n"
             "  for (long long i = 0; i < %lld; ++i) y[i] = x[i] < 0 ? -x[i] : x[i];\n"
             "  return BYOC_OK;\n"
             "}\n",
             symbol, (long long)host->graph->value_element_count(host->graph->parameter(function, 0)));
    const byoc_c_source_t module = {
        .header = BYOC_HEADER(byoc_c_source_t, 1), .name = "stranger", .source = source, .symbols = {&symbol, 1}};
    const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
    int32_t status = api->add_c_source(codegen, &module);
    if (status == BYOC_OK) status = api->bind_packed(codegen, function, &binding);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "stranger.abs", .pattern = "Abs(%x)", .accept = accept}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "stranger",
                                       .description = "Abs as C source",
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = generate};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
