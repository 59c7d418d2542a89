// SPDX-License-Identifier: Apache-2.0
// Exports a helper beside byoc_plugin_query.
#include "base.h"

BYOC_PLUGIN_EXPORT int bad_helper(void);
int bad_helper(void) {
  return 1;
}
