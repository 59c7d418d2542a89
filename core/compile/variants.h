// SPDX-License-Identifier: Apache-2.0
// Variants of a model: compiled for given sizes of its open dimensions, beside the model that takes any size. Internal
// to core/compile.
//
//   main(%x : f32[N,4])          →   main(%x : f32[N,4]):
//     %y = model(%x)                   %y = If (N == 1) { model(%x as f32[1,4]) }
//                                           else { If (N == 8) { model(%x as f32[8,4]) } else { model(%x) } }
#ifndef BYOC_CORE_COMPILE_VARIANTS_H_
#define BYOC_CORE_COMPILE_VARIANTS_H_

#include "core/ir/graph.h"

// The most combinations of sizes that one build takes: each is a copy of the model, and is compiled.
#define BYOC_MOST_VARIANTS 32

// The name of all nodes that choose a variant or give inputs its sizes: they are the build's, not the model's.
#define BYOC_VARIANT_NODES "byoc.variants"

// The sizes that one dimension gets.
typedef struct byoc_variant_dim_t {
  const char *name; // of a dimension that an input of the model leaves open
  const int64_t *sizes;
  size_t size_count; // at least 1; no size twice
} byoc_variant_dim_t;

// Makes the model's main function a choice between all combinations of the sizes and the model as it is. Constants are
// shared. BYOC_INVALID_ARGUMENT if no input has such a dimension or if there are too many combinations; where a size
// does not fit the model, the error names it.
byoc_status_t byoc_variants_add(byoc_graph_module_t *module, const byoc_variant_dim_t *dims, size_t count,
                                byoc_diag_t *diag);

#endif // BYOC_CORE_COMPILE_VARIANTS_H_
