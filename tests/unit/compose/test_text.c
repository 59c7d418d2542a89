// SPDX-License-Identifier: Apache-2.0
// What compose writes as text: the C of the host program, the header, the metadata.
#include "tests/unit/compose/demo.h"

#include <stdio.h>

#include <jansson.h>

#include "core/loader/loader.h"

static int run_program(const char *const *argv, const char *folder, byoc_string_t *output) {
  byoc_diag_t diag = {0};
  byoc_process_options_t options = {.directory = folder};
  byoc_process_result_t result;
  byoc_test_ok(byoc_process_run(argv, &options, output, &diag, &result), &diag);
  return result.exit_code;
}

static void test_c_text(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  byoc_compose_options_t options = {.model_name = "demo", .cpu_features = ""};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_ok(byoc_compose_emit_c(demo.program, &options, &text, &diag), &diag);
  const char *expected[] = {
      "status = byoc_k0_add(&calls[0]);\n",
      "  // Mul 'mul'\n  status = demo_scale(&calls[1]);\n  STEP_END(1);\n",
      "int32_t demo_add(int32_t, float, int64_t, double, void *, void *, void *);\n",
      "for (int64_t turn = 0; turn < 2 && status == BYOC_OK; ++turn) status = demo_add(2, 1.0f, 1, 0.0, ",
      "byoc_model_rest(context);\n  status = demo_engine.run(context->instances[0], 0, &calls[2]);\n",
      "memcpy((uint8_t *)outputs[0], workspace",
      "tensors[0].data = (uint8_t *)inputs[0]; // x/in:0\n",
      "// ---- kernels_0.c ----\n",
  };
  for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
    if (strstr(text.data, expected[i]) == NULL) fail_msg("'%s' is not in\n%s", expected[i], text.data);
  }
  assert_null(strstr(text.data, "host_profile"));
  if (getenv("BYOC_TEST_SHOW") != NULL) puts(text.data);
  byoc_string_deinit(&text);
  demo_deinit(&demo);
}

static const byoc_target_kind_t *native_kind(const void *self, const char *name) {
  (void)self;
  return strcmp(name, "c") == 0 ? byoc_target_kind_native() : NULL;
}

// The size of the metadata that the printed C names, for a native target with this compiler.
static long metadata_size_with(const char *compiler) {
  static const char field[] = ".metadata_size_bytes = ";
  const byoc_target_registry_t kinds = {.lookup = native_kind};
  char target[512];
  (void)snprintf(target, sizeof(target), "c -cc=%s", compiler);
  const char *word = target;
  byoc_diag_t diag = {0};
  byoc_target_list_t targets;
  byoc_string_t text;
  demo_t demo = {0};
  demo_init(&demo);
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_ok(byoc_target_list_parse(&word, 1, &kinds, byoc_allocator_system(), &diag, &targets), &diag);
  const byoc_compose_options_t options = {.model_name = "demo", .targets = &targets};
  byoc_test_ok(byoc_compose_emit_c(demo.program, &options, &text, &diag), &diag);
  const char *at = strstr(text.data, field);
  assert_non_null(at);
  const long size = strtol(at + strlen(field), NULL, 10);
  byoc_string_deinit(&text);
  byoc_target_list_deinit(&targets);
  demo_deinit(&demo);
  return size;
}

// The version of the compiler stands in the metadata if there is one, and the C is printed in any case.
static void test_c_is_printed_without_a_compiler(void **state) {
  (void)state;
  static const char script[] = "#!/bin/sh\nexec cc \"$@\"\n";
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder();
  char *here = byoc_path_join(byoc_allocator_system(), folder, "here");
  char *gone = byoc_path_join(byoc_allocator_system(), folder, "gone");
  byoc_test_ok(byoc_file_write_atomic(here, script, sizeof(script) - 1, 0755, &diag), &diag);
  assert_true(metadata_size_with(here) > metadata_size_with(gone) + (long)strlen("compiler"));
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  free(gone);
  free(here);
  free(folder);
}

static void test_conflicting_signatures(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  BYOC_HOST_FOR_EACH(at, demo.program) {
    if (at->op == BYOC_HOST_PACKED) at->symbol = "demo_add";
  }
  byoc_compose_options_t options = {.model_name = "demo"};
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_test_error(byoc_compose_emit_c(demo.program, &options, &text, &diag), BYOC_INVALID_ARGUMENT, &diag,
                  "'demo_add' is called with two signatures");
  byoc_string_deinit(&text);
  demo_deinit(&demo);
}

static const char user_program[] = "#include \"model.h\"\n"
                                   "#include \"model.h\"\n"
                                   "int main(void) {\n"
                                   "  demo_model_t model;\n"
                                   "  demo_context_t context;\n"
                                   "  float x[DEMO_X_IN_0_COUNT] = {1, 2, 3, 4}, y[DEMO_CLASS__COUNT];\n"
                                   "  if (demo_load(\"./missing.so\", &model) == 0) return 1;\n"
                                   "  if (demo_load(\"./model.so\", &model) != 0) {\n"
                                   "    puts(model.message);\n"
                                   "    return 2;\n"
                                   "  }\n"
                                   "  if (demo_create(&model, NULL, &context) != 0) return 3;\n"
                                   "  if (demo_run(&context, x, y) != 0) return 4;\n"
                                   "  printf(\"%g %g %g %g %d\\n\", y[0], y[1], y[2], y[3], (int)sizeof(x) == "
                                   "DEMO_X_IN_0_SIZE_BYTES);\n"
                                   "  demo_destroy(&context);\n"
                                   "  demo_unload(&model);\n"
                                   "  return 0;\n"
                                   "}\n";

static void test_header(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_compose_options_t options = {.output = path, .model_name = "demo", .keep_header = true};
  byoc_test_ok(byoc_compose_artifact(demo.program, &options, byoc_allocator_system(), &diag), &diag);
  assert_int_equal(byoc_test_count_entries(folder), 2);
  char *source = byoc_path_join(byoc_allocator_system(), folder, "user.c");
  byoc_test_ok(byoc_file_write(source, user_program, sizeof(user_program) - 1, &diag), &diag);

  const char *const commands[][14] = {
      {"cc", "-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wshadow", "user.c", "-o", "user", "-ldl",
       NULL},
      {"cc", "-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "user.c", "-o", "user", "-ldl", NULL},
      {"cc", "-x", "c++", "-std=c++17", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "user.c", "-o", "user",
       "-ldl", NULL}};
  for (size_t i = 0; i < 3; i++) {
    if (i == 2 && !byoc_program_exists("c++")) continue;
    byoc_string_t output;
    byoc_string_init(&output, byoc_allocator_system());
    if (run_program(commands[i], folder, &output) != 0) fail_msg("%s", output.data);
    byoc_string_clear(&output);
    char *user = byoc_path_join(byoc_allocator_system(), folder, "user");
    const char *argv[] = {user, NULL};
    int code = run_program(argv, folder, &output);
    if (code != 0) fail_msg("exit code %d: %s", code, output.data);
    assert_string_equal(output.data, "22.5 44.75 66.875 89 1\n");
    free(user);
    byoc_string_deinit(&output);
  }
  byoc_remove_tree(folder, NULL);
  free(source);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

// A program without instructions whose inputs have these names.
static byoc_host_program_t *program_of(const char *const *names, size_t count, bool is_dynamic) {
  byoc_diag_t diag = {0};
  byoc_host_program_t *program = NULL;
  byoc_allocator_t system = byoc_allocator_system();
  byoc_test_ok(byoc_host_program_create(NULL, "p", system, &diag, &program), &diag);
  program->is_dynamic = is_dynamic;
  const byoc_type_t *type = byoc_type_tensor_static(&program->arena, BYOC_DTYPE_F16, 1, (const int64_t[]){4});
  for (size_t i = 0; i < count; i++) {
    byoc_host_buffer_t *buffer = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_INPUT, names[i], type);
    assert_true(byoc_vector_push(&program->inputs, system, buffer));
  }
  return program;
}

// Fails unless the header compiles as what users compile it as.
static void check_compiles(const byoc_string_t *header) {
  static const char *const languages[][3] = {
      {"cc", "c", "-std=c99"}, {"cc", "c", "-std=c11"}, {"c++", "c++", "-std=c++17"}};
  byoc_allocator_t system = byoc_allocator_system();
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), *path = byoc_path_join(system, folder, "model.h");
  byoc_test_ok(byoc_file_write(path, header->data, header->size, &diag), &diag);
  byoc_string_t output;
  byoc_string_init(&output, system);
  for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
    if (!byoc_program_exists(languages[i][0])) continue;
    const char *argv[] = {languages[i][0],
                          "-x",
                          languages[i][1],
                          languages[i][2],
                          "-pedantic-errors",
                          "-Wall",
                          "-Wextra",
                          "-Werror",
                          "-fsyntax-only",
                          "model.h",
                          NULL};
    if (run_program(argv, folder, &output) != 0) fail_msg("%s: %s", languages[i][2], output.data);
  }
  byoc_string_deinit(&output);
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
}

// Names that are no identifiers, occur twice, or mean something to the compiler, the headers or the functions.
static void test_header_names(void **state) {
  (void)state;
  static const char *const any[] = {"a/b", "a_b", "A_B", "int", "context", "stdout", "uint8_t", "_Bool", "co_await"};
  static const char *const numbers[] = {"input", "output", "inputs", "sizes"};
  static const char *const dims[] = {"x", "x_dims", "status", "memset", "byoc_argument_t"};
  static const char *const dims_first[] = {"X_dims", "x"};
  static const struct {
    const char *const *names;
    size_t count;
    bool is_dynamic;
    const char *parameters;
  } cases[] = {
      {any, 9, false,
       "const uint16_t *a_b,\n    const uint16_t *a_b_2,\n    const uint16_t *A_B_3,\n    const uint16_t *int_,\n"
       "    const uint16_t *context_,\n    const uint16_t *stdout_,\n    const uint16_t *uint8_t_,\n"
       "    const uint16_t *_Bool_,\n    const uint16_t *co_await_)"},
      {numbers, 4, false,
       "const uint16_t *input,\n    const uint16_t *output,\n    const uint16_t *inputs_,\n    const uint16_t *sizes)"},
      {dims, 5, true,
       "const uint16_t *x, const int64_t *x_dims /* 1 */,\n"
       "    const uint16_t *x_dims_2, const int64_t *x_dims_2_dims /* 1 */,\n"
       "    const uint16_t *status_, const int64_t *status__dims /* 1 */,\n"
       "    const uint16_t *memset_, const int64_t *memset__dims /* 1 */,\n"
       "    const uint16_t *byoc_argument_t_, const int64_t *byoc_argument_t__dims /* 1 */)"},
      {dims_first, 2, true,
       "const uint16_t *X_dims, const int64_t *X_dims_dims /* 1 */,\n"
       "    const uint16_t *x_2, const int64_t *x_2_dims /* 1 */)"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    byoc_diag_t diag = {0};
    byoc_host_program_t *program = program_of(cases[i].names, cases[i].count, cases[i].is_dynamic);
    const byoc_compose_entry_t entry = {.program = program, .options = {.model_name = "byoc 7\"\\\n"}};
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_test_ok(byoc_compose_emit_header(&entry, 1, &text, &diag), &diag);
    if (strstr(text.data, cases[i].parameters) == NULL) fail_msg("'%s' is not in\n%s", cases[i].parameters, text.data);
    assert_non_null(strstr(text.data, "static inline int32_t model_byoc_7____run("));
    assert_null(strstr(text.data, "#include \"")); // nothing of byoc's
    check_compiles(&text);
    byoc_string_deinit(&text);
    byoc_host_program_destroy(program);
  }
}

static void test_metadata(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_compose_options_t options = {.output = path, .model_name = "d\xc3\xa9mo", .cpu_features = "", .thread_count = 3};
  byoc_test_ok(byoc_compose_artifact(demo.program, &options, byoc_allocator_system(), &diag), &diag);
  assert_int_equal(byoc_test_count_entries(folder), 1); // no header was asked for
  byoc_loaded_artifact_t artifact;
  byoc_test_ok(byoc_artifact_load(path, &diag, &artifact), &diag);
  json_error_t error;
  json_t *root = json_loads(artifact.table->metadata, 0, &error);
  if (root == NULL) fail_msg("%s", error.text);
  assert_string_equal(json_string_value(json_object_get(root, "model")), "d\xc3\xa9mo");
  assert_int_equal(json_integer_value(json_object_get(root, "threads")), 3);
  assert_int_equal(json_array_size(json_object_get(root, "constants")), 2);
  assert_int_equal(json_array_size(json_object_get(root, "modules")), 4);
  json_t *input = json_array_get(json_object_get(root, "inputs"), 0);
  assert_string_equal(json_string_value(json_object_get(input, "type")), "f32[4]");
  json_t *counts = json_object_get(json_object_get(root, "host"), "instructions");
  assert_int_equal(json_integer_value(json_object_get(counts, "kernel")), 1);
  assert_null(artifact.table->profile);
  assert_null(strstr(artifact.table->metadata, "/tmp"));
  json_decref(root);
  byoc_artifact_unload(&artifact);
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c_text),
      cmocka_unit_test(test_c_is_printed_without_a_compiler),
      cmocka_unit_test(test_conflicting_signatures),
      cmocka_unit_test(test_header),
      cmocka_unit_test(test_header_names),
      cmocka_unit_test(test_metadata),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
