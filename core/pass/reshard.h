// SPDX-License-Identifier: Apache-2.0
// Resharding: from one sharding of a value over the mesh to another one, by collectives and by cutting.
//
//   partial → whole     AllReduce          cut → whole    AllGather        at a → whole   Broadcast
//   partial → cut       ReduceScatter      cut → cut      AllToAll         at a → cut     ScatterBlocks
//   partial → at a      Reduce             cut → at a     GatherBlocks           at a → at b    Send, Receive
//   cut along one axis of the mesh → cut the same way along another one    Permute
//
// A whole value is sharded without a collective; of constants, only the block of this rank stays. Internal to
// core/pass.
#ifndef BYOC_CORE_PASS_RESHARD_H_
#define BYOC_CORE_PASS_RESHARD_H_

#include "core/pass/spread.h"

// The value of this rank under the spread `to`, made of that under `from` in front of `before`. BYOC_UNSUPPORTED, with
// the reason, if blocks would not be equal or the shape is not known.
byoc_status_t byoc_reshard(byoc_value_t *value, const byoc_spread_t *from, const byoc_spread_t *to,
                           const byoc_mesh_t *mesh, byoc_node_t *before, byoc_diag_t *diag, byoc_value_t **out_value);

#endif // BYOC_CORE_PASS_RESHARD_H_
