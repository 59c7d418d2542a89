// SPDX-License-Identifier: Apache-2.0
// Reads the examples of operators (recipes.def) and fits them to operands that are there already.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/element.h"
#include "tools/plugin_check/specimen.h"

typedef struct row_t {
  const char *op, *operands, *attributes;
} row_t;

#define BYOC_RECIPE(op, operands, attributes) {op, operands, attributes},
static const row_t rows[] = {
#include "tools/plugin_check/recipes.def"
};
#undef BYOC_RECIPE
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

// The meaning of letters, "..." and "*".
typedef struct binding_t {
  int64_t letters[26]; // -1: free
  int64_t whole[SPECIMEN_RANK], front[SPECIMEN_RANK];
  int32_t whole_rank, front_rank; // -1: free
  byoc_dtype_t dtype;             // of operands without a type: that of the first known one of these, else the wish's
  bool has_dtype;                 // a known operand has bound it
} binding_t;

// Sizes of letters that nothing binds; N is the wish's.
static int64_t usual_size(char letter) {
  static const struct {
    char letter;
    int64_t size;
  } usual[] = {{'B', 3}, {'C', 4}, {'H', 8}, {'K', 7}, {'M', 6}, {'W', 9}, {'Z', 5}};
  for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); ++i) {
    if (usual[i].letter == letter) return usual[i].size;
  }
  return 3;
}

// ---- which rows ----

static bool names(const row_t *row, const char *name) {
  size_t size = 0;
  while (name[size] != '\0' && row->op[size] == name[size]) ++size;
  return name[size] == '\0' && (row->op[size] == '\0' || row->op[size] == '*');
}

static bool has_rows(const char *name) {
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (names(&rows[i], name)) return true;
  }
  return false;
}

// The name under which the operator's rows stand: "Conv", "com.microsoft::QGemm".
static const char *row_name(const byoc_op_t *op, char full[128]) {
  snprintf(full, 128, "%s%s%s", op->domain, op->domain[0] != '\0' ? "::" : "", op->name);
  if (has_rows(full)) return full;
  return strncmp(op->name, "Reduce", 6) == 0 ? "reduce" : "elementwise";
}

uint32_t recipe_count(const byoc_op_t *op) {
  char full[128];
  const char *name = row_name(op, full);
  uint32_t count = 0;
  for (size_t i = 0; i < ROW_COUNT; ++i) count += names(&rows[i], name);
  return count;
}

// ---- dimensions ----

// "C", "C*2", "C/2" or "3". With `given`, a free letter is bound by it; returns -1 if that contradicts.
static int64_t dimension(const char *text, size_t size, const specimen_wish_t *wish, const int64_t *given,
                         binding_t *binding) {
  if (isdigit((unsigned char)text[0])) return given != NULL && *given != atoll(text) ? -1 : atoll(text);
  int64_t *letter = &binding->letters[text[0] - 'A'];
  const int64_t factor = size > 2 ? atoll(text + 2) : 1;
  const bool divides = size > 2 && text[1] == '/';
  if (*letter < 0 && given != NULL) {
    if (!divides && *given % factor != 0) return -1;
    *letter = divides ? *given * factor : *given / factor;
  }
  if (*letter < 0) *letter = text[0] == 'N' ? wish->lead : usual_size(text[0]);
  const int64_t value = divides ? *letter / factor : *letter * factor;
  return given != NULL && *given != value ? -1 : value;
}

// Binds, or uses, a run of dimensions as a whole.
static bool run_of_dims(const int64_t *given, int32_t given_rank, int64_t *bound, int32_t *bound_rank) {
  if (*bound_rank < 0) {
    *bound_rank = given_rank;
    memcpy(bound, given, (size_t)given_rank * sizeof(*given));
    return true;
  }
  return *bound_rank == given_rank && memcmp(bound, given, (size_t)given_rank * sizeof(*given)) == 0;
}

// The dims of an operand, "[...]" without its brackets. If it is known, its dims bind; otherwise it gets some.
static bool fit_dims(const char *text, size_t size, const specimen_wish_t *wish, const specimen_value_t *hint,
                     bool is_known, binding_t *binding, specimen_value_t *value) {
  if (size == 3 && strncmp(text, "...", 3) == 0) {
    if (is_known) return run_of_dims(value->dims, value->rank, binding->whole, &binding->whole_rank);
    if (binding->whole_rank < 0 && hint != NULL)
      run_of_dims(hint->dims, hint->rank, binding->whole, &binding->whole_rank);
    if (binding->whole_rank < 0)
      run_of_dims((const int64_t[]){wish->lead, 3, 5}, 3, binding->whole, &binding->whole_rank);
    value->rank = binding->whole_rank;
    memcpy(value->dims, binding->whole, sizeof(value->dims));
    return true;
  }
  int32_t listed = 0;
  const bool has_front = size > 0 && text[0] == '*';
  for (size_t i = 0; i < size; ++i) listed += text[i] == ',';
  listed += size > 0 && !has_front; // "*,A,B" has two commas and lists two
  if (is_known && (has_front ? value->rank < listed : value->rank != listed)) return false;
  int32_t at = 0;
  if (has_front && is_known) {
    at = value->rank - listed;
    if (!run_of_dims(value->dims, at, binding->front, &binding->front_rank)) return false;
  } else if (has_front) {
    if (binding->front_rank < 0 && hint != NULL && hint->rank >= listed) {
      run_of_dims(hint->dims, hint->rank - listed, binding->front, &binding->front_rank);
    }
    if (binding->front_rank < 0) run_of_dims(&wish->lead, 1, binding->front, &binding->front_rank);
    at = binding->front_rank;
    memcpy(value->dims, binding->front, sizeof(value->dims));
  }
  if (at + listed > SPECIMEN_RANK) return false;
  for (size_t i = has_front ? 2 : 0; i < size && listed > 0; ++at) {
    const size_t length = strcspn(text + i, ",]");
    const int64_t given = value->dims[at];
    const int64_t dim = dimension(text + i, length, wish, is_known ? &given : NULL, binding);
    if (dim < 0) return false;
    value->dims[at] = dim;
    i += length + 1;
  }
  value->rank = at;
  return true;
}

// ---- operands ----

static void read_values(const char *text, size_t size, specimen_value_t *value) {
  if (size > 0 && text[0] == '+') value->fill = SPECIMEN_POSITIVE;
  if (size == 0 || text[0] == '+') return;
  value->fill = SPECIMEN_LISTED;
  value->value_count = 0;
  for (const char *at = text; at < text + size && value->value_count < SPECIMEN_VALUES; at += strcspn(at, ", ") + 1) {
    value->values[value->value_count++] = strtod(at, NULL);
  }
}

// "f32", "q" or "f" as recipes.def says; the type that is bound if there is none.
static byoc_dtype_t read_dtype(const char *text, size_t size, const specimen_wish_t *wish) {
  const bool is_float = byoc_dtype_is_any_float(wish->dtype);
  const bool is_quantised = byoc_dtype_is_any_integer(wish->dtype) && byoc_dtype_bits(wish->dtype) <= 16;
  if (size == 1 && text[0] == 'q') return is_quantised ? wish->dtype : BYOC_DTYPE_U8;
  if (size == 1 && text[0] == 'f') return is_float ? wish->dtype : BYOC_DTYPE_F32;
  char name[16] = "";
  memcpy(name, text, size < sizeof(name) ? size : 0);
  return byoc_dtype_parse(name);
}

// The type of an operand without one in its row.
static byoc_dtype_t bind_dtype(const recipe_operand_t *operand, binding_t *binding) {
  if (operand->is_known && !binding->has_dtype) binding->dtype = operand->value.dtype;
  binding->has_dtype = binding->has_dtype || operand->is_known;
  return binding->dtype;
}

// One word of a row's operands.
static bool fit_operand(const char *word, size_t size, const specimen_wish_t *wish, const specimen_value_t *hint,
                        binding_t *binding, recipe_operand_t *operand) {
  if (size == 1 && word[0] == '_') {
    operand->is_left_out = true;
    return !operand->is_known;
  }
  const char *open = strchr(word, '['), *close = strchr(word, ']'), *at = close + 1, *end = word + size;
  const size_t length = *at == ':' ? strcspn(at + 1, "=!+ ") : 0;
  const byoc_dtype_t dtype = length > 0 ? read_dtype(at + 1, length, wish) : bind_dtype(operand, binding);
  at += length > 0 ? length + 1 : 0;
  specimen_value_t *value = &operand->value;
  if (operand->is_known && value->dtype != dtype) return false;
  if (!fit_dims(open + 1, (size_t)(close - open - 1), wish, hint, operand->is_known, binding, value)) return false;
  if (operand->is_known) return true;
  value->dtype = dtype;
  value->source = at < end && *at == '!' ? SPECIMEN_CONSTANT : SPECIMEN_INPUT;
  operand->is_weight = at < end && *at == '=';
  if (operand->is_weight && !wish->as_inputs) value->source = SPECIMEN_CONSTANT;
  if (at < end && (*at == '=' || *at == '!')) ++at;
  read_values(at, (size_t)(end - at), value);
  return true;
}

// Known operands come first, because they bind.
static bool fit_operands(const row_t *row, const specimen_wish_t *wish, const specimen_value_t *hint, uint32_t least,
                         binding_t *binding, recipe_t *recipe) {
  const char *words[SPECIMEN_OPERANDS];
  size_t sizes[SPECIMEN_OPERANDS];
  uint32_t count = 0;
  for (const char *at = row->operands; *at != '\0' && count < SPECIMEN_OPERANDS; at += strspn(at, " ")) {
    words[count] = at;
    sizes[count++] = strcspn(at, " ");
    at += sizes[count - 1];
  }
  if (recipe->operand_count == 0) recipe->operand_count = count;
  if (recipe->operand_count > count || recipe->operand_count < least) return false;
  for (int known = 1; known >= 0; --known) {
    for (uint32_t i = 0; i < recipe->operand_count; ++i) {
      if (recipe->operands[i].is_known != (known == 1)) continue;
      if (!fit_operand(words[i], sizes[i], wish, hint, binding, &recipe->operands[i])) return false;
    }
  }
  return true;
}

// ---- attributes ----

static bool add_list(const char *text, size_t size, byoc_arena_t *arena, byoc_attribute_t *attribute) {
  int64_t list[SPECIMEN_RANK * 2];
  size_t count = 0;
  for (const char *at = text; at < text + size && count < SPECIMEN_RANK * 2; at += strcspn(at, ", ") + 1) {
    list[count++] = strtoll(at, NULL, 10);
  }
  attribute->kind = BYOC_ATTRIBUTE_INTS;
  attribute->ints = byoc_arena_copy(arena, list, count * sizeof(*list));
  attribute->count = count;
  return attribute->ints != NULL;
}

static bool read_attributes(const char *text, const binding_t *binding, byoc_arena_t *arena, recipe_t *recipe) {
  recipe->attribute_count = 0;
  for (const char *at = text; *at != '\0'; at += strspn(at, " ")) {
    const size_t name_size = strcspn(at, "="), size = strcspn(at + name_size + 1, " ");
    const char *value = at + name_size + 1;
    byoc_attribute_t *attribute = &recipe->attributes[recipe->attribute_count++];
    *attribute = (byoc_attribute_t){.name = byoc_arena_format(arena, "%.*s", (int)name_size, at)};
    char copy[64] = "";
    memcpy(copy, value, size < sizeof(copy) ? size : 0);
    if (size == 1 && isupper((unsigned char)value[0])) { // a size
      attribute->kind = BYOC_ATTRIBUTE_INT;
      attribute->i = binding->letters[value[0] - 'A'];
    } else if (!isdigit((unsigned char)value[0]) && value[0] != '-') {
      attribute->kind = BYOC_ATTRIBUTE_STRING;
      attribute->s = byoc_arena_format(arena, "%s", copy);
      attribute->count = size;
      if (attribute->s == NULL) return false;
    } else if (strchr(copy, ',') != NULL) {
      if (!add_list(value, size, arena, attribute)) return false;
    } else if (strchr(copy, '.') != NULL) {
      attribute->kind = BYOC_ATTRIBUTE_FLOAT;
      attribute->f = (double)strtof(copy, NULL);
    } else {
      attribute->kind = BYOC_ATTRIBUTE_INT;
      attribute->i = strtoll(copy, NULL, 10);
    }
    if (attribute->name == NULL) return false;
    at = value + size;
  }
  return true;
}

// ---- the whole ----

static bool try_row(const row_t *row, const byoc_op_t *op, const specimen_wish_t *wish, const specimen_value_t *hint,
                    byoc_arena_t *arena, recipe_t *recipe) {
  binding_t binding = {.whole_rank = -1, .front_rank = -1, .dtype = wish->dtype};
  for (size_t i = 0; i < 26; ++i) binding.letters[i] = -1;
  const uint32_t least = op->min_inputs > 0 ? (uint32_t)op->min_inputs : 1;
  if (!fit_operands(row, wish, hint, least, &binding, recipe)) return false;
  if (op->max_inputs >= 0 && recipe->operand_count > (uint32_t)op->max_inputs) return false;
  const char *star = strchr(row->op, '*');
  recipe->result_count = star != NULL ? (uint32_t)atoi(star + 1) : 1;
  return read_attributes(row->attributes, &binding, arena, recipe);
}

bool recipe_complete(const byoc_op_t *op, const specimen_wish_t *wish, uint32_t variant, const specimen_value_t *hint,
                     byoc_arena_t *arena, recipe_t *recipe) {
  char full[128];
  const char *name = row_name(op, full);
  const recipe_t asked = *recipe;
  uint32_t suiting = 0;
  // Counts the rows that suit, so that each variant has one: they are taken in turn.
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (!names(&rows[i], name)) continue;
    recipe_t tried = asked;
    suiting += try_row(&rows[i], op, wish, hint, arena, &tried);
  }
  if (suiting == 0) return false;
  variant %= suiting;
  for (size_t i = 0; i < ROW_COUNT; ++i) {
    if (!names(&rows[i], name)) continue;
    *recipe = asked;
    if (try_row(&rows[i], op, wish, hint, arena, recipe) && variant-- == 0) return true;
  }
  return false;
}
