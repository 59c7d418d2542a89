// SPDX-License-Identifier: Apache-2.0
// Adds the variants of a model: main becomes a chain of Ifs, each with a copy of the model whose sizes are known.
#include "core/compile/variants.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/string.h"
#include "core/compile/choice.h"
#include "core/ir/attribute_names.h"
#include "core/op/op.h"

// One dimension that gets sizes, and the axis of an input that has its size at run time.
typedef struct open_dim_t {
  byoc_value_t *input;
  int32_t axis;
  int64_t size; // in the variant at hand
} open_dim_t;

typedef struct variants_t {
  byoc_graph_module_t *module;
  byoc_function_t *main;
  const byoc_variant_dim_t *dims;
  size_t count;
  byoc_diag_t *diag;
  open_dim_t *open; // parallel to dims
  byoc_map_t sizes; // text map: name of a dimension → its size in the variant at hand, as a byoc_dim_t
  bool failed;
} variants_t;

// ---- the dimensions ----

static bool is_symbol(byoc_dim_t dim, const char *name) {
  return !byoc_dim_is_constant(dim) && dim.expr->kind == BYOC_DIM_SYMBOL && strcmp(dim.expr->symbol, name) == 0;
}

static const byoc_type_t *ranked(const byoc_value_t *value) {
  return byoc_type_is_tensor(value->type) && value->type->rank != BYOC_RANK_UNKNOWN ? value->type : NULL;
}

static bool find_dim(const byoc_block_t *body, const char *name, open_dim_t *out_dim) {
  for (size_t p = 0; p < body->parameters.count; ++p) {
    const byoc_type_t *type = ranked(body->parameters.data[p]);
    for (int32_t d = 0; type != NULL && d < type->rank; ++d) {
      *out_dim = (open_dim_t){.input = body->parameters.data[p], .axis = d};
      if (is_symbol(type->dims[d], name)) return true;
    }
  }
  return false;
}

static byoc_status_t find_dims(variants_t *v) {
  size_t product = 1;
  for (size_t i = 0; i < v->count; ++i) {
    if (!find_dim(v->main->body, v->dims[i].name, &v->open[i])) {
      return byoc_diag_error(v->diag, BYOC_INVALID_ARGUMENT, "no input of the model has an open dimension '%s'",
                             v->dims[i].name);
    }
    if (v->dims[i].size_count > BYOC_MOST_VARIANTS) product = SIZE_MAX / BYOC_MOST_VARIANTS;
    product *= v->dims[i].size_count;
    if (product > BYOC_MOST_VARIANTS) {
      return byoc_diag_error(v->diag, BYOC_INVALID_ARGUMENT, "the sizes of dimensions make more than %d combinations",
                             BYOC_MOST_VARIANTS);
    }
  }
  return BYOC_OK;
}

// Sets the sizes of variant `number`; the last dimension changes fastest.
static byoc_status_t take_sizes(variants_t *v, size_t number) {
  for (size_t i = v->count; i > 0; --i) {
    const byoc_variant_dim_t *dim = &v->dims[i - 1];
    v->open[i - 1].size = dim->sizes[number % dim->size_count];
    number /= dim->size_count;
    byoc_dim_t *size = BYOC_ARENA_NEW(&v->module->arena, byoc_dim_t);
    if (size == NULL || !byoc_string_map_put(&v->sizes, dim->name, size)) return byoc_diag_out_of_memory(v->diag);
    *size = byoc_dim_constant(v->open[i - 1].size);
  }
  return BYOC_OK;
}

// "batch=1,sequence=128"; in the module's arena.
static const char *describe(const variants_t *v) {
  byoc_string_t text;
  byoc_string_init(&text, v->module->allocator);
  for (size_t i = 0; i < v->count; ++i) {
    byoc_string_appendf(&text, "%s%s=%" PRId64, i > 0 ? "," : "", v->dims[i].name, v->open[i].size);
  }
  const char *copy = text.failed ? NULL : byoc_arena_copy_string(&v->module->arena, text.data);
  byoc_string_deinit(&text);
  return copy;
}

// ---- types of a variant ----

static const byoc_type_t *settle_type(variants_t *v, const byoc_type_t *type) {
  byoc_arena_t *arena = &v->module->arena;
  const byoc_type_t *settled = type;
  if (type->kind == BYOC_TYPE_SEQUENCE || type->kind == BYOC_TYPE_OPTIONAL) {
    const byoc_type_t *element = settle_type(v, type->element);
    if (element == NULL || element == type->element) return element == NULL ? NULL : type;
    return type->kind == BYOC_TYPE_SEQUENCE ? byoc_type_sequence(arena, element) : byoc_type_optional(arena, element);
  }
  if (!byoc_type_is_tensor(type) || type->rank == BYOC_RANK_UNKNOWN || byoc_type_is_static(type)) return type;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    dims[d] = byoc_dim_substitute(type->dims[d], &v->sizes, arena, &v->failed);
  }
  if (!v->failed) settled = byoc_type_tensor(arena, type->dtype, type->rank, dims);
  return settled != NULL && !v->failed && byoc_type_equal(settled, type) ? type : settled;
}

static byoc_status_t settle_values(variants_t *v, byoc_value_t *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (values[i]->type == NULL) continue;
    values[i]->type = settle_type(v, values[i]->type);
    if (values[i]->type == NULL || v->failed) return byoc_diag_out_of_memory(v->diag);
  }
  return BYOC_OK;
}

static byoc_status_t settle_block(variants_t *v, byoc_block_t *block) {
  BYOC_RETURN_IF_ERROR(settle_values(v, block->parameters.data, block->parameters.count));
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(settle_block(v, node->blocks[b]));
    BYOC_RETURN_IF_ERROR(settle_values(v, node->results, node->result_count));
  }
  return BYOC_OK;
}

// ---- the copy for these sizes ----

// The inputs under types whose sizes are known: the same bytes.
static byoc_status_t narrow_inputs(variants_t *v, byoc_block_t *block, byoc_map_t *map) {
  const byoc_block_t *body = v->main->body;
  for (size_t p = 0; p < body->parameters.count; ++p) {
    byoc_value_t *input = body->parameters.data[p];
    const byoc_type_t *type = ranked(input) != NULL ? settle_type(v, input->type) : input->type;
    if (type == NULL || v->failed) return byoc_diag_out_of_memory(v->diag);
    if (type == input->type || input->uses.count == 0) continue;
    byoc_node_t *view = byoc_node_create(block, NULL, "byoc", "View", 1, &input, 1, 1);
    if (view == NULL || !byoc_node_set_name(view, BYOC_VARIANT_NODES) ||
        !byoc_pointer_map_put(map, input, view->results[0]))
      return byoc_diag_out_of_memory(v->diag);
    view->results[0]->type = type;
    view->results[0]->device = input->device;
  }
  return BYOC_OK;
}

// Leaves the types of our own operators, which are a part of them.
static void forget_types(byoc_node_t *node) {
  for (uint32_t b = 0; b < node->block_count; ++b) {
    BYOC_FOR_EACH_NODE(inner, node->blocks[b]) forget_types(inner);
  }
  for (uint32_t r = 0; r < node->result_count && strcmp(node->domain, "byoc") != 0; ++r) {
    node->results[r]->type = byoc_type_unknown();
  }
}

// Types that were inferred or declared for dynamic sizes need not hold for these: a Squeeze removes a dimension that is
// 1.
static byoc_status_t infer_copy(byoc_node_t *node, byoc_diag_t *diag) {
  byoc_diag_t trial = {0};
  byoc_status_t status = byoc_infer_nested(node, &trial);
  if (status == BYOC_OK) return BYOC_OK;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_adopt(diag, &trial);
  forget_types(node);
  return byoc_infer_nested(node, diag);
}

static byoc_status_t copy_nodes(variants_t *v, const byoc_block_t *from, byoc_block_t *to) {
  byoc_map_t map;
  byoc_pointer_map_init(&map, v->module->allocator);
  byoc_status_t status = narrow_inputs(v, to, &map);
  byoc_node_t *last_view = to->last;
  if (status == BYOC_OK && !byoc_choice_copy(from, to, &map)) status = byoc_diag_out_of_memory(v->diag);
  byoc_map_deinit(&map);
  if (status == BYOC_OK) status = settle_block(v, to);
  for (byoc_node_t *node = last_view != NULL ? last_view->next : to->first; node != NULL && status == BYOC_OK;
       node = node->next) {
    status = infer_copy(node, v->diag);
  }
  return status;
}

// ---- the choice ----

// An operator of the choice; NULL: the diagnostic says why not.
static byoc_value_t *compute(const variants_t *v, byoc_block_t *block, const char *op, byoc_value_t *a, byoc_value_t *b,
                             const byoc_attribute_t *attributes, size_t attribute_count) {
  byoc_value_t *operands[] = {a, b};
  byoc_node_t *node =
      byoc_op_create_with(block, NULL, "", op, operands, b != NULL ? 2 : 1, 1, attributes, attribute_count, v->diag);
  return node != NULL && byoc_node_set_name(node, BYOC_VARIANT_NODES) ? node->results[0] : NULL;
}

static byoc_value_t *whole_number(const variants_t *v, int64_t number) {
  const int64_t one = 1;
  const byoc_type_t *type = byoc_type_tensor_static(&v->module->arena, BYOC_DTYPE_I64, 1, &one);
  byoc_constant_t *constant = type != NULL ? byoc_constant_create(v->module, "size", type, &number) : NULL;
  return constant != NULL ? byoc_function_constant(v->main, constant) : NULL;
}

// Do all dimensions have the sizes of the variant at hand?
static byoc_value_t *ask(const variants_t *v, byoc_block_t *block) {
  byoc_value_t *answer = NULL;
  for (size_t i = 0; i < v->count; ++i) {
    open_dim_t *dim = &v->open[i];
    const byoc_attribute_t range[] = {{.name = "start", .kind = BYOC_ATTRIBUTE_INT, .i = dim->axis},
                                      {.name = "end", .kind = BYOC_ATTRIBUTE_INT, .i = dim->axis + 1}};
    byoc_value_t *shape = compute(v, block, "Shape", dim->input, NULL, range, 2);
    byoc_value_t *size = shape != NULL ? whole_number(v, dim->size) : NULL;
    byoc_value_t *equal = size != NULL ? compute(v, block, "Equal", shape, size, NULL, 0) : NULL;
    if (equal == NULL) return NULL;
    answer = answer != NULL ? compute(v, block, "And", answer, equal, NULL, 0) : equal;
    if (answer == NULL) return NULL;
  }
  return answer;
}

static bool is_of_inputs(void *self, byoc_dim_t leaf) {
  const byoc_block_t *body = self;
  open_dim_t found;
  return !byoc_dim_is_unknown(leaf) && find_dim(body, leaf.expr->symbol, &found);
}

// The type behind the choice, of a value with the type `open` in the open model and `fixed` in the variant. A dimension
// that each case makes by itself has another name there.
static const byoc_type_t *outer_type(variants_t *v, const byoc_value_t *open, const byoc_value_t *fixed) {
  byoc_arena_t *arena = &v->module->arena;
  const byoc_type_t *type = open->type, *other = fixed->type;
  if (!byoc_type_is_tensor(type)) return type;
  if (ranked(open) == NULL || ranked(fixed) == NULL || type->rank != other->rank) {
    return byoc_type_tensor(arena, type->dtype, BYOC_RANK_UNKNOWN, NULL);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < type->rank; ++d) {
    dims[d] = type->dims[d];
    const bool both_known = byoc_dim_is_constant(dims[d]) && byoc_dim_is_constant(other->dims[d]);
    if (both_known ? dims[d].constant == other->dims[d].constant
                   : byoc_dim_walk(dims[d], is_of_inputs, v->main->body)) {
      continue;
    }
    dims[d] = byoc_dim_unknown(arena, v->module->next_id++, &v->failed);
  }
  return v->failed ? NULL : byoc_type_tensor(arena, type->dtype, type->rank, dims);
}

static byoc_status_t name_cases(variants_t *v, byoc_node_t *choice, const char *variant, bool is_last) {
  const char *otherwise = is_last ? "open" : byoc_arena_format(&v->module->arena, "not %s", variant);
  const char *const cases[] = {variant, otherwise};
  return otherwise != NULL && byoc_attributes_set_strings(&choice->attributes, BYOC_ATTRIBUTE_CASES, cases, 2)
             ? BYOC_OK
             : byoc_diag_out_of_memory(v->diag);
}

// Moves the nodes of the block into the second case of a choice, and copies them into the first for the sizes at hand.
static byoc_status_t split(variants_t *v, byoc_block_t *block, const char *variant, bool is_last,
                           byoc_block_t **out_rest) {
  byoc_value_t **results = BYOC_ARENA_ARRAY(&v->module->arena, byoc_value_t *, block->results.count + 1);
  if (results == NULL) return byoc_diag_out_of_memory(v->diag);
  const size_t count = byoc_choice_list_results(block, results);
  byoc_node_t *last = block->last;
  byoc_value_t *answer = ask(v, block);
  if (answer == NULL) return byoc_diag_failure(v->diag);
  byoc_node_t *choice = byoc_node_create(block, NULL, "", "If", 16, &answer, 1, (uint32_t)count);
  byoc_block_t *fixed = choice != NULL ? byoc_node_add_block(choice, "then_branch") : NULL;
  byoc_block_t *rest = fixed != NULL ? byoc_node_add_block(choice, "else_branch") : NULL;
  if (rest == NULL || !byoc_node_set_name(choice, BYOC_VARIANT_NODES)) return byoc_diag_out_of_memory(v->diag);
  BYOC_RETURN_IF_ERROR(name_cases(v, choice, variant, is_last));
  if (!byoc_choice_replace_results(block, results, choice)) return byoc_diag_out_of_memory(v->diag);
  for (byoc_node_t *node = block->first, *next = NULL, *end = last->next; node != end; node = next) {
    next = node->next;
    byoc_node_move(node, rest, NULL);
  }
  for (size_t k = 0; k < count; ++k) {
    if (!byoc_block_add_result(rest, NULL, results[k])) return byoc_diag_out_of_memory(v->diag);
  }
  *out_rest = rest;
  BYOC_RETURN_IF_ERROR(copy_nodes(v, rest, fixed));
  for (size_t k = 0; k < count; ++k) {
    choice->results[k]->device = results[k]->device;
    choice->results[k]->type = outer_type(v, results[k], fixed->results.data[k]);
    if (choice->results[k]->type == NULL) return byoc_diag_out_of_memory(v->diag);
  }
  return BYOC_OK;
}

static byoc_status_t add_all(variants_t *v) {
  size_t total = 1;
  for (size_t i = 0; i < v->count; ++i) total *= v->dims[i].size_count;
  const char **names = BYOC_ARENA_ARRAY(&v->module->arena, const char *, total);
  if (names == NULL) return byoc_diag_out_of_memory(v->diag);
  byoc_block_t *block = v->main->body;
  for (size_t n = 0; n < total; ++n) {
    BYOC_RETURN_IF_ERROR(take_sizes(v, n));
    names[n] = describe(v);
    if (names[n] == NULL) return byoc_diag_out_of_memory(v->diag);
    BYOC_RETURN_IF_ERROR_IN(v->diag, split(v, block, names[n], n + 1 == total, &block), "the variant %s", names[n]);
  }
  return byoc_attributes_set_strings(&v->module->attributes, BYOC_ATTRIBUTE_VARIANTS, names, total)
             ? BYOC_OK
             : byoc_diag_out_of_memory(v->diag);
}

byoc_status_t byoc_variants_add(byoc_graph_module_t *module, const byoc_variant_dim_t *dims, size_t count,
                                byoc_diag_t *diag) {
  variants_t v = {.module = module, .main = byoc_graph_module_main(module), .dims = dims, .count = count, .diag = diag};
  if (count == 0 || v.main == NULL) return BYOC_OK;
  v.open = BYOC_ARENA_ARRAY(&module->arena, open_dim_t, count);
  if (v.open == NULL) return byoc_diag_out_of_memory(diag);
  byoc_string_map_init(&v.sizes, module->allocator);
  byoc_status_t status = find_dims(&v);
  byoc_value_t **results = BYOC_ARENA_ARRAY(&module->arena, byoc_value_t *, v.main->body->results.count + 1);
  if (status == BYOC_OK && results == NULL) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && byoc_choice_list_results(v.main->body, results) > 0) status = add_all(&v);
  byoc_map_deinit(&v.sizes);
  return status;
}
