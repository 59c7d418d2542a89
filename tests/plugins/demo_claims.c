// SPDX-License-Identifier: Apache-2.0
// Two targets that claim sub-graphs by the partition hook. The option -take lists operators: all nodes with one of them
// are one claim, and those behind '+' are another one. Other options say how the hook lies or fails. The functions are
// handed back as they are, and -cost_ns is the stated cost of each.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("demo_claims", "1.0", "left,right", "Two targets that claim sub-graphs", 5);

static const byoc_host_t *host;
enum { MOST_NODES = 64 };

// ---- claims ----

// Does the list "Relu,Neg" have the name?
static int lists(const char *list, size_t size, const char *name) {
  const size_t name_size = strlen(name);
  for (const char *at = list; at < list + size;) {
    const char *end = memchr(at, ',', (size_t)(list + size - at));
    if (end == NULL) end = list + size;
    if ((size_t)(end - at) == name_size && strncmp(at, name, name_size) == 0) return 1;
    at = end + 1;
  }
  return 0;
}

static int32_t claim(const byoc_partition_query_t *query, const char *how, byoc_node_t **nodes, uint64_t count) {
  char name[64];
  snprintf(name, sizeof(name), "%s.whole", host->target->kind(query->target));
  if (strcmp(how, "twice") == 0) nodes[count++] = nodes[0];
  if (strcmp(how, "unknown") == 0) nodes[count++] = (byoc_node_t *)&host;
  if (strcmp(how, "null") == 0) nodes[count++] = NULL;
  if (strcmp(how, "empty") == 0) count = 0;
  if (strcmp(how, "nameless") == 0) return query->claim(query, NULL, 0, nodes, count);
  if (strcmp(how, "foreign") == 0) return query->claim(query, "other.whole", 0, nodes, count);
  const uint32_t flags = strcmp(how, "merge") == 0     ? BYOC_RULE_MERGE
                         : strcmp(how, "by_cost") == 0 ? BYOC_RULE_BY_COST
                                                       : 0;
  return query->claim(query, name, flags, nodes, count);
}

static int32_t fail(const byoc_partition_query_t *query, const char *how) {
  if (strcmp(how, "crash") == 0) abort();
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "environment") == 0) return setenv("DEMO_CLAIMS", "1", 1);
  if (strcmp(how, "fail") == 0) return query->error(query, BYOC_UNSUPPORTED, "the compiler of the chip is missing");
  for (int32_t full = BYOC_OK; strcmp(how, "flood") == 0 && full == BYOC_OK;) {
    full = query->claim(query, "left.flood", 0, query->nodes, query->node_count);
  }
  return strcmp(how, "speechless") == 0 ? BYOC_INTERNAL : BYOC_OK;
}

static int32_t partition(void *self, const byoc_partition_query_t *query) {
  (void)self;
  const char *how = host->target->option_string(query->target, "claims");
  const char *take = host->target->option_string(query->target, "take");
  byoc_node_t *nodes[MOST_NODES + 1];
  int32_t status = BYOC_OK;
  for (const char *next = take; strcmp(how, "nothing") != 0 && *take != '\0' && status == BYOC_OK; take = next) {
    const size_t size = strcspn(take, "+");
    uint64_t count = 0;
    next = take + size + (take[size] == '+');
    for (uint64_t i = 0; i < query->node_count && count < MOST_NODES; ++i) {
      const int is_taken = lists(take, size, host->graph->node_operator(query->nodes[i]));
      if (is_taken && (strcmp(how, "blind") == 0 || query->may_take(query, query->nodes[i]))) {
        nodes[count++] = query->nodes[i];
      }
    }
    if (count > 0) status = claim(query, how, nodes, count);
  }
  for (uint64_t i = 0; i < query->node_count && status == BYOC_OK; ++i) {
    if (strcmp(host->graph->node_operator(query->nodes[i]), "Exp") != 0) continue;
    status = query->decline(query, query->nodes[i], "the chip has no exponential");
  }
  if (query->decline(query, NULL, "none") != BYOC_INVALID_ARGUMENT || query->may_take(query, NULL)) abort();
  const int32_t failed = fail(query, how);
  return failed != BYOC_OK ? failed : status;
}

static int32_t state_costs(void *self, const byoc_cost_query_t *query) {
  (void)self;
  const byoc_stated_cost_t cost = {.header = BYOC_HEADER(byoc_stated_cost_t, 1),
                                   .stated = BYOC_STATED_TIME,
                                   .time_ns = (double)host->target->option_int(query->target, "cost_ns")};
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < query->function_count && status == BYOC_OK; ++i) status = query->state(query, i, &cost);
  return status;
}

// ---- the backends ----

// Gives back the nodes with operators of -gives_back, if there are any.
static int32_t give_back(byoc_codegen_t *codegen, byoc_function_t *function, const char *operators, int *out_given) {
  byoc_node_t *nodes[MOST_NODES];
  uint64_t count = 0;
  for (uint64_t i = 0; i < host->graph->node_count(function) && count < MOST_NODES; ++i) {
    byoc_node_t *node = host->graph->node_at(function, i);
    if (lists(operators, strlen(operators), host->graph->node_operator(node))) nodes[count++] = node;
  }
  *out_given = count > 0;
  return count > 0 ? host->codegen->decline_nodes(codegen, function, nodes, count, "the chip has no room") : BYOC_OK;
}

// A claim's function tells its name.
static int32_t generate_function(void *self, byoc_codegen_t *codegen, byoc_function_t *function) {
  (void)self;
  char note[160];
  int is_given = 0;
  const byoc_target_t *target = host->codegen->target(codegen);
  snprintf(note, sizeof(note), "the claim %s has %d nodes",
           host->graph->function_string(function, BYOC_ATTRIBUTE_CLAIM, "none"),
           (int)host->graph->node_count(function));
  host->codegen->log(codegen, note);
  const int32_t status = give_back(codegen, function, host->target->option_string(target, "gives_back"), &is_given);
  if (status != BYOC_OK || is_given) return status;
  if (strcmp(host->target->option_string(target, "claims"), "blind") != 0) {
    return host->edit->hand_back(codegen, function);
  }
  return host->codegen->decline(codegen, function, "it does not fit on the chip");
}

// Looks at the neighbours of the node.
static int32_t accept(void *self, byoc_region_t *region) {
  (void)self;
  const byoc_node_t *node = host->region->node_at(region, 0);
  const byoc_node_t *producer = host->graph->value_producer(host->graph->operand(node, 0));
  if (producer == NULL || strcmp(host->graph->node_operator(producer), "Relu") != 0) return 1;
  return host->region->decline(region, "it is behind Relu");
}

static const char *const left_operators[] = {"Abs"};
static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "left.abs", .operators = {left_operators, 1}, .accept = accept}};

static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "take",
     .type = BYOC_OPTION_STRING,
     .help = "operators of claims"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "gives_back",
     .type = BYOC_OPTION_STRING,
     .help = "operators that generate gives back"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "cost_ns",
     .type = BYOC_OPTION_INT,
     .default_value = "1",
     .maximum = 1000000000,
     .help = "the stated cost of each function"},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "claims",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "right",
     .choices = "right|nothing|blind|by_cost|twice|unknown|null|empty|nameless|foreign|merge|crash|exit|environment|"
                "fail|flood|speechless",
     .help = "how nodes are claimed"}};

#define BACKEND(name, count)                                                                                           \
  {                                                                                                                    \
    .header = BYOC_HEADER(byoc_backend_t, 1), .target = name, .description = "claims sub-graphs", .options = options,  \
    .option_count = 4, .option_stride = sizeof(options[0]), .rules = rules, .rule_count = count,                       \
    .rule_stride = sizeof(rules[0]), .generate_function = generate_function, .state_costs = state_costs,               \
    .partition = partition                                                                                             \
  }
static const byoc_backend_t left = BACKEND("left", 1), right = BACKEND("right", 0);

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *from_host, byoc_plugin_t *out_plugin) {
  static const byoc_backend_t *const backends[] = {&left, &right};
  host = from_host;
  out_plugin->backends = backends;
  out_plugin->backend_count = 2;
  return BYOC_OK;
}
