// SPDX-License-Identifier: Apache-2.0
// variants.h - one function of the artifact in the shapes that it is called with. A function without dynamic sizes has
// one variant, which is made with the instance. Any other function makes one for each new shape, and keeps those used
// last. For calls with a NaN that oneDNN would lose there is a careful variant beside the one of its shape.
#ifndef BYOC_DNNL_VARIANTS_H_
#define BYOC_DNNL_VARIANTS_H_

#include "engine/function/function.h"

typedef struct byoc_dnnl_variant_t {
  int64_t *sizes; // those of a call's tensors, graph->open_count of them
  int is_careful;
  uint64_t used_at;
  byoc_dnnl_function_t function;
} byoc_dnnl_variant_t;

typedef struct byoc_dnnl_variants_t {
  const byoc_engine_function_t *description;
  byoc_dnnl_graph_t graph; // as described; moved to the first variant where no size is open
  uint32_t open_count;
  uint64_t limit; // at most as many variants, and as many careful ones
  byoc_dnnl_weights_t weights;
  byoc_dnnl_variant_t **items;
  uint32_t count;
  uint64_t time;  // calls so far
  int64_t *sizes; // of the current call
} byoc_dnnl_variants_t;

// Reads the description. Call deinit after a failure too.
int32_t byoc_dnnl_variants_init(const byoc_engine_function_t *description, byoc_dnnl_variants_t *out_variants,
                                byoc_dnnl_error_t *error);
void byoc_dnnl_variants_deinit(byoc_dnnl_variants_t *variants);

// The variant for the sizes in variants->sizes; NULL if there is none yet.
byoc_dnnl_function_t *byoc_dnnl_variants_find(byoc_dnnl_variants_t *variants, int is_careful);
// Describes the primitives of a new variant for these sizes, in the place of the one that was used longest ago if there
// are as many as may be. It is complete once its primitives are created and it is finished. After a failure before
// that, call drop_newest.
int32_t byoc_dnnl_variants_add(byoc_dnnl_variants_t *variants, int is_careful, const byoc_dnnl_api_t *api,
                               dnnl_engine_t engine, byoc_dnnl_function_t **out_function, byoc_dnnl_error_t *error);
void byoc_dnnl_variants_drop_newest(byoc_dnnl_variants_t *variants);

#endif // BYOC_DNNL_VARIANTS_H_
