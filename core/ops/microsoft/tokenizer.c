// SPDX-License-Identifier: Apache-2.0
// com.microsoft: Tokenizer, which converters of text pipelines write before TfIdfVectorizer. The longest one of the
// leftmost matches of a pattern counts, as in ONNX Runtime.
#include <string.h>

#include "core/op/util.h"
#include "core/ops/onnx/text/regex.h"
#include "core/ops/onnx/text/string.h"
#include "core/runtime/text.h"

static bool is_text(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_STRING;
}

// BYOC_TEXT_TOKENS_*; -1: the node has both kinds of patterns, or none. *out_count is the number of patterns.
static int kind_of(const byoc_node_t *node, size_t *out_count) {
  size_t separators = 0;
  const char *const *texts = byoc_node_texts(node, "separators", &separators);
  const char *token = byoc_node_text(node, "tokenexp");
  const bool has_token = token != NULL && token[0] != '\0';
  *out_count = 0;
  if (has_token == (separators > 0)) return -1;
  if (has_token ? strcmp(token, ".") == 0 : separators == 1 && texts[0][0] == '\0') return BYOC_TEXT_TOKENS_CHARACTERS;
  *out_count = has_token ? 1 : separators;
  return has_token ? BYOC_TEXT_TOKENS_MATCH : BYOC_TEXT_TOKENS_SEPARATE;
}

static const char *pattern_at(const byoc_node_t *node, size_t index) {
  size_t separators = 0;
  const char *const *texts = byoc_node_texts(node, "separators", &separators);
  return separators > 0 ? texts[index] : byoc_node_text(node, "tokenexp");
}

static byoc_status_t infer_tokenizer(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, 0);
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, is_text, "texts"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, 2));
  if (kind_of(node, &count) < 0) return byoc_infer_error(infer, "one of 'tokenexp' and 'separators' must be given");
  for (size_t i = 0; i < count; ++i) {
    byoc_string_t translated;
    char reason[BYOC_REGEX_REASON_SIZE];
    const char *pattern = pattern_at(node, i);
    if (pattern[0] == '\0') return byoc_infer_error(infer, "separator %zu is empty", i);
    byoc_string_init(&translated, byoc_allocator_system());
    const bool fits = byoc_regex_translate(pattern, &translated, reason), failed = translated.failed;
    byoc_string_deinit(&translated);
    if (failed) return byoc_diag_out_of_memory(infer->diag);
    if (!fits) return byoc_infer_unsupported(infer, "the pattern \"%s\": %s", pattern, reason);
  }
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, BYOC_DTYPE_STRING);
  byoc_dim_t dims[3];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[x->rank] = byoc_infer_unknown_dim(infer, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, BYOC_DTYPE_STRING, x->rank + 1, dims);
}

// A constant vector of the patterns in POSIX form, without anchors to the ends of a string.
static byoc_value_t *write_patterns(byoc_writer_t *w, size_t count) {
  byoc_arena_t *arena = &w->node->function->module->arena;
  const char **patterns = BYOC_ARENA_ARRAY(arena, const char *, count + 1);
  w->failed |= !patterns;
  for (size_t i = 0; i < count && !w->failed; ++i) {
    byoc_string_t translated;
    char reason[BYOC_REGEX_REASON_SIZE];
    byoc_string_init(&translated, byoc_allocator_system());
    if (byoc_regex_translate(pattern_at(w->node, i), &translated, reason) && !translated.failed) {
      char *inner = byoc_arena_copy(arena, translated.data + 1, translated.size - 1);
      if (inner) inner[translated.size - 2] = '\0';
      patterns[i] = inner;
    }
    w->failed |= !patterns[i];
    byoc_string_deinit(&translated);
  }
  return w->failed ? NULL : byoc_write_strings(w, "patterns", count, patterns);
}

// Counts the tokens of each string, which gives the shape of the result.
static byoc_status_t expand_tokenizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_arena_t *arena = &node->function->module->arena;
  byoc_value_t *x = node->operands[0];
  size_t count = 0;
  const bool has_marks = byoc_node_flag(node, "mark");
  const int64_t settings[3] = {kind_of(node, &count), byoc_node_int(node, "mincharnum"), has_marks}, one = 1, two = 2;
  const char *padding = byoc_node_text(node, "pad_value");
  *out_changed = false;
  if (!byoc_is_ranked(x->type)) return BYOC_OK;
  byoc_value_t *given[] = {x, write_patterns(&w, count),
                           byoc_write_vector(&w, "settings", BYOC_DTYPE_I64, 3, settings)};
  const byoc_type_t *type = byoc_type_tensor(arena, BYOC_DTYPE_I64, x->type->rank, x->type->dims);
  byoc_value_t *most = byoc_write_most(&w, byoc_write_string(&w, "token_count", given, 3, type));
  if (has_marks) { // where no text has a token, there are no marks
    byoc_value_t *some = byoc_write_plain(&w, "Min", most, byoc_write_vector(&w, "one", BYOC_DTYPE_I64, 1, &one));
    some = byoc_write_plain(&w, "Mul", some, byoc_write_vector(&w, "marks", BYOC_DTYPE_I64, 1, &two));
    most = byoc_write_plain(&w, "Add", most, some);
  }
  byoc_value_t *scratch = byoc_write_scratch(&w, x, most);
  byoc_value_t *operands[] = {x, scratch, given[1], given[2], byoc_write_strings(&w, "padding", 1, &padding)};
  if (!w.failed) type = byoc_type_tensor(arena, BYOC_DTYPE_STRING, scratch->type->rank, scratch->type->dims);
  return byoc_write_end(&w, byoc_write_string(&w, "tokens", operands, 5, type), out_changed);
}

static const byoc_op_attribute_t tokenizer_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "mark")},         {BYOC_ATTR_REQUIRED(INT, "mincharnum")},
    {BYOC_ATTR_REQUIRED(STRING, "pad_value")}, {BYOC_ATTR(STRINGS, "separators")},
    {BYOC_ATTR(STRING, "tokenexp")},           BYOC_ATTR_END};

const byoc_op_t byoc_ops_tokenizer[] = {
    {.domain = "com.microsoft",
     .name = "Tokenizer",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = tokenizer_attributes,
     .infer = infer_tokenizer,
     .expand = expand_tokenizer},
};
const size_t byoc_ops_tokenizer_count = sizeof byoc_ops_tokenizer / sizeof *byoc_ops_tokenizer;
