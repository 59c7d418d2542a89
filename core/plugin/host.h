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

// Puts all tables into the host that a library sees. Loaders of a library get this function as an argument, because the
// tables need the library: modules that its code makes hold a reference to it.
void byoc_host_fill_tables(byoc_host_t *host);

#endif // BYOC_CORE_PLUGIN_HOST_H_
