// SPDX-License-Identifier: Apache-2.0
// hello.c - a complete backend in one file: it takes Relu on f32 tensors of known shape and answers with C source.
#include <byoc/plugin.h>
#include <stdio.h>

BYOC_PLUGIN_IDENTITY("hello", "1.0", "hello", "Relu as C source");
static const byoc_host_t *host; // lives until the plugin is unloaded

static int32_t accept(void *self, byoc_region_t *region) {
  const byoc_value_t *x = host->region->value(region, "x");
  (void)self;
  if (host->graph->value_dtype(x) != BYOC_DTYPE_F32) return host->region->decline(region, "x is not f32");
  if (host->graph->value_element_count(x) < 0) return host->region->decline(region, "x has no static shape");
  return 1;
}

static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  const char *symbol = host->graph->function_symbol(function);
  char source[512];
  (void)self;
  snprintf(source, sizeof(source),
           "#include \"byoc/call.h\"\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = (const float *)call->tensors[0].data;\n"
           "  for (long i = 0; i < %lld; ++i) ((float *)call->tensors[1].data)[i] = x[i] < 0 ? 0 : x[i];\n"
           "  return BYOC_OK;\n}\n",
           symbol, (long long)host->graph->value_element_count(host->graph->parameter(function, 0)));
  const byoc_c_source_t module = {BYOC_HEADER(byoc_c_source_t, 1), symbol, source, .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  int32_t status = host->codegen->add_c_source(codegen, &module);
  return status == BYOC_OK ? host->codegen->bind_packed(codegen, function, &binding) : status;
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_rule_t relu = {BYOC_HEADER(byoc_rule_t, 1), "hello.relu", "Relu(%x)", .accept = accept};
  static const byoc_backend_t backend = {BYOC_HEADER(byoc_backend_t, 1),
                                         "hello",
                                         "Relu as C source",
                                         .rules = &relu,
                                         .rule_count = 1,
                                         .rule_stride = sizeof(relu),
                                         .generate_function = generate_function};
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host, out_plugin->backends = backends, out_plugin->backend_count = 1;
  return BYOC_OK;
}
