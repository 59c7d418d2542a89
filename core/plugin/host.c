// The host's tables, all in one place.
#include "core/plugin/host.h"

#include <string.h>

static const void *find_extension(const byoc_host_t *host, const char *name, uint32_t version) {
  (void)host;
  if (name == NULL || strcmp(name, BYOC_DEVICE_EXTENSION) != 0) return NULL;
  const byoc_device_api_t *device = byoc_host_device_api();
  return version == device->header.struct_version ? device : NULL;
}

void byoc_host_fill_tables(byoc_host_t *host) {
  host->target = byoc_host_target_api();
  host->graph = byoc_host_graph_api();
  host->region = byoc_host_region_api();
  host->edit = byoc_host_edit_api();
  host->codegen = byoc_host_codegen_api();
  host->extension = find_extension;
}
