// SPDX-License-Identifier: Apache-2.0
// Runtime modules, which backends hand back: reference-counted members of a graph module, in order of production.
#ifndef BYOC_CORE_MODULE_RUNTIME_MODULE_H_
#define BYOC_CORE_MODULE_RUNTIME_MODULE_H_

#include "byoc/device_plugin.h"
#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/vector.h"
#include "core/ir/graph.h"

// X(NAME, "text", properties)
#define BYOC_RUNTIME_MODULE_KIND_LIST(X)                                                                               \
  X(C_SOURCE, "c_source", BYOC_MODULE_SERIALISABLE | BYOC_MODULE_LINKABLE)                                             \
  X(STATIC_LIBRARY, "static_library", BYOC_MODULE_LINKABLE | BYOC_MODULE_RUNNABLE)                                     \
  X(ENGINE, "engine", BYOC_MODULE_LINKABLE | BYOC_MODULE_RUNNABLE)                                                     \
  X(JSON, "json", BYOC_MODULE_SERIALISABLE)                                                                            \
  X(PACKED, "packed", BYOC_MODULE_SERIALISABLE)                                                                        \
  X(METADATA, "metadata", BYOC_MODULE_SERIALISABLE)                                                                    \
  X(DRIVER, "driver", BYOC_MODULE_LINKABLE | BYOC_MODULE_RUNNABLE)                                                     \
  X(DEVICE, "device", BYOC_MODULE_SERIALISABLE)                                                                        \
  X(KERNELS, "kernels", BYOC_MODULE_SERIALISABLE)                                                                      \
  X(REPORT, "report", BYOC_MODULE_SERIALISABLE)

typedef enum byoc_module_property_t {
  BYOC_MODULE_SERIALISABLE = 1, // goes into the artifact as data or text
  BYOC_MODULE_RUNNABLE = 2,     // can be called in this process, without a compiler
  BYOC_MODULE_LINKABLE = 4,     // contributes objects to the link
} byoc_module_property_t;

#define BYOC_RUNTIME_MODULE_ENUM(NAME, text, properties) BYOC_RUNTIME_MODULE_##NAME,
typedef enum byoc_runtime_module_kind_t {
  BYOC_RUNTIME_MODULE_KIND_LIST(BYOC_RUNTIME_MODULE_ENUM) BYOC_RUNTIME_MODULE_KIND_COUNT
} byoc_runtime_module_kind_t;
#undef BYOC_RUNTIME_MODULE_ENUM

typedef struct byoc_file_bytes_t {
  const char *name;
  const uint8_t *data; // aligned to 64
  size_t size_bytes;
} byoc_file_bytes_t;

// A tensor that a backend bound to one of its functions.
typedef struct byoc_bound_constant_t {
  const byoc_type_t *type;
  const uint8_t *data; // aligned to 64
  size_t size_bytes;
} byoc_bound_constant_t;

// One form of a device module's code.
typedef struct byoc_device_form_t {
  uint32_t kind; // BYOC_DEVICE_CODE_*
  const char *format;
  const char *architecture; // BINARY; otherwise ""
  const char *options;      // ""
  const uint8_t *data;      // aligned to 64; a NUL that is not counted follows it
  size_t size_bytes;
} byoc_device_form_t;

typedef struct byoc_kernel_launches_t byoc_kernel_launches_t;
typedef struct byoc_runtime_module_t byoc_runtime_module_t;
struct byoc_runtime_module_t {
  uint32_t reference_count;
  byoc_runtime_module_kind_t kind;
  byoc_allocator_t allocator;
  byoc_arena_t arena; // owns everything below
  void *owner;        // its maker, a loaded plugin, which must outlive it; passed to release_owner at the end
  void (*release_owner)(void *);
  const char *name;                             // unique in its graph module
  const char *given_name;                       // its backend's name for it, if that was taken; NULL: name
  const char *target;                           // the target that made it, as a string; "" for the host
  BYOC_VECTOR(const char *) users;              // further targets that handed back an equal module
  BYOC_VECTOR(const char *) symbols;            // the symbols that it defines
  BYOC_VECTOR(byoc_runtime_module_t *) imports; // retained; never a cycle

  // JSON, ENGINE, DEVICE: the chip that it is for, in its backend's words (byoc_json_module_t.fits); NULL: any
  const char *fits;
  // ENGINE, DRIVER: the schema of their run-time options (core/module/runtime_options.h); NULL: none
  const char *runtime_options;
  // C_SOURCE
  const char *source, *compiler; // compiler NULL: the compiler of the host
  BYOC_VECTOR(const char *) flags;
  // STATIC_LIBRARY, ENGINE
  BYOC_VECTOR(byoc_file_bytes_t) files;
  BYOC_VECTOR(const char *) needed;
  BYOC_VECTOR(const char *) search; // STATIC_LIBRARY: folders with needed libraries
  const char *setup_symbol;
  int32_t (*open_in_process)(void *self, const byoc_runtime_t *runtime, void **out_handle);
  void *open_self;
  // STATIC_LIBRARY, ENGINE, DRIVER: what it is made of, for people, if that is code that its backend announced
  // (byoc_runtime_code_t); NULL: files that the backend handed over
  const char *code;
  // The same kinds, if the code is sources, with `flags`: the files that are compiled, those that they include, and, if
  // the artifact is C source, the global names that the sources define
  BYOC_VECTOR(byoc_file_bytes_t) sources;
  BYOC_VECTOR(byoc_file_bytes_t) headers;
  BYOC_VECTOR(const char *) globals;
  // The same kinds, if the artifact is C source and there are no sources: MACHINES/FILE for each machine
  BYOC_VECTOR(byoc_file_bytes_t) archives;
  // ENGINE
  const char *engine_symbol;
  BYOC_VECTOR(byoc_file_bytes_t) blobs;
  const byoc_engine_t *in_process;
  // DRIVER: has files, needed libraries and symbols, too
  const char *driver_symbol;
  const byoc_driver_t *driver; // the same in this process; NULL: not known here
  // DEVICE: code for the driver that it imports
  const char *driver_name;                  // the driver's given name
  BYOC_VECTOR(byoc_device_form_t) variants; // in the order of the plugin
  BYOC_VECTOR(const char *) entries;        // kernels in it
  // KERNELS: the launches of one function, with code of the modules that it imports. NULL in a program that was read
  // from text, which has launches of its own
  const byoc_kernel_launches_t *launches; // core/module/kernels.h
  // JSON, PACKED and KERNELS: one function. PACKED: inputs, then these constants, then outputs (byoc/call.h)
  const char *function_name; // of the graph module's function; its symbol in the artifact too
  const char *packed_symbol; // PACKED: the function to call
  const char *engine_name;
  const char *json; // REPORT: what the metadata has of it, an object with report, kind, text and others
  BYOC_VECTOR(byoc_bound_constant_t) constants;
  byoc_file_memory_t *file_memory; // file of large constants: that of the first graph with one; NULL: none
  uint64_t workspace_size_bytes;
};

static inline const char *byoc_runtime_module_given_name(const byoc_runtime_module_t *module) {
  return module->given_name != NULL ? module->given_name : module->name;
}
const char *byoc_runtime_module_kind_name(byoc_runtime_module_kind_t kind);
uint32_t byoc_runtime_module_properties(const byoc_runtime_module_t *module);
// True if the module has these properties. A linkable module gives objects to the link (a serialisable one is compiled
// into one first); a module that is serialisable only gives data.
static inline bool byoc_runtime_module_has(const byoc_runtime_module_t *module, uint32_t properties) {
  return (byoc_runtime_module_properties(module) & properties) == properties;
}

// Makes a module with one reference, empty except for kind, name and target.
byoc_status_t byoc_runtime_module_create(byoc_runtime_module_kind_t kind, const char *name, const char *target,
                                         byoc_allocator_t allocator, byoc_diag_t *diag,
                                         byoc_runtime_module_t **out_module);
void byoc_runtime_module_retain(byoc_runtime_module_t *module);
void byoc_runtime_module_release(byoc_runtime_module_t *module); // accepts NULL
// Adds `import` to module's imports; BYOC_INVALID_ARGUMENT if that would close a cycle.
byoc_status_t byoc_runtime_module_import(byoc_runtime_module_t *module, byoc_runtime_module_t *import,
                                         byoc_diag_t *diag);
// Reads the content (bytes or path) into the module's arena.
byoc_status_t byoc_runtime_module_add_file(byoc_runtime_module_t *module, const byoc_file_content_t *content,
                                           bool is_blob, byoc_diag_t *diag);
// Adds a file of announced code; a NUL that is not counted follows the copy.
typedef enum byoc_module_code_t {
  BYOC_MODULE_CODE_SOURCE,  // to be compiled
  BYOC_MODULE_CODE_HEADER,  // that sources include
  BYOC_MODULE_CODE_ARCHIVE, // for C source
} byoc_module_code_t;
byoc_status_t byoc_runtime_module_add_code(byoc_runtime_module_t *module, byoc_module_code_t kind, const char *name,
                                           const void *data, size_t size_bytes, byoc_diag_t *diag);
byoc_status_t byoc_runtime_module_add_symbol(byoc_runtime_module_t *module, const char *symbol, byoc_diag_t *diag);
// Adds a folder in which the linker and the artifact look for shared libraries: a whole path, or one that begins with
// "$ORIGIN", the artifact's own folder. BYOC_INVALID_ARGUMENT for anything else.
byoc_status_t byoc_runtime_module_add_search(byoc_runtime_module_t *module, const char *folder, byoc_diag_t *diag);
// Can only the loader of an artifact look in the folder?
bool byoc_runtime_module_search_is_of_artifact(const char *folder);
// Records that this target handed back an equal module, too.
byoc_status_t byoc_runtime_module_add_user(byoc_runtime_module_t *module, const char *target, byoc_diag_t *diag);
// Copies the data. If the graph (may be NULL) is a large model, a large constant goes to its file.
byoc_status_t byoc_runtime_module_add_constant(byoc_runtime_module_t *module, byoc_graph_module_t *graph,
                                               const byoc_tensor_data_t *data, byoc_diag_t *diag);
// Appends a form of a device module's code; strings and data are copied. NULL means "".
byoc_status_t byoc_runtime_module_add_variant(byoc_runtime_module_t *module, const byoc_device_form_t *form,
                                              byoc_diag_t *diag);
byoc_status_t byoc_runtime_module_add_entry(byoc_runtime_module_t *module, const char *entry, byoc_diag_t *diag);
bool byoc_runtime_module_has_entry(const byoc_runtime_module_t *module, const char *entry);
// The driver that a device module imports; NULL if there is none.
const byoc_runtime_module_t *byoc_runtime_module_driver(const byoc_runtime_module_t *module);
// Checks that an object or archive member of the module defines every listed symbol globally. Shared libraries that a
// static library needs must exist, and must define the symbols if it has no files (core/module/outside.h).
byoc_status_t byoc_runtime_module_check_symbols(const byoc_runtime_module_t *module, byoc_diag_t *diag);
// Appends to the graph module's list and keeps a reference. BYOC_ALREADY_EXISTS if the name is taken.
byoc_status_t byoc_graph_module_add_runtime_module(byoc_graph_module_t *graph, byoc_runtime_module_t *module,
                                                   byoc_diag_t *diag);
byoc_runtime_module_t *byoc_graph_module_find_runtime_module(const byoc_graph_module_t *graph, const char *name);

#endif // BYOC_CORE_MODULE_RUNTIME_MODULE_H_
