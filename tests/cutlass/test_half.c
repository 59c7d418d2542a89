// SPDX-License-Identifier: Apache-2.0
// Conversions between f32 and f16 or bf16, in the kernels and when weights are packed, compared with core's: every
// number of 16 bits is widened, and whatever lies between two of them is rounded as IEEE 754 says.
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "pack/pack_half.h"

enum { ALL = 1 << 16 };

// Of one type: widens ALL numbers, rounds `count` floats, and copies rows of `length` numbers `stride` apart to rows of
// 64 floats, lanes outside of [low, high) as 0.
typedef struct functions_t {
  void (*load)(float *to, const uint16_t *from);
  void (*store)(uint16_t *to, const float *from, int64_t count);
  void (*copy)(float *to, const uint16_t *from, int64_t length, int64_t low, int64_t high, int64_t stride);
} functions_t;

static const char text[] =
    "\n#define ALL(type) \\\n"
    "  static void load_##type(float *to, const uint16_t *from) { widen(to, (const type *)from, 1 << 16); } \\\n"
    "  static void store_##type(uint16_t *to, const float *from, int64_t n) { \\\n"
    "    for (int64_t i = 0; i < n; i += LANES) \\\n"
    "      if (n - i < LANES) v_store_n((type *)to + i, v_load_n(from + i, n - i), n - i); \\\n"
    "      else v_store((type *)to + i, v_load(from + i)); \\\n"
    "  } \\\n"
    "  static void copy_##type(float *to, const uint16_t *from, int64_t n, int64_t low, int64_t high, int64_t step) { "
    "\\\n"
    "    copy_runs(to, 64, (const type *)from, 200, 2, n, low, high, step); \\\n"
    "  }\n"
    "ALL(f16_t) ALL(bf16_t)\n"
    "__attribute__((visibility(\"default\"))) const void *const half[] = {\n"
    "    load_f16_t, store_f16_t, copy_f16_t, load_bf16_t, store_bf16_t, copy_bf16_t};\n";

static bool is_nan(uint32_t type, uint16_t half) {
  return type == BYOC_DTYPE_F16 ? (half & 0x7fff) > 0x7c00 : (half & 0x7fff) > 0x7f80;
}

static void check_loads(uint32_t type, const functions_t *functions) {
  uint16_t *halves = malloc(ALL * sizeof(*halves));
  float *floats = malloc(ALL * sizeof(*floats));
  assert_true(halves && floats);
  for (int32_t i = 0; i < ALL; ++i) halves[i] = (uint16_t)i;
  functions->load(floats, halves);
  for (int32_t i = 0; i < ALL; ++i) {
    const float expected = kernels_element(type, halves, i);
    if (is_nan(type, (uint16_t)i) ? !isnan(floats[i]) : memcmp(&floats[i], &expected, sizeof(float)) != 0)
      fail_msg("type %u: %x is %a, not %a", type, (unsigned)i, (double)floats[i], (double)expected);
  }
  free(halves), free(floats);
}

// Each number, what lies halfway to the next one, and both neighbours of that; then what no number of 16 bits is near.
static int64_t make_floats(uint32_t type, float **out) {
  static const float more[] = {65519.996f, 65520.0f, 1e30f,         -1e30f,        3.4028235e38f,
                               1e-45f,     -1e-45f,  2.9802322e-8f, 2.9802326e-8f, 1e-8f};
  uint16_t *halves = malloc(ALL * sizeof(*halves));
  float *floats = malloc((4 * (size_t)ALL + 16) * sizeof(*floats));
  int64_t count = 0;
  assert_true(halves && floats);
  for (int32_t i = 0; i < ALL; ++i) halves[i] = (uint16_t)i;
  for (int32_t i = 0; i + 1 < ALL; ++i) {
    const float a = kernels_element(type, halves, i), b = kernels_element(type, halves, i + 1);
    const float middle = (float)(((double)a + (double)b) / 2);
    floats[count++] = a;
    floats[count++] = middle;
    floats[count++] = nextafterf(middle, INFINITY);
    floats[count++] = nextafterf(middle, -INFINITY);
  }
  memcpy(floats + count, more, sizeof(more));
  free(halves);
  *out = floats;
  return count + (int64_t)(sizeof(more) / sizeof(*more));
}

static void check_stores(uint32_t type, const functions_t *functions) {
  float *floats = NULL;
  const int64_t count = make_floats(type, &floats);
  uint16_t *stored = malloc((size_t)count * 2), *packed = malloc((size_t)count * 2);
  assert_true(stored && packed);
  guarded_t expected = kernels_narrow(type, floats, count);
  const uint16_t *halves = (const uint16_t *)(const void *)expected.data;
  functions->store(stored, floats, count);
  byoc_cutlass_narrow(type, floats, count, packed);
  for (int64_t i = 0; i < count; ++i) {
    const bool nan = isnan(floats[i]);
    if (nan ? !is_nan(type, stored[i]) || !is_nan(type, packed[i]) : stored[i] != halves[i] || packed[i] != halves[i])
      fail_msg("type %u: %a is stored as %x, packed as %x, not %x", type, (double)floats[i], stored[i], packed[i],
               halves[i]);
  }
  guarded_destroy(&expected);
  free(stored), free(packed), free(floats);
}

// Two rows that end where a page does: nothing behind the last element is read.
static void check_copies(uint32_t type, const functions_t *functions) {
  for (int64_t stride = 1; stride <= 3; ++stride)
    for (int64_t length = 1; length <= 40; length += 3)
      for (int64_t low = 0; low <= 4; ++low) {
        const int64_t high = length - low > low ? length - low : low, last = high > 0 ? (high - 1) * stride : 0;
        float values[512], copied[2 * 64];
        for (int64_t i = 0; i < 512; ++i) values[i] = (float)(i % 199) - 90.0f;
        guarded_t from = kernels_narrow(type, values, 200 + last + 1);
        for (size_t i = 0; i < 128; ++i) copied[i] = -1.0f;
        functions->copy(copied, (const uint16_t *)(const void *)from.data, length, low, high, stride);
        for (int64_t i = 0; i < 128; ++i) {
          const int64_t x = i % 64, at = i / 64 * 200 + x * stride;
          const float expected = x >= length            ? -1.0f
                                 : x < low || x >= high ? 0.0f
                                                        : kernels_element(type, from.data, at);
          if (copied[i] != expected)
            fail_msg("type %u, stride %lld, %lld in [%lld, %lld): lane %lld is %g, not %g", type, (long long)stride,
                     (long long)length, (long long)low, (long long)high, (long long)i, (double)copied[i],
                     (double)expected);
        }
        guarded_destroy(&from);
      }
}

static void test_conversions(void **state) {
  (void)state;
  static const uint32_t types[] = {BYOC_DTYPE_F16, BYOC_DTYPE_BF16};
  for (byoc_cutlass_isa_t isa = 0; isa < BYOC_CUTLASS_ISA_COUNT; ++isa)
    for (int with = 0; with < 2; ++with) { // with the feature that converts, if there is one, and without
      kernels_t kernels;
      const char *feature = byoc_cutlass_half_feature(isa);
      if (!kernels_try_here(isa) && isa != BYOC_CUTLASS_ISA_AVX2) continue;
      if (!kernels_run_here(isa, BYOC_CUTLASS_DOT_F32) || (with && !feature[0])) continue;
      kernels_begin(&kernels, isa);
      if (with) kernels.half = feature;
      byoc_cutlass_emit_half(&kernels.text, isa);
      byoc_plugin_string_add(&kernels.text, "%s", text);
      kernels_compile(&kernels, "-O1");
      const functions_t *functions = (const functions_t *)dlsym(kernels.library, "half");
      assert_non_null(functions);
      for (size_t t = 0; t < 2; ++t) {
        check_loads(types[t], &functions[t]);
        check_stores(types[t], &functions[t]);
        check_copies(types[t], &functions[t]);
      }
      kernels_end(&kernels);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_conversions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
