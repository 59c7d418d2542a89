// SPDX-License-Identifier: Apache-2.0
// Links a shared object for this process that exports a table of hidden functions' addresses.
#include "core/compose/c/addresses.h"

#include "core/base/string.h"
#include "core/compose/cc/compiler.h"

static void emit_table(const char *const *symbols, size_t count, byoc_string_t *out) {
  byoc_string_append(out, "// Addresses of functions whatever their types are.\n");
  for (size_t i = 0; i < count; i++) byoc_string_appendf(out, "extern char %s[];\n", symbols[i]);
  byoc_string_append(out, "__attribute__((visibility(\"default\"))) void *const " BYOC_ADDRESSES "[] = {\n");
  for (size_t i = 0; i < count; i++) byoc_string_appendf(out, "    %s,\n", symbols[i]);
  byoc_string_append(out, "    0};\n");
}

byoc_status_t byoc_link_addresses(byoc_link_files_t *files, const byoc_graph_module_t *graph,
                                  const char *const *symbols, size_t symbol_count, const char *compiler,
                                  const char *output, byoc_allocator_t allocator, byoc_diag_t *diag) {
  static const char *const exports[] = {BYOC_ADDRESSES};
  byoc_string_t source;
  byoc_string_init(&source, allocator);
  emit_table(symbols, symbol_count, &source);
  void *object = NULL;
  size_t size = 0;
  byoc_status_t status = source.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  byoc_compile_job_t compile = {.name = "addresses", .source = source.data, .compiler = compiler};
  if (status == BYOC_OK) status = byoc_compile(&compile, allocator, diag, &object, &size);
  if (status == BYOC_OK) status = byoc_link_files_add(files, object, size, diag);
  if (status == BYOC_OK) status = byoc_link_files_write(files, graph, diag);
  if (status == BYOC_OK) {
    byoc_link_job_t link = {.output = output,
                            .compiler = compiler,
                            .files = files->paths.data,
                            .file_count = files->paths.count,
                            .names = files->names.data,
                            .needed = files->needed.data,
                            .needed_count = files->needed.count,
                            .search = files->search.data,
                            .search_count = files->search.count,
                            .exports = exports,
                            .export_count = 1,
                            .allow_undefined = true};
    status = byoc_link_shared(&link, diag);
  }
  byoc_free(allocator, object);
  byoc_string_deinit(&source);
  return status;
}
