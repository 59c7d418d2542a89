// SPDX-License-Identifier: Apache-2.0
// Writes the files of an artifact that is C source. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_WRITER_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_WRITER_H_

#include "core/base/file.h"
#include "core/base/map.h"
#include "core/compose/artifact/composing.h"

enum { BYOC_SOURCE_JOB_NAME_BYTES = 100 };

typedef struct byoc_source_writer_t {
  const byoc_composing_t *composing;
  const byoc_string_t *header;
  const char *folder; // where the files go
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  char prefix[BYOC_COMPOSE_PREFIX_BYTES];
  byoc_string_t text;                            // of the file that is made
  byoc_string_t files;                           // that were made, a line for each
  byoc_string_t rules;                           // lines for the Makefile, of code that backends announced
  byoc_map_t taken;                              // names of the files that are compiled, without .c
  char (*job_names)[BYOC_SOURCE_JOB_NAME_BYTES]; // of the jobs' files
} byoc_source_writer_t;

// Writes a file at `path` below the folder and empties the text.
byoc_status_t byoc_source_write_parts(byoc_source_writer_t *w, const char *path, const byoc_bytes_t *parts,
                                      size_t count);
// Writes the text as a file.
byoc_status_t byoc_source_write_text(byoc_source_writer_t *w, const char *path);
// Makes a name for a file that is compiled: `name`, or one with a number behind it if that is taken.
byoc_status_t byoc_source_take_name(byoc_source_writer_t *w, const char *name,
                                    char out_name[BYOC_SOURCE_JOB_NAME_BYTES]);

// source_flags.c: checks that a Makefile can hold the flags that a backend gave: it has no ends of lines in values.
byoc_status_t byoc_source_check_flags(const char *const *flags, size_t count, byoc_diag_t *diag);
// Appends flags, separated by blanks, for a variable of the Makefile whose value the shell reads.
void byoc_source_append_flags(const char *const *flags, size_t count, byoc_string_t *out);

// source_code.c: writes the code that backends announced for an entry: sources, headers, and units that include the
// sources, in which every name begins with the prefix; or archives. Appends lines for the Makefile to w->rules.
byoc_status_t byoc_source_write_code(byoc_source_writer_t *w, const byoc_composing_entry_t *entry);
// Appends the names by which the entry's own files call that code.
byoc_status_t byoc_source_emit_code_names(const byoc_composing_entry_t *entry, const char *prefix, byoc_string_t *out,
                                          byoc_diag_t *diag);
// Does an entry have a device? Then it needs the runtime's files for devices.
bool byoc_source_has_device(const byoc_composing_t *composing);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_SOURCE_WRITER_H_
