// SPDX-License-Identifier: Apache-2.0
// Operators that choose or sort by value: each step against its expected order.
#include "tests/unit/ops/ops_support.h"

enum { SLICES = 41 };

// Numbers with many equal ones; every seventh is NaN.
static void fill_repeating(float *x, int count) {
  for (int i = 0; i < count; ++i) x[i] = i % 7 == 3 ? NAN : (float)((i * 5) % 9 - 4);
}

// Before, by value (NaN last) and then by place?
static bool comes_before(const float *x, int64_t a, int64_t b) {
  bool a_nan = isnan(x[a]), b_nan = isnan(x[b]);
  if (a_nan || b_nan) return a_nan == b_nan ? a < b : b_nan;
  return x[a] == x[b] ? a < b : x[a] < x[b];
}

static bool is_same(float a, float b) {
  return a == b || (isnan(a) && isnan(b));
}

static void unique_steps(const char *sorted, bool is_sorted) {
  float x[SLICES];
  char text[768];
  fill_repeating(x, SLICES);
  snprintf(text, sizeof text,
           "module {\n  func @main(%%x : f32[%d]) -> (%%o : ?, %%f : ?, %%p : ?) {\n"
           "    %%o = byoc::UniqueOrder@1(%%x) : ?\n    %%f = byoc::UniqueFirst@1(%%x, %%o) : ?\n"
           "    %%p = byoc::UniquePlace@1(%%x, %%o, %%f) {sorted = %s} : ?\n    return %%o, %%f, %%p\n  }\n}\n",
           SLICES, sorted);
  ops_run_t run;
  ops_run(text, (const void *const[]){x}, &run);
  const int64_t *order = ops_result(&run, 0), *first = ops_result(&run, 1), *place = ops_result(&run, 2);
  for (int i = 0; i + 1 < SLICES; ++i) assert_true(comes_before(x, order[i], order[i + 1]));
  for (int i = 0; i < SLICES; ++i) {
    int64_t expected = 0, before = 0;
    while (!is_same(x[expected], x[i])) ++expected;
    assert_int_equal(first[i], expected);
    for (int j = 0; j < SLICES; ++j) before += first[j] == j && (is_sorted ? comes_before(x, j, i) : j < i);
    assert_int_equal(place[i], expected == i ? before : -1);
  }
  ops_done(&run);
}

static void test_unique(void **state) {
  (void)state;
  unique_steps("1", true);
  unique_steps("0", false);
}

// Boxes 0 and 1 overlap by more than the threshold, 3 has too low a score, 4 ties with 2 and touches nothing.
static void test_suppression(void **state) {
  (void)state;
  static const float boxes[] = {0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6, 9, 9, 10, 10, 8, 7, 7, 8};
  static const float scores[] = {0.8f, 0.9f, 0.7f, 0.1f, 0.7f};
  static const char *const text =
      "module {\n  constant @most : i64[1] = [%d]\n  constant @overlap : f32[1] = [0.5]\n"
      "  constant @score : f32[1] = [0.2]\n  func @main(%%b : f32[1,5,4], %%s : f32[1,1,5]) -> (%%o : ?) {\n"
      "    %%o, %%c = byoc::SuppressionOrder@1(%%b, %%s, @most, @overlap, @score) : ?, ?\n    return %%o\n  }\n}\n";
  static const int64_t expected[][5] = {{-1, -1, -1, -1, -1}, {-1, -1, -1, 2, 1}, {-1, -1, 4, 2, 1}};
  static const int most[] = {0, 2, 9};
  for (size_t i = 0; i < sizeof most / sizeof *most; ++i) {
    char filled[768];
    snprintf(filled, sizeof filled, text, most[i]);
    ops_run_t run;
    ops_run(filled, (const void *const[]){boxes, scores}, &run);
    const int64_t *order = ops_result(&run, 0);
    for (int k = 0; k < 5; ++k) assert_int_equal(order[k], expected[i][k]);
    ops_done(&run);
  }
}

// How much two boxes y1, x1, y2, x2 share of what they cover together.
static float overlap_of(const float *a, const float *b) {
  float height = fminf(a[2], b[2]) - fmaxf(a[0], b[0]), width = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
  if (height <= 0 || width <= 0) return 0;
  float both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
  return height * width / (both - height * width);
}

// More boxes than one block of chosen ones, of two classes, beside the plain algorithm. Some are empty, and some are
// NaN, which overlap nothing.
static void test_suppression_of_many(void **state) {
  (void)state;
  enum { N = 700, CLASSES = 2 };
  static float boxes[N][4], scores[CLASSES][N];
  uint32_t random = 7;
  for (int i = 0; i < N * 6; ++i) {
    random = random * 1664525u + 1013904223u;
    float x = (float)(random >> 16) / 65536.0f;
    int box = i / 6, k = i % 6;
    if (k < 2) boxes[box][k] = x * 20;
    if (k == 2 || k == 3) boxes[box][k] = boxes[box][k - 2] + (box % 50 == 7 ? 0 : 1 + x);
    if (k >= 4) scores[k - 4][box] = floorf(x * 400) / 400;
    if (box % 97 == 5 && k == 1) boxes[box][k] = NAN;
  }
  static const int limits[] = {N, 100};
  for (size_t l = 0; l < sizeof limits / sizeof *limits; ++l) {
    char text[768];
    snprintf(text, sizeof text,
             "module {\n  constant @most : i64[1] = [%d]\n  constant @overlap : f32[1] = [0.3]\n"
             "  constant @score : f32[1] = [0.1]\n  func @main(%%b : f32[1,N,4], %%s : f32[1,2,N]) -> (%%o : ?) {\n"
             "    %%o, %%c = byoc::SuppressionOrder@1(%%b, %%s, @most, @overlap, @score) : ?, ?\n"
             "    return %%o\n  }\n}\n",
             limits[l]);
    ops_run_t run;
    ops_run_symbolic(text, N, (const void *const[]){boxes, scores}, &run);
    const int64_t *order = ops_result(&run, 0);
    for (int class = 0; class < CLASSES; ++class, order += N) {
      bool is_done[N] = {false};
      int chosen[N], count = 0, best = 0;
      while (count < limits[l] && best >= 0) {
        best = -1;
        for (int i = 0; i < N; ++i) {
          if (is_done[i] || scores[class][i] <= 0.1f) continue;
          if (best < 0 || scores[class][i] > scores[class][best]) best = i;
        }
        if (best < 0) continue;
        is_done[best] = true;
        bool kept = true;
        for (int k = 0; k < count && kept; ++k) kept = !(overlap_of(boxes[best], boxes[chosen[k]]) > 0.3f);
        if (kept) chosen[count++] = best;
      }
      assert_true(count >= 100);
      for (int i = 0; i < N; ++i) assert_int_equal(order[N - 1 - i], i < count ? chosen[i] : -1);
    }
    ops_done(&run);
  }
}

// More elements than the list of the best holds: a heap in the result, along a dimension that is not the last.
static void test_top_of_many(void **state) {
  (void)state;
  enum { N = 66001, K = 65990, LINES = 2 };
  float *x = malloc(sizeof *x * N * LINES);
  assert_non_null(x);
  for (int i = 0; i < N * LINES; ++i) x[i] = (float)((i * 7919LL) % 50021);
  char text[512];
  snprintf(text, sizeof text,
           "module {\n  constant @k : i64[1] = [%d]\n  func @main(%%x : f32[%d,%d]) -> (%%y : ?, %%i : ?) {\n"
           "    %%y, %%i = TopK@11(%%x, @k) {axis = 0} : ?, ?\n    return %%y, %%i\n  }\n}\n",
           K, N, LINES);
  ops_run_t run;
  ops_run(text, (const void *const[]){x}, &run);
  const float *y = ops_result(&run, 0);
  const int64_t *places = ops_result(&run, 1);
  for (int line = 0; line < LINES; ++line) {
    int64_t better = 0;
    for (int i = 0; i < K; ++i) {
      int64_t at = (int64_t)i * LINES + line, before = at - LINES;
      assert_true(places[at] >= 0 && places[at] < N && y[at] == x[places[at] * LINES + line]);
      if (i > 0) assert_true(y[before] > y[at] || (y[before] == y[at] && places[before] < places[at]));
    }
    for (int i = 0; i < N; ++i) better += x[(int64_t)i * LINES + line] > y[(int64_t)(K - 1) * LINES + line];
    assert_true(better < K);
  }
  ops_done(&run);
  free(x);
}

static bool is_before(float a, float b, bool largest) {
  if (isnan(a) || isnan(b)) return largest ? isnan(a) && !isnan(b) : isnan(b) && !isnan(a);
  return largest ? a > b : a < b;
}

// By a sorted list and by a heap, in each element type, with elements that are equal, infinite or NaN.
static void test_top_of_each_type(void **state) {
  (void)state;
  enum { N = 700 };
  static const int types[] = {1, 10, 11, 7, 3}; // f32, f16, f64, i64, i8 of ONNX
  static const int sizes[] = {0, 1, 32, 33, 100, N};
  for (int t = 0; t < 5; ++t) {
    const bool is_float = t < 3;
    float x[N];
    for (int i = 0; i < N; ++i) {
      x[i] = (float)((i * 37) % 101 - 50);
      if (is_float && i % 90 == 7) x[i] = i % 180 == 7 ? NAN : INFINITY;
    }
    for (int s = 0; s < 12; ++s) {
      const int k = sizes[s / 2];
      const bool largest = s % 2 == 1;
      char text[512];
      snprintf(text, sizeof text,
               "module {\n  constant @k : i64[1] = [%d]\n  func @main(%%x : f32[%d]) -> (%%z : ?, %%i : ?) {\n"
               "    %%c = Cast@13(%%x) {to = %d} : ?\n    %%y, %%i = TopK@11(%%c, @k) {largest = %d} : ?, ?\n"
               "    %%z = Cast@13(%%y) {to = 1} : ?\n    return %%z, %%i\n  }\n}\n",
               k, N, types[t], largest);
      ops_run_t run;
      ops_run(text, (const void *const[]){x}, &run);
      const float *y = ops_result(&run, 0);
      const int64_t *places = ops_result(&run, 1);
      bool is_taken[N] = {false};
      for (int i = 0; i < k; ++i) {
        int best = -1;
        for (int j = 0; j < N; ++j) {
          if (!is_taken[j] && (best < 0 || is_before(x[j], x[best], largest))) best = j;
        }
        is_taken[best] = true;
        assert_int_equal(places[i], best);
        assert_true(y[i] == x[best] || (isnan(y[i]) && isnan(x[best])));
      }
      ops_done(&run);
    }
  }
}

// How many is known only at run time; somebody reads the places, or nobody does.
static void test_top_of_some(void **state) {
  (void)state;
  static const float x[] = {3, 9, 1, 9, 5, 2, 4, 8, 6, 7};
  static const float smallest[] = {1, 3, 5, 2, 4, 6}, largest[] = {9, 9, 5, 8, 7, 6}, places[] = {2, 0, 4, 0, 1, 3};
  ops_run_t run;
  ops_run_symbolic("module {\n  func @main(%x : f32[2,5], %l : f32[N]) -> (%y : ?, %p : ?, %z : ?) {\n"
                   "    %k = Shape@15(%l) : ?\n    %y, %i = TopK@11(%x, %k) {largest = 0} : ?, ?\n"
                   "    %p = Cast@13(%i) {to = 1} : ?\n    %z, %j = TopK@11(%x, %k) : ?, ?\n"
                   "    return %y, %p, %z\n  }\n}\n",
                   3, (const void *const[]){x, x}, &run);
  ops_near(ops_result(&run, 0), smallest, 6, "smallest");
  ops_near(ops_result(&run, 1), places, 6, "places");
  ops_near(ops_result(&run, 2), largest, 6, "largest");
  ops_done(&run);
}

// N-grams that occur twice in the pool, places that several share, and lengths that do not count.
enum { WORDS = 9, GRAMS = 10, PLACES = 8, LEAST = 1, MOST = 3, MOST_SKIPPED = 2 };
typedef struct {
  int start, size, to;
  float weight;
} gram_t;

static const gram_t grams[GRAMS] = {{0, 1, 4, 1},     {1, 1, 0, 2}, {2, 1, 2, 3},  {3, 1, 5, 4},     {4, 2, 1, 0.5f},
                                    {6, 2, 1, 0.25f}, {8, 2, 3, 5}, {10, 2, 6, 6}, {12, 3, 0, 1.5f}, {15, 3, 7, 7}};

static float occurrences(const int64_t *x, const gram_t *gram) {
  static const int64_t pool[] = {3, 1, 1, 7, 1, 3, 3, 3, 1, 3, 2, 9, 1, 3, 1, 0, 0, 0};
  float count = 0;
  for (int skip = 0; skip <= (gram->size > 1 ? MOST_SKIPPED : 0); ++skip) {
    for (int i = 0; i + (gram->size - 1) * (skip + 1) < WORDS; ++i) {
      bool is_there = true;
      for (int k = 0; k < gram->size; ++k) is_there = is_there && x[i + k * (skip + 1)] == pool[gram->start + k];
      count += is_there;
    }
  }
  return count;
}

static void test_n_grams(void **state) {
  (void)state;
  static const int64_t x[2][WORDS] = {{1, 3, 1, 3, 3, 9, 1, 1, 3}, {0, 0, 0, 2, 9, 0, -1, 7, 3}};
  static const char *const modes[] = {"TF", "IDF", "TFIDF"};
  for (int mode = 0; mode < 3; ++mode) {
    char text[768];
    snprintf(text, sizeof text,
             "module {\n  func @main(%%x : i64[2,%d]) -> (%%y : ?) {\n"
             "    %%y = TfIdfVectorizer@9(%%x) {mode = \"%s\", min_gram_length = %d, max_gram_length = %d, "
             "max_skip_count = %d, ngram_counts = [0, 4, 12], ngram_indexes = [4, 0, 2, 5, 1, 1, 3, 6, 0, 7], "
             "pool_int64s = [3, 1, 1, 7, 1, 3, 3, 3, 1, 3, 2, 9, 1, 3, 1, 0, 0, 0], "
             "weights = [1.0, 2.0, 3.0, 4.0, 0.5, 0.25, 5.0, 6.0, 1.5, 7.0]} : ?\n    return %%y\n  }\n}\n",
             WORDS, modes[mode], LEAST + (mode == 1), MOST - (mode == 2), MOST_SKIPPED);
    float expected[2][PLACES] = {{0}};
    for (int row = 0; row < 2; ++row) {
      for (int g = 0; g < GRAMS; ++g) {
        if (grams[g].size < LEAST + (mode == 1) || grams[g].size > MOST - (mode == 2)) continue;
        float value = occurrences(x[row], &grams[g]);
        if (mode == 1) value = value > 0 ? 1 : 0;
        expected[row][grams[g].to] += mode == 0 ? value : value * grams[g].weight;
      }
    }
    ops_run_t run;
    ops_run(text, (const void *const[]){x}, &run);
    ops_near(ops_result(&run, 0), expected[0], 2 * PLACES, modes[mode]);
    ops_done(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unique),
      cmocka_unit_test(test_suppression),
      cmocka_unit_test(test_suppression_of_many),
      cmocka_unit_test(test_top_of_many),
      cmocka_unit_test(test_top_of_each_type),
      cmocka_unit_test(test_top_of_some),
      cmocka_unit_test(test_n_grams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
