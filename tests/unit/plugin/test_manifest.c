// SPDX-License-Identifier: Apache-2.0
// byoc/abi.def and what reads structs by it: rows without holes, only types that may cross the boundary, required
// fields refused by name, and structs of every size read within their bounds.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/plugin/abi.h"

#define STRUCTS(shape)                                                                                                 \
  for (const byoc_abi_struct_t *shape = byoc_abi_structs; shape < byoc_abi_structs + BYOC_ABI_STRUCT_COUNT; ++shape)
#define FIELDS(shape, field)                                                                                           \
  for (const byoc_abi_field_t *field = byoc_abi_fields + shape[0].first; field < byoc_abi_fields + shape[1].first;     \
       ++field)

// A struct of DLPack, whose types are not ours.
static bool is_dlpack(const byoc_abi_struct_t *shape) {
  return strncmp(shape->name, "DL", 2) == 0;
}

static bool starts_with_header(const byoc_abi_struct_t *shape) {
  return strcmp(byoc_abi_fields[shape->first].name, "header") == 0;
}

static const byoc_abi_struct_t *find_struct(const char *type) {
  STRUCTS(shape) {
    if (strcmp(shape->name, type) == 0) return shape;
  }
  return NULL;
}

// ---- the rows ----

static void test_a8_structs_have_no_holes(void **state) {
  (void)state;
  STRUCTS(shape) {
    uint32_t end = 0, since = shape->since;
    FIELDS(shape, field) {
      if (field->offset != end || field->size_bytes == 0) {
        fail_msg("%s.%s is at %u, not at %u", shape->name, field->name, (unsigned)field->offset, (unsigned)end);
      }
      if (field->since < since) fail_msg("%s.%s is older than the field before it", shape->name, field->name);
      end = field->offset + field->size_bytes;
      since = field->since;
    }
    if (end != shape->size_bytes) {
      fail_msg("%s has %u bytes, and its fields end at %u", shape->name, (unsigned)shape->size_bytes, (unsigned)end);
    }
    assert_true(since <= BYOC_ABI_MINOR);
  }
}

static bool has_word(const char *type, const char *word) {
  const size_t size = strlen(word);
  for (const char *at = type; (at = strstr(at, word)) != NULL; at += size) {
    const bool starts = at == type || strchr(" (,*", at[-1]) != NULL;
    if (starts && (at[size] == '\0' || strchr(" ),*[", at[size]) != NULL)) return true;
  }
  return false;
}

// Fixed-width integers; no enums, bools or long; no struct that grows as a part of another, but for the last part of
// one that is as long as its own size says.
static void test_a8_fields_have_fixed_widths(void **state) {
  (void)state;
  static const char *const forbidden[] = {"bool", "_Bool", "enum", "long", "short", "unsigned", "size_t", "int"};
  STRUCTS(shape) {
    if (is_dlpack(shape)) continue;
    FIELDS(shape, field) {
      for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); ++i) {
        if (has_word(field->type, forbidden[i])) fail_msg("%s.%s: %s", shape->name, field->name, field->type);
      }
      const byoc_abi_struct_t *part = find_struct(field->type);
      if (part == NULL || part->growth == BYOC_ABI_FIXED) continue;
      const bool is_last = field + 1 == byoc_abi_fields + shape[1].first;
      if (!is_last || shape->growth == BYOC_ABI_FIXED) {
        fail_msg("%s.%s is a %s, which grows", shape->name, field->name, part->name);
      }
    }
  }
}

// Sizes come first. What a filler must give it has had to give from the beginning: a field that is required later would
// refuse what older plugins fill.
static void test_a7_required_fields_were_there_from_the_beginning(void **state) {
  (void)state;
  STRUCTS(shape) {
    const byoc_abi_field_t *first = &byoc_abi_fields[shape->first];
    // The sizes in front of an ELF note are the same for all notes; a header is part of the structs whose size it has.
    const bool is_special = strstr(shape->name, "_elf_note_t") != NULL || strcmp(shape->name, "byoc_header_t") == 0;
    if (!is_special && (shape->growth == BYOC_ABI_GROWS) != (first->need == BYOC_ABI_SIZE)) {
      fail_msg("%s: structs that grow start with their size, others do not", shape->name);
    }
    FIELDS(shape, field) {
      const bool is_needed = field->need == BYOC_ABI_REQUIRED || field->need == BYOC_ABI_ONE_OF;
      if (field->need == BYOC_ABI_REQUIRED && strchr(field->type, '*') == NULL) {
        fail_msg("%s.%s is required and no pointer", shape->name, field->name);
      }
      const bool is_given_to_us = shape->filler == BYOC_ABI_PLUGIN || shape->filler == BYOC_ABI_CALLER;
      if (is_needed && is_given_to_us && field->since != shape->since) {
        fail_msg("%s.%s is required since minor %u, and its struct is of minor %u", shape->name, field->name,
                 (unsigned)field->since, (unsigned)shape->since);
      }
      if ((field->need == BYOC_ABI_OPTIONAL) != (field->zero[0] != '\0')) {
        fail_msg("%s.%s: what zero stands for is said of optional fields", shape->name, field->name);
      }
    }
  }
}

// ---- reading ----

// Gives every field that could be a pointer the address of a text, and numbers some value.
static void fill(const byoc_abi_struct_t *shape, uint32_t size_bytes, void *at) {
  static const char text[] = "text";
  memset(at, 0, size_bytes);
  FIELDS(shape, field) {
    const void *pointer = text;
    if (field->offset + field->size_bytes > size_bytes || field->need == BYOC_ABI_SIZE) continue;
    if (field->size_bytes >= sizeof(pointer)) memcpy((char *)at + field->offset, &pointer, sizeof(pointer));
  }
  const byoc_header_t header = {size_bytes, 1};
  memcpy(at, &header, sizeof(header));
}

static void test_a10_a_missing_required_field_is_named(void **state) {
  (void)state;
  size_t count = 0;
  STRUCTS(shape) {
    if (!starts_with_header(shape)) continue;
    char *given = calloc(1, shape->size_bytes), *out = calloc(1, shape->size_bytes);
    FIELDS(shape, field) {
      byoc_diag_t diag = {0};
      fill(shape, shape->size_bytes, given);
      byoc_test_ok(byoc_abi_read(given, shape, "it", out, &diag), &diag);
      memset(given + field->offset, 0, field->size_bytes);
      if (field->need != BYOC_ABI_REQUIRED) continue;
      assert_int_equal(byoc_abi_read(given, shape, "it", out, &diag), BYOC_INVALID_DATA);
      char expected[128];
      snprintf(expected, sizeof(expected), "lacks '%s', which %s requires", field->name, shape->name);
      if (strstr(diag.message, expected) == NULL) fail_msg("'%s' lacks '%s'", diag.message, expected);
      count++;
    }
    free(given);
    free(out);
  }
  assert_true(count > 100); // most of them in the tables of the host
}

static void test_a10_one_of_the_alternatives_is_required(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_backend_t out;
  const byoc_backend_t backend = {.header = BYOC_HEADER(byoc_backend_t, 1), .target = "mine"};
  assert_int_equal(byoc_abi_read(&backend, byoc_abi_of(byoc_backend_t), "backend 0", &out, &diag), BYOC_INVALID_DATA);
  assert_string_equal(diag.message, "backend 0 ('mine') has neither 'generate' nor 'generate_function', one of which "
                                    "byoc_backend_t requires");
}

static void test_a10_missing_fields_of_tables_are_named(void **state) {
  (void)state;
  static const byoc_abi_struct_t *const tables[] = {byoc_abi_of(byoc_engine_t), byoc_abi_of(byoc_driver_t)};
  for (size_t t = 0; t < 2; ++t) {
    const byoc_abi_struct_t *shape = tables[t];
    char given[512];
    FIELDS(shape, field) {
      byoc_diag_t diag = {0};
      fill(shape, shape->size_bytes, given); // struct_version stands where abi_version does
      byoc_test_ok(byoc_abi_check_table(given, shape, 1, "its table", &diag), &diag);
      if (field->need != BYOC_ABI_REQUIRED) continue;
      memset(given + field->offset, 0, field->size_bytes);
      assert_int_equal(byoc_abi_check_table(given, shape, 1, "its table", &diag), BYOC_INVALID_DATA);
      char expected[128];
      snprintf(expected, sizeof(expected), "its table lacks '%s', which %s requires", field->name, shape->name);
      assert_string_equal(diag.message, expected);
    }
    // A smaller table of an older plugin is read as long as it has all that was required of it.
    byoc_diag_t diag = {0};
    fill(shape, byoc_abi_least_size(shape), given);
    byoc_test_ok(byoc_abi_check_table(given, shape, 1, "its table", &diag), &diag);
    fill(shape, byoc_abi_least_size(shape) - 8, given);
    assert_int_equal(byoc_abi_check_table(given, shape, 1, "its table", &diag), BYOC_INVALID_DATA);
    fill(shape, shape->size_bytes, given);
    assert_int_equal(byoc_abi_check_table(given, shape, 2, "its table", &diag), BYOC_VERSION);
  }
}

// Structs of every size, each before a page that nobody may read: as many bytes are read as both sides know, the rest
// is zero, and larger ones are not refused.
static void test_a7_every_smaller_size_is_read(void **state) {
  (void)state;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(pages != MAP_FAILED);
  assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
  STRUCTS(shape) {
    if (!starts_with_header(shape)) continue;
    const uint32_t size = shape->size_bytes;
    char *whole = calloc(1, size), *out = calloc(1, size);
    fill(shape, size, whole);
    for (uint32_t given = 8; given <= size + 64; given += 8) {
      char *at = pages + page - given;
      memset(at, 0xA5, given); // fields of a later version
      memcpy(at, whole, given < size ? given : size);
      const byoc_header_t header = {given, 1};
      memcpy(at, &header, sizeof(header));
      byoc_diag_t diag = {0};
      const byoc_status_t status = byoc_abi_read(at, shape, "it", out, &diag);
      if (given >= byoc_abi_least_size(shape) && given >= size) byoc_test_ok(status, &diag);
      if (given < byoc_abi_least_size(shape)) assert_int_equal(status, BYOC_INVALID_DATA);
      // A header is a whole struct of its own: only less than one is called no size.
      if (status != BYOC_OK) assert_null(strstr(diag.message, "struct_size"));
      const uint32_t known = given < size ? given : size;
      assert_memory_equal(out + sizeof(header), whole + sizeof(header), known - sizeof(header));
      for (uint32_t i = known; i < size; ++i) assert_int_equal(out[i], 0);
    }
    memcpy(whole, &(byoc_header_t){7, 1}, sizeof(byoc_header_t));
    byoc_diag_t diag = {0};
    assert_int_equal(byoc_abi_read(whole, shape, "it", out, &diag), BYOC_INVALID_DATA);
    assert_string_equal(diag.message, "it has struct_size 7");
    free(whole);
    free(out);
  }
  munmap(pages, 2 * page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a8_structs_have_no_holes),
      cmocka_unit_test(test_a8_fields_have_fixed_widths),
      cmocka_unit_test(test_a7_required_fields_were_there_from_the_beginning),
      cmocka_unit_test(test_a10_a_missing_required_field_is_named),
      cmocka_unit_test(test_a10_one_of_the_alternatives_is_required),
      cmocka_unit_test(test_a10_missing_fields_of_tables_are_named),
      cmocka_unit_test(test_a7_every_smaller_size_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
