// SPDX-License-Identifier: Apache-2.0
// Run-time options of engines and drivers: their schema in the tables of a program, and their values in a context.
// Artifacts and the evaluator share it.
#ifndef BYOC_CORE_RUNTIME_OPTION_H_
#define BYOC_CORE_RUNTIME_OPTION_H_

#include "byoc/artifact.h"
#include "byoc/call.h"

// The types of byoc/plugin.h, which has the same numbers.
enum {
  BYOC_RUNTIME_OPTION_INT = 1,
  BYOC_RUNTIME_OPTION_FLOAT = 2,
  BYOC_RUNTIME_OPTION_BOOL = 3,
  BYOC_RUNTIME_OPTION_STRING = 4,
  BYOC_RUNTIME_OPTION_CHOICE = 5,
};

// One option. Its default is valid.
typedef struct byoc_runtime_option_row_t {
  const char *name, *default_value;
  uint32_t type;                   // BYOC_RUNTIME_OPTION_*
  int64_t minimum, maximum;        // INT; both 0: any. STRING: `maximum` bytes at most
  double minimum_f64, maximum_f64; // FLOAT; both 0: any
  const char *choices;             // CHOICE: "low|high"; otherwise NULL
} byoc_runtime_option_row_t;

// The options of one engine or driver.
typedef struct byoc_runtime_schema_t {
  const char *owner;
  const byoc_runtime_option_row_t *rows;
  uint32_t count;
} byoc_runtime_schema_t;

// The values that a caller gives. Names are "option" or "owner.option"; the last value of a name counts.
typedef struct byoc_runtime_values_t {
  const byoc_option_value_t *items;
  uint32_t count;
} byoc_runtime_values_t;

// Is each value one of an option in these schemas, and valid? Otherwise BYOC_INVALID_ARGUMENT, with the names that
// exist, or the values that are allowed, in `message`.
int32_t byoc_runtime_options_check(const byoc_runtime_schema_t *schemas, uint32_t count, byoc_runtime_values_t values,
                                   char *message, uint64_t size);
// The options of one owner with their values, which were checked, in one block from malloc. NULL: out of memory.
byoc_runtime_option_t *byoc_runtime_options_make(const byoc_runtime_schema_t *schema, byoc_runtime_values_t values);

#endif // BYOC_CORE_RUNTIME_OPTION_H_
