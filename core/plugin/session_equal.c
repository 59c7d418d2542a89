// SPDX-License-Identifier: Apache-2.0
// Equal modules become one: within a run, with those of earlier runs, and where the parts of a run come together.
#include <string.h>

#include "core/module/kernels.h"
#include "core/module/linkage.h"
#include "core/plugin/session.h"

static bool same_files(const byoc_file_bytes_t *a, size_t a_count, const byoc_file_bytes_t *b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; ++i) {
    if (strcmp(a[i].name, b[i].name) != 0 || a[i].size_bytes != b[i].size_bytes) return false;
    if (a[i].size_bytes > 0 && memcmp(a[i].data, b[i].data, a[i].size_bytes) != 0) return false;
  }
  return true;
}

static bool same_texts(const char *const *a, size_t a_count, const char *const *b, size_t b_count) {
  if (a_count != b_count) return false;
  for (size_t i = 0; i < a_count; ++i) {
    if (strcmp(a[i], b[i]) != 0) return false;
  }
  return true;
}

static bool same_optional(const char *a, const char *b) {
  return (a == NULL || b == NULL) ? a == b : strcmp(a, b) == 0;
}

static bool same_variants(const byoc_runtime_module_t *a, const byoc_runtime_module_t *b) {
  if (a->variants.count != b->variants.count) return false;
  for (size_t i = 0; i < a->variants.count; ++i) {
    const byoc_device_form_t *x = &a->variants.data[i], *y = &b->variants.data[i];
    if (x->kind != y->kind || strcmp(x->format, y->format) != 0 || strcmp(x->architecture, y->architecture) != 0 ||
        strcmp(x->options, y->options) != 0 || x->size_bytes != y->size_bytes ||
        memcmp(x->data, y->data, x->size_bytes) != 0) {
      return false;
    }
  }
  return true;
}

bool byoc_session_same_content(const byoc_runtime_module_t *a, const byoc_runtime_module_t *b) {
  return a->kind == b->kind && same_optional(a->source, b->source) && same_optional(a->compiler, b->compiler) &&
         same_texts(a->flags.data, a->flags.count, b->flags.data, b->flags.count) &&
         same_optional(a->engine_symbol, b->engine_symbol) && same_optional(a->setup_symbol, b->setup_symbol) &&
         a->open_in_process == b->open_in_process && a->in_process == b->in_process &&
         same_optional(a->driver_symbol, b->driver_symbol) && a->driver == b->driver &&
         same_optional(a->driver_name, b->driver_name) && same_optional(a->fits, b->fits) && same_variants(a, b) &&
         same_texts(a->entries.data, a->entries.count, b->entries.data, b->entries.count) &&
         same_texts(a->symbols.data, a->symbols.count, b->symbols.data, b->symbols.count) &&
         same_texts(a->needed.data, a->needed.count, b->needed.data, b->needed.count) &&
         same_texts(a->search.data, a->search.count, b->search.data, b->search.count) &&
         same_files(a->files.data, a->files.count, b->files.data, b->files.count) && same_optional(a->code, b->code) &&
         same_files(a->sources.data, a->sources.count, b->sources.data, b->sources.count) &&
         same_files(a->headers.data, a->headers.count, b->headers.data, b->headers.count) &&
         same_files(a->archives.data, a->archives.count, b->archives.data, b->archives.count) &&
         same_files(a->blobs.data, a->blobs.count, b->blobs.data, b->blobs.count);
}

// An equal module (kind, name and content), from this run or an earlier one: one copy in the artifact serves both.
static byoc_runtime_module_t *find_equal(const byoc_codegen_t *session, const byoc_runtime_module_t *module) {
  const size_t earlier = byoc_session_earlier_count(session);
  for (size_t i = 0; i < earlier + session->made.count; ++i) {
    byoc_runtime_module_t *other =
        i < earlier ? session->module->runtime_modules.data[i] : session->made.data[i - earlier];
    if (strcmp(byoc_runtime_module_given_name(other), byoc_runtime_module_given_name(module)) != 0) continue;
    if (byoc_session_same_content(other, module)) return other;
  }
  return NULL;
}

// Ends the filling of a module; if an equal one exists, this one is released.
byoc_status_t byoc_session_end_shared(byoc_codegen_t *session, byoc_runtime_module_t *module, byoc_status_t status,
                                      byoc_diag_t *diag) {
  byoc_runtime_module_t *known = status == BYOC_OK ? find_equal(session, module) : NULL;
  if (known == NULL) return byoc_session_end_module(session, module, status, diag);
  byoc_runtime_module_release(module);
  if (byoc_runtime_module_serves(known, session->target->text)) return BYOC_OK;
  return byoc_runtime_module_add_user(known, session->target->text, diag);
}

// ---- parts ----

// Equal ones of these kinds are one module; those of the other kinds belong to a function.
static bool is_shared(byoc_runtime_module_kind_t kind) {
  return kind == BYOC_RUNTIME_MODULE_C_SOURCE || kind == BYOC_RUNTIME_MODULE_STATIC_LIBRARY ||
         kind == BYOC_RUNTIME_MODULE_ENGINE || kind == BYOC_RUNTIME_MODULE_DRIVER || kind == BYOC_RUNTIME_MODULE_DEVICE;
}

// Modules of a part, and the equal ones that are there already.
typedef struct twins_t {
  byoc_runtime_module_t **own, **twin;
  size_t count;
} twins_t;

static byoc_runtime_module_t *twin_of(const twins_t *twins, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < twins->count; ++i) {
    if (twins->own[i] == module) return twins->twin[i];
  }
  return NULL;
}

// A function's launches are of the modules that stay.
static void redirect_launches(byoc_runtime_module_t *module, const twins_t *twins) {
  byoc_kernel_launches_t *launches = (byoc_kernel_launches_t *)(uintptr_t)module->launches;
  if (launches == NULL) return;
  const byoc_runtime_module_t *driver = twin_of(twins, launches->driver);
  if (driver != NULL) launches->driver = driver;
  for (uint32_t i = 0; i < launches->launch_count; ++i) {
    byoc_bound_launch_t *launch = (byoc_bound_launch_t *)(uintptr_t)&launches->launches[i];
    const byoc_runtime_module_t *code = twin_of(twins, launch->module);
    if (code != NULL) launch->module = code;
  }
}

static void redirect(byoc_runtime_module_t *module, const twins_t *twins) {
  redirect_launches(module, twins);
  for (size_t i = 0; i < module->imports.count; ++i) {
    byoc_runtime_module_t *old = module->imports.data[i], *twin = twin_of(twins, old);
    if (twin == NULL) continue;
    byoc_runtime_module_retain(twin);
    module->imports.data[i] = twin;
    byoc_runtime_module_release(old);
  }
}

static byoc_status_t rename_module(byoc_codegen_t *session, byoc_runtime_module_t *module, byoc_diag_t *diag) {
  const char *given = byoc_runtime_module_given_name(module), *name = byoc_session_free_name(session, given);
  if (name == NULL) return byoc_diag_out_of_memory(diag);
  if (strcmp(name, module->name) == 0) return BYOC_OK;
  if (module->kind == BYOC_RUNTIME_MODULE_DRIVER || module->kind == BYOC_RUNTIME_MODULE_DEVICE) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "there is another %s module '%s'",
                           byoc_runtime_module_kind_name(module->kind), given);
  }
  module->given_name = given;
  module->name = byoc_arena_copy_string(&module->arena, name);
  return module->name != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Options that a part declared for its engine become those of the engine that stays.
static byoc_status_t share_options(byoc_runtime_module_t *known, const byoc_runtime_module_t *module,
                                   byoc_diag_t *diag) {
  const char *declared = module->runtime_options;
  if (declared == NULL || same_optional(known->runtime_options, declared)) return BYOC_OK;
  if (known->runtime_options != NULL) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS,
                           "'%s' has other run-time options, or other defaults, for another function or target",
                           known->name);
  }
  known->runtime_options = byoc_arena_copy_string(&known->arena, declared);
  return known->runtime_options != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Keeps the module, with the reference that `part` has, or its twin.
static byoc_status_t absorb(byoc_codegen_t *session, byoc_runtime_module_t *module, twins_t *twins, byoc_diag_t *diag) {
  redirect(module, twins);
  byoc_runtime_module_t *known = is_shared(module->kind) ? find_equal(session, module) : NULL;
  if (known != NULL) {
    twins->own[twins->count] = module;
    twins->twin[twins->count++] = known;
    BYOC_RETURN_IF_ERROR(share_options(known, module, diag));
    if (byoc_runtime_module_serves(known, session->target->text)) return BYOC_OK;
    return byoc_runtime_module_add_user(known, session->target->text, diag);
  }
  bool is_known = false;
  if (module->kind == BYOC_RUNTIME_MODULE_REPORT) {
    BYOC_RETURN_IF_ERROR(byoc_session_count_part_report(session, module, diag, &is_known));
  }
  if (is_known) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(rename_module(session, module, diag));
  if (!byoc_vector_push(&session->made, session->allocator, module)) return byoc_diag_out_of_memory(diag);
  byoc_runtime_module_retain(module);
  return BYOC_OK;
}

byoc_status_t byoc_session_absorb(byoc_codegen_t *session, byoc_codegen_t *part, byoc_diag_t *diag) {
  twins_t twins = {.own = BYOC_ARENA_ARRAY(&part->arena, byoc_runtime_module_t *, part->made.count + 1),
                   .twin = BYOC_ARENA_ARRAY(&part->arena, byoc_runtime_module_t *, part->made.count + 1)};
  if (twins.own == NULL || twins.twin == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < part->made.count; ++i) {
    BYOC_RETURN_IF_ERROR(absorb(session, part->made.data[i], &twins, diag));
  }
  return BYOC_OK;
}
