// The host's tables, all in one place.
#include "core/plugin/host.h"

void byoc_host_fill_tables(byoc_host_t *host) {
  host->target = byoc_host_target_api();
  host->graph = byoc_host_graph_api();
  host->region = byoc_host_region_api();
  host->edit = byoc_host_edit_api();
  host->codegen = byoc_host_codegen_api();
}
