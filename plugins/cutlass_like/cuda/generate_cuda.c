// SPDX-License-Identifier: Apache-2.0
// The hook of `cutlass -device=cuda`: adds the driver and the kernels that are needed, and binds the functions.
#include "cuda/generate_cuda.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/bind.h"
#include "cuda/toolkit.h"

extern const byoc_driver_t byoc_cuda_driver;
extern const unsigned char byoc_embed_cuda_driver[], byoc_embed_cutlass_cuda_layout[];
extern const unsigned long long byoc_embed_cuda_driver_size;

enum { NAME_BYTES = 64 };

typedef struct generation_t {
  const byoc_host_t *host;
  const byoc_device_api_t *device;
  byoc_codegen_t *codegen;
  const char *architecture;
  byoc_cutlass_toolkit_t toolkit;
  bool is_ready; // the toolkit was found, and the driver was added
  char (*modules)[NAME_BYTES];
  size_t module_count;
} generation_t;

bool byoc_cutlass_is_cuda(const byoc_host_t *host, const byoc_target_t *target) {
  return strcmp(host->target->option_string(target, "device"), "cuda") == 0;
}

static int32_t out_of_memory(const generation_t *g) {
  return g->host->codegen->error(g->codegen, BYOC_OUT_OF_MEMORY, "cutlass: out of memory");
}

static int32_t get_ready(generation_t *g) {
  if (g->is_ready) return BYOC_OK;
  const byoc_target_api_t *targets = g->host->target;
  const byoc_target_t *target = g->host->codegen->target(g->codegen);
  if (strcmp(targets->option_string(target, "precision"), "f32") != 0)
    return g->host->codegen->error(g->codegen, BYOC_INVALID_ARGUMENT, "cutlass: -device=cuda computes -precision=f32");
  g->architecture = targets->option_string(target, "arch");
  int32_t status =
      byoc_cutlass_toolkit_find(g->host, g->codegen, targets->option_string(target, "cuda_path"), &g->toolkit);
  if (status != BYOC_OK) return status;
  const byoc_file_content_t archive = {.header = BYOC_HEADER(byoc_file_content_t, 1),
                                       .name = "libbyoc_cuda_driver.a",
                                       .data = byoc_embed_cuda_driver,
                                       .size_bytes = byoc_embed_cuda_driver_size};
  const byoc_driver_module_t driver = {.header = BYOC_HEADER(byoc_driver_module_t, 1),
                                       .name = "cuda",
                                       .symbol = "byoc_cuda_driver",
                                       .files = &archive,
                                       .file_count = 1,
                                       .file_stride = sizeof archive,
                                       .in_process = &byoc_cuda_driver};
  g->is_ready = true;
  return g->device->add_driver(g->codegen, &driver);
}

// Compiles a source and adds it, unless that was done.
static int32_t add_module(generation_t *g, const char *name, const char *text, const char *const *entries,
                          uint64_t entry_count) {
  for (size_t i = 0; i < g->module_count; ++i)
    if (strcmp(g->modules[i], name) == 0) return BYOC_OK;
  byoc_cutlass_binary_t binary;
  int32_t status =
      byoc_cutlass_toolkit_compile(g->host, g->device, g->codegen, &g->toolkit, g->architecture, text, &binary);
  if (status != BYOC_OK) return status;
  const byoc_device_variant_t variants[] = {
      {.header = BYOC_HEADER(byoc_device_variant_t, 1),
       .kind = BYOC_DEVICE_CODE_BINARY,
       .format = "cubin",
       .architecture = g->architecture,
       .data = binary.cubin,
       .size_bytes = binary.cubin_bytes},
      {.header = BYOC_HEADER(byoc_device_variant_t, 1),
       .kind = BYOC_DEVICE_CODE_PORTABLE,
       .format = "ptx",
       .data = binary.ptx,
       .size_bytes = binary.ptx_bytes},
  };
  const byoc_device_code_module_t module = {.header = BYOC_HEADER(byoc_device_code_module_t, 1),
                                            .name = name,
                                            .driver = "cuda",
                                            .variants = variants,
                                            .variant_count = 2,
                                            .variant_stride = sizeof variants[0],
                                            .entries = {entries, entry_count}};
  status = g->device->add_device_module(g->codegen, &module);
  if (status == BYOC_OK) strncpy(g->modules[g->module_count++], name, NAME_BYTES - 1);
  return status;
}

static int32_t add_layouts(generation_t *g) {
  static const char *const entries[] = {"cuda_turn", "cuda_join"};
  return add_module(g, BYOC_CUTLASS_CUDA_LAYOUTS, (const char *)byoc_embed_cutlass_cuda_layout, entries, 2);
}

static int32_t bind(generation_t *g, byoc_function_t *function, const byoc_cutlass_match_t *match) {
  byoc_cutlass_kernel_t kernel;
  byoc_plugin_string_t text = {0};
  int32_t status = get_ready(g);
  if (status == BYOC_OK) byoc_cutlass_cuda_kernel(&match->problem, &kernel, &text);
  if (status == BYOC_OK && !byoc_plugin_string_ok(&text)) status = out_of_memory(g);
  if (status == BYOC_OK) {
    const char *entry = kernel.entry;
    status = add_module(g, entry, text.data, &entry, 1);
  }
  if (status == BYOC_OK) status = add_layouts(g);
  if (status == BYOC_OK) status = byoc_cutlass_cuda_bind(g->host, g->device, g->codegen, function, match, &kernel);
  byoc_plugin_string_deinit(&text);
  return status;
}

// The match of a function that is one fused product whose result is the last operator's; NULL or why not.
static const char *read_function(const generation_t *g, byoc_function_t *function, byoc_cutlass_match_t *match) {
  const byoc_graph_api_t *graph = g->host->graph;
  byoc_node_t *nodes[BYOC_CUTLASS_MOST_NODES];
  const char *reason = NULL;
  uint64_t count = graph->node_count(function);
  if (count == 0 || count > BYOC_CUTLASS_MOST_NODES) return "the function is more than one fused product";
  for (uint64_t i = 0; i < count; ++i) nodes[i] = graph->node_at(function, i);
  if (byoc_cutlass_match(graph, nodes, (size_t)count, match) != BYOC_OK) return match->reason;
  if (!byoc_cutlass_cuda_takes(match, &reason)) return reason;
  bool is_last =
      graph->result_count(function) == 1 && graph->result(function, 0) == graph->node_result(nodes[count - 1], 0);
  return is_last ? NULL : "some result is not the last operator's";
}

static int32_t generate_function(generation_t *g, byoc_function_t *function) {
  byoc_cutlass_match_t match = {0};
  const char *reason = read_function(g, function, &match);
  int32_t status;
  if (match.out_of_memory)
    status = out_of_memory(g);
  else
    status = reason ? g->host->codegen->decline(g->codegen, function, reason) : bind(g, function, &match);
  byoc_cutlass_match_deinit(&match);
  return status;
}

int32_t byoc_cutlass_cuda_generate(const byoc_host_t *host, byoc_codegen_t *codegen) {
  generation_t g = {.host = host, .codegen = codegen};
  g.device = host->extension(host, BYOC_DEVICE_EXTENSION, 1);
  if (!g.device) return host->codegen->error(codegen, BYOC_UNSUPPORTED, "cutlass: this version of byoc has no devices");
  uint64_t count = host->codegen->function_count(codegen);
  g.modules = calloc((size_t)count + 1, sizeof *g.modules); // one for each function at most, and the layouts'
  int32_t status = g.modules ? BYOC_OK : out_of_memory(&g);
  for (uint64_t i = 0; status == BYOC_OK && i < count; ++i) {
    host->codegen->progress(codegen, "compiling for CUDA", i, count);
    status = generate_function(&g, host->codegen->function_at(codegen, i));
  }
  free(g.modules);
  return status;
}
