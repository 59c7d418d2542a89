// SPDX-License-Identifier: Apache-2.0
// Shared objects that ask for older versions of symbols: they load and run, and damaged files are told or left alone.
#include "tests/support/support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/elf_version.h"
#include "core/base/file.h"
#include "core/base/process.h"

static const char source[] =
    "#include <math.h>\n#include <pthread.h>\n#include <string.h>\n"
    "static void *work(void *self) { *(int *)self = 7; return self; }\n"
    "int seven(void) {\n"
    "  int result = 0;\n  pthread_t thread;\n"
    "  if (pthread_create(&thread, 0, work, &result) != 0 || pthread_join(thread, 0) != 0) return -1;\n"
    "  char copy[4];\n  memcpy(copy, &result, (size_t)result - 3);\n  return copy[0];\n}\n";

typedef struct fixture_t {
  char *folder, *path;
  byoc_file_view_t view, libc;
  byoc_elf_t elf, library;
} fixture_t;

// A shared object made from the source; skips where the C library is not one whose symbols moved.
static void begin(fixture_t *f) {
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  *f = (fixture_t){.folder = byoc_test_folder()};
  char *text = byoc_path_join(system, f->folder, "seven.c");
  f->path = byoc_path_join(system, f->folder, "seven.so");
  byoc_test_ok(byoc_file_write(text, source, strlen(source), &diag), &diag);
  const char *const compile[] = {"cc", "-O1", "-shared", "-fPIC", "-fno-builtin", "-U_FORTIFY_SOURCE",
                                 text, "-o",  f->path,   NULL};
  const char *const ask[] = {"cc", "-print-file-name=libc.so.6", NULL};
  byoc_process_result_t result;
  byoc_string_t output;
  byoc_string_init(&output, system);
  byoc_test_ok(byoc_process_run(compile, NULL, NULL, &diag, &result), &diag);
  assert_int_equal(result.exit_code, 0);
  byoc_test_ok(byoc_process_run(ask, NULL, &output, &diag, &result), &diag);
  output.data[strcspn(output.data, "\n")] = '\0';
  free(text);
  byoc_test_ok(byoc_file_view_open(f->path, &diag, &f->view), &diag);
  byoc_test_ok(byoc_elf_open(f->view.data, f->view.size_bytes, "seven.so", &diag, &f->elf), &diag);
  const bool is_there = byoc_file_view_open(output.data, NULL, &f->libc) == BYOC_OK;
  byoc_string_deinit(&output);
  if (is_there) byoc_test_ok(byoc_elf_open(f->libc.data, f->libc.size_bytes, "libc", &diag, &f->library), &diag);
  if (is_there && byoc_elf_has_older_version(&f->library, "pthread_create")) return;
  byoc_test_skip("this C library has libpthread apart");
}

static void end(fixture_t *f) {
  byoc_file_view_close(&f->view);
  byoc_file_view_close(&f->libc);
  byoc_remove_tree(f->folder, NULL);
  free(f->path);
  free(f->folder);
}

static byoc_status_t lower(const fixture_t *f, const byoc_elf_t *elf, byoc_diag_t *diag, byoc_elf_change_t changes[2]) {
  for (int i = 0; i < 2; ++i) byoc_string_init(&changes[i].bytes, byoc_allocator_system());
  return byoc_elf_lower_versions(elf, &f->library, "libc.so.6", diag, changes);
}

static void deinit(byoc_elf_change_t changes[2]) {
  for (int i = 0; i < 2; ++i) byoc_string_deinit(&changes[i].bytes);
}

static bool holds(const void *data, size_t size, const char *text) {
  for (size_t i = 0; i + strlen(text) <= size; ++i) {
    if (memcmp((const char *)data + i, text, strlen(text)) == 0) return true;
  }
  return false;
}

// What memcpy is differs between versions, so that it keeps its own; pthread_create moved, so that it gets the old one.
static void test_lowered_object_runs(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_diag_t diag = {0};
  byoc_elf_change_t changes[2];
  byoc_test_ok(lower(&f, &f.elf, &diag, changes), &diag);
  assert_true(changes[0].bytes.size > 0);
  assert_int_equal(memcmp(changes[0].bytes.data, f.view.data + changes[0].offset, changes[0].bytes.size) != 0, 1);
  assert_true(holds(f.view.data, f.view.size_bytes, "GLIBC_2.34")); // the text of the name stays, nobody points to it
  char *changed = byoc_path_join(byoc_allocator_system(), f.folder, "changed.so");
  byoc_test_ok(byoc_file_write(changed, f.view.data, f.view.size_bytes, &diag), &diag);
  for (int i = 0; i < 2; ++i) {
    const byoc_string_t *bytes = &changes[i].bytes;
    byoc_test_ok(byoc_file_change(changed, changes[i].offset, bytes->data, bytes->size, &diag), &diag);
  }
  deinit(changes);
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  byoc_process_result_t result;
  const char *const show[] = {"readelf", "--version-info", changed, NULL};
  byoc_test_ok(byoc_process_run(show, NULL, &output, &diag, &result), &diag);
  assert_int_equal(result.exit_code, 0);
  assert_null(strstr(output.data, "GLIBC_2.34"));
#if defined(__x86_64__)
  assert_non_null(strstr(output.data, "GLIBC_2.14")); // memcpy
  assert_non_null(strstr(output.data, "GLIBC_2.2.5"));
#endif
  byoc_string_deinit(&output);
  void *library = dlopen(changed, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail_msg("%s", dlerror());
  int (*seven)(void) = NULL;
  void *symbol = dlsym(library, "seven");
  memcpy(&seven, &symbol, sizeof(seven));
  assert_int_equal(seven(), 7);
  dlclose(library);
  // Once more there is nothing to lower.
  byoc_file_view_t again;
  byoc_elf_t elf;
  byoc_test_ok(byoc_file_view_open(changed, &diag, &again), &diag);
  byoc_test_ok(byoc_elf_open(again.data, again.size_bytes, "changed.so", &diag, &elf), &diag);
  byoc_test_ok(lower(&f, &elf, &diag, changes), &diag);
  assert_int_equal(changes[0].bytes.size + changes[1].bytes.size, 0);
  deinit(changes);
  byoc_file_view_close(&again);
  free(changed);
  end(&f);
}

// Any byte of what describes versions may be wrong.
static void test_damaged_objects(void **state) {
  (void)state;
  fixture_t f;
  begin(&f);
  byoc_diag_t diag = {0};
  byoc_elf_change_t changes[2], damaged[2];
  byoc_test_ok(lower(&f, &f.elf, &diag, changes), &diag);
  uint8_t *copy = malloc(f.view.size_bytes);
  assert_non_null(copy);
  memcpy(copy, f.view.data, f.view.size_bytes);
  for (int i = 0; i < 2; ++i) {
    for (size_t k = 0; k < changes[i].bytes.size; ++k) {
      uint8_t *at = &copy[changes[i].offset + k];
      for (int value = 0; value < 3; ++value) {
        const uint8_t before = *at;
        *at = (uint8_t)(value == 0 ? 0xff : value == 1 ? before ^ 1 : 0x7f);
        byoc_elf_t elf;
        byoc_diag_t said = {0};
        byoc_test_ok(byoc_elf_open(copy, f.view.size_bytes, "copy", &said, &elf), &said);
        const byoc_status_t status = lower(&f, &elf, &said, damaged);
        assert_true(status == BYOC_OK || status == BYOC_INVALID_DATA);
        deinit(damaged);
        *at = before;
      }
    }
  }
  free(copy);
  deinit(changes);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lowered_object_runs),
      cmocka_unit_test(test_damaged_objects),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
