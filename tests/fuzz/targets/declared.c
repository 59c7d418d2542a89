// SPDX-License-Identifier: Apache-2.0
// Operators that are declared as text (core/op/declared.h): the first line is the signature, the rest the definition,
// of one element where the signature ends with '!', else loops. What is accepted is tried in all forms, and inferred.
#include <stdlib.h>
#include <string.h>

#include "core/op/declared_example.h"
#include "tests/fuzz/fuzz.h"

static const byoc_op_attribute_t attributes[] = {
    {BYOC_ATTR_INT("step", 2)},
    {BYOC_ATTR_FLOAT("alpha", 0.5)},
    {BYOC_ATTR(INTS, "pads")},
    {BYOC_ATTR_CHOICE("mode", "sum", "mean")},
    BYOC_ATTR_END,
};

static void declare(char *signature, const char *definition, byoc_arena_t *arena) {
  byoc_diag_t diag = {0};
  const size_t size = strlen(signature);
  const bool is_element = size > 0 && signature[size - 1] == '!';
  if (is_element) signature[size - 1] = '\0';
  const byoc_op_t *row = NULL;
  byoc_op_extension_t extension = {
      .name = "fuzz", .version = "1", .path = "/fuzz.so", .content = "fuzz", .rows = &row, .row_count = 1};
  const byoc_op_declaration_t declaration = {.domain = "com.fuzz",
                                             .name = "Op",
                                             .since_version = 1,
                                             .signature = signature,
                                             .element = is_element ? definition : NULL,
                                             .loops = is_element ? NULL : definition,
                                             .attributes = attributes};
  byoc_status_t status = byoc_op_declare(&declaration, &extension, arena, &diag, &row);
  if (status == BYOC_OK) {
    fuzz_check_ok(byoc_op_extend(&extension, &diag), &diag, "adding the operator");
    status = byoc_op_try(row, &diag);
    byoc_op_retract(&extension);
  }
  fuzz_check(status, &diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, fuzz_allocator());
  char *text = fuzz_text(data, size), *end = strchr(text, '\n');
  if (end != NULL) *end = '\0';
  declare(text, end != NULL ? end + 1 : "", &arena);
  free(text);
  byoc_arena_deinit(&arena);
  return 0;
}
