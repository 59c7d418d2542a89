// SPDX-License-Identifier: Apache-2.0
// Compiles runtime code of backends: each source is included by a unit of one line, so that it finds the files beside
// it.
#include "core/compose/cc/code.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/compose/cc/tool.h"

static byoc_embedded_header_t *list_files(const byoc_runtime_module_t *module, byoc_arena_t *arena) {
  const size_t sources = module->sources.count, count = sources + module->headers.count;
  byoc_embedded_header_t *files = BYOC_ARENA_ARRAY(arena, byoc_embedded_header_t, count);
  for (size_t i = 0; files != NULL && i < count; i++) {
    const byoc_file_bytes_t *file = i < sources ? &module->sources.data[i] : &module->headers.data[i - sources];
    files[i] = (byoc_embedded_header_t){.path = file->name, .data = file->data, .size_bytes = file->size_bytes};
  }
  return files;
}

// A compiler that says so names the header in its message.
static void hint_at_header(byoc_diag_t *diag) {
  const bool is_missing =
      strstr(diag->message, "No such file or directory") != NULL || strstr(diag->message, "file not found") != NULL;
  if (!is_missing || diag->hint[0] != '\0') return;
  byoc_diag_hint(diag, "the plugin can hand the header over (headers of byoc_runtime_code_t in byoc/plugin.h), or the "
                       "compiler needs the package with it");
}

byoc_status_t byoc_compile_code(const byoc_runtime_module_t *module, const char *compiler, byoc_allocator_t allocator,
                                byoc_diag_t *diag, byoc_bytes_t *out_objects) {
  const size_t count = module->sources.count;
  byoc_arena_t arena;
  byoc_arena_init(&arena, allocator);
  byoc_embedded_header_t *files = list_files(module, &arena);
  byoc_compile_job_t *jobs = BYOC_ARENA_ARRAY(&arena, byoc_compile_job_t, count);
  bool ok = files != NULL && jobs != NULL;
  for (size_t i = 0; i < count && ok; i++) {
    const char *name = module->sources.data[i].name;
    jobs[i] = (byoc_compile_job_t){.name = name,
                                   .source = byoc_arena_format(&arena, "#include \"include/%s\"\n", name),
                                   .compiler = compiler,
                                   .flags = module->flags.data,
                                   .flag_count = module->flags.count,
                                   .files = files,
                                   .file_count = count + module->headers.count};
    ok = jobs[i].source != NULL;
  }
  byoc_status_t status =
      ok ? byoc_compile_all(jobs, count, 0, allocator, diag, out_objects) : byoc_diag_out_of_memory(diag);
  if (status == BYOC_TOOL && diag != NULL) hint_at_header(diag);
  byoc_arena_deinit(&arena);
  return status;
}
