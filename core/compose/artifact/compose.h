// SPDX-License-Identifier: Apache-2.0
// Compose: from a planned host program to one shared object and its header.
//
// The host program and its kernels become one object. Every C source is compiled with its own compiler and flags.
// Static libraries and archives are linked as they are; constants, JSON and metadata become read-only data. There is
// one link with hidden visibility. Undefined symbols are refused, and only the entry is exported. The file appears
// under its name only when it is whole; the same inputs give the same bytes.
//
// An output that ends in .o or .a becomes an object or a static library instead, for programs that are linked with the
// model: the same files, linked once more into one object. All its names begin with the prefix of the header's
// functions, so that a program may have several models. Code that opens libraries at run time is refused there.
//
// An output that ends in .c becomes a folder of C source with a Makefile: the host program, its kernels, the constants
// and the runtime, for any C11 compiler. Code of backends is refused there, unless it is C or they announce its
// sources.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_COMPOSE_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_COMPOSE_H_

#include "core/compose/options.h"

byoc_status_t byoc_compose_artifact(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                    byoc_allocator_t allocator, byoc_diag_t *diag);
// An artifact of several models or ISA levels, each with a `place` of its own, in the order of their positions; a model
// has the same inputs and outputs on each level. Options of the artifact (output, names, targets, weights, files) are
// read from the first one. Constants, kernels and modules of backends that several have are in it once.
byoc_status_t byoc_compose_entries(const byoc_compose_entry_t *entries, size_t count, byoc_allocator_t allocator,
                                   byoc_diag_t *diag);
// The C text of the host program and its kernels (--emit=c).
byoc_status_t byoc_compose_emit_c(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                  byoc_string_t *out, byoc_diag_t *diag);
// Where the header goes: model.so, model.a or model.o → model.h; C source has it in its folder. NULL if out of memory.
char *byoc_compose_header_path(const char *output, byoc_allocator_t allocator);
// Warns if that header is there and belongs to an artifact of another form: one of the two is loaded, the other linked.
byoc_status_t byoc_compose_note_header(const char *output, byoc_diag_t *diag);
// The default path of the weights file: model.so → model.weights. NULL if out of memory.
char *byoc_compose_weights_path(const char *output, byoc_allocator_t allocator);
// Appends the generated header, with functions for each entry; those of one level are enough.
byoc_status_t byoc_compose_emit_header(const byoc_compose_entry_t *entries, size_t count, byoc_string_t *out,
                                       byoc_diag_t *diag);

// The name of a static artifact's entry behind that prefix.
#define BYOC_COMPOSE_STATIC_ENTRY "_artifact_entry"

#endif // BYOC_CORE_COMPOSE_ARTIFACT_COMPOSE_H_
