// SPDX-License-Identifier: Apache-2.0
// The host's tables, all in one place.
#include "core/plugin/host.h"

#include <string.h>

static const void *find_extension(const byoc_host_t *host, const char *name, uint32_t version) {
  (void)host;
  const struct {
    const char *name;
    const void *table; // starts with its header
  } extensions[] = {{BYOC_DEVICE_EXTENSION, byoc_host_device_api()},
                    {BYOC_OPERATOR_EXTENSION, byoc_host_operator_api()},
                    {BYOC_TABLE_EXTENSION, byoc_host_table_api()}};
  for (size_t i = 0; name != NULL && i < sizeof(extensions) / sizeof(extensions[0]); ++i) {
    const byoc_header_t *header = extensions[i].table;
    if (strcmp(name, extensions[i].name) == 0) return version == header->struct_version ? header : NULL;
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
