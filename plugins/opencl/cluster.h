// SPDX-License-Identifier: Apache-2.0
// cluster.h - the nodes of a function that share a kernel.
//
// A cluster has one root, whose result it stores. Only the cluster uses its other nodes, and computes them where they
// are needed: nodes that are formulas or move elements, and at most one that has a kernel of its own (a convolution).
// The elements of that one must reach the root in the order in which they are made.
#ifndef BYOC_OPENCL_CLUSTER_H_
#define BYOC_OPENCL_CLUSTER_H_

#include "operator.h"

typedef struct byoc_opencl_cluster_t {
  uint32_t root;  // node
  int32_t anchor; // node, or -1
  uint32_t nodes; // in it
  uint32_t reads; // operands of its nodes
  bool is_alias;  // views only: it has no kernel, and shares the memory of what it views
} byoc_opencl_cluster_t;

typedef struct byoc_opencl_member_t {
  byoc_node_t *node;
  uint32_t cluster;
  bool is_linear; // its elements come to the root in their order
} byoc_opencl_member_t;

typedef struct byoc_opencl_clusters_t {
  const byoc_graph_api_t *graph;
  byoc_opencl_sizes_t *sizes;
  byoc_opencl_member_t *members; // nodes in topological order
  uint32_t *by_node;             // members sorted by address
  uint32_t member_count;
  byoc_opencl_cluster_t *clusters; // a cluster follows those that read it
  uint32_t cluster_count;
} byoc_opencl_clusters_t;

// False: out of memory. Every node of the function must be one of the target's operators. Deinit in any case.
bool byoc_opencl_clusters_init(byoc_opencl_sizes_t *sizes, const byoc_function_t *function,
                               byoc_opencl_clusters_t *out_clusters);
void byoc_opencl_clusters_deinit(byoc_opencl_clusters_t *clusters);
// NULL: the node is not one of the function's.
const byoc_opencl_member_t *byoc_opencl_member_of(const byoc_opencl_clusters_t *clusters, const byoc_node_t *node);
// The value whose memory holds `value`: itself, or what it is a view of.
const byoc_value_t *byoc_opencl_stored_as(const byoc_opencl_clusters_t *clusters, const byoc_value_t *value);

#endif // BYOC_OPENCL_CLUSTER_H_
