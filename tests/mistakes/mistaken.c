// SPDX-License-Identifier: Apache-2.0
// The plugin of the table of mistakes: it takes Relu, rightly, but for the one mistake that BYOC_TEST_MISTAKE names:
// "<where>:<what>".
#define _GNU_SOURCE
#include "mistaken.h"

#include <stdlib.h>
#include <string.h>

BYOC_PLUGIN_IDENTITY("mistaken", "1.0", "mistaken,mistaken_by_function,mistaken_device", "One mistake at a time");

static const byoc_host_t *host;

const byoc_host_t *mistaken_host(void) {
  return host;
}

bool mistaken_is(const char *where, const char *what) {
  const char *mistake = getenv("BYOC_TEST_MISTAKE");
  if (mistake == NULL) return false;
  const size_t size = strlen(where);
  return strncmp(mistake, where, size) == 0 && mistake[size] == ':' && strcmp(mistake + size + 1, what) == 0;
}

// ---- hooks ----

static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  mistaken_deed("accept");
  const byoc_graph_api_t *graph = host->graph;
  byoc_node_t *node = host->region->node_at(region, 0);
  if (mistaken_is("accept", "free what is the host's")) free((void *)(uintptr_t)graph->node_operator(node));
  if (mistaken_is("accept", "resize what is the host's")) {
    (void)host->resize(host, (void *)(uintptr_t)graph->node_operator(node), 0);
  }
  if (mistaken_is("accept", "write to a name")) ((char *)(uintptr_t)graph->node_operator(node))[0] = 'X';
  if (mistaken_is("accept", "use a name that is not bound")) {
    return graph->node_operator(host->region->node(region, "nosuch"))[0] == 'R';
  }
  if (mistaken_is("accept", "use a value that is not bound")) {
    return graph->value_rank(host->region->value(region, "nosuch")) == 2;
  }
  if (mistaken_is("accept", "an index out of range")) return host->region->node_at(region, 77) != NULL;
  if (mistaken_is("accept", "a node for a function")) return graph->node_count((byoc_function_t *)node) < 1000;
  if (mistaken_is("accept", "decline without words")) return 0;
  if (mistaken_is("accept", "decline with NULL")) return host->region->decline(region, NULL);
  if (mistaken_is("accept", "-1")) return -1;
  return 1;
}

static int32_t prepare(void *self, byoc_codegen_t *codegen) {
  (void)self, (void)codegen;
  mistaken_deed("prepare");
  return BYOC_OK;
}

static bool has_generated;

static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  mistaken_deed("generate");
  has_generated = true;
  for (uint64_t i = 0; i < host->codegen->function_count(codegen); ++i) {
    const int32_t status = mistaken_answer(codegen, host->codegen->function_at(codegen, i));
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  mistaken_deed("generate_function");
  return mistaken_answer(codegen, function);
}

static double relative_error(void *self, const byoc_target_t *target) {
  (void)self, (void)target;
  mistaken_deed("relative_error");
  return 0;
}

static int32_t runs_on_device(void *self, const byoc_target_t *target) {
  (void)self, (void)target;
  mistaken_deed("runs_on_device");
  return 0;
}

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  (void)self, (void)query;
  mistaken_deed("state_costs");
  return BYOC_OK;
}

static int32_t state_target_costs(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs) {
  (void)self, (void)target, (void)out_costs;
  mistaken_deed("state_target_costs");
  return BYOC_OK;
}

static int32_t partition(void *self, const byoc_partition_query_t *query) {
  (void)self, (void)query;
  mistaken_deed("partition");
  return BYOC_OK;
}

// The trial of the plugin calls it too, but nothing was generated there.
static void destroy(void *self) {
  (void)self;
  if (has_generated) mistaken_deed("destroy");
}

// ---- tables ----

enum { PLAIN, BY_FUNCTION, DEVICE, BACKENDS };
static const char *const targets[BACKENDS] = {"mistaken", "mistaken_by_function", "mistaken_device"};
static const char *const rule_names[BACKENDS] = {"mistaken.relu", "mistaken_by_function.relu", "mistaken_device.relu"};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *given, byoc_plugin_t *out_plugin) {
  static byoc_rule_t rules[BACKENDS];
  static byoc_backend_t backends[BACKENDS];
  static const byoc_backend_t *rows[BACKENDS];
  host = given;
  for (int i = 0; i < BACKENDS; ++i) {
    rules[i] = (byoc_rule_t){
        .header = BYOC_HEADER(byoc_rule_t, 1), .name = rule_names[i], .pattern = "Relu(%x)", .accept = accept};
    backends[i] = (byoc_backend_t){.header = BYOC_HEADER(byoc_backend_t, 1),
                                   .target = targets[i],
                                   .rules = &rules[i],
                                   .rule_count = 1,
                                   .rule_stride = sizeof(rules[i]),
                                   .relative_error = relative_error,
                                   .state_costs = state_costs,
                                   .state_target_costs = state_target_costs,
                                   .partition = partition};
    rows[i] = &backends[i];
  }
  backends[PLAIN].prepare = prepare;
  backends[PLAIN].generate = generate;
  backends[BY_FUNCTION].generate_function = generate_function;
  backends[DEVICE].generate = generate;
  backends[DEVICE].driver = "nowhere";
  backends[DEVICE].device_type = 4; // kDLOpenCL
  backends[DEVICE].runs_on_device = runs_on_device;
  out_plugin->backends = rows;
  out_plugin->backend_count = BACKENDS;
  out_plugin->destroy = destroy;
  mistaken_spoil(&backends[PLAIN], out_plugin);
  mistaken_deed("query");
  if (mistaken_is("query", "fails with words")) return host->error(host, BYOC_UNSUPPORTED, "libfoo is not here");
  if (mistaken_is("query", "fails")) return BYOC_UNSUPPORTED;
  if (mistaken_is("query", "an unknown status")) return 12345;
  if (mistaken_is("query", "writes too much")) memset(out_plugin + 1, 0, 8);
  return BYOC_OK;
}
