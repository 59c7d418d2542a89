// SPDX-License-Identifier: Apache-2.0
// The resolver: makes code of backends callable in this process.
#include "core/compose/artifact/resolve.h"

#include <dlfcn.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/compose/c/addresses.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/native.h"
#include "core/module/linkage.h"
#include "core/module/symbols.h"

struct byoc_resolver_t {
  byoc_allocator_t allocator;
  const byoc_host_program_t *program;
  const char *compiler;        // for modules that name none; NULL: the default
  byoc_arena_t arena;          // names
  byoc_map_t addresses;        // symbol, as the program calls it → address
  BYOC_VECTOR(void *) handles; // handles of libraries opened in this process
  void *linked;                // the temporary shared object
};

// True for a library that needs a linker, as opposed to one that opens by itself. A backend opens one copy in a
// process: a second library of the same backend, set up in another way, is linked from its files.
static bool needs_link(const byoc_host_program_t *program, const byoc_runtime_module_t *module) {
  if (module->kind == BYOC_RUNTIME_MODULE_C_SOURCE || module->open_in_process == NULL) return true;
  for (size_t i = 0; program->libraries.data[i] != module; i++) {
    const byoc_runtime_module_t *earlier = program->libraries.data[i];
    if (earlier->open_in_process == module->open_in_process && earlier->open_self == module->open_self) {
      return module->files.count > 0;
    }
  }
  return false;
}

// The driver of a device of the program that is not in this process yet, or NULL; `index` counts the modules of its
// graph module.
static const byoc_runtime_module_t *driver_to_link(const byoc_host_program_t *program, size_t index) {
  const byoc_runtime_module_t *module = program->module->runtime_modules.data[index];
  if (module->kind != BYOC_RUNTIME_MODULE_DRIVER || module->driver != NULL || module->files.count == 0) return NULL;
  for (size_t i = 0; i < program->devices.count; i++) {
    if (strcmp(program->devices.data[i]->driver, byoc_runtime_module_given_name(module)) == 0) return module;
  }
  return NULL;
}

static size_t graph_module_count(const byoc_host_program_t *program) {
  return program->module != NULL ? program->module->runtime_modules.count : 0;
}

static byoc_status_t remember(byoc_resolver_t *resolver, const char *symbol, void *address, byoc_diag_t *diag) {
  return byoc_string_map_put(&resolver->addresses, symbol, address) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The name by which the program calls a symbol of the module.
static byoc_status_t find_linkage(byoc_resolver_t *resolver, const byoc_runtime_module_t *module, const char *symbol,
                                  byoc_diag_t *diag, const char **out_linkage) {
  *out_linkage = byoc_linkage_name(resolver->program->module, module, symbol, &resolver->arena);
  return *out_linkage != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t open_in_process(byoc_resolver_t *resolver, const byoc_runtime_module_t *module,
                                     const byoc_runtime_t *runtime, byoc_diag_t *diag) {
  void *handle = NULL;
  int32_t status = module->open_in_process(module->open_self, runtime, &handle);
  if (status != BYOC_OK || handle == NULL) {
    if (status == BYOC_OK) status = BYOC_INTERNAL;
    return byoc_diag_error(diag, status, "the library '%s' of target '%s' cannot be opened in this process: %s",
                           module->name, module->target, byoc_status_name(status));
  }
  if (!byoc_vector_push(&resolver->handles, resolver->allocator, handle)) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i <= module->symbols.count; i++) {
    const char *symbol = i < module->symbols.count ? module->symbols.data[i] : module->setup_symbol;
    if (symbol == NULL) continue;
    void *address = dlsym(handle, symbol);
    if (address == NULL) {
      return byoc_diag_error(diag, BYOC_NOT_FOUND, "the library '%s' of target '%s' lacks '%s' in this process",
                             module->name, module->target, symbol);
    }
    BYOC_RETURN_IF_ERROR(find_linkage(resolver, module, symbol, diag, &symbol));
    BYOC_RETURN_IF_ERROR(remember(resolver, symbol, address, diag));
  }
  return BYOC_OK;
}

static byoc_status_t add_module(byoc_resolver_t *resolver, const byoc_runtime_module_t *module,
                                byoc_link_files_t *files, byoc_diag_t *diag) {
  if (module->kind != BYOC_RUNTIME_MODULE_C_SOURCE) {
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_symbols(module, diag));
    return byoc_link_files_add_module(files, module, NULL, diag);
  }
  byoc_compile_job_t job = {.name = module->name,
                            .source = module->source,
                            .compiler = module->compiler != NULL ? module->compiler : resolver->compiler,
                            .flags = module->flags.data,
                            .flag_count = module->flags.count};
  void *object = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(byoc_compile(&job, byoc_arena_allocator(&files->arena), diag, &object, &size));
  byoc_bytes_t bytes = {object, size};
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_objects(module, &bytes, 1, diag));
  return byoc_link_files_add_module(files, module, &bytes, diag);
}

static byoc_status_t load_linked(byoc_resolver_t *resolver, const char *path, const char *const *symbols, size_t count,
                                 byoc_diag_t *diag) {
  resolver->linked = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (resolver->linked == NULL) {
    const char *reason = dlerror();
    return byoc_diag_error(diag, BYOC_TOOL, "the backends' objects cannot be loaded: %s",
                           reason != NULL ? reason : "no reason was given");
  }
  void *const *table = dlsym(resolver->linked, BYOC_ADDRESSES);
  if (table == NULL) return byoc_diag_error(diag, BYOC_INTERNAL, "the table of addresses is missing");
  for (size_t i = 0; i < count; i++) BYOC_RETURN_IF_ERROR(remember(resolver, symbols[i], table[i], diag));
  return BYOC_OK;
}

typedef BYOC_VECTOR(const char *) names_t;

// Puts a module into the link, and its symbols into the table of addresses.
static byoc_status_t link_module(byoc_resolver_t *resolver, const byoc_runtime_module_t *module,
                                 byoc_link_files_t *files, names_t *symbols, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(add_module(resolver, module, files, diag));
  for (size_t s = 0; s <= module->symbols.count; s++) {
    const char *symbol = s < module->symbols.count ? module->symbols.data[s] : module->setup_symbol;
    if (symbol == NULL) continue;
    BYOC_RETURN_IF_ERROR(find_linkage(resolver, module, symbol, diag, &symbol));
    if (!byoc_vector_push(symbols, resolver->allocator, symbol)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// Links all modules that need a linker into one temporary shared object; its file is removed once it is loaded.
static byoc_status_t link_modules(byoc_resolver_t *resolver, byoc_diag_t *diag) {
  const byoc_host_program_t *program = resolver->program;
  byoc_allocator_t allocator = resolver->allocator;
  names_t symbols = {0};
  char *folder = NULL, *output = NULL;
  byoc_link_files_t files;
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-resolve", allocator, diag, &folder));
  byoc_link_files_init(&files, folder, allocator);
  output = byoc_path_join(allocator, folder, "backends.so");
  byoc_status_t status = output == NULL ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  for (size_t i = 0; i < program->libraries.count && status == BYOC_OK; i++) {
    const byoc_runtime_module_t *module = program->libraries.data[i];
    if (needs_link(program, module)) status = link_module(resolver, module, &files, &symbols, diag);
  }
  for (size_t i = 0; i < graph_module_count(program) && status == BYOC_OK; i++) {
    const byoc_runtime_module_t *driver = driver_to_link(program, i);
    if (driver != NULL) status = link_module(resolver, driver, &files, &symbols, diag);
  }
  if (status == BYOC_OK) {
    status = byoc_link_addresses(&files, program->module, symbols.data, symbols.count, resolver->compiler, output,
                                 allocator, diag);
  }
  if (status == BYOC_OK) status = load_linked(resolver, output, symbols.data, symbols.count, diag);
  byoc_link_files_deinit(&files);
  byoc_vector_deinit(&symbols, allocator);
  (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, output);
  byoc_free(allocator, folder);
  return status;
}

// Sets libraries up once, as a context of an artifact does.
static byoc_status_t set_up(byoc_resolver_t *resolver, const byoc_runtime_t *runtime, byoc_diag_t *diag) {
  for (size_t i = 0; i < resolver->program->libraries.count; i++) {
    const byoc_runtime_module_t *module = resolver->program->libraries.data[i];
    if (module->setup_symbol == NULL) continue;
    int32_t (*function)(const byoc_runtime_t *) = NULL;
    const char *symbol = NULL;
    BYOC_RETURN_IF_ERROR(find_linkage(resolver, module, module->setup_symbol, diag, &symbol));
    void *address = byoc_string_map_get(&resolver->addresses, symbol);
    memcpy(&function, &address, sizeof(function));
    int32_t status = function(runtime);
    if (status != BYOC_OK) {
      return byoc_diag_error(diag, status, "setting up the library '%s' of target '%s': %s", module->name,
                             module->target, byoc_status_name(status));
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_resolver_create(const byoc_host_program_t *program, const byoc_target_list_t *targets,
                                   const byoc_runtime_t *runtime, byoc_allocator_t allocator, byoc_diag_t *diag,
                                   byoc_resolver_t **out_resolver) {
  *out_resolver = NULL;
  byoc_resolver_t *resolver = byoc_allocate(allocator, 1, sizeof(*resolver));
  if (resolver == NULL) return byoc_diag_out_of_memory(diag);
  resolver->allocator = allocator;
  resolver->program = program;
  resolver->compiler = byoc_native_compiler(targets);
  byoc_arena_init(&resolver->arena, allocator);
  byoc_string_map_init(&resolver->addresses, allocator);
  byoc_status_t status = BYOC_OK;
  bool any_link = false;
  for (size_t i = 0; i < program->libraries.count && status == BYOC_OK; i++) {
    const byoc_runtime_module_t *module = program->libraries.data[i];
    if (needs_link(program, module)) {
      any_link = true;
    } else {
      status = open_in_process(resolver, module, runtime, diag);
    }
  }
  for (size_t i = 0; i < graph_module_count(program); i++) any_link = any_link || driver_to_link(program, i) != NULL;
  if (status == BYOC_OK && any_link) status = link_modules(resolver, diag);
  if (status == BYOC_OK) status = set_up(resolver, runtime, diag);
  if (status == BYOC_OK) {
    *out_resolver = resolver;
    resolver = NULL; // now the caller's
  }
  byoc_resolver_destroy(resolver);
  return status;
}

void byoc_resolver_destroy(byoc_resolver_t *resolver) {
  if (resolver == NULL) return;
  if (resolver->linked != NULL) (void)dlclose(resolver->linked);
  byoc_vector_deinit(&resolver->handles, resolver->allocator);
  byoc_map_deinit(&resolver->addresses);
  byoc_arena_deinit(&resolver->arena);
  byoc_free(resolver->allocator, resolver);
}

static byoc_status_t resolve(void *self, const char *symbol, byoc_diag_t *diag, void **out_address) {
  const byoc_resolver_t *resolver = self;
  *out_address = byoc_string_map_get(&resolver->addresses, symbol);
  // A helper that no module lists may still be in one of the libraries.
  for (size_t i = 0; i < resolver->handles.count && *out_address == NULL; i++) {
    *out_address = dlsym(resolver->handles.data[i], symbol);
  }
  if (*out_address != NULL) return BYOC_OK;
  byoc_status_t status = byoc_diag_error(diag, BYOC_NOT_FOUND, "no runtime module defines the function '%s'", symbol);
  byoc_diag_hint(diag, "the backend that binds it must list it among the symbols of one of its modules");
  return status;
}

byoc_symbol_resolver_t byoc_resolver_interface(byoc_resolver_t *resolver) {
  return (byoc_symbol_resolver_t){.self = resolver, .resolve = resolve};
}
