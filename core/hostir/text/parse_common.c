// SPDX-License-Identifier: Apache-2.0
// Parses buffers, numbers and strings for the parsers of host programs, and keeps names that are looked up at the end.
#include "core/hostir/text/text_internal.h"

bool byoc_host_parse_later(byoc_host_parser_t *parser, const byoc_host_pending_t *pending) {
  return byoc_vector_push(&parser->pending, byoc_arena_allocator(parser->lexer.arena), *pending)
             ? true
             : byoc_lexer_fail_memory(&parser->lexer);
}

const char *byoc_host_parse_copy(byoc_host_parser_t *parser, const char *text) {
  const char *copy = byoc_arena_copy_string(&parser->program->arena, text);
  if (copy == NULL) byoc_lexer_fail_memory(&parser->lexer);
  return copy;
}

bool byoc_host_parse_unsigned(byoc_host_parser_t *parser, uint64_t *out_value) {
  *out_value = parser->lexer.token.integer;
  return byoc_lexer_expect(&parser->lexer, BYOC_TOKEN_INTEGER);
}

bool byoc_host_parse_buffer(byoc_host_parser_t *parser, byoc_host_buffer_t **out_buffer) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_token_t token = lexer->token;
  *out_buffer = NULL;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  *out_buffer = byoc_host_find_buffer(parser->program, token.text);
  return *out_buffer != NULL || byoc_lexer_fail_at(lexer, token.offset, "there is no buffer %%%s", token.text);
}
