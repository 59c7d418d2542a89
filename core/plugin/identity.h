// SPDX-License-Identifier: Apache-2.0
// A plugin's identity, read from its file without running any of its code.
#ifndef BYOC_CORE_PLUGIN_IDENTITY_H_
#define BYOC_CORE_PLUGIN_IDENTITY_H_

#include <stdbool.h>

#include "byoc/plugin.h"
#include "core/base/diag.h"

// Checks that the file is a shared object for this machine that exports byoc_plugin_query and nothing else, and reads
// its note: size, versions, strings. *out_has_note is true if *out_note has a valid note, also after a failure.
byoc_status_t byoc_plugin_identity_read(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                        bool *out_has_note);

// Checks a note's strings and targets, but not the versions of the ABI.
byoc_status_t byoc_plugin_note_check(const byoc_plugin_note_t *note, byoc_diag_t *diag);
// Reads the note of operator domains (byoc/operator_plugin.h) into `domains`, which is empty if there is none.
byoc_status_t byoc_plugin_domains_read(const char *path, byoc_diag_t *diag, char domains[256]);

// Is `kind` in the note's list of targets?
bool byoc_plugin_note_has_target(const byoc_plugin_note_t *note, const char *kind);
// The first target that both `a` and `b` have, in `buffer`; false if there is none.
bool byoc_plugin_note_shared_target(const byoc_plugin_note_t *a, const byoc_plugin_note_t *b, char buffer[128]);

// Lists of names with commas between them: a note's targets, its domains.
bool byoc_plugin_list_has(const char *list, const char *name);
// Gets the list's next name and its size in bytes: *cursor starts as byoc_plugin_list_start gives it, and ends as NULL.
const char *byoc_plugin_list_next(const char **cursor, size_t *out_size);
const char *byoc_plugin_list_start(const char *list); // NULL for an empty list

#endif // BYOC_CORE_PLUGIN_IDENTITY_H_
