// SPDX-License-Identifier: Apache-2.0
// Parses dimensions, types, attributes and virtual devices, and prints virtual devices.
#include "core/ir/text_parts.h"

#include <string.h>

#include "core/ir/text_names.h"

// ---- dimensions ----

static bool parse_sum(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_t *out);

static bool combine(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_kind_t kind, byoc_dim_t left, byoc_dim_t right,
                    byoc_dim_t *out) {
  bool failed = false;
  *out = byoc_dim_binary(arena, kind, left, right, &failed);
  return failed ? byoc_lexer_fail_memory(lexer) : true;
}

static bool parse_function_dim(byoc_lexer_t *lexer, byoc_arena_t *arena, const char *name, size_t offset,
                               byoc_dim_t *out) {
  static const struct {
    const char *name;
    byoc_dim_kind_t kind;
    bool is_list; // of two or more
  } functions[] = {{"floordiv", BYOC_DIM_FLOORDIV, false},
                   {"ceildiv", BYOC_DIM_CEILDIV, false},
                   {"mod", BYOC_DIM_MOD, false},
                   {"min", BYOC_DIM_MIN, true},
                   {"max", BYOC_DIM_MAX, true},
                   {"broadcast", BYOC_DIM_BROADCAST, true}};
  byoc_dim_t right;
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    if (strcmp(functions[i].name, name) != 0) continue;
    bool ok = byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN) && parse_sum(lexer, arena, out);
    for (bool more = true; ok && more; more = functions[i].is_list && byoc_lexer_is(lexer, BYOC_TOKEN_COMMA)) {
      ok = byoc_lexer_expect(lexer, BYOC_TOKEN_COMMA) && parse_sum(lexer, arena, &right) &&
           combine(lexer, arena, functions[i].kind, *out, right, out);
    }
    return ok && byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
  }
  return byoc_lexer_fail_at(lexer, offset,
                            "there is no function '%s' of dimensions; there are floordiv, ceildiv, mod, "
                            "min, max and broadcast",
                            name);
}

static bool parse_primary(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_t *out) {
  size_t offset = lexer->token.offset;
  bool failed = false;
  if (byoc_lexer_is(lexer, BYOC_TOKEN_INTEGER)) {
    int64_t value = 0;
    if (!byoc_lexer_expect_i64(lexer, &value)) return false;
    *out = byoc_dim_constant(value);
    return true;
  }
  if (byoc_lexer_is(lexer, BYOC_TOKEN_MINUS)) {
    int64_t value = 0;
    if (byoc_lexer_peek(lexer) == BYOC_TOKEN_INTEGER) {
      if (!byoc_lexer_expect_i64(lexer, &value)) return false;
      *out = byoc_dim_constant(value);
      return true;
    }
    if (!byoc_lexer_next(lexer) || !byoc_lexer_enter(lexer)) return false;
    bool ok = parse_primary(lexer, arena, out) && combine(lexer, arena, BYOC_DIM_SUB, byoc_dim_constant(0), *out, out);
    byoc_lexer_leave(lexer);
    return ok;
  }
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_PAREN))
    return parse_sum(lexer, arena, out) && byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_QUESTION)) {
    uint64_t id = lexer->token.integer;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_INTEGER)) return false;
    if (id < UINT64_C(1) << 63 && id >= lexer->next_unknown) lexer->next_unknown = id + 1;
    *out = byoc_dim_unknown(arena, id, &failed);
    return failed ? byoc_lexer_fail_memory(lexer) : true;
  }
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_WORD) && !byoc_lexer_is(lexer, BYOC_TOKEN_STRING))
    return byoc_lexer_expected(lexer, "a dimension");
  bool quoted = byoc_lexer_is(lexer, BYOC_TOKEN_STRING);
  const char *name = NULL;
  if (!byoc_lexer_expect_name(lexer, &name)) return false;
  if (!quoted && byoc_lexer_is(lexer, BYOC_TOKEN_LEFT_PAREN))
    return parse_function_dim(lexer, arena, name, offset, out);
  *out = byoc_dim_symbol(arena, name, &failed);
  return failed ? byoc_lexer_fail_memory(lexer) : true;
}

static bool parse_product(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_t *out) {
  if (!parse_primary(lexer, arena, out)) return false;
  while (byoc_lexer_accept(lexer, BYOC_TOKEN_STAR)) {
    byoc_dim_t right;
    if (!parse_primary(lexer, arena, &right) || !combine(lexer, arena, BYOC_DIM_MUL, *out, right, out)) return false;
  }
  return lexer->status == BYOC_OK;
}

static bool parse_sum(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_t *out) {
  *out = byoc_dim_constant(0);
  if (!byoc_lexer_enter(lexer)) return false;
  bool ok = parse_product(lexer, arena, out);
  while (ok && (byoc_lexer_is(lexer, BYOC_TOKEN_PLUS) || byoc_lexer_is(lexer, BYOC_TOKEN_MINUS))) {
    byoc_dim_kind_t kind = byoc_lexer_is(lexer, BYOC_TOKEN_PLUS) ? BYOC_DIM_ADD : BYOC_DIM_SUB;
    byoc_dim_t right;
    ok = byoc_lexer_next(lexer) && parse_product(lexer, arena, &right) && combine(lexer, arena, kind, *out, right, out);
  }
  byoc_lexer_leave(lexer);
  return ok;
}

bool byoc_dim_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dim_t *out_dim) {
  return parse_sum(lexer, arena, out_dim);
}

// ---- types ----

static const char *const dtype_names[] = {
#define BYOC_DTYPE_TEXT(NAME, number, text, bits, dlpack, onnx) text,
    BYOC_DTYPE_LIST(BYOC_DTYPE_TEXT)
#undef BYOC_DTYPE_TEXT
};

static bool parse_tensor(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_dtype_t dtype, const byoc_type_t **out_type) {
  byoc_dim_t dims[BYOC_MAX_RANK] = {{0}};
  int32_t rank = 0;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACKET)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_STAR)) {
    rank = BYOC_RANK_UNKNOWN;
  } else if (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACKET)) {
    do {
      size_t offset = lexer->token.offset;
      if (rank == BYOC_MAX_RANK) return byoc_lexer_fail(lexer, "a tensor has at most %d dimensions", BYOC_MAX_RANK);
      if (!byoc_dim_parse(lexer, arena, &dims[rank])) return false;
      if (byoc_dim_is_constant(dims[rank]) && dims[rank].constant < 0)
        return byoc_lexer_fail_at(lexer, offset, "a dimension cannot be negative");
      ++rank;
    } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  }
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET)) return false;
  *out_type = byoc_type_tensor(arena, dtype, rank, dims);
  return *out_type ? true : byoc_lexer_fail_memory(lexer);
}

static bool parse_type(byoc_lexer_t *lexer, byoc_arena_t *arena, const byoc_type_t **out_type) {
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_QUESTION)) {
    *out_type = byoc_type_unknown();
    return true;
  }
  size_t offset = lexer->token.offset;
  const char *word = NULL;
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_WORD)) return byoc_lexer_expected(lexer, "a type");
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_WORD, &word)) return false;
  bool is_sequence = strcmp(word, "seq") == 0;
  if (is_sequence || strcmp(word, "opt") == 0) {
    const byoc_type_t *element = NULL;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LESS) || !byoc_type_parse(lexer, arena, &element) ||
        !byoc_lexer_expect(lexer, BYOC_TOKEN_GREATER))
      return false;
    *out_type = is_sequence ? byoc_type_sequence(arena, element) : byoc_type_optional(arena, element);
    return *out_type ? true : byoc_lexer_fail_memory(lexer);
  }
  byoc_dtype_t dtype = byoc_dtype_parse(word);
  if (dtype != BYOC_DTYPE_NONE) return parse_tensor(lexer, arena, dtype, out_type);
  byoc_lexer_fail_at(lexer, offset, "there is no type '%s'", word);
  const char *nearest = byoc_nearest_match(word, dtype_names, sizeof(dtype_names) / sizeof(dtype_names[0]));
  if (nearest) byoc_diag_hint(lexer->diag, "did you mean '%s'?", nearest);
  return false;
}

bool byoc_type_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, const byoc_type_t **out_type) {
  *out_type = byoc_type_unknown();
  if (!byoc_lexer_enter(lexer)) return false;
  bool ok = parse_type(lexer, arena, out_type);
  byoc_lexer_leave(lexer);
  return ok;
}

// ---- attributes ----

typedef struct number_list_t {
  BYOC_VECTOR(int64_t) ints;
  BYOC_VECTOR(double) floats;
  bool is_float; // true if one element is
} number_list_t;

static bool stored(byoc_lexer_t *lexer, bool ok) {
  return ok ? true : byoc_lexer_fail_memory(lexer);
}

static bool parse_strings(byoc_lexer_t *lexer, byoc_attributes_t *attributes, const char *name) {
  byoc_allocator_t scratch = byoc_arena_allocator(lexer->arena);
  BYOC_VECTOR(const char *) texts = {0};
  do {
    const char *text = lexer->token.text;
    if (byoc_lexer_is(lexer, BYOC_TOKEN_STRING) && memchr(text, 0, lexer->token.size))
      return byoc_lexer_fail(lexer, "a string in a list cannot hold a NUL");
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_STRING)) return false;
    if (!byoc_vector_push(&texts, scratch, text)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET) &&
         stored(lexer, byoc_attributes_set_strings(attributes, name, texts.data, texts.count));
}

static bool parse_numbers(byoc_lexer_t *lexer, byoc_attributes_t *attributes, const char *name) {
  byoc_allocator_t scratch = byoc_arena_allocator(lexer->arena);
  number_list_t list = {.is_float = false};
  do {
    int64_t integer = 0;
    double number = 0;
    if (byoc_lexer_is_float(lexer)) {
      list.is_float = true;
      if (!byoc_lexer_expect_f64(lexer, &number)) return false;
    } else {
      if (!byoc_lexer_expect_i64(lexer, &integer)) return false;
      number = (double)integer;
    }
    if (!byoc_vector_push(&list.ints, scratch, integer) || !byoc_vector_push(&list.floats, scratch, number))
      return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET)) return false;
  bool ok = list.is_float ? byoc_attributes_set_floats(attributes, name, list.floats.data, list.floats.count)
                          : byoc_attributes_set_ints(attributes, name, list.ints.data, list.ints.count);
  return stored(lexer, ok);
}

static bool parse_empty_list(byoc_lexer_t *lexer) {
  return byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACKET) && byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
}

static bool parse_value(byoc_lexer_t *lexer, byoc_graph_module_t *module, byoc_attributes_t *attributes,
                        const char *name) {
  byoc_token_t token = lexer->token;
  if (byoc_lexer_is_float(lexer)) {
    double number = 0;
    return byoc_lexer_expect_f64(lexer, &number) && stored(lexer, byoc_attributes_set_float(attributes, name, number));
  }
  if (byoc_lexer_is(lexer, BYOC_TOKEN_INTEGER) || byoc_lexer_is(lexer, BYOC_TOKEN_MINUS)) {
    int64_t integer = 0;
    return byoc_lexer_expect_i64(lexer, &integer) && stored(lexer, byoc_attributes_set_int(attributes, name, integer));
  }
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_STRING))
    return stored(lexer, byoc_attributes_set_string_n(attributes, name, token.text, token.size));
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_BRACKET)) {
    if (byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_BRACKET))
      return byoc_lexer_fail(lexer, "write ints[], floats[] or strings[] for an empty list");
    return byoc_lexer_is(lexer, BYOC_TOKEN_STRING) ? parse_strings(lexer, attributes, name)
                                                   : parse_numbers(lexer, attributes, name);
  }
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_GLOBAL)) {
    byoc_constant_t *constant = byoc_graph_module_find_constant(module, token.text);
    if (!constant) return byoc_lexer_fail_at(lexer, token.offset, "there is no constant @%s", token.text);
    return stored(lexer, byoc_attributes_set_tensor(attributes, name, constant));
  }
  if (byoc_lexer_accept_word(lexer, "type")) {
    const byoc_type_t *type = NULL;
    return byoc_type_parse(lexer, attributes->arena, &type) &&
           stored(lexer, byoc_attributes_set_type(attributes, name, type));
  }
  if (byoc_lexer_accept_word(lexer, "ints"))
    return parse_empty_list(lexer) && stored(lexer, byoc_attributes_set_ints(attributes, name, NULL, 0));
  if (byoc_lexer_accept_word(lexer, "floats"))
    return parse_empty_list(lexer) && stored(lexer, byoc_attributes_set_floats(attributes, name, NULL, 0));
  if (byoc_lexer_accept_word(lexer, "strings"))
    return parse_empty_list(lexer) && stored(lexer, byoc_attributes_set_strings(attributes, name, NULL, 0));
  return byoc_lexer_expected(lexer, "an attribute's value");
}

bool byoc_attributes_parse(byoc_lexer_t *lexer, byoc_graph_module_t *module, byoc_attributes_t *attributes) {
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_RIGHT_BRACE)) return true;
  do {
    const char *name = NULL;
    size_t offset = lexer->token.offset;
    if (!byoc_lexer_expect_name(lexer, &name)) return false;
    if (byoc_attributes_find(attributes, name))
      return byoc_lexer_fail_at(lexer, offset, "attribute '%s' is given twice", name);
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) || !parse_value(lexer, module, attributes, name)) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE);
}

// ---- virtual devices ----

void byoc_virtual_device_print(const byoc_virtual_device_t *device, byoc_string_t *out) {
  if (byoc_virtual_device_is_free(device)) return;
  const char *separator = "";
  byoc_string_append(out, " on {");
  if (device->device_type != 0) {
    byoc_string_appendf(out, "device = %d", (int)device->device_type);
    separator = ", ";
  }
  if (device->device_id != -1) {
    byoc_string_appendf(out, "%sid = %d", separator, (int)device->device_id);
    separator = ", ";
  }
  if (device->target) {
    byoc_string_appendf(out, "%starget = ", separator);
    byoc_text_print_quoted(device->target, strlen(device->target), out);
    separator = ", ";
  }
  if (device->scope) {
    byoc_string_appendf(out, "%sscope = ", separator);
    byoc_text_print_quoted(device->scope, strlen(device->scope), out);
    separator = ", ";
  }
  if (device->ranks) {
    byoc_string_appendf(out, "%sranks = ", separator);
    byoc_text_print_quoted(device->ranks, strlen(device->ranks), out);
  }
  byoc_string_append(out, "}");
}

static bool parse_device_text(byoc_lexer_t *lexer, byoc_arena_t *arena, const char **out) {
  const char *text = NULL;
  if (!byoc_lexer_is(lexer, BYOC_TOKEN_STRING)) return byoc_lexer_expected(lexer, "a string");
  if (!byoc_lexer_expect_name(lexer, &text)) return false;
  *out = byoc_arena_copy_string(arena, text);
  return stored(lexer, *out != NULL);
}

bool byoc_virtual_device_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_virtual_device_t *out_device) {
  *out_device = BYOC_VIRTUAL_DEVICE_FREE;
  if (!byoc_lexer_accept_word(lexer, "on")) return lexer->status == BYOC_OK;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACE)) return false;
  do {
    int64_t number = 0;
    bool ok;
    if (byoc_lexer_accept_word(lexer, "device")) {
      ok = byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) && byoc_lexer_expect_i64_in(lexer, 0, INT32_MAX, &number);
      out_device->device_type = (int32_t)number;
    } else if (byoc_lexer_accept_word(lexer, "id")) {
      ok = byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) && byoc_lexer_expect_i64_in(lexer, -1, INT32_MAX, &number);
      out_device->device_id = (int32_t)number;
    } else if (byoc_lexer_accept_word(lexer, "target")) {
      ok = byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) && parse_device_text(lexer, arena, &out_device->target);
    } else if (byoc_lexer_accept_word(lexer, "scope")) {
      ok = byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) && parse_device_text(lexer, arena, &out_device->scope);
    } else if (byoc_lexer_accept_word(lexer, "ranks")) {
      ok = byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) && parse_device_text(lexer, arena, &out_device->ranks);
    } else {
      return byoc_lexer_expected(lexer, "device, id, target, scope or ranks");
    }
    if (!ok) return false;
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACE);
}
