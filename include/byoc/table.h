// SPDX-License-Identifier: Apache-2.0
// byoc/table.h - the host's functions for the plugin that makes backends of tables.
//
// Example:
//   const byoc_table_api_t *tables = host->extension(host, BYOC_TABLE_EXTENSION, 1);
//   uint64_t size_bytes = 0;
//   const char *text = tables != NULL ? tables->text(host, &size_bytes) : NULL;
//   if (text == NULL) return host->error(host, BYOC_UNSUPPORTED, "it is loaded for tables only");
//   const char *path = NULL;
//   if (tables->find_file(host, "libmine.a", &path) != BYOC_OK) return BYOC_NOT_FOUND; // the host has the reason
//
// A table is a JSON file, NAME.json, in a folder of plugins or given by --plugin. It describes a backend as data, as
// docs/tables.md (share/doc/byoc/tables.md) explains. The host finds it, reads its identity (target, version,
// description), and loads the installed reader, lib/byoc/table_reader.so, once for each table: its query returns the
// backend of the table that `text` gives. A plugin that is not loaded for a table gets no text.
//
// Only query may call these functions, on its own thread. A status that is not BYOC_OK comes with a reason, which the
// host shows unless query reports another one.
#ifndef BYOC_TABLE_H_
#define BYOC_TABLE_H_

#include "byoc/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_TABLE_EXTENSION "byoc.table"

typedef struct byoc_table_api_t {
  byoc_header_t header;
  // The table, which is not NUL-terminated and lives until destroy. NULL if the host is not loading one.
  const char *(*text)(const byoc_host_t *host, uint64_t *out_size_bytes);
  // The folder of the table, by its whole path, which lives until destroy. NULL if the host is not loading one.
  const char *(*folder)(const byoc_host_t *host);
  // The absolute path of a file that the table names, by an absolute path or relative to the table's folder. The file
  // must be trusted, as a plugin must be. It becomes part of the backend: costs that were measured with other content
  // are not used. BYOC_NOT_FOUND, BYOC_PERMISSION or BYOC_IO; the path lives until destroy.
  int32_t (*find_file)(const byoc_host_t *host, const char *name, const char **out_path);
  // Checks a library as codegen->add_static_library does: its files and shared libraries must exist and define the
  // symbols.
  int32_t (*check_library)(const byoc_host_t *host, const byoc_static_library_t *library);
} byoc_table_api_t;

#ifdef __cplusplus
}
#endif
#endif // BYOC_TABLE_H_
