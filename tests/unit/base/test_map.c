// SPDX-License-Identifier: Apache-2.0
// Maps and hashes.
#include "tests/support/support.h"

#include "core/base/hash.h"
#include "core/base/map.h"

static void text_map_keeps_order(void **state) {
  (void)state;
  byoc_map_t map;
  byoc_string_map_init(&map, byoc_allocator_system());
  assert_null(byoc_string_map_get(&map, "nothing"));
  static int values[1000];
  char key[32];
  for (int i = 0; i < 1000; i++) {
    snprintf(key, sizeof(key), "key %d", (i * 7919) % 1000);
    assert_true(byoc_string_map_put(&map, key, &values[i])); // the key is copied
  }
  assert_int_equal(map.count, 1000);
  for (int i = 0; i < 1000; i++) {
    snprintf(key, sizeof(key), "key %d", (i * 7919) % 1000);
    assert_string_equal(map.entries[i].text, key);
    assert_ptr_equal(byoc_string_map_get(&map, key), &values[i]);
  }
  assert_true(byoc_string_map_put(&map, "key 5", NULL)); // replaces in place
  assert_int_equal(map.count, 1000);
  assert_null(byoc_string_map_get(&map, "key 5"));
  assert_non_null(byoc_string_map_find(&map, "key 5"));
  assert_null(byoc_string_map_find(&map, "key 1000"));
  byoc_map_clear(&map);
  assert_int_equal(map.count, 0);
  assert_null(byoc_string_map_find(&map, "key 5"));
  assert_true(byoc_string_map_put(&map, "", values));
  assert_ptr_equal(byoc_string_map_get(&map, ""), values);
  byoc_map_deinit(&map);
  byoc_map_deinit(&map);
  byoc_map_deinit(&(byoc_map_t){0});
}

static void pointer_map_tells_addresses_apart(void **state) {
  (void)state;
  byoc_map_t map;
  byoc_pointer_map_init(&map, byoc_allocator_system());
  static char keys[3000];
  for (size_t i = 0; i < sizeof(keys); i++)
    assert_true(byoc_pointer_map_put(&map, &keys[i], &keys[sizeof(keys) - 1 - i]));
  for (size_t i = 0; i < sizeof(keys); i++) {
    assert_ptr_equal(byoc_pointer_map_get(&map, &keys[i]), &keys[sizeof(keys) - 1 - i]);
    assert_ptr_equal(map.entries[i].pointer, &keys[i]);
  }
  assert_null(byoc_pointer_map_find(&map, &map));
  assert_true(byoc_pointer_map_put(&map, NULL, keys));
  assert_ptr_equal(byoc_pointer_map_get(&map, NULL), keys);
  byoc_map_deinit(&map);
}

static byoc_status_t fill(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_map_t map;
  byoc_string_map_init(&map, allocator);
  byoc_status_t status = BYOC_OK;
  char key[32];
  for (int i = 0; i < 100 && status == BYOC_OK; i++) {
    snprintf(key, sizeof(key), "key %d", i);
    size_t count = map.count;
    if (!byoc_string_map_put(&map, key, argument)) {
      status = BYOC_OUT_OF_MEMORY;
      assert_int_equal(map.count, count); // unchanged
      assert_null(byoc_string_map_find(&map, key));
    }
  }
  byoc_map_deinit(&map);
  return status;
}

static void each_allocation_fails(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(fill, NULL, false);
}

static void content_hash_is_stable(void **state) {
  (void)state;
  char text[33];
  // XXH3-128 of the empty input, from the specification's test vectors.
  byoc_content_hash_format(byoc_content_hash("", 0), text);
  assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update(&hasher, "hello ", 6);
  byoc_hasher_update(&hasher, NULL, 0);
  byoc_hasher_update(&hasher, "world", 5);
  byoc_content_hash_t streamed = byoc_hasher_finish(&hasher);
  byoc_content_hash_t whole = byoc_content_hash("hello world", 11);
  assert_true(streamed.low == whole.low && streamed.high == whole.high);
  byoc_content_hash_t after = byoc_hasher_finish(&hasher);
  assert_true(after.low == 0 && after.high == 0);
}

static void texts_are_kept_apart(void **state) {
  (void)state;
  byoc_hasher_t a, b;
  byoc_hasher_init(&a);
  byoc_hasher_init(&b);
  byoc_hasher_update_string(&a, "ab");
  byoc_hasher_update_string(&a, "c");
  byoc_hasher_update_string(&b, "a");
  byoc_hasher_update_string(&b, "bc");
  byoc_content_hash_t first = byoc_hasher_finish(&a);
  byoc_content_hash_t second = byoc_hasher_finish(&b);
  assert_true(first.low != second.low);
  assert_true(byoc_hash_combine(1, 2) != byoc_hash_combine(2, 1));
  assert_true(byoc_hash_string("a") != byoc_hash_string("b"));
  assert_true(byoc_hash_bytes("a", 1, 0) == byoc_hash_string("a"));
  assert_true(byoc_hash_bytes("a", 1, 1) != byoc_hash_string("a"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_map_keeps_order),  cmocka_unit_test(pointer_map_tells_addresses_apart),
      cmocka_unit_test(each_allocation_fails), cmocka_unit_test(content_hash_is_stable),
      cmocka_unit_test(texts_are_kept_apart),
  };
  return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
