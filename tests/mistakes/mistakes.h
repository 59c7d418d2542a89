// SPDX-License-Identifier: Apache-2.0
// The rows of the table of mistakes.
#ifndef BYOC_TESTS_MISTAKES_MISTAKES_H_
#define BYOC_TESTS_MISTAKES_MISTAKES_H_

#include <stdbool.h>
#include <stddef.h>

typedef struct row_t {
  const char *mistake; // "<where>:<what>", which the plugin is told
  const char *plugin;  // of the folder tests of the build; NULL: mistakes/mistaken.so
  const char *target;  // NULL: "mistaken"
  const char *command; // NULL: builds relu.byoc with $PLUGIN for $TARGET
  int code;            // byoc's exit code
  bool is_late;        // the artifact was whole before
  const char *message; // a part of what byoc says
} row_t;

extern const row_t mistakes[];
extern const size_t mistake_count;

#endif // BYOC_TESTS_MISTAKES_MISTAKES_H_
