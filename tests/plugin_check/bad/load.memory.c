// SPDX-License-Identifier: Apache-2.0
// Takes memory of the host in query and loses it where there is no more.
#define QUERY_FIRST                                                                                                    \
  void *first = host->resize(host, NULL, 16), *second = host->resize(host, NULL, 16);                                  \
  if (first == NULL || second == NULL) return host->error(host, BYOC_OUT_OF_MEMORY, "no memory");                      \
  host->resize(host, first, 0);                                                                                        \
  host->resize(host, second, 0);
#include "base.h"
