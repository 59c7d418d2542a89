// SPDX-License-Identifier: Apache-2.0
// Prints and parses collectives: "collective all_reduce(%x) -> (%y) sum among 2 step 1".
#include <string.h>

#include "core/hostir/text/text_internal.h"

static const char *const phase_words[] = {
    [BYOC_COLLECTIVE_WHOLE] = "whole", [BYOC_COLLECTIVE_BEGINS] = "begins", [BYOC_COLLECTIVE_ENDS] = "ends"};

void byoc_host_print_collective(const byoc_collective_call_t *c, byoc_string_t *out) {
  if (byoc_collective_reduces(c->kind)) byoc_string_appendf(out, " %s", byoc_reduction_name(c->reduction));
  if (c->members > 0) byoc_string_appendf(out, " among %d step %d", c->members, c->stride);
  if (byoc_collective_has_root(c->kind)) byoc_string_appendf(out, " root %d", c->root);
  for (int32_t m = 0; c->targets != NULL && m < c->members; ++m) {
    byoc_string_appendf(out, "%s%d%s", m == 0 ? " to [" : ", ", c->targets[m], m + 1 == c->members ? "]" : "");
  }
  if (c->phase != BYOC_COLLECTIVE_WHOLE) byoc_string_appendf(out, " %s", phase_words[c->phase]);
}

static bool parse_reduction(byoc_lexer_t *lexer, byoc_collective_call_t *c) {
  for (c->reduction = 0; c->reduction < BYOC_REDUCTION_COUNT; ++c->reduction) {
    if (byoc_lexer_accept_word(lexer, byoc_reduction_name(c->reduction))) return true;
  }
  return byoc_lexer_expected(lexer, "a reduction");
}

// among 2 step 1
static bool parse_group(byoc_lexer_t *lexer, byoc_collective_call_t *c) {
  int64_t members = 0, stride = 0;
  if (!byoc_lexer_accept_word(lexer, "among")) return lexer->status == BYOC_OK;
  if (!byoc_lexer_expect_i64_in(lexer, 1, INT16_MAX, &members) || !byoc_lexer_expect_word(lexer, "step") ||
      !byoc_lexer_expect_i64_in(lexer, 1, INT16_MAX, &stride)) {
    return false;
  }
  c->members = (int32_t)members;
  c->stride = (int32_t)stride;
  return true;
}

// to [1, 0, -1]
static bool parse_targets(byoc_host_parser_t *parser, byoc_collective_call_t *c) {
  byoc_lexer_t *lexer = &parser->lexer;
  int32_t *targets = BYOC_ARENA_ARRAY(&parser->program->arena, int32_t, (size_t)c->members);
  if (targets == NULL) return byoc_lexer_fail_memory(lexer);
  if (!byoc_lexer_expect_word(lexer, "to") || !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACKET)) return false;
  for (int32_t m = 0; m < c->members; ++m) {
    int64_t target = 0;
    if (m > 0 && !byoc_lexer_expect(lexer, BYOC_TOKEN_COMMA)) return false;
    if (!byoc_lexer_expect_i64_in(lexer, -1, c->members - 1, &target)) return false;
    targets[m] = (int32_t)target;
  }
  c->targets = targets;
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
}

bool byoc_host_parse_collective(byoc_host_parser_t *parser, byoc_host_instruction_t *instruction) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_collective_call_t *c = BYOC_ARENA_NEW(&parser->program->arena, byoc_collective_call_t);
  if (c == NULL) return byoc_lexer_fail_memory(lexer);
  instruction->collective = c;
  while (c->kind < BYOC_COLLECTIVE_COUNT && strcmp(byoc_collective_name(c->kind), instruction->symbol) != 0) ++c->kind;
  if (c->kind == BYOC_COLLECTIVE_COUNT) {
    return byoc_lexer_fail_at(lexer, lexer->token.offset, "'%s' is no collective", instruction->symbol);
  }
  int64_t root = 0;
  if (byoc_collective_reduces(c->kind) && !parse_reduction(lexer, c)) return false;
  if (!parse_group(lexer, c)) return false;
  if (byoc_collective_has_root(c->kind) &&
      (!byoc_lexer_expect_word(lexer, "root") || !byoc_lexer_expect_i64_in(lexer, 0, INT16_MAX, &root))) {
    return false;
  }
  c->root = (int32_t)root;
  if (c->kind == BYOC_PERMUTE && !parse_targets(parser, c)) return false;
  if (byoc_lexer_accept_word(lexer, "begins")) c->phase = BYOC_COLLECTIVE_BEGINS;
  if (byoc_lexer_accept_word(lexer, "ends")) c->phase = BYOC_COLLECTIVE_ENDS;
  return lexer->status == BYOC_OK;
}
