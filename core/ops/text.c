// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: counts each n-gram of a pool in a row, with every allowed skip. Words are integers; texts are
// replaced by their places in the pool.
#include <string.h>

#include "core/ops/string.h"
#include "core/ops/util.h"

static bool is_word(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

static bool is_text(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_STRING;
}

static byoc_status_t infer_tf_idf(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_attribute_t *texts = byoc_node_given(node, "pool_strings");
  if (texts) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_text, "texts, as is the pool"));
  } else {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_word, "a tensor of i32 or i64, as is the pool"));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 2));
  size_t index_count = 0, start_count = 0, pool_count = 0;
  const int64_t *indexes = byoc_node_ints(node, "ngram_indexes", &index_count);
  const int64_t *starts = byoc_node_ints(node, "ngram_counts", &start_count);
  byoc_node_ints(node, "pool_int64s", &pool_count);
  if (texts) pool_count = texts->count;
  int64_t length = 0, grams = 0;
  for (size_t i = 0; i < index_count; ++i) {
    if (indexes[i] < 0 || indexes[i] > INT32_MAX) {
      return byoc_infer_error(infer, "attribute 'ngram_indexes': expected values in [0, %d], got %lld", INT32_MAX,
                              (long long)indexes[i]);
    }
    if (indexes[i] >= length) length = indexes[i] + 1;
  }
  // ngram_counts holds the start in the pool of the n-grams of each length.
  for (size_t i = 0; i < start_count; ++i) {
    int64_t end = i + 1 < start_count ? starts[i + 1] : (int64_t)pool_count;
    if (starts[i] < 0 || end < starts[i] || end > (int64_t)pool_count || (end - starts[i]) % (int64_t)(i + 1) != 0) {
      return byoc_infer_error(infer, "attribute 'ngram_counts' does not fit the pool");
    }
    grams += (end - starts[i]) / (int64_t)(i + 1);
  }
  if (grams != (int64_t)index_count) {
    return byoc_infer_error(infer, "the pool holds %lld n-grams, 'ngram_indexes' %zu", (long long)grams, index_count);
  }
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, BYOC_DTYPE_F32);
  byoc_dim_t dims[] = {x->dims[0], byoc_dim_constant(length)};
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, x->rank, x->rank == 2 ? dims : &dims[1]);
}

static byoc_status_t infer_count(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_word, "words of i32 or i64"));
  for (uint32_t i = 1; i < 3; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, is_i64, "a tensor of i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, is_f32, "weights of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 3, 1, 1));
  if (!byoc_is_ranked(x) || !byoc_is_ranked(byoc_operand_type(infer->node, 3))) {
    return byoc_infer_unsupported(infer, "the ranks of the operands must be known");
  }
  byoc_dim_t grams = byoc_operand_type(infer->node, 3)->dims[0];
  bool is_known = byoc_dim_is_constant(grams) && grams.constant <= INT32_MAX;
  if (is_known) BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 2, 3 * grams.constant));
  byoc_dim_t length = byoc_dim_constant(byoc_node_int(infer->node, "length"));
  byoc_dim_t dims[] = {x->rank == 2 ? x->dims[0] : length, length};
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, x->rank, dims);
}

enum { MODE_TF, MODE_IDF, MODE_TF_IDF }; // as in count_attributes

// Operands: words, pool, and a row {start in the pool, n, place in the result} and a weight for each n-gram.
static byoc_status_t loops_count(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  int mode = byoc_node_choice(node, "mode");
  int64_t most_skipped = byoc_node_int(node, "max_skip_count");
  const byoc_loop_buffer_t *out = NULL;
  if (!byoc_lower_result_buffer(lower, node, 0, &out)) return BYOC_UNSUPPORTED;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *at[2] = {zero, zero};
  const byoc_loop_expr_t *rows = x->rank == 2 ? byoc_emit_dim(b, x, 0) : one;
  const byoc_loop_expr_t *words = byoc_emit_dim(b, x, x->rank - 1), *length = byoc_emit_dim(b, y, y->rank - 1);
  const byoc_loop_expr_t *grams = byoc_emit_dim(b, node->operands[3]->type, 0);
  const byoc_loop_expr_t *row = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "n", zero, rows);
  const byoc_loop_expr_t *base = byoc_loop_let(b, "base", BYOC_LMUL(b, row, length));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, length);
  byoc_loop_store(b, out, BYOC_LADD(b, base, k), byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  byoc_loop_end(b);
  const byoc_loop_expr_t *g = byoc_loop_for(b, BYOC_LOOP_SERIAL, "g", zero, grams), *fields[3];
  for (int32_t i = 0; i < 3; ++i) {
    const byoc_loop_expr_t *index = BYOC_LADD(b, BYOC_LMUL(b, g, byoc_loop_int(b, 3)), byoc_loop_int(b, i));
    fields[i] = byoc_loop_let(b,
                              i == 0   ? "start"
                              : i == 1 ? "size"
                                       : "to",
                              byoc_lower_load_flat(lower, node, 2, index));
  }
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  // A single word is the same at every skip, and no two words of a row are further apart than it is long.
  const byoc_loop_expr_t *single = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, fields[1], one);
  const byoc_loop_expr_t *allowed = byoc_loop_int(b, most_skipped < INT64_MAX ? most_skipped + 1 : most_skipped);
  const byoc_loop_expr_t *distances = byoc_loop_binary(b, BYOC_LOOP_OP_MIN, allowed, words);
  const byoc_loop_expr_t *skips = byoc_loop_select(b, single, one, distances);
  const byoc_loop_expr_t *skip = byoc_loop_for(b, BYOC_LOOP_SERIAL, "skip", zero, skips);
  const byoc_loop_expr_t *step = byoc_loop_let(b, "step", BYOC_LADD(b, skip, one));
  const byoc_loop_expr_t *reach = BYOC_LMUL(b, BYOC_LSUB(b, fields[1], one), step);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, BYOC_LSUB(b, words, reach));
  const byoc_loop_expr_t *same = byoc_loop_mutable(b, "same", byoc_loop_const_int(b, BYOC_DTYPE_BOOL, 1));
  k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, fields[1]);
  at[x->rank - 1] = BYOC_LADD(b, i, BYOC_LMUL(b, k, step));
  if (x->rank == 2) at[0] = row;
  const byoc_loop_expr_t *word = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(lower, node, 0, at));
  const byoc_loop_expr_t *known = byoc_lower_load_flat(lower, node, 1, BYOC_LADD(b, fields[0], k));
  const byoc_loop_expr_t *equal = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, word, known);
  byoc_loop_assign(b, same, byoc_loop_binary(b, BYOC_LOOP_OP_AND, same, equal));
  byoc_loop_end(b);
  const byoc_loop_expr_t *unit = byoc_loop_const(b, BYOC_DTYPE_F32, 1.0),
                         *none = byoc_loop_const(b, BYOC_DTYPE_F32, 0.0);
  byoc_loop_assign(b, count, byoc_loop_select(b, same, BYOC_LADD(b, count, unit), count));
  byoc_emit_close(b, 2);
  const byoc_loop_expr_t *value = count;
  if (mode == MODE_IDF) {
    value = byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, none, count), unit, none);
  }
  if (mode != MODE_TF) value = BYOC_LMUL(b, value, byoc_lower_load_flat(lower, node, 3, g));
  const byoc_loop_expr_t *to = BYOC_LADD(b, base, fields[2]);
  byoc_loop_store(b, out, to, BYOC_LADD(b, byoc_loop_load(b, out, to), value));
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

// For each text of the pool the place of the first equal one, which is the result of looking words up.
static const int64_t *places_in_pool(byoc_arena_t *arena, const byoc_attribute_t *texts) {
  int64_t *places = BYOC_ARENA_ARRAY(arena, int64_t, texts->count + 1);
  for (size_t i = 0; places && i < texts->count; ++i) {
    size_t k = 0;
    while (strcmp(texts->strings[k], texts->strings[i]) != 0) ++k;
    places[i] = (int64_t)k;
  }
  return places;
}

// TfIdfVectorizer(x) → byoc::CountGrams(x, pool, n-grams, weights), with only the n-grams of allowed lengths
static byoc_status_t expand_tf_idf(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_arena_t *arena = &node->function->module->arena;
  size_t index_count = 0, start_count = 0, pool_count = 0, weight_count = 0;
  const int64_t *indexes = byoc_node_ints(node, "ngram_indexes", &index_count);
  const int64_t *starts = byoc_node_ints(node, "ngram_counts", &start_count);
  const int64_t *pool = byoc_node_ints(node, "pool_int64s", &pool_count);
  byoc_value_t *words = node->operands[0];
  const byoc_attribute_t *texts = byoc_node_given(node, "pool_strings");
  if (texts) {
    pool_count = texts->count;
    pool = places_in_pool(arena, texts);
    if (!pool) return byoc_diag_out_of_memory(diag);
    byoc_value_t *looked_up[] = {words, byoc_write_texts(&w, "words", texts->count, texts->strings)};
    const byoc_type_t *type = byoc_type_tensor(arena, BYOC_DTYPE_I64, words->type->rank, words->type->dims);
    words = byoc_write_text(&w, "index_of", looked_up, 2, type);
  }
  const double *given = byoc_node_floats(node, "weights", &weight_count);
  int64_t shortest = byoc_node_int(node, "min_gram_length");
  int64_t longest = byoc_node_int(node, "max_gram_length");
  int64_t *grams = BYOC_ARENA_ARRAY(arena, int64_t, 3 * index_count + 1), kept = 0, seen = 0;
  float *weights = BYOC_ARENA_ARRAY(arena, float, index_count + 1);
  if (!grams || !weights) return byoc_diag_out_of_memory(diag);
  for (size_t s = 0; s < start_count; ++s) {
    int64_t n = (int64_t)s + 1, end = s + 1 < start_count ? starts[s + 1] : (int64_t)pool_count;
    for (int64_t at = starts[s]; at < end; at += n, ++seen) {
      if (n < shortest || n > longest) continue;
      grams[3 * kept] = at, grams[3 * kept + 1] = n, grams[3 * kept + 2] = indexes[seen];
      weights[kept++] = (size_t)seen < weight_count ? (float)given[seen] : 1.0f;
    }
  }
  const byoc_type_t *y = node->results[0]->type;
  const byoc_attribute_t attributes[] = {
      {.name = "length", .kind = BYOC_ATTRIBUTE_INT, .i = y->dims[y->rank - 1].constant},
      {.name = "max_skip_count", .kind = BYOC_ATTRIBUTE_INT, .i = byoc_node_int(node, "max_skip_count")},
      *byoc_node_given(node, "mode"),
  };
  byoc_value_t *operands[] = {words, byoc_write_vector(&w, "pool", BYOC_DTYPE_I64, (int64_t)pool_count, pool),
                              byoc_write_vector(&w, "grams", BYOC_DTYPE_I64, 3 * kept, grams),
                              byoc_write_vector(&w, "weights", BYOC_DTYPE_F32, kept, weights)};
  byoc_node_t *made = byoc_write_many(&w, "byoc", "CountGrams", operands, 4, 1, attributes, 3);
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

static const byoc_op_attribute_t tf_idf_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "mode"), .allowed = BYOC_ATTR_ALLOWED("TF", "IDF", "TFIDF")},
    {BYOC_ATTR_REQUIRED(INT, "min_gram_length")},
    {BYOC_ATTR_REQUIRED(INT, "max_gram_length")},
    {BYOC_ATTR_REQUIRED(INT, "max_skip_count")},
    {BYOC_ATTR_REQUIRED(INTS, "ngram_counts")},
    {BYOC_ATTR_REQUIRED(INTS, "ngram_indexes")},
    {BYOC_ATTR(INTS, "pool_int64s")},
    {BYOC_ATTR(STRINGS, "pool_strings")},
    {BYOC_ATTR(FLOATS, "weights")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t count_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "mode"), .allowed = BYOC_ATTR_ALLOWED("TF", "IDF", "TFIDF")},
    {BYOC_ATTR_REQUIRED(INT, "length")},
    {BYOC_ATTR_INT("max_skip_count", 0)},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_text[] = {
    {.domain = "",
     .name = "TfIdfVectorizer",
     .since_version = 9,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = tf_idf_attributes,
     .infer = infer_tf_idf,
     .expand = expand_tf_idf},
    {.domain = "byoc",
     .name = "CountGrams",
     .since_version = 1,
     .min_inputs = 4,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_OPAQUE | BYOC_OP_HEAVY,
     .attributes = count_attributes,
     .infer = infer_count,
     .loops = loops_count},
};
const size_t byoc_ops_text_count = sizeof byoc_ops_text / sizeof *byoc_ops_text;
