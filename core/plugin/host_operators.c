// SPDX-License-Identifier: Apache-2.0
// The extension by which a plugin declares operators.
#include "core/plugin/host.h"
#include "core/plugin/library.h"

static int32_t declare(const byoc_host_t *host, const byoc_operator_t *operators, uint32_t count, uint32_t stride) {
  byoc_plugin_library_t *library = byoc_plugin_library_of(host);
  byoc_diag_t diag = {0};
  byoc_status_t status =
      library->operators.is_open
          ? byoc_plugin_operators_add(&library->operators, operators, count, stride, &library->arena, &diag)
          : byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "operators are declared while query runs, and only then");
  if (status != BYOC_OK) (void)byoc_diag_adopt(&library->operators.failure, &diag);
  return status;
}

const byoc_operator_api_t *byoc_host_operator_api(void) {
  static const byoc_operator_api_t api = {.header = BYOC_HEADER(byoc_operator_api_t, 1), .declare = declare};
  return &api;
}
