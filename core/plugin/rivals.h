// SPDX-License-Identifier: Apache-2.0
// Two plugins that announce the same target, or have the same name: only one of them can be used.
#ifndef BYOC_CORE_PLUGIN_RIVALS_H_
#define BYOC_CORE_PLUGIN_RIVALS_H_

#include "core/base/diag.h"
#include "core/plugin/identity.h"

// The choice of the user for a plugin, in rising order.
typedef enum byoc_plugin_choice_t {
  BYOC_PLUGIN_UNCHOSEN,  // it was found in a folder
  BYOC_PLUGIN_NAMED,     // --plugin FILE
  BYOC_PLUGIN_PREFERRED, // --prefer PATH
} byoc_plugin_choice_t;

typedef struct byoc_rival_t {
  const char *real_path;
  const byoc_plugin_note_t *note;
  byoc_plugin_choice_t choice;
  bool names_files; // it names files relative to its folder, so that a copy differs
} byoc_rival_t;

typedef enum byoc_rivalry_t {
  BYOC_RIVALRY_NONE,       // both can be used
  BYOC_RIVALRY_SAME_FILE,  // one file by two paths
  BYOC_RIVALRY_SAME_BYTES, // copies of one file
  BYOC_RIVALRY_EARLIER,    // the earlier one was chosen
  BYOC_RIVALRY_LATER,      // the later one was chosen
  BYOC_RIVALRY_UNDECIDED,  // the user chose neither, or both
} byoc_rivalry_t;

// Compares two plugins. `out_what` is the target or name that both have ("target 'blas'"); "" if there is none. An
// error means that one of the files cannot be read.
byoc_status_t byoc_plugin_compare(const byoc_rival_t *earlier, const byoc_rival_t *later, byoc_diag_t *diag,
                                  byoc_rivalry_t *out_rivalry, char out_what[160]);

#endif // BYOC_CORE_PLUGIN_RIVALS_H_
