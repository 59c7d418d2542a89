// SPDX-License-Identifier: Apache-2.0
// The plugin `opencl`: its identity, option and rule. README.md has the map of its files.
#include "byoc/plugin.h"

#include "generate.h"
#include "operator.h"

BYOC_PLUGIN_IDENTITY_NEEDS("opencl", "0.1.0", "opencl", "Kernels in OpenCL C for OpenCL devices", 5);

// Lives from query to destroy. There are no static variables: a process may hold the plugin for several hosts at once.
typedef struct opencl_plugin_t {
  byoc_opencl_state_t state; // first: `self` of the hooks points to it
  byoc_rule_t rules[1];
  byoc_backend_t backend;
  const byoc_backend_t *backends[1];
  const char *operators[]; // of the rule
} opencl_plugin_t;

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = BYOC_OPENCL_OPTION_BINARY,
     .type = BYOC_OPTION_BOOL,
     .default_value = "0",
     .help = "compile the kernels for the OpenCL device of this machine too, so that contexts on it start at once"},
};

static int32_t accept_node(void *self, byoc_region_t *region) {
  const byoc_host_t *host = ((const byoc_opencl_state_t *)self)->host;
  byoc_opencl_sizes_t sizes = {.graph = host->graph};
  for (uint64_t i = 0; i < host->region->node_count(region); ++i) {
    byoc_opencl_source_t source = {host->graph, host->region->node_at(region, i), &sizes};
    const char *reason = byoc_opencl_check(&source);
    if (reason != NULL) return host->region->decline(region, reason);
  }
  return 1;
}

static void destroy(void *self) {
  const byoc_host_t *host = ((const opencl_plugin_t *)self)->state.host;
  (void)host->resize(host, self, 0);
}

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  uint32_t count = byoc_opencl_operator_count();
  const byoc_device_api_t *device = host->extension(host, BYOC_DEVICE_EXTENSION, 1);
  if (device == NULL) return host->error(host, BYOC_VERSION, "this byoc has no devices");
  opencl_plugin_t *plugin = host->resize(host, NULL, sizeof *plugin + count * sizeof *plugin->operators);
  if (plugin == NULL) return host->error(host, BYOC_OUT_OF_MEMORY, "out of memory");
  for (uint32_t i = 0; i < count; ++i) plugin->operators[i] = byoc_opencl_operator_name(i);
  plugin->state = (byoc_opencl_state_t){.host = host, .device = device};
  plugin->rules[0] = (byoc_rule_t){.header = BYOC_HEADER(byoc_rule_t, 1),
                                   .name = "opencl.group",
                                   .operators = {plugin->operators, count},
                                   .accept = accept_node};
  plugin->backend = (byoc_backend_t){.header = BYOC_HEADER(byoc_backend_t, 1),
                                     .target = "opencl",
                                     .description = "kernels in OpenCL C for OpenCL devices",
                                     .flags = BYOC_BACKEND_REENTRANT | BYOC_BACKEND_OPEN_SIZES,
                                     .self = plugin,
                                     .options = options,
                                     .option_count = sizeof options / sizeof *options,
                                     .option_stride = sizeof *options,
                                     .rules = plugin->rules,
                                     .rule_count = 1,
                                     .rule_stride = sizeof(plugin->rules[0]),
                                     .generate = byoc_opencl_generate,
                                     .driver = "opencl",
                                     .device_type = kDLOpenCL};
  plugin->backends[0] = &plugin->backend;
  out_plugin->self = plugin;
  out_plugin->backends = plugin->backends;
  out_plugin->backend_count = 1;
  out_plugin->destroy = destroy;
  return BYOC_OK;
}
