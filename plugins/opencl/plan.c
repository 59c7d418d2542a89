// SPDX-License-Identifier: Apache-2.0
// A function as kernels, and the memory between them.
#include "plan.h"

#include <stdlib.h>

void byoc_opencl_plan_deinit(byoc_opencl_plan_t *plan) {
  for (uint32_t i = 0; i < plan->kernel_count; ++i) byoc_opencl_kernel_deinit(&plan->kernels[i]);
  free(plan->kernels);
  free(plan->temporaries);
  byoc_opencl_sizes_deinit(&plan->sizes);
  byoc_opencl_constants_deinit(&plan->constants);
  byoc_opencl_clusters_deinit(&plan->clusters);
}

// ---- functions that cannot be planned ----

static const char *check_nodes(byoc_opencl_sizes_t *sizes) {
  const byoc_graph_api_t *graph = sizes->graph;
  for (uint64_t i = 0; i < graph->node_count(sizes->function); ++i) {
    byoc_opencl_source_t source = {graph, graph->node_at(sizes->function, i), sizes};
    const char *reason = byoc_opencl_check(&source);
    if (reason != NULL) return reason;
  }
  return NULL;
}

static const char *check_results(const byoc_graph_api_t *graph, const byoc_function_t *function) {
  for (uint64_t i = 0; i < graph->result_count(function); ++i) {
    if (graph->value_producer(graph->result(function, i)) == NULL) return "a result that no operator makes";
    for (uint64_t j = 0; j < i; ++j)
      if (graph->result(function, i) == graph->result(function, j)) return "a result that is returned twice";
  }
  return NULL;
}

// ---- kernels ----

// The kernel that is being written.
typedef struct writing_t {
  const byoc_opencl_plan_t *plan;
  uint32_t cluster;
} writing_t;

static const byoc_opencl_operator_t *operator_inside(const void *self, const byoc_node_t *node) {
  const writing_t *writing = self;
  const byoc_opencl_member_t *member = byoc_opencl_member_of(&writing->plan->clusters, node);
  if (member == NULL || member->cluster != writing->cluster) return NULL;
  return byoc_opencl_operator_of(writing->plan->graph, node);
}

static const byoc_value_t *stored_as(const void *self, const byoc_value_t *value) {
  const writing_t *writing = self;
  return byoc_opencl_stored_as(&writing->plan->clusters, value);
}

// One element per work-item: the kernel of a cluster without an anchor.
static void emit_points(byoc_opencl_emit_t *emit, const byoc_value_t *root) {
  enum { WORK_GROUP = 64 };
  byoc_opencl_size_t one = byoc_opencl_size(1);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(emit->sizes, root);
  byoc_opencl_emit_launch_items(emit, "point", shape.count, one, one, WORK_GROUP);
  byoc_opencl_line(emit, "const int i = get_global_id(0);");
  byoc_opencl_line(emit, "if (i >= %s) return;", BYOC_OPENCL_SIZE(emit, shape.count));
  byoc_opencl_index_t index = byoc_opencl_index(&shape, byoc_opencl_name("i"));
  byoc_opencl_emit_store(emit, &index, NULL, index.linear);
}

// All tensors that the nodes of the cluster read or make have to be counted by an int, stored or not.
static void emit_limit(byoc_opencl_plan_t *plan, uint32_t cluster, byoc_opencl_emit_t *emit) {
  for (uint32_t i = 0; i < plan->clusters.member_count; ++i) {
    if (plan->clusters.members[i].cluster != cluster) continue;
    byoc_opencl_source_t source = {plan->graph, plan->clusters.members[i].node, &plan->sizes};
    for (uint64_t k = 0; k < plan->graph->operand_count(source.node); ++k) {
      const byoc_value_t *operand = byoc_opencl_operand(&source, k);
      if (operand != NULL) byoc_opencl_emit_count(emit, operand);
    }
    for (uint64_t k = 0; k < plan->graph->node_result_count(source.node); ++k)
      if (byoc_opencl_is_used(&source, k)) byoc_opencl_emit_count(emit, byoc_opencl_result(&source, k));
  }
  byoc_opencl_emit_limit(emit);
}

static void emit_kernel(byoc_opencl_plan_t *plan, uint32_t cluster_index, const byoc_value_t *root) {
  const byoc_opencl_cluster_t *cluster = &plan->clusters.clusters[cluster_index];
  byoc_opencl_kernel_t *kernel = &plan->kernels[plan->kernel_count++];
  writing_t writing = {plan, cluster_index};
  *kernel = (byoc_opencl_kernel_t){.root = root};
  byoc_opencl_emit_t emit = {.graph = plan->graph,
                             .sizes = &plan->sizes,
                             .kernel = kernel,
                             .constants = &plan->constants,
                             .operator_inside = operator_inside,
                             .stored_as = stored_as,
                             .self = &writing,
                             .depth = 1};
  if (cluster->anchor >= 0) {
    byoc_opencl_source_t source = {plan->graph, plan->clusters.members[cluster->anchor].node, &plan->sizes};
    byoc_opencl_operator_of(plan->graph, source.node)->anchor(&emit, &source);
  } else {
    emit_points(&emit, root);
  }
  emit_limit(plan, cluster_index, &emit);
  plan->failed = plan->failed || emit.failed || !byoc_plugin_string_ok(&kernel->body);
  byoc_opencl_emit_deinit(&emit);
}

static void emit_kernels(byoc_opencl_plan_t *plan) {
  const byoc_graph_api_t *graph = plan->graph;
  uint64_t most = 0;
  for (uint64_t i = 0; i < graph->node_count(plan->function); ++i)
    most += graph->node_result_count(graph->node_at(plan->function, i));
  plan->kernels = calloc((size_t)most + 1, sizeof(*plan->kernels));
  if (plan->kernels == NULL) {
    plan->failed = true;
    return;
  }
  for (uint32_t i = 0; i < plan->clusters.member_count && !plan->failed; ++i) {
    uint32_t cluster = plan->clusters.members[i].cluster;
    if (plan->clusters.clusters[cluster].root != i || plan->clusters.clusters[cluster].is_alias) continue;
    byoc_opencl_source_t source = {graph, plan->clusters.members[i].node, &plan->sizes};
    for (uint64_t r = 0; r < graph->node_result_count(source.node); ++r)
      if (byoc_opencl_is_used(&source, r)) emit_kernel(plan, cluster, byoc_opencl_result(&source, r));
  }
}

// ---- memory ----

static int64_t result_index(const byoc_opencl_plan_t *plan, const byoc_value_t *value) {
  for (uint64_t i = 0; i < plan->graph->result_count(plan->function); ++i)
    if (plan->graph->result(plan->function, i) == value) return (int64_t)i;
  return -1;
}

// The number of a temporary tensor, or the count of them.
static uint32_t temporary_of(const byoc_opencl_plan_t *plan, const byoc_value_t *value) {
  uint32_t i = 0;
  while (i < plan->temporary_count && plan->temporaries[i].value != value) ++i;
  return i;
}

byoc_opencl_where_t byoc_opencl_plan_place(const byoc_opencl_plan_t *plan, const byoc_opencl_argument_t *argument,
                                           uint32_t *out_index) {
  if (argument->value == NULL) {
    *out_index = argument->constant;
    return BYOC_OPENCL_CONSTANT;
  }
  int64_t parameter = plan->graph->value_parameter_index(argument->value);
  int64_t result = result_index(plan, argument->value);
  *out_index = (uint32_t)(parameter >= 0 ? parameter : result);
  if (parameter >= 0) return BYOC_OPENCL_OPERAND;
  if (result >= 0) return BYOC_OPENCL_RESULT;
  *out_index = temporary_of(plan, argument->value);
  return BYOC_OPENCL_TEMPORARY;
}

static void plan_temporaries(byoc_opencl_plan_t *plan) {
  plan->temporaries = calloc((size_t)plan->kernel_count + 1, sizeof(*plan->temporaries));
  plan->failed = plan->temporaries == NULL;
  for (uint32_t k = 0; k < plan->kernel_count && !plan->failed; ++k) {
    const byoc_value_t *value = plan->kernels[k].root;
    if (result_index(plan, value) >= 0) continue;
    byoc_opencl_size_t bytes = byoc_opencl_size(byoc_dtype_bits(plan->graph->value_dtype(value)) / 8);
    byoc_opencl_shape_t shape = byoc_opencl_shape_of(&plan->sizes, value);
    plan->temporaries[plan->temporary_count++] = (byoc_opencl_temporary_t){
        .value = value, .size_bytes = byoc_opencl_size_multiply(&plan->sizes, shape.count, bytes)};
  }
}

const char *byoc_opencl_plan_function(const byoc_opencl_sizes_t *sizes, byoc_opencl_plan_t *out_plan) {
  byoc_opencl_plan_t *plan = out_plan;
  *plan = (byoc_opencl_plan_t){.graph = sizes->graph, .function = sizes->function, .sizes = *sizes};
  const char *reason = check_nodes(&plan->sizes);
  if (reason == NULL) reason = check_results(plan->graph, plan->function);
  plan->failed = plan->sizes.failed;
  if (reason != NULL || plan->failed) return plan->failed ? NULL : reason;
  plan->failed = !byoc_opencl_clusters_init(&plan->sizes, plan->function, &plan->clusters);
  if (!plan->failed) emit_kernels(plan);
  if (!plan->failed) plan_temporaries(plan);
  plan->failed = plan->failed || plan->sizes.failed;
  return plan->failed ? NULL : plan->sizes.reason;
}
