// The tables of functions that the host offers to plugins: one file each, host_<table>.c (region's is host_target.c).
#ifndef BYOC_CORE_PLUGIN_HOST_H_
#define BYOC_CORE_PLUGIN_HOST_H_

#include "byoc/plugin.h"

// Static storage, all of them.
const byoc_target_api_t *byoc_host_target_api(void);
const byoc_graph_api_t *byoc_host_graph_api(void);
const byoc_region_api_t *byoc_host_region_api(void);
const byoc_edit_api_t *byoc_host_edit_api(void);       // of a codegen session
const byoc_codegen_api_t *byoc_host_codegen_api(void); // of a codegen session

// Puts them all into the host that a library sees. What loads a library is given this function: the tables reach the
// library again, through the modules that its code makes.
void byoc_host_fill_tables(byoc_host_t *host);

#endif // BYOC_CORE_PLUGIN_HOST_H_
