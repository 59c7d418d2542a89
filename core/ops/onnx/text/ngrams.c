// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: counts each n-gram of a pool in a row, with every allowed skip. Words are integers; strings are
// replaced by their indices among the sorted strings of the pool. Each group of words is looked up among the sorted
// n-grams.
#include <stdlib.h>
#include <string.h>

#include "core/op/util.h"
#include "core/ops/onnx/text/string.h"

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
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_text, "strings, as is the pool"));
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
  // ngram_counts has the start of the n-grams of each length in the pool.
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

// ---- CountGrams, PlaceGrams ----

// For each length of n-grams: the index of the first one among the keys, their number, the length, the number of the
// first one, and the steps of a search among them.
enum { PART_START, PART_COUNT, PART_SIZE, PART_FIRST, PART_STEPS, PART_FIELDS };

static byoc_status_t need_rows(const byoc_infer_t *infer, byoc_dtype_predicate_t of, const char *what) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, of, what));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 2));
  if (byoc_is_ranked(byoc_operand_type(infer->node, 0))) return BYOC_OK;
  return byoc_infer_unsupported(infer, "the rank of operand 0 must be known");
}

// Result 0: as many rows as operand 0 has, of `length` floats.
static byoc_status_t set_rows(const byoc_infer_t *infer, const char *length) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  const byoc_dim_t size = byoc_dim_constant(byoc_node_int(infer->node, length));
  const byoc_dim_t dims[] = {x->rank == 2 ? x->dims[0] : size, size};
  return byoc_infer_set(infer, 0, BYOC_DTYPE_F32, x->rank, dims);
}

static byoc_status_t infer_count(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_rows(infer, is_word, "words of i32 or i64"));
  for (uint32_t i = 1; i < 3; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, is_i64, "a tensor of i64"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 1, 1));
  }
  if (!byoc_is_ranked(byoc_operand_type(infer->node, 2))) {
    return byoc_infer_unsupported(infer, "the rank of operand 2 must be known");
  }
  return set_rows(infer, "grams");
}

static byoc_status_t infer_place(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_rows(infer, is_f32, "counts of f32"));
  for (uint32_t i = 1; i < 3; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, is_i64, "a tensor of i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, is_f32, "weights of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 3, 1, 1));
  const byoc_type_t *weights = byoc_operand_type(infer->node, 3);
  if (!byoc_is_ranked(weights)) return byoc_infer_unsupported(infer, "the rank of operand 3 must be known");
  for (uint32_t i = 1; i < 3; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, weights->dims));
  return set_rows(infer, "length");
}

// The row of the result that a kernel writes in its loop over all rows: `row` is its number, `base` the index of its
// first element.
typedef struct row_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_loop_buffer_t *out;
  const byoc_loop_expr_t *row, *base;
} row_t;

static bool open_row(byoc_lower_t *lower, const byoc_node_t *node, row_t *r) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  *r = (row_t){.lower = lower, .b = b, .node = node};
  if (!byoc_lower_result_buffer(lower, node, 0, &r->out)) return false;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *length = byoc_emit_dim(b, y, y->rank - 1);
  const byoc_loop_expr_t *rows = x->rank == 2 ? byoc_emit_dim(b, x, 0) : byoc_loop_int(b, 1);
  r->row = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "n", zero, rows);
  r->base = byoc_loop_let(b, "base", BYOC_LMUL(b, r->row, length));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, length);
  byoc_loop_store(b, r->out, BYOC_LADD(b, r->base, k), byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  byoc_loop_end(b);
  return true;
}

static void add_to_row(const row_t *r, const byoc_loop_expr_t *place, const byoc_loop_expr_t *value) {
  const byoc_loop_expr_t *to = byoc_loop_let(r->b, "to", BYOC_LADD(r->b, r->base, place));
  byoc_loop_store(r->b, r->out, to, BYOC_LADD(r->b, byoc_loop_load(r->b, r->out, to), value));
}

// The words at `first`, `first + step` and so on, and the n-grams of their number.
typedef struct words_t {
  const row_t *r;
  const byoc_loop_expr_t *first, *step, *fields[PART_FIELDS];
} words_t;

// Leaves -1, 0 or 1 in a mutable variable as n-gram g is less than, equal to or greater than the words.
static const byoc_loop_expr_t *compare_with(const words_t *w, const byoc_loop_expr_t *g) {
  byoc_loop_builder_t *b = w->r->b;
  const byoc_node_t *node = w->r->node;
  const int32_t rank = node->operands[0]->type->rank;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *order = byoc_loop_mutable(b, "order", zero),
                         *at[2] = {zero, zero};
  const byoc_loop_expr_t *key = BYOC_LADD(b, w->fields[PART_START], BYOC_LMUL(b, g, w->fields[PART_SIZE]));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, w->fields[PART_SIZE]);
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, order, zero));
  if (rank == 2) at[0] = w->r->row;
  at[rank - 1] = BYOC_LADD(b, w->first, BYOC_LMUL(b, k, w->step));
  const byoc_loop_expr_t *word = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(w->r->lower, node, 0, at));
  const byoc_loop_expr_t *known = byoc_lower_load_flat(w->r->lower, node, 1, BYOC_LADD(b, key, k));
  word = byoc_loop_let(b, "word", word), known = byoc_loop_let(b, "known", known);
  const byoc_loop_expr_t *is_more = byoc_loop_binary(b, BYOC_LOOP_OP_LT, word, known);
  const byoc_loop_expr_t *rest = byoc_loop_select(b, is_more, byoc_loop_int(b, 1), zero);
  const byoc_loop_expr_t *is_less = byoc_loop_binary(b, BYOC_LOOP_OP_LT, known, word);
  byoc_loop_assign(b, order, byoc_loop_select(b, is_less, byoc_loop_int(b, -1), rest));
  byoc_emit_close(b, 2);
  return order;
}

// Finds the n-gram of the words by bisection, and adds 1 to its count.
static void count_words(const words_t *w) {
  byoc_loop_builder_t *b = w->r->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *count = w->fields[PART_COUNT];
  const byoc_loop_expr_t *low = byoc_loop_mutable(b, "low", zero), *high = byoc_loop_mutable(b, "high", count);
  (void)byoc_loop_for(b, BYOC_LOOP_SERIAL, "s", zero, w->fields[PART_STEPS]);
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, low, high));
  const byoc_loop_expr_t *middle =
      byoc_loop_let(b, "middle", BYOC_LDIV(b, BYOC_LADD(b, low, high), byoc_loop_int(b, 2)));
  const byoc_loop_expr_t *is_less = byoc_loop_binary(b, BYOC_LOOP_OP_LT, compare_with(w, middle), zero);
  is_less = byoc_loop_let(b, "is_less", is_less);
  byoc_loop_assign(b, low, byoc_loop_select(b, is_less, BYOC_LADD(b, middle, one), low));
  byoc_loop_assign(b, high, byoc_loop_select(b, is_less, high, middle));
  byoc_emit_close(b, 2);
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, low, count));
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, compare_with(w, low), zero));
  add_to_row(w->r, BYOC_LADD(b, w->fields[PART_FIRST], low), byoc_loop_const(b, BYOC_DTYPE_F32, 1.0));
  byoc_emit_close(b, 2);
}

// Operands: words; keys, the n-grams in ascending order, each length for itself; a row of PART_FIELDS for each length.
static byoc_status_t loops_count(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_type_t *x = node->operands[0]->type;
  const int64_t most_skipped = byoc_node_int(node, "max_skip_count");
  row_t r;
  if (!open_row(lower, node, &r)) return BYOC_UNSUPPORTED;
  byoc_loop_builder_t *b = r.b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *fields = byoc_loop_int(b, PART_FIELDS), *words = byoc_emit_dim(b, x, x->rank - 1);
  const byoc_loop_expr_t *parts = BYOC_LDIV(b, byoc_emit_dim(b, node->operands[2]->type, 0), fields);
  const byoc_loop_expr_t *p = byoc_loop_for(b, BYOC_LOOP_SERIAL, "p", zero, parts);
  words_t w = {.r = &r};
  for (int32_t i = 0; i < PART_FIELDS; ++i) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LMUL(b, p, fields), byoc_loop_int(b, i));
    w.fields[i] = byoc_loop_let(b, "field", byoc_lower_load_flat(lower, node, 2, at));
  }
  // A single word is the same at every skip, and no two words of a row are further apart than it is long.
  const byoc_loop_expr_t *single = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, w.fields[PART_SIZE], one);
  const byoc_loop_expr_t *allowed = byoc_loop_int(b, most_skipped < INT64_MAX ? most_skipped + 1 : most_skipped);
  const byoc_loop_expr_t *distances = byoc_loop_binary(b, BYOC_LOOP_OP_MIN, allowed, words);
  const byoc_loop_expr_t *skips = byoc_loop_select(b, single, one, distances);
  const byoc_loop_expr_t *skip = byoc_loop_for(b, BYOC_LOOP_SERIAL, "skip", zero, skips);
  w.step = byoc_loop_let(b, "step", BYOC_LADD(b, skip, one));
  const byoc_loop_expr_t *reach = BYOC_LMUL(b, BYOC_LSUB(b, w.fields[PART_SIZE], one), w.step);
  w.first = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, BYOC_LSUB(b, words, reach));
  count_words(&w);
  byoc_emit_close(b, 4);
  return BYOC_OK;
}

enum { MODE_TF, MODE_IDF, MODE_TF_IDF }; // as in place_attributes

// Operands: counts; and for each n-gram of the pool the index of its count, its index in the result, and its weight.
static byoc_status_t loops_place(byoc_lower_t *lower, const byoc_node_t *node) {
  const int mode = byoc_node_choice(node, "mode");
  const byoc_type_t *x = node->operands[0]->type;
  row_t r;
  if (!open_row(lower, node, &r)) return BYOC_UNSUPPORTED;
  byoc_loop_builder_t *b = r.b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *grams = byoc_emit_dim(b, node->operands[3]->type, 0);
  const byoc_loop_expr_t *g = byoc_loop_for(b, BYOC_LOOP_SERIAL, "g", zero, grams), *at[2] = {r.row, r.row};
  at[x->rank - 1] = byoc_loop_let(b, "from", byoc_lower_load_flat(lower, node, 1, g));
  const byoc_loop_expr_t *value = byoc_loop_let(b, "count", byoc_lower_load(lower, node, 0, at));
  const byoc_loop_expr_t *unit = byoc_loop_const(b, BYOC_DTYPE_F32, 1.0),
                         *none = byoc_loop_const(b, BYOC_DTYPE_F32, 0.0);
  if (mode == MODE_IDF) value = byoc_loop_select(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, none, value), unit, none);
  if (mode != MODE_TF) value = BYOC_LMUL(b, value, byoc_lower_load_flat(lower, node, 3, g));
  add_to_row(&r, byoc_lower_load_flat(lower, node, 2, g), value);
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

// ---- the tables ----

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The different strings of the pool in ascending order; *out_words: the index there of each string of the pool.
static const char **sort_texts(byoc_arena_t *arena, const byoc_attribute_t *pool, size_t *out_count,
                               const int64_t **out_words) {
  const char **sorted = BYOC_ARENA_ARRAY(arena, const char *, pool->count + 1);
  int64_t *words = BYOC_ARENA_ARRAY(arena, int64_t, pool->count + 1);
  *out_words = words, *out_count = 0;
  if (!sorted || !words) return NULL;
  for (size_t i = 0; i < pool->count; ++i) sorted[i] = pool->strings[i];
  qsort(sorted, pool->count, sizeof(*sorted), compare_texts);
  for (size_t i = 0; i < pool->count; ++i) {
    if (i == 0 || strcmp(sorted[*out_count - 1], sorted[i]) != 0) sorted[(*out_count)++] = sorted[i];
  }
  for (size_t i = 0; i < pool->count; ++i) {
    const char **found = bsearch(&pool->strings[i], sorted, *out_count, sizeof(*sorted), compare_texts);
    words[i] = found - sorted;
  }
  return sorted;
}

typedef struct gram_t {
  const int64_t *words;
  int64_t size, to;
  float weight;
} gram_t;

static int compare_grams(const void *a, const void *b) {
  const gram_t *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  for (int64_t k = 0; k < x->size; ++k) {
    if (x->words[k] != y->words[k]) return x->words[k] < y->words[k] ? -1 : 1;
  }
  return 0;
}

// The n-grams of lengths that are allowed, in ascending order. NULL: out of memory.
static gram_t *sort_grams(const byoc_node_t *node, byoc_arena_t *arena, const int64_t *pool, size_t pool_count,
                          size_t *out_count) {
  size_t index_count = 0, start_count = 0, weight_count = 0, seen = 0;
  const int64_t *indexes = byoc_node_ints(node, "ngram_indexes", &index_count);
  const int64_t *starts = byoc_node_ints(node, "ngram_counts", &start_count);
  const double *weights = byoc_node_floats(node, "weights", &weight_count);
  const int64_t shortest = byoc_node_int(node, "min_gram_length"), longest = byoc_node_int(node, "max_gram_length");
  gram_t *grams = BYOC_ARENA_ARRAY(arena, gram_t, index_count + 1);
  *out_count = 0;
  for (size_t s = 0; s < start_count && grams; ++s) {
    const int64_t n = (int64_t)s + 1, end = s + 1 < start_count ? starts[s + 1] : (int64_t)pool_count;
    for (int64_t at = starts[s]; at < end; at += n, ++seen) {
      if (n < shortest || n > longest) continue;
      const float weight = seen < weight_count ? (float)weights[seen] : 1.0f;
      grams[(*out_count)++] = (gram_t){pool + at, n, indexes[seen], weight};
    }
  }
  if (grams) qsort(grams, *out_count, sizeof(*grams), compare_grams);
  return grams;
}

// Operands of CountGrams and PlaceGrams.
typedef struct tables_t {
  int64_t *keys, *parts, *from, *to;
  float *weights;
  int64_t key_count, part_count, different; // n-grams that differ from each other
} tables_t;

static bool fill_tables(byoc_arena_t *arena, const gram_t *grams, size_t count, size_t pool_count, tables_t *t) {
  *t = (tables_t){.keys = BYOC_ARENA_ARRAY(arena, int64_t, pool_count + 1),
                  .parts = BYOC_ARENA_ARRAY(arena, int64_t, PART_FIELDS * (count + 1)),
                  .from = BYOC_ARENA_ARRAY(arena, int64_t, count + 1),
                  .to = BYOC_ARENA_ARRAY(arena, int64_t, count + 1),
                  .weights = BYOC_ARENA_ARRAY(arena, float, count + 1)};
  if (!t->keys || !t->parts || !t->from || !t->to || !t->weights) return false;
  int64_t *part = t->parts;
  for (size_t i = 0; i < count; ++i) {
    const gram_t *gram = &grams[i];
    if (i == 0 || compare_grams(&grams[i - 1], gram) != 0) {
      if (i == 0 || grams[i - 1].size != gram->size) {
        part = &t->parts[PART_FIELDS * t->part_count++];
        part[PART_START] = t->key_count, part[PART_SIZE] = gram->size, part[PART_FIRST] = t->different;
        part[PART_COUNT] = part[PART_STEPS] = 0;
      }
      memcpy(&t->keys[t->key_count], gram->words, (size_t)gram->size * sizeof(*t->keys));
      t->key_count += gram->size, t->different += 1, part[PART_COUNT] += 1;
      if (part[PART_COUNT] >> part[PART_STEPS] > 0) part[PART_STEPS] += 1;
    }
    t->from[i] = t->different - 1, t->to[i] = gram->to, t->weights[i] = gram->weight;
  }
  return true;
}

// TfIdfVectorizer(x) → byoc::PlaceGrams(byoc::CountGrams(x, keys, parts), from, to, weights)
static byoc_status_t expand_tf_idf(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_arena_t *arena = &node->function->module->arena;
  size_t pool_count = 0, text_count = 0, count = 0;
  const int64_t *pool = byoc_node_ints(node, "pool_int64s", &pool_count);
  byoc_value_t *words = node->operands[0];
  const byoc_attribute_t *texts = byoc_node_given(node, "pool_strings");
  if (texts) {
    pool_count = texts->count;
    const char **sorted = sort_texts(arena, texts, &text_count, &pool);
    if (!sorted) return byoc_diag_out_of_memory(diag);
    byoc_value_t *looked_up[] = {words, byoc_write_strings(&w, "words", text_count, sorted)};
    const byoc_type_t *type = byoc_type_tensor(arena, BYOC_DTYPE_I64, words->type->rank, words->type->dims);
    words = byoc_write_string(&w, "search", looked_up, 2, type);
  }
  tables_t t;
  const gram_t *grams = sort_grams(node, arena, pool, pool_count, &count);
  if (!grams || !fill_tables(arena, grams, count, pool_count, &t)) return byoc_diag_out_of_memory(diag);
  const byoc_type_t *y = node->results[0]->type;
  const byoc_attribute_t counting[] = {byoc_write_int("grams", t.different),
                                       byoc_write_int("max_skip_count", byoc_node_int(node, "max_skip_count"))};
  const byoc_attribute_t placing[] = {byoc_write_int("length", y->dims[y->rank - 1].constant),
                                      *byoc_node_given(node, "mode")};
  byoc_value_t *counts = byoc_write_node(
      &w, "byoc", "CountGrams", words, byoc_write_vector(&w, "keys", BYOC_DTYPE_I64, t.key_count, t.keys),
      byoc_write_vector(&w, "parts", BYOC_DTYPE_I64, PART_FIELDS * t.part_count, t.parts), counting, 2);
  byoc_value_t *operands[] = {counts, byoc_write_vector(&w, "from", BYOC_DTYPE_I64, (int64_t)count, t.from),
                              byoc_write_vector(&w, "to", BYOC_DTYPE_I64, (int64_t)count, t.to),
                              byoc_write_vector(&w, "weights", BYOC_DTYPE_F32, (int64_t)count, t.weights)};
  byoc_node_t *made = counts ? byoc_write_many(&w, "byoc", "PlaceGrams", operands, 4, 1, placing, 2) : NULL;
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
    {BYOC_ATTR_REQUIRED(INT, "grams")},
    {BYOC_ATTR_INT("max_skip_count", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t place_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "mode"), .allowed = BYOC_ATTR_ALLOWED("TF", "IDF", "TFIDF")},
    {BYOC_ATTR_REQUIRED(INT, "length")},
    BYOC_ATTR_END,
};

#define STEP(Name, operands, schema, function)                                                                         \
  {                                                                                                                    \
    .domain = "byoc", .name = Name, .since_version = 1, .min_inputs = operands, .max_inputs = operands,                \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_OPAQUE | BYOC_OP_HEAVY, .attributes = schema,                \
    .infer = infer_##function, .loops = loops_##function                                                               \
  }

const byoc_op_t byoc_ops_ngrams[] = {
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
    STEP("CountGrams", 3, count_attributes, count),
    STEP("PlaceGrams", 4, place_attributes, place),
};
const size_t byoc_ops_ngrams_count = sizeof byoc_ops_ngrams / sizeof *byoc_ops_ngrams;
