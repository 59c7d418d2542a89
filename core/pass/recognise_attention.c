// SPDX-License-Identifier: Apache-2.0
// recognise-attention: the products around a softmax that exporters write for attention become one operator, if a
// backend computes such operators.
//
//   %0 = MatMul(%q, %k)            q, v [batch, heads, length, size], k [batch, heads, size, length]
//   %1 = Div(%0, @scale)           or Mul, or both; also on q or k
//   %2 = Add(%1, %mask)            or Where(%mask, %1, @lowest), or nothing; a position bias may be added too
//   %3 = Softmax(%2)          →    %4 = Attention(%q, transposed %k, %v, %mask) {scale}
//   %4 = MatMul(%3, %v)
//
// If q, k and v are transposed [batch, length, heads, size], and the result is transposed back, the operator takes its
// operands as [batch, length, heads * size] and the transposes go. If k and v are a cache of earlier steps with new
// rows appended, and the model returns them for the next step, the operator appends the rows too:
//
//   %k = Concat(%past_k, %new_k)   along the length; %v alike; both results of the block
//   →  %4, %k, %v = Attention(%q, %new_k, %new_v, %mask, %past_k, %past_v) {scale}
//
// A row whose scores are all -inf then gives zeros, as ONNX defines for Attention, instead of the NaN of a softmax that
// is written out. NaN is of no use there, and torch's own operator gives zeros, too.
//
// One head of keys and values may serve all heads of queries. Batches and lengths may be those of a run, where types
// say that they are the same; heads and their sizes are numbers.
#include <math.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/op/write.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/pass/terms.h"

enum { ATTENTION_OPSET = 23, MAX_OPERANDS = 6, MAX_RESULTS = 3, MAX_MASKS = 2 };

static const int64_t swap_rows_and_heads[] = {0, 2, 1, 3}, swap_last[] = {0, 1, 3, 2}, keys_last[] = {0, 2, 3, 1};

// Attention as far as it was read, from its last product.
typedef struct attention_t {
  byoc_node_t *product;           // of the softmax with v
  byoc_value_t *q, *v;            // [batch, heads, length, size]
  byoc_value_t *k;                // the same; NULL if only `k_rows` is known
  byoc_value_t *k_rows;           // [batch, length, heads, size]; NULL if only `k` is known
  byoc_value_t *masks[MAX_MASKS]; // are added; `mask_count` of them
  uint32_t mask_count;
  byoc_value_t *kept, *elsewhere; // Where(kept, scores, elsewhere); NULL: none
  double scale;
} attention_t;

// ---- reading ----

// A tensor of f32 that is not known to be empty.
static bool is_f32(const byoc_value_t *value, int32_t rank) {
  const byoc_type_t *type = value->type;
  if (!byoc_is_ranked(type) || type->dtype != BYOC_DTYPE_F32 || type->rank != rank) return false;
  for (int32_t i = 0; i < rank; ++i) {
    if (byoc_dim_is_constant(type->dims[i]) && type->dims[i].constant == 0) return false;
  }
  return true;
}

static byoc_dim_t dim(const byoc_value_t *value, int32_t index) {
  return value->type->dims[index];
}

static bool same_dim(const byoc_value_t *a, int32_t index_a, const byoc_value_t *b, int32_t index_b) {
  return byoc_dim_equal(dim(a, index_a), dim(b, index_b));
}

// A dimension that is a number.
static bool is_number(const byoc_value_t *value, int32_t index) {
  return byoc_dim_is_constant(dim(value, index));
}

static int64_t number(const byoc_value_t *value, int32_t index) {
  return dim(value, index).constant;
}

// A mask as it is added to the scores: each of its dimensions is the scores' or 1.
static bool is_spread(const byoc_type_t *mask, const byoc_type_t *scores) {
  if (!byoc_is_ranked(mask) || mask->rank < 1 || mask->rank > 4) return false;
  for (int32_t i = 0; i < mask->rank; ++i) {
    const byoc_dim_t own = mask->dims[i];
    if (byoc_dim_is_constant(own) && own.constant == 1) continue;
    if (!byoc_dim_equal(own, scores->dims[4 - mask->rank + i])) return false;
  }
  return true;
}

// The operand of a Transpose with this permutation; NULL if the value is not one.
static byoc_value_t *transposed(const byoc_value_t *value, const int64_t permutation[4]) {
  const byoc_node_t *node = byoc_value_open_producer(value);
  size_t count = 0;
  if (node == NULL || !byoc_node_is_onnx(node, "Transpose")) return NULL;
  const int64_t *given = byoc_node_ints(node, "perm", &count);
  if (given == NULL || count != 4 || memcmp(given, permutation, 4 * sizeof(int64_t)) != 0) return NULL;
  return node->operands[0];
}

// Softmax over the last axis. Before operator set 13 the default is another one.
static bool is_over_last_axis(const byoc_node_t *softmax) {
  int64_t axis = byoc_node_int(softmax, "axis");
  return axis == -1 || axis == softmax->operands[0]->type->rank - 1;
}

// Moves factors from `value` into the scale and returns the rest; that is the value itself if it is no product with a
// number.
static byoc_value_t *without_factor(byoc_value_t *value, double *scale) {
  byoc_product_t product;
  if (!byoc_term_product(value, &product) || product.count != 1) return value;
  if (!byoc_type_equal(product.factors[0]->type, value->type)) return value;
  *scale *= product.scalar;
  return product.factors[0];
}

// scale * (q · k)
static bool read_scores(byoc_value_t *value, attention_t *attention) {
  double scale = 1;
  const byoc_node_t *product = byoc_term_inner(without_factor(value, &scale), attention->product->block, "MatMul");
  if (product == NULL || value->uses.count != 1) return false;
  byoc_value_t *k = without_factor(product->operands[1], &scale);
  attention->q = without_factor(product->operands[0], &scale);
  attention->k = transposed(k, swap_last);
  attention->k_rows =
      transposed(attention->k != NULL ? attention->k : k, attention->k != NULL ? swap_rows_and_heads : keys_last);
  attention->scale = scale;
  return is_f32(attention->q, 4) && (attention->k != NULL || attention->k_rows != NULL) && scale > 0;
}

// Where(kept, score, number), with a number so low that adding it to any score gives the number itself.
static bool read_where(byoc_value_t *value, attention_t *attention) {
  const byoc_node_t *where = byoc_term_inner(value, attention->product->block, "Where");
  double number;
  if (where == NULL || !byoc_term_scalar(where->operands[2], &number) || !(number <= -1e30)) return false;
  if (!byoc_type_equal(where->operands[1]->type, value->type)) return false;
  if (!is_spread(where->operands[0]->type, value->type)) return false;
  if (!read_scores(where->operands[1], attention)) return false;
  attention->kept = where->operands[0];
  attention->elsewhere = where->operands[2];
  return true;
}

// Scores, with masks or without.
static bool read_masked(byoc_value_t *value, attention_t *attention) {
  if (read_scores(value, attention) || read_where(value, attention)) return true;
  const byoc_node_t *add = byoc_term_inner(value, attention->product->block, "Add");
  if (add == NULL || attention->mask_count == MAX_MASKS) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    byoc_value_t *scores = add->operands[i], *mask = add->operands[1 - i];
    if (!byoc_type_equal(scores->type, value->type) || !is_spread(mask->type, value->type)) continue;
    attention->masks[attention->mask_count++] = mask;
    if (read_masked(scores, attention)) return true;
    --attention->mask_count;
  }
  return false;
}

// There are as many batches of keys and values as of queries, and as many heads or one that serves all. Heads and their
// sizes are numbers.
static bool shapes_agree(const attention_t *a) {
  const byoc_value_t *scores = a->product->operands[0], *k = a->k != NULL ? a->k : a->k_rows;
  const int32_t heads = a->k != NULL ? 1 : 2, length = 3 - heads; // of k
  if (!is_number(a->q, 1) || !is_number(a->q, 3) || !is_number(a->v, 3) || !is_number(k, 3)) return false;
  if (!is_number(a->v, 1) || (number(a->v, 1) != 1 && number(a->v, 1) != number(a->q, 1))) return false;
  return same_dim(scores, 0, a->q, 0) && same_dim(scores, 1, a->q, 1) && same_dim(a->v, 0, a->q, 0) &&
         same_dim(k, 0, a->q, 0) && same_dim(k, heads, a->v, 1) && same_dim(k, length, a->v, 2);
}

static bool read_attention(byoc_node_t *product, attention_t *out_attention) {
  *out_attention = (attention_t){.product = product, .v = product->operands[1]};
  const byoc_node_t *softmax = byoc_term_inner(product->operands[0], product->block, "Softmax");
  return softmax != NULL && is_f32(product->operands[0], 4) && is_f32(out_attention->v, 4) &&
         is_over_last_axis(softmax) && read_masked(softmax->operands[0], out_attention) && shapes_agree(out_attention);
}

// The Concat of cached and new rows that makes `value`, read by one node and returned by the block, so its rows may
// also be written later. NULL if there is none.
static byoc_node_t *find_cache(const byoc_value_t *value, const byoc_node_t **out_reader) {
  byoc_node_t *concat = byoc_value_open_producer(value);
  *out_reader = NULL;
  if (concat == NULL || !byoc_node_is_onnx(concat, "Concat") || concat->operand_count != 2) return NULL;
  int64_t axis = byoc_node_int(concat, "axis");
  if ((axis != 2 && axis != -2) || !is_f32(concat->operands[0], 4) || !is_f32(concat->operands[1], 4)) return NULL;
  for (size_t i = 0; i < value->uses.count; ++i) {
    const byoc_use_t *use = &value->uses.data[i];
    if (use->node != NULL ? *out_reader != NULL : use->block != concat->block) return NULL;
    if (use->node != NULL) *out_reader = use->node;
  }
  return *out_reader != NULL && value->uses.count > 1 ? concat : NULL;
}

// Both Concats; false if keys and values are not such a cache, or if no target claims one.
static bool find_caches(const attention_t *a, const byoc_target_list_t *targets, byoc_node_t *concats[2]) {
  const byoc_node_t *readers[2];
  if (targets != NULL && !byoc_target_list_has_rule(targets, "Attention", MAX_OPERANDS)) return false;
  if (a->k == NULL || (concats[0] = find_cache(a->k, &readers[0])) == NULL) return false;
  if ((concats[1] = find_cache(a->v, &readers[1])) == NULL) return false;
  return readers[0]->results[0]->uses.count == 1 && // on the way to the scores
         same_dim(concats[0]->operands[0], 2, concats[1]->operands[0], 2);
}

// ---- writing ----

// A dimension as Reshape takes it: one that is no number is the operand's at that place.
static int64_t kept_dim(const byoc_value_t *value, int32_t index) {
  return is_number(value, index) ? number(value, index) : 0;
}

// [batch, length, heads, size] as [batch, length, heads * size]: the tensor before a reshape, if there was one.
static byoc_value_t *join_heads(byoc_writer_t *w, byoc_value_t *x) {
  const int64_t dims[] = {kept_dim(x, 0), kept_dim(x, 1), number(x, 2) * number(x, 3)};
  const byoc_node_t *node = byoc_value_open_producer(x);
  byoc_value_t *from = node != NULL && byoc_node_is_onnx(node, "Reshape") ? node->operands[0] : NULL;
  if (from != NULL && is_f32(from, 3) && same_dim(from, 0, x, 0) && same_dim(from, 1, x, 1) && is_number(from, 2) &&
      number(from, 2) == dims[2])
    return from;
  return byoc_write_reshape(w, x, dims, 3);
}

// The mask that is added to the scores.
static byoc_value_t *write_mask(byoc_writer_t *w, const attention_t *a) {
  static const float nothing = 0;
  byoc_value_t *mask = a->mask_count > 0 ? a->masks[0] : NULL;
  if (a->mask_count > 1) mask = byoc_write_plain(w, "Add", mask, a->masks[1]);
  if (a->kept == NULL || w->failed) return mask;
  byoc_value_t *zero = byoc_write_vector(w, "zero", BYOC_DTYPE_F32, 1, &nothing);
  byoc_value_t *added = byoc_write_node(w, "", "Where", a->kept, zero, a->elsewhere, NULL, 0);
  return mask != NULL && added != NULL ? byoc_write_plain(w, "Add", added, mask) : added;
}

static byoc_node_t *write_operator(byoc_writer_t *w, byoc_value_t *const operands[MAX_OPERANDS], uint32_t result_count,
                                   const byoc_attribute_t *attributes, size_t attribute_count) {
  const byoc_op_t *op = byoc_op_find("", "Attention", ATTENTION_OPSET);
  if (op == NULL || w->failed) return NULL;
  uint32_t count = MAX_OPERANDS;
  while (operands[count - 1] == NULL) --count;
  byoc_node_t *node =
      byoc_node_create(w->node->block, w->node, "", "Attention", op->since_version, operands, count, result_count);
  bool ok = node != NULL && byoc_node_set_name(node, w->node->name);
  for (size_t i = 0; i < attribute_count && ok; ++i) ok = byoc_attributes_set(&node->attributes, &attributes[i]);
  return ok && byoc_infer_node(node, NULL) == BYOC_OK ? node : NULL;
}

// The Transpose to [batch, length, heads, size] that is the only reader of the result; NULL if there is none.
static byoc_node_t *find_merge(const byoc_value_t *result) {
  byoc_node_t *node = result->uses.count == 1 ? result->uses.data[0].node : NULL;
  return node != NULL && node->block == result->node->block && node->result_count == 1 &&
                 transposed(node->results[0], swap_rows_and_heads) == result
             ? node
             : NULL;
}

// Operands and result as [batch, length, heads * size].
static byoc_status_t write_flat(const attention_t *a, byoc_node_t *merge, byoc_value_t *q, byoc_value_t *v,
                                byoc_diag_t *diag, size_t *changes) {
  byoc_writer_t w = {.node = a->product, .diag = diag};
  const byoc_attribute_t attributes[] = {{.name = "q_num_heads", .kind = BYOC_ATTRIBUTE_INT, .i = number(a->q, 1)},
                                         {.name = "kv_num_heads", .kind = BYOC_ATTRIBUTE_INT, .i = number(a->v, 1)},
                                         {.name = "scale", .kind = BYOC_ATTRIBUTE_FLOAT, .f = a->scale}};
  byoc_value_t *merged = merge->results[0];
  const int64_t dims[] = {kept_dim(merged, 0), kept_dim(merged, 1), number(merged, 2), number(merged, 3)};
  byoc_value_t *operands[MAX_OPERANDS] = {join_heads(&w, q), join_heads(&w, a->k_rows), join_heads(&w, v),
                                          write_mask(&w, a)};
  const byoc_node_t *node = write_operator(&w, operands, 1, attributes, 3);
  if (node == NULL) return byoc_diag_failure(diag);
  byoc_value_t *y = node->results[0];
  byoc_node_t *reader = merged->uses.count == 1 ? merged->uses.data[0].node : NULL;
  bool is_joined = reader != NULL && byoc_node_is_onnx(reader, "Reshape") && reader->operands[0] == merged &&
                   byoc_type_equal(reader->results[0]->type, y->type);
  if (is_joined) return byoc_pass_replace(reader, y, diag, changes);
  return byoc_pass_replace(merge, byoc_write_reshape(&w, y, dims, 4), diag, changes);
}

// Results of the block that were `value` become `by`.
static bool replace_results(byoc_value_t *value, byoc_value_t *by) {
  if (value->name != NULL) byoc_value_set_name(by, value->name);
  byoc_block_t *block = value->node->block;
  for (uint32_t i = 0; i < block->results.count; ++i) {
    if (block->results.data[i] == value && !byoc_block_set_result(block, i, by)) return false;
  }
  return true;
}

// Operands and result as [batch, heads, length, size]; `concats` are those of the caches, NULL if there are none.
static byoc_status_t write_by_heads(const attention_t *a, byoc_node_t *const concats[2], byoc_diag_t *diag,
                                    size_t *changes) {
  byoc_writer_t w = {.node = a->product, .diag = diag};
  const byoc_attribute_t scale = {.name = "scale", .kind = BYOC_ATTRIBUTE_FLOAT, .f = a->scale};
  byoc_value_t *operands[MAX_OPERANDS] = {a->q, a->k, a->v};
  if (a->k == NULL) operands[1] = byoc_write_transpose(&w, a->k_rows, swap_rows_and_heads, 4);
  operands[3] = write_mask(&w, a);
  for (uint32_t i = 0; concats != NULL && i < 2; ++i) {
    operands[1 + i] = concats[i]->operands[1];
    operands[4 + i] = concats[i]->operands[0];
  }
  const byoc_node_t *node = write_operator(&w, operands, concats != NULL ? MAX_RESULTS : 1, &scale, 1);
  if (node == NULL) return byoc_diag_failure(diag);
  for (uint32_t i = 0; concats != NULL && i < 2; ++i) {
    if (!replace_results(concats[i]->results[0], node->results[1 + i])) return byoc_diag_out_of_memory(diag);
  }
  return byoc_pass_replace(a->product, node->results[0], diag, changes);
}

static byoc_status_t recognise_node(byoc_node_t *product, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                    size_t *changes) {
  attention_t attention;
  byoc_node_t *concats[2];
  if (!read_attention(product, &attention)) return BYOC_OK;
  byoc_node_t *merge = find_merge(product->results[0]);
  byoc_value_t *q = transposed(attention.q, swap_rows_and_heads), *v = transposed(attention.v, swap_rows_and_heads);
  bool is_flat = merge != NULL && q != NULL && v != NULL && attention.k_rows != NULL;
  bool is_cached = !is_flat && find_caches(&attention, targets, concats);
  return is_flat ? write_flat(&attention, merge, q, v, diag, changes)
                 : write_by_heads(&attention, is_cached ? concats : NULL, diag, changes);
}

static byoc_status_t recognise(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  if (!byoc_node_is_onnx(node, "MatMul") || node->results[0]->uses.count == 0) return BYOC_OK;
  const byoc_pass_arguments_t *arguments = self;
  return recognise_node(node, arguments->targets, diag, changes);
}

byoc_status_t byoc_pass_recognise_attention(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                            byoc_diag_t *diag, size_t *changes) {
  if (arguments->targets != NULL && !byoc_target_list_has_rule(arguments->targets, "Attention", 0)) return BYOC_OK;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) != NULL) continue;
    // From the end: the nodes that are removed are the last product or stand behind it.
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block_backwards(function->body, recognise, (void *)arguments, diag, changes));
  }
  return BYOC_OK;
}
