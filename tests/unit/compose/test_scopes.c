// SPDX-License-Identifier: Apache-2.0
// Symbols of modules in one link: those of one name in two modules, whatever kind of symbol they are; files that
// several modules share; names of the program and of the system.
#include "tests/unit/compose/demo.h"

#include <dlfcn.h>

#include "core/compose/c/addresses.h"
#include "core/compose/cc/scopes.h"
#include "core/module/linkage.h"

enum { MAX_MODULES = 4 };

typedef struct link_t {
  char *folder;
  byoc_graph_module_t *graph;
  byoc_runtime_module_t *modules[MAX_MODULES];
  size_t count;
  byoc_link_files_t files;
  void *handle;
  void *const *addresses;
} link_t;

static void begin(link_t *link) {
  byoc_diag_t diag = {0};
  *link = (link_t){.folder = byoc_test_folder()};
  byoc_test_ok(byoc_graph_module_create(byoc_allocator_system(), &diag, &link->graph), &diag);
  byoc_link_files_init(&link->files, link->folder, byoc_allocator_system());
}

static byoc_runtime_module_t *add_module(link_t *link, const char *name, const char *target, const char *symbol) {
  byoc_diag_t diag = {0};
  byoc_runtime_module_t *module = NULL;
  byoc_test_ok(byoc_runtime_module_create(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, name, target, byoc_allocator_system(),
                                          &diag, &module),
               &diag);
  byoc_test_ok(byoc_runtime_module_add_symbol(module, symbol, &diag), &diag);
  byoc_test_ok(byoc_graph_module_add_runtime_module(link->graph, module, &diag), &diag);
  return link->modules[link->count++] = module;
}

// Links all modules; link->addresses holds the first symbol of each.
static byoc_status_t try_link(link_t *link, byoc_diag_t *diag) {
  byoc_allocator_t system = byoc_allocator_system();
  const char *symbols[MAX_MODULES];
  for (size_t i = 0; i < link->count; ++i) {
    const byoc_runtime_module_t *module = link->modules[i];
    byoc_test_ok(byoc_link_files_add_module(&link->files, module, NULL, diag), diag);
    symbols[i] = byoc_linkage_name(link->graph, module, module->symbols.data[0], &link->files.arena);
  }
  char *output = demo_output(link->folder);
  byoc_status_t status =
      byoc_link_addresses(&link->files, link->graph, symbols, link->count, NULL, output, system, diag);
  if (status == BYOC_OK) {
    link->handle = dlopen(output, RTLD_NOW | RTLD_LOCAL);
    if (link->handle == NULL) fail_msg("%s", dlerror());
    link->addresses = dlsym(link->handle, BYOC_ADDRESSES);
    assert_non_null(link->addresses);
  }
  free(output);
  return status;
}

static int call(const link_t *link, size_t module, int argument) {
  int (*function)(int) = NULL;
  memcpy(&function, &link->addresses[module], sizeof(function));
  return function(argument);
}

static void end(link_t *link) {
  if (link->handle != NULL) (void)dlclose(link->handle);
  byoc_link_files_deinit(&link->files);
  for (size_t i = 0; i < link->count; ++i) byoc_runtime_module_release(link->modules[i]);
  byoc_graph_module_destroy(link->graph);
  byoc_test_ok(byoc_remove_tree(link->folder, NULL), NULL);
  free(link->folder);
}

// Links; the first two modules make these numbers of 7.
static void expect_results(link_t *link, int first, int second) {
  byoc_diag_t diag = {0};
  byoc_test_ok(try_link(link, &diag), &diag);
  assert_int_equal(call(link, 0, 7), first);
  assert_int_equal(call(link, 1, 7), second);
}

// Two modules from one source, in an archive or not, with FACTOR 2 and 3; each must get its own result.
static void expect_apart(const char *text, bool archive) {
  link_t link;
  begin(&link);
  for (int factor = 2; factor <= 3; ++factor) {
    char source[4096], target[32];
    snprintf(source, sizeof(source), "#define FACTOR %d\n#define TEXT_OF(x) #x\n#define TEXT(x) TEXT_OF(x)\n%s", factor,
             text);
    snprintf(target, sizeof(target), "demo -f=%d", factor);
    byoc_runtime_module_t *module = add_module(&link, factor == 2 ? "demo" : "demo_1", target, "entry");
    demo_add_object(module, "one.o", source, archive);
  }
  expect_results(&link, 14, 21);
  end(&link);
}

// Defect 11: a helper of one name in two modules, whichever kind of symbol it is.
static void test_symbols_of_one_name(void **state) {
  (void)state;
  static const char *const sources[] = {
      "__attribute__((noinline)) int helper(int x) { return FACTOR * x; }\nint entry(int x) { return helper(x); }\n",
      "__attribute__((weak)) int helper(int x) { return FACTOR * x; }\nint entry(int x) { return helper(x); }\n",
      "int factor = FACTOR;\nint entry(int x) { return factor * x; }\n",
      "__attribute__((common)) int factor;\nint entry(int x) { factor = FACTOR; return factor * x; }\n",
      "__thread int factor = FACTOR;\nint entry(int x) { return factor * x; }\n",
      ("static int times(int x) { return FACTOR * x; }\n"
       "static int (*choose(void))(int) { return times; }\n"
       "int helper(int x) __attribute__((ifunc(\"choose\")));\nint entry(int x) { return helper(x); }\n"),
      // What C++ makes of an inline function: one of each group is kept, by its signature.
      ("__asm__(\".section .text.inlined,\\\"axG\\\",@progbits,inlined,comdat\\n.weak inlined\\n.type "
       "inlined,@function\\n\"\n"
       "        \"inlined: imull $\" TEXT(FACTOR) \",%edi,%eax\\nret\\n.previous\\n\");\n"
       "int inlined(int x);\nint entry(int x) { return inlined(x); }\n"),
      // A signature that is no function of the group, as constructors have.
      ("__asm__(\".section .text.made,\\\"axG\\\",@progbits,signature,comdat\\n.weak made\\n.type made,@function\\n\"\n"
       "        \"made: imull $\" TEXT(FACTOR) \",%edi,%eax\\nret\\n.previous\\n\");\n"
       "int made(int x);\nint entry(int x) { return made(x); }\n"),
      ("int helper_one(int x);\nint helper_one(int x) { return FACTOR * x; }\n"
       "__asm__(\".symver helper_one,helper@@V1\\n\");\nint helper(int x);\nint entry(int x) { return helper(x); }\n"),
  };
  for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); ++i) {
    expect_apart(sources[i], false);
    expect_apart(sources[i], true);
  }
}

// A reference from one archive of a module to another of the same module.
static void test_archives_of_one_module(void **state) {
  (void)state;
  link_t link;
  begin(&link);
  for (int factor = 2; factor <= 3; ++factor) {
    char helper[128];
    snprintf(helper, sizeof(helper), "int helper(int x) { return %d * x; }\n", factor);
    byoc_runtime_module_t *module = add_module(&link, factor == 2 ? "a" : "b", factor == 2 ? "a" : "b", "entry");
    demo_add_object(module, "entry.a", "int helper(int x);\nint entry(int x) { return helper(x); }\n", true);
    demo_add_object(module, "helper.a", helper, true);
  }
  expect_results(&link, 14, 21);
  end(&link);
}

// Two modules of one target refer to each other's symbols, beside another target that has the same ones.
static void test_modules_of_one_target(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  for (int factor = 2; factor <= 3; ++factor) {
    char helper[128];
    const char *target = factor == 2 ? "demo" : "demo -f=3";
    snprintf(helper, sizeof(helper), "int helper(int x) { return %d * x; }\n", factor);
    demo_add_object(add_module(&link, factor == 2 ? "glue" : "glue_1", target, "entry"), "entry.o",
                    "int helper(int x);\nint entry(int x) { return helper(x); }\n", false);
    demo_add_object(add_module(&link, factor == 2 ? "lib" : "lib_1", target, "helper"), "helper.o", helper, false);
  }
  byoc_test_ok(try_link(&link, &diag), &diag);
  assert_int_equal(call(&link, 0, 7), 14);
  assert_int_equal(call(&link, 2, 7), 21);
  end(&link);
}

// Equal files are one file, state included; a difference beside them leaves them so, if it does not concern them.
static void test_equal_files_are_shared(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  static const char *const entries[] = {"int common(int x);\nint first(int x) { return common(x); }\n",
                                        "int common(int x);\nint second(int x) { return common(x); }\n"};
  for (int i = 0; i < 2; ++i) {
    byoc_runtime_module_t *module = add_module(&link, i ? "b" : "a", i ? "b" : "a", i ? "second" : "first");
    demo_add_object(module, "entry.o", entries[i], false);
    demo_add_object(module, "common.a", "static int sum;\nint common(int x) { return sum += x; }\n", true);
  }
  byoc_test_ok(try_link(&link, &diag), &diag);
  assert_int_equal(link.files.paths.count, 4); // two entries, one archive, the table of addresses
  assert_int_equal(call(&link, 0, 7), 7);
  assert_int_equal(call(&link, 1, 1), 8);
  end(&link);
}

// A shared archive that calls back into each module: two copies then.
static void test_callbacks_are_not_mixed(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  for (int factor = 2; factor <= 3; ++factor) {
    char source[256];
    snprintf(source, sizeof(source),
             "int common(int x);\nint back(int x) { return %d * x; }\nint entry(int x) { return common(x); }\n",
             factor);
    byoc_runtime_module_t *module = add_module(&link, factor == 2 ? "a" : "b", factor == 2 ? "a" : "b", "entry");
    demo_add_object(module, "entry.o", source, false);
    demo_add_object(module, "common.a", "int back(int x);\nint common(int x) { return back(x); }\n", true);
  }
  byoc_test_ok(try_link(&link, &diag), &diag);
  assert_int_equal(link.files.paths.count, 5);
  assert_int_equal(call(&link, 0, 7), 14);
  assert_int_equal(call(&link, 1, 7), 21);
  end(&link);
}

// One archive set up in two ways is two libraries.
static void test_setups_are_not_shared(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  for (int i = 0; i < 2; ++i) {
    byoc_runtime_module_t *module = add_module(&link, i ? "b" : "a", i ? "b" : "a", "entry");
    demo_add_object(module, "common.a", "static int sum;\nint entry(int x) { return sum += x; }\nint up, down;\n",
                    true);
    module->setup_symbol = i ? "up" : "down";
  }
  byoc_test_ok(try_link(&link, &diag), &diag);
  assert_int_equal(call(&link, 0, 7), 7);
  assert_int_equal(call(&link, 1, 1), 1);
  end(&link);
}

// A module's own sched_yield does not replace everybody else's.
static void test_system_functions_stay(void **state) {
  (void)state;
  link_t link;
  begin(&link);
  demo_add_object(add_module(&link, "a", "a", "first"), "a.o",
                  "__attribute__((noinline)) int sched_yield(void) { return 100; }\n"
                  "int first(int x) { return x + sched_yield(); }\n",
                  false);
  demo_add_object(add_module(&link, "b", "b", "second"), "b.o",
                  "int sched_yield(void);\nint second(int x) { return x + sched_yield(); }\n", false);
  expect_results(&link, 107, 7);
  end(&link);
}

// Without a clash nothing is touched.
static void test_no_clash_no_change(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  demo_add_object(add_module(&link, "a", "a", "first"), "a.a", "int first(int x) { return x; }\n", true);
  demo_add_object(add_module(&link, "b", "b", "second"), "b.a", "int second(int x) { return -x; }\n", true);
  byoc_test_ok(try_link(&link, &diag), &diag);
  for (size_t i = 0; i < 2; ++i) {
    byoc_file_view_t view;
    const byoc_file_bytes_t *file = &link.modules[i]->files.data[0];
    byoc_test_ok(byoc_file_view_open(link.files.paths.data[i], &diag, &view), &diag);
    assert_int_equal(view.size_bytes, file->size_bytes);
    assert_memory_equal(view.data, file->data, view.size_bytes);
    byoc_file_view_close(&view);
  }
  end(&link);
}

// A module's function cannot have the name of one of the program's own symbols.
static void test_names_of_the_program(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  size_t size = 0;
  void *object = demo_object("program", "int entry(int x) { return x; }\n", &size);
  byoc_test_ok(byoc_link_files_add(&link.files, object, size, &diag), &diag);
  demo_add_object(add_module(&link, "a", "the_target", "entry"), "a.o", "int entry(int x) { return -x; }\n", false);
  byoc_test_error(try_link(&link, &diag), BYOC_ALREADY_EXISTS, &diag,
                  "the symbol 'entry' that runtime module 'a' of target 'the_target' lists is the program's own");
  free(object);
  end(&link);
}

// Defect 12: what the linker itself said, and who brought the file that it complains about.
static void test_linker_reason(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  link_t link;
  begin(&link);
  byoc_runtime_module_t *module = add_module(&link, "a", "demo -mixed=1", "entry");
  demo_add_object(module, "user.o", "extern int factor;\nint entry(int x) { return factor * x; }\n", false);
  demo_add_object(module, "lib.a", "__thread int factor = 2;\n", true);
  byoc_test_error(try_link(&link, &diag), BYOC_TOOL, &diag,
                  "factor: TLS definition in 'lib.a' of target 'demo -mixed=1'");
  if (strstr(diag.message, "collect2") != NULL || strstr(diag.message, link.folder) != NULL)
    fail_msg("%s", diag.message);
  end(&link);
}

// Every request for memory on the way to the changed files fails once: none is written with names that are missing.
static void test_renaming_without_memory(void **state) {
  (void)state;
  // The name is so long that each copy of it needs memory of its own.
  static const char text[] = "#define TEXT_OF(x) #x\n#define TEXT(x) TEXT_OF(x)\n"
                             "int helper_one(int x);\nint helper_one(int x) { return FACTOR * x; }\n"
                             "__asm__(\".symver helper_one,\" TEXT(HELPER) \"@@V1\\n\");\n"
                             "int HELPER(int x);\nint entry(int x) { return HELPER(x); }\n";
  link_t link;
  begin(&link);
  for (int factor = 2; factor <= 3; ++factor) {
    char source[9600], target[32];
    snprintf(source, sizeof(source), "#define FACTOR %d\n#define HELPER h%09000d\n%s", factor, 0, text);
    snprintf(target, sizeof(target), "demo -f=%d", factor);
    demo_add_object(add_module(&link, factor == 2 ? "demo" : "demo_1", target, "entry"), "one.o", source, factor == 2);
  }
  bool failed = true;
  for (int64_t n = 0; failed; ++n) {
    byoc_diag_t diag = {0};
    byoc_failing_allocator_t failing = {.base = byoc_allocator_system(), .fail_at = -1};
    byoc_link_files_t files;
    byoc_link_files_init(&files, link.folder, byoc_failing_allocator(&failing));
    for (size_t i = 0; i < link.count; ++i) {
      byoc_test_ok(byoc_link_files_add_module(&files, link.modules[i], NULL, &diag), &diag);
    }
    failing.fail_at = failing.count + n;
    byoc_status_t status = byoc_link_files_write(&files, link.graph, &diag);
    failed = failing.count > failing.fail_at;
    byoc_link_files_deinit(&files);
    if (status != (failed ? BYOC_OUT_OF_MEMORY : BYOC_OK)) fail_msg("request %d: %s", (int)n, diag.message);
    assert_int_equal(failing.live_count, 0);
  }
  end(&link);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_symbols_of_one_name),     cmocka_unit_test(test_archives_of_one_module),
      cmocka_unit_test(test_modules_of_one_target),   cmocka_unit_test(test_equal_files_are_shared),
      cmocka_unit_test(test_callbacks_are_not_mixed), cmocka_unit_test(test_setups_are_not_shared),
      cmocka_unit_test(test_system_functions_stay),   cmocka_unit_test(test_no_clash_no_change),
      cmocka_unit_test(test_names_of_the_program),    cmocka_unit_test(test_linker_reason),
      cmocka_unit_test(test_renaming_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
