// SPDX-License-Identifier: Apache-2.0
// An artifact's metadata: the hash of a runtime module covers everything that the module holds, and what the model
// calls dimensions of its outputs is noted.
#include <jansson.h>
#include <stdio.h>

#include "core/compose/artifact/metadata.h"
#include "core/ir/attribute_names.h"
#include "core/ir/module_text.h"
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

static json_t *metadata_of(const byoc_host_program_t *program) {
  byoc_diag_t diag = {0};
  const byoc_allocator_t system = byoc_allocator_system();
  byoc_data_layout_t layout;
  char *text = NULL;
  byoc_test_ok(byoc_data_layout_create(&program, 1, false, system, &diag, &layout), &diag);
  const byoc_compose_options_t options = {.model_name = "model"};
  byoc_test_ok(byoc_compose_metadata(program, &options, &layout, NULL, system, &diag, &text), &diag);
  json_t *root = json_loads(text, 0, NULL);
  assert_non_null(root);
  byoc_free(system, text);
  byoc_data_layout_deinit(&layout);
  return root;
}

// The hash of a module that holds this; returns what it is.
static const char *hash_of(int which, char hash[HASH_SIZE]) {
  byoc_diag_t diag = {0};
  const byoc_allocator_t system = byoc_allocator_system();
  byoc_host_program_t *program = NULL;
  byoc_runtime_module_t *module = NULL;
  byoc_test_ok(byoc_host_program_create(NULL, "p", system, &diag, &program), &diag);
  byoc_test_ok(byoc_runtime_module_create(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, "m", "t", system, &diag, &module), &diag);
  const char *what = give(module, which);
  assert_true(byoc_vector_push(&program->libraries, system, module));
  json_t *root = metadata_of(program);
  const char *found = json_string_value(json_object_get(json_array_get(json_object_get(root, "modules"), 0), "hash"));
  assert_non_null(found);
  assert_true(strlen(found) > 8 && strlen(found) < HASH_SIZE);
  strcpy(hash, found);
  json_decref(root);
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

// A model's own name for a dimension that the inputs' dimensions make is in the metadata, with how it is made; where
// there is none, nothing is said.
static void names_of_dimensions_are_noted(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const byoc_allocator_t system = byoc_allocator_system();
  byoc_graph_module_t *module = NULL;
  byoc_test_ok(byoc_graph_parse("module {\n"
                                "  func @main(%x : f32[N]) -> (%y : f32[N * 2]) {\n"
                                "    %c = Concat@13(%x, %x) {axis = 0} : f32[N * 2]\n"
                                "    return %c\n"
                                "  }\n"
                                "}\n",
                                "named.ir", system, &diag, &module),
               &diag);
  for (int is_named = 0; is_named < 2; ++is_named) {
    static const char *const notes[] = {"y.0=LONGER"};
    if (is_named) {
      assert_true(byoc_attributes_set_strings(&module->attributes, BYOC_ATTRIBUTE_RESULT_DIMENSIONS, notes, 1));
    }
    byoc_host_program_t *program = NULL;
    byoc_test_ok(byoc_host_program_create(module, "p", system, &diag, &program), &diag);
    const byoc_type_t *type = byoc_graph_module_main(module)->body->results.data[0]->type;
    byoc_host_buffer_t *y = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_OUTPUT, "y", type);
    assert_true(y != NULL && byoc_vector_push(&program->outputs, system, y));
    json_t *root = metadata_of(program);
    const json_t *dimensions = json_object_get(root, "dimensions"), *first = json_array_get(dimensions, 0);
    if (is_named) {
      assert_int_equal(json_array_size(dimensions), 1);
      assert_string_equal(json_string_value(json_object_get(first, "name")), "LONGER");
      assert_string_equal(json_string_value(json_object_get(first, "formula")), "N * 2");
    } else {
      assert_null(dimensions);
    }
    json_decref(root);
    byoc_host_program_destroy(program);
  }
  byoc_graph_module_destroy(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_field_counts),
                                     cmocka_unit_test(names_of_dimensions_are_noted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
