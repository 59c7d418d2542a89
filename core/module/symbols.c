// SPDX-License-Identifier: Apache-2.0
// Checks the symbols that a module lists against the symbol tables of its objects and archive members.
#include "core/module/symbols.h"

#include <string.h>

#include "core/base/elf.h"
#include "core/base/map.h"
#include "core/module/outside.h"

// The wanted symbols, with a mark for each that was found.
typedef struct search_t {
  byoc_map_t wanted; // text → found marker
  byoc_diag_t *diag;
  const char *local; // a wanted symbol that exists, but is local to its file
} search_t;

static char found_marker;

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  search_t *search = self;
  if (!symbol->defined || symbol->name[0] == '\0') return BYOC_OK;
  byoc_map_entry_t *entry = byoc_string_map_find(&search->wanted, symbol->name);
  if (entry == NULL) return BYOC_OK;
  if (symbol->global) entry->value = &found_marker;
  if (!symbol->global) search->local = entry->text;
  return BYOC_OK;
}

static byoc_status_t visit_member(void *self, const char *member, const uint8_t *data, size_t size_bytes) {
  search_t *search = self;
  if (!byoc_is_elf(data, size_bytes)) return BYOC_OK;
  byoc_elf_t elf;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(data, size_bytes, member, search->diag, &elf));
  return byoc_elf_visit_symbols(&elf, false, visit_symbol, search, search->diag);
}

static byoc_status_t visit_object(search_t *search, const char *name, const byoc_bytes_t *object) {
  if (byoc_is_ar(object->data, object->size_bytes)) {
    return byoc_ar_visit(object->data, object->size_bytes, name, visit_member, search, search->diag);
  }
  byoc_elf_t elf;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(object->data, object->size_bytes, name, search->diag, &elf));
  return byoc_elf_visit_symbols(&elf, false, visit_symbol, search, search->diag);
}

byoc_status_t byoc_runtime_module_check_objects(const byoc_runtime_module_t *module, const byoc_bytes_t *objects,
                                                size_t object_count, byoc_diag_t *diag) {
  search_t search = {.diag = diag};
  byoc_string_map_init(&search.wanted, module->allocator);
  byoc_status_t status = BYOC_OK;
  bool ok = true;
  for (size_t i = 0; i < module->symbols.count && ok; i++) {
    ok = byoc_string_map_put(&search.wanted, module->symbols.data[i], NULL);
  }
  if (ok && module->engine_symbol != NULL) ok = byoc_string_map_put(&search.wanted, module->engine_symbol, NULL);
  if (ok && module->setup_symbol != NULL) ok = byoc_string_map_put(&search.wanted, module->setup_symbol, NULL);
  if (!ok) status = byoc_diag_out_of_memory(diag);

  for (size_t i = 0; i < object_count && status == BYOC_OK; i++) {
    const char *name = i < module->files.count ? module->files.data[i].name : module->name;
    status = visit_object(&search, name, &objects[i]);
  }
  for (size_t i = 0; i < search.wanted.count && status == BYOC_OK; i++) {
    const byoc_map_entry_t *entry = &search.wanted.entries[i];
    if (entry->value != NULL) continue;
    bool local = search.local != NULL && strcmp(search.local, entry->text) == 0;
    status =
        byoc_diag_error(diag, BYOC_INVALID_DATA, "runtime module '%s' lists the symbol '%s', but %s", module->name,
                        entry->text, local ? "it is local to its file (static)" : "none of its objects defines it");
    byoc_diag_hint(diag, "correct the symbols that target '%s' lists, or define the function%s", module->target,
                   local ? " without static (BYOC_PACKED hides it from outside)" : "");
  }
  byoc_map_deinit(&search.wanted);
  return status;
}

byoc_status_t byoc_runtime_module_check_symbols(const byoc_runtime_module_t *module, byoc_diag_t *diag) {
  // C source has no object yet: compose and the resolver check it once it is compiled.
  if (!byoc_runtime_module_has(module, BYOC_MODULE_LINKABLE) || module->kind == BYOC_RUNTIME_MODULE_C_SOURCE) {
    return BYOC_OK;
  }
  // Code of an artifact that is C source.
  if (module->files.count == 0 && module->sources.count + module->archives.count > 0) return BYOC_OK;
  if (module->kind == BYOC_RUNTIME_MODULE_STATIC_LIBRARY) {
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_outside(module, diag));
    if (byoc_runtime_module_is_outside(module)) return BYOC_OK;
  }
  size_t count = module->files.count;
  byoc_bytes_t *objects = byoc_allocate(module->allocator, count, sizeof(*objects));
  if (objects == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; i++) {
    objects[i] = (byoc_bytes_t){.data = module->files.data[i].data, .size_bytes = module->files.data[i].size_bytes};
  }
  byoc_status_t status = byoc_runtime_module_check_objects(module, objects, count, diag);
  byoc_free(module->allocator, objects);
  return status;
}
