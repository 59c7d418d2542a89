// SPDX-License-Identifier: Apache-2.0
// The JSON of the oneDNN engine (plugins/json_runtime/engine): functions are set up or refused with a reason. An
// artifact's constants are as large as its JSON says; here they are large enough for what is let through.
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/engine.h"
#include "tests/fuzz/fuzz.h"

enum { CONSTANTS = 8, ELEMENTS_AT_MOST = 4096 };

extern const byoc_engine_t byoc_engine_dnnl;

static char reason[1024];

static void report(void *self, const char *message) {
  (void)self;
  snprintf(reason, sizeof(reason), "%s", message);
}

static bool is_small_list(const json_t *dims) {
  double count = 1;
  for (size_t d = 0; d < json_array_size(dims); ++d) count *= (double)json_integer_value(json_array_get(dims, d));
  return count <= ELEMENTS_AT_MOST;
}

static bool is_small(const char *text, size_t size) {
  json_t *root = json_loadb(text, size, 0, NULL);
  const json_t *values = json_object_get(root, "values");
  bool small = root != NULL;
  for (size_t i = 0; small && i < json_array_size(values); ++i) {
    const json_t *value = json_array_get(values, i);
    small = is_small_list(json_object_get(value, "dims")) &&
            is_small_list(json_object_get(json_object_get(value, "layout"), "padded"));
  }
  json_decref(root);
  return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static float elements[ELEMENTS_AT_MOST];
  int64_t shape = ELEMENTS_AT_MOST;
  DLTensor constants[CONSTANTS];
  for (size_t i = 0; i < CONSTANTS; ++i) {
    constants[i] = (DLTensor){.data = elements, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = &shape};
  }
  char *text = fuzz_text(data, size);
  if (is_small(text, size)) {
    const byoc_engine_function_t function = {
        .symbol = "fuzz", .json = text, .json_size = size, .constants = constants, .constant_count = CONSTANTS};
    const byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .set_error = report};
    const byoc_engine_init_t init = {
        .struct_size = sizeof(init), .function_count = 1, .functions = &function, .runtime = &runtime};
    void *instance = NULL;
    reason[0] = '\0';
    int32_t status = byoc_engine_dnnl.create(&init, &instance);
    if (status != BYOC_OK && reason[0] == '\0') fuzz_fail("error %d without a reason", (int)status);
    if (status != BYOC_OK && instance != NULL) fuzz_fail("an instance of what failed");
    byoc_engine_dnnl.destroy(instance);
  }
  free(text);
  return 0;
}
