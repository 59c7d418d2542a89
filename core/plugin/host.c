// The host's tables, all in one place.
#include "core/plugin/host.h"

#include <string.h>

static const void *find_extension(const byoc_host_t *host, const char *name, uint32_t version) {
  (void)host;
  const struct {
    const char *name;
    const void *table;
    uint32_t version;
  } extensions[] = {
      {BYOC_DEVICE_EXTENSION, byoc_host_device_api(), byoc_host_device_api()->header.struct_version},
      {BYOC_TABLE_EXTENSION, byoc_host_table_api(), byoc_host_table_api()->header.struct_version},
  };
  for (size_t i = 0; name != NULL && i < sizeof(extensions) / sizeof(extensions[0]); ++i) {
    if (strcmp(name, extensions[i].name) == 0 && version == extensions[i].version) return extensions[i].table;
  }
  return NULL;
}

void byoc_host_fill_tables(byoc_host_t *host) {
  host->target = byoc_host_target_api();
  host->graph = byoc_host_graph_api();
  host->region = byoc_host_region_api();
  host->edit = byoc_host_edit_api();
  host->codegen = byoc_host_codegen_api();
  host->extension = find_extension;
}
