// SPDX-License-Identifier: Apache-2.0
// gather-segments: calls of one backend move together, as far as data and symbols allow.
#include <string.h>

#include "core/base/map.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/program/segment.h"

typedef struct backends_t {
  byoc_map_t targets; // text map: symbol → text of the target whose module defines it
  bool failed;        // out of memory
} backends_t;

static void note(backends_t *b, const char *symbol, const byoc_runtime_module_t *module) {
  if (symbol != NULL && !byoc_string_map_put(&b->targets, symbol, (void *)(uintptr_t)module->target)) b->failed = true;
}

static void note_modules(backends_t *b, byoc_runtime_module_t *const *modules, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    note(b, modules[k]->packed_symbol, modules[k]);
    for (size_t s = 0; s < modules[k]->symbols.count; ++s) note(b, modules[k]->symbols.data[s], modules[k]);
  }
}

// The target that an instruction's code comes from; "" is the host. NULL: any may have it.
static const char *target_of(const backends_t *b, const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) return NULL;
  if (i->op == BYOC_HOST_ENGINE) return i->json != NULL ? i->json->target : "";
  if (i->op != BYOC_HOST_PACKED && i->op != BYOC_HOST_C_CALL) return "";
  const char *target = byoc_string_map_get(&b->targets, i->symbol);
  return target != NULL ? target : "";
}

static const char *target_of_segment(const backends_t *b, const byoc_host_segment_t *segment) {
  const char *target = NULL;
  for (size_t k = 0; k < segment->count && target == NULL; ++k) target = target_of(b, segment->instructions[k]);
  return target;
}

static bool same_target(void *self, const byoc_host_segment_t *a, const byoc_host_segment_t *b) {
  const char *one = target_of_segment(self, a), *other = target_of_segment(self, b);
  return one == NULL || other == NULL || strcmp(one, other) == 0;
}

// kernel f, engine g, kernel h  →  kernel f, kernel h, engine g
byoc_status_t byoc_host_pass_gather_segments(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes) {
  if (program->queues.count > 0) return BYOC_OK; // the order in which commands are handed over has a meaning
  backends_t backends = {0};
  byoc_host_segments_t segments;
  const byoc_host_segment_options_t options = {.should_merge = same_target, .self = &backends, .apart = true};
  byoc_string_map_init(&backends.targets, program->arena.allocator);
  const byoc_graph_module_t *module = program->module;
  if (module != NULL) note_modules(&backends, module->runtime_modules.data, module->runtime_modules.count);
  byoc_status_t status = backends.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK) status = byoc_host_segment(program, &options, program->arena.allocator, diag, &segments);
  if (status == BYOC_OK) {
    *changes = byoc_host_segments_gather(&segments);
    byoc_host_segments_deinit(&segments);
  }
  byoc_map_deinit(&backends.targets);
  return status;
}
