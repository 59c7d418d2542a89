// Compose: from a planned host program to one shared object and its header.
//
// One object from the host program and its kernels, every C source compiled by its own compiler and flags, every static
// library and archive as it is, constants as aligned read-only data, JSON and metadata as data; one link with hidden
// visibility, undefined symbols refused, nothing exported but the entry. The file appears under its name only when it
// is whole; the same inputs give the same bytes.
#ifndef BYOC_CORE_COMPOSE_COMPOSE_H_
#define BYOC_CORE_COMPOSE_COMPOSE_H_

#include "core/hostir/program.h"
#include "core/target/target.h"

typedef struct byoc_compose_options_t {
  const char *output; // path of the shared object; the header goes beside it (model.so → model.h)
  const char *model_name;
  const char *header_name;           // what the header's functions begin with; NULL: model_name
  const byoc_target_list_t *targets; // "c" among them gives -O, -mcpu, -cc of host and kernels
  int32_t thread_count;              // default of contexts; 0: decided when running
  const char *cpu_features;          // that the artifact requires, space-separated
  bool profile;                      // with the profile entry
  bool steps_only;                   // which reports instructions, but no engine's nodes below them
  bool in_haste;                     // kernels are to be compiled fast rather than to run fast
  bool keep_header;                  // write the header too
  bool huge_pages;                   // contexts move the constants to huge pages
} byoc_compose_options_t;

byoc_status_t byoc_compose_artifact(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                    byoc_allocator_t allocator, byoc_diag_t *diag);
// The C text of the host program and its kernels (--emit=c).
byoc_status_t byoc_compose_emit_c(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                  byoc_string_t *out, byoc_diag_t *diag);
// The signature_hash of byoc/artifact.h; 0 when out of memory.
uint64_t byoc_compose_signature(const byoc_host_program_t *program, byoc_allocator_t allocator);
// Where the header goes: model.so → model.h. NULL when memory is out.
char *byoc_compose_header_path(const char *output, byoc_allocator_t allocator);
// The generated header.
byoc_status_t byoc_compose_emit_header(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                       byoc_string_t *out, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_COMPOSE_H_
