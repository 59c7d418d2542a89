// SPDX-License-Identifier: Apache-2.0
// Decides which of two plugins that announce the same is used.
#include "core/plugin/rivals.h"

#include <string.h>

#include "core/base/file.h"

// The name or target that two plugins have in common.
static void describe_common(const byoc_plugin_note_t *a, const byoc_plugin_note_t *b, char out_what[160]) {
  char target[128];
  out_what[0] = '\0';
  if (byoc_plugin_note_shared_target(a, b, target)) {
    snprintf(out_what, 160, "target '%s'", target);
  } else if (strcmp(a->name, b->name) == 0) {
    snprintf(out_what, 160, "name '%s'", a->name);
  }
}

static byoc_status_t have_same_bytes(const char *a, const char *b, byoc_diag_t *diag, bool *out_same) {
  byoc_file_view_t view, other;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(a, diag, &view));
  byoc_status_t status = byoc_file_view_open(b, diag, &other);
  if (status == BYOC_OK) {
    *out_same = view.size_bytes == other.size_bytes && memcmp(view.data, other.data, view.size_bytes) == 0;
    byoc_file_view_close(&other);
  }
  byoc_file_view_close(&view);
  return status;
}

byoc_status_t byoc_plugin_compare(const byoc_rival_t *earlier, const byoc_rival_t *later, byoc_diag_t *diag,
                                  byoc_rivalry_t *out_rivalry, char out_what[160]) {
  *out_rivalry = BYOC_RIVALRY_NONE;
  describe_common(earlier->note, later->note, out_what);
  if (strcmp(earlier->real_path, later->real_path) == 0) {
    *out_rivalry = BYOC_RIVALRY_SAME_FILE;
  } else if (out_what[0] == '\0') {
    *out_rivalry = BYOC_RIVALRY_NONE;
  } else if (earlier->choice != later->choice) {
    *out_rivalry = earlier->choice > later->choice ? BYOC_RIVALRY_EARLIER : BYOC_RIVALRY_LATER;
  } else {
    bool same = false;
    if (!later->names_files) BYOC_RETURN_IF_ERROR(have_same_bytes(earlier->real_path, later->real_path, diag, &same));
    *out_rivalry = same ? BYOC_RIVALRY_SAME_BYTES : BYOC_RIVALRY_UNDECIDED;
  }
  return BYOC_OK;
}
