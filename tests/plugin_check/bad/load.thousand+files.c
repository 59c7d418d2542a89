// SPDX-License-Identifier: Apache-2.0
// Loses a file with each load, and so it has too many open ones after some hundred.
#include <fcntl.h>
#define QUERY_FIRST                                                                                                    \
  if (open("/dev/null", O_RDONLY) < 0) return host->error(host, BYOC_IO, "too many files");
#include "base.h"
