// SPDX-License-Identifier: Apache-2.0
// The plugin: target "xnnpack", one rule over the operators of translate.c, and the hooks.
#include "byoc/plugin.h"
#include "generate.h"
#include "translate.h"

BYOC_PLUGIN_IDENTITY_NEEDS("xnnpack", "1.0.0", "xnnpack", "Sub-graphs as JSON, run by an engine on XNNPACK", 4);

static const byoc_host_t *host; // lives until destroy

// The engine's sources, for other machines; byoc_add_engine embeds them.
extern const byoc_runtime_code_t xnnpack_engine_code[1];

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "deploy",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "bundle",
     .choices = "bundle|system",
     .help = "where artifacts find XNNPACK: inside their own file, or installed on the system that runs them"},
};

// A group rule asks about one node at a time.
static int32_t accept_node(void *self, byoc_region_t *region) {
  (void)self;
  const xnnpack_source_t source = {host->graph, host->region->node_at(region, 0), NULL};
  const char *reason = xnnpack_translate(&source);
  return reason == NULL ? 1 : host->region->decline(region, reason);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  return xnnpack_generate(host, codegen);
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *the_host, byoc_plugin_t *out_plugin) {
  static byoc_rule_t rules[1];
  static byoc_backend_t backend;
  static const byoc_backend_t *const backends[] = {&backend};
  host = the_host;
  rules[0] = (byoc_rule_t){.header = BYOC_HEADER(byoc_rule_t, 1),
                           .name = "xnnpack.group",
                           .operators = xnnpack_operators(),
                           .flags = BYOC_RULE_MERGE,
                           .accept = accept_node};
  backend = (byoc_backend_t){.header = BYOC_HEADER(byoc_backend_t, 1),
                             .target = "xnnpack",
                             .description = "XNNPACK, through a JSON description that an engine runs",
                             .options = options,
                             .option_count = sizeof(options) / sizeof(options[0]),
                             .option_stride = sizeof(options[0]),
                             .rules = rules,
                             .rule_count = 1,
                             .rule_stride = sizeof(rules[0]),
                             .generate = generate,
                             .runtime_code = xnnpack_engine_code,
                             .runtime_code_count = 1,
                             .runtime_code_stride = sizeof(xnnpack_engine_code[0])};
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
