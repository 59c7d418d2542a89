// SPDX-License-Identifier: Apache-2.0
// The sharding of a model over ranks that a user asks for (byoc build --shard).
//
//   # comments and empty lines
//   mesh dp=2, tp=2           the axes of the mesh of ranks
//   weights tp                constants of matrix products and look-ups are cut along tp, as Megatron cuts them
//   pipeline                  products that wait for data of other ranks take it block by block
//   spread past_* tp: 1       values of these names (* ? []) are spread so: core/pass/spread.h
//
// "megatron" alone stands for a mesh of one axis, along which weights are cut.
#ifndef BYOC_CORE_PASS_SHARD_SPEC_H_
#define BYOC_CORE_PASS_SHARD_SPEC_H_

#include "core/ir/graph.h"

// Notes the specification in the module, for the pass `shard`. `text` is "megatron" or the text of a file, which `name`
// names in messages. BYOC_INVALID_ARGUMENT with file and line for a line that cannot be read, a name that no value has,
// and a mesh that is not one of `rank_count` ranks.
byoc_status_t byoc_shard_specify(byoc_graph_module_t *module, const char *text, const char *name, int32_t rank,
                                 int32_t rank_count, byoc_diag_t *diag);

#endif // BYOC_CORE_PASS_SHARD_SPEC_H_
