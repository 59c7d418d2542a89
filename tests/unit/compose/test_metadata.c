// SPDX-License-Identifier: Apache-2.0
// The hash of a runtime module in an artifact's metadata covers everything that the module holds.
#include <jansson.h>
#include <stdio.h>

#include "core/compose/host_c.h"
#include "tests/support/support.h"

enum { HASH_SIZE = 64 };

// Gives the module one thing to hold. Returns what it is; NULL behind the last one.
static const char *give(byoc_runtime_module_t *m, int which) {
  static const uint8_t bytes[4] = {1, 2, 3, 4};
  static char words[32][8];
  byoc_diag_t diag = {0};
  const byoc_allocator_t memory = byoc_arena_allocator(&m->arena);
  const byoc_file_content_t content = {.name = "x", .data = bytes, .size_bytes = sizeof(bytes)};
  const byoc_device_form_t form = {
      .format = "f", .architecture = "a", .options = "o", .data = bytes, .size_bytes = sizeof(bytes)};
  const byoc_bound_constant_t constant = {.data = bytes, .size_bytes = sizeof(bytes) - 1};
  char *word = words[which];
  snprintf(word, sizeof(words[which]), "w%d", which);
#define GIVE(field)                                                                                                    \
  m->field = word;                                                                                                     \
  return #field
#define PUSH(field, value)                                                                                             \
  assert_true(byoc_vector_push(&m->field, memory, value));                                                             \
  return #field
  switch (which) {
  case 0:
    return "nothing";
  case 1:
    GIVE(source);
  case 2:
    GIVE(compiler);
  case 3:
    GIVE(json);
  case 4:
    GIVE(setup_symbol);
  case 5:
    GIVE(engine_symbol);
  case 6:
    GIVE(packed_symbol);
  case 7:
    GIVE(engine_name);
  case 8:
    GIVE(driver_symbol);
  case 9:
    GIVE(driver_name);
  case 10:
    PUSH(flags, word);
  case 11:
    PUSH(needed, word);
  case 12:
    PUSH(search, word);
  case 13:
    PUSH(entries, word);
  case 14:
    PUSH(variants, form);
  case 15:
    PUSH(constants, constant);
  case 16:
    byoc_test_ok(byoc_runtime_module_add_symbol(m, word, &diag), &diag);
    return "symbols";
  case 17:
    byoc_test_ok(byoc_runtime_module_add_file(m, &content, false, &diag), &diag);
    return "files";
  case 18:
    byoc_test_ok(byoc_runtime_module_add_file(m, &content, true, &diag), &diag);
    return "blobs";
  default:
    return NULL;
  }
}

// The hash of a module that holds this; returns what it is.
static const char *hash_of(int which, char hash[HASH_SIZE]) {
  byoc_diag_t diag = {0};
  const byoc_allocator_t system = byoc_allocator_system();
  byoc_host_program_t *program = NULL;
  byoc_runtime_module_t *module = NULL;
  byoc_data_layout_t layout;
  char *text = NULL;
  byoc_test_ok(byoc_host_program_create(NULL, "p", system, &diag, &program), &diag);
  byoc_test_ok(byoc_runtime_module_create(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, "m", "t", system, &diag, &module), &diag);
  const char *what = give(module, which);
  assert_true(byoc_vector_push(&program->libraries, system, module));
  byoc_test_ok(byoc_data_layout_create((const byoc_host_program_t *const[]){program}, 1, false, system, &diag, &layout),
               &diag);
  const byoc_compose_options_t options = {.model_name = "model"};
  byoc_test_ok(byoc_compose_metadata(program, &options, &layout, NULL, system, &diag, &text), &diag);
  json_t *root = json_loads(text, 0, NULL);
  const char *found = json_string_value(json_object_get(json_array_get(json_object_get(root, "modules"), 0), "hash"));
  assert_non_null(found);
  assert_true(strlen(found) > 8 && strlen(found) < HASH_SIZE);
  strcpy(hash, found);
  json_decref(root);
  byoc_free(system, text);
  byoc_data_layout_deinit(&layout);
  byoc_runtime_module_release(module);
  byoc_host_program_destroy(program);
  return what;
}

static void every_field_counts(void **state) {
  (void)state;
  char hashes[32][HASH_SIZE], again[HASH_SIZE];
  int count = 0;
  for (const char *what; (what = hash_of(count, hashes[count])) != NULL; ++count) {
    (void)hash_of(count, again);
    assert_string_equal(hashes[count], again);
    for (int k = 0; k < count; ++k) {
      if (strcmp(hashes[k], hashes[count]) == 0) fail_msg("a module with '%s' has the hash of another one", what);
    }
  }
  assert_int_equal(count, 19);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_field_counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
