// SPDX-License-Identifier: Apache-2.0
// Follows the tensors of a model to the buffers of the host program.
#include "core/compile/lineage.h"

#include "core/base/map.h"

// A tensor, and the tensors that are computed from it.
typedef struct tensor_t {
  const char *name;
  BYOC_VECTOR(struct tensor_t *) next;
  uint32_t visit; // the search that came here last
} tensor_t;

struct byoc_lineage_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  byoc_map_t tensors; // text map: name → tensor_t *
  uint32_t visit;
  BYOC_VECTOR(byoc_fused_t) fused;
  bool failed; // out of memory
};

static tensor_t *find(byoc_lineage_t *l, const byoc_value_t *value) {
  if (value == NULL || value->name == NULL || value->name[0] == '\0' || byoc_value_is_constant(value)) return NULL;
  tensor_t *tensor = byoc_string_map_get(&l->tensors, value->name);
  if (tensor != NULL) return tensor;
  tensor = BYOC_ARENA_NEW(&l->arena, tensor_t);
  if (tensor != NULL) tensor->name = byoc_arena_copy_string(&l->arena, value->name);
  if (tensor == NULL || tensor->name == NULL || !byoc_string_map_put(&l->tensors, tensor->name, tensor)) {
    l->failed = true;
    return NULL;
  }
  return tensor;
}

static void connect(byoc_lineage_t *l, const byoc_value_t *from, byoc_value_t *const *to, size_t count) {
  tensor_t *tensor = find(l, from);
  for (size_t i = 0; tensor != NULL && i < count; ++i) {
    tensor_t *next = find(l, to[i]);
    if (next != NULL && !byoc_vector_push(&tensor->next, byoc_arena_allocator(&l->arena), next)) l->failed = true;
  }
}

static void note_block(byoc_lineage_t *l, const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t i = 0; i < node->result_count; ++i) (void)find(l, node->results[i]);
    for (uint32_t i = 0; i < node->operand_count; ++i) connect(l, node->operands[i], node->results, node->result_count);
    const byoc_block_t *callee = node->callee != NULL ? node->callee->body : NULL;
    for (uint32_t b = 0; b <= node->block_count; ++b) { // the last one is that of the function called
      const byoc_block_t *inner = b < node->block_count ? node->blocks[b] : callee;
      for (size_t i = 0; inner != NULL && i < inner->results.count; ++i) {
        connect(l, inner->results.data[i], node->results, node->result_count);
      }
      if (inner != NULL && inner != callee) note_block(l, inner);
    }
  }
}

byoc_status_t byoc_lineage_create(const byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                                  byoc_lineage_t **out_lineage) {
  *out_lineage = NULL;
  byoc_lineage_t *l = byoc_allocate(allocator, 1, sizeof(*l));
  if (l == NULL) return byoc_diag_out_of_memory(diag);
  l->allocator = allocator;
  byoc_arena_init(&l->arena, allocator);
  byoc_string_map_init(&l->tensors, allocator);
  for (size_t i = 0; i < module->functions.count; ++i) {
    if (module->functions.data[i]->body != NULL) note_block(l, module->functions.data[i]->body);
  }
  if (l->failed) {
    byoc_lineage_destroy(l);
    return byoc_diag_out_of_memory(diag);
  }
  *out_lineage = l;
  return BYOC_OK;
}

void byoc_lineage_destroy(byoc_lineage_t *l) {
  if (l == NULL) return;
  byoc_map_deinit(&l->tensors);
  byoc_vector_deinit(&l->fused, l->allocator);
  byoc_arena_deinit(&l->arena);
  byoc_free(l->allocator, l);
}

// Does an instruction or the caller make it?
static bool is_made(const byoc_host_program_t *program, const char *name) {
  const byoc_host_buffer_t *buffer = byoc_host_find_buffer(program, name);
  if (buffer == NULL || buffer->kind == BYOC_HOST_BUFFER_INPUT) return buffer != NULL;
  for (size_t i = 0; i < buffer->uses.count; ++i) {
    if (buffer->uses.data[i].kind == BYOC_HOST_USE_RESULT) return true;
  }
  return false;
}

static bool is_view(const byoc_host_program_t *program, const char *name) {
  const byoc_host_buffer_t *buffer = byoc_host_find_buffer(program, name);
  return buffer != NULL && buffer->kind == BYOC_HOST_BUFFER_VIEW && buffer->base->kind != BYOC_HOST_BUFFER_CONSTANT;
}

// The nearest tensor, going from readers to their readers, that is made; NULL if there is none.
static const char *find_made(byoc_lineage_t *l, tensor_t *from, const byoc_host_program_t *program) {
  BYOC_VECTOR(tensor_t *) queue = {0};
  const char *made = NULL;
  from->visit = ++l->visit;
  if (!byoc_vector_push(&queue, l->allocator, from)) l->failed = true;
  for (size_t k = 0; k < queue.count && made == NULL && !l->failed; ++k) {
    const tensor_t *tensor = queue.data[k];
    for (size_t i = 0; i < tensor->next.count && made == NULL; ++i) {
      tensor_t *next = tensor->next.data[i];
      if (next->visit == l->visit) continue;
      next->visit = l->visit;
      if (is_made(program, next->name)) made = next->name;
      if (!byoc_vector_push(&queue, l->allocator, next)) l->failed = true;
    }
  }
  byoc_vector_deinit(&queue, l->allocator);
  return made;
}

// The first part of a tensor that is made in parts: an operand of a Concat, or a slice of a stacked result.
static const char *find_part(const byoc_host_program_t *program, const byoc_host_buffer_t *whole) {
  for (size_t i = 0; i < program->buffers.count; ++i) {
    const byoc_host_buffer_t *part = program->buffers.data[i];
    const bool is_part = part->kind == BYOC_HOST_BUFFER_VIEW && part->base == whole;
    if (is_part && is_made(program, part->name)) return part->name;
  }
  return NULL;
}

byoc_status_t byoc_lineage_follow(byoc_lineage_t *l, const byoc_host_program_t *program, byoc_diag_t *diag,
                                  const byoc_fused_t **out_fused, size_t *out_count) {
  *out_fused = NULL;
  *out_count = l->fused.count = 0;
  for (size_t i = 0; i < l->tensors.count && !l->failed; ++i) {
    tensor_t *tensor = l->tensors.entries[i].value;
    if (is_made(program, tensor->name) || is_view(program, tensor->name)) continue;
    const byoc_host_buffer_t *buffer = byoc_host_find_buffer(program, tensor->name); // a constant, or made in parts
    const char *part = buffer != NULL ? find_part(program, buffer) : NULL;
    const byoc_fused_t fused = {.name = tensor->name,
                                .into = buffer == NULL ? find_made(l, tensor, program) : part,
                                .kind = part != NULL ? BYOC_FUSED_WHOLE : BYOC_FUSED_INSIDE};
    if (!byoc_vector_push(&l->fused, l->allocator, fused)) l->failed = true;
  }
  for (size_t i = 0; i < program->buffers.count && !l->failed; ++i) {
    const byoc_host_buffer_t *buffer = program->buffers.data[i];
    if (is_made(program, buffer->name) || !is_view(program, buffer->name)) continue;
    const byoc_fused_t view = {.name = buffer->name, .into = buffer->base->name, .kind = BYOC_FUSED_VIEW};
    if (!byoc_vector_push(&l->fused, l->allocator, view)) l->failed = true;
  }
  if (l->failed) return byoc_diag_out_of_memory(diag);
  *out_fused = l->fused.data;
  *out_count = l->fused.count;
  return BYOC_OK;
}
