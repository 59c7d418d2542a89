// SPDX-License-Identifier: Apache-2.0
// Overlaps of inputs and outputs against a comparison of every two of them.
#include "core/runtime/overlap.h"
#include "tests/support/support.h"

enum { MOST = 12 };

static uint32_t seed = 1;
static uint32_t random_below(uint32_t limit) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % limit;
}

static bool share(const byoc_span_t *a, const byoc_span_t *b) {
  return a->size_bytes > 0 && b->size_bytes > 0 && a->begin < b->begin + b->size_bytes &&
         b->begin < a->begin + a->size_bytes;
}

static bool is_pair(const byoc_span_t *spans, uint32_t inputs, const int32_t *over, uint32_t input, uint32_t output) {
  return output >= inputs && over[output - inputs] == (int32_t)input && spans[input].begin == spans[output].begin &&
         spans[input].size_bytes == spans[output].size_bytes;
}

static bool overlaps(const byoc_span_t *spans, uint32_t inputs, uint32_t count, const int32_t *over) {
  for (uint32_t a = 0; a < count; ++a) {
    for (uint32_t b = a + 1; b < count; ++b) {
      if (b < inputs || !share(&spans[a], &spans[b]) || is_pair(spans, inputs, over, a, b)) continue;
      return true;
    }
  }
  return false;
}

static void equals_brute_force(void **state) {
  (void)state;
  uint32_t found = 0;
  for (int round = 0; round < 20000; ++round) {
    const uint32_t inputs = random_below(MOST / 2), outputs = random_below(MOST / 2), count = inputs + outputs;
    const uint32_t room = 1 + random_below(60);
    byoc_span_t spans[MOST] = {0}, sorted[MOST];
    int32_t over[MOST] = {0};
    bool is_taken[MOST] = {false};
    for (uint32_t i = 0; i < count; ++i) {
      spans[i] = byoc_span_of((void *)(uintptr_t)(1 + random_below(room)), random_below(4), i);
      if (i < inputs) continue;
      over[i - inputs] = inputs > 0 && random_below(2) == 0 ? (int32_t)random_below(inputs) : -1;
      if (over[i - inputs] >= 0 && is_taken[over[i - inputs]]) over[i - inputs] = -1;
      if (over[i - inputs] < 0) continue;
      is_taken[over[i - inputs]] = true;
      const byoc_span_t *input = &spans[over[i - inputs]];
      if (random_below(4) > 0) spans[i] = (byoc_span_t){input->begin, input->size_bytes, i, 0};
    }
    memcpy(sorted, spans, sizeof(spans));
    uint32_t ports[2] = {MOST, MOST};
    const bool wanted = overlaps(spans, inputs, count, over);
    assert_int_equal(byoc_find_overlap(sorted, inputs, outputs, over, ports), wanted);
    if (!wanted) continue;
    ++found;
    assert_true(ports[0] < ports[1] && ports[1] < count && ports[1] >= inputs);
    assert_true(share(&spans[ports[0]], &spans[ports[1]]));
  }
  assert_in_range(found, 1000, 19000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(equals_brute_force)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
