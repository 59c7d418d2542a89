// SPDX-License-Identifier: Apache-2.0
// Verdicts are entries of the object cache, which is trusted, pruned and checked for damage as for objects.
#include "core/measure/verdict.h"

#include <string.h>

#include "core/compose/cc/compiler.h"
#include "core/compose/cc/object_cache.h"
#include "core/kernel/emit_c.h"

// Changes when more is checked than before.
static const char kind[] = "byoc check 1 of " BYOC_VERSION_TEXT;
static const char right[] = "right";

static byoc_status_t begin(byoc_sha256_t *hasher, const char *what, byoc_diag_t *diag) {
  byoc_string_t machine;
  byoc_string_init(&machine, byoc_allocator_system());
  byoc_machine_identity(&machine);
  const bool failed = machine.failed;
  byoc_sha256_init(hasher);
  byoc_sha256_update_string(hasher, kind);
  byoc_sha256_update_string(hasher, what);
  byoc_sha256_update_string(hasher, failed ? "" : machine.data);
  byoc_string_deinit(&machine);
  return failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

byoc_status_t byoc_verdict_of_region(const byoc_function_t *function, const byoc_target_t *target,
                                     const byoc_target_t *native, const char *compiler_version, byoc_diag_t *diag,
                                     byoc_digest_t *out_key) {
  const byoc_cost_key_inputs_t inputs = {
      .function = function, .target = target, .native = native, .compiler_version = compiler_version};
  byoc_arena_t arena;
  byoc_cost_key_t key;
  byoc_sha256_t hasher;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_status_t status = byoc_cost_key_make(&inputs, &arena, diag, &key);
  if (status == BYOC_OK) status = begin(&hasher, "region", diag);
  if (status == BYOC_OK) {
    byoc_sha256_update_string(&hasher, key.id);
    byoc_sha256_update_string(&hasher, key.signature);
    *out_key = byoc_sha256_finish(&hasher);
  }
  byoc_arena_deinit(&arena);
  return status;
}

byoc_status_t byoc_verdict_of_kernel(const byoc_loop_kernel_t *kernel, const byoc_compose_kernels_t *unit,
                                     byoc_diag_t *diag, byoc_digest_t *out_key) {
  byoc_loop_kernel_t nameless = *kernel;
  const byoc_loop_kernel_t *one = &nameless;
  const char *version = NULL;
  byoc_sha256_t hasher;
  byoc_string_t text;
  nameless.name = "kernel";
  BYOC_RETURN_IF_ERROR(byoc_c_compiler_version(unit->compiler, diag, &version));
  BYOC_RETURN_IF_ERROR(begin(&hasher, "kernel", diag));
  byoc_string_init(&text, byoc_allocator_system());
  byoc_status_t status = byoc_kernel_emit_c(&one, 1, &text);
  if (status == BYOC_OUT_OF_MEMORY || text.failed) {
    status = byoc_diag_out_of_memory(diag);
  } else if (status != BYOC_OK) {
    status = byoc_diag_error(diag, status, "the kernel '%s' cannot be emitted as C", kernel->name);
  }
  if (status == BYOC_OK) {
    byoc_sha256_update_string(&hasher, text.data);
    byoc_sha256_update_string(&hasher, version);
    for (size_t i = 0; i < unit->flag_count; ++i) byoc_sha256_update_string(&hasher, unit->flags[i]);
    *out_key = byoc_sha256_finish(&hasher);
  }
  byoc_string_deinit(&text);
  return status;
}

bool byoc_verdict_is_right(const byoc_digest_t *key) {
  void *found = NULL;
  size_t size = 0;
  const bool is_there = byoc_object_cache_get(key, byoc_allocator_system(), &found, &size);
  const bool is_right = is_there && size == sizeof(right) && memcmp(found, right, size) == 0;
  byoc_free(byoc_allocator_system(), found);
  return is_right;
}

void byoc_verdict_note_right(const byoc_digest_t *key) {
  byoc_object_cache_put(key, right, sizeof(right));
}
