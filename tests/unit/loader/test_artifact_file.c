// SPDX-License-Identifier: Apache-2.0
// The file of an artifact: its seal, its metadata, and what is said of files that are not what byoc wrote.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "byoc/verify.h"
#include "core/base/process.h"
#include "core/compose/artifact/seal.h"
#include "core/compose/cc/compiler.h"
#include "core/loader/artifact_file.h"

// Enough of an artifact for its file to be read; nothing could run it.
static const char source[] =
    "__attribute__((section(\".byoc.metadata\"))) const char byoc_metadata[] = \"{\\\"model\\\": \\\"m\\\"}\";\n"
    "__attribute__((visibility(\"default\"))) const char *byoc_artifact_entry(void) { return byoc_metadata; }\n";

static char *folder, *linked, *path;
static char *good; // the sealed file
static size_t good_size;

static char *path_of(const char *name) {
  return byoc_path_join(byoc_allocator_system(), folder, name);
}

static void link_source(const char *text, const char *name) {
  byoc_diag_t diag = {0};
  char *file = path_of("source.c"), *output = path_of(name);
  byoc_test_ok(byoc_file_write(file, text, strlen(text), &diag), &diag);
  const char *const argv[] = {"cc", "-shared", "-fPIC", "-O1", "-Wl,--build-id=" BYOC_BUILD_ID_ROOM,
                              file, "-o",      output,  NULL};
  byoc_string_t printed;
  byoc_string_init(&printed, byoc_allocator_system());
  byoc_process_result_t result;
  byoc_process_options_t options = {0};
  byoc_test_ok(byoc_process_run(argv, &options, &printed, &diag, &result), &diag);
  if (result.exit_code != 0) fail_msg("%s", printed.data);
  byoc_string_deinit(&printed);
  free(file);
  free(output);
}

static int group_setup(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  folder = byoc_test_folder();
  linked = path_of("linked.so");
  path = path_of("model.so");
  link_source(source, "linked.so");
  byoc_test_ok(byoc_file_install(linked, path, 0644, &diag), &diag);
  link_source(source, "linked.so");
  byoc_test_ok(byoc_compose_seal(path, &diag), &diag);
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &good, &good_size), &diag);
  return 0;
}

static int group_teardown(void **state) {
  (void)state;
  byoc_remove_tree(folder, NULL);
  free(good);
  free(path);
  free(linked);
  free(folder);
  return 0;
}

static byoc_status_t open_bytes(const void *data, size_t size_bytes, byoc_diag_t *diag) {
  *diag = (byoc_diag_t){0};
  byoc_test_ok(byoc_file_write(path, data, size_bytes, diag), diag);
  byoc_artifact_file_t file;
  byoc_status_t status = byoc_artifact_file_open(path, diag, &file);
  if (status == BYOC_OK) byoc_artifact_file_close(&file);
  return status;
}

static void refuses(const void *data, size_t size_bytes, const char *part) {
  byoc_diag_t diag;
  byoc_status_t status = open_bytes(data, size_bytes, &diag);
  byoc_test_error(status, BYOC_INVALID_DATA, &diag, part);
}

// ---- the hash ----

static void test_hash_is_xxh64(void **state) {
  (void)state;
  unsigned char bytes[300];
  byoc_test_random_t random = {1};
  for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (unsigned char)byoc_test_next(&random);
  for (size_t size = 0; size <= sizeof(bytes); size++) {
    byoc_seal_hash_t hash;
    byoc_seal_begin(&hash);
    size_t whole = size - size % BYOC_SEAL_STRIPE, first = whole / 2 - whole / 2 % BYOC_SEAL_STRIPE;
    byoc_seal_update(&hash, bytes, first);
    byoc_seal_update(&hash, bytes + first, whole - first);
    assert_true(byoc_seal_end(&hash, bytes + whole, size - whole) == XXH64(bytes, size, 0));
  }
}

static void test_seal_is_as_documented(void **state) {
  (void)state;
  byoc_seal_t seal;
  assert_int_equal(sizeof(seal), 32);
  memcpy(&seal, good + good_size - sizeof(seal), sizeof(seal));
  assert_memory_equal(seal.magic, "BYOCSEAL", 8);
  assert_int_equal(seal.version, 1);
  assert_int_equal(seal.reserved, 0);
  assert_true(seal.size_bytes == good_size);
  assert_true(seal.hash == XXH64(good, good_size - 8, 0));
}

// ---- whole files ----

static void test_metadata_is_read(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_artifact_file_t file;
  byoc_test_ok(byoc_file_write(path, good, good_size, &diag), &diag);
  byoc_test_ok(byoc_artifact_file_open(path, &diag, &file), &diag);
  assert_string_equal(file.metadata, "{\"model\": \"m\"}");
  byoc_artifact_file_close(&file);
  char message[64];
  assert_int_equal(byoc_verify_file(path, message, sizeof(message)), BYOC_OK);
  assert_int_equal(byoc_verify_file(path, NULL, 0), BYOC_OK);
  assert_int_equal(byoc_verify_bytes(good, good_size, path, message, sizeof(message)), BYOC_OK);
}

// A pipe can be read only once: the bytes that are checked are the ones that the metadata stands in.
static void test_the_seal_of_what_was_read_is_checked(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_artifact_file_t file;
  int ends[2];
  char name[64];
  assert_int_equal(pipe(ends), 0);
  assert_true(write(ends[1], good, good_size) == (ssize_t)good_size);
  assert_int_equal(close(ends[1]), 0);
  snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[0]);
  byoc_test_ok(byoc_artifact_file_open(name, &diag, &file), &diag);
  assert_string_equal(file.metadata, "{\"model\": \"m\"}");
  byoc_artifact_file_close(&file);
  assert_int_equal(close(ends[0]), 0);
}

static void read_build_id(const void *data, size_t size_bytes, char *out_text) {
  byoc_elf_t elf;
  const uint8_t *id = NULL;
  size_t id_bytes = 0;
  byoc_test_ok(byoc_elf_open(data, size_bytes, "model.so", NULL, &elf), NULL);
  byoc_test_ok(byoc_elf_find_note(&elf, "GNU", 3, NULL, &id, &id_bytes), NULL);
  assert_int_equal(id_bytes, BYOC_BUILD_ID_BYTES);
  for (size_t i = 0; i < id_bytes; i++) snprintf(out_text + 2 * i, 3, "%02x", id[i]);
}

static void test_build_id_names_the_content(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char first[40], again[40], other[40], *data = NULL;
  size_t size = 0;
  read_build_id(good, good_size, first);
  assert_string_not_equal(first, "00000000000000000000000000000000");
  byoc_test_ok(byoc_compose_seal(linked, &diag), &diag); // linked by itself, of the same source
  byoc_test_ok(byoc_file_read(linked, byoc_allocator_system(), &diag, &data, &size), &diag);
  read_build_id(data, size, again);
  assert_string_equal(first, again);
  assert_int_equal(size, good_size);
  assert_memory_equal(data, good, size);
  free(data);
  link_source("int other(void) { return 3; }\n", "other.so");
  char *place = path_of("other.so");
  byoc_test_ok(byoc_compose_seal(place, &diag), &diag);
  byoc_test_ok(byoc_file_read(place, byoc_allocator_system(), &diag, &data, &size), &diag);
  read_build_id(data, size, other);
  assert_string_not_equal(first, other);
  // It is sealed, but it is no artifact.
  refuses(data, size, "is a shared object, but not an artifact");
  free(data);
  free(place);
}

// ---- damaged files ----

static void test_flipped_bytes_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag;
  byoc_test_random_t random = {7};
  char *data = malloc(good_size);
  assert_non_null(data);
  memcpy(data, good, good_size);
  for (size_t at = 0; at < good_size; at += 1 + (at >= 64 && at + 64 < good_size ? byoc_test_below(&random, 80) : 0)) {
    data[at] = (char)(good[at] ^ (1 << byoc_test_below(&random, 8)));
    byoc_status_t status = open_bytes(data, good_size, &diag);
    if (status != BYOC_INVALID_DATA && status != BYOC_VERSION) fail_msg("byte %zu: status %d", at, (int)status);
    assert_true(diag.message[0] != '\0');
    data[at] = good[at];
  }
  data[good_size / 2] ^= 1;
  refuses(data, good_size, "is damaged: it is not what byoc wrote; copy it again, or build it again");
  free(data);
}

static void test_truncated_files_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag;
  for (size_t size = 0; size < good_size; size += size < 64 || size + 48 > good_size ? 1 : 127) {
    if (open_bytes(good, size, &diag) != BYOC_INVALID_DATA) fail_msg("%zu bytes: %s", size, diag.message);
  }
  char part[80];
  snprintf(part, sizeof(part), "is cut off: it has %zu bytes of %zu; copy it again", good_size - 1, good_size);
  refuses(good, good_size - 1, part);
  refuses(good, good_size - sizeof(byoc_seal_t), "an older byoc built it, it is damaged, or a tool such as strip");
}

static void test_longer_files_are_refused(void **state) {
  (void)state;
  char *data = malloc(good_size + 100);
  assert_non_null(data);
  memcpy(data, good, good_size);
  memset(data + good_size, 0, 100);
  refuses(data, good_size + 100, "has 100 more bytes than byoc wrote");
  refuses(data, good_size + 1, "has 1 more bytes than byoc wrote");
  memcpy(data + good_size, good + good_size - 32, 32); // a second seal
  refuses(data, good_size + 32, "is damaged");
  free(data);
}

// A last text that nothing ends does not count: whoever reads it would leave the file.
static void test_metadata_ends_with_a_whole_text(void **state) {
  (void)state;
  static const struct {
    const char *text; // as it stands in C
    size_t size_bytes, whole_bytes;
  } cases[] = {{"one\\0two\\0", 8, 8}, {"one\\0two", 7, 4}, {"one\\0\\0", 5, 5}};
  char *place = path_of("texts.so");
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
    byoc_diag_t diag = {0};
    byoc_artifact_file_t file;
    char text[sizeof(source) + 64];
    snprintf(text, sizeof(text),
             "__attribute__((section(\".byoc.metadata\"))) const char byoc_metadata[%zu] = \"%s\";\n"
             "const char *byoc_artifact_entry(void) { return byoc_metadata; }\n",
             cases[k].size_bytes, cases[k].text);
    link_source(text, "texts.so");
    byoc_test_ok(byoc_compose_seal(place, &diag), &diag);
    byoc_test_ok(byoc_artifact_file_open(place, &diag, &file), &diag);
    assert_string_equal(file.metadata, "one");
    assert_int_equal(file.metadata_end - file.metadata, cases[k].whole_bytes);
    byoc_artifact_file_close(&file);
  }
  free(place);
}

static void test_other_files_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  refuses("#!/bin/sh\n", 10, "not an ELF file");
  refuses("\177ELF", 4, "damaged ELF file: it ends within its header");
  byoc_artifact_file_t file;
  byoc_test_error(byoc_artifact_file_open("/lib/x86_64-linux-gnu/libm.so.6", &diag, &file), BYOC_INVALID_DATA, &diag,
                  "is a shared object, but not an artifact: it lacks byoc_artifact_entry");
  char message[200];
  assert_int_equal(byoc_verify_file(folder, message, sizeof(message)), BYOC_IO);
  assert_non_null(strstr(message, "is not a regular file"));
  assert_int_equal(byoc_verify_file("no/such.so", message, sizeof(message)), BYOC_IO);
  assert_non_null(strstr(message, "'no/such.so' cannot be read: No such file"));
  assert_int_equal(byoc_verify_file("no/such.so", message, 5), BYOC_IO);
  assert_string_equal(message, "'no/");
}

static void test_artifacts_and_models_are_told_apart(void **state) {
  (void)state;
  assert_true(byoc_artifact_is_meant("no/such.so")); // an artifact that is not there, rather than a model
  char *named = path_of("model.onnx");
  byoc_test_ok(byoc_file_write(named, "\x08\x07", 2, NULL), NULL);
  assert_false(byoc_artifact_is_meant(named));
  byoc_test_ok(byoc_file_write(named, good, good_size, NULL), NULL);
  assert_true(byoc_artifact_is_meant(named));
  free(named);
}

// The seal keeps damage out; whoever forges one meets a reader that follows no offset out of the file.
static void test_reader_survives_any_bytes(void **state) {
  (void)state;
  byoc_test_random_t random = {11};
  char *data = malloc(good_size); // of its own, so that a sanitizer sees its end
  assert_non_null(data);
  size_t found = 0;
  for (size_t round = 0; round < 20000; round++) {
    memcpy(data, good, good_size);
    size_t changes = 1 + byoc_test_below(&random, 4);
    for (size_t i = 0; i < changes; i++) {
      // Half of the changes are in the header and in the table of sections, at the end.
      size_t zone = byoc_test_below(&random, 4), at = byoc_test_below(&random, good_size);
      if (zone == 0) at = byoc_test_below(&random, 64);
      if (zone == 1) at = good_size - 1 - byoc_test_below(&random, 2000);
      data[at] = (char)byoc_test_next(&random);
    }
    byoc_elf_t elf;
    byoc_diag_t diag = {0};
    const char *metadata = NULL;
    if (byoc_artifact_metadata_find(data, good_size, "m.so", &diag, &elf, &metadata) != BYOC_OK) {
      assert_true(diag.message[0] != '\0');
    } else {
      assert_true(metadata + strlen(metadata) < data + good_size);
      found++;
    }
  }
  assert_true(found > 0 && found < 20000);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hash_is_xxh64),
      cmocka_unit_test(test_seal_is_as_documented),
      cmocka_unit_test(test_metadata_is_read),
      cmocka_unit_test(test_the_seal_of_what_was_read_is_checked),
      cmocka_unit_test(test_build_id_names_the_content),
      cmocka_unit_test(test_flipped_bytes_are_refused),
      cmocka_unit_test(test_truncated_files_are_refused),
      cmocka_unit_test(test_longer_files_are_refused),
      cmocka_unit_test(test_metadata_ends_with_a_whole_text),
      cmocka_unit_test(test_other_files_are_refused),
      cmocka_unit_test(test_artifacts_and_models_are_told_apart),
      cmocka_unit_test(test_reader_survives_any_bytes),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
