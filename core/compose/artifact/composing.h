// SPDX-License-Identifier: Apache-2.0
// The state of one composition, from its programs to a linked file in a temporary folder. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_COMPOSING_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_COMPOSING_H_

#include "core/compose/artifact/compose.h"
#include "core/compose/c/data_layout.h"
#include "core/compose/c/host_c.h"
#include "core/compose/cc/compiler.h"
#include "core/compose/cc/link_files.h"
#include "core/compose/cc/native.h"

// A model of the artifact, for one ISA level.
typedef struct byoc_composing_entry_t {
  const byoc_host_program_t *program;
  byoc_compose_options_t options;                  // completed: with the way and the path of the weights
  byoc_native_flags_t native;                      // machine and compiler are those of all entries
  BYOC_VECTOR(const byoc_loop_kernel_t *) kernels; // that no other entry has
  byoc_map_t shared;                               // name of a kernel → its name where several entries share it
  size_t first_job;                                // the host's; then those of its kernels and of backends' sources
  size_t kernel_unit_count;
  byoc_host_c_metadata_t metadata;
} byoc_composing_entry_t;

// Kernels that several entries of one level have.
typedef struct byoc_composing_shared_t {
  BYOC_VECTOR(byoc_loop_kernel_t *) kernels;
  const byoc_native_flags_t *native;
} byoc_composing_shared_t;

typedef struct byoc_composing_t {
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  byoc_arena_t arena;
  byoc_composing_entry_t *entries;
  size_t entry_count;
  const byoc_compose_options_t *options; // of the first entry
  const byoc_host_program_t **programs;  // of the entries
  const byoc_native_flags_t *native;     // of the first entry
  const char *compiler_version;
  byoc_data_layout_t layout;
  bool has_layout;
  byoc_string_t metadata; // of all entries, each with its NUL
  char *folder;
  byoc_composing_shared_t *shared_levels; // by level
  size_t shared_level_count, shared_unit_count;
  BYOC_VECTOR(byoc_compile_job_t) jobs; // units of shared kernels; by entry: host, kernels, the backends' C sources
  BYOC_VECTOR(byoc_bytes_t) objects;    // parallel to jobs
  BYOC_VECTOR(byoc_string_t) texts;     // of the sources made here
  byoc_string_t runtime;                // the archive, if it was made here
} byoc_composing_t;

// Kernels are spread over several translation units, which compile at the same time. Their size is fixed: the bytes
// must not depend on the machine.
#define BYOC_KERNELS_A_UNIT 8
static inline size_t byoc_kernel_unit_count(size_t kernel_count) {
  return (kernel_count + BYOC_KERNELS_A_UNIT - 1) / BYOC_KERNELS_A_UNIT;
}

// shared_kernels.c: lists the kernels that an entry has alone, and those that several entries of its level share: equal
// kernels but for their names.
byoc_status_t byoc_composing_share_kernels(byoc_composing_t *composing);

// code.c: writes a hash of the code of all jobs into the metadata. Two artifacts of the same code differ in their data
// alone.
byoc_status_t byoc_composing_sign_code(byoc_composing_t *composing);

// link_artifact.c: links the objects at `output`, as the form of the artifact wants it.
byoc_status_t byoc_composing_link(byoc_composing_t *composing, const char *output);
// Is the module the driver of a device of the program?
bool byoc_composing_uses_driver(const byoc_host_program_t *program, const byoc_runtime_module_t *module);
// Adds the parts behind the code of a shared object: appended weights, and the seal.
byoc_status_t byoc_composing_seal(byoc_composing_t *composing, const char *output);

// replace.c: takes the code of the artifact options->replaces. The first function reads its compiler from its metadata.
// The second one, once our metadata are whole, writes that artifact with the data of these programs at `output`.
byoc_status_t byoc_composing_adopt_compiler(byoc_composing_t *composing);
byoc_status_t byoc_composing_replace(byoc_composing_t *composing, const char *output);

// The files of the final link.
typedef struct byoc_joined_t {
  byoc_allocator_t allocator;
  BYOC_VECTOR(const char *) paths;
  BYOC_VECTOR(const char *) names; // parallel to paths: names for messages; NULL: the path
} byoc_joined_t;

// join.c: makes one object of the files that each entry has alone, in which its names begin with the entry's, so that
// several may be linked into one file. Files that several entries have are linked once. `files` has the written files
// of each entry.
byoc_status_t byoc_composing_join(byoc_composing_t *composing, const byoc_link_files_t *files,
                                  byoc_joined_t *out_joined);
void byoc_joined_deinit(byoc_joined_t *joined); // accepts one that is all zeros

#endif // BYOC_CORE_COMPOSE_ARTIFACT_COMPOSING_H_
