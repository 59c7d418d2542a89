// SPDX-License-Identifier: Apache-2.0
// Libraries from memory (byoc/memory_library.h): each is itself, whatever was opened and closed before; what cannot be
// opened is refused with the reason.
#define _GNU_SOURCE // memfd_create
#include <sys/resource.h>

#include "byoc/memory_library.h"
#include "core/base/file.h"
#include "tests/support/command.h"

typedef struct library_t {
  char *bytes;
  size_t size_bytes;
} library_t;

static char reason[256];

static library_t compile(int number) {
  byoc_test_shell(0, "echo 'int number(void) { return %d; }' | cc -xc -shared -fPIC -o %d.so -", number, number);
  char path[16];
  snprintf(path, sizeof(path), "%d.so", number);
  byoc_diag_t diag = {0};
  library_t library = {0};
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &library.bytes, &library.size_bytes), &diag);
  return library;
}

static void *open_library(const library_t *library) {
  return byoc_memory_library_open("libnumber.so", library->bytes, library->size_bytes, RTLD_NOW | RTLD_LOCAL, reason,
                                  sizeof(reason));
}

static int number_of(void *handle) {
  if (handle == NULL) fail_msg("%s", reason);
  int (*number)(void) = (int (*)(void))(uintptr_t)dlsym(handle, "number");
  assert_non_null(number);
  return number();
}

// Descriptors are used again at once: all of these files have the same one.
static void test_each_library_is_itself(void **state) {
  (void)state;
  enum { COUNT = 4, OPENED = 100 };
  library_t libraries[COUNT];
  void *handles[OPENED];
  for (int i = 0; i < COUNT; ++i) libraries[i] = compile(i);
  const size_t before = byoc_test_count_entries("/proc/self/fd");
  for (int i = 0; i < OPENED; ++i) {
    handles[i] = open_library(&libraries[i % COUNT]);
    assert_int_equal(number_of(handles[i]), i % COUNT);
  }
  assert_int_equal(byoc_test_count_entries("/proc/self/fd"), before);
  for (int i = 0; i < OPENED; ++i) {
    assert_int_equal(number_of(handles[i]), i % COUNT);
    assert_int_equal(dlclose(handles[i]), 0);
  }
  void *again = open_library(&libraries[1]);
  assert_int_equal(number_of(again), 1);
  assert_int_equal(dlclose(again), 0);
  for (int i = 0; i < COUNT; ++i) byoc_free(byoc_allocator_system(), libraries[i].bytes);
}

static void test_refuses_with_the_reason(void **state) {
  (void)state;
  library_t library = compile(7);
  const library_t text = {.bytes = (char *)(uintptr_t) "no library", .size_bytes = 10};
  assert_null(open_library(&text));
  assert_non_null(strstr(reason, "cannot open libnumber.so from memory: "));
  assert_non_null(strstr(reason, "file too short"));

  struct rlimit limit, none;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  void *handle = open_library(&library);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  assert_null(handle);
  assert_string_equal(reason, "cannot open libnumber.so from memory: Too many open files");
  handle = open_library(&library);
  assert_int_equal(number_of(handle), 7);
  assert_int_equal(dlclose(handle), 0);
  byoc_free(byoc_allocator_system(), library.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_library_is_itself),
      cmocka_unit_test(test_refuses_with_the_reason),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
