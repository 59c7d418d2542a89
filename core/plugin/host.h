// SPDX-License-Identifier: Apache-2.0
// The tables of functions that the host offers to plugins. Each has a file host_<table>.c (that of region is
// host_target.c).
#ifndef BYOC_CORE_PLUGIN_HOST_H_
#define BYOC_CORE_PLUGIN_HOST_H_

#include "byoc/device_plugin.h"
#include "byoc/operator_plugin.h"
#include "byoc/table.h"

// All of them have static storage.
const byoc_target_api_t *byoc_host_target_api(void);
const byoc_graph_api_t *byoc_host_graph_api(void);
const byoc_region_api_t *byoc_host_region_api(void);
const byoc_edit_api_t *byoc_host_edit_api(void);         // for a codegen session
const byoc_codegen_api_t *byoc_host_codegen_api(void);   // for a codegen session
const byoc_device_api_t *byoc_host_device_api(void);     // the extension BYOC_DEVICE_EXTENSION
const byoc_operator_api_t *byoc_host_operator_api(void); // the extension BYOC_OPERATOR_EXTENSION

const byoc_table_api_t *byoc_host_table_api(void); // the extension BYOC_TABLE_EXTENSION

// What a hook has read through the graph and codegen tables since _begin, in this thread: its answer may depend on it.
enum {
  BYOC_READ_NAMES = 1,  // names or numbers of functions, nodes and values
  BYOC_READ_MODULE = 2, // the module, or a function's place in it
  BYOC_READ_EDIT = 4,   // it edited, and so read what it wrote
};
void byoc_graph_watch_begin(void);
unsigned byoc_graph_watch_end(void);
void byoc_graph_note_read(unsigned marks);

// Puts all tables into the host that a library sees. Loaders of a library get this function as an argument, because the
// tables need the library: modules that its code makes hold a reference to it.
void byoc_host_fill_tables(byoc_host_t *host);

#endif // BYOC_CORE_PLUGIN_HOST_H_
