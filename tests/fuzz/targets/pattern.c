// SPDX-License-Identifier: Apache-2.0
// Patterns of partition rules (core/plugin/pattern.h): what parses is matched against a small model.
#include <stdlib.h>

#include "core/ir/module_text.h"
#include "core/plugin/pattern.h"
#include "tests/fuzz/fuzz.h"

enum { VISITS_AT_MOST = 1000 };

static const char text[] = "module {\n"
                           "  constant @w : f32[4,4] = splat 0.5\n"
                           "  func @main(%x : f32[4,4], %y : f32[4,4]) -> (%r : f32[4,4]) {\n"
                           "    %0 = MatMul@13(%x, @w) : f32[4,4]\n"
                           "    %1 = Add@14(%0, @w) : f32[4,4]\n"
                           "    %2 = Relu@16(%1) : f32[4,4]\n"
                           "    %3 = Mul@14(%2, %y) : f32[4,4]\n"
                           "    %4 = Add@14(%3, %3) : f32[4,4]\n"
                           "    %r = Relu@16(%4) : f32[4,4]\n"
                           "    return %r\n"
                           "  }\n"
                           "}\n";
static byoc_graph_module_t *module;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  byoc_diag_t diag = {0};
  fuzz_check_ok(byoc_graph_parse(text, "model", byoc_allocator_system(), &diag, &module), &diag, "the model");
  return 0;
}

static bool count_visit(void *self, const byoc_match_t *match) {
  int *visits = self;
  (void)match;
  return ++*visits >= VISITS_AT_MOST;
}

static void ignore_operator(void *self, const char *domain, const char *name) {
  (void)self;
  if (domain == NULL || name == NULL) fuzz_fail("an operator without a name");
}

static void match_everywhere(const byoc_pattern_t *pattern) {
  byoc_match_t match;
  byoc_match_init(&match, fuzz_allocator());
  bool failed = false;
  byoc_pattern_each_operator(pattern, ignore_operator, NULL);
  BYOC_FOR_EACH_NODE(node, byoc_graph_module_main(module)->body) {
    int visits = 0;
    bool is_found = byoc_pattern_match(pattern, node, NULL, NULL, &match, &failed);
    bool is_there = byoc_pattern_match_each(pattern, node, NULL, NULL, &match, count_visit, &visits, &failed);
    if (!failed && is_found != (is_there || visits > 0)) fuzz_fail("matched once, but not each way");
  }
  byoc_match_deinit(&match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  const byoc_pattern_t *pattern = NULL;
  byoc_arena_t arena;
  byoc_arena_init(&arena, fuzz_allocator());
  char *copy = fuzz_text(data, size);
  byoc_status_t status = byoc_pattern_parse(copy, "rule", &arena, &diag, &pattern);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) match_everywhere(pattern);
  free(copy);
  byoc_arena_deinit(&arena);
  return 0;
}
