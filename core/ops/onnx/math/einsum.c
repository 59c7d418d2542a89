// SPDX-License-Identifier: Apache-2.0
// Einsum: a loop for each label of the result, then one for each label that is summed over. Products of matrices become
// MatMul.
#include <ctype.h>
#include <string.h>

#include "core/op/util.h"
#include "core/op/write.h"

// Labels are letters. The dimensions of "..." get labels of their own after the letters, aligned at their ends.
enum { LETTERS = 52, MOST_LABELS = LETTERS + BYOC_MAX_RANK, MOST_OPERANDS = 16 };

typedef struct {
  int32_t count;
  int32_t labels[BYOC_MAX_RANK];
} term_t;

typedef struct {
  term_t operands[MOST_OPERANDS], result;
  byoc_dim_t dims[MOST_LABELS];
  bool used[MOST_LABELS];
} einsum_t;

static int32_t label_of(char c) {
  return c >= 'a' ? c - 'a' : 26 + c - 'A';
}

// Reads one term, up to ',' or '-' or the end. `rank` is the operand's. In the result (-1) "..." stands for `ellipsis`
// dimensions.
static const char *read_term(const char *text, int32_t rank, int32_t ellipsis, term_t *out, int32_t *out_ellipsis) {
  int32_t letters = 0;
  bool dots = false;
  for (const char *c = text; *c && *c != ',' && *c != '-'; ++c) {
    if (isalpha((unsigned char)*c)) ++letters;
    if (*c == '.') dots = true;
  }
  if (rank >= 0) ellipsis = dots ? rank - letters : 0;
  if (ellipsis < 0 || letters + ellipsis > BYOC_MAX_RANK) return NULL;
  if (rank >= 0 && letters + ellipsis != rank) return NULL;
  out->count = 0;
  for (; *text && *text != ',' && *text != '-'; ++text) {
    if (isalpha((unsigned char)*text)) {
      out->labels[out->count++] = label_of(*text);
    } else if (strncmp(text, "...", 3) == 0) {
      for (int32_t i = 0; i < ellipsis; ++i) {
        if (out->count == BYOC_MAX_RANK) return NULL;
        out->labels[out->count++] = LETTERS + BYOC_MAX_RANK - ellipsis + i;
      }
      text += 2;
    } else if (!isspace((unsigned char)*text)) {
      return NULL;
    }
  }
  *out_ellipsis = ellipsis;
  return text;
}

// Without "->" the result is the dimensions of "...", then the letters that appear once, in alphabetical order with
// capitals first.
static void imply_result(einsum_t *e, const int32_t *seen, int32_t ellipsis) {
  e->result.count = 0;
  for (int32_t i = 0; i < ellipsis; ++i) e->result.labels[e->result.count++] = LETTERS + BYOC_MAX_RANK - ellipsis + i;
  for (int32_t i = 0; i < LETTERS; ++i) {
    int32_t label = i < 26 ? 26 + i : i - 26;
    if (seen[label] == 1 && e->result.count < BYOC_MAX_RANK) e->result.labels[e->result.count++] = label;
  }
}

// The name of a label in the equation; labels of "..." have none.
static char letter_of(int32_t label) {
  if (label >= LETTERS) return '.';
  return (char)(label < 26 ? 'a' + label : 'A' + label - 26);
}

static byoc_status_t read_einsum(const byoc_infer_t *infer, einsum_t *e) {
  const byoc_node_t *node = infer->node;
  const char *equation = byoc_node_text(node, "equation"), *text = equation;
  memset(e, 0, sizeof *e);
  if (node->operand_count > MOST_OPERANDS) {
    return byoc_infer_unsupported(infer, "more than %d operands are not supported", MOST_OPERANDS);
  }
  int32_t seen[MOST_LABELS] = {0}, most_ellipsis = 0, ellipsis = 0;
  bool failed = false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    term_t *term = &e->operands[i];
    if (i > 0 && *text++ != ',') return byoc_infer_error(infer, "equation \"%s\": fewer terms than operands", equation);
    text = read_term(text, type->rank, 0, term, &ellipsis);
    if (!text) return byoc_infer_error(infer, "equation \"%s\": term %u does not fit its operand", equation, i);
    if (ellipsis > most_ellipsis) most_ellipsis = ellipsis;
    for (int32_t d = 0; d < term->count; ++d) {
      int32_t label = term->labels[d];
      ++seen[label];
      if (!e->used[label]) e->dims[label] = type->dims[d];
      e->used[label] = true;
      char name[40];
      snprintf(name, sizeof name, "the other dimension '%c'", letter_of(label));
      byoc_side_t other = byoc_side(e->dims[label], name);
      if (!byoc_broadcast_dim(infer, other, byoc_side_of(infer, i, d), &e->dims[label], &failed)) {
        return byoc_infer_error(infer, "equation \"%s\": dimension %d of operand %u differs from its namesakes",
                                equation, d, i);
      }
    }
  }
  if (*text == '-') {
    if (text[1] != '>') return byoc_infer_error(infer, "equation \"%s\": '->' was expected", equation);
    text = read_term(text + 2, -1, most_ellipsis, &e->result, &ellipsis);
    for (int32_t d = 0; text && d < e->result.count; ++d) {
      if (!e->used[e->result.labels[d]]) text = NULL;
    }
  } else {
    imply_result(e, seen, most_ellipsis);
  }
  if (!text || *text) return byoc_infer_error(infer, "equation \"%s\" is not understood", equation);
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t infer_einsum(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    if (!byoc_is_ranked(byoc_operand_type(node, i))) return byoc_infer_set_unranked(infer, 0, x->dtype);
  }
  einsum_t e;
  BYOC_RETURN_IF_ERROR(read_einsum(infer, &e));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < e.result.count; ++d) dims[d] = e.dims[e.result.labels[d]];
  return byoc_infer_set(infer, 0, x->dtype, e.result.count, dims);
}

static byoc_status_t loops_einsum(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_graph_module_t *module = node->function->module;
  const byoc_infer_t infer = {
      (byoc_node_t *)(uintptr_t)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  einsum_t e;
  BYOC_RETURN_IF_ERROR(read_einsum(&infer, &e));
  const byoc_type_t *y = node->results[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(y->dtype);
  const byoc_loop_expr_t *index[MOST_LABELS] = {NULL}, *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0);
  int32_t opened = byoc_emit_open(b, y, 0, y->rank, true, at), summed = 0;
  for (int32_t d = 0; d < y->rank; ++d) index[e.result.labels[d]] = at[d];
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", byoc_loop_const(b, dtype, 0.0));
  for (int32_t label = 0; label < MOST_LABELS; ++label) {
    if (!e.used[label] || index[label]) continue;
    index[label] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, byoc_loop_dim(b, e.dims[label]));
    ++summed;
  }
  const byoc_loop_expr_t *product = NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = node->operands[i]->type;
    const byoc_loop_expr_t *from[BYOC_MAX_RANK];
    for (int32_t d = 0; d < type->rank; ++d) {
      int32_t label = e.operands[i].labels[d];
      bool one = byoc_dim_is_constant(type->dims[d]) && type->dims[d].constant == 1;
      from[d] = one ? zero : index[label];
      // 1 or the full extent, which is known at run time only
      bool may_be_one = !byoc_dim_is_constant(type->dims[d]) && !byoc_dim_equal(type->dims[d], e.dims[label]);
      const byoc_loop_expr_t *last = BYOC_LSUB(b, byoc_loop_dim(b, type->dims[d]), byoc_loop_int(b, 1));
      if (may_be_one) from[d] = BYOC_LMIN(b, from[d], last);
    }
    const byoc_loop_expr_t *x = byoc_emit_load(lower, node, i, from);
    product = product ? BYOC_LMUL(b, product, x) : x;
  }
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, product));
  byoc_emit_close(b, summed);
  byoc_emit_store(lower, node, 0, at, sum);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// Two operands of a matrix product: both have the labels `shared` and the label that is summed over, and each has one
// of its own. The first may have more, which are rows of the same matrix.
typedef struct {
  term_t left, right, product; // in the order of MatMul
} product_t;

static int32_t place_of(const term_t *term, int32_t label) {
  for (int32_t i = 0; i < term->count; ++i) {
    if (term->labels[i] == label) return i;
  }
  return -1;
}

static void put_label(term_t *term, int32_t label) {
  term->labels[term->count++] = label;
}

// Are the sizes of a label the same in both, and is it there once?
static bool is_plain(const einsum_t *e, const byoc_node_t *node, uint32_t operand) {
  const term_t *term = &e->operands[operand], *other = &e->operands[1 - operand];
  for (int32_t d = 0; d < term->count; ++d) {
    if (place_of(term, term->labels[d]) != d) return false;
    const int32_t there = place_of(other, term->labels[d]);
    const byoc_dim_t size = byoc_operand_type(node, operand)->dims[d];
    if (there >= 0 && !byoc_dim_equal(size, byoc_operand_type(node, 1 - operand)->dims[there])) return false;
  }
  return true;
}

static bool read_product(const einsum_t *e, const byoc_node_t *node, uint32_t first, product_t *p) {
  const term_t *left = &e->operands[first], *right = &e->operands[1 - first];
  if (!is_plain(e, node, first) || !is_plain(e, node, 1 - first)) return false;
  int32_t summed = -1, column = -1, rows = 0, columns = 0, sums = 0;
  *p = (product_t){0};
  for (int32_t d = 0; d < e->result.count; ++d) {
    const int32_t label = e->result.labels[d];
    const bool in_left = place_of(left, label) >= 0, in_right = place_of(right, label) >= 0;
    if (place_of(&e->result, label) != d) return false;
    if (in_left && in_right) put_label(&p->left, label);
    if (!in_left) column = label, ++columns;
    if (!in_right) ++rows;
  }
  const int32_t shared = p->left.count;
  for (int32_t d = 0; d < left->count; ++d) {
    const int32_t label = left->labels[d];
    if (place_of(&e->result, label) >= 0) continue;
    if (place_of(right, label) < 0) return false;
    summed = label, ++sums;
  }
  if (sums != 1 || columns != 1 || rows < 1 || (rows > 1 && shared > 0)) return false;
  if (right->count != shared + 2) return false; // it sums over a label of its own
  p->right = p->left;
  for (int32_t d = 0; d < e->result.count; ++d) { // in the order of the result
    const int32_t label = e->result.labels[d];
    if (place_of(left, label) >= 0 && place_of(right, label) < 0) put_label(&p->left, label);
  }
  p->product = p->left;
  put_label(&p->left, summed);
  put_label(&p->right, summed);
  put_label(&p->right, column);
  put_label(&p->product, column);
  return true;
}

// A value with the dimensions `from`, in the order of `to`.
static byoc_value_t *ordered(byoc_writer_t *w, byoc_value_t *value, const term_t *from, const term_t *to) {
  int64_t order[BYOC_MAX_RANK];
  bool changes = false;
  for (int32_t d = 0; d < to->count; ++d) {
    order[d] = place_of(from, to->labels[d]);
    changes |= order[d] != d;
  }
  return changes ? byoc_write_transpose(w, value, order, (size_t)to->count) : value;
}

// Einsum(a, b) → Transpose(MatMul(Transpose(a), Transpose(b)))
static byoc_status_t expand_einsum(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (node->operand_count != 2 || !byoc_has_operand(node, 0) || !byoc_has_operand(node, 1)) return BYOC_OK;
  if (!byoc_dtype_is_float(byoc_operand_type(node, 0)->dtype)) return BYOC_OK;
  byoc_graph_module_t *module = node->function->module;
  const byoc_infer_t infer = {node, &module->arena, node->since_version, diag, &module->next_id, NULL};
  einsum_t e;
  BYOC_RETURN_IF_ERROR(read_einsum(&infer, &e));
  // The operand whose label is last in the result has the columns.
  product_t p;
  uint32_t first = 0;
  if (e.result.count == 0) return BYOC_OK;
  if (place_of(&e.operands[1], e.result.labels[e.result.count - 1]) < 0) first = 1;
  if (!read_product(&e, node, first, &p)) {
    first = 1 - first;
    if (!read_product(&e, node, first, &p)) return BYOC_OK;
  }
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *left = ordered(&w, node->operands[first], &e.operands[first], &p.left);
  byoc_value_t *right = ordered(&w, node->operands[1 - first], &e.operands[1 - first], &p.right);
  byoc_value_t *product = byoc_write_plain(&w, "MatMul", left, right);
  return byoc_write_end(&w, ordered(&w, product, &p.product, &e.result), out_changed);
}

static const byoc_op_attribute_t einsum_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "equation")},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_einsum[] = {
    {.domain = "",
     .name = "Einsum",
     .since_version = 12,
     .min_inputs = 1,
     .max_inputs = -1,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_HEAVY | BYOC_OP_FUSED,
     .attributes = einsum_attributes,
     .infer = infer_einsum,
     .loops = loops_einsum,
     .expand = expand_einsum},
};
const size_t byoc_ops_einsum_count = sizeof byoc_ops_einsum / sizeof *byoc_ops_einsum;
