// SPDX-License-Identifier: Apache-2.0
// com.microsoft: the row of GroupQueryAttention, and the checks of its operands.
#include "core/ops/microsoft/group_query.h"

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}
static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// ---- types ----

typedef struct sizes_t {
  int64_t heads, shared, size; // heads of queries, those of keys and values, and the elements of each
  byoc_dim_t batch, length, past, total;
} sizes_t;

static byoc_status_t need_what_is_known(const byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_int(infer, "qk_output", 0));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, GQA_QUERY_LENGTHS, "the lengths of padded queries"));
  if (!byoc_has_result(node, GQA_SCORES)) return BYOC_OK;
  return byoc_infer_unsupported(infer, "result 3, the scores, is not supported");
}

static byoc_status_t read_heads(const byoc_infer_t *infer, sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *query = byoc_operand_type(node, GQA_QUERY);
  sizes->heads = byoc_node_int(node, "num_heads"), sizes->shared = byoc_node_int(node, "kv_num_heads");
  if (sizes->heads < 1 || sizes->shared < 1 || sizes->heads > INT32_MAX || sizes->heads % sizes->shared != 0) {
    return byoc_infer_error(infer, "%lld heads of queries cannot share %lld heads of keys and values",
                            (long long)sizes->heads, (long long)sizes->shared);
  }
  const int64_t parts = sizes->heads + (byoc_group_query_is_packed(node) ? 2 * sizes->shared : 0);
  if (!byoc_dim_is_constant(query->dims[2])) {
    return byoc_infer_unsupported(infer, "the hidden size of queries must be known");
  }
  sizes->size = query->dims[2].constant / parts;
  if (query->dims[2].constant > INT32_MAX || sizes->size < 1 || query->dims[2].constant % parts != 0) {
    return byoc_infer_error(infer, "the hidden size %lld does not divide into %lld heads",
                            (long long)query->dims[2].constant, (long long)parts);
  }
  if (byoc_group_query_is_packed(node)) return BYOC_OK;
  if (!byoc_has_operand(node, GQA_KEY) || !byoc_has_operand(node, GQA_VALUE)) {
    return byoc_infer_error(infer, "operands 1 and 2, keys and values, must be given together");
  }
  const byoc_dim_t wanted[3] = {query->dims[0], query->dims[1], byoc_dim_constant(sizes->shared * sizes->size)};
  for (uint32_t i = GQA_KEY; i <= GQA_VALUE; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 3, 3));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 3, wanted));
  }
  return BYOC_OK;
}

static bool is_i8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I8;
}
static bool is_u8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8;
}

// The element type and the scale of a cache of bytes.
static byoc_status_t need_bytes(const byoc_infer_t *infer, const sizes_t *sizes, int side) {
  const byoc_node_t *node = infer->node;
  const uint32_t past = GQA_PAST_KEY + (uint32_t)side, scale = GQA_KEY_SCALE + (uint32_t)side;
  const char *name = byoc_group_query_kind_name(side), *kind = byoc_node_text(node, name);
  const int64_t bits = byoc_group_query_bits(node, side), width = byoc_node_int(node, "kv_cache_bit_width");
  const bool is_single = byoc_group_query_kind_is(node, side, "PER_TENSOR");
  if (bits == 0) return byoc_microsoft_need_absent(infer, scale, "a scale for a cache of floats");
  if (!is_single && !byoc_group_query_kind_is(node, side, "PER_CHANNEL")) {
    return byoc_infer_error(infer, "attribute '%s' is \"%s\"; expected \"NONE\", \"PER_TENSOR\" or \"PER_CHANNEL\"",
                            name, kind);
  }
  if (width != 0 && width != 4 && width != 8) {
    return byoc_infer_error(infer, "attribute 'kv_cache_bit_width': expected 4 or 8, got %lld", (long long)width);
  }
  if (bits == 4 && sizes->size % 2 != 0) {
    return byoc_infer_error(infer, "heads of %lld elements do not fill bytes of two", (long long)sizes->size);
  }
  if (!byoc_has_operand(node, past) || !byoc_has_operand(node, scale)) {
    return byoc_infer_error(infer,
                            "operands %u and %u, the cache and its scale, are needed where attribute '%s' is \"%s\"",
                            past, scale, name, kind);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, past, bits == 8 ? is_i8 : is_u8,
                                       bits == 8 ? "a cache of i8" : "a cache of u8, two numbers in each"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, scale, byoc_dtype_is_float, "a scale"));
  return byoc_infer_need_count(infer, scale, byoc_side_number(is_single ? 1 : sizes->shared * sizes->size));
}

// [batch, heads, `length`, size], where two numbers of four bits share a byte.
static void cache_dims(const byoc_node_t *node, const sizes_t *sizes, int side, byoc_dim_t length, byoc_dim_t dims[4]) {
  dims[0] = sizes->batch, dims[1] = byoc_dim_constant(sizes->shared), dims[2] = length;
  dims[3] = byoc_dim_constant(byoc_group_query_bits(node, side) == 4 ? sizes->size / 2 : sizes->size);
}

// The window must fit into the cache.
static byoc_status_t need_window(const byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t window = byoc_node_int(node, "local_window_size");
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, GQA_ADDED, "a bias of scores beside a windowed cache"));
  if (!byoc_has_operand(node, GQA_PAST_KEY)) {
    return byoc_infer_error(infer, "operands 3 and 4, the windowed cache, are left out");
  }
  if (window < 1) return byoc_infer_error(infer, "attribute 'local_window_size': a windowed cache needs a window");
  const byoc_side_t least = byoc_side(byoc_dim_constant(window), "attribute 'local_window_size'");
  return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, least, byoc_side_of(infer, GQA_PAST_KEY, 2));
}

// The length of the cache afterwards: the longest sequence, or the capacity of the cache.
static byoc_status_t read_cache(const byoc_infer_t *infer, sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  sizes->past = byoc_dim_constant(0), sizes->total = sizes->length;
  if (byoc_has_operand(node, GQA_PAST_KEY) != byoc_has_operand(node, GQA_PAST_VALUE)) {
    return byoc_infer_error(infer, "operands 3 and 4, the past keys and values, must be given together");
  }
  for (int side = 0; side < 2; ++side) BYOC_RETURN_IF_ERROR(need_bytes(infer, sizes, side));
  for (uint32_t i = GQA_PAST_KEY; i <= GQA_PAST_VALUE && byoc_has_operand(node, i); ++i) {
    const byoc_type_t *past = byoc_operand_type(node, i);
    if (byoc_group_query_bits(node, (int)(i - GQA_PAST_KEY)) == 0)
      BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 4, 4));
    if (!byoc_is_ranked(past)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", i);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 4, 4));
    if (i == GQA_PAST_KEY) sizes->past = past->dims[2];
    byoc_dim_t wanted[4];
    cache_dims(node, sizes, (int)(i - GQA_PAST_KEY), sizes->past, wanted);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 4, wanted));
  }
  if (byoc_group_query_is_windowed(node)) {
    sizes->total = sizes->past;
    return need_window(infer);
  }
  if (!byoc_has_operand(node, GQA_PAST_KEY)) return BYOC_OK;
  byoc_dim_t list[BYOC_MAX_RANK];
  bool failed = false;
  int32_t count = 0;
  if (byoc_shape_value(node->operands[GQA_TOTAL], infer->arena, &count, list) && count == 1) {
    sizes->total = byoc_infer_dim(infer, BYOC_DIM_MAX, list[0], sizes->past, &failed);
  } else {
    sizes->total = byoc_infer_unknown_dim(infer, &failed);
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t need_angles(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  if (!byoc_node_flag(node, "do_rotary")) return BYOC_OK;
  if (!byoc_has_operand(node, GQA_COSINES) || !byoc_has_operand(node, GQA_SINES)) {
    return byoc_infer_error(infer, "operands 7 and 8, cosines and sines, are needed where attribute 'do_rotary' is 1");
  }
  for (uint32_t i = GQA_COSINES; i <= GQA_SINES; ++i) BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 2, 2));
  const byoc_type_t *cosines = byoc_operand_type(node, GQA_COSINES);
  const byoc_dim_t angles = cosines->dims[1];
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, GQA_SINES, 2, cosines->dims));
  if (!byoc_dim_is_constant(angles)) return byoc_infer_unsupported(infer, "the number of angles must be known");
  if (angles.constant < 1 || angles.constant > sizes->size / 2) {
    return byoc_infer_error(infer, "operand 7: expected 1 to %lld angles for heads of %lld elements, got %lld",
                            (long long)sizes->size / 2, (long long)sizes->size, (long long)angles.constant);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, GQA_COSINES, 0, sizes->length));
  if (!byoc_has_operand(node, GQA_PLACES)) return BYOC_OK;
  const byoc_dim_t wanted[2] = {sizes->batch, sizes->length};
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, GQA_PLACES, is_i64, "positions of i64"));
  return byoc_infer_need_dims(infer, GQA_PLACES, 2, wanted);
}

// Checks operands and attributes that restrict attention or are added to scores.
static byoc_status_t need_limits(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_node_t *node = infer->node;
  const int64_t window = byoc_node_int(node, "local_window_size");
  if (window < -1 || window > INT32_MAX) {
    return byoc_infer_error(infer, "attribute 'local_window_size': %lld is out of range", (long long)window);
  }
  if (window > 0 && !byoc_node_flag(node, "causal")) {
    return byoc_infer_error(infer, "attribute 'local_window_size' needs attribute 'causal'");
  }
  if (byoc_has_operand(node, GQA_SINK)) {
    const byoc_dim_t heads = byoc_dim_constant(sizes->heads);
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, GQA_SINK));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, GQA_SINK, 1, &heads));
  }
  if (!byoc_has_operand(node, GQA_ADDED)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, GQA_ADDED, 4, 4));
  const byoc_dim_t scores[4] = {sizes->batch, byoc_dim_constant(sizes->heads), sizes->length,
                                byoc_operand_type(node, GQA_ADDED)->dims[3]};
  return byoc_infer_need_broadcast(infer, GQA_ADDED, 4, scores);
}

static byoc_status_t need_norms(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_dim_t size = byoc_dim_constant(sizes->size);
  if (byoc_has_operand(infer->node, GQA_QUERY_NORM) != byoc_has_operand(infer->node, GQA_KEY_NORM)) {
    return byoc_infer_error(infer, "operands 14 and 15, which normalise queries and keys, must be given together");
  }
  for (uint32_t i = GQA_QUERY_NORM; i <= GQA_KEY_NORM; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, &size));
  }
  return BYOC_OK;
}

// The last position of each sequence must be in the cache or among the new ones, and must have angles.
static byoc_status_t need_places(const byoc_infer_t *infer, const sizes_t *sizes) {
  const byoc_limit_t last = {.operand = GQA_LENGTHS,
                             .name = "the last positions of the sequences",
                             .kind = BYOC_RANGE_COUNT,
                             .less = 1,
                             .count = 1,
                             .extents = {{.operand = GQA_TOTAL}},
                             .is_of_data = true};
  BYOC_RETURN_IF_ERROR(byoc_infer_limit(infer, &last));
  if (byoc_has_operand(infer->node, GQA_PAST_KEY) && !byoc_group_query_is_windowed(infer->node)) {
    bool failed = false;
    const byoc_dim_t all = byoc_infer_dim(infer, BYOC_DIM_ADD, sizes->past, sizes->length, &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(
        byoc_infer_need_within(infer, GQA_TOTAL, "the number of positions", byoc_side(all, "those of both")));
  }
  if (!byoc_node_flag(infer->node, "do_rotary")) return BYOC_OK;
  const byoc_side_t angles = byoc_side_of(infer, GQA_COSINES, 0);
  if (byoc_has_operand(infer->node, GQA_PLACES)) {
    return byoc_infer_need_indices(infer, GQA_PLACES, "the positions", angles);
  }
  return byoc_infer_need_within(infer, GQA_TOTAL, "the number of positions", angles);
}

static byoc_status_t infer_group_query(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  sizes_t sizes = {0};
  BYOC_RETURN_IF_ERROR(need_what_is_known(infer));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, GQA_QUERY, 3, 3));
  const byoc_type_t *query = byoc_operand_type(node, GQA_QUERY);
  sizes.batch = query->dims[0], sizes.length = query->dims[1];
  BYOC_RETURN_IF_ERROR(read_heads(infer, &sizes));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, GQA_LENGTHS, is_i32, "lengths of i32"));
  if (!byoc_is_ranked(byoc_operand_type(node, GQA_LENGTHS))) {
    return byoc_infer_unsupported(infer, "operand 5: its rank must be known");
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, GQA_LENGTHS, 1, 2));
  const byoc_dim_t lengths[2] = {sizes.batch, byoc_dim_constant(1)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, GQA_LENGTHS, byoc_operand_type(node, GQA_LENGTHS)->rank, lengths));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, GQA_TOTAL, is_i32, "a length of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, GQA_TOTAL));
  BYOC_RETURN_IF_ERROR(read_cache(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_angles(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_limits(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_norms(infer, &sizes));
  BYOC_RETURN_IF_ERROR(need_places(infer, &sizes));
  for (int side = 0; side < 2; ++side) {
    byoc_dim_t present[4];
    const byoc_dtype_t dtype = byoc_group_query_bits(node, side) == 0
                                   ? query->dtype
                                   : byoc_operand_type(node, GQA_PAST_KEY + (uint32_t)side)->dtype;
    cache_dims(node, &sizes, side, sizes.total, present);
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, GQA_PRESENT_KEY + (uint32_t)side, dtype, 4, present));
  }
  const byoc_dim_t dims[3] = {sizes.batch, sizes.length, byoc_dim_constant(sizes.heads * sizes.size)};
  return byoc_infer_set(infer, GQA_Y, query->dtype, 3, dims);
}

// ---- the table ----

static const byoc_op_attribute_t group_query_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "num_heads")},
                                                             {BYOC_ATTR_REQUIRED(INT, "kv_num_heads")},
                                                             {BYOC_ATTR(FLOAT, "scale")},
                                                             {BYOC_ATTR_FLOAT("softcap", 0.0)},
                                                             {BYOC_ATTR_INT("causal", 1)},
                                                             {BYOC_ATTR_INT("local_window_size", -1)},
                                                             {BYOC_ATTR_INT("do_rotary", 0)},
                                                             {BYOC_ATTR_INT("rotary_interleaved", 0)},
                                                             {BYOC_ATTR_INT("smooth_softmax", -1)},
                                                             {BYOC_ATTR_FLOAT("qk_norm_epsilon", 1e-6)},
                                                             {BYOC_ATTR(FLOAT, "q_norm_epsilon")},
                                                             {BYOC_ATTR(FLOAT, "k_norm_epsilon")},
                                                             {BYOC_ATTR_INT("qk_output", 0)},
                                                             {BYOC_ATTR_INT("sliding_window_cache", 0)},
                                                             {BYOC_ATTR_INT("kv_cache_bit_width", 0)},
                                                             {BYOC_ATTR_TEXT("k_quant_type", "NONE")},
                                                             {BYOC_ATTR_TEXT("v_quant_type", "NONE")},
                                                             BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_group_query[] = {
    {.domain = "com.microsoft",
     .name = "GroupQueryAttention",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 17,
     .min_outputs = 1,
     .max_outputs = 4,
     .traits = BYOC_OP_FUSED | BYOC_OP_LIMITS,
     .work = BYOC_WORK_ATTENTION,
     .factor = 1,
     .attributes = group_query_attributes,
     .infer = infer_group_query,
     .expand = byoc_group_query_expand},
};
const size_t byoc_ops_microsoft_group_query_count =
    sizeof byoc_ops_microsoft_group_query / sizeof *byoc_ops_microsoft_group_query;
