// SPDX-License-Identifier: Apache-2.0
// Reads signatures and infers types by them.
#include "core/op/signature.h"

#include <stdlib.h>
#include <string.h>

#include "core/ir/lexer.h"
#include "core/ir/loop_fold.h"
#include "core/ir/text_parts.h"
#include "core/op/util.h"

static const char dots[] = "...";

typedef struct reader_t {
  byoc_lexer_t lexer;
  byoc_arena_t *arena; // of the signature
  const byoc_op_attribute_t *attributes;
  byoc_signature_t *signature;
} reader_t;

static const char *keep(reader_t *r, const char *text) {
  const char *copy = byoc_arena_copy_string(r->arena, text);
  if (!copy) byoc_lexer_fail_memory(&r->lexer);
  return copy;
}

// ---- names ----

static bool has_name(const byoc_signature_value_t *values, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; ++i) {
    if (strcmp(values[i].name, name) == 0) return true;
  }
  return false;
}

// Does a required operand bind the dimension, or the rest, of that name?
static bool is_bound(const byoc_signature_t *signature, const char *name, bool is_rest) {
  for (uint32_t i = 0; i < signature->required_count; ++i) {
    const byoc_signature_value_t *value = &signature->operands[i];
    for (int32_t d = 0; d < value->dim_count; ++d) {
      const byoc_signature_dim_t *dim = &value->dims[d];
      if (is_rest && dim->rest && strcmp(dim->rest, name) == 0) return true;
      if (!is_rest && !dim->rest && dim->dim.expr && strcmp(dim->dim.expr->symbol, name) == 0) return true;
    }
  }
  return false;
}

// Splits "pads.1" into the length of "pads" and 1.
static bool split_element(const char *name, size_t *out_size, uint64_t *out_index) {
  const char *dot = strrchr(name, '.');
  if (!dot || dot == name || dot[1] == '\0' || strspn(dot + 1, "0123456789") != strlen(dot + 1)) return false;
  *out_size = (size_t)(dot - name);
  *out_index = strtoull(dot + 1, NULL, 10);
  return true;
}

static bool is_attribute(const byoc_op_attribute_t *attributes, const char *name) {
  size_t size = 0;
  uint64_t index;
  bool is_element = split_element(name, &size, &index);
  for (const byoc_op_attribute_t *a = attributes; a && a->value.name; ++a) {
    if (!is_element && a->value.kind == BYOC_ATTRIBUTE_INT && strcmp(a->value.name, name) == 0) return true;
    if (is_element && a->value.kind == BYOC_ATTRIBUTE_INTS && strlen(a->value.name) == size &&
        memcmp(a->value.name, name, size) == 0) {
      return true;
    }
  }
  return false;
}

// ---- parsing ----

// A..., or A...axis; the dots are at `at` in the current token.
static bool read_rest(reader_t *r, const char *at, bool is_result, byoc_signature_value_t *value,
                      byoc_signature_dim_t *dim) {
  byoc_lexer_t *lexer = &r->lexer;
  const char *axis = at + sizeof dots - 1;
  int32_t *which = axis[0] != '\0' ? &value->counted : &value->rest;
  if (is_result && axis[0] != '\0') {
    return byoc_lexer_fail(lexer, "a result names dimensions of operands; '%s' comes after them", axis);
  }
  if (!is_result && *which >= 0) return byoc_lexer_fail(lexer, "'%s' has two rests", value->name);
  bool is_counted = axis[0] != '\0' && !strchr(axis, '.') && is_attribute(r->attributes, axis);
  if (axis[0] != '\0' && !is_counted) return byoc_lexer_fail(lexer, "'%s' is no attribute that is an integer", axis);
  *which = value->dim_count++;
  if (is_counted && !(dim->axis = keep(r, axis))) return false;
  char *name = byoc_arena_copy_string(r->arena, lexer->token.text);
  if (!name) return byoc_lexer_fail_memory(lexer);
  name[at - lexer->token.text] = '\0';
  dim->rest = name;
  return byoc_lexer_next(lexer);
}

static bool read_dim(reader_t *r, bool is_result, byoc_signature_value_t *value) {
  byoc_lexer_t *lexer = &r->lexer;
  if (value->dim_count == BYOC_MAX_RANK) return byoc_lexer_fail(lexer, "more than %d dimensions", BYOC_MAX_RANK);
  byoc_signature_dim_t *dim = &value->dims[value->dim_count];
  size_t offset = lexer->token.offset;
  const char *at = byoc_lexer_is(lexer, BYOC_TOKEN_WORD) ? strstr(lexer->token.text, dots) : NULL;
  if (at && at > lexer->token.text) return read_rest(r, at, is_result, value, dim);
  if (byoc_lexer_is(lexer, BYOC_TOKEN_WORD) && strchr(lexer->token.text, '.')) {
    return byoc_lexer_fail(lexer, "'%s' is no dimension; any number of dimensions is a name and three dots: 'S...'",
                           lexer->token.text);
  }
  if (!byoc_dim_parse(lexer, r->arena, &dim->dim)) return false;
  ++value->dim_count;
  if (byoc_dim_is_constant(dim->dim) && dim->dim.constant < 0) {
    return byoc_lexer_fail_at(lexer, offset, "a dimension is not negative");
  }
  bool is_plain = byoc_dim_is_constant(dim->dim) || dim->dim.expr->kind == BYOC_DIM_SYMBOL;
  return is_result || is_plain ||
         byoc_lexer_fail_at(lexer, offset, "a dimension of an operand is a number or a name; results have expressions");
}

// name: T[A..., 3]
static bool read_value(reader_t *r, bool is_result, byoc_signature_value_t *value) {
  byoc_lexer_t *lexer = &r->lexer;
  const byoc_signature_t *signature = r->signature;
  const char *text;
  size_t offset = lexer->token.offset;
  value->rest = value->counted = -1;
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_WORD, &text)) return false;
  if (has_name(signature->operands, signature->operand_count, text) ||
      has_name(signature->results, signature->result_count, text)) {
    return byoc_lexer_fail_at(lexer, offset, "two values are called '%s'", text);
  }
  if (strchr(text, '.')) return byoc_lexer_fail_at(lexer, offset, "'%s' has a point in it", text);
  if (!(value->name = keep(r, text))) return false;
  offset = lexer->token.offset;
  value->is_optional = byoc_lexer_accept(lexer, BYOC_TOKEN_QUESTION);
  if (is_result && value->is_optional) return byoc_lexer_fail_at(lexer, offset, "results are not optional");
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_COLON) || !byoc_lexer_expect_text(lexer, BYOC_TOKEN_WORD, &text)) {
    return false;
  }
  if (!(value->element = keep(r, text)) || !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACKET)) return false;
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACKET)) {
    do {
      if (!read_dim(r, is_result, value)) return false;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
}

static bool read_values(reader_t *r, bool is_result) {
  byoc_lexer_t *lexer = &r->lexer;
  byoc_signature_t *signature = r->signature;
  uint32_t *count = is_result ? &signature->result_count : &signature->operand_count;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  if (!is_result && byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_PAREN)) return true;
  do {
    if (*count == BYOC_SIGNATURE_VALUES) {
      return byoc_lexer_fail(lexer, "more than %d %s", BYOC_SIGNATURE_VALUES, is_result ? "results" : "operands");
    }
    byoc_signature_value_t *value = is_result ? &signature->results[*count] : &signature->operands[*count];
    size_t offset = lexer->token.offset;
    if (!read_value(r, is_result, value)) return false;
    if (!is_result && !value->is_optional) {
      if (signature->required_count < *count) {
        return byoc_lexer_fail_at(lexer, offset, "'%s' comes after an optional operand and must be optional, too",
                                  value->name);
      }
      ++signature->required_count;
    }
    ++*count;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

static bool add_dtype(reader_t *r, byoc_signature_variable_t *variable, byoc_dtype_t dtype) {
  for (uint32_t i = 0; i < variable->count; ++i) {
    if (variable->dtypes[i] == dtype) return true;
  }
  if (variable->count == BYOC_SIGNATURE_TYPES) return byoc_lexer_fail(&r->lexer, "too many types");
  variable->dtypes[variable->count++] = dtype;
  return true;
}

// f32, or a word for all of a kind.
static bool read_dtypes(reader_t *r, byoc_signature_variable_t *variable) {
  static const struct {
    const char *word;
    byoc_dtype_predicate_t has;
  } kinds[] = {{"float", byoc_dtype_is_float}, {"integer", byoc_dtype_is_integer}, {"number", byoc_dtype_is_number}};
  const char *text;
  size_t offset = r->lexer.token.offset;
  if (!byoc_lexer_expect_text(&r->lexer, BYOC_TOKEN_WORD, &text)) return false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    if (strcmp(kinds[k].word, text) != 0) continue;
    for (byoc_dtype_t dtype = BYOC_DTYPE_NONE + 1; dtype < BYOC_DTYPE_COUNT; ++dtype) {
      if (kinds[k].has(dtype) && !add_dtype(r, variable, dtype)) return false;
    }
    return true;
  }
  byoc_dtype_t dtype = byoc_dtype_parse(text);
  if (!byoc_loop_is_scalar(dtype)) {
    return byoc_lexer_fail_at(&r->lexer, offset, "'%s' is no element type that loops compute with", text);
  }
  return add_dtype(r, variable, dtype);
}

static bool read_variable(reader_t *r) {
  byoc_lexer_t *lexer = &r->lexer;
  byoc_signature_t *signature = r->signature;
  const char *text;
  size_t offset = lexer->token.offset;
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_WORD, &text)) return false;
  if (byoc_dtype_parse(text) != BYOC_DTYPE_NONE) {
    return byoc_lexer_fail_at(lexer, offset, "'%s' is an element type and cannot be a variable", text);
  }
  for (uint32_t i = 0; i < signature->variable_count; ++i) {
    if (strcmp(signature->variables[i].name, text) != 0) continue;
    return byoc_lexer_fail_at(lexer, offset, "'%s' is listed twice", text);
  }
  if (signature->variable_count == BYOC_SIGNATURE_VARIABLES) return byoc_lexer_fail(lexer, "too many variables");
  byoc_signature_variable_t *variable = &signature->variables[signature->variable_count++];
  if (!(variable->name = keep(r, text)) || !byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL)) return false;
  do {
    if (!read_dtypes(r, variable)) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_OR));
  return true;
}

// ---- checks of the whole ----

static bool resolve_element(reader_t *r, byoc_signature_value_t *value) {
  const byoc_signature_t *signature = r->signature;
  value->dtype = byoc_dtype_parse(value->element);
  if (byoc_loop_is_scalar(value->dtype)) return true;
  if (value->dtype != BYOC_DTYPE_NONE) {
    return byoc_lexer_fail_at(&r->lexer, 0, "'%s' is no element type that loops compute with", value->element);
  }
  for (uint32_t i = 0; i < signature->variable_count; ++i) {
    if (strcmp(signature->variables[i].name, value->element) != 0) continue;
    value->variable = i;
    return true;
  }
  return byoc_lexer_fail_at(&r->lexer, 0, "'%s' of '%s' is neither an element type nor listed after `where`",
                            value->element, value->name);
}

static bool check_leaf(void *self, byoc_dim_t leaf) {
  reader_t *r = self;
  if (leaf.expr->kind != BYOC_DIM_SYMBOL)
    return byoc_lexer_fail_at(&r->lexer, 0, "an unknown dimension is not allowed here");
  const char *name = leaf.expr->symbol;
  if (is_bound(r->signature, name, false) || is_attribute(r->attributes, name)) return true;
  return byoc_lexer_fail_at(
      &r->lexer, 0, "'%s' is neither a dimension of a required operand nor an attribute that is an integer", name);
}

static bool check_result(reader_t *r, const byoc_signature_value_t *value) {
  const byoc_signature_t *signature = r->signature;
  bool is_bound_type = value->dtype != BYOC_DTYPE_NONE;
  for (uint32_t i = 0; i < signature->required_count && !is_bound_type; ++i) {
    const byoc_signature_value_t *operand = &signature->operands[i];
    is_bound_type = operand->dtype == BYOC_DTYPE_NONE && operand->variable == value->variable;
  }
  if (!is_bound_type) {
    return byoc_lexer_fail_at(&r->lexer, 0, "no required operand has the element type '%s' of result '%s'",
                              value->element, value->name);
  }
  for (int32_t d = 0; d < value->dim_count; ++d) {
    const byoc_signature_dim_t *dim = &value->dims[d];
    if (dim->rest && !is_bound(signature, dim->rest, true)) {
      return byoc_lexer_fail_at(&r->lexer, 0, "no required operand has the dimensions '%s...' of result '%s'",
                                dim->rest, value->name);
    }
    if (!dim->rest && !byoc_dim_walk(dim->dim, check_leaf, r)) return false;
  }
  return true;
}

// Each name has one meaning, and there are not too many.
static bool check_names(reader_t *r) {
  const byoc_signature_t *signature = r->signature;
  uint32_t count = 0;
  for (uint32_t i = 0; i < signature->operand_count; ++i) {
    const byoc_signature_value_t *value = &signature->operands[i];
    for (int32_t d = 0; d < value->dim_count; ++d, ++count) {
      const byoc_signature_dim_t *dim = &value->dims[d];
      const char *name = dim->rest ? dim->rest : dim->dim.expr ? dim->dim.expr->symbol : NULL;
      if (!name) continue;
      bool is_value = has_name(signature->operands, signature->operand_count, name) ||
                      has_name(signature->results, signature->result_count, name);
      if (is_value || is_attribute(r->attributes, name)) {
        return byoc_lexer_fail_at(&r->lexer, 0, "'%s' is a dimension and %s", name,
                                  is_value ? "a value, too" : "an attribute, too");
      }
    }
  }
  return count <= BYOC_SIGNATURE_NAMES || byoc_lexer_fail_at(&r->lexer, 0, "operands have too many dimensions");
}

static bool read_signature(reader_t *r) {
  byoc_lexer_t *lexer = &r->lexer;
  byoc_signature_t *signature = r->signature;
  if (!read_values(r, false) || !byoc_lexer_expect(lexer, BYOC_TOKEN_ARROW) || !read_values(r, true)) return false;
  if (byoc_lexer_accept_word(lexer, "where")) {
    do {
      if (!read_variable(r)) return false;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_END)) return false;
  for (uint32_t i = 0; i < signature->operand_count; ++i) {
    if (!resolve_element(r, &signature->operands[i])) return false;
  }
  for (uint32_t i = 0; i < signature->result_count; ++i) {
    if (!resolve_element(r, &signature->results[i]) || !check_result(r, &signature->results[i])) return false;
  }
  return check_names(r);
}

byoc_status_t byoc_signature_parse(const char *text, const byoc_op_attribute_t *attributes, byoc_arena_t *arena,
                                   byoc_diag_t *diag, const byoc_signature_t **out_signature) {
  *out_signature = NULL;
  reader_t r = {.arena = arena, .attributes = attributes, .signature = BYOC_ARENA_NEW(arena, byoc_signature_t)};
  if (!r.signature) return byoc_diag_out_of_memory(diag);
  byoc_lexer_init(&r.lexer, text, "signature", arena, diag);
  if (!read_signature(&r)) return r.lexer.status;
  *out_signature = r.signature;
  return BYOC_OK;
}

// ---- binding ----

int32_t byoc_signature_find(const byoc_signature_binding_t *binding, const char *name) {
  for (uint32_t i = 0; i < binding->name_count; ++i) {
    if (strcmp(binding->names[i], name) == 0) return (int32_t)i;
  }
  return -1;
}

// The integer of a name among the node's attributes: `stride`, or `pads.1`. False if there is none.
static bool signature_attribute(const byoc_node_t *node, const char *name, int64_t *out_value) {
  size_t size = 0;
  uint64_t index;
  if (!split_element(name, &size, &index)) {
    const byoc_attribute_t *value = byoc_node_value(node, name);
    if (!value || value->kind != BYOC_ATTRIBUTE_INT) return false;
    *out_value = value->i;
    return true;
  }
  char list[128];
  if (size >= sizeof list) return false;
  memcpy(list, name, size);
  list[size] = '\0';
  const byoc_attribute_t *value = byoc_node_value(node, list);
  if (!value || value->kind != BYOC_ATTRIBUTE_INTS || index >= value->count) return false;
  *out_value = value->ints[index];
  return true;
}

// The number of an operand's dimensions for each dimension of the signature; false if they do not fit its rank.
static bool count_dims(const byoc_signature_value_t *value, const byoc_node_t *node, int32_t rank,
                       int32_t counts[BYOC_MAX_RANK]) {
  int32_t taken = 0;
  for (int32_t d = 0; d < value->dim_count; ++d) {
    counts[d] = d != value->rest;
    if (d == value->counted) {
      int64_t axis = 0;
      if (!signature_attribute(node, value->dims[d].axis, &axis)) return false;
      if (axis < 0) axis += rank;
      if (axis < 0 || axis > rank) return false;
      counts[d] = (int32_t)axis;
    }
    taken += counts[d];
  }
  if (value->rest >= 0) counts[value->rest] = rank - taken;
  return value->rest >= 0 ? taken <= rank : taken == rank;
}

void byoc_signature_bind(const byoc_signature_t *signature, const byoc_node_t *node,
                         byoc_signature_binding_t *out_binding) {
  byoc_signature_binding_t *b = out_binding;
  *b = (byoc_signature_binding_t){.node = node};
  for (uint32_t i = 0; i < signature->operand_count; ++i) {
    const byoc_signature_value_t *value = &signature->operands[i];
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (!byoc_type_is_tensor(type)) continue;
    if (value->dtype == BYOC_DTYPE_NONE && b->dtypes[value->variable] == BYOC_DTYPE_NONE) {
      b->dtypes[value->variable] = type->dtype;
    }
    int32_t counts[BYOC_MAX_RANK];
    if (!byoc_is_ranked(type) || !count_dims(value, node, type->rank, counts)) continue;
    for (int32_t d = 0, at = 0; d < value->dim_count; ++d) {
      const byoc_signature_dim_t *dim = &value->dims[d];
      const char *name = dim->rest ? dim->rest : dim->dim.expr ? dim->dim.expr->symbol : NULL;
      int32_t count = counts[d];
      if (name && byoc_signature_find(b, name) < 0) {
        b->names[b->name_count] = name;
        b->places[b->name_count].operand = i;
        b->places[b->name_count].first = at;
        b->places[b->name_count].count = count;
        b->places[b->name_count++].is_rest = dim->rest != NULL;
      }
      at += count;
    }
  }
}

// ---- inference ----

static byoc_status_t check_dtype(const byoc_signature_t *signature, const byoc_infer_t *infer, uint32_t i,
                                 const byoc_signature_binding_t *binding) {
  const byoc_signature_value_t *value = &signature->operands[i];
  byoc_dtype_t dtype = byoc_operand_type(infer->node, i)->dtype;
  const char *name = byoc_dtype_name(dtype);
  if (value->dtype != BYOC_DTYPE_NONE) {
    if (dtype == value->dtype) return BYOC_OK;
    return byoc_infer_error(infer, "operand %u ('%s') is %s instead of %s", i, value->name, name, value->element);
  }
  byoc_dtype_t bound = binding->dtypes[value->variable];
  if (dtype != bound) {
    return byoc_infer_error(infer, "operand %u ('%s') is %s, but '%s' is %s for another operand", i, value->name, name,
                            value->element, byoc_dtype_name(bound));
  }
  const byoc_signature_variable_t *variable = &signature->variables[value->variable];
  for (uint32_t k = 0; k < variable->count; ++k) {
    if (variable->dtypes[k] == dtype) return BYOC_OK;
  }
  char list[256] = "";
  for (uint32_t k = 0; k < variable->count && strlen(list) < sizeof list - 32; ++k) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", k > 0 ? ", " : "", byoc_dtype_name(variable->dtypes[k]));
  }
  return byoc_infer_error(infer, "operand %u ('%s') is %s; the operator takes %s", i, value->name, name, list);
}

static byoc_status_t check_dims(const byoc_signature_t *signature, const byoc_infer_t *infer, uint32_t i,
                                const byoc_signature_binding_t *binding) {
  const byoc_signature_value_t *value = &signature->operands[i];
  const byoc_type_t *type = byoc_operand_type(infer->node, i);
  char text[BYOC_TYPE_TEXT_SIZE];
  int32_t counts[BYOC_MAX_RANK];
  if (!count_dims(value, infer->node, type->rank, counts)) {
    int32_t least = value->dim_count - (value->rest >= 0) - (value->counted >= 0);
    const char *at_least = value->rest >= 0 || value->counted >= 0 ? "at least " : "";
    const char *axis = value->counted >= 0 ? value->dims[value->counted].axis : NULL;
    return byoc_infer_error(infer, "operand %u ('%s') is %s, but has %s%d dimension%s%s%s%s", i, value->name,
                            byoc_type_text(type, text), at_least, least, least == 1 ? "" : "s",
                            axis ? ", and as many as attribute '" : "", axis ? axis : "", axis ? "' says" : "");
  }
  for (int32_t d = 0, at = 0; d < value->dim_count; ++d) {
    const byoc_signature_dim_t *dim = &value->dims[d];
    const char *name = dim->rest ? dim->rest : dim->dim.expr ? dim->dim.expr->symbol : NULL;
    if (!name) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, at++, dim->dim));
      continue;
    }
    int32_t place = byoc_signature_find(binding, name), count = counts[d];
    if (place < 0) return byoc_infer_error(infer, "'%s' has no dimensions", name);
    uint32_t first = binding->places[place].operand;
    if (count != binding->places[place].count) {
      return byoc_infer_error(infer, "operand %u ('%s') has %d dimensions '%s...', but operand %u has %d", i,
                              value->name, count, name, first, binding->places[place].count);
    }
    const int32_t from = binding->places[place].first;
    const bool is_itself = first == i && from == at;
    for (int32_t k = 0; k < count && !is_itself; ++k) {
      BYOC_RETURN_IF_ERROR(
          byoc_infer_need_dim(infer, i, at + k, byoc_operand_type(infer->node, first)->dims[from + k]));
    }
    at += count;
  }
  return BYOC_OK;
}

static bool bound_leaf(void *self, byoc_dim_t leaf, byoc_dim_t *out_dim) {
  const byoc_signature_binding_t *binding = self;
  if (leaf.expr->kind != BYOC_DIM_SYMBOL) return false;
  int32_t place = byoc_signature_find(binding, leaf.expr->symbol);
  if (place >= 0) {
    const byoc_type_t *type = byoc_operand_type(binding->node, binding->places[place].operand);
    *out_dim = type->dims[binding->places[place].first];
    return true;
  }
  int64_t value = 0;
  (void)signature_attribute(binding->node, leaf.expr->symbol, &value); // an element after the list's end is 0
  *out_dim = byoc_dim_constant(value);
  return true;
}

// Does the dimension divide by a number that is not positive, with the attributes' values?
static bool divides_by_nothing(byoc_dim_t dim) {
  if (byoc_dim_is_constant(dim) || byoc_dim_is_leaf(dim)) return false;
  const byoc_dim_expr_t *e = dim.expr;
  const bool divides = e->kind == BYOC_DIM_FLOORDIV || e->kind == BYOC_DIM_CEILDIV || e->kind == BYOC_DIM_MOD;
  if (divides && byoc_dim_is_constant(e->right) && e->right.constant <= 0) return true;
  return divides_by_nothing(e->left) || divides_by_nothing(e->right);
}

static byoc_status_t set_result(const byoc_signature_t *signature, const byoc_infer_t *infer, uint32_t r,
                                byoc_signature_binding_t *binding, bool is_ranked) {
  const byoc_signature_value_t *value = &signature->results[r];
  byoc_dtype_t dtype = value->dtype != BYOC_DTYPE_NONE ? value->dtype : binding->dtypes[value->variable];
  if (!is_ranked) return byoc_infer_set_unranked(infer, r, dtype);
  byoc_dim_t dims[BYOC_MAX_RANK];
  int32_t rank = 0;
  bool failed = false;
  for (int32_t d = 0; d < value->dim_count; ++d) {
    const byoc_signature_dim_t *dim = &value->dims[d];
    int32_t place = dim->rest ? byoc_signature_find(binding, dim->rest) : -1;
    int32_t count = dim->rest ? binding->places[place].count : 1;
    if (rank + count > BYOC_MAX_RANK)
      return byoc_infer_error(infer, "result '%s' has too many dimensions", value->name);
    for (int32_t k = 0; k < count; ++k, ++rank) {
      if (dim->rest) {
        const byoc_type_t *type = byoc_operand_type(infer->node, binding->places[place].operand);
        dims[rank] = type->dims[binding->places[place].first + k];
      } else {
        dims[rank] = byoc_dim_replace(dim->dim, bound_leaf, binding, infer->arena, &failed);
      }
      if (!failed && divides_by_nothing(dims[rank])) {
        return byoc_infer_error(infer, "dimension %d of result %u ('%s') would be divided by a number below 1", rank, r,
                                value->name);
      }
      if (failed || !byoc_dim_is_constant(dims[rank]) || dims[rank].constant >= 0) continue;
      return byoc_infer_error(infer, "dimension %d of result %u ('%s') would be %lld", rank, r, value->name,
                              (long long)dims[rank].constant);
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, r, dtype, rank, dims);
}

// All results have the shape that the operands broadcast to.
static byoc_status_t set_broadcast(const byoc_signature_t *signature, const byoc_infer_t *infer,
                                   const byoc_signature_binding_t *binding) {
  for (uint32_t r = 0; r < infer->node->result_count; ++r) {
    const byoc_signature_value_t *value = &signature->results[r];
    byoc_dtype_t dtype = value->dtype != BYOC_DTYPE_NONE ? value->dtype : binding->dtypes[value->variable];
    if (r == 0) {
      BYOC_RETURN_IF_ERROR(byoc_infer_broadcast(infer, dtype));
    } else {
      BYOC_RETURN_IF_ERROR(byoc_infer_set_like(infer, r, dtype, infer->node->results[0]->type));
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_signature_infer(const byoc_signature_t *signature, const byoc_infer_t *infer) {
  byoc_signature_binding_t binding;
  byoc_signature_bind(signature, infer->node, &binding);
  bool is_ranked = true;
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) {
    if (!byoc_has_operand(infer->node, i)) continue;
    const byoc_type_t *type = byoc_operand_type(infer->node, i);
    if (!byoc_type_is_tensor(type)) {
      return byoc_infer_error(infer, "operand %u ('%s') is no tensor", i, signature->operands[i].name);
    }
    BYOC_RETURN_IF_ERROR(check_dtype(signature, infer, i, &binding));
    is_ranked &= byoc_is_ranked(type) || i >= signature->required_count;
    if (byoc_is_ranked(type) && !signature->broadcasts) {
      BYOC_RETURN_IF_ERROR(check_dims(signature, infer, i, &binding));
    }
  }
  if (signature->broadcasts) return set_broadcast(signature, infer, &binding);
  for (uint32_t r = 0; r < infer->node->result_count; ++r) {
    BYOC_RETURN_IF_ERROR(set_result(signature, infer, r, &binding, is_ranked));
  }
  return BYOC_OK;
}
