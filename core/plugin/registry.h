// SPDX-License-Identifier: Apache-2.0
// The plugins that were found: discovery, trust, identity, loading.
//
// Discovery only reads files: names, owners, permissions and the identity note. A plugin's code runs when one of its
// targets is first asked for. Skipped files are listed with their path and the reason.
#ifndef BYOC_CORE_PLUGIN_REGISTRY_H_
#define BYOC_CORE_PLUGIN_REGISTRY_H_

#include "byoc/plugin.h"
#include "core/base/diag.h"
#include "core/op/extension.h"
#include "core/targets/target.h"

typedef enum byoc_plugin_state_t {
  BYOC_PLUGIN_FOUND,   // identity read; not loaded yet
  BYOC_PLUGIN_REFUSED, // see reason
  BYOC_PLUGIN_LOADED,
} byoc_plugin_state_t;

typedef enum byoc_plugin_source_t {
  BYOC_PLUGIN_FROM_OPTION,      // --plugin PATH
  BYOC_PLUGIN_FROM_ENVIRONMENT, // a folder in $BYOC_PLUGIN_PATH
  BYOC_PLUGIN_FROM_INSTALLATION,
} byoc_plugin_source_t;

typedef struct byoc_plugin_entry_t {
  const char *path;
  byoc_plugin_source_t source;
  bool is_table; // a JSON file, which the installed reader makes into a backend
  byoc_plugin_state_t state;
  const char *reason;  // REFUSED: the fault and the remedy; else ""
  bool is_passed_over; // REFUSED without a fault: it was found twice, or the user chose another
  bool has_note;
  byoc_plugin_note_t note;               // has_note
  char domains[256];                     // of its operators, comma-separated; "": none
  struct byoc_plugin_library_t *library; // LOADED (core/plugin/library.h)
  byoc_plugin_t plugin;                  // LOADED: as the plugin filled it, with missing fields zeroed
  const byoc_target_kind_t *kinds;       // LOADED
  size_t kind_count;
} byoc_plugin_entry_t;

typedef struct byoc_plugin_options_t {
  const char *const *paths; // --plugin: files, in order
  size_t path_count;
  const char *const
      *preferred; // --prefer: files and folders; their plugins are preferred to others with their targets or names
  size_t preferred_count;
  const char *environment;  // colon-separated folders; NULL: $BYOC_PLUGIN_PATH (ignored when privileged)
  const char *installation; // folder; NULL: none
  const char *table_reader; // shared object that makes backends of tables; NULL: that of the installation
  int64_t load_timeout_ms;  // limit for the trial in a child process; 0: 20000
} byoc_plugin_options_t;

typedef struct byoc_plugin_registry_t byoc_plugin_registry_t;

// Finds plugins in the order explicit, environment, installation; files ending in ".so" or ".json", sorted within a
// folder. It is an error if a path that was given explicitly is refused; every other refused file is only listed. If
// two plugins announce the same target or have the same name, the one that the user preferred, or else named, is used.
// Without such a choice both are refused, unless they are copies of one file. BYOC_NOT_FOUND if there is no plugin at a
// preferred path.
byoc_status_t byoc_plugin_registry_create(const byoc_plugin_options_t *options, byoc_allocator_t allocator,
                                          byoc_diag_t *diag, byoc_plugin_registry_t **out_registry);
// Unloads everything. Runtime modules that a plugin made keep its code loaded until the last of them is released.
// Target lists must be destroyed before.
void byoc_plugin_registry_destroy(byoc_plugin_registry_t *registry); // accepts NULL
size_t byoc_plugin_registry_count(const byoc_plugin_registry_t *registry);
const byoc_plugin_entry_t *byoc_plugin_registry_at(const byoc_plugin_registry_t *registry, size_t index);

// Target kinds for the parser: "c", then the plugins' in order. Looking one up loads its plugin. If that fails, the
// plugin becomes REFUSED and the lookup finds nothing.
byoc_target_registry_t byoc_plugin_registry_targets(byoc_plugin_registry_t *registry);
// The reason of a refused plugin that announces a kind of that name, or may do so but could not be read; otherwise
// NULL.
const char *byoc_plugin_registry_refusal(const byoc_plugin_registry_t *registry, const char *kind);
// The source of operators for readers of models: when a domain is first asked for, the plugins that announce it are
// loaded. If two of them declare one operator and the user has not chosen, that is an error with both names.
byoc_op_source_t byoc_plugin_registry_operators(byoc_plugin_registry_t *registry);
// Loads the tables. Only the code of the host's own reader runs.
void byoc_plugin_registry_read_tables(byoc_plugin_registry_t *registry);
// Loads every plugin that was found (for byoc targets). Warns of plugins that are refused then, could not be read, or
// announce the same as another, and returns their number.
size_t byoc_plugin_registry_load_all(byoc_plugin_registry_t *registry);

#endif // BYOC_CORE_PLUGIN_REGISTRY_H_
