// SPDX-License-Identifier: Apache-2.0
// Keys of cached answers: all that a hook can read of a function is in them.
#include <string.h>

#include "core/ir/module_text.h"
#include "core/plugin/kept_answer.h"
#include "tests/support/support.h"

// The pieces of a function that a row below replaces.
enum { NAME, OPERATOR, OPERANDS, ATTRIBUTES, TYPE, CONSTANT, LABEL, FUNCTION, PIECE_COUNT };
static const char *const usual[PIECE_COUNT] = {
    "part", "Gemm@13", "%x, @w", "{alpha = 0.5}", "f32[2,2]", "[1.0, 2.0, 3.0, 4.0]", "%y", "Compiler = \"demo\""};

static byoc_kept_key_t key_of(const char *const pieces[PIECE_COUNT]) {
  char text[1024];
  snprintf(text, sizeof(text),
           "module {\n  constant @w : f32[2,2] = %s\n  func @%s(%%x : %s) -> (%s : %s) attributes {%s} {\n"
           "    %s = %s(%s) %s : %s\n    return %s\n  }\n}\n",
           pieces[CONSTANT], pieces[NAME], pieces[TYPE], pieces[LABEL], pieces[TYPE], pieces[FUNCTION], pieces[LABEL],
           pieces[OPERATOR], pieces[OPERANDS], pieces[ATTRIBUTES], pieces[TYPE], pieces[LABEL]);
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse(text, "test", byoc_allocator_system(), &diag, &module), &diag);
  const byoc_kept_answers_t kept = {.is_open = true};
  byoc_kept_key_t key;
  byoc_test_ok(byoc_kept_key_make(&kept, module->functions.data[0], &diag, &key), &diag);
  byoc_graph_module_destroy(module);
  return key;
}

static byoc_kept_key_t key_with(int piece, const char *text) {
  const char *pieces[PIECE_COUNT];
  memcpy(pieces, usual, sizeof(pieces));
  pieces[piece] = text;
  return key_of(pieces);
}

static void test_content_is_in_both_keys(void **state) {
  (void)state;
  static const struct {
    int piece;
    const char *text;
  } rows[] = {{OPERATOR, "MatMul@13"},
              {OPERATOR, "Gemm@11"},
              {OPERANDS, "@w, %x"},
              {OPERANDS, "%x, %x"},
              {ATTRIBUTES, "{alpha = 0.25}"},
              {ATTRIBUTES, "{beta = 0.5}"},
              {ATTRIBUTES, "{alpha = 0.5, transB = 1}"},
              {ATTRIBUTES, "{alpha = 0.5, Target = 1}"},
              {ATTRIBUTES, "{alpha = 0.5, global_symbol = \"f\"}"},
              {TYPE, "f32[N,2]"},
              {CONSTANT, "[1.0, 2.0, 3.0, 5.0]"},
              {FUNCTION, "Compiler = \"other\""},
              {FUNCTION, "Compiler = \"demo\", Composite = \"demo.rule\""}};
  const byoc_kept_key_t key = key_of(usual);
  const byoc_kept_key_t again = key_of(usual);
  assert_string_equal(key.content, again.content);
  assert_string_equal(key.named, again.named);
  assert_string_not_equal(key.content, key.named);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const bool is_product = strcmp(rows[i].text, "MatMul@13") == 0;
    const char *pieces[PIECE_COUNT];
    memcpy(pieces, usual, sizeof(pieces));
    pieces[rows[i].piece] = rows[i].text;
    if (is_product) pieces[ATTRIBUTES] = "";
    const byoc_kept_key_t other = key_of(pieces);
    if (strcmp(key.content, other.content) == 0) fail_msg("the key is the same with %s", rows[i].text);
    assert_string_not_equal(key.named, other.named);
  }
}

static void test_names_are_in_one_key(void **state) {
  (void)state;
  static const struct {
    int piece;
    const char *text;
  } rows[] = {{NAME, "another"},
              {LABEL, "%z"},
              {FUNCTION, "Compiler = \"demo\", global_symbol = \"part_7\""},
              {OPERATOR, "Gemm@13 \"the node\""}};
  const byoc_kept_key_t key = key_of(usual);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const byoc_kept_key_t other = key_with(rows[i].piece, rows[i].text);
    assert_string_equal(key.content, other.content);
    if (strcmp(key.named, other.named) == 0) fail_msg("the key with names is the same with %s", rows[i].text);
  }
}

// Where the function is in a list of targets, and what the build notes of it, is no content.
static void test_notes_of_a_build_are_in_no_key(void **state) {
  (void)state;
  const byoc_kept_key_t key = key_of(usual);
  const byoc_kept_key_t other = key_with(FUNCTION, "Compiler = \"demo\", Target = 3");
  assert_string_equal(key.named, other.named);
  const byoc_kept_key_t noted = key_with(ATTRIBUTES, "{alpha = 0.5, byoc.flops = 4}");
  assert_string_equal(key.named, noted.named);
}

// ---- the processor ----

static uint64_t features;
static const char *vendor;

// The linker gives these to the host instead of its own (tests/CMakeLists.txt).
uint64_t __wrap_byoc_cpu_detect(void);
uint64_t __wrap_byoc_cpu_detect(void) {
  return features;
}

const char *__wrap_byoc_cpu_vendor(char buffer[13]);
const char *__wrap_byoc_cpu_vendor(char buffer[13]) {
  return strcpy(buffer, vendor);
}

static byoc_content_hash_t hash_on(const char *value, uint64_t detected, const char *maker) {
  static const byoc_option_t option = {
      .header = BYOC_HEADER(byoc_option_t, 1), .name = "processor", .type = BYOC_OPTION_CPU};
  const byoc_target_kind_t kind = {.name = "demo", .options = &option, .option_count = 1};
  byoc_target_value_t values = {.s = value};
  const byoc_target_t target = {.kind = &kind, .values = &values, .text = value};
  const byoc_codegen_services_t services = {0};
  const byoc_codegen_t session = {.target = &target, .services = &services, .allocator = byoc_allocator_system()};
  byoc_diag_t diag = {0};
  byoc_content_hash_t hash;
  features = detected;
  vendor = maker;
  byoc_test_ok(byoc_kept_build_hash(&session, "", &diag, &hash), &diag);
  return hash;
}

static bool are_equal(byoc_content_hash_t a, byoc_content_hash_t b) {
  return a.low == b.low && a.high == b.high;
}

static void test_a_native_processor_is_in_the_key(void **state) {
  (void)state;
  const byoc_content_hash_t native = hash_on("native", 3, "GenuineIntel");
  assert_true(are_equal(native, hash_on("native", 3, "GenuineIntel")));
  assert_false(are_equal(native, hash_on("native", 7, "GenuineIntel")));
  assert_false(are_equal(native, hash_on("native", 3, "AuthenticAMD")));
  assert_true(are_equal(hash_on("avx2", 3, "GenuineIntel"), hash_on("avx2", 7, "AuthenticAMD")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_content_is_in_both_keys),
      cmocka_unit_test(test_names_are_in_one_key),
      cmocka_unit_test(test_notes_of_a_build_are_in_no_key),
      cmocka_unit_test(test_a_native_processor_is_in_the_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
