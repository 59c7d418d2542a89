// SPDX-License-Identifier: Apache-2.0
// SHA-256 against the examples of FIPS 180-4, in one piece and in many.
#include "tests/support/support.h"

#include "core/base/sha256.h"

static void expect(const char *text, size_t repeats, size_t step, const char *digits) {
  byoc_sha256_t hasher;
  byoc_sha256_init(&hasher);
  size_t size = strlen(text);
  for (size_t i = 0; i < repeats; ++i) {
    for (size_t at = 0; at < size; at += step) {
      byoc_sha256_update(&hasher, text + at, step < size - at ? step : size - at);
    }
  }
  byoc_digest_t digest = byoc_sha256_finish(&hasher);
  char found[65];
  byoc_digest_format(&digest, found);
  assert_string_equal(found, digits);
}

static void test_examples(void **state) {
  (void)state;
  static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  expect("", 1, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect("abc", 1, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (size_t step = 1; step <= 56; ++step) {
    expect(two_blocks, 1, step, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
  expect("aaaaaaaaaa", 100000, 7, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
