// SPDX-License-Identifier: Apache-2.0
// What the driver `sim` wrote into sim.log of the current folder, by the option log=sim.log.
#ifndef BYOC_TESTS_DEVICES_LOG_H_
#define BYOC_TESTS_DEVICES_LOG_H_

#include <stdio.h>
#include <string.h>

// The lines that have these words.
static inline int count_in_log(const char *words) {
  char line[256];
  int count = 0;
  FILE *file = fopen("sim.log", "r");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) count += strstr(line, words) != NULL;
  if (file != NULL) fclose(file);
  return count;
}

#endif // BYOC_TESTS_DEVICES_LOG_H_
