// SPDX-License-Identifier: Apache-2.0
// Weights files as they are written, read again, and refused when they are damaged.
#include "core/base/file.h"
#include "core/compose/artifact/weights_file.h"
#include "tests/support/command.h"

#include <stdio.h>
#include <string.h>

#define LARGE_BYTES (64u << 10)

static uint8_t large[LARGE_BYTES];
static const uint8_t small[] = {1, 2, 3}, other[] = {9, 8, 7, 6};

// A layout of these contents, as byoc_data_layout_create leaves it.
typedef struct fixture_t {
  byoc_data_entry_t entries[2];
  byoc_data_entry_t *list[2];
  byoc_data_layout_t layout;
  char path[64];
} fixture_t;

static void fixture_init(fixture_t *fixture, const void *first, size_t first_bytes, const void *second,
                         size_t second_bytes) {
  *fixture = (fixture_t){.entries = {{.data = first, .size_bytes = first_bytes, .name = "first"},
                                     {.data = second, .size_bytes = second_bytes}}};
  fixture->layout.allocator = byoc_allocator_system();
  for (size_t i = 0; i < 2; ++i) {
    byoc_data_entry_t *entry = &fixture->entries[i];
    entry->weight_hash = byoc_weights_hash(entry->data, entry->size_bytes);
    fixture->list[i] = entry;
  }
  fixture->layout.weights.data = fixture->list;
  fixture->layout.weights.count = 2;
}

static byoc_status_t write_file(fixture_t *fixture, const char *path, bool keeps_others, byoc_diag_t *diag) {
  byoc_file_set_t files = {0};
  byoc_status_t status = byoc_weights_file_add(&fixture->layout, path, keeps_others, &files, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(&files, diag);
  byoc_file_set_abandon(&files);
  return status;
}

static void check_holds(const byoc_weights_view_t *view, const void *data, size_t size_bytes, const char *name) {
  const byoc_weights_entry_t *entry = byoc_weights_find(view, byoc_weights_hash(data, size_bytes), size_bytes);
  assert_non_null(entry);
  assert_memory_equal(view->data + entry->offset_bytes, data, size_bytes);
  assert_int_equal(entry->offset_bytes % (size_bytes >= LARGE_BYTES ? 4096 : 64), 0);
  assert_int_equal(entry->name_bytes, strlen(name));
  assert_memory_equal(byoc_weights_name(view, entry), name, strlen(name));
}

static void test_written_weights_are_found(void **state) {
  (void)state;
  fixture_t fixture;
  byoc_diag_t diag = {0};
  byoc_file_view_t file;
  byoc_weights_view_t view;
  char message[256];
  memset(large, 5, sizeof(large));
  fixture_init(&fixture, small, sizeof(small), large, sizeof(large));
  byoc_test_ok(write_file(&fixture, "a.weights", false, &diag), &diag);
  byoc_test_ok(byoc_file_view_open("a.weights", &diag, &file), &diag);
  assert_int_equal(byoc_weights_check(file.data, file.size_bytes, "a", message, sizeof(message), &view), BYOC_OK);
  assert_int_equal(view.header->entry_count, 2);
  check_holds(&view, small, sizeof(small), "first");
  check_holds(&view, large, sizeof(large), "");
  assert_null(byoc_weights_find(&view, byoc_weights_hash(small, sizeof(small)), sizeof(small) + 1));
  assert_null(byoc_weights_find(&view, byoc_weights_hash(other, sizeof(other)), sizeof(other)));
  byoc_file_view_close(&file);

  // Another build adds to it: what was there stays where it was.
  const uint64_t before = byoc_weights_hash(small, sizeof(small));
  fixture_init(&fixture, other, sizeof(other), large, sizeof(large));
  byoc_test_ok(write_file(&fixture, "a.weights", true, &diag), &diag);
  byoc_test_ok(byoc_file_view_open("a.weights", &diag, &file), &diag);
  assert_int_equal(byoc_weights_check(file.data, file.size_bytes, "a", message, sizeof(message), &view), BYOC_OK);
  assert_int_equal(view.header->entry_count, 3);
  check_holds(&view, small, sizeof(small), "first");
  check_holds(&view, large, sizeof(large), "");
  check_holds(&view, other, sizeof(other), "first");
  assert_int_equal(byoc_weights_find(&view, before, sizeof(small))->offset_bytes, 64);
  byoc_file_view_close(&file);

  // And one that does not keep others replaces it.
  byoc_test_ok(write_file(&fixture, "a.weights", false, &diag), &diag);
  byoc_test_ok(byoc_file_view_open("a.weights", &diag, &file), &diag);
  assert_int_equal(byoc_weights_check(file.data, file.size_bytes, "a", message, sizeof(message), &view), BYOC_OK);
  assert_int_equal(view.header->entry_count, 2);
  byoc_file_view_close(&file);
}

// Every byte of the header and of the table matters, and so does the length.
static void test_damage_is_found(void **state) {
  (void)state;
  fixture_t fixture;
  byoc_diag_t diag = {0};
  byoc_weights_view_t view;
  char message[256], *bytes = NULL;
  size_t size = 0;
  fixture_init(&fixture, small, sizeof(small), other, sizeof(other));
  byoc_test_ok(write_file(&fixture, "d.weights", false, &diag), &diag);
  byoc_test_ok(byoc_file_read("d.weights", byoc_allocator_system(), &diag, &bytes, &size), &diag);
  assert_int_equal(byoc_weights_check(bytes, size, "d", message, sizeof(message), &view), BYOC_OK);
  const size_t table = (size_t)view.header->table_offset;
  for (size_t i = 0; i < size; ++i) {
    if (i >= sizeof(byoc_weights_header_t) && i < table) continue; // data
    bytes[i] ^= 0x10;
    assert_int_not_equal(byoc_weights_check(bytes, size, "d", message, sizeof(message), &view), BYOC_OK);
    bytes[i] ^= 0x10;
  }
  for (size_t cut = 0; cut < size; ++cut) {
    assert_int_not_equal(byoc_weights_check(bytes, cut, "d", message, sizeof(message), &view), BYOC_OK);
  }
  assert_int_equal(byoc_weights_check(bytes, size, "d", message, sizeof(message), &view), BYOC_OK);
  // Whoever makes the hashes right again still cannot lead outside of the file.
  byoc_weights_header_t *header = (void *)bytes;
  byoc_weights_entry_t *entry = (void *)(bytes + table);
  static const uint64_t places[] = {UINT64_MAX, UINT64_MAX - 63, (uint64_t)1 << 40, 65};
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
    entry->offset_bytes = places[i];
    header->table_hash = byoc_weights_hash(bytes + table, size - table);
    header->header_hash = byoc_weights_hash(header, offsetof(byoc_weights_header_t, header_hash));
    assert_int_equal(byoc_weights_check(bytes, size, "d", message, sizeof(message), &view), BYOC_INVALID_DATA);
  }
  header->version = BYOC_WEIGHTS_VERSION + 1;
  assert_int_equal(byoc_weights_check(bytes, size, "d", message, sizeof(message), &view), BYOC_VERSION);
  byoc_free(byoc_allocator_system(), bytes);
}

// A file that claims other bytes for a hash is damaged, and so is nothing but said.
static void test_other_bytes_under_a_hash_are_damage(void **state) {
  (void)state;
  fixture_t fixture;
  byoc_diag_t diag = {0};
  fixture_init(&fixture, small, sizeof(small), other, sizeof(other));
  byoc_test_ok(write_file(&fixture, "e.weights", false, &diag), &diag);
  byoc_test_ok(byoc_file_change("e.weights", 64, "xyz", 3, &diag), &diag);
  assert_int_equal(write_file(&fixture, "e.weights", true, &diag), BYOC_INVALID_DATA);
  assert_non_null(strstr(diag.message, "other bytes than 'first' under the same hash"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_written_weights_are_found),
      cmocka_unit_test(test_damage_is_found),
      cmocka_unit_test(test_other_bytes_under_a_hash_are_damage),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
