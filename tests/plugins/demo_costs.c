// SPDX-License-Identifier: Apache-2.0
// A target that states its costs: each operator takes a cycle per element, at the clock of an option. Other options say
// how the hooks lie or fail. Its functions are handed back as they are.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("demo_costs", "1.0", "chip", "A target that states its costs", 5);

static const byoc_host_t *host;

// ---- costs ----

// Elements that the operators of a function write.
static double count_cycles(const byoc_function_t *function) {
  double cycles = 0;
  for (uint64_t i = 0; i < host->graph->node_count(function); ++i) {
    const byoc_node_t *node = host->graph->node_at(function, i);
    const byoc_function_t *callee = host->graph->node_callee(node);
    cycles += callee != NULL ? count_cycles(callee)
                             : (double)host->graph->value_element_count(host->graph->node_result(node, 0));
  }
  return cycles;
}

static double lie(const char *how, double time_ns) {
  static volatile double zero;
  if (strcmp(how, "negative") == 0) return -time_ns;
  if (strcmp(how, "nan") == 0) return zero / zero;
  return strcmp(how, "infinite") == 0 ? 1 / zero : time_ns;
}

static int32_t fail(const byoc_cost_query_t *query, const char *how) {
  if (strcmp(how, "crash") == 0) abort();
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "environment") == 0) return setenv("DEMO_COSTS", "1", 1);
  if (strcmp(how, "fail") == 0) return query->error(query, BYOC_UNSUPPORTED, "the model of the chip is missing");
  return strcmp(how, "speechless") == 0 ? BYOC_INTERNAL : BYOC_OK;
}

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  (void)self;
  const char *how = host->target->option_string(query->target, "costs");
  const double clock_mhz = (double)host->target->option_int(query->target, "clock_mhz");
  int32_t status = fail(query, how);
  for (uint32_t i = 0; i < query->function_count && status == BYOC_OK; ++i) {
    if (strcmp(how, "decline") == 0 && host->graph->node_count(query->functions[i]) > 1) {
      status = query->decline(query, i, "the chip has no room for two");
      continue;
    }
    const double cycles = count_cycles(query->functions[i]);
    const uint32_t index = strcmp(how, "beyond") == 0 ? i + query->function_count : i;
    const byoc_stated_cost_t cost = {.header = BYOC_HEADER(byoc_stated_cost_t, 1),
                                     .stated = BYOC_STATED_TIME | BYOC_STATED_MOVED_BYTES | BYOC_STATED_ENERGY,
                                     .time_ns = lie(how, 1000 * cycles / clock_mhz),
                                     .moved_bytes = 8 * cycles,
                                     .energy_nj = 0.5 * cycles};
    if (strcmp(how, "mute") == 0) (void)query->decline(query, i, "");
    if (strcmp(how, "null") == 0) (void)query->state(query, i, NULL);
    if (strcmp(how, "none") == 0 || strcmp(how, "null") == 0) continue;
    status = query->state(query, index, &cost);
    if (strcmp(how, "twice") == 0) status = query->state(query, index, &cost);
  }
  return status;
}

static int32_t state_target_costs(void *self, const byoc_target_t *target, byoc_target_costs_t *out_costs) {
  (void)self;
  const int64_t boundary_ns = host->target->option_int(target, "boundary_ns");
  out_costs->least_operators = (uint32_t)host->target->option_int(target, "least_operators");
  out_costs->least_operations = (double)host->target->option_int(target, "least_operations");
  if (boundary_ns == 0) return BYOC_OK;
  out_costs->stated = BYOC_STATED_BOUNDARY;
  out_costs->enter_ns = out_costs->leave_ns = (double)boundary_ns;
  return BYOC_OK;
}

// ---- the backend ----

static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  return host->edit->hand_back(codegen, function);
}

static const char *const operators[] = {"Relu", "Neg", "Abs", "Add"};
static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "chip.any", .operators = {operators, 4}}};

#define NUMBER(option, value, text)                                                                                    \
  {                                                                                                                    \
    .header = BYOC_HEADER(byoc_option_t, 1), .name = option, .type = BYOC_OPTION_INT, .default_value = value,          \
    .minimum = -1000000000, .maximum = 1000000000, .help = text                                                        \
  }
static const byoc_option_t options[] = {
    NUMBER("clock_mhz", "1000", "cycles in a microsecond"),
    NUMBER("boundary_ns", "0", "the cost to enter, and to leave; 0: none is stated"),
    NUMBER("least_operators", "0", "the least region that is worth it"),
    NUMBER("least_operations", "0", "the same in operations"),
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "costs",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "right",
     .choices =
         "right|none|decline|mute|negative|nan|infinite|crash|exit|environment|fail|speechless|beyond|twice|null",
     .help = "how costs are stated"}};

static const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                       .target = "chip",
                                       .description = "a target that states its costs",
                                       .options = options,
                                       .option_count = 5,
                                       .option_stride = sizeof(options[0]),
                                       .rules = rules,
                                       .rule_count = 1,
                                       .rule_stride = sizeof(rules[0]),
                                       .generate_function = generate_function,
                                       .state_costs = state_costs,
                                       .state_target_costs = state_target_costs};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&backend};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  return BYOC_OK;
}
