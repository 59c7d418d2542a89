// SPDX-License-Identifier: Apache-2.0
// Parses devices in host programs: declarations, launches, and the order of commands.
#include <string.h>

#include "core/hostir/program/edit.h"
#include "core/hostir/text/text_internal.h"
#include "core/ir/text_parts.h"

// ---- names ----

static bool parse_device_name(byoc_host_parser_t *parser, const byoc_host_device_t **out_device) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t token = lexer->token;
  *out_device = NULL;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  *out_device = byoc_host_find_device(parser->program, token.text);
  return *out_device != NULL || byoc_lexer_fail_at(lexer, token.offset, "there is no device %%%s", token.text);
}

// The number of an element in a set of `count`.
static bool parse_set_place(byoc_host_parser_t *parser, const char *name, uint32_t count, byoc_dim_t *out_place) {
  byoc_lexer_t *lexer = &parser->lexer;
  *out_place = byoc_dim_constant(0);
  const size_t offset = lexer->token.offset;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_BRACKET)) {
    if (count == 0) return byoc_lexer_fail_at(lexer, offset, "%%%s is no set", name);
    return byoc_dim_parse(lexer, &parser->program->arena, out_place) &&
           byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
  }
  return count == 0 ? lexer->status == BYOC_OK
                    : byoc_lexer_fail_at(lexer, offset, "%%%s is a set: say which one of it, %%%s[0]", name, name);
}

static bool parse_event(byoc_host_parser_t *parser, byoc_host_event_use_t *out_use) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t token = lexer->token;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  out_use->event = byoc_host_find_event(parser->program, token.text);
  if (out_use->event == NULL) return byoc_lexer_fail_at(lexer, token.offset, "there is no event %%%s", token.text);
  return parse_set_place(parser, token.text, out_use->event->count, &out_use->place);
}

bool byoc_host_parse_events(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  do {
    byoc_host_event_use_t use;
    if (!parse_event(parser, &use)) return false;
    if (!byoc_host_add_wait(parser->program, i, use.event, use.place)) return byoc_lexer_fail_memory(lexer);
  } while (byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA));
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

// ---- declarations ----

// %d = "opencl" 0 type 4
static bool parse_device(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_token_t name = lexer->token;
  const char *driver = NULL;
  int64_t ordinal = 0, type = 0;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  if (byoc_host_find_device(parser->program, name.text) != NULL) {
    return byoc_lexer_fail_at(lexer, name.offset, "the device %%%s is declared twice", name.text);
  }
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_EQUAL) || !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &driver) ||
      !byoc_lexer_expect_i64_in(lexer, 0, INT32_MAX, &ordinal) || !byoc_lexer_expect_word(lexer, "type") ||
      !byoc_lexer_expect_i64_in(lexer, 0, INT32_MAX, &type)) {
    return false;
  }
  return byoc_host_device_create(parser->program, name.text, driver, (int32_t)ordinal, (int32_t)type) != NULL ||
         byoc_lexer_fail_memory(lexer);
}

// of %d scope "global" [apart] 4096
static bool parse_memory(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  const byoc_host_device_t *device = NULL;
  const char *scope = NULL;
  if (!byoc_lexer_expect_word(lexer, "of") || !parse_device_name(parser, &device) ||
      !byoc_lexer_expect_word(lexer, "scope")) {
    return false;
  }
  const size_t offset = lexer->token.offset;
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &scope)) return false;
  if (byoc_host_find_memory(parser->program, device, scope) != NULL) {
    return byoc_lexer_fail_at(lexer, offset, "the memory of %%%s with this scope is declared twice", device->name);
  }
  byoc_host_memory_t *memory = byoc_host_memory_get(parser->program, device, scope);
  if (memory == NULL) return byoc_lexer_fail_memory(lexer);
  memory->is_apart = byoc_lexer_accept_word(lexer, "apart");
  return byoc_host_parse_unsigned(parser, &memory->size);
}

// %q[4] on %d
static bool parse_on_device(byoc_host_parser_t *parser, byoc_token_t *out_name, uint32_t *out_count,
                            const byoc_host_device_t **out_device) {
  byoc_lexer_t *lexer = &parser->lexer;
  *out_name = lexer->token;
  *out_count = 0;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  if (byoc_lexer_accept(lexer, BYOC_TOKEN_LEFT_BRACKET)) {
    int64_t count = 0;
    if (!byoc_lexer_expect_i64_in(lexer, 1, BYOC_HOST_MAX_SET, &count)) return false;
    if (!byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET)) return false;
    *out_count = (uint32_t)count;
  }
  return byoc_lexer_expect_word(lexer, "on") && parse_device_name(parser, out_device);
}

static bool parse_queue(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_token_t name;
  uint32_t count = 0;
  const byoc_host_device_t *device = NULL;
  if (!parse_on_device(parser, &name, &count, &device)) return false;
  if (byoc_host_find_queue(parser->program, name.text) != NULL) {
    return byoc_lexer_fail_at(lexer, name.offset, "the queue %%%s is declared twice", name.text);
  }
  int kind = BYOC_HOST_QUEUE_KIND_COUNT - 1;
  while (kind > BYOC_HOST_QUEUE_OWN && !byoc_lexer_accept_word(lexer, byoc_host_queue_words[kind])) --kind;
  if (kind == BYOC_HOST_QUEUE_OWN) (void)byoc_lexer_accept_word(lexer, byoc_host_queue_words[kind]);
  return byoc_host_queue_create(parser->program, name.text, device, (byoc_host_queue_kind_t)kind, count) != NULL ||
         byoc_lexer_fail_memory(lexer);
}

static bool parse_event_declaration(byoc_host_parser_t *parser) {
  byoc_lexer_t *lexer = &parser->lexer;
  byoc_token_t name;
  uint32_t count = 0;
  const byoc_host_device_t *device = NULL;
  if (!parse_on_device(parser, &name, &count, &device)) return false;
  if (byoc_host_find_event(parser->program, name.text) != NULL) {
    return byoc_lexer_fail_at(lexer, name.offset, "the event %%%s is declared twice", name.text);
  }
  return byoc_host_event_create(parser->program, name.text, device, count) != NULL || byoc_lexer_fail_memory(lexer);
}

bool byoc_host_parse_device_declaration(byoc_host_parser_t *parser, bool *out_found) {
  byoc_lexer_t *lexer = &parser->lexer;
  *out_found = true;
  if (byoc_lexer_accept_word(lexer, "device")) return parse_device(parser);
  if (byoc_lexer_accept_word(lexer, "memory")) return parse_memory(parser);
  if (byoc_lexer_accept_word(lexer, "queue")) return parse_queue(parser);
  if (byoc_lexer_accept_word(lexer, "event")) return parse_event_declaration(parser);
  *out_found = false;
  return lexer->status == BYOC_OK;
}

bool byoc_host_parse_buffer_device(byoc_host_parser_t *parser, byoc_host_buffer_t *buffer) {
  if (!byoc_lexer_accept_word(&parser->lexer, "on")) return parser->lexer.status == BYOC_OK;
  return parse_device_name(parser, &buffer->device);
}

// ---- instructions ----

static bool parse_argument(byoc_host_parser_t *parser, byoc_host_argument_t *argument) {
  byoc_lexer_t *lexer = &parser->lexer;
  int kind = 0;
  int64_t index = 0;
  while (kind < BYOC_HOST_ARGUMENT_KIND_COUNT && !byoc_lexer_accept_word(lexer, byoc_host_argument_words[kind])) ++kind;
  if (kind == BYOC_HOST_ARGUMENT_KIND_COUNT) return byoc_lexer_expected(lexer, "an argument of a kernel");
  *argument = (byoc_host_argument_t){.kind = (byoc_host_argument_kind_t)kind};
  switch (argument->kind) {
  case BYOC_HOST_ARGUMENT_OPERAND:
  case BYOC_HOST_ARGUMENT_RESULT:
    if (!byoc_lexer_expect_i64_in(lexer, 0, UINT32_MAX, &index)) return false;
    argument->index = (uint32_t)index;
    break;
  case BYOC_HOST_ARGUMENT_SCRATCH:
    break;
  case BYOC_HOST_ARGUMENT_F32:
  case BYOC_HOST_ARGUMENT_F64:
    return byoc_lexer_expect_f64(lexer, &argument->real);
  default:
    return byoc_dim_parse(lexer, &parser->program->arena, &argument->value);
  }
  return !byoc_lexer_accept(lexer, BYOC_TOKEN_PLUS) || byoc_host_parse_unsigned(parser, &argument->offset_bytes);
}

// [4, 1, 1]
static bool parse_extents(byoc_host_parser_t *parser, const char *word, byoc_dim_t extents[3]) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_expect_word(lexer, word) || !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_BRACKET)) return false;
  for (int axis = 0; axis < 3; ++axis) {
    if (axis > 0 && !byoc_lexer_expect(lexer, BYOC_TOKEN_COMMA)) return false;
    if (!byoc_dim_parse(lexer, &parser->program->arena, &extents[axis])) return false;
  }
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_BRACKET);
}

bool byoc_host_parse_launch_head(byoc_host_parser_t *parser, byoc_host_launch_t *launch) {
  byoc_lexer_t *lexer = &parser->lexer;
  const char *module = NULL, *entry = NULL;
  if (!byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &module) ||
      !byoc_lexer_expect_text(lexer, BYOC_TOKEN_STRING, &entry)) {
    return false;
  }
  launch->module = byoc_host_parse_copy(parser, module);
  launch->entry = byoc_host_parse_copy(parser, entry);
  return launch->module != NULL && launch->entry != NULL && parse_extents(parser, "grid", launch->grid) &&
         parse_extents(parser, "block", launch->block);
}

bool byoc_host_parse_arguments(byoc_host_parser_t *parser, byoc_host_launch_t *launch) {
  byoc_lexer_t *lexer = &parser->lexer;
  BYOC_VECTOR(byoc_host_argument_t) arguments = {0};
  if (!byoc_lexer_expect_word(lexer, "with") || !byoc_lexer_expect(lexer, BYOC_TOKEN_LEFT_PAREN)) return false;
  while (!byoc_lexer_is(lexer, BYOC_TOKEN_RIGHT_PAREN)) {
    byoc_host_argument_t argument;
    if (!parse_argument(parser, &argument)) return false;
    if (!byoc_vector_push(&arguments, byoc_arena_allocator(lexer->arena), argument)) {
      return byoc_lexer_fail_memory(lexer);
    }
    if (!byoc_lexer_accept(lexer, BYOC_TOKEN_COMMA)) break;
  }
  launch->argument_count = (uint32_t)arguments.count;
  launch->arguments =
      byoc_arena_copy(&parser->program->arena, arguments.data, arguments.count * sizeof(*arguments.data));
  if (launch->arguments == NULL) return byoc_lexer_fail_memory(lexer);
  return byoc_lexer_expect(lexer, BYOC_TOKEN_RIGHT_PAREN);
}

// on %q[I] [after (%e)] [signals %f]
bool byoc_host_parse_order(byoc_host_parser_t *parser, byoc_host_instruction_t *i) {
  byoc_lexer_t *lexer = &parser->lexer;
  if (!byoc_lexer_accept_word(lexer, "on")) return lexer->status == BYOC_OK;
  const byoc_token_t token = lexer->token;
  if (!byoc_lexer_expect(lexer, BYOC_TOKEN_VALUE)) return false;
  i->on.queue = byoc_host_find_queue(parser->program, token.text);
  if (i->on.queue == NULL) return byoc_lexer_fail_at(lexer, token.offset, "there is no queue %%%s", token.text);
  if (!parse_set_place(parser, token.text, i->on.queue->count, &i->on.place)) return false;
  if (byoc_lexer_accept_word(lexer, "after") && !byoc_host_parse_events(parser, i)) return false;
  return !byoc_lexer_accept_word(lexer, "signals") || parse_event(parser, &i->signal);
}
