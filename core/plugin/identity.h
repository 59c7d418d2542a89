// A plugin's identity, read from its file without running any of its code.
#ifndef BYOC_CORE_PLUGIN_IDENTITY_H_
#define BYOC_CORE_PLUGIN_IDENTITY_H_

#include <stdbool.h>

#include "byoc/plugin.h"
#include "core/base/diag.h"

// Checks that the file is a shared object for this machine that exports byoc_plugin_query and nothing else, and reads
// its note: size, versions, texts. *out_has_note says, also after a failure, whether *out_note holds a sound note.
byoc_status_t byoc_plugin_identity_read(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                        bool *out_has_note);

// Checks a note's texts and targets; the versions of the ABI are not looked at.
byoc_status_t byoc_plugin_note_check(const byoc_plugin_note_t *note, byoc_diag_t *diag);
// Says whether `kind` is in the note's list of targets.
bool byoc_plugin_note_has_target(const byoc_plugin_note_t *note, const char *kind);
// The first target that both `a` and `b` have, in `buffer`; false if there is none.
bool byoc_plugin_note_shared_target(const byoc_plugin_note_t *a, const byoc_plugin_note_t *b, char buffer[128]);
// Gets the list's next name and its size in bytes: *cursor starts at note->targets and ends as NULL.
const char *byoc_plugin_note_next_target(const char **cursor, size_t *out_size);

#endif // BYOC_CORE_PLUGIN_IDENTITY_H_
