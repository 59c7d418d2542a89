// SPDX-License-Identifier: Apache-2.0
// A backend whose code goes wrong in the way that -fault asks for, when it runs or while it is generated. Takes Relu
// and Neg on static f32 tensors. For the tests of measuring: what goes wrong must cost the candidate and nothing else.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY("demo_faulty", "1.0", "faulty", "Relu and Neg, and ways to fail at them");

static const byoc_host_t *host;

static const char *const operators[] = {"Relu", "Neg"};
static const byoc_rule_t rule = {
    .header = BYOC_HEADER(byoc_rule_t, 1), .name = "faulty.node", .operators = {operators, 2}, .max_nodes = 1};

static const byoc_option_t options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "fault",
                                         .type = BYOC_OPTION_CHOICE,
                                         .choices =
                                             "none|slow|wrong|one|nan|loses_nan|crash|once|twice|odd|hang|exit|status|"
                                             "memory|source|decline|generate_crash|generate_hang",
                                         .default_value = "none",
                                         .help = "what goes wrong"},
                                        {.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "only",
                                         .type = BYOC_OPTION_CHOICE,
                                         .choices = "any|Relu|Neg",
                                         .default_value = "any",
                                         .help = "where it goes wrong: in functions of this operator"}};

// The statement that goes in front of the loop, and what each element is.
typedef struct fault_t {
  const char *name, *first, *element;
} fault_t;
static const fault_t faults[] = {
    {"none", "", ""},
    {"slow", "for (volatile int i = 0; i < 200000; ++i) {}", ""},
    {"wrong", "", "+ 0.5f"},
    {"one", "", "+ (i == 3 ? 0.25f : 0)"},
    {"nan", "", "/ 0.0f * 0.0f"},
    {"loses_nan", "", ", y[i] = y[i] != y[i] ? 1 : y[i]"},
    {"crash", "*(volatile int *)8 = 1;", ""},
    {"once", "FILE *f = fopen(getenv(\"BYOC_TEST_ONCE\"), \"wx\"); if (f) *(volatile int *)8 = 1;", ""},
    {"twice",
     "FILE *f = fopen(getenv(\"BYOC_TEST_ONCE\"), \"a\"); fseek(f, 0, SEEK_END); "
     "if (ftell(f) < 2) { fputc('x', f); fclose(f); *(volatile int *)8 = 1; } fclose(f);",
     ""},
    // In the first process and in the third.
    {"odd",
     "static int seen; if (seen++ == 0) { FILE *f = fopen(getenv(\"BYOC_TEST_ONCE\"), \"a\"); fputc('x', f); "
     "long n = ftell(f); fclose(f); if (n != 2) *(volatile int *)8 = 1; }",
     ""},
    {"hang", "for (volatile int i = 0;; ++i) {}", ""},
    {"exit", "exit(0);", ""},
    {"status", "call->runtime->set_error(call->runtime->self, \"the moon is full\"); return BYOC_INTERNAL;", ""},
    {"memory",
     "for (;;) { char *p = malloc(1 << 26); if (!p) { call->runtime->set_error(call->runtime->self, \"no memory\"); "
     "return BYOC_OUT_OF_MEMORY; } }",
     ""},
    {"source", "this is not C;", ""},
};

static const char *operator_of(const byoc_function_t *function) {
  return host->graph->node_operator(host->graph->node_at(function, 0));
}

static int32_t generate_one(byoc_codegen_t *codegen, byoc_function_t *function, const fault_t *fault) {
  const char *symbol = host->graph->function_symbol(function);
  const int is_relu = strcmp(operator_of(function), "Relu") == 0;
  char source[1024];
  snprintf(source, sizeof(source),
           "#include <stdio.h>\n#include <stdlib.h>\n#include \"byoc/call.h\"\n"
           "BYOC_PACKED int32_t %s(const byoc_call_t *call) {\n"
           "  const float *x = (const float *)call->tensors[0].data;\n"
           "  float *y = (float *)call->tensors[1].data;\n"
           "  %s\n"
           "  for (long long i = 0; i < %lld; ++i) y[i] = (%s) %s;\n"
           "  return BYOC_OK;\n"
           "}\n",
           symbol, fault->first, (long long)host->graph->value_element_count(host->graph->parameter(function, 0)),
           is_relu ? "x[i] < 0 ? 0 : x[i]" : "-x[i]", fault->element);
  static const char *const flags[] = {"-O1"};
  const byoc_c_source_t module = {.header = BYOC_HEADER(byoc_c_source_t, 1),
                                  .name = "faulty",
                                  .source = source,
                                  .flags = {flags, 1},
                                  .symbols = {&symbol, 1}};
  const byoc_packed_binding_t binding = {.header = BYOC_HEADER(byoc_packed_binding_t, 1)};
  int32_t status = host->codegen->add_c_source(codegen, &module);
  return status == BYOC_OK ? host->codegen->bind_packed(codegen, function, &binding) : status;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  const byoc_codegen_api_t *api = host->codegen;
  const char *name = host->target->option_string(api->target(codegen), "fault");
  const char *only = host->target->option_string(api->target(codegen), "only");
  const fault_t *fault = &faults[0];
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); ++i) {
    if (strcmp(faults[i].name, name) == 0) fault = &faults[i];
  }
  for (uint64_t i = 0; i < api->function_count(codegen); ++i) {
    byoc_function_t *function = api->function_at(codegen, i);
    const int is_faulty = strcmp(only, "any") == 0 || strcmp(only, operator_of(function)) == 0;
    if (is_faulty && strcmp(name, "generate_crash") == 0) abort();
    while (is_faulty && strcmp(name, "generate_hang") == 0) pause();
    const int declines = is_faulty && strcmp(name, "decline") == 0;
    int32_t status = declines ? api->decline(codegen, function, "not in the mood")
                              : generate_one(codegen, function, is_faulty ? fault : &faults[0]);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "faulty",
                                       .description = "Relu and Neg, and ways to fail at them",
                                       .options = options,
                                       .option_count = 2,
                                       .option_stride = sizeof(options[0]),
                                       .rules = &rule,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rule),
                                       .generate = generate};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
