// SPDX-License-Identifier: Apache-2.0
// The steps of a greedy partitioning as passes, so that they can be shown and tested one by one:
//
//   merge-composites   each match of a pattern rule becomes a function marked Composite, and a call of it
//   annotate-targets   each node gets a list of all targets that could claim it, in the order of preference
//   merge-regions      neighbours that their first target claims together become one region, never closing a cycle
//   partition          each region becomes a function marked Compiler
//
// Claims of partition hooks (core/collage/hook_claims.h) are not among them.
//
// A build does the same in one go (core/collage/place.h).
#ifndef BYOC_CORE_COLLAGE_PARTITION_H_
#define BYOC_CORE_COLLAGE_PARTITION_H_

#include "core/pass/pass.h"

// The four, in the order in which they are to run, above all other passes. Each needs targets.
extern const byoc_passes_t byoc_partition_passes;

#endif // BYOC_CORE_COLLAGE_PARTITION_H_
