// Hooks that call exit(0): one target for each of them. All take Relu.
#include <stdlib.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY("demo_leaving", "1.0", "in_accept,in_prepare,in_generate,in_function",
                     "Hooks that end the process");

static int32_t leave_accept(void *self, byoc_region_t *region) {
  (void)self, (void)region;
  exit(0);
}

static int32_t leave(void *self, byoc_codegen_t *codegen) {
  (void)self, (void)codegen;
  exit(0);
}

static int32_t leave_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self, (void)codegen, (void)function;
  exit(0);
}

static const char *const operators[] = {"Relu"};
#define BACKEND(name_, accept_, ...)                                                                                   \
  static const byoc_rule_t name_##_rule = {.header = BYOC_HEADER(byoc_rule_t, 1),                                      \
                                           .name = #name_ ".relu",                                                     \
                                           .operators = {operators, 1},                                                \
                                           .max_nodes = 1,                                                             \
                                           .accept = accept_};                                                         \
  static const byoc_backend_t name_ = {.header = BYOC_HEADER(byoc_backend_t, 1),                                       \
                                       .target = #name_,                                                               \
                                       .rules = &name_##_rule,                                                         \
                                       .rule_count = 1,                                                                \
                                       .rule_stride = sizeof(byoc_rule_t),                                             \
                                       __VA_ARGS__}
BACKEND(in_accept, leave_accept, .generate = leave);
BACKEND(in_prepare, NULL, .prepare = leave, .generate = leave);
BACKEND(in_generate, NULL, .generate = leave);
BACKEND(in_function, NULL, .generate_function = leave_function);

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&in_accept, &in_prepare, &in_generate, &in_function};
  (void)host;
  out_plugin->backends = backends;
  out_plugin->backend_count = sizeof(backends) / sizeof(backends[0]);
  return BYOC_OK;
}
