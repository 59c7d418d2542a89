// SPDX-License-Identifier: Apache-2.0
// A plugin that brings an operator and the target that computes it: the declaration has no definition.
#include <stdio.h>

#include "byoc/operator_plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("own", "1.0", "own", "com.own::Twice, computed by a target of its own", 4);
BYOC_PLUGIN_DOMAINS("com.own");

static const byoc_host_t *host;

static const byoc_operator_t operators[] = {{.header = BYOC_HEADER(byoc_operator_t, 1),
                                             .domain = "com.own",
                                             .name = "Twice",
                                             .since_version = 2,
                                             .signature = "(x: f32[N, M]) -> (y: f32[N, M])"}};

static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  const char *symbol = host->graph->function_symbol(function);
  char source[512];
  snprintf(source, sizeof(source),
           "#include \"byoc/call.h\"\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = (const float *)call->tensors[0].data;\n"
           "  float *y = (float *)call->tensors[1].data;\n"
           "  for (long i = 0; i < %lld; ++i) y[i] = 2 * x[i];\n"
           "  return BYOC_OK;\n"
           "}\n",
           symbol, (long long)host->graph->value_element_count(host->graph->parameter(function, 0)));
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = symbol, .source = source, .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  int32_t status = host->codegen->add_c_source(codegen, &module);
  return status == BYOC_OK ? host->codegen->bind_packed(codegen, function, &binding) : status;
}

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "own.twice", .pattern = "com.own::Twice(%x)"}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "own",
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate_function = generate_function};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host, out_plugin->backends = backends, out_plugin->backend_count = 1;
  const byoc_operator_api_t *api = host->extension(host, BYOC_OPERATOR_EXTENSION, 1);
  return api->declare(host, operators, 1, sizeof(operators[0]));
}
