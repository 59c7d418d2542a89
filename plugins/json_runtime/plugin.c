// SPDX-License-Identifier: Apache-2.0
// The plugin: target "dnnl", a group rule over the operators of translators.def, a pattern for recurrent networks, and
// the generate hook.
#include <string.h>

#include "byoc/plugin.h"
#include "generate.h"
#include "translate.h"

BYOC_PLUGIN_IDENTITY_NEEDS("json_runtime", "0.1.0", "dnnl", "Sub-graphs as JSON, run by an engine on oneDNN", 4);

// Lives from query to destroy.
typedef struct json_runtime_t {
  const byoc_host_t *host;
  byoc_rule_t rules[2];
  byoc_backend_t backend;
  const byoc_backend_t *backends[1];
} json_runtime_t;

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = BYOC_DNNL_OPTION_DEPLOY,
     .type = BYOC_OPTION_CHOICE,
     .default_value = "bundle",
     .choices = "bundle|system",
     .help = "where artifacts find oneDNN: inside their own file, or installed on the system that runs them"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = BYOC_DNNL_OPTION_WINOGRAD,
     .type = BYOC_OPTION_BOOL,
     .default_value = "0",
     .help = "Winograd for large 3x3 convolutions: faster and less exact"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = BYOC_DNNL_OPTION_PACK,
     .type = BYOC_OPTION_BOOL,
     .default_value = "1",
     .help = "store weights in the layout that oneDNN wants on the building machine, for a fast start"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = BYOC_DNNL_OPTION_SHAPES,
     .type = BYOC_OPTION_INT,
     .default_value = "8",
     .minimum = 1,
     .maximum = 1024,
     .help = "dynamic sizes: how many shapes a context keeps primitives for, of each sub-graph"},
};

// True if a translator claims the node.
static int32_t accept(const byoc_host_t *host, byoc_region_t *region, const byoc_node_t *node,
                      const char *(*translate)(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft)) {
  byoc_dnnl_sizes_t sizes;
  byoc_dnnl_sizes_init(host->graph, &sizes);
  byoc_dnnl_source_t source = {host->graph, node, &sizes};
  const char *reason = translate(&source, NULL);
  if (sizes.failed) reason = "out of memory";
  byoc_dnnl_sizes_deinit(&sizes);
  return reason == NULL ? 1 : host->region->decline(region, reason);
}

static int32_t accept_node(void *self, byoc_region_t *region) {
  const byoc_host_t *host = ((const json_runtime_t *)self)->host;
  return accept(host, region, host->region->node_at(region, 0), byoc_dnnl_translate);
}

static int32_t accept_recurrent(void *self, byoc_region_t *region) {
  const byoc_host_t *host = ((const json_runtime_t *)self)->host;
  return accept(host, region, host->region->node(region, "steps"), byoc_dnnl_translate_recurrent);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  return byoc_dnnl_generate(((const json_runtime_t *)self)->host, codegen);
}

static void destroy(void *self) {
  const byoc_host_t *host = ((const json_runtime_t *)self)->host;
  (void)host->resize(host, self, 0);
}

// Archives of the engine for other machines, where tools/dnnl-engine puts them: beside the plugin.
#define ARCHIVE(triple)                                                                                                \
  { .header = BYOC_HEADER(byoc_file_content_t, 1), .path = "dnnl/" triple ".a" }
#define ARCHIVES(triple, file)                                                                                         \
  {                                                                                                                    \
    .header = BYOC_HEADER(byoc_machine_code_t, 1), .machines = triple, .files = file, .file_count = 1,                 \
    .file_stride = sizeof(*(file))                                                                                     \
  }
static const byoc_file_content_t archives[] = {ARCHIVE("aarch64-linux-gnu"), ARCHIVE("riscv64-linux-gnu")};
static const byoc_machine_code_t machines[] = {ARCHIVES("aarch64-linux-gnu", &archives[0]),
                                               ARCHIVES("riscv64-linux-gnu", &archives[1])};
static const byoc_runtime_code_t code[] = {{.header = BYOC_HEADER(byoc_runtime_code_t, 1),
                                            .name = BYOC_DNNL_ENGINE_NAME,
                                            .archives = machines,
                                            .archive_count = sizeof(machines) / sizeof(machines[0]),
                                            .archive_stride = sizeof(machines[0])}};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  json_runtime_t *self = host->resize(host, NULL, sizeof(*self));
  if (self == NULL) return host->error(host, BYOC_OUT_OF_MEMORY, "out of memory");
  memset(self, 0, sizeof(*self));
  self->host = host;
  // oneDNN's networks were slower than the steps that the host makes in every shape that was measured.
  self->rules[0] = (byoc_rule_t){.header = BYOC_HEADER(byoc_rule_t, 1),
                                 .name = BYOC_DNNL_RECURRENT_RULE,
                                 .pattern = BYOC_DNNL_RECURRENT_PATTERN,
                                 .flags = BYOC_RULE_BY_COST,
                                 .accept = accept_recurrent};
  self->rules[1] = (byoc_rule_t){.header = BYOC_HEADER(byoc_rule_t, 1),
                                 .name = "dnnl.group",
                                 .operators = byoc_dnnl_translated_operators(),
                                 .flags = BYOC_RULE_MERGE,
                                 .accept = accept_node};
  self->backend = (byoc_backend_t){.header = BYOC_HEADER(byoc_backend_t, 1),
                                   .target = "dnnl",
                                   .description = "oneDNN, through a JSON description that an engine runs",
                                   .self = self,
                                   .options = options,
                                   .option_count = sizeof(options) / sizeof(options[0]),
                                   .option_stride = sizeof(options[0]),
                                   .rules = self->rules,
                                   .rule_count = sizeof(self->rules) / sizeof(self->rules[0]),
                                   .rule_stride = sizeof(self->rules[0]),
                                   .generate = generate,
                                   .runtime_code = code,
                                   .runtime_code_count = sizeof(code) / sizeof(code[0]),
                                   .runtime_code_stride = sizeof(code[0])};
  self->backends[0] = &self->backend;
  out_plugin->self = self;
  out_plugin->backends = self->backends;
  out_plugin->backend_count = 1;
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
