// SPDX-License-Identifier: Apache-2.0
// A whole backend in little code: takes Relu and Neg on static f32 tensors and hands back C source. One rule with a
// predicate, one option, the module hook.
//
// DEMO_OLDER makes it what the headers of minor 0 made of it: its byoc_backend_t ends before `prepare`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

#ifdef DEMO_OLDER
#undef BYOC_ABI_MINOR
#define BYOC_ABI_MINOR 0
#define NAME           "demo_older"
#define TARGET         "older"
#define BACKEND_HEADER                                                                                                 \
  { offsetof(byoc_backend_t, prepare), 1 }

#else
#define NAME           "demo_negate"
#define TARGET         "negate"
#define BACKEND_HEADER BYOC_HEADER(byoc_backend_t, 1)
#endif

BYOC_PLUGIN_IDENTITY(NAME, "1.0", TARGET, "Relu and Neg as C source");

static const byoc_host_t *host;

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  const byoc_value_t *x = host->region->value(region, "x");
  if (host->graph->value_dtype(x) != BYOC_DTYPE_F32)
    return host->region->decline(region, "the element type is not f32");
  if (host->graph->value_element_count(x) < 0) return host->region->decline(region, "the shape is not static");
  return 1;
}

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = TARGET ".op", .pattern = "op:{Relu|Neg}(%x)", .accept = accept}};

static const byoc_option_t options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "O",
                                         .type = BYOC_OPTION_INT,
                                         .default_value = "2",
                                         .minimum = 0,
                                         .maximum = 3,
                                         .help = "optimisation level"}};

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_codegen_api_t *api = host->codegen;
  const byoc_graph_api_t *graph = host->graph;
  char flag[8];
  snprintf(flag, sizeof(flag), "-O%d", (int)host->target->option_int(api->target(codegen), "O"));
  for (uint64_t i = 0; i < api->function_count(codegen); ++i) {
    byoc_function_t *function = api->function_at(codegen, i);
    const char *symbol = graph->function_symbol(function);
    byoc_region_t *region = api->match(codegen, function, NULL, "op:{Relu|Neg}(%x)");
    if (region == NULL) return api->error(codegen, BYOC_INTERNAL, "a function is not what the rule took");
    const int is_relu = strcmp(graph->node_operator(host->region->node(region, "op")), "Relu") == 0;
    const long long count = (long long)graph->value_element_count(graph->parameter(function, 0));
    char source[1024];
    snprintf(source, sizeof(source),
             "#include \"byoc/call.h\"\n"
             "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
             "  const float *x = (const float *)call->tensors[0].data;\n"
             "  float *y = (float *)call->tensors[1].data;\n"
             "  for (long long i = 0; i < %lld; ++i) y[i] = %s;\n"
             "  return BYOC_OK;\n"
             "}\n",
             symbol, count, is_relu ? "x[i] < 0 ? 0 : x[i]" : "-x[i]");
    const char *const flags[] = {flag};
    const byoc_c_source_t module = {.header = BYOC_HEADER(byoc_c_source_t, 1),
                                    .name = "negate",
                                    .source = source,
                                    .flags = {flags, 1},
                                    .symbols = {&symbol, 1}};
    const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
    int32_t status = api->add_c_source(codegen, &module);
    if (status == BYOC_OK) status = api->bind_packed(codegen, function, &binding);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

#ifdef DEMO_OLDER
// Stands beyond the end of the struct: a host that reads on would call it.
static int32_t prepare(void *self, byoc_codegen_t *codegen) {
  (void)self;
  (void)codegen;
  abort();
}
#endif

static const byoc_backend_t backend = {.header = BACKEND_HEADER,
                                       .target = TARGET,
                                       .description = "Relu and Neg as C source",
                                       .options = options,
                                       .option_count = 1,
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
#ifdef DEMO_OLDER
                                       .prepare = prepare,
#endif
                                       .generate = generate};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
