// SPDX-License-Identifier: Apache-2.0
// Weights of a model from files of arrays (tools/byoc/weights_take.h): .npz and .safetensors.
#include <stdlib.h>
#include <string.h>

#include "core/ir/module_text.h"
#include "tests/fuzz/fuzz.h"
#include "tools/byoc/weights_take.h"

static const char *const endings[] = {"npz", "safetensors"};

static const char text[] = "module {\n"
                           "  constant @w : f32[2,3] = splat 0.5\n"
                           "  constant @b : i64[3] = splat 1\n"
                           "  constant @h : f16[] = splat 1.0\n"
                           "  func @main(%x : f32[2,2]) -> (%y : f32[2,3]) {\n"
                           "    %y = MatMul@13(%x, @w) : f32[2,3]\n"
                           "    return %y\n"
                           "  }\n"
                           "}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)fuzz_file(data, size);
  for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_graph_module_t *module = NULL;
    if (byoc_graph_parse(text, "model", fuzz_allocator(), &diag, &module) != BYOC_OK) return 0;
    byoc_build_t build;
    const byoc_build_options_t options = {.thread_count = 1};
    byoc_build_init(&build, &options, fuzz_allocator());
    byoc_build_lend(&build, module, true);
    byoc_diag_t reason = {0};
    fuzz_check(byoc_weights_take(&build, fuzz_file_as(endings[i]), &reason), &reason);
    byoc_build_deinit(&build);
    byoc_graph_module_destroy(module);
  }
  return 0;
}
