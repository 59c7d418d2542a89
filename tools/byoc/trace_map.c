// SPDX-License-Identifier: Apache-2.0
// Which tensors a run can report, and where the model's others went.
#include <stddef.h>
#include <string.h>

#include "core/base/json.h"
#include "trace.h"

static void begin(byoc_trace_map_t *map) {
  *map = (byoc_trace_map_t){0};
  byoc_arena_init(&map->arena, byoc_allocator_system());
  byoc_string_map_init(&map->makers, byoc_allocator_system());
  byoc_string_map_init(&map->fused, byoc_allocator_system());
  byoc_string_map_init(&map->inside, byoc_allocator_system());
}

void byoc_trace_map_deinit(byoc_trace_map_t *map) {
  if (map->makers.allocator.resize == NULL) return;
  byoc_map_deinit(&map->makers);
  byoc_map_deinit(&map->fused);
  byoc_map_deinit(&map->inside);
  byoc_arena_deinit(&map->arena);
  *map = (byoc_trace_map_t){0};
}

static bool add_maker(byoc_trace_map_t *map, const char *tensor, const char *maker) {
  const char *copy = byoc_arena_copy_string(&map->arena, maker);
  return copy != NULL && byoc_string_map_put(&map->makers, tensor, (void *)(uintptr_t)copy);
}

// Notes the tensor if a function of a backend makes it.
static bool add_inside(byoc_trace_map_t *map, const char *tensor, const char *kind) {
  const bool is_backend = strcmp(kind, "engine") == 0 || strcmp(kind, "packed") == 0 || strcmp(kind, "c_call") == 0;
  return !is_backend || byoc_string_map_put(&map->inside, tensor, map);
}

// `into` may be NULL.
static bool add_fused(byoc_trace_map_t *map, const char *name, const char *into, byoc_fused_kind_t kind) {
  byoc_fused_t *fused = BYOC_ARENA_NEW(&map->arena, byoc_fused_t);
  if (fused == NULL) return false;
  fused->name = byoc_arena_copy_string(&map->arena, name);
  fused->into = into != NULL ? byoc_arena_copy_string(&map->arena, into) : NULL;
  fused->kind = kind;
  return fused->name != NULL && (fused->into != NULL || into == NULL) && byoc_string_map_put(&map->fused, name, fused);
}

byoc_status_t byoc_trace_map_of_program(const byoc_host_program_t *program, const byoc_fused_t *fused, size_t count,
                                        byoc_diag_t *diag, byoc_trace_map_t *out_map) {
  bool ok = true;
  begin(out_map);
  for (size_t k = 0; k < program->inputs.count && ok; ++k) ok = add_maker(out_map, program->inputs.data[k]->name, "");
  BYOC_HOST_FOR_EACH(i, program) {
    for (size_t k = 0; k < i->results.count && ok; ++k) {
      ok = add_maker(out_map, i->results.data[k]->name, byoc_host_instruction_name(i)) &&
           add_inside(out_map, i->results.data[k]->name, byoc_host_op_name(i->op));
    }
  }
  for (size_t k = 0; k < count && ok; ++k) ok = add_fused(out_map, fused[k].name, fused[k].into, fused[k].kind);
  if (ok) return BYOC_OK;
  byoc_trace_map_deinit(out_map);
  return byoc_diag_out_of_memory(diag);
}

static bool add_steps(byoc_trace_map_t *map, const json_t *steps) {
  bool ok = true;
  size_t s, r;
  const json_t *step, *result;
  json_array_foreach(steps, s, step) {
    const char *name = json_string_value(json_object_get(step, "name"));
    const char *kind = json_string_value(json_object_get(step, "kind"));
    json_array_foreach(json_object_get(step, "results"), r, result) {
      const char *tensor = json_string_value(result);
      ok = ok && (tensor == NULL || (add_maker(map, tensor, name != NULL ? name : "") &&
                                     add_inside(map, tensor, kind != NULL ? kind : "")));
    }
  }
  return ok;
}

static bool add_list(byoc_trace_map_t *map, json_t *list, byoc_fused_kind_t kind) {
  bool ok = true;
  const char *name;
  json_t *into;
  json_object_foreach(list, name, into) ok = ok && add_fused(map, name, json_string_value(into), kind);
  return ok;
}

byoc_status_t byoc_trace_map_of_artifact(const byoc_artifact_t *artifact, byoc_diag_t *diag,
                                         byoc_trace_map_t *out_map) {
  *out_map = (byoc_trace_map_t){0};
  if (artifact->struct_size < offsetof(byoc_artifact_t, trace) + sizeof(artifact->trace) || artifact->trace == NULL) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_UNSUPPORTED, "the artifact has no trace entry: it was built without --trace");
    byoc_diag_hint(diag, "build it again: byoc build MODEL -o ARTIFACT --trace");
    return status;
  }
  bool ok = true;
  begin(out_map);
  json_error_t error;
  json_t *metadata = byoc_json_load(artifact->metadata, strlen(artifact->metadata), 0, &error);
  for (uint32_t k = 0; k < artifact->input_count && ok; ++k) ok = add_maker(out_map, artifact->inputs[k].name, "");
  ok = ok && metadata != NULL && add_steps(out_map, json_object_get(metadata, "steps")) &&
       add_list(out_map, json_object_get(metadata, "fused"), BYOC_FUSED_INSIDE) &&
       add_list(out_map, json_object_get(metadata, "views"), BYOC_FUSED_VIEW) &&
       add_list(out_map, json_object_get(metadata, "wholes"), BYOC_FUSED_WHOLE);
  json_decref(metadata);
  if (ok) return BYOC_OK;
  byoc_trace_map_deinit(out_map);
  return byoc_diag_out_of_memory(diag);
}
