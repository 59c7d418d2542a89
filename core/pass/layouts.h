// SPDX-License-Identifier: Apache-2.0
// Finds the operators that can be computed on blocked tensors, and whether a target uses such tensors.
#ifndef BYOC_CORE_PASS_LAYOUTS_H_
#define BYOC_CORE_PASS_LAYOUTS_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// Says whether a rule of one of the targets names byoc::ToBlocked or byoc::FromBlocked.
bool byoc_targets_take_layouts(const byoc_target_list_t *targets);

// The pass propose-layouts for these targets. *out_changes, unless it is NULL, gets the number of pairs.
byoc_status_t byoc_propose_layouts(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                   size_t *out_changes);

// Rank 4, of known channels, height and width, none of them 0; the number of images may be dynamic.
bool byoc_is_batch_of_maps(const byoc_type_t *type);
// Elementwise, on tensors of rank 4: each operand has the shape of the result, or is a constant with one element or one
// per channel. Batch normalisations by constants are such operators.
bool byoc_is_channelwise(const byoc_node_t *node);
// Pools planes: MaxPool without indices, AveragePool, GlobalAveragePool.
bool byoc_is_channel_pool(const byoc_node_t *node);
// Concatenates tensors of rank 4 along their channels.
bool byoc_is_channel_concat(const byoc_node_t *node);

#endif // BYOC_CORE_PASS_LAYOUTS_H_
