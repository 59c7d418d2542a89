// SPDX-License-Identifier: Apache-2.0
// Calls the hook by which a backend claims sub-graphs of a block, and carries its answers out of a child process.
#include "core/plugin/partition_hook.h"

#include <stdio.h>
#include <string.h>

#include "core/plugin/abi.h"
#include "core/plugin/child_hook.h"
#include "core/targets/hook.h"

// Room for the answers: so much, and so much for each node.
enum { ROOM_BYTES = 65536, ROOM_BYTES_PER_NODE = 256, REASON_BYTES = 240 };

// What leaves the child, in one piece: records follow.
typedef struct reply_t {
  byoc_status_t status;
  char reason[1024];
  uint64_t size_bytes; // of the records
  uint64_t records[];
} reply_t;

// One answer. Its nodes follow it, then its text with a NUL, then padding up to 8 bytes.
typedef struct record_t {
  uint32_t is_decline, flags, node_count, text_size;
} record_t;

// A query at work; the hook gets the address of its first field.
typedef struct asked_t {
  byoc_partition_query_t query;
  const byoc_partition_block_t *block;
  reply_t *reply;
  size_t room_bytes;
  byoc_diag_t failure; // of the first answer that found no room
  byoc_diag_t error;   // from query->error
} asked_t;

static size_t room_of(const byoc_partition_block_t *block) {
  return ROOM_BYTES + (size_t)block->node_count * ROOM_BYTES_PER_NODE;
}

static size_t size_of_record(uint64_t node_count, size_t text_size) {
  return (sizeof(record_t) + node_count * sizeof(uint32_t) + text_size + 1 + 7) / 8 * 8;
}

// ---- the query's own functions ----

// Adds a record without its nodes; NULL if it has no room, which fails the hook.
static uint32_t *add_record(asked_t *asked, bool is_decline, uint32_t flags, const char *text, size_t text_size,
                            uint64_t node_count) {
  reply_t *reply = asked->reply;
  const bool fits =
      node_count <= asked->room_bytes && size_of_record(node_count, text_size) <= asked->room_bytes - reply->size_bytes;
  if (!fits) {
    if (asked->failure.status == BYOC_OK) {
      (void)byoc_diag_error(&asked->failure, BYOC_OUT_OF_MEMORY, "its answers take more than %zu bytes",
                            asked->room_bytes);
    }
    return NULL;
  }
  record_t *record = (record_t *)(void *)((char *)reply->records + reply->size_bytes);
  uint32_t *nodes = (uint32_t *)(record + 1);
  *record = (record_t){is_decline, flags, (uint32_t)node_count, (uint32_t)text_size};
  memcpy(nodes + node_count, text, text_size);
  ((char *)(nodes + node_count))[text_size] = '\0';
  reply->size_bytes += size_of_record(node_count, text_size);
  return nodes;
}

static int32_t may_take(const byoc_partition_query_t *query, const byoc_node_t *node) {
  const asked_t *asked = (const asked_t *)query;
  const uint32_t number = byoc_numbering_get(asked->block->numbers, node);
  return number != BYOC_NO_NUMBER && asked->block->may_take[number];
}

static int32_t claim(const byoc_partition_query_t *query, const char *name, uint32_t flags, byoc_node_t *const *nodes,
                     uint64_t node_count) {
  asked_t *asked = (asked_t *)(uintptr_t)query;
  byoc_foreign_beat();
  const char *text = name != NULL ? name : "";
  const size_t text_size = strnlen(text, REASON_BYTES);
  const uint64_t count = nodes != NULL ? node_count : 0;
  uint32_t *numbers = add_record(asked, false, flags, text, text_size, count);
  if (numbers == NULL) return BYOC_OUT_OF_MEMORY;
  for (uint64_t i = 0; i < count; ++i) numbers[i] = byoc_numbering_get(asked->block->numbers, nodes[i]);
  return BYOC_OK;
}

static int32_t decline(const byoc_partition_query_t *query, const byoc_node_t *node, const char *reason) {
  asked_t *asked = (asked_t *)(uintptr_t)query;
  byoc_foreign_beat();
  const uint32_t number = byoc_numbering_get(asked->block->numbers, node);
  const bool is_given = reason != NULL && reason[0] != '\0';
  const size_t size = is_given ? strnlen(reason, REASON_BYTES) : 0;
  if (number == BYOC_NO_NUMBER || !is_given || !byoc_abi_text_is_printable(reason, size)) return BYOC_INVALID_ARGUMENT;
  uint32_t *numbers = add_record(asked, true, 0, reason, size, 1);
  if (numbers == NULL) return BYOC_OUT_OF_MEMORY;
  numbers[0] = number;
  return BYOC_OK;
}

static int32_t record_error(const byoc_partition_query_t *query, int32_t status, const char *message) {
  asked_t *asked = (asked_t *)(uintptr_t)query;
  return byoc_hook_keep_error(&asked->error, status, message);
}

// ---- calling the hook ----

static byoc_status_t call(asked_t *asked, byoc_diag_t *diag) {
  const byoc_target_t *target = asked->query.target;
  const byoc_backend_t *backend = target->kind->backend;
  byoc_hygiene_t before;
  byoc_hygiene_take(&before);
  const byoc_foreign_t outer = byoc_hook_enter(target, "hook partition", "function", asked->block->function->name);
  const int32_t status = backend->partition(backend->self, &asked->query);
  byoc_foreign_leave(&outer);
  if (asked->failure.status != BYOC_OK) return byoc_diag_error(diag, BYOC_TOOL, "%s", asked->failure.message);
  return byoc_hook_end("partition", status, &asked->error, &before, diag);
}

typedef struct question_t {
  const byoc_target_t *target;
  const byoc_partition_block_t *block;
} question_t;

static void answer(void *self, void *out) {
  const question_t *question = self;
  const byoc_partition_block_t *block = question->block;
  byoc_diag_t diag = {0};
  asked_t asked = {.query = {.header = BYOC_HEADER(byoc_partition_query_t, 1),
                             .target = question->target,
                             .module = block->function->module,
                             .function = block->function,
                             .nodes = block->nodes,
                             .node_count = block->node_count,
                             .may_take = may_take,
                             .claim = claim,
                             .decline = decline,
                             .error = record_error},
                   .block = block,
                   .reply = out,
                   .room_bytes = room_of(block)};
  asked.reply->status = call(&asked, &diag);
  byoc_diag_format(&diag, asked.reply->reason, sizeof(asked.reply->reason));
}

static byoc_status_t read_records(const reply_t *reply, byoc_arena_t *arena, byoc_diag_t *diag,
                                  byoc_partition_answers_t *out_answers) {
  const char *begin = (const char *)reply->records, *end = begin + reply->size_bytes;
  size_t count = 0;
  for (const char *at = begin; at < end; ++count) {
    const record_t *record = (const record_t *)(const void *)at;
    at += size_of_record(record->node_count, record->text_size);
  }
  byoc_partition_answer_t *items = BYOC_ARENA_ARRAY(arena, byoc_partition_answer_t, count);
  if (items == NULL) return byoc_diag_out_of_memory(diag);
  *out_answers = (byoc_partition_answers_t){items, count};
  for (const char *at = begin; at < end; ++items) {
    const record_t *record = (const record_t *)(const void *)at;
    const uint32_t *nodes = (const uint32_t *)(record + 1);
    *items =
        (byoc_partition_answer_t){.is_decline = record->is_decline != 0,
                                  .flags = record->flags,
                                  .text = byoc_arena_copy_string(arena, (const char *)(nodes + record->node_count)),
                                  .nodes = byoc_arena_copy(arena, nodes, record->node_count * sizeof(uint32_t)),
                                  .node_count = record->node_count};
    if (items->text == NULL || items->nodes == NULL) return byoc_diag_out_of_memory(diag);
    at += size_of_record(record->node_count, record->text_size);
  }
  return BYOC_OK;
}

static byoc_status_t ask(question_t question, bool is_here, byoc_arena_t *arena, byoc_diag_t *diag,
                         byoc_partition_answers_t *out_answers) {
  const size_t size_bytes = sizeof(reply_t) + room_of(question.block);
  *out_answers = (byoc_partition_answers_t){0};
  reply_t *reply = byoc_allocate(arena->allocator, size_bytes, 1);
  if (reply == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  if (is_here) {
    answer(&question, reply);
  } else {
    status = byoc_hook_run_in_child(answer, &question, reply, size_bytes, diag);
  }
  reply->reason[sizeof(reply->reason) - 1] = '\0';
  if (status == BYOC_OK && reply->status != BYOC_OK) {
    status = byoc_diag_error(diag, BYOC_TOOL, "%s", reply->reason);
  }
  if (status == BYOC_OK) status = read_records(reply, arena, diag, out_answers);
  byoc_free(arena->allocator, reply);
  return status;
}

byoc_status_t byoc_hook_partition(const byoc_target_t *target, const byoc_partition_block_t *block, byoc_arena_t *arena,
                                  byoc_diag_t *diag, byoc_partition_answers_t *out_answers) {
  return ask((question_t){target, block}, false, arena, diag, out_answers);
}

byoc_status_t byoc_hook_partition_here(const byoc_target_t *target, const byoc_partition_block_t *block,
                                       byoc_arena_t *arena, byoc_diag_t *diag, byoc_partition_answers_t *out_answers) {
  return ask((question_t){target, block}, true, arena, diag, out_answers);
}
