// SPDX-License-Identifier: Apache-2.0
// Links objects and archives into one shared object that exports the requested symbols only, or into one relocatable
// object.
#include <string.h>

#include "core/compose/cc/compiler.h"
#include "core/compose/cc/tool.h"
#include "core/module/runtime_module.h"

// The flags of every shared object of ours. No debug sections: the bytes depend on the content alone. pthread and dl
// are part of libc since glibc 2.34; --as-needed drops them there, unless the artifact is to run with older ones.
static const char *const link_flags[] = {
    "-shared", "-fPIC",   "-Wl,-z,relro",   "-Wl,-z,now",        "-Wl,-z,noexecstack", "-static-libgcc",
    "-Wl,-S",  "-Wl,-O1", "-Wl,-Bsymbolic", "-Wl,--gc-sections", "-Wl,--as-needed"};

static byoc_status_t write_exports(const byoc_link_job_t *job, const char *path, byoc_allocator_t allocator,
                                   byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  byoc_string_append(&text, "{\n");
  if (job->export_count > 0) byoc_string_append(&text, "global:\n");
  for (size_t i = 0; i < job->export_count; i++) byoc_string_appendf(&text, "  %s;\n", job->exports[i]);
  byoc_string_append(&text, "local:\n  *;\n};\n");
  byoc_status_t status =
      text.failed ? byoc_diag_out_of_memory(diag) : byoc_file_write(path, text.data, text.size, diag);
  byoc_string_deinit(&text);
  return status;
}

// The input files and the output.
static void add_files(byoc_command_t *command, const byoc_link_job_t *job) {
  // An archive member is pulled in for an exported symbol too.
  for (size_t i = 0; i < job->export_count; i++) byoc_command_addf(command, "-Wl,-u,%s", job->exports[i]);
  byoc_command_add(command, "-o");
  byoc_command_add(command, job->output);
  byoc_command_add(command, "-Wl,--start-group");
  for (size_t i = 0; i < job->file_count; i++) byoc_command_add(command, job->files[i]);
  byoc_command_add(command, "-Wl,--end-group");
  for (size_t i = 0; i < job->file_count && job->names != NULL; i++) {
    if (job->names[i] != NULL) byoc_command_name(command, job->files[i], job->names[i]);
  }
}

// clang compiles for every machine, and links for those whose linker and C library are there.
static byoc_status_t link_by(byoc_command_t *command, const char *compiler, byoc_diag_t *diag) {
  static const char option[] = "clang --target=";
  const byoc_status_t status = byoc_command_run(command, "linking", NULL, diag);
  if (status != BYOC_OK && diag != NULL && diag->hint[0] == '\0' && byoc_starts_with(compiler, option)) {
    const char *triple = compiler + strlen(option);
    byoc_diag_hint(diag,
                   "clang needs the linker and the C library of that machine: install the Debian package gcc-%s (for "
                   "musl: musl-tools), or name a compiler with the target \"c -cc=PROGRAM\"",
                   triple);
  }
  return status;
}

byoc_status_t byoc_link_shared(const byoc_link_job_t *job, byoc_diag_t *diag) {
  const char *compiler = NULL;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_c_compiler_find(job->compiler, diag, &compiler), "linking");
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  char *folder = byoc_path_directory(allocator, job->output);
  const char *exports = byoc_arena_format(&command.arena, "%s.map", job->output);
  byoc_status_t status = folder == NULL || exports == NULL ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK) status = write_exports(job, exports, allocator, diag);
  if (status != BYOC_OK) goto cleanup;

  for (size_t i = 0; i < sizeof(link_flags) / sizeof(link_flags[0]); i++) byoc_command_add(&command, link_flags[i]);
  byoc_command_add(&command, job->has_build_id ? "-Wl,--build-id=" BYOC_BUILD_ID_ROOM : "-Wl,--build-id=none");
  byoc_command_add(&command, job->allow_undefined ? "-Wl,-z,undefs" : "-Wl,-z,defs");
  // Passes a path by -Xlinker, because -Wl would split it at a comma.
  byoc_command_add(&command, "-Xlinker");
  byoc_command_addf(&command, "--version-script=%s", exports);
  add_files(&command, job);
  for (size_t i = 0; i < job->search_count; i++) {
    if (!byoc_runtime_module_search_is_of_artifact(job->search[i])) byoc_command_addf(&command, "-L%s", job->search[i]);
    byoc_command_add(&command, "-Xlinker");
    byoc_command_addf(&command, "-rpath=%s", job->search[i]);
  }
  if (job->search_count > 0) byoc_command_add(&command, "-Wl,--enable-new-dtags");
  if (job->needed_count > 0) byoc_command_add(&command, "-Wl,--no-as-needed");
  for (size_t i = 0; i < job->needed_count; i++) byoc_command_addf(&command, "-l:%s", job->needed[i]);
  if (job->needed_count > 0) byoc_command_add(&command, "-Wl,--as-needed");
  byoc_command_add(&command, "-lm");
  byoc_command_add(&command, "-lpthread");
  byoc_command_add(&command, "-ldl");
  static const char *const parts[] = {"-Wl,--no-as-needed", "-l:libpthread.so.0", "-l:libdl.so.2", "-Wl,--as-needed"};
  for (size_t i = 0; job->needs_parts_of_libc && i < sizeof(parts) / sizeof(parts[0]); i++) {
    byoc_command_add(&command, parts[i]);
  }
  byoc_command_work_in(&command, folder);
  status = link_by(&command, compiler, diag);

cleanup:
  byoc_free(allocator, folder);
  byoc_command_deinit(&command);
  return status;
}

byoc_status_t byoc_link_relocatable(const byoc_link_job_t *job, byoc_diag_t *diag) {
  // COMDAT groups are taken apart, because another object of the program may have one of the same name.
  static const char *const flags[] = {"-r", "-nostdlib", "-Wl,-S", "-Wl,--gc-sections", "-Wl,--force-group-allocation"};
  const char *compiler = NULL;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_c_compiler_find(job->compiler, diag, &compiler), "linking");
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  char *folder = byoc_path_directory(allocator, job->output);
  byoc_status_t status = folder == NULL ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK) {
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) byoc_command_add(&command, flags[i]);
    add_files(&command, job);
    byoc_command_work_in(&command, folder);
    status = link_by(&command, compiler, diag);
  }
  byoc_free(allocator, folder);
  byoc_command_deinit(&command);
  return status;
}
