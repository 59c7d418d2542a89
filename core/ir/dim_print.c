// SPDX-License-Identifier: Apache-2.0
// Prints dimensions: as formulas, or by the names that the model gives them.
#include "core/ir/dim_names.h"
#include "core/ir/text_names.h"

static const char *const kind_texts[] = {
#define BYOC_DIM_KIND_TEXT(NAME, text, binary) text,
    BYOC_DIM_KIND_LIST(BYOC_DIM_KIND_TEXT)
#undef BYOC_DIM_KIND_TEXT
};

static const char *find_name(const byoc_dim_names_t *names, byoc_dim_t dim) {
  for (size_t i = 0; names != NULL && i < names->count; ++i) {
    if (byoc_dim_equal(names->items[i].dim, dim)) return names->items[i].name;
  }
  return NULL;
}

static void print_level(byoc_dim_t dim, int level, const byoc_dim_names_t *names, byoc_string_t *out);

// "a, b, c" of min(min(a, b), c); a part with a name is not taken apart.
static void print_operands(byoc_dim_t dim, byoc_dim_kind_t kind, const byoc_dim_names_t *names, byoc_string_t *out) {
  if (!dim.expr || dim.expr->kind != kind || find_name(names, dim) != NULL) {
    print_level(dim, 0, names, out);
    return;
  }
  print_operands(dim.expr->left, kind, names, out);
  byoc_string_append(out, ", ");
  print_operands(dim.expr->right, kind, names, out);
}

static void print_call(const byoc_dim_expr_t *expr, const byoc_dim_names_t *names, byoc_string_t *out) {
  const byoc_dim_kind_t kind = expr->kind;
  const bool is_list = kind == BYOC_DIM_MIN || kind == BYOC_DIM_MAX || kind == BYOC_DIM_BROADCAST;
  const byoc_dim_kind_t joined = is_list ? kind : BYOC_DIM_CONSTANT;
  byoc_string_appendf(out, "%s(", kind_texts[kind]);
  print_operands(expr->left, joined, names, out);
  byoc_string_append(out, ", ");
  print_operands(expr->right, joined, names, out);
  byoc_string_append(out, ")");
}

// `level` is the binding of the surrounding expression: 1 the right side of a sum, 2 the left side of a product, 3 its
// right side.
static void print_level(byoc_dim_t dim, int level, const byoc_dim_names_t *names, byoc_string_t *out) {
  if (!dim.expr) {
    byoc_string_appendf(out, "%lld", (long long)dim.constant);
    return;
  }
  const byoc_dim_expr_t *expr = dim.expr;
  const char *name = find_name(names, dim);
  if (name != NULL || expr->kind == BYOC_DIM_SYMBOL) {
    byoc_text_print_word(name != NULL ? name : expr->symbol, out);
    return;
  }
  switch (expr->kind) {
  case BYOC_DIM_UNKNOWN:
    byoc_string_appendf(out, "?%llu", (unsigned long long)expr->id);
    return;
  case BYOC_DIM_ADD:
  case BYOC_DIM_SUB:
  case BYOC_DIM_MUL: {
    int own = expr->kind == BYOC_DIM_MUL ? 2 : 0;
    if (level > own) byoc_string_append(out, "(");
    print_level(expr->left, own, names, out);
    byoc_string_appendf(out, " %s ", kind_texts[expr->kind]);
    print_level(expr->right, own + 1, names, out);
    if (level > own) byoc_string_append(out, ")");
    return;
  }
  default:
    print_call(expr, names, out);
    return;
  }
}

void byoc_dim_print(byoc_dim_t dim, byoc_string_t *out) {
  print_level(dim, 0, NULL, out);
}

void byoc_dim_print_named(byoc_dim_t dim, const byoc_dim_names_t *names, byoc_string_t *out) {
  print_level(dim, 0, names, out);
}
