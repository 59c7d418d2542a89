// SPDX-License-Identifier: Apache-2.0
// Declares an operator whose definition leaves out the last element of its result.
#include "byoc/operator_plugin.h"

BYOC_PLUGIN_IDENTITY_NEEDS("bad", "1.0", "", "Operators that write too little", 4);
BYOC_PLUGIN_DOMAINS("com.bad");

static const byoc_operator_t operators[] = {{.header = BYOC_HEADER(byoc_operator_t, 1),
                                             .domain = "com.bad",
                                             .name = "Shift",
                                             .since_version = 1,
                                             .signature = "(x: T[N]) -> (y: T[N]) where T = float",
                                             .loops = "parallel i in 0 .. N - 1 { y[i] = x[i + 1] }"}};

BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  const byoc_operator_api_t *api = host->extension(host, BYOC_OPERATOR_EXTENSION, 1);
  (void)out_plugin;
  return api->declare(host, operators, 1, sizeof(operators[0]));
}
