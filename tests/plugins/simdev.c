// SPDX-License-Identifier: Apache-2.0
// The target simdev: elementwise operators, MatMul and sums of rows on the device of the driver sim (tests/devices). It
// takes connected groups as one function, with intermediate tensors in scratch memory, or with -single each operator by
// itself.
//
// The kernels travel as a binary for the architecture of the device that is here, built in a child process and cached
// by the driver's version, and in a portable form for any other one.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byoc/device_plugin.h"
#include "tests/devices/sim.h"

// A second plugin, for the same kind of device with another driver, is made of this file under other names.
#ifndef SIMDEV_NAME
#define SIMDEV_NAME "simdev"
#endif
#ifndef SIMDEV_FLAGS // what it says of itself
#define SIMDEV_FLAGS BYOC_BACKEND_OPEN_SIZES
#endif

BYOC_PLUGIN_IDENTITY_NEEDS(SIMDEV_NAME, "1.0", SIMDEV_NAME, "A few operators on the device of the driver sim", 4);

enum { MAX_NODES = 32, MAX_ARGUMENTS = 6, MAX_CONSTANTS = 32, EXTENT_BYTES = 256, GROUP = 64, MAX_TENSORS = 64 };

static const byoc_host_t *host;
static const byoc_device_api_t *device;

// ---- operators ----

typedef enum shape_t { UNARY, BINARY, MATMUL, SUM } shape_t;

typedef struct operator_t {
  const char *name, *entry;
  shape_t shape;
} operator_t;

static const operator_t operators[] = {
    {"Relu", "simdev_relu", UNARY},         {"Neg", "simdev_neg", UNARY},        {"Exp", "simdev_exp", UNARY},
    {"Sqrt", "simdev_sqrt", UNARY},         {"Tanh", "simdev_tanh", UNARY},      {"Sigmoid", "simdev_sigmoid", UNARY},
    {"Add", "simdev_add", BINARY},          {"Sub", "simdev_sub", BINARY},       {"Mul", "simdev_mul", BINARY},
    {"Div", "simdev_div", BINARY},          {"MatMul", "simdev_matmul", MATMUL}, {"ReduceSum", "simdev_sum_rows", SUM},
    {"ReduceMean", "simdev_sum_rows", SUM},
};
enum { OPERATOR_COUNT = sizeof(operators) / sizeof(operators[0]) };

static const operator_t *find_operator(const byoc_node_t *node) {
  for (size_t i = 0; i < OPERATOR_COUNT; ++i) {
    if (strcmp(operators[i].name, host->graph->node_operator(node)) == 0) return &operators[i];
  }
  return NULL;
}

static int is_static(const byoc_value_t *value) {
  return host->graph->value_element_count(value) >= 0;
}

// Is the operand the result's shape, or the end of it?
static int repeats(const byoc_value_t *operand, const byoc_value_t *result) {
  const int32_t rank = host->graph->value_rank(operand), all = host->graph->value_rank(result);
  int32_t skipped = 0; // leading ones
  while (skipped < rank && host->graph->value_dim(operand, skipped) == 1) ++skipped;
  if (rank - skipped > all) return 0;
  for (int32_t d = skipped; d < rank; ++d) {
    const int64_t dim = host->graph->value_dim(operand, d);
    if (dim != host->graph->value_dim(result, all - rank + d) || (dim < 0 && rank != all)) return 0;
  }
  return 1;
}

// Does it reduce the last axis alone?
static int reduces_rows(const byoc_node_t *node) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_value_t *x = graph->operand(node, 0), *listed = graph->operand(node, 1);
  const int32_t rank = graph->value_rank(x);
  uint64_t count = 0;
  const int64_t *axes = graph->attribute_ints(node, "axes", &count);
  byoc_tensor_data_t data;
  if (listed != NULL) {
    if (!graph->value_constant(listed, &data) || data.size_bytes != sizeof(*axes)) return 0;
    axes = data.data, count = 1;
  }
  return count == 1 && rank > 0 && (axes[0] == -1 || axes[0] == rank - 1);
}

static const char *why_not(const byoc_node_t *node) {
  const byoc_graph_api_t *graph = host->graph;
  const operator_t *operator= find_operator(node);
  const byoc_value_t *result = graph->node_result(node, 0), *a = graph->operand(node, 0), *b = graph->operand(node, 1);
  if (graph->value_dtype(result) != BYOC_DTYPE_F32 || graph->value_rank(result) < 0) return "only f32 is done here";
  if (graph->value_rank(a) < 0) return "the rank is not known";
  if (operator->shape == BINARY && !(repeats(a, result) && repeats(b, result)))
    return "only the end of a shape repeats";
  if (operator->shape == SUM && !reduces_rows(node)) return "only the last axis is reduced";
  if (operator->shape == MATMUL &&(graph->value_rank(a) < 2 || graph->value_rank(b) != 2)) return "b is no matrix";
  return NULL;
}

static int32_t accept(byoc_region_t *region, int wants_static) {
  for (uint64_t i = 0; i < host->region->node_count(region); ++i) {
    const byoc_node_t *node = host->region->node_at(region, i);
    const char *reason = why_not(node);
    if (reason != NULL) return host->region->decline(region, reason);
    if (is_static(host->graph->node_result(node, 0)) && is_static(host->graph->operand(node, 0))) continue;
    if (wants_static) return host->region->decline(region, "shapes that are open are taken one by one");
  }
  return 1;
}

static int32_t accept_group(void *self, byoc_region_t *region) {
  (void)self;
  if (!host->target->option_int(host->region->target(region), "single")) return accept(region, 1);
  return host->region->decline(region, "operators are taken one by one");
}

static int32_t accept_any(void *self, byoc_region_t *region) {
  (void)self;
  return accept(region, 0);
}

// ---- one function ----

typedef struct writer_t {
  byoc_function_t *function;
  byoc_kernel_launch_t launches[MAX_NODES];
  byoc_kernel_argument_t arguments[MAX_NODES][MAX_ARGUMENTS];
  char extents[MAX_NODES][4][EXTENT_BYTES]; // of the grid, and of arguments
  uint32_t launch_count;
  byoc_tensor_data_t constants[MAX_CONSTANTS];
  const byoc_value_t *constant_values[MAX_CONSTANTS];
  uint32_t constant_count;
  const byoc_value_t *scratch_values[MAX_TENSORS];
  uint64_t scratch_offsets[MAX_TENSORS];
  uint32_t scratch_count;
  uint64_t scratch_bytes;
  const char *reason; // why the function cannot be written
} writer_t;

static int64_t index_of_result(const writer_t *w, const byoc_value_t *value) {
  for (uint64_t r = 0; r < host->graph->result_count(w->function); ++r) {
    if (host->graph->result(w->function, r) == value) return (int64_t)r;
  }
  return -1;
}

static byoc_kernel_argument_t scratch(writer_t *w, const byoc_value_t *value) {
  uint32_t i = 0;
  while (i < w->scratch_count && w->scratch_values[i] != value) ++i;
  if (i == w->scratch_count) {
    if (i == MAX_TENSORS || !is_static(value)) {
      w->reason = "too many intermediate tensors, or one of open shape";
      return (byoc_kernel_argument_t){0};
    }
    w->scratch_values[i] = value;
    w->scratch_offsets[i] = w->scratch_bytes;
    w->scratch_bytes += ((uint64_t)host->graph->value_element_count(value) * sizeof(float) + 255) / 256 * 256;
    w->scratch_count += 1;
  }
  return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_SCRATCH, .offset_bytes = w->scratch_offsets[i]};
}

static byoc_kernel_argument_t constant(writer_t *w, const byoc_value_t *value, const byoc_tensor_data_t *data) {
  uint32_t i = 0;
  while (i < w->constant_count && w->constant_values[i] != value) ++i;
  if (i == MAX_CONSTANTS) {
    w->reason = "too many constants";
    return (byoc_kernel_argument_t){0};
  }
  w->constant_values[i] = value;
  w->constants[i] = *data;
  if (i == w->constant_count) w->constant_count += 1;
  return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_CONSTANT, .index = i};
}

// Where a kernel finds a value, or puts it.
static byoc_kernel_argument_t place(writer_t *w, const byoc_value_t *value) {
  const int64_t parameter = host->graph->value_parameter_index(value), result = index_of_result(w, value);
  byoc_tensor_data_t data;
  if (parameter >= 0) {
    if (result >= 0) w->reason = "a parameter is a result";
    return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_OPERAND, .index = (uint32_t)parameter};
  }
  if (result >= 0) return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_RESULT, .index = (uint32_t)result};
  return host->graph->value_constant(value, &data) ? constant(w, value, &data) : scratch(w, value);
}

// "6", or "p0.0 * p0.1": the product of a value's dimensions from `first` up to `end`.
static const char *extent(const writer_t *w, const byoc_value_t *value, int32_t first, int32_t end,
                          char text[EXTENT_BYTES]) {
  const int64_t parameter = host->graph->value_parameter_index(value);
  const char kind = parameter >= 0 ? 'p' : 'r';
  const int64_t index = parameter >= 0 ? parameter : index_of_result(w, value);
  int64_t known = 1;
  for (int32_t d = first; d < end; ++d) {
    const int64_t dim = host->graph->value_dim(value, d);
    if (dim >= 0) known *= dim;
  }
  int size = snprintf(text, EXTENT_BYTES, "%lld", (long long)known);
  for (int32_t d = first; d < end; ++d) {
    if (host->graph->value_dim(value, d) >= 0 || size >= EXTENT_BYTES) continue;
    size += snprintf(text + size, (size_t)(EXTENT_BYTES - size), " * %c%lld.%d", kind, (long long)index, (int)d);
  }
  return text;
}

static byoc_kernel_argument_t count(const char *text) {
  return (byoc_kernel_argument_t){.kind = BYOC_KERNEL_ARGUMENT_EXTENT, .type = BYOC_C_I64, .extent = text};
}

// The numbers behind the tensors of a launch.
static uint32_t add_counts(writer_t *w, const byoc_node_t *node, shape_t shape, byoc_kernel_argument_t *arguments,
                           char texts[4][EXTENT_BYTES], const char *all) {
  const byoc_graph_api_t *graph = host->graph;
  const byoc_value_t *a = graph->operand(node, 0), *b = graph->operand(node, 1);
  const int32_t rank = graph->value_rank(a);
  if (shape == UNARY) {
    arguments[0] = count(all);
    return 1;
  }
  if (shape == BINARY) {
    arguments[0] = count(all);
    arguments[1] = count(extent(w, a, 0, rank, texts[1]));
    arguments[2] = count(extent(w, b, 0, graph->value_rank(b), texts[2]));
    return 3;
  }
  arguments[0] = count(extent(w, a, 0, rank - 1, texts[1]));
  if (shape == MATMUL) {
    arguments[1] = count(extent(w, b, 1, 2, texts[2]));
    arguments[2] = count(extent(w, b, 0, 1, texts[3]));
    return 3;
  }
  const int is_mean = strcmp(graph->node_operator(node), "ReduceMean") == 0;
  const int64_t columns = graph->value_dim(a, rank - 1);
  if (is_mean && columns <= 0) w->reason = "a mean over an open axis";
  arguments[1] = count(extent(w, a, rank - 1, rank, texts[2]));
  arguments[2] = (byoc_kernel_argument_t){
      .kind = BYOC_KERNEL_ARGUMENT_REAL, .type = BYOC_C_F32, .real = is_mean ? 1.0 / (double)columns : 1.0};
  return 3;
}

static void write_node(writer_t *w, const byoc_node_t *node) {
  const byoc_graph_api_t *graph = host->graph;
  const operator_t *operator= find_operator(node);
  if (w->launch_count == MAX_NODES || operator== NULL) {
    w->reason = "too many nodes, or an operator that has no kernel";
    return;
  }
  const uint32_t at = w->launch_count++;
  byoc_kernel_argument_t *arguments = w->arguments[at];
  char(*texts)[EXTENT_BYTES] = w->extents[at];
  const byoc_value_t *result = graph->node_result(node, 0);
  const uint32_t tensors = operator->shape == BINARY || operator->shape == MATMUL ? 2 : 1;
  uint32_t used = 0;
  for (uint32_t i = 0; i < tensors; ++i) arguments[used++] = place(w, graph->operand(node, i));
  arguments[used++] = place(w, result);
  const char *all = extent(w, result, 0, graph->value_rank(result), texts[0]);
  used += add_counts(w, node, operator->shape, arguments + used, texts, all);
  char *grid = texts[operator->shape == UNARY ? 1 : 3];
  if (operator->shape == MATMUL) grid = NULL;
  w->launches[at] = (byoc_kernel_launch_t){.header = BYOC_HEADER(byoc_kernel_launch_t, 1),
                                           .module = "simdev_kernels",
                                           .entry = operator->entry,
                                           .grid = {grid != NULL ? grid : all},
                                           .block = {grid != NULL ? "64" : "1"},
                                           .arguments = arguments,
                                           .argument_count = used,
                                           .argument_stride = sizeof(*arguments)};
  if (grid != NULL) snprintf(grid, EXTENT_BYTES, "ceildiv(%.200s, %d)", all, GROUP);
}

static int32_t answer(byoc_codegen_t *codegen, writer_t *w, int has_texture) {
  static const char *const texture[] = {"global.texture", NULL};
  char bytes[32];
  snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)w->scratch_bytes);
  const byoc_graph_api_t *graph = host->graph;
  const char *scopes[MAX_TENSORS] = {0};
  const uint64_t all = graph->parameter_count(w->function) + graph->result_count(w->function);
  const int is_placed = has_texture && all <= MAX_TENSORS;
  if (is_placed) scopes[0] = texture[0];
  const byoc_kernel_binding_t binding = {.header = BYOC_HEADER(byoc_kernel_binding_t, 1),
                                         .launches = w->launches,
                                         .launch_count = w->launch_count,
                                         .launch_stride = sizeof(w->launches[0]),
                                         .constants = w->constants,
                                         .constant_count = w->constant_count,
                                         .constant_stride = sizeof(w->constants[0]),
                                         .scratch_bytes = w->scratch_bytes > 0 ? bytes : NULL,
                                         .scopes = {scopes, is_placed ? all : 0}};
  return device->bind_kernels(codegen, w->function, &binding);
}

static int32_t generate_function(byoc_codegen_t *codegen, byoc_function_t *function) {
  writer_t *w = calloc(1, sizeof(*w));
  if (w == NULL) return host->codegen->error(codegen, BYOC_OUT_OF_MEMORY, "out of memory");
  w->function = function;
  for (uint64_t i = 0; i < host->graph->node_count(function) && w->reason == NULL; ++i) {
    write_node(w, host->graph->node_at(function, i));
  }
  const int64_t has_texture = host->target->option_int(host->codegen->target(codegen), "texture");
  const int32_t status =
      w->reason != NULL ? host->codegen->decline(codegen, function, w->reason) : answer(codegen, w, has_texture != 0);
  free(w);
  return status;
}

// ---- code ----

static void ignore(void *self, const char *message) {
  (void)self;
  (void)message;
}

// In a child process: what device is here? "version architecture".
static int32_t describe_device(void *argument, int out) {
  (void)argument;
  byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .set_error = ignore};
  const byoc_device_init_t init = {.struct_size = sizeof(init), .runtime = &runtime};
  byoc_device_t *opened = NULL;
  byoc_device_info_t info = {.struct_size = sizeof(info)};
  int32_t status = sim_driver.open(&init, &opened);
  if (status == BYOC_OK) status = sim_driver.describe(opened, &info);
  if (status == BYOC_OK && dprintf(out, "%s %s", info.driver_version, info.architecture) < 0) status = BYOC_IO;
  sim_driver.close(opened);
  return status;
}

typedef struct kernels_t {
  char *data;
  uint64_t size_bytes;
} kernels_t;

// In a child process: the compiler of this device copies.
static int32_t build_binary(void *argument, int out) {
  const kernels_t *kernels = argument;
  for (uint64_t done = 0; done < kernels->size_bytes;) {
    const ssize_t count = write(out, kernels->data + done, kernels->size_bytes - done);
    if (count <= 0) return BYOC_IO;
    done += (uint64_t)count;
  }
  return BYOC_OK;
}

static int32_t read_kernels(byoc_codegen_t *codegen, kernels_t *out) {
  FILE *file = fopen(SIMDEV_KERNELS, "rb");
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
    out->size_bytes = (uint64_t)ftell(file);
    out->data = malloc(out->size_bytes);
    rewind(file);
    if (out->data != NULL && fread(out->data, 1, out->size_bytes, file) != out->size_bytes) out->size_bytes = 0;
  }
  if (file != NULL) (void)fclose(file);
  if (out->data != NULL && out->size_bytes > 0) return BYOC_OK;
  return host->codegen->error(codegen, BYOC_IO, "the kernels of simdev cannot be read");
}

// The binary for the device that is here, from the cache if this version of the driver built it before.
static int32_t take_binary(byoc_codegen_t *codegen, kernels_t *kernels, byoc_device_variant_t *out,
                           char architecture[64]) {
  const void *described = NULL, *data = NULL;
  uint64_t size = 0;
  char version[64], key[160];
  if (device->run_in_child(codegen, describe_device, NULL, 0, &described, &size) != BYOC_OK) return BYOC_NOT_FOUND;
  if (sscanf(described, "%63s %63s", version, architecture) != 2) return BYOC_INTERNAL;
  snprintf(key, sizeof(key), "kernels %s %s", version, architecture);
  if (host->codegen->cache_get(codegen, key, &data, &size) == BYOC_OK) {
    host->codegen->log(codegen, "the binary comes from the cache");
  } else {
    const int32_t status = device->run_in_child(codegen, build_binary, kernels, 0, &data, &size);
    if (status != BYOC_OK) return status;
    host->codegen->log(codegen, "the binary was built");
    (void)host->codegen->cache_put(codegen, key, data, size);
  }
  *out = (byoc_device_variant_t){.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                 .kind = BYOC_DEVICE_CODE_BINARY,
                                 .format = "elf",
                                 .architecture = architecture,
                                 .data = data,
                                 .size_bytes = size};
  return BYOC_OK;
}

static const byoc_option_t runtime_options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                                 .name = "stamp",
                                                 .type = BYOC_OPTION_INT,
                                                 .maximum = 1000000000,
                                                 .help = "nanoseconds that each command takes, 0: as it is"},
                                                {.header = BYOC_HEADER(byoc_option_t, 1),
                                                 .name = "power",
                                                 .type = BYOC_OPTION_CHOICE,
                                                 .choices = "low|high",
                                                 .default_value = "high",
                                                 .help = "the power mode"}};

static int32_t add_modules(byoc_codegen_t *codegen) {
  const byoc_file_content_t archive = {
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = "libsim_driver.a", .path = SIMDEV_DRIVER};
  const byoc_driver_module_t driver = {.header = BYOC_HEADER(byoc_driver_module_t, 1),
                                       .name = SIM_DRIVER_NAME,
                                       .symbol = "sim_driver",
                                       .files = &archive,
                                       .file_count = 1,
                                       .file_stride = sizeof(archive),
                                       .in_process = &sim_driver};
  int32_t status = device->add_driver(codegen, &driver);
  if (status == BYOC_OK && host->abi_minor >= 5) {
    status = host->codegen->declare_runtime_options(codegen, SIM_DRIVER_NAME, runtime_options, 2,
                                                    sizeof(runtime_options[0]));
  }
  kernels_t kernels = {0};
  if (status == BYOC_OK) status = read_kernels(codegen, &kernels);
  if (status == BYOC_OK) {
    char architecture[64];
    byoc_device_variant_t variants[2];
    uint32_t variant_count = take_binary(codegen, &kernels, &variants[0], architecture) == BYOC_OK ? 1 : 0;
    variants[variant_count++] = (byoc_device_variant_t){.header = BYOC_HEADER(byoc_device_variant_t, 1),
                                                        .kind = BYOC_DEVICE_CODE_PORTABLE,
                                                        .format = "elf",
                                                        .data = kernels.data,
                                                        .size_bytes = kernels.size_bytes};
    const char *entries[OPERATOR_COUNT];
    for (size_t i = 0; i < OPERATOR_COUNT; ++i) entries[i] = operators[i].entry;
    const byoc_device_code_module_t module = {.header = BYOC_HEADER(byoc_device_code_module_t, 1),
                                              .name = "simdev_kernels",
                                              .driver = SIM_DRIVER_NAME,
                                              .variants = variants,
                                              .variant_count = variant_count,
                                              .variant_stride = sizeof(variants[0]),
                                              .entries = {entries, OPERATOR_COUNT},
                                              .fits = getenv("BYOC_TEST_FITS")};
    status = device->add_device_module(codegen, &module);
  }
  free(kernels.data);
  return status;
}

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  if (device == NULL) return host->codegen->error(codegen, BYOC_UNSUPPORTED, "this host drives no devices");
  int32_t status = add_modules(codegen);
  for (uint64_t i = 0; i < host->codegen->function_count(codegen) && status == BYOC_OK; ++i) {
    status = generate_function(codegen, host->codegen->function_at(codegen, i));
  }
  return status;
}

// ---- the plugin ----

static const char *const group[] = {"Relu", "Neg", "Exp", "Sqrt",   "Tanh",      "Sigmoid",   "Add",
                                    "Sub",  "Mul", "Div", "MatMul", "ReduceSum", "ReduceMean"};

static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1),
     .name = SIMDEV_NAME ".group",
     .operators = {group, sizeof(group) / sizeof(group[0])},
     .max_nodes = MAX_NODES,
     .accept = accept_group},
    {.header = BYOC_HEADER(byoc_rule_t, 1),
     .name = SIMDEV_NAME ".unary",
     .pattern = "{Relu|Neg|Exp|Sqrt|Tanh|Sigmoid}(%x)",
     .accept = accept_any},
    {.header = BYOC_HEADER(byoc_rule_t, 1),
     .name = SIMDEV_NAME ".binary",
     .pattern = "{Add|Sub|Mul|Div|MatMul}(_, _)",
     .accept = accept_any},
    {.header = BYOC_HEADER(byoc_rule_t, 1),
     .name = SIMDEV_NAME ".sum",
     .pattern = "{ReduceSum|ReduceMean}(%x, ...)",
     .accept = accept_any},
};

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "single",
     .type = BYOC_OPTION_BOOL,
     .help = "take operators one by one"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "texture",
     .type = BYOC_OPTION_BOOL,
     .help = "read the first operand from the scope global.texture"},
};

static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = SIMDEV_NAME,
                                       .description = "A few operators on the device of the driver sim",
                                       .flags = SIMDEV_FLAGS,
                                       .options = options,
                                       .option_count = sizeof(options) / sizeof(options[0]),
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = sizeof(rules) / sizeof(rules[0]),
                                       .rule_stride = sizeof(rules[0]),
                                       .generate = generate,
                                       .driver = SIM_DRIVER_NAME,
                                       .device_type = SIM_DEVICE_TYPE};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from;
  device = host->extension(host, BYOC_DEVICE_EXTENSION, 1);
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
