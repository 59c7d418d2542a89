// SPDX-License-Identifier: Apache-2.0
// Targets whose backends are made up in this process: "first" and "second" with rules of the test's, then "c".
#ifndef BYOC_TESTS_UNIT_COLLAGE_MADE_TARGETS_H_
#define BYOC_TESTS_UNIT_COLLAGE_MADE_TARGETS_H_

#include "core/plugin/region.h"
#include "tests/support/support.h"

typedef struct made_targets_t {
  byoc_backend_t backends[2];
  byoc_target_kind_t kinds[3];
  byoc_target_t targets[3];
  byoc_target_list_t list;
} made_targets_t;

static inline void make_targets(made_targets_t *made, const byoc_rule_t *first, uint32_t first_count,
                                const byoc_rule_t *second, uint32_t second_count) {
  static const char *const names[] = {"first", "second", "c"};
  *made = (made_targets_t){0};
  byoc_arena_init(&made->list.arena, byoc_allocator_system());
  for (uint32_t i = 0; i < 3; ++i) {
    if (i < 2) {
      made->backends[i] = (byoc_backend_t){.target = names[i],
                                           .rules = i == 0 ? first : second,
                                           .rule_count = i == 0 ? first_count : second_count,
                                           .rule_stride = sizeof(byoc_rule_t)};
    }
    made->kinds[i] = (byoc_target_kind_t){.name = names[i], .backend = i < 2 ? &made->backends[i] : NULL};
    made->targets[i] = (byoc_target_t){.kind = &made->kinds[i], .text = names[i], .index = i};
    assert_true(byoc_vector_push(&made->list.targets, byoc_allocator_system(), &made->targets[i]));
  }
}

static inline void release_targets(made_targets_t *made) {
  byoc_vector_deinit(&made->list.targets, byoc_allocator_system());
  byoc_arena_deinit(&made->list.arena);
}

#endif // BYOC_TESTS_UNIT_COLLAGE_MADE_TARGETS_H_
