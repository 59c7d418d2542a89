// SPDX-License-Identifier: Apache-2.0
// Finds the compiler for another machine, and compiles the runtime of artifacts by it.
#include "core/compose/cc/cross.h"

#include <ar.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/base/process.h"
#include "core/compose/cc/runtime_files.h"

byoc_status_t byoc_cross_compiler(const char *triple, byoc_arena_t *arena, byoc_diag_t *diag,
                                  const char **out_compiler) {
  *out_compiler = byoc_arena_format(arena, "%s-gcc", triple);
  if (*out_compiler == NULL) return byoc_diag_out_of_memory(diag);
  if (byoc_program_exists(*out_compiler)) return BYOC_OK;
  if (byoc_program_exists("clang")) {
    *out_compiler = byoc_arena_format(arena, "clang --target=%s", triple);
    return *out_compiler != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_NOT_FOUND, "no C compiler for %s was found (%s and clang were looked for in PATH)",
                      triple, *out_compiler);
  byoc_diag_hint(diag,
                 "install the Debian package gcc-%s (for musl: musl-tools), or name a compiler with the target "
                 "\"c -cc=PROGRAM\"",
                 triple);
  return status;
}

// As byoc_add_artifact_library (cmake/compiler.cmake) compiles it for this machine.
static const char *const flags[] = {"-O2", "-fomit-frame-pointer", "-DNDEBUG", "-D_GNU_SOURCE="};

// Others are for C sources.
static bool is_of_artifact(const byoc_embedded_header_t *file) {
  return byoc_starts_with(file->path, "core/runtime/") && !byoc_starts_with(file->path, "core/runtime/plain/");
}

static byoc_status_t compile(const char *compiler, byoc_allocator_t allocator, byoc_diag_t *diag,
                             byoc_bytes_t *out_objects) {
  byoc_compile_job_t *jobs = byoc_allocate(allocator, byoc_runtime_file_count, sizeof(*jobs));
  byoc_embedded_header_t *files = byoc_allocate(allocator, byoc_runtime_file_count, sizeof(*files));
  byoc_status_t status = jobs != NULL && files != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  size_t job_count = 0, file_count = 0;
  for (size_t i = 0; status == BYOC_OK && i < byoc_runtime_file_count; i++) {
    const byoc_embedded_header_t file = byoc_runtime_file(i);
    if (is_of_artifact(&file) && !byoc_ends_with(file.path, ".c")) files[file_count++] = file;
  }
  for (size_t i = 0; status == BYOC_OK && i < byoc_runtime_file_count; i++) {
    const byoc_embedded_header_t file = byoc_runtime_file(i);
    if (!is_of_artifact(&file) || !byoc_ends_with(file.path, ".c")) continue;
    jobs[job_count++] = (byoc_compile_job_t){.name = file.path,
                                             .source = (const char *)file.data,
                                             .compiler = compiler,
                                             .flags = flags,
                                             .flag_count = sizeof(flags) / sizeof(flags[0]),
                                             .files = files,
                                             .file_count = file_count};
  }
  if (status == BYOC_OK) status = byoc_compile_all(jobs, job_count, 0, allocator, diag, out_objects);
  byoc_free(allocator, jobs);
  byoc_free(allocator, files);
  return status;
}

static const char *keep_name(void *self, const char *name, bool defined) {
  (void)self, (void)defined;
  return name;
}

// Renaming nothing adds the index, by which the linker takes only the members that a program needs.
static byoc_status_t index_archive(const byoc_string_t *plain, byoc_string_t *out, byoc_diag_t *diag) {
  if (plain->failed) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(byoc_ar_rename(plain->data, plain->size, "the runtime", keep_name, NULL, out, diag));
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

byoc_status_t byoc_cross_runtime(const char *compiler, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_string_t *out_archive) {
  byoc_bytes_t *objects = byoc_allocate(allocator, byoc_runtime_file_count, sizeof(*objects));
  if (objects == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = compile(compiler, allocator, diag, objects);
  byoc_string_t plain;
  byoc_string_init(&plain, allocator);
  byoc_string_append_bytes(&plain, ARMAG, SARMAG);
  for (size_t i = 0; status == BYOC_OK && i < byoc_runtime_file_count && objects[i].data != NULL; i++) {
    char name[16];
    snprintf(name, sizeof(name), "%zu.o/", i);
    byoc_ar_append_header(&plain, name, objects[i].size_bytes);
    byoc_string_append_bytes(&plain, objects[i].data, objects[i].size_bytes);
    if (objects[i].size_bytes % 2 != 0) byoc_string_append(&plain, "\n");
  }
  if (status == BYOC_OK) status = index_archive(&plain, out_archive, diag);
  for (size_t i = 0; i < byoc_runtime_file_count; i++) byoc_free(allocator, (void *)(uintptr_t)objects[i].data);
  byoc_string_deinit(&plain);
  byoc_free(allocator, objects);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "compiling the runtime of artifacts");
}
