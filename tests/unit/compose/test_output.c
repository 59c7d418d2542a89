// SPDX-License-Identifier: Apache-2.0
// Files on disk: the same bytes each time, nothing left after a failure, older files untouched.
#include "tests/unit/compose/demo.h"

#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

static byoc_status_t compose(demo_t *demo, const char *path, byoc_diag_t *diag) {
  byoc_compose_options_t options = {
      .output = path, .model_name = "demo", .cpu_features = "", .profile = true, .keep_header = true};
  return byoc_compose_artifact(demo->program, &options, byoc_allocator_system(), diag);
}

static void read_all(const char *folder, const char *name, char **out_data, size_t *out_size) {
  byoc_diag_t diag = {0};
  char *path = byoc_path_join(byoc_allocator_system(), folder, name);
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, out_data, out_size), &diag);
  free(path);
}

// Other folders, other caches, other working and temporary folders.
static void test_same_bytes(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *so[2], *header[2];
  size_t so_size[2], header_size[2];
  char *cwd = getcwd(NULL, 0);
  const char *variables[2] = {"TMPDIR", "BYOC_CACHE_DIR"};
  char *saved[2];
  for (int v = 0; v < 2; v++) saved[v] = getenv(variables[v]) != NULL ? strdup(getenv(variables[v])) : NULL;
  for (int i = 0; i < 2; i++) {
    char *folder = byoc_test_folder(), *temporary = byoc_test_folder(), *cache = byoc_test_folder();
    setenv("TMPDIR", temporary, 1);
    setenv("BYOC_CACHE_DIR", cache, 1);
    assert_int_equal(chdir(i == 0 ? "/" : folder), 0);
    demo_t demo = {0};
    demo_init(&demo);
    char *path = demo_output(folder);
    byoc_test_ok(compose(&demo, i == 0 ? path : "model.so", &diag), &diag);
    assert_int_equal(byoc_test_count_entries(temporary), 0);
    demo_deinit(&demo);
    read_all(folder, "model.so", &so[i], &so_size[i]);
    read_all(folder, "model.h", &header[i], &header_size[i]);
    assert_int_equal(chdir(cwd), 0);
    for (int v = 0; v < 2; v++) {
      if (saved[v] != NULL) setenv(variables[v], saved[v], 1);
      if (saved[v] == NULL) unsetenv(variables[v]);
    }
    byoc_remove_tree(folder, NULL);
    byoc_remove_tree(temporary, NULL);
    byoc_remove_tree(cache, NULL);
    free(path);
    free(folder);
    free(temporary);
    free(cache);
  }
  for (int v = 0; v < 2; v++) free(saved[v]);
  assert_int_equal(so_size[0], so_size[1]);
  assert_memory_equal(so[0], so[1], so_size[0]);
  assert_int_equal(header_size[0], header_size[1]);
  assert_memory_equal(header[0], header[1], header_size[0]);
  assert_null(memmem(so[0], so_size[0], "/tmp", 4));
  assert_null(memmem(so[0], so_size[0], "byoc-test", 9));
  for (int i = 0; i < 2; i++) {
    free(so[i]);
    free(header[i]);
  }
  free(cwd);
}

static void test_source_that_does_not_compile(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {.packed_source = "#error this is on purpose\n"};
  demo_init(&demo);
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_test_ok(byoc_file_write(path, "older", 5, &diag), &diag);
  byoc_test_error(compose(&demo, path, &diag), BYOC_TOOL, &diag, "this is on purpose");
  assert_non_null(strstr(diag.message, "demo_source"));
  assert_int_equal(byoc_test_count_entries(folder), 1);
  char *data = NULL;
  size_t size = 0;
  read_all(folder, "model.so", &data, &size);
  assert_string_equal(data, "older");
  free(data);
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

static void test_symbol_that_is_not_there(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_test_ok(byoc_runtime_module_add_symbol(demo.source, "demo_other", &diag), &diag);
  byoc_test_error(compose(&demo, path, &diag), BYOC_INVALID_DATA, &diag,
                  "runtime module 'demo_source' lists the symbol 'demo_other', but none of its objects defines it");
  assert_int_equal(byoc_test_count_entries(folder), 0);
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_runtime_module_add_symbol(demo.library, "ready", &diag), &diag);
  demo.source->symbols.count--;
  byoc_test_error(compose(&demo, path, &diag), BYOC_INVALID_DATA, &diag, "it is local to its file");
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

static void test_function_that_nobody_defines(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  BYOC_HOST_FOR_EACH(at, demo.program) {
    if (at->op == BYOC_HOST_PACKED) at->symbol = "demo_nowhere";
  }
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_test_error(compose(&demo, path, &diag), BYOC_TOOL, &diag, "undefined reference to `demo_nowhere'");
  assert_int_equal(byoc_test_count_entries(folder), 0);
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

static void test_outputs_that_cannot_be(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_t demo = {0};
  demo_init(&demo);
  char *folder = byoc_test_folder();
  byoc_test_error(compose(&demo, folder, &diag), BYOC_INVALID_ARGUMENT, &diag, "is a folder");
  byoc_diag_clear(&diag);
  byoc_test_error(compose(&demo, "/nowhere/at/all.so", &diag), BYOC_NOT_FOUND, &diag,
                  "the folder '/nowhere/at' does not exist");
  byoc_diag_clear(&diag);
  byoc_test_error(compose(&demo, "/proc/self/model.so", &diag), BYOC_PERMISSION, &diag, "/proc/self");
  byoc_diag_clear(&diag);
  byoc_test_error(compose(&demo, "/dev/full", &diag), BYOC_IO, &diag, "No space left on device");
  byoc_diag_clear(&diag);
  // A compiler that is not there.
  char *path = demo_output(folder);
  char *variable = strdup(getenv("PATH"));
  setenv("PATH", folder, 1);
  byoc_status_t status = compose(&demo, path, &diag);
  setenv("PATH", variable, 1);
  byoc_test_error(status, BYOC_NOT_FOUND, &diag, "no C compiler was found");
  assert_int_equal(byoc_test_count_entries(folder), 0);
  byoc_remove_tree(folder, NULL);
  free(variable);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

// A file system of 16 kB, if this process may mount one.
static void test_full_disk(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder();
  if (mount("none", folder, "tmpfs", 0, "size=16k") != 0) {
    byoc_remove_tree(folder, NULL);
    free(folder);
    byoc_test_skip("a tmpfs cannot be mounted here");
  }
  demo_t demo = {0};
  demo_init(&demo);
  char *path = demo_output(folder);
  char *header = byoc_path_join(byoc_allocator_system(), folder, "model.h");
  byoc_test_ok(byoc_file_write(header, "older", 5, &diag), &diag);
  byoc_status_t status = compose(&demo, path, &diag);
  size_t entries = byoc_test_count_entries(folder);
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(header, byoc_allocator_system(), NULL, &data, &size), NULL);
  umount2(folder, MNT_DETACH);
  byoc_test_error(status, BYOC_IO, &diag, "No space left on device");
  assert_int_equal(entries, 1);
  assert_string_equal(data, "older");
  free(data);
  byoc_remove_tree(folder, NULL);
  free(header);
  free(path);
  free(folder);
  demo_deinit(&demo);
}

// The program's constants cost no more than their bytes, whatever the count of equal ones.
static void test_equal_constants_are_there_once(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  byoc_host_program_t *program = NULL;
  byoc_test_ok(byoc_host_program_create(NULL, "big", system, &diag, &program), &diag);
  const int64_t dims[] = {1 << 20};
  const byoc_type_t *type = byoc_type_tensor_static(&program->arena, BYOC_DTYPE_U8, 1, dims);
  char *data[2];
  for (int i = 0; i < 2; i++) {
    data[i] = malloc(1 << 20);
    assert_non_null(data[i]);
    for (int b = 0; b < 1 << 20; b++) data[i][b] = (char)(b * 31 + b / 256);
    byoc_host_buffer_t *c = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_CONSTANT, "c", type);
    byoc_host_buffer_t *y = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_OUTPUT, i == 0 ? "y" : "z", type);
    c->data = data[i];
    assert_true(byoc_vector_push(&program->outputs, system, y));
    byoc_host_instruction_t *copy = byoc_host_instruction_create(program, NULL, BYOC_HOST_COPY);
    assert_true(byoc_host_add_operand(program, copy, c));
    assert_true(byoc_host_add_result(program, copy, y));
  }
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_compose_options_t options = {.output = path, .model_name = "big"};
  byoc_test_ok(byoc_compose_artifact(program, &options, system, &diag), &diag);
  char *so = NULL;
  size_t size = 0;
  read_all(folder, "model.so", &so, &size);
  assert_true(size > 1 << 20 && size < (1 << 20) + (1 << 18)); // the rest is code
  free(so);
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
  free(data[0]);
  free(data[1]);
  byoc_host_program_destroy(program);
}

static byoc_status_t emit_with(void *argument, byoc_allocator_t allocator) {
  demo_t *demo = argument;
  byoc_diag_t diag = {0};
  byoc_compose_options_t options = {.model_name = "demo", .cpu_features = ""};
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  byoc_status_t status = byoc_compose_emit_c(demo->program, &options, &text, &diag);
  byoc_string_deinit(&text);
  return status;
}

static void test_allocations_fail(void **state) {
  (void)state;
  demo_t demo = {0};
  demo_init(&demo);
  byoc_test_each_allocation_fails(emit_with, &demo, false);
  demo_deinit(&demo);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bytes),
      cmocka_unit_test(test_source_that_does_not_compile),
      cmocka_unit_test(test_symbol_that_is_not_there),
      cmocka_unit_test(test_function_that_nobody_defines),
      cmocka_unit_test(test_outputs_that_cannot_be),
      cmocka_unit_test(test_full_disk),
      cmocka_unit_test(test_equal_constants_are_there_once),
      cmocka_unit_test(test_allocations_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
