// SPDX-License-Identifier: Apache-2.0
// Divides the nodes of a function into kernels.
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

// Limits of a kernel, so that its code and its list of arguments stay short.
enum { MOST_NODES = 32, MOST_READS = 64 };

void byoc_opencl_clusters_deinit(byoc_opencl_clusters_t *clusters) {
  free(clusters->members);
  free(clusters->by_node);
  free(clusters->clusters);
}

// The place of the first member in by_node whose address is not below that of `node`.
static uint32_t find(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node) {
  uint32_t low = 0, high = clusters->member_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if ((uintptr_t)clusters->members[clusters->by_node[middle]].node < (uintptr_t)node)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static byoc_opencl_member_t *member_of(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node) {
  uint32_t at = find(clusters, node);
  if (at == clusters->member_count) return NULL;
  byoc_opencl_member_t *member = &clusters->members[clusters->by_node[at]];
  return member->node == node ? member : NULL;
}

const byoc_opencl_member_t *byoc_opencl_member_of(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node) {
  return member_of(clusters, node);
}

static byoc_opencl_role_t role_of(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node) {
  return byoc_opencl_operator_of(clusters->graph, node)->role;
}

const byoc_value_t *byoc_opencl_stored_as(const byoc_opencl_clusters_t *clusters, const byoc_value_t *value) {
  for (;;) {
    byoc_node_t *producer = clusters->graph->value_producer(value);
    const byoc_opencl_member_t *member = producer != NULL ? member_of(clusters, producer) : NULL;
    if (member == NULL || !clusters->clusters[member->cluster].is_alias) return value;
    value = clusters->graph->operand(producer, 0);
  }
}

static byoc_opencl_size_t count_of(const byoc_opencl_clusters_t *clusters, const byoc_value_t *value) {
  return byoc_opencl_shape_of(clusters->sizes, value).count;
}

// Does element i of the operand come to element i of the user's result?
static bool keeps_order(const byoc_opencl_clusters_t *clusters, const byoc_node_t *user, const byoc_value_t *operand) {
  byoc_opencl_role_t role = role_of(clusters, user);
  if (role == BYOC_OPENCL_VIEW) return true;
  return role == BYOC_OPENCL_POINT &&
         byoc_opencl_size_same(count_of(clusters, operand), count_of(clusters, clusters->graph->node_result(user, 0)));
}

// The common property of all users of a node's results.
typedef struct users_t {
  int32_t cluster; // -1: none
  uint32_t count;
  bool keep_order; // elements keep their order up to the root
  bool expand;     // one repeats the elements
} users_t;

static users_t users_of(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node) {
  const byoc_graph_api_t *graph = clusters->graph;
  users_t users = {.cluster = -1, .keep_order = true};
  for (uint64_t r = 0; r < graph->node_result_count(node); ++r) {
    const byoc_value_t *value = graph->node_result(node, r);
    for (uint64_t i = 0; i < graph->value_use_count(value); ++i) {
      const byoc_node_t *user = graph->value_user(value, i);
      const byoc_opencl_member_t *member = user != NULL ? member_of(clusters, user) : NULL;
      bool joins = member != NULL && role_of(clusters, user) != BYOC_OPENCL_ANCHOR;
      if (!joins || (users.count > 0 && users.cluster != (int32_t)member->cluster))
        return (users_t){.cluster = -1, .count = users.count + 1};
      users.cluster = (int32_t)member->cluster;
      ++users.count;
      users.keep_order = users.keep_order && member->is_linear && keeps_order(clusters, user, value);
      // A result of another count has more elements.
      users.expand = users.expand || (role_of(clusters, user) == BYOC_OPENCL_POINT &&
                                      !byoc_opencl_size_same(count_of(clusters, graph->node_result(user, 0)),
                                                             count_of(clusters, value)));
    }
  }
  return users;
}

static bool can_join(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node, const users_t *users) {
  if (users->cluster < 0) return false;
  const byoc_opencl_cluster_t *cluster = &clusters->clusters[users->cluster];
  if (cluster->nodes + 1 > MOST_NODES || cluster->reads + clusters->graph->operand_count(node) > MOST_READS)
    return false;
  switch (role_of(clusters, node)) {
  case BYOC_OPENCL_ANCHOR:
    return users->keep_order && cluster->anchor < 0;
  case BYOC_OPENCL_POINT:
    if (users->expand) return false; // computed once, not for each element that uses it
    break;
  case BYOC_OPENCL_VIEW:
  case BYOC_OPENCL_MOVE:
    break;
  }
  return users->count == 1 || users->keep_order; // an element that is used at two places would be computed twice
}

// by_node in order of addresses, by Shell's method.
static void sort_members(byoc_opencl_clusters_t *clusters) {
  uint32_t *items = clusters->by_node, count = clusters->member_count;
  for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
    for (uint32_t i = gap; i < count; ++i) {
      uint32_t item = items[i], j = i;
      uintptr_t address = (uintptr_t)clusters->members[item].node;
      for (; j >= gap && (uintptr_t)clusters->members[items[j - gap]].node > address; j -= gap)
        items[j] = items[j - gap];
      items[j] = item;
    }
  }
}

static bool is_result(const byoc_graph_api_t *graph, const byoc_value_t *value) {
  for (uint64_t i = 0; i < graph->value_use_count(value); ++i)
    if (graph->value_user(value, i) == NULL) return true;
  return false;
}

static void add_member(byoc_opencl_clusters_t *clusters, uint32_t index) {
  const byoc_graph_api_t *graph = clusters->graph;
  byoc_opencl_member_t *member = &clusters->members[index];
  users_t users = users_of(clusters, member->node);
  bool is_anchor = role_of(clusters, member->node) == BYOC_OPENCL_ANCHOR;
  bool is_view = role_of(clusters, member->node) == BYOC_OPENCL_VIEW;
  if (can_join(clusters, member->node, &users)) {
    member->cluster = (uint32_t)users.cluster;
    member->is_linear = users.keep_order;
  } else {
    member->cluster = clusters->cluster_count++;
    member->is_linear = true;
    clusters->clusters[member->cluster] = (byoc_opencl_cluster_t){
        .root = index, .anchor = -1, .is_alias = is_view && !is_result(graph, graph->node_result(member->node, 0))};
  }
  byoc_opencl_cluster_t *cluster = &clusters->clusters[member->cluster];
  cluster->is_alias = cluster->is_alias && is_view;
  cluster->nodes += 1;
  cluster->reads += (uint32_t)graph->operand_count(member->node);
  if (is_anchor) cluster->anchor = (int32_t)index;
}

bool byoc_opencl_clusters_init(byoc_opencl_sizes_t *sizes, const byoc_function_t *function,
                               byoc_opencl_clusters_t *out_clusters) {
  const byoc_graph_api_t *graph = sizes->graph;
  uint32_t count = (uint32_t)graph->node_count(function);
  *out_clusters = (byoc_opencl_clusters_t){.graph = graph,
                                           .sizes = sizes,
                                           .members = calloc((size_t)count + 1, sizeof(byoc_opencl_member_t)),
                                           .by_node = calloc((size_t)count + 1, sizeof(uint32_t)),
                                           .member_count = count,
                                           .clusters = calloc((size_t)count + 1, sizeof(byoc_opencl_cluster_t))};
  if (out_clusters->members == NULL || out_clusters->by_node == NULL || out_clusters->clusters == NULL) return false;
  for (uint32_t i = 0; i < count; ++i) {
    out_clusters->members[i].node = graph->node_at(function, i);
    out_clusters->by_node[i] = i;
  }
  sort_members(out_clusters);
  for (uint32_t i = count; i-- > 0;) add_member(out_clusters, i);
  return true;
}
