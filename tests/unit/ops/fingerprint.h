// SPDX-License-Identifier: Apache-2.0
// What each operator makes of many operands, in one line of fingerprints.txt per operator, version and operand: how
// many of the changes of that operand are accepted, a hash of the result types, and two figures of the results' values.
// A line that changes is a changed operator, which may be right: look at what the test prints for the operator with
// BYOC_TEST_OPERATOR=NAME before and after, then write the file anew with BYOC_TEST_FINGERPRINTS=FILE.
#ifndef BYOC_TESTS_UNIT_OPS_FINGERPRINT_H_
#define BYOC_TESTS_UNIT_OPS_FINGERPRINT_H_

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/string.h"
#include "core/ir/element.h"
#include "core/ir/graph.h"

typedef struct {
  uint32_t tried, accepted;
  uint64_t types;
  // Sums over all cases: how the values of a result are distributed, and how large they are. They stay nearly the same
  // where another compiler or libm rounds in another way.
  double shape, size;
} fingerprint_t;

// The parts of two figures that one result adds.
static inline void fingerprint_values(fingerprint_t *f, const byoc_type_t *type, const void *data) {
  if (!byoc_type_is_tensor(type) || !byoc_type_is_static(type) || type->dtype == BYOC_DTYPE_STRING) return;
  int64_t count = byoc_type_element_count(type);
  uint64_t seed = 7;
  double sum = 0, total = 0, odd = 0;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    double weight = (double)(int32_t)(seed >> 32) / 2147483648.0,
           value = byoc_element_f64(type->dtype, data, (size_t)i);
    if (!isfinite(value) || fabs(value) > 1e12) { // such values differ from one libm to the next
      odd += isnan(value) ? 0.5 : 1;
      continue;
    }
    sum += weight * value;
    total += fabs(weight * value);
  }
  f->shape += sum / (1 + total);
  f->size += log2(1 + total) + odd / (double)(count + 1);
}

// One case: the module's text, and what inference makes of it. It is printed where one operator is asked for.
static inline void fingerprint_case(fingerprint_t *f, const char *module, byoc_status_t status,
                                    const byoc_block_t *body) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "%d", (int)status);
  for (size_t i = 0; status == BYOC_OK && i < body->results.count; ++i) {
    byoc_string_append(&text, " ");
    byoc_type_print(body->results.data[i]->type, &text);
  }
  if (getenv("BYOC_TEST_OPERATOR")) printf("%s=> %s\n", module, text.data);
  f->tried += 1;
  f->accepted += status == BYOC_OK;
  f->types = byoc_hash_combine(f->types, byoc_hash_bytes(text.data, text.size, 0));
  byoc_string_deinit(&text);
}

#endif // BYOC_TESTS_UNIT_OPS_FINGERPRINT_H_
