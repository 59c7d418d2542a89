// slab.c - the backend: Relu and Add on f32 tensors of known shape run on the device of driver.c. It hands over the
// driver and the kernels once, and says for each function which kernel is launched with which arguments.
#include <byoc/device_plugin.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

BYOC_PLUGIN_IDENTITY_NEEDS("slab", "1.0", "slab", "Relu and Add on a device", 4);

enum { GROUP = 64 }; // work-items of a work-group

static const byoc_host_t *host;
static const byoc_device_api_t *device;

// The driver's archive, which byoc_add_engine embeds.
extern const unsigned char slab_driver_code_archive[], slab_driver_code_archive_end[];

// ---- what it takes ----

static int32_t accept(void *self, byoc_region_t *region) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_node_t *node = host->region->node_at(region, 0);
  const byoc_value_t *result = graph->node_result(node, 0);
  (void)self;
  if (device == NULL) return host->region->decline(region, "this byoc drives no devices");
  if (graph->value_dtype(result) != BYOC_DTYPE_F32) return host->region->decline(region, "it is not f32");
  for (uint64_t i = 0; i < graph->operand_count(node); ++i) {
    if (graph->value_element_count(graph->operand(node, i)) != graph->value_element_count(result)) {
      return host->region->decline(region, "operands are not broadcast here");
    }
  }
  return 1;
}

// ---- what it makes ----

static int32_t add_driver_and_kernels(byoc_codegen_t *codegen) {
  const byoc_file_content_t archive = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                       .name = "libslab_driver_code.a",
                                       .data = slab_driver_code_archive,
                                       .size_bytes =
                                           (uint64_t)(slab_driver_code_archive_end - slab_driver_code_archive)};
  const byoc_driver_module_t driver = {.header = BYOC_HEADER(byoc_driver_module_t, 1),
                                       .name = "slab",
                                       .symbol = "slab_driver",
                                       .files = &archive,
                                       .file_count = 1,
                                       .file_stride = sizeof(archive),
                                       .in_process = &slab_driver};
  // A real device has a binary for each architecture, and a portable form or source behind them.
  static const char code[] = "relu add";
  const byoc_device_variant_t variant = {.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                         .kind = BYOC_DEVICE_CODE_PORTABLE,
                                         .format = "slab",
                                         .data = code,
                                         .size_bytes = sizeof(code) - 1};
  static const char *const names[] = {"relu", "add"};
  const byoc_device_code_module_t module = {.header = BYOC_HEADER(byoc_device_code_module_t, 1),
                                            .name = "slab_kernels",
                                            .driver = "slab",
                                            .variants = &variant,
                                            .variant_count = 1,
                                            .variant_stride = sizeof(variant),
                                            .entries = {names, sizeof(names) / sizeof(names[0])}};
  const int32_t status = device->add_driver(codegen, &driver);
  return status == BYOC_OK ? device->add_device_module(codegen, &module) : status;
}

// The operand's place as an argument: a parameter, or a constant of the function.
static byoc_kernel_argument_t argument_of(const byoc_value_t *value, byoc_tensor_data_t *constants, uint32_t *count) {
  const int64_t parameter = host->graph->value_parameter_index(value);
  if (parameter >= 0) {
    return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_OPERAND, .index = (uint32_t)parameter};
  }
  constants[*count] = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  (void)host->graph->value_constant(value, &constants[*count]);
  return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_CONSTANT, .index = (*count)++};
}

static int32_t bind(byoc_codegen_t *codegen, byoc_function_t *function) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_node_t *node = graph->node_at(function, 0);
  const int64_t elements = graph->value_element_count(graph->node_result(node, 0));
  byoc_tensor_data_t constants[2];
  byoc_kernel_argument_t arguments[4];
  uint32_t constant_count = 0, count = 0;
  for (uint64_t i = 0; i < graph->operand_count(node); ++i) {
    arguments[count++] = argument_of(graph->operand(node, i), constants, &constant_count);
  }
  arguments[count++] = (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_RESULT};
  arguments[count++] =
      (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_INTEGER, .type = BYOC_C_I64, .integer = elements};
  // Extents are texts, so that they may name dimensions that a run decides: "ceildiv(p0.0 * p0.1, 64)".
  char groups[32], items[16];
  snprintf(groups, sizeof(groups), "%lld", (long long)((elements + GROUP - 1) / GROUP));
  snprintf(items, sizeof(items), "%d", (int)GROUP);
  const byoc_kernel_launch_t launch = {.header = BYOC_HEADER(byoc_kernel_launch_t, 1),
                                       .module = "slab_kernels",
                                       .entry = strcmp(graph->node_operator(node), "Relu") == 0 ? "relu" : "add",
                                       .grid = {groups},
                                       .block = {items},
                                       .arguments = arguments,
                                       .argument_count = count,
                                       .argument_stride = sizeof(arguments[0])};
  const byoc_kernel_binding_t binding = {.header = BYOC_HEADER(byoc_kernel_binding_t, 1),
                                         .launches = &launch,
                                         .launch_count = 1,
                                         .launch_stride = sizeof(launch),
                                         .constants = constants,
                                         .constant_count = constant_count,
                                         .constant_stride = sizeof(constants[0])};
  return device->bind_kernels(codegen, function, &binding);
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  int32_t status = add_driver_and_kernels(codegen);
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    status = bind(codegen, host->codegen->function_at(codegen, i));
  }
  return status;
}

// ---- the plugin ----

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "slab.relu", .pattern = "Relu(%x)", .accept = accept},
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "slab.add", .pattern = "Add(_, _)", .accept = accept}};
static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "slab",
                                       .description = "Relu and Add on a device",
                                       .rules = rules,
                                       .rule_count = sizeof(rules) / sizeof(rules[0]),
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = generate,
                                       .driver = "slab",
                                       .device_type = SLAB_DEVICE_TYPE};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  device = host->extension(host, BYOC_DEVICE_EXTENSION, 1);
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
