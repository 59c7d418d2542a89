// SPDX-License-Identifier: Apache-2.0
// Runtime modules of a codegen session: copies the plugin's data, checks it, and adds the modules to the graph module.
#include <string.h>

#include "core/base/elf.h"
#include "core/base/json.h"
#include "core/base/map.h"
#include "core/module/linkage.h"
#include "core/plugin/abi.h"
#include "core/plugin/host.h"
#include "core/plugin/library.h"
#include "core/plugin/session.h"
#include "core/runtime/fit.h"

enum { MAX_SYMBOL_BYTES = 480, MAX_TEXT_BYTES = 4096, MAX_TEXTS = 1 << 20, MAX_ITEMS = 1 << 20 };

// ---- making modules ----

size_t byoc_session_earlier_count(const byoc_codegen_t *session) {
  return session->is_part ? 0 : session->module->runtime_modules.count;
}

static bool name_is_free(const byoc_codegen_t *session, const char *name) {
  if (!session->is_part && byoc_graph_module_find_runtime_module(session->module, name) != NULL) return false;
  for (size_t i = 0; i < session->made.count; ++i) {
    if (strcmp(session->made.data[i]->name, name) == 0) return false;
  }
  return true;
}

const char *byoc_session_free_name(byoc_codegen_t *session, const char *name) {
  const char *candidate = name;
  for (unsigned n = 1; candidate != NULL && !name_is_free(session, candidate); ++n) {
    candidate = byoc_arena_format(&session->arena, "%s_%u", name, n);
  }
  return candidate;
}

static void release_library(void *library) {
  byoc_plugin_library_release(library);
}

byoc_status_t byoc_session_create_module(byoc_codegen_t *session, byoc_runtime_module_kind_t kind, const char *name,
                                         byoc_diag_t *diag, byoc_runtime_module_t **out_module) {
  const char *unique = byoc_session_free_name(session, name);
  if (unique == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(
      byoc_runtime_module_create(kind, unique, session->target->text, session->allocator, diag, out_module));
  if (unique != name) {
    (*out_module)->given_name = byoc_arena_copy_string(&(*out_module)->arena, name);
    if ((*out_module)->given_name == NULL) {
      byoc_runtime_module_release(*out_module);
      return byoc_diag_out_of_memory(diag);
    }
  }
  if (session->target->kind->library != NULL) {
    byoc_plugin_library_retain(session->target->kind->library);
    (*out_module)->owner = session->target->kind->library;
    (*out_module)->release_owner = release_library;
  }
  return BYOC_OK;
}

// Takes over the module's reference.
static byoc_status_t keep_module(byoc_codegen_t *session, byoc_runtime_module_t *module, byoc_diag_t *diag) {
  if (byoc_vector_push(&session->made, session->allocator, module)) return BYOC_OK;
  byoc_runtime_module_release(module);
  return byoc_diag_out_of_memory(diag);
}

// Keeps the module if it could be filled, otherwise releases it.
byoc_status_t byoc_session_end_module(byoc_codegen_t *session, byoc_runtime_module_t *module, byoc_status_t status,
                                      byoc_diag_t *diag) {
  if (status == BYOC_OK) return keep_module(session, module, diag);
  byoc_runtime_module_release(module);
  return status;
}

static byoc_status_t copy_optional(const char *text, const char *what, byoc_runtime_module_t *module, byoc_diag_t *diag,
                                   const char **out_text) {
  *out_text = NULL;
  if (text == NULL || text[0] == '\0') return BYOC_OK;
  return byoc_abi_copy_string(text, what, MAX_TEXT_BYTES, false, &module->arena, diag, out_text);
}

byoc_status_t byoc_session_copy_fits(const char *fits, byoc_runtime_module_t *module, byoc_diag_t *diag) {
  enum { MAX_FITS_BYTES = 255 };
  if (fits == NULL || fits[0] == '\0') return BYOC_OK;
  return byoc_abi_copy_string(fits, "what it fits", MAX_FITS_BYTES, false, &module->arena, diag, &module->fits);
}

byoc_status_t byoc_session_check_fits(const byoc_runtime_module_t *module, const char *whose, const char *name,
                                      bool can_fit, byoc_diag_t *diag) {
  if (module->fits == NULL || can_fit) return BYOC_OK;
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA,
                                         "'%s' states that it fits '%s', and the %s '%s' has no function that compares "
                                         "this with the chip at hand",
                                         module->name, module->fits, whose, name);
  byoc_diag_hint(diag, "fill the slot 'fits' of its table, or leave the statement out");
  return status;
}

// Large constants of all sessions go to one file of the graph module.
static byoc_status_t add_constant(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                  const byoc_tensor_data_t *data, byoc_diag_t *diag) {
  if (session->lock != NULL) (void)pthread_mutex_lock(session->lock);
  const byoc_status_t status = byoc_runtime_module_add_constant(module, session->module, data, diag);
  if (session->lock != NULL) (void)pthread_mutex_unlock(session->lock);
  return status;
}

byoc_status_t byoc_session_add_constants(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                         const byoc_tensor_data_t *constants, uint32_t count, uint32_t stride,
                                         byoc_diag_t *diag) {
  for (uint32_t i = 0; i < count; ++i) {
    byoc_tensor_data_t data;
    BYOC_RETURN_IF_ERROR(
        byoc_abi_read_at(constants, stride, i, byoc_abi_of(byoc_tensor_data_t), "a constant", &data, diag));
    if (data.rank > 0 && data.dims == NULL) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "constant %u has rank %u and no dims", (unsigned)i,
                             (unsigned)data.rank);
    }
    BYOC_RETURN_IF_ERROR(add_constant(session, module, &data, diag));
  }
  return BYOC_OK;
}

static byoc_status_t add_symbols(byoc_runtime_module_t *module, byoc_text_list_t symbols, byoc_diag_t *diag) {
  byoc_text_list_t copy;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_strings(symbols, "the list of symbols", MAX_SYMBOL_BYTES, MAX_TEXTS, &module->arena, diag, &copy));
  for (uint64_t i = 0; i < copy.count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_symbol(module, copy.items[i], diag));
  }
  return BYOC_OK;
}

static byoc_status_t add_search(byoc_runtime_module_t *module, byoc_text_list_t folders, byoc_diag_t *diag) {
  byoc_text_list_t copy;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_strings(folders, "the list of folders to search", MAX_TEXT_BYTES, MAX_TEXTS,
                                             &module->arena, diag, &copy));
  for (uint64_t i = 0; i < copy.count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_search(module, copy.items[i], diag));
  }
  return BYOC_OK;
}

// ---- one adder per kind ----

static byoc_status_t fill_packed(byoc_codegen_t *session, byoc_runtime_module_t *module, int64_t index,
                                 const byoc_packed_binding_t *binding, byoc_diag_t *diag) {
  const byoc_function_t *function = session->functions[index];
  if (binding->symbol == NULL) byoc_graph_note_read(BYOC_READ_NAMES);
  const char *symbol = binding->symbol != NULL ? binding->symbol : byoc_session_symbol(function);
  char identifier[MAX_SYMBOL_BYTES + 1];
  byoc_make_identifier(symbol, identifier, sizeof(identifier));
  if (symbol[0] == '\0' || strcmp(symbol, identifier) != 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%.128s' is not a C identifier", symbol);
  }
  module->function_name = byoc_arena_copy_string(&module->arena, function->name);
  module->packed_symbol = byoc_arena_copy_string(&module->arena, symbol);
  module->workspace_size_bytes = binding->workspace_size_bytes;
  if (module->function_name == NULL || module->packed_symbol == NULL) return byoc_diag_out_of_memory(diag);
  session->bound_symbols[index] = module->packed_symbol;
  return byoc_session_add_constants(session, module, binding->constants, binding->constant_count,
                                    binding->constant_stride, diag);
}

byoc_status_t byoc_session_add_packed(byoc_codegen_t *session, int64_t index, const byoc_packed_binding_t *binding,
                                      byoc_diag_t *diag) {
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_PACKED,
                                                  byoc_session_symbol(session->functions[index]), diag, &module));
  return byoc_session_end_module(session, module, fill_packed(session, module, index, binding, diag), diag);
}

static byoc_status_t check_json(const char *text, byoc_diag_t *diag) {
  json_error_t error;
  json_t *value = byoc_json_load(text, strlen(text), JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (value == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
  if (value == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it is not JSON: %s (line %d, column %d)", error.text, error.line,
                           error.column);
  }
  json_decref(value);
  return BYOC_OK;
}

static byoc_status_t fill_json(byoc_codegen_t *session, byoc_runtime_module_t *module, int64_t index,
                               const byoc_json_module_t *json, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(json->engine, "the engine's name", MAX_SYMBOL_BYTES, false, &module->arena,
                                            diag, &module->engine_name));
  BYOC_RETURN_IF_ERROR(check_json(json->json, diag));
  module->function_name = byoc_arena_copy_string(&module->arena, session->functions[index]->name);
  module->json = byoc_arena_copy_string(&module->arena, json->json);
  module->workspace_size_bytes = json->workspace_size_bytes;
  BYOC_RETURN_IF_ERROR(byoc_session_copy_fits(json->fits, module, diag));
  if (module->function_name == NULL || module->json == NULL) return byoc_diag_out_of_memory(diag);
  return byoc_session_add_constants(session, module, json->constants, json->constant_count, json->constant_stride,
                                    diag);
}

byoc_status_t byoc_session_add_json(byoc_codegen_t *session, int64_t index, const byoc_json_module_t *json,
                                    byoc_diag_t *diag) {
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_JSON,
                                                  byoc_session_symbol(session->functions[index]), diag, &module));
  return byoc_session_end_module(session, module, fill_json(session, module, index, json, diag), diag);
}

static byoc_status_t fill_c_source(byoc_runtime_module_t *module, const byoc_c_source_t *source, byoc_diag_t *diag) {
  module->source = byoc_arena_copy_string(&module->arena, source->source);
  if (module->source == NULL) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(copy_optional(source->compiler, "its compiler", module, diag, &module->compiler));
  byoc_text_list_t flags;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_strings(source->flags, "its flags", MAX_TEXT_BYTES, MAX_TEXTS, &module->arena, diag, &flags));
  for (uint64_t i = 0; i < flags.count; ++i) {
    if (!byoc_vector_push(&module->flags, byoc_arena_allocator(&module->arena), flags.items[i])) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return add_symbols(module, source->symbols, diag);
}

byoc_status_t byoc_session_add_c_source(byoc_codegen_t *session, const byoc_c_source_t *source, byoc_diag_t *diag) {
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(source->name, "its name", MAX_SYMBOL_BYTES, false, &session->arena, diag, &name));
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_C_SOURCE, name, diag, &module));
  return byoc_session_end_shared(session, module, fill_c_source(module, source, diag), diag);
}

byoc_status_t byoc_session_fill_library(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                        const byoc_static_library_t *library, byoc_diag_t *diag) {
  bool is_filled = false;
  const bool has_files = library->file_count > 0 || library->needed.count > 0;
  if (library->file_count > MAX_ITEMS) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has too many files");
  BYOC_RETURN_IF_ERROR(add_symbols(module, library->symbols, diag));
  if (session != NULL) {
    BYOC_RETURN_IF_ERROR(
        byoc_session_fill_code(session, module, "static library", library->name, has_files, diag, &is_filled));
  }
  if (!is_filled && !has_files) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no files");
  if (!is_filled) {
    BYOC_RETURN_IF_ERROR(byoc_session_add_files(session, module, library->files, library->file_count,
                                                library->file_stride, false, diag));
    BYOC_RETURN_IF_ERROR(byoc_session_add_needed(module, library->needed, diag));
  }
  BYOC_RETURN_IF_ERROR(add_search(module, library->search, diag));
  BYOC_RETURN_IF_ERROR(copy_optional(library->setup_symbol, "its setup symbol", module, diag, &module->setup_symbol));
  module->open_in_process = library->open_in_process;
  return byoc_runtime_module_check_symbols(module, diag);
}

byoc_status_t byoc_session_add_static_library(byoc_codegen_t *session, const byoc_static_library_t *library,
                                              byoc_diag_t *diag) {
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(library->name, "its name", MAX_SYMBOL_BYTES, false, &session->arena, diag, &name));
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_STATIC_LIBRARY, name, diag, &module));
  module->open_self = session->target->kind->backend->self;
  return byoc_session_end_shared(session, module, byoc_session_fill_library(session, module, library, diag), diag);
}

// The engine that the evaluator runs has the name of its module, as that in the artifact has. Plugins that were built
// with headers before minor 5 may name it as they like.
static byoc_status_t check_engine_table(const byoc_codegen_t *session, const byoc_engine_t *table, const char *name,
                                        byoc_diag_t *diag) {
  enum { ASKS_FROM_MINOR = 5 };
  const byoc_plugin_library_t *library = session->target->kind->library;
  if (table == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_check_table(table, byoc_abi_of(byoc_engine_t), BYOC_ENGINE_ABI_VERSION, "its engine table", diag));
  const bool is_older = library != NULL && library->abi_minor_built < ASKS_FROM_MINOR;
  if (is_older || strcmp(table->name, name) == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA,
                         "its engine table says that its name is '%.64s': the module and the engine need one name",
                         table->name);
}

// Code that a build for another machine would link, although it is only here.
static byoc_status_t check_blobs(const byoc_codegen_t *session, const byoc_runtime_module_t *module,
                                 byoc_diag_t *diag) {
  const char *triple = session->services != NULL ? session->services->triple : NULL;
  for (size_t i = 0; triple != NULL && i < module->blobs.count; ++i) {
    const byoc_file_bytes_t *blob = &module->blobs.data[i];
    byoc_elf_t elf;
    byoc_diag_t unused = {0};
    if (!byoc_is_elf(blob->data, blob->size_bytes) ||
        byoc_elf_open(blob->data, blob->size_bytes, blob->name, &unused, &elf) != BYOC_OK ||
        elf.machine != byoc_elf_host_machine() || elf.machine == byoc_machine_elf(session->target->machine)) {
      continue;
    }
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_UNSUPPORTED, "its blob '%s' is code for %s, and the artifact is for %s", blob->name,
                        byoc_machine_name(byoc_machine_host()), triple);
    byoc_diag_hint(diag, "the plugin can leave the blob out if codegen->triple names another machine");
    return status;
  }
  return BYOC_OK;
}

static byoc_status_t fill_engine(byoc_codegen_t *session, byoc_runtime_module_t *module,
                                 const byoc_engine_module_t *engine, byoc_diag_t *diag) {
  bool is_filled = false;
  if (engine->file_count > MAX_ITEMS || engine->blob_count > MAX_ITEMS) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has too many files");
  }
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(engine->symbol, "its symbol", MAX_SYMBOL_BYTES, false, &module->arena, diag,
                                            &module->engine_symbol));
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_symbol(module, module->engine_symbol, diag));
  BYOC_RETURN_IF_ERROR(
      byoc_session_fill_code(session, module, "engine", engine->name, engine->file_count > 0, diag, &is_filled));
  if (!is_filled && engine->file_count == 0) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "it has no files");
  if (!is_filled) {
    BYOC_RETURN_IF_ERROR(
        byoc_session_add_files(session, module, engine->files, engine->file_count, engine->file_stride, false, diag));
    BYOC_RETURN_IF_ERROR(byoc_session_add_needed(module, engine->needed, diag));
  }
  BYOC_RETURN_IF_ERROR(
      byoc_session_add_files(session, module, engine->blobs, engine->blob_count, engine->blob_stride, true, diag));
  BYOC_RETURN_IF_ERROR(check_blobs(session, module, diag));
  BYOC_RETURN_IF_ERROR(check_engine_table(session, engine->in_process, engine->name, diag));
  module->in_process = engine->in_process;
  BYOC_RETURN_IF_ERROR(byoc_session_copy_fits(engine->fits, module, diag));
  const bool can_fit = engine->in_process == NULL || byoc_engine_can_fit(engine->in_process);
  BYOC_RETURN_IF_ERROR(byoc_session_check_fits(module, "engine", engine->name, can_fit, diag));
  return byoc_runtime_module_check_symbols(module, diag);
}

byoc_status_t byoc_session_add_engine(byoc_codegen_t *session, const byoc_engine_module_t *engine, byoc_diag_t *diag) {
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(
      byoc_abi_copy_string(engine->name, "its name", MAX_SYMBOL_BYTES, false, &session->arena, diag, &name));
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(session, BYOC_RUNTIME_MODULE_ENGINE, name, diag, &module));
  return byoc_session_end_shared(session, module, fill_engine(session, module, engine, diag), diag);
}

// ---- the whole ----

// Adds the symbols that a module of this run lists to a text map, symbol → byoc_runtime_module_t *.
static byoc_status_t collect_symbols(byoc_runtime_module_t *module, byoc_map_t *symbols, byoc_diag_t *diag) {
  for (size_t i = 0; i < module->symbols.count; ++i) {
    const char *symbol = module->symbols.data[i];
    const byoc_runtime_module_t *other = byoc_string_map_get(symbols, symbol);
    if (other != NULL && other != module) {
      return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "the symbol '%s' is listed by runtime module '%s' and by '%s'",
                             symbol, other->name, module->name);
    }
    if (!byoc_string_map_put(symbols, symbol, module)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// The module that defines a symbol that this run's functions are bound to: one of this run, otherwise an earlier one's.
static byoc_runtime_module_t *find_definer(const byoc_codegen_t *session, const byoc_map_t *symbols,
                                           const char *symbol) {
  byoc_runtime_module_t *own = byoc_string_map_get(symbols, symbol);
  return own != NULL ? own : (byoc_runtime_module_t *)(uintptr_t)byoc_linkage_find(session->module, NULL, symbol);
}

// The engine of that name: this run's own or a shared one, otherwise one of an earlier run.
static byoc_runtime_module_t *find_engine(const byoc_codegen_t *session, const char *name) {
  byoc_runtime_module_t *found = NULL;
  const size_t earlier = byoc_session_earlier_count(session);
  for (size_t i = 0; i < earlier + session->made.count; ++i) {
    byoc_runtime_module_t *module =
        i < earlier ? session->module->runtime_modules.data[i] : session->made.data[i - earlier];
    if (module->kind != BYOC_RUNTIME_MODULE_ENGINE || strcmp(byoc_runtime_module_given_name(module), name) != 0) {
      continue;
    }
    if (i >= earlier || byoc_runtime_module_serves(module, session->target->text)) return module;
    if (found == NULL) found = module;
  }
  return found;
}

// A packed function imports the module that defines its symbol; a JSON function imports its engine.
static byoc_status_t connect(byoc_codegen_t *session, byoc_runtime_module_t *module, const byoc_map_t *symbols,
                             bool has_needed, byoc_diag_t *diag) {
  if (module->kind == BYOC_RUNTIME_MODULE_PACKED) {
    byoc_runtime_module_t *definer = find_definer(session, symbols, module->packed_symbol);
    if (definer != NULL) return byoc_runtime_module_import(module, definer, diag);
    if (has_needed) return BYOC_OK; // it may be in a library outside of the artifact; the link checks that
    byoc_status_t status =
        byoc_diag_error(diag, BYOC_INVALID_DATA, "function '%s' is bound to the symbol '%s', which no module lists",
                        module->function_name, module->packed_symbol);
    byoc_diag_hint(diag, "add the C source or static library that defines it, with the symbol in its list");
    return status;
  }
  if (module->kind != BYOC_RUNTIME_MODULE_JSON) return BYOC_OK;
  byoc_runtime_module_t *engine = find_engine(session, module->engine_name);
  if (engine == NULL) {
    return byoc_diag_error(diag, BYOC_NOT_FOUND, "function '%s' needs the engine '%s', which was not added",
                           module->function_name, module->engine_name);
  }
  const bool can_fit = engine->in_process == NULL || byoc_engine_can_fit(engine->in_process);
  BYOC_RETURN_IF_ERROR(byoc_session_check_fits(module, "engine", module->engine_name, can_fit, diag));
  return byoc_runtime_module_import(module, engine, diag);
}

static byoc_status_t check_whole(byoc_codegen_t *session, byoc_diag_t *diag) {
  byoc_map_t symbols;
  byoc_string_map_init(&symbols, session->allocator);
  byoc_status_t status = BYOC_OK;
  bool has_needed = false;
  for (size_t i = 0; i < session->module->runtime_modules.count && status == BYOC_OK; ++i) {
    byoc_runtime_module_t *module = session->module->runtime_modules.data[i];
    if (byoc_runtime_module_serves(module, session->target->text)) status = collect_symbols(module, &symbols, diag);
  }
  for (size_t i = 0; i < session->made.count && status == BYOC_OK; ++i) {
    has_needed = has_needed || session->made.data[i]->needed.count > 0;
    status = collect_symbols(session->made.data[i], &symbols, diag);
  }
  for (size_t i = 0; i < session->made.count && status == BYOC_OK; ++i) {
    status = connect(session, session->made.data[i], &symbols, has_needed, diag);
  }
  byoc_map_deinit(&symbols);
  return status;
}

byoc_status_t byoc_session_commit(byoc_codegen_t *session, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_whole(session, diag));
  byoc_graph_module_t *graph = session->module;
  const size_t before = graph->runtime_modules.count;
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < session->made.count && status == BYOC_OK; ++i) {
    status = byoc_graph_module_add_runtime_module(graph, session->made.data[i], diag);
  }
  if (status == BYOC_OK) status = byoc_session_place_boundaries(session, diag);
  if (status == BYOC_OK) return BYOC_OK;
  while (graph->runtime_modules.count > before) {
    byoc_runtime_module_release(graph->runtime_modules.data[--graph->runtime_modules.count]);
  }
  return status;
}
