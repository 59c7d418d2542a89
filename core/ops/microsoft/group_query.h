// SPDX-License-Identifier: Apache-2.0
// com.microsoft: GroupQueryAttention, which exporters of language models write around a cache of keys and values. It
// becomes TensorScatter, RotaryEmbedding and Attention of ai.onnx.
//
// The cache is static, with room for more than the sequences have so far, or it grows by each run. Sequence b has
// seqlens_k[b] + 1 elements after the run, of which the last `length` ones are new: they are written after those of the
// past. The content of the cache after its sequences is not specified. A windowed cache holds only the latest
// positions, and a quantised one holds bytes (core/ops/microsoft/cache.h).
#ifndef BYOC_CORE_OPS_MICROSOFT_GROUP_QUERY_H_
#define BYOC_CORE_OPS_MICROSOFT_GROUP_QUERY_H_

#include <string.h>

#include "core/ops/microsoft/common.h"

// Operands and results.
enum {
  GQA_QUERY,
  GQA_KEY,
  GQA_VALUE,
  GQA_PAST_KEY,
  GQA_PAST_VALUE,
  GQA_LENGTHS,
  GQA_TOTAL,
  GQA_COSINES,
  GQA_SINES,
  GQA_PLACES,
  GQA_ADDED,
  GQA_SINK,
  GQA_KEY_SCALE,
  GQA_VALUE_SCALE,
  GQA_QUERY_NORM,
  GQA_KEY_NORM,
  GQA_QUERY_LENGTHS
};
enum { GQA_Y, GQA_PRESENT_KEY, GQA_PRESENT_VALUE, GQA_SCORES };

// Are queries, keys and values one operand?
static inline bool byoc_group_query_is_packed(const byoc_node_t *node) {
  return !byoc_has_operand(node, GQA_KEY) && !byoc_has_operand(node, GQA_VALUE);
}

static inline bool byoc_group_query_is_windowed(const byoc_node_t *node) {
  return byoc_node_int(node, "sliding_window_cache") != 0;
}

// The attribute for the quantisation of the cache of keys (side 0) or values (side 1).
static inline const char *byoc_group_query_kind_name(int side) {
  return side == 0 ? "k_quant_type" : "v_quant_type";
}

static inline bool byoc_group_query_kind_is(const byoc_node_t *node, int side, const char *kind) {
  return strcmp(byoc_node_text(node, byoc_group_query_kind_name(side)), kind) == 0;
}

// The bits of a number in the cache of keys or values; 0: it holds floats.
static inline int64_t byoc_group_query_bits(const byoc_node_t *node, int side) {
  if (byoc_group_query_kind_is(node, side, "NONE")) return 0;
  return byoc_node_int(node, "kv_cache_bit_width") == 4 ? 4 : 8;
}

byoc_status_t byoc_group_query_expand(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);

#endif // BYOC_CORE_OPS_MICROSOFT_GROUP_QUERY_H_
