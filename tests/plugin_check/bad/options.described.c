// SPDX-License-Identifier: Apache-2.0
// Its option has neither help nor a default.
#define OPTIONS                                                                                                        \
  { .header = BYOC_HEADER(byoc_option_t, 1), .name = "level", .type = BYOC_OPTION_INT, .maximum = 3 }
#include "base.h"
