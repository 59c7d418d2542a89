// SPDX-License-Identifier: Apache-2.0
// Runtime modules: lifetime, imports and content. Everything that a module owns lives in its arena.
#include "core/module/runtime_module.h"

#include <string.h>

#include "core/base/file.h"

const char *byoc_runtime_module_kind_name(byoc_runtime_module_kind_t kind) {
  switch (kind) {
#define KIND_CASE(NAME, text, properties)                                                                              \
  case BYOC_RUNTIME_MODULE_##NAME:                                                                                     \
    return text;
    BYOC_RUNTIME_MODULE_KIND_LIST(KIND_CASE)
#undef KIND_CASE
  case BYOC_RUNTIME_MODULE_KIND_COUNT:
    break;
  }
  return "unknown";
}

static uint32_t kind_properties(byoc_runtime_module_kind_t kind) {
  switch (kind) {
#define KIND_CASE(NAME, text, properties)                                                                              \
  case BYOC_RUNTIME_MODULE_##NAME:                                                                                     \
    return properties;
    BYOC_RUNTIME_MODULE_KIND_LIST(KIND_CASE)
#undef KIND_CASE
  case BYOC_RUNTIME_MODULE_KIND_COUNT:
    break;
  }
  return 0;
}

uint32_t byoc_runtime_module_properties(const byoc_runtime_module_t *module) {
  uint32_t properties = kind_properties(module->kind);
  // An engine or a library can be called in this process if it has a host function or table. Without one, objects of a
  // static library can be linked into a temporary shared object, but an engine or a driver cannot.
  if (module->kind == BYOC_RUNTIME_MODULE_ENGINE && module->in_process == NULL) properties &= ~BYOC_MODULE_RUNNABLE;
  if (module->kind == BYOC_RUNTIME_MODULE_DRIVER && module->driver == NULL) properties &= ~BYOC_MODULE_RUNNABLE;
  return properties;
}

byoc_status_t byoc_runtime_module_create(byoc_runtime_module_kind_t kind, const char *name, const char *target,
                                         byoc_allocator_t allocator, byoc_diag_t *diag,
                                         byoc_runtime_module_t **out_module) {
  *out_module = NULL;
  byoc_runtime_module_t *module = byoc_allocate(allocator, 1, sizeof(*module));
  if (module == NULL) return byoc_diag_out_of_memory(diag);
  module->reference_count = 1;
  module->kind = kind;
  module->allocator = allocator;
  byoc_arena_init(&module->arena, allocator);
  module->name = byoc_arena_copy_string(&module->arena, name);
  module->target = byoc_arena_copy_string(&module->arena, target != NULL ? target : "");
  if (module->name == NULL || module->target == NULL) {
    byoc_runtime_module_release(module);
    return byoc_diag_out_of_memory(diag);
  }
  *out_module = module;
  return BYOC_OK;
}

void byoc_runtime_module_retain(byoc_runtime_module_t *module) {
  module->reference_count++;
}

void byoc_runtime_module_release(byoc_runtime_module_t *module) {
  if (module == NULL || --module->reference_count > 0) return;
  for (size_t i = module->imports.count; i-- > 0;) byoc_runtime_module_release(module->imports.data[i]);
  for (size_t i = 0; i < module->constants.count && module->file_memory != NULL; i++) {
    byoc_file_memory_give_back(module->file_memory, module->constants.data[i].data); // those in the file
  }
  byoc_file_memory_release(module->file_memory);
  byoc_arena_deinit(&module->arena); // frees the vectors too
  if (module->release_owner != NULL) module->release_owner(module->owner);
  byoc_free(module->allocator, module);
}

// Imports form a tree of few modules, so plain recursion is enough.
static bool reaches(const byoc_runtime_module_t *from, const byoc_runtime_module_t *to) {
  if (from == to) return true;
  for (size_t i = 0; i < from->imports.count; i++) {
    if (reaches(from->imports.data[i], to)) return true;
  }
  return false;
}

byoc_status_t byoc_runtime_module_import(byoc_runtime_module_t *module, byoc_runtime_module_t *import,
                                         byoc_diag_t *diag) {
  if (reaches(import, module)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "runtime module '%s' cannot import '%s': that closes a cycle",
                           module->name, import->name);
  }
  for (size_t i = 0; i < module->imports.count; i++) {
    if (module->imports.data[i] == import) return BYOC_OK;
  }
  if (!byoc_vector_push(&module->imports, byoc_arena_allocator(&module->arena), import)) {
    return byoc_diag_out_of_memory(diag);
  }
  byoc_runtime_module_retain(import);
  return BYOC_OK;
}

static byoc_status_t add_bytes(byoc_runtime_module_t *module, const char *name, const void *data, size_t size_bytes,
                               bool is_blob, byoc_diag_t *diag) {
  byoc_arena_t *arena = &module->arena;
  byoc_file_bytes_t file = {.size_bytes = size_bytes};
  uint8_t *copy = byoc_arena_allocate_aligned(arena, size_bytes, BYOC_BUFFER_ALIGNMENT);
  file.name = byoc_arena_copy_string(arena, name);
  if (copy == NULL || file.name == NULL) return byoc_diag_out_of_memory(diag);
  if (size_bytes > 0) memcpy(copy, data, size_bytes);
  file.data = copy;
  bool pushed = is_blob ? byoc_vector_push(&module->blobs, byoc_arena_allocator(arena), file)
                        : byoc_vector_push(&module->files, byoc_arena_allocator(arena), file);
  return pushed ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_runtime_module_add_file(byoc_runtime_module_t *module, const byoc_file_content_t *content,
                                           bool is_blob, byoc_diag_t *diag) {
  if ((content->path == NULL) == (content->data == NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "runtime module '%s': file '%s' needs either bytes or a path",
                           module->name, content->name != NULL ? content->name : "");
  }
  const char *name = content->name;
  if (name == NULL) name = content->path != NULL ? byoc_path_base(content->path) : module->name;
  if (content->path == NULL) {
    if (content->size_bytes > SIZE_MAX) return byoc_diag_out_of_memory(diag);
    return add_bytes(module, name, content->data, (size_t)content->size_bytes, is_blob, diag);
  }
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_file_view_open(content->path, diag, &view),
                          "reading a file of runtime module '%s'", module->name);
  byoc_status_t status = add_bytes(module, name, view.data, view.size_bytes, is_blob, diag);
  byoc_file_view_close(&view);
  return status;
}

byoc_status_t byoc_runtime_module_add_code(byoc_runtime_module_t *module, byoc_module_code_t kind, const char *name,
                                           const void *data, size_t size_bytes, byoc_diag_t *diag) {
  byoc_arena_t *arena = &module->arena;
  if (size_bytes == SIZE_MAX) return byoc_diag_out_of_memory(diag);
  uint8_t *copy = byoc_arena_allocate_aligned(arena, size_bytes + 1, 1);
  const byoc_file_bytes_t file = {.name = byoc_arena_copy_string(arena, name), .data = copy, .size_bytes = size_bytes};
  if (copy == NULL || file.name == NULL) return byoc_diag_out_of_memory(diag);
  if (size_bytes > 0) memcpy(copy, data, size_bytes);
  copy[size_bytes] = '\0';
  const byoc_allocator_t allocator = byoc_arena_allocator(arena);
  const bool pushed = kind == BYOC_MODULE_CODE_SOURCE   ? byoc_vector_push(&module->sources, allocator, file)
                      : kind == BYOC_MODULE_CODE_HEADER ? byoc_vector_push(&module->headers, allocator, file)
                                                        : byoc_vector_push(&module->archives, allocator, file);
  return pushed ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_runtime_module_add_symbol(byoc_runtime_module_t *module, const char *symbol, byoc_diag_t *diag) {
  char identifier[512];
  byoc_make_identifier(symbol, identifier, sizeof(identifier));
  if (symbol[0] == '\0' || strcmp(symbol, identifier) != 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "runtime module '%s': '%s' is not a C identifier", module->name,
                           symbol);
  }
  for (size_t i = 0; i < module->symbols.count; i++) {
    if (strcmp(module->symbols.data[i], symbol) == 0) return BYOC_OK;
  }
  const char *copy = byoc_arena_copy_string(&module->arena, symbol);
  if (copy == NULL || !byoc_vector_push(&module->symbols, byoc_arena_allocator(&module->arena), copy)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

#define ORIGIN "$ORIGIN"

bool byoc_runtime_module_search_is_of_artifact(const char *folder) {
  return strncmp(folder, ORIGIN, strlen(ORIGIN)) == 0;
}

byoc_status_t byoc_runtime_module_add_search(byoc_runtime_module_t *module, const char *folder, byoc_diag_t *diag) {
  const bool is_origin = byoc_runtime_module_search_is_of_artifact(folder);
  const char next = is_origin ? folder[strlen(ORIGIN)] : '/';
  // A colon separates the folders of a search path in an ELF file.
  if ((!is_origin && folder[0] != '/') || (next != '/' && next != '\0') || strchr(folder, ':') != NULL) {
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is not a folder to look for shared libraries in", folder);
    byoc_diag_hint(diag,
                   "give its whole path, or one that begins with $ORIGIN, the artifact's folder; without a colon");
    return status;
  }
  const char *copy = byoc_arena_copy_string(&module->arena, folder);
  if (copy != NULL && byoc_vector_push(&module->search, byoc_arena_allocator(&module->arena), copy)) return BYOC_OK;
  return byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_runtime_module_add_variant(byoc_runtime_module_t *module, const byoc_device_form_t *form,
                                              byoc_diag_t *diag) {
  byoc_arena_t *arena = &module->arena;
  if (form->size_bytes == SIZE_MAX) return byoc_diag_out_of_memory(diag);
  char *data = byoc_arena_allocate_aligned(arena, form->size_bytes + 1, BYOC_BUFFER_ALIGNMENT);
  byoc_device_form_t copy = {.kind = form->kind, .data = (const uint8_t *)data, .size_bytes = form->size_bytes};
  copy.format = byoc_arena_copy_string(arena, form->format != NULL ? form->format : "");
  copy.architecture = byoc_arena_copy_string(arena, form->architecture != NULL ? form->architecture : "");
  copy.options = byoc_arena_copy_string(arena, form->options != NULL ? form->options : "");
  if (data == NULL || copy.format == NULL || copy.architecture == NULL || copy.options == NULL) {
    return byoc_diag_out_of_memory(diag);
  }
  if (form->size_bytes > 0) memcpy(data, form->data, form->size_bytes);
  data[form->size_bytes] = '\0';
  return byoc_vector_push(&module->variants, byoc_arena_allocator(arena), copy) ? BYOC_OK
                                                                                : byoc_diag_out_of_memory(diag);
}

bool byoc_runtime_module_has_entry(const byoc_runtime_module_t *module, const char *entry) {
  for (size_t i = 0; i < module->entries.count; i++) {
    if (strcmp(module->entries.data[i], entry) == 0) return true;
  }
  return false;
}

byoc_status_t byoc_runtime_module_add_entry(byoc_runtime_module_t *module, const char *entry, byoc_diag_t *diag) {
  if (byoc_runtime_module_has_entry(module, entry)) return BYOC_OK;
  const char *copy = byoc_arena_copy_string(&module->arena, entry);
  if (copy == NULL || !byoc_vector_push(&module->entries, byoc_arena_allocator(&module->arena), copy)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

const byoc_runtime_module_t *byoc_runtime_module_driver(const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < module->imports.count; i++) {
    if (module->imports.data[i]->kind == BYOC_RUNTIME_MODULE_DRIVER) return module->imports.data[i];
  }
  return NULL;
}

byoc_status_t byoc_runtime_module_add_user(byoc_runtime_module_t *module, const char *target, byoc_diag_t *diag) {
  const char *copy = byoc_arena_copy_string(&module->arena, target);
  if (copy == NULL || !byoc_vector_push(&module->users, byoc_arena_allocator(&module->arena), copy)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static uint8_t *copy_constant(byoc_runtime_module_t *module, byoc_graph_module_t *graph, const void *data,
                              size_t size_bytes) {
  uint8_t *copy = graph != NULL ? byoc_graph_module_take_file_memory(graph, size_bytes) : NULL;
  if (copy != NULL && module->file_memory == NULL) {
    module->file_memory = graph->file_memory;
    byoc_file_memory_retain(module->file_memory);
  }
  if (copy == NULL) copy = byoc_arena_allocate_aligned(&module->arena, size_bytes, BYOC_BUFFER_ALIGNMENT);
  if (copy == NULL || size_bytes == 0) return copy;
  if (graph != NULL) {
    byoc_graph_module_copy(graph, copy, data, size_bytes);
  } else {
    memcpy(copy, data, size_bytes);
  }
  return copy;
}

byoc_status_t byoc_runtime_module_add_constant(byoc_runtime_module_t *module, byoc_graph_module_t *graph,
                                               const byoc_tensor_data_t *data, byoc_diag_t *diag) {
  byoc_arena_t *arena = &module->arena;
  if (byoc_dtype_bits(data->dtype) == 0 || data->dtype == BYOC_DTYPE_STRING || data->rank > BYOC_MAX_RANK) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "runtime module '%s': constant %zu has an unusable type",
                           module->name, module->constants.count);
  }
  const byoc_type_t *type = byoc_type_tensor_static(arena, data->dtype, (int32_t)data->rank, data->dims);
  if (type == NULL) return byoc_diag_out_of_memory(diag);
  int64_t size_bytes = byoc_type_size_bytes(type);
  if (size_bytes < 0 || (uint64_t)size_bytes != data->size_bytes || (data->data == NULL && size_bytes > 0)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "runtime module '%s': constant %zu has %llu bytes where its type needs %lld", module->name,
                           module->constants.count, (unsigned long long)data->size_bytes, (long long)size_bytes);
  }
  const uint8_t *copy = copy_constant(module, graph, data->data, (size_t)size_bytes);
  if (copy == NULL) return byoc_diag_out_of_memory(diag);
  byoc_bound_constant_t constant = {.type = type, .data = copy, .size_bytes = (size_t)size_bytes};
  return byoc_vector_push(&module->constants, byoc_arena_allocator(arena), constant) ? BYOC_OK
                                                                                     : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_graph_module_add_runtime_module(byoc_graph_module_t *graph, byoc_runtime_module_t *module,
                                                   byoc_diag_t *diag) {
  if (byoc_graph_module_find_runtime_module(graph, module->name) != NULL) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "there are two runtime modules named '%s'", module->name);
  }
  if (!byoc_vector_push(&graph->runtime_modules, graph->allocator, module)) return byoc_diag_out_of_memory(diag);
  graph->release_runtime_module = byoc_runtime_module_release;
  byoc_runtime_module_retain(module);
  return BYOC_OK;
}

byoc_runtime_module_t *byoc_graph_module_find_runtime_module(const byoc_graph_module_t *graph, const char *name) {
  for (size_t i = 0; i < graph->runtime_modules.count; i++) {
    byoc_runtime_module_t *module = graph->runtime_modules.data[i];
    if (strcmp(module->name, name) == 0) return module;
  }
  return NULL;
}
