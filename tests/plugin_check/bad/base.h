// SPDX-License-Identifier: Apache-2.0
// A good plugin, which the bad ones of this folder include after they have defined what is bad about them. It takes
// Relu and Neg on f32 tensors of static shapes and hands back C source. Whatever a bad plugin does not define is as
// below.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "byoc/plugin.h"

#ifndef IDENTITY
#define IDENTITY BYOC_PLUGIN_IDENTITY("bad", "1.0", "bad", "Bad in one way")
#endif
#ifndef PATTERN
#define PATTERN "op:{Relu|Neg}(%x)"
#endif
#ifndef ELEMENT // the element type, and that of C
#define ELEMENT      BYOC_DTYPE_F32
#define ELEMENT_IN_C "float"
#endif
#ifndef RULE_PATTERN // the slot of the rule
#define RULE_PATTERN PATTERN
#endif
#ifndef RULE_FLAGS
#define RULE_FLAGS 0
#endif
#ifndef REFUSES // the statement that refuses the option -refuse
#define REFUSES return host->codegen->error(codegen, BYOC_INVALID_ARGUMENT, "-refuse asks to be refused");
#endif
#ifndef BACKEND_FLAGS
#define BACKEND_FLAGS 0
#endif
#ifndef OPTIONS // of byoc_option_t
#define OPTIONS                                                                                                        \
  {.header = BYOC_HEADER(byoc_option_t, 1),                                                                            \
   .name = "refuse",                                                                                                   \
   .type = BYOC_OPTION_BOOL,                                                                                           \
   .default_value = "0",                                                                                               \
   .help = "refuse to make code"},                                                                                     \
  {                                                                                                                    \
    .header = BYOC_HEADER(byoc_option_t, 1), .name = "O", .type = BYOC_OPTION_INT, .default_value = "2", .maximum = 3, \
    .help = "optimisation level"                                                                                       \
  }
#endif
// Statements at the beginning and the end of the hooks. `host` is the host.
#ifndef QUERY_FIRST
#define QUERY_FIRST
#endif
#ifndef QUERY_LAST
#define QUERY_LAST
#endif
#ifndef ACCEPT_FIRST
#define ACCEPT_FIRST
#endif
#ifndef GENERATE_FIRST
#define GENERATE_FIRST
#endif
#ifndef DECLINES // of generate, for each function
#define DECLINES(region)
#endif
#ifndef RELATIVE_ERROR // a hook; NULL: none
#define RELATIVE_ERROR NULL
#endif
#ifndef GENERATE // the slot of the backend
#define GENERATE generate
#endif
#ifndef DESTROY // a function; NULL: none
#define DESTROY NULL
#endif
// C source: in front of the kernel, and at its beginning and end. The kernel has `x`, `y` and their length `n`.
#ifndef KERNEL_BEFORE
#define KERNEL_BEFORE ""
#endif
#ifndef KERNEL_FIRST
#define KERNEL_FIRST ""
#endif
#ifndef KERNEL_LAST
#define KERNEL_LAST ""
#endif
#ifndef KERNEL_NUMBER // a number that the kernel keeps
#define KERNEL_NUMBER 0
#endif
#ifndef DESCRIPTION // of the backend
#define DESCRIPTION "Relu and Neg as C source"
#endif
#ifndef KERNEL_VALUE // format of an expression, given Relu's or Neg's
#define KERNEL_VALUE "%s"
#endif
#ifndef STATED_NS // of function `i` of `query`
#define STATED_NS 10.0
#endif
#ifndef CLAIM // statements of the partition hook; `query` is the question
#define CLAIM
#endif
#ifndef WORKSPACE_BYTES
#define WORKSPACE_BYTES 0
#endif

IDENTITY;

static const byoc_host_t *host;

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  ACCEPT_FIRST
  const byoc_value_t *x = host->region->value(region, "x");
  if (host->graph->value_dtype(x) != ELEMENT) return host->region->decline(region, "x has another type");
  if (host->graph->value_element_count(x) < 0) return host->region->decline(region, "the shape is not static");
  return 1;
}

static const byoc_rule_t rules[] = {{.header = BYOC_HEADER(byoc_rule_t, 1),
                                     .name = "bad.op",
                                     .pattern = RULE_PATTERN,
                                     .flags = RULE_FLAGS,
                                     .accept = accept}};
static const byoc_option_t options[] = {OPTIONS};

static int32_t write_kernel(byoc_codegen_t *codegen, byoc_function_t *function, const char *op) {
  const byoc_codegen_api_t *api = host->codegen;
  const char *symbol = host->graph->function_symbol(function);
  const long long count = (long long)host->graph->value_element_count(host->graph->parameter(function, 0));
  char value[256], source[4096];
  snprintf(value, sizeof(value), KERNEL_VALUE, strcmp(op, "Relu") == 0 ? "(x[i] < 0 ? 0 : x[i])" : "-x[i]");
  snprintf(source, sizeof(source),
           "#include \"byoc/call.h\"\n"
           "%s\n"
           "static const volatile int number = %d;\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const " ELEMENT_IN_C " *x = (const " ELEMENT_IN_C " *)call->tensors[0].data;\n"
           "  " ELEMENT_IN_C " *y = (" ELEMENT_IN_C " *)call->tensors[1].data;\n"
           "  const long long n = %lld;\n"
           "  (void)x, (void)y, (void)number;\n"
           "  %s\n"
           "  for (long long i = 0; i < n; ++i) y[i] = %s;\n"
           "  %s\n"
           "  return BYOC_OK;\n"
           "}\n",
           KERNEL_BEFORE, KERNEL_NUMBER, symbol, count, KERNEL_FIRST, value, KERNEL_LAST);
  const byoc_c_source_t module = {
      .header = BYOC_HEADER(byoc_c_source_t, 1), .name = "bad", .source = source, .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1),
                                         .workspace_size_bytes = WORKSPACE_BYTES};
  const int32_t status = api->add_c_source(codegen, &module);
  return status != BYOC_OK ? status : api->bind_packed(codegen, function, &binding);
}

__attribute__((unused)) static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  GENERATE_FIRST
  const byoc_codegen_api_t *api = host->codegen;
  if (host->target->option_int(api->target(codegen), "refuse")) {
    REFUSES
  }
  for (uint64_t i = 0; i < api->function_count(codegen); ++i) {
    byoc_function_t *function = api->function_at(codegen, i);
    byoc_region_t *region = api->match(codegen, function, NULL, PATTERN);
    if (region == NULL) return api->error(codegen, BYOC_INTERNAL, "a function is not what the rule took");
    DECLINES(region)
    const int32_t status =
        write_kernel(codegen, function, host->graph->node_operator(host->region->node(region, "op")));
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  (void)self;
  for (uint32_t i = 0; i < query->function_count; ++i) {
    const byoc_stated_cost_t cost = {
        .header = BYOC_HEADER(byoc_stated_cost_t, 1), .stated = BYOC_STATED_TIME, .time_ns = STATED_NS};
    const int32_t status = query->state(query, i, &cost);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static int32_t partition(void *self, const byoc_partition_query_t *query) {
  (void)self, (void)query;
  CLAIM
  return BYOC_OK;
}

static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "bad",
                                       .description = DESCRIPTION,
                                       .flags = BACKEND_FLAGS,
                                       .options = options,
                                       .option_count = sizeof(options) / sizeof(options[0]),
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = GENERATE,
                                       .relative_error = RELATIVE_ERROR,
                                       .state_costs = state_costs,
                                       .partition = partition};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  QUERY_FIRST
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  out_plugin->destroy = DESTROY;
  QUERY_LAST
  return BYOC_OK;
}
