// SPDX-License-Identifier: Apache-2.0
// The compiler as a service: objects, the cache, messages, links.
#include "tests/support/support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/compose/cc/compiler.h"

static byoc_status_t compile(const char *source, byoc_diag_t *diag, byoc_bytes_t *out) {
  void *object = NULL;
  byoc_compile_job_t job = {.name = "unit", .source = source};
  byoc_status_t status = byoc_compile(&job, byoc_allocator_system(), diag, &object, &out->size_bytes);
  out->data = object;
  return status;
}

static void release(byoc_bytes_t *bytes) {
  free((void *)(uintptr_t)bytes->data);
}

// A cache of this test's own, and the usual one again.
static char *usual_cache;
static char *fresh_cache(void) {
  char *folder = byoc_test_folder();
  const char *now = getenv("BYOC_CACHE_DIR");
  usual_cache = now != NULL ? strdup(now) : NULL;
  assert_int_equal(setenv("BYOC_CACHE_DIR", folder, 1), 0);
  return folder;
}

static void test_headers_need_no_installation(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_bytes_t object;
  byoc_test_ok(compile("#include \"byoc/call.h\"\n#include \"byoc/engine.h\"\n#include \"byoc/dtype.h\"\n"
                       "#include \"byoc/artifact.h\"\nint f(void) { return BYOC_OK; }\n",
                       &diag, &object),
               &diag);
  assert_true(byoc_is_elf(object.data, object.size_bytes));
  release(&object);
}

static void test_error_shows_the_message(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_bytes_t object;
  byoc_test_error(compile("int f(void) {\n  return missing_name;\n}\n", &diag, &object), BYOC_TOOL, &diag,
                  "source.c:2:10: error: ");
  assert_non_null(strstr(diag.message, "missing_name"));
  assert_non_null(strstr(diag.message, "compiling 'unit'"));
  assert_null(strstr(diag.message, "/byoc-compile"));
  assert_null(object.data);
}

// All of them, line by line.
// Two things of one name are an error where the tests ask for it, and never one of a user.
static void test_hidden_names(void **state) {
  (void)state;
  static const char source[] =
      "int f(int line) {\n  for (int i = 0; i < 3; ++i) {\n    int line = i;\n    (void)line;\n"
      "  }\n  return line;\n}\n";
  const char *now = getenv("BYOC_CHECK_C");
  char *usual = now != NULL ? strdup(now) : NULL;
  byoc_diag_t diag = {0};
  byoc_bytes_t object;
  setenv("BYOC_CHECK_C", "1", 1);
  byoc_test_error(compile(source, &diag, &object), BYOC_TOOL, &diag, "shadows");
  byoc_diag_clear(&diag);
  unsetenv("BYOC_CHECK_C");
  byoc_test_ok(compile(source, &diag, &object), &diag);
  release(&object);
  // What was compiled without the check does not pass for checked.
  setenv("BYOC_CHECK_C", "1", 1);
  byoc_test_error(compile(source, &diag, &object), BYOC_TOOL, &diag, "shadows");
  if (usual == NULL) unsetenv("BYOC_CHECK_C");
  if (usual != NULL) setenv("BYOC_CHECK_C", usual, 1);
  free(usual);
}

static void test_errors_show_their_lines(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_bytes_t object;
  byoc_test_error(compile("#error one\n#error two\n#error three\n", &diag, &object), BYOC_TOOL, &diag,
                  "source.c:1:2: error: #error one");
  assert_non_null(strstr(diag.message, "\nsource.c:2:2: error: #error two\n"));
  assert_non_null(strstr(diag.message, "\nsource.c:3:2: error: #error three\n"));
}

static void drop_cache(char *folder) {
  if (usual_cache != NULL) setenv("BYOC_CACHE_DIR", usual_cache, 1);
  if (usual_cache == NULL) unsetenv("BYOC_CACHE_DIR");
  free(usual_cache);
  usual_cache = NULL;
  if (folder != NULL) byoc_test_ok(byoc_remove_tree(folder, NULL), NULL);
  free(folder);
}

// Finds the one cached object below `folder`.
static void cached_path(const char *folder, char path[4096]) {
  byoc_diag_t diag = {0};
  char **names = NULL;
  size_t count = 0;
  snprintf(path, 4096, "%s/objects", folder);
  for (int level = 0; level < 2; level++) {
    byoc_test_ok(byoc_list_directory(path, byoc_allocator_system(), &diag, &names, &count), &diag);
    assert_int_equal(count, 1);
    strcat(path, "/");
    strcat(path, names[0]);
    byoc_free_names(byoc_allocator_system(), names, count);
  }
}

static void test_cache(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = fresh_cache();
  const char *source = "int cached(int x) { return x * 3; }\n";
  byoc_bytes_t first, second;
  byoc_test_ok(compile(source, &diag, &first), &diag);
  char path[4096];
  cached_path(folder, path);

  // A marker in the entry shows where the second object comes from; a damaged entry is thrown away.
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size), &diag);
  struct stat before, after;
  assert_int_equal(stat(path, &before), 0);
  byoc_test_ok(compile(source, &diag, &second), &diag);
  assert_int_equal(second.size_bytes, first.size_bytes);
  assert_memory_equal(second.data, first.data, first.size_bytes);
  assert_int_equal(stat(path, &after), 0);
  assert_int_equal(before.st_ino, after.st_ino);
  release(&second);
  for (int damage = 0; damage < 3; damage++) {
    size_t bytes = damage == 0 ? size / 2 : damage == 1 ? 3 : size;
    if (damage == 2) data[size - 5] ^= 1;
    byoc_test_ok(byoc_file_write(path, data, bytes, &diag), &diag);
    byoc_test_ok(compile(source, &diag, &second), &diag);
    assert_int_equal(second.size_bytes, first.size_bytes);
    assert_memory_equal(second.data, first.data, first.size_bytes);
    release(&second);
    data[size - 5] ^= damage == 2;
  }
  free(data);
  release(&first);
  drop_cache(folder);
}

// Other flags, other source, other object.
static void test_key(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = fresh_cache();
  const char *flags[] = {"-DN=1", "-DN=2"};
  void *objects[2];
  size_t sizes[2];
  for (int i = 0; i < 2; i++) {
    byoc_compile_job_t job = {
        .name = "k", .source = "int n(void) { return N; }\n", .flags = &flags[i], .flag_count = 1};
    byoc_test_ok(byoc_compile(&job, byoc_allocator_system(), &diag, &objects[i], &sizes[i]), &diag);
  }
  assert_true(sizes[0] != sizes[1] || memcmp(objects[0], objects[1], sizes[0]) != 0);
  free(objects[0]);
  free(objects[1]);
  drop_cache(folder);
}

// ---- precompiled headers ----

static const char root_source[] = "double root(double x) { return sqrt(x); }\n";

static void compile_root(byoc_bytes_t *out) {
  byoc_diag_t diag = {0};
  byoc_compile_job_t job = {.name = "root", .source = root_source, .preamble = "#include <math.h>\n"};
  void *object = NULL;
  byoc_test_ok(byoc_compile(&job, byoc_allocator_system(), &diag, &object, &out->size_bytes), &diag);
  out->data = object;
}

// Compiles once more, not from the cache of objects, and expects the same object.
static void expect_root(const char *folder, const byoc_bytes_t *expected) {
  char objects[4096];
  snprintf(objects, sizeof(objects), "%s/objects", folder);
  if (byoc_is_directory(objects)) byoc_test_ok(byoc_remove_tree(objects, NULL), NULL);
  byoc_bytes_t object;
  compile_root(&object);
  assert_int_equal(object.size_bytes, expected->size_bytes);
  assert_memory_equal(object.data, expected->data, expected->size_bytes);
  release(&object);
}

// The paths of the one preamble, and of its compiled form, below `folder`; false where there is not exactly one.
static bool preamble_paths(const char *folder, char header[4096], char compiled[4096]) {
  byoc_diag_t diag = {0};
  char **names = NULL, path[2048];
  size_t count = 0;
  snprintf(path, sizeof(path), "%s/preambles", folder);
  if (!byoc_is_directory(path)) return false;
  byoc_test_ok(byoc_list_directory(path, byoc_allocator_system(), &diag, &names, &count), &diag);
  bool is_one = count == 4; // sorted: the header, its compiled form, the hash of that, the lock
  if (is_one) {
    snprintf(header, 4096, "%s/%s", path, names[0]);
    snprintf(compiled, 4096, "%s/%s", path, names[1]);
    assert_string_equal(strrchr(names[0], '.'), ".h");
    assert_string_equal(strrchr(names[1], '.'), ".gch");
  }
  byoc_free_names(byoc_allocator_system(), names, count);
  return is_one;
}

// Whether it is there, damaged or out of reach: the object is the same.
static void test_preamble(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = fresh_cache(), header[4096], compiled[4096];
  setenv("BYOC_CACHE_DIR", "/proc/nowhere", 1);
  byoc_bytes_t plain;
  compile_root(&plain);
  drop_cache(folder);
  folder = fresh_cache();
  expect_root(folder, &plain);
  assert_true(preamble_paths(folder, header, compiled));
  struct stat before, after;
  assert_int_equal(stat(compiled, &before), 0);
  expect_root(folder, &plain);
  assert_int_equal(stat(compiled, &after), 0);
  assert_int_equal(before.st_ino, after.st_ino); // not made again
  byoc_test_ok(byoc_file_write(compiled, "damaged", 7, &diag), &diag);
  expect_root(folder, &plain);
  byoc_test_ok(byoc_file_write(compiled, NULL, 0, &diag), &diag);
  expect_root(folder, &plain);
  assert_int_equal(unlink(header), 0);
  expect_root(folder, &plain);
  // Another header in its place, with and without the compiled form of the old one; one that others may write to.
  static const char poison[] = "#include <math.h>\n#define sqrt(x) (x)\n";
  byoc_test_ok(byoc_file_write(header, poison, strlen(poison), &diag), &diag);
  expect_root(folder, &plain);
  byoc_test_ok(byoc_file_write(header, poison, strlen(poison), &diag), &diag);
  assert_int_equal(unlink(compiled), 0);
  expect_root(folder, &plain);
  assert_int_equal(stat(compiled, &before), 0);
  assert_int_equal(chmod(compiled, 0666), 0);
  expect_root(folder, &plain);
  assert_int_equal(stat(compiled, &after), 0);
  assert_int_equal(after.st_mode & 0777, 0600);
  assert_int_equal(unlink(header), 0);
  expect_root(folder, &plain);
  assert_true(preamble_paths(folder, header, compiled));
  release(&plain);
  drop_cache(folder);
}

// A compiler that cannot precompile headers is asked once for each, not for every source.
static void test_preamble_fails_once(void **state) {
  (void)state;
  static const char script[] = "#!/bin/sh\ncase \" $* \" in *c-header*) echo >> \"$(dirname \"$0\")/asked\"; exit 1;; "
                               "esac\nexec cc \"$@\"\n";
  byoc_diag_t diag = {0};
  byoc_allocator_t system = byoc_allocator_system();
  char *cache = fresh_cache(), *folder = byoc_test_folder();
  char *compiler = byoc_path_join(system, folder, "cc"), *asked = byoc_path_join(system, folder, "asked");
  byoc_test_ok(byoc_file_write(compiler, script, strlen(script), &diag), &diag);
  assert_int_equal(chmod(compiler, 0700), 0);
  for (int i = 0; i < 6; ++i) {
    char source[64], preamble[64];
    snprintf(source, sizeof(source), "int number(void) { return HALF + %d; }\n", i);
    snprintf(preamble, sizeof(preamble), "#define HALF %d\n", i / 2);
    const byoc_compile_job_t job = {.name = "number", .source = source, .preamble = preamble, .compiler = compiler};
    void *object = NULL;
    size_t size = 0;
    byoc_test_ok(byoc_compile(&job, system, &diag, &object, &size), &diag);
    free(object);
  }
  struct stat info;
  assert_int_equal(stat(asked, &info), 0);
  assert_int_equal(info.st_size, 3);
  free(compiler);
  free(asked);
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
  drop_cache(cache);
}

// It is part of the key, and it is really what the source begins with.
static void test_preamble_is_read(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = fresh_cache();
  void *object = NULL;
  size_t size = 0;
  byoc_compile_job_t job = {.name = "two", .source = "int two(void) { return TWO; }\n", .preamble = "#define TWO 2\n"};
  byoc_test_ok(byoc_compile(&job, byoc_allocator_system(), &diag, &object, &size), &diag);
  free(object);
  job.preamble = NULL;
  byoc_test_error(byoc_compile(&job, byoc_allocator_system(), &diag, &object, &size), BYOC_TOOL, &diag, "TWO");
  drop_cache(folder);
}

// Without a cache that can be written, compiling goes on.
static void test_unwritable_cache(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = fresh_cache();
  setenv("BYOC_CACHE_DIR", "/proc/nowhere", 1);
  byoc_bytes_t object;
  byoc_test_ok(compile("int uncached(void) { return 8; }\n", &diag, &object), &diag);
  release(&object);
  drop_cache(folder);
}

static void test_deterministic(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const char *source = "#include \"byoc/call.h\"\nconst char *where(void) { return __FILE__; }\n"
                       "static int hidden_static(int x) { return x + 1; }\nint g(int x) { return hidden_static(x); }\n";
  byoc_bytes_t objects[2];
  char *old = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
  for (int i = 0; i < 2; i++) {
    char *cache = fresh_cache();
    char *folder = byoc_test_folder();
    setenv("TMPDIR", folder, 1);
    byoc_test_ok(compile(source, &diag, &objects[i]), &diag);
    if (old != NULL) setenv("TMPDIR", old, 1);
    if (old == NULL) unsetenv("TMPDIR");
    byoc_remove_tree(folder, NULL);
    free(folder);
    drop_cache(cache);
  }
  free(old);
  assert_int_equal(objects[0].size_bytes, objects[1].size_bytes);
  assert_memory_equal(objects[0].data, objects[1].data, objects[0].size_bytes);
  release(&objects[0]);
  release(&objects[1]);
}

static void test_all(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = fresh_cache();
  char sources[12][64], names[12][16];
  byoc_compile_job_t jobs[12];
  byoc_bytes_t objects[12];
  for (int i = 0; i < 12; i++) {
    snprintf(sources[i], sizeof(sources[i]), "int function_%d(void) { return %d; }\n", i, i);
    snprintf(names[i], sizeof(names[i]), "job_%d", i);
    jobs[i] = (byoc_compile_job_t){.name = names[i], .source = sources[i]};
  }
  byoc_test_ok(byoc_compile_all(jobs, 12, 3, byoc_allocator_system(), &diag, objects), &diag);
  for (int i = 0; i < 12; i++) {
    char symbol[32];
    snprintf(symbol, sizeof(symbol), "function_%d", i);
    assert_non_null(memmem(objects[i].data, objects[i].size_bytes, symbol, strlen(symbol) + 1));
    release(&objects[i]);
  }
  jobs[7].source = "broken\n";
  byoc_test_error(byoc_compile_all(jobs, 12, 3, byoc_allocator_system(), &diag, objects), BYOC_TOOL, &diag, "'job_7'");
  for (int i = 0; i < 12; i++) assert_null(objects[i].data);
  drop_cache(folder);
}

static void test_missing_compiler(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *cache = fresh_cache(), *empty = byoc_test_folder();
  char *path = strdup(getenv("PATH"));
  setenv("PATH", empty, 1);
  unsetenv("CC");
  byoc_bytes_t object;
  byoc_status_t status = compile("int x;\n", &diag, &object);
  byoc_compile_job_t job = {.name = "named", .source = "int x;\n", .compiler = "nocc --fast"};
  byoc_diag_t named = {0};
  void *data = NULL;
  size_t size = 0;
  byoc_status_t named_status = byoc_compile(&job, byoc_allocator_system(), &named, &data, &size);
  setenv("PATH", path, 1);
  setenv("CC", "nocc", 1);
  byoc_diag_t of_user = {0};
  byoc_status_t of_user_status = compile("int x;\n", &of_user, &object);
  unsetenv("CC");
  byoc_test_error(of_user_status, BYOC_NOT_FOUND, &of_user, "the compiler 'nocc' of the variable CC was not found");
  byoc_test_error(status, BYOC_NOT_FOUND, &diag, "no C compiler was found");
  assert_non_null(strstr(diag.hint, "Debian package gcc"));
  assert_non_null(strstr(diag.hint, "-cc=PROGRAM"));
  byoc_test_error(named_status, BYOC_NOT_FOUND, &named, "the compiler 'nocc --fast' was not found");
  byoc_remove_tree(empty, NULL);
  drop_cache(cache);
  free(path);
  free(empty);
}

static void test_version(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const char *first = NULL, *second = NULL;
  byoc_test_ok(byoc_c_compiler_version(NULL, &diag, &first), &diag);
  byoc_test_ok(byoc_c_compiler_version(NULL, &diag, &second), &diag);
  assert_true(strlen(first) > 3);
  assert_null(strchr(first, '\n'));
  assert_ptr_equal(first, second);
}

// Two compilers that print a version only to standard error, and one that fails when asked, are told apart by files.
static void test_version_of_files(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder();
  static const char *const scripts[] = {"#!/bin/sh\necho '1.0' >&2\n", "#!/bin/sh\n\necho '1.0' >&2\n",
                                        "#!/bin/sh\necho 'no such option'; exit 1\n"};
  const char *versions[3];
  for (int i = 0; i < 3; ++i) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/cc%d", folder, i);
    byoc_test_ok(byoc_file_write(path, scripts[i], strlen(scripts[i]), &diag), &diag);
    assert_int_equal(chmod(path, 0755), 0);
    byoc_test_ok(byoc_c_compiler_version(path, &diag, &versions[i]), &diag);
    assert_true(byoc_starts_with(versions[i], "without a version, file "));
    for (int k = 0; k < i; ++k) assert_string_not_equal(versions[i], versions[k]);
  }
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  free(folder);
}

static void test_link(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder();
  byoc_allocator_t system = byoc_allocator_system();
  byoc_bytes_t object;
  byoc_test_ok(compile("double sqrt(double);\n__attribute__((visibility(\"default\"))) double shown(double x) { return "
                       "sqrt(x); }\n__attribute__((visibility(\"default\"))) int other(void) { return 1; }\n",
                       &diag, &object),
               &diag);
  char *input = byoc_path_join(system, folder, "in.o"), *output = byoc_path_join(system, folder, "out.so");
  byoc_test_ok(byoc_file_write(input, object.data, object.size_bytes, &diag), &diag);
  release(&object);
  const char *files[] = {input}, *exports[] = {"shown"};
  byoc_link_job_t job = {.output = output, .files = files, .file_count = 1, .exports = exports, .export_count = 1};
  byoc_test_ok(byoc_link_shared(&job, &diag), &diag);
  void *library = dlopen(output, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  assert_non_null(dlsym(library, "shown"));
  assert_null(dlsym(library, "other"));
  dlclose(library);

  byoc_test_ok(
      compile("int nowhere(void);\n__attribute__((visibility(\"default\"))) int shown(void) { return nowhere(); "
              "}\n",
              &diag, &object),
      &diag);
  byoc_test_ok(byoc_file_write(input, object.data, object.size_bytes, &diag), &diag);
  release(&object);
  byoc_test_error(byoc_link_shared(&job, &diag), BYOC_TOOL, &diag, "undefined reference to `nowhere'");
  byoc_remove_tree(folder, NULL);
  free(input);
  free(output);
  free(folder);
}

static byoc_status_t compile_with(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  void *object = NULL;
  size_t size = 0;
  byoc_compile_job_t job = {.name = "unit", .source = "int allocated;\n"};
  byoc_status_t status = byoc_compile(&job, allocator, &diag, &object, &size);
  byoc_free(allocator, object);
  return status;
}

static void test_allocations_fail(void **state) {
  (void)state;
  byoc_test_each_allocation_fails(compile_with, NULL, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_headers_need_no_installation),
      cmocka_unit_test(test_error_shows_the_message),
      cmocka_unit_test(test_hidden_names),
      cmocka_unit_test(test_errors_show_their_lines),
      cmocka_unit_test(test_cache),
      cmocka_unit_test(test_key),
      cmocka_unit_test(test_preamble),
      cmocka_unit_test(test_preamble_is_read),
      cmocka_unit_test(test_unwritable_cache),
      cmocka_unit_test(test_deterministic),
      cmocka_unit_test(test_all),
      cmocka_unit_test(test_missing_compiler),
      cmocka_unit_test(test_version),
      cmocka_unit_test(test_version_of_files),
      cmocka_unit_test(test_link),
      cmocka_unit_test(test_allocations_fail),
      cmocka_unit_test(test_preamble_fails_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
