// SPDX-License-Identifier: Apache-2.0
// Texts of meshes and of what lies on their ranks (core/pass/spread.h): a mesh, a line's end, what a value says. What
// parses prints, and the print parses to the same.
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"
#include "core/pass/spread.h"
#include "tests/fuzz/fuzz.h"

static void print_spread(const byoc_spread_t *spread, const byoc_mesh_t *mesh, byoc_string_t *out) {
  bool any = false;
  for (int32_t k = 0; k < mesh->axis_count; ++k) {
    const byoc_spread_axis_t *axis = &spread->axes[k];
    if (axis->kind == BYOC_SPREAD_WHOLE) continue;
    byoc_string_appendf(out, "%s%s: ", any ? ", " : "", mesh->names[k]);
    if (axis->kind == BYOC_SPREAD_SPLIT) byoc_string_appendf(out, "%d", axis->dim);
    if (axis->kind == BYOC_SPREAD_SPLIT && axis->parts > 1) byoc_string_appendf(out, " * %d", axis->parts);
    if (axis->kind == BYOC_SPREAD_PARTIAL) byoc_string_append(out, "partial");
    if (axis->kind == BYOC_SPREAD_AT) byoc_string_appendf(out, "at %d", axis->at);
    any = true;
  }
  if (!any) byoc_string_append(out, "whole");
}

static void check_spread(const char *text, const byoc_mesh_t *mesh) {
  byoc_diag_t diag = {0}, again_diag = {0};
  byoc_spread_t spread, again;
  byoc_status_t status = byoc_spread_parse(text, mesh, &diag, &spread);
  fuzz_check(status, &diag);
  if (status != BYOC_OK) return;
  byoc_string_t printed;
  byoc_string_init(&printed, fuzz_allocator());
  print_spread(&spread, mesh, &printed);
  if (!printed.failed && printed.size > 0) {
    fuzz_check_ok(byoc_spread_parse(printed.data, mesh, &again_diag, &again), &again_diag, printed.data);
    if (!byoc_spread_equal(&spread, &again)) fuzz_fail("%s is another one", printed.data);
  }
  (void)byoc_spread_divides(&spread, mesh, 0, byoc_dim_constant(12));
  byoc_string_deinit(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size), *line = strchr(text, '\n');
  if (line != NULL) *line = '\0';
  byoc_diag_t diag = {0};
  byoc_mesh_t mesh;
  byoc_status_t status = byoc_mesh_parse(text, 0, &diag, &mesh);
  fuzz_check(status, &diag);
  if (status == BYOC_OK && mesh.rank_count < 1) fuzz_fail("%d ranks", (int)mesh.rank_count);
  if (status == BYOC_OK && line != NULL) check_spread(line + 1, &mesh);
  free(text);
  return 0;
}
