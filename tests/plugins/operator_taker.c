// SPDX-License-Identifier: Apache-2.0
// A backend for an operator that another plugin declares: takes com.acme::MyGelu on f32 tensors of known shape, by its
// pattern, reads the attribute with the default of the declaration, and answers with C source.
#include <stdio.h>
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY("taker", "1.0", "taker", "com.acme::MyGelu as C source");

static const byoc_host_t *host;

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  const byoc_value_t *x = host->region->value(region, "x");
  if (host->graph->value_dtype(x) != BYOC_DTYPE_F32) return host->region->decline(region, "x is not f32");
  if (host->graph->value_element_count(x) < 0) return host->region->decline(region, "x has no static shape");
  if (!host->graph->node_has_trait(host->region->node(region, "op"), "elementwise")) {
    return host->region->decline(region, "the operator is not elementwise");
  }
  return 1;
}

static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  const byoc_graph_api_t *graph = host->graph;
  const byoc_region_t *region = host->codegen->match(codegen, function, NULL, "op:com.acme::MyGelu(%x)");
  if (region == NULL) return host->codegen->error(codegen, BYOC_INTERNAL, "a function is not what the rule took");
  const byoc_node_t *node = host->region->node(region, "op");
  const char *mode = graph->node_text(node, "approximate");
  const char *symbol = graph->function_symbol(function);
  char source[1024];
  snprintf(source, sizeof(source),
           "#include <math.h>\n"
           "#include \"byoc/call.h\"\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = (const float *)call->tensors[0].data;\n"
           "  float *y = (float *)call->tensors[1].data;\n"
           "  for (long i = 0; i < %lld; ++i) y[i] = 0.5f * x[i] * (1.0f + %s);\n"
           "  return BYOC_OK;\n"
           "}\n",
           symbol, (long long)graph->value_element_count(graph->parameter(function, 0)),
           mode != NULL && strcmp(mode, "tanh") == 0 ? "tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]))"
                                                     : "erff(x[i] * 0.7071067812f)");
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = symbol, .source = source, .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  int32_t status = host->codegen->add_c_source(codegen, &module);
  return status == BYOC_OK ? host->codegen->bind_packed(codegen, function, &binding) : status;
}

static const byoc_rule_t rules[] = {{.header = BYOC_HEADER(byoc_rule_t, 1),
                                     .name = "taker.gelu",
                                     .pattern = "op:com.acme::MyGelu(%x)",
                                     .accept = accept}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "taker",
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate_function = generate_function};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host, out_plugin->backends = backends, out_plugin->backend_count = 1;
  return BYOC_OK;
}
