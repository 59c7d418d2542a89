// SPDX-License-Identifier: Apache-2.0
// An installed byoc, and nothing of the build tree: a stranger's plugin is built against it and used at once; plugins
// that are not fit to be loaded are refused with the reason, and the others go on working.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/frontend/onnx_write.h"
#include "tests/support/command.h"

#define STRANGER BYOC_TEST_SOURCE_DIR "/tests/install/stranger"
#define BAD      BYOC_TEST_BUILD_DIR "/tests/plugins/bad"

static void write_model(void) {
  byoc_diag_t diag = {0};
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "absolute", 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Neg", "neg", "x", "n");
  byoc_onnx_graph_node(graph, "Abs", "abs", "n", "a");
  byoc_onnx_graph_node(graph, "Sqrt", "sqrt", "a", "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2,3");
  byoc_test_ok(byoc_onnx_model_write(model, "absolute.onnx", &diag), &diag);
  byoc_onnx_model_destroy(model);
}

// The installed programs only; the plugins of the build tree are out of sight.
static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_model();
  byoc_test_shell(0, "cmake --install " BYOC_TEST_BUILD_DIR " --prefix $PWD/prefix > install.log");
  byoc_test_shell(0, "pwd");
  char path[4096], folder[2048];
  snprintf(folder, sizeof(folder), "%.*s", (int)strcspn(byoc_test_output(), "\n"), byoc_test_output());
  snprintf(path, sizeof(path), "%s/prefix/bin:/usr/local/bin:/usr/bin:/bin", folder);
  return setenv("PATH", path, 1) != 0 || unsetenv("BYOC_PLUGIN_PATH") != 0;
}

static void test_installed_tree(void **state) {
  (void)state;
  byoc_test_shell(0, "command -v byoc && byoc targets");
  byoc_test_printed("prefix/bin/byoc");
  byoc_test_printed("cutlass - ");
  byoc_test_printed("cblas - ");
  byoc_test_printed("dnnl - ");
  byoc_test_shell(0, "byoc plugins");
  byoc_test_printed("prefix/lib/byoc/plugins/cutlass.so");
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx && byoc build lenet.onnx --target 'cutlass; dnnl; cblas; c' && "
                     "byoc run lenet.so --random --output-dir o && ls o");
  // It works where it is moved to as well.
  byoc_test_shell(0, "cp -r prefix moved && moved/bin/byoc run lenet.onnx --target 'cutlass; c' --random --expect "
                     "$(ls o | sed 's/.npy//')=o/$(ls o)");
}

static const char *const compilers[] = {"cc -xc -std=c11", "clang -xc -std=c11", "c++ -xc++ -std=c++17",
                                        "clang++ -xc++ -std=c++17"};
enum { COMPILER_COUNT = sizeof(compilers) / sizeof(compilers[0]) };

static bool is_here(const char *compiler) {
  if (byoc_test_try_shell("command -v %.*s", (int)strcspn(compiler, " "), compiler) == 0) return true;
  byoc_test_leave_out("%.*s is not installed", (int)strcspn(compiler, " "), compiler);
  return false;
}

// Each public header is enough for itself.
static void test_headers(void **state) {
  (void)state;
  for (size_t i = 0; i < COMPILER_COUNT; ++i) {
    if (!is_here(compilers[i])) continue;
    byoc_test_shell(0,
                    "for h in prefix/include/byoc/*.h; do echo \"#include \\\"$h\\\"\" > one.c && %s -Wall -Wextra "
                    "-Wpedantic -Werror -I. -Iprefix/include -fsyntax-only one.c || exit 1; done",
                    compilers[i]);
    byoc_test_shell(0,
                    "{ echo 'enum { BYOC_ROWS = 0'; for l in STATE WORD FEATURE LEVEL DOT F32 DOT4; do "
                    "echo \"#define BYOC_ISA_$l(...) + 1\"; done; echo '#define BYOC_ISA(...) + 1'; "
                    "echo '#include \"byoc/isa.def\"'; echo '};'; } > one.c && %s -Wall -Wextra -Wpedantic -Werror "
                    "-Iprefix/include -fsyntax-only one.c",
                    compilers[i]);
  }
}

// No other header than byoc's own is needed, and DLPack's may be there: before byoc's or behind them.
static void test_dlpack(void **state) {
  (void)state;
  for (size_t i = 0; i < COMPILER_COUNT; ++i) {
    if (!is_here(compilers[i])) continue;
    byoc_test_shell(0,
                    "mkdir -p none/dlpack && echo '#error not this one' > none/dlpack/dlpack.h && echo '#include "
                    "<byoc/device_plugin.h>' > alone.c && %s -Werror -Inone -Iprefix/include -fsyntax-only alone.c",
                    compilers[i]);
    if (byoc_test_try_shell("echo '#include <dlpack/dlpack.h>' | cc -xc -fsyntax-only -") != 0) {
      byoc_test_leave_out("there is no dlpack/dlpack.h");
      continue;
    }
    byoc_test_shell(0,
                    "for order in 'dlpack/dlpack byoc/plugin' 'byoc/plugin dlpack/dlpack'; do { for h in $order; do "
                    "echo \"#include <$h.h>\"; done; echo 'int f(DLManagedTensor *m) { return m->dl_tensor.ndim + "
                    "(int)kDLCPU; }'; } > both.c; %s -Werror -Iprefix/include -fsyntax-only both.c || exit 1; done",
                    compilers[i]);
  }
}

// The example that each header opens with compiles with that header alone, and what stands around it here.
static void test_header_examples(void **state) {
  (void)state;
  static const struct {
    const char *header, *before, *after;
  } examples[] = {
      {"artifact", "#include <dlfcn.h>\n#include <stdio.h>\nvoid f(const void *const *inputs, void *const *outputs) {",
       "}"},
      {"call", "", ""},
      {"dlpack", "#include \"byoc/call.h\"\nint64_t f(const byoc_call_t *call) {", "return *first > 0 ? rows : 0; }"},
      {"dtype", "uint64_t f(uint64_t count) {", "return bytes; }"},
      {"engine",
       "static int32_t my_create(const byoc_engine_init_t *init, void **out) { *out = (void *)init; return BYOC_OK; }\n"
       "static void my_destroy(void *self) { (void)self; }\n"
       "static int32_t my_run(void *self, uint32_t index, const byoc_call_t *call) {\n"
       "  return self == 0 || call == 0 ? BYOC_INTERNAL : (int32_t)index;\n}",
       ""},
      {"plugin", "", "int32_t generate(void *self, byoc_codegen_t *codegen) { return self == 0 && codegen == 0; }"},
      {"status",
       "#include <stdio.h>\nstruct table { int32_t (*run)(int, int, int); const char *(*last_error)(int); };\n"
       "void f(const struct table *table, int context, int inputs, int outputs) {",
       "}"},
  };
  for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); ++i) {
    byoc_test_shell(0,
                    "{ echo '#include \"byoc/%s.h\"'; cat <<'END'\n%s\nEND\n"
                    "sed -n '/^#ifndef/q; s,^//   ,,p' prefix/include/byoc/%s.h; echo '%s'; } > example.c",
                    examples[i].header, examples[i].before, examples[i].header, examples[i].after);
    for (size_t c = 0; c < COMPILER_COUNT; ++c) {
      if (!is_here(compilers[c])) continue;
      byoc_test_shell(0, "%s -Wall -Werror -Iprefix/include -fsyntax-only example.c", compilers[c]);
    }
  }
}

static void use_stranger(const char *folder) {
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s byoc targets", folder);
  byoc_test_printed("stranger - Abs as C source");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s byoc build absolute.onnx --target 'stranger; c' -v", folder);
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s byoc build absolute.onnx --target 'stranger; c' --emit=host", folder);
  byoc_test_printed("stranger");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=%s byoc run absolute.onnx --target c --evaluate --random --output-dir r",
                  folder);
  byoc_test_shell(0, "byoc run absolute.so --random --expect y=r/y.npy");
  byoc_test_shell(0,
                  "BYOC_PLUGIN_PATH=%s byoc run absolute.onnx --target 'stranger; c' --evaluate --random --expect "
                  "y=r/y.npy",
                  folder);
}

static void test_by_cmake(void **state) {
  (void)state;
  byoc_test_shell(0, "cmake -S " STRANGER " -B by_cmake -DCMAKE_PREFIX_PATH=$PWD/prefix && cmake --build by_cmake");
  byoc_test_shell(0, "mkdir -p drop && cp by_cmake/stranger.so drop");
  use_stranger("$PWD/drop");
  byoc_test_shell(0, "byoc build absolute.onnx -o given.so --target stranger --plugin by_cmake/stranger.so");
}

static void test_by_pkg_config(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p by_hand && PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig cc -shared -fPIC "
                     "-fvisibility=hidden " STRANGER "/stranger.c $(PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig "
                     "pkg-config --cflags byoc) -o by_hand/stranger.so");
  use_stranger("$PWD/by_hand");
}

// A C++ plugin that is linked without the version script exports the standard library's templates, and is loaded; with
// the flags of byoc-plugin it exports nothing of them.
static void test_a2_a_plugin_linked_by_hand_is_loaded(void **state) {
  (void)state;
  if (!is_here("c++ -xc++")) return;
  byoc_test_shell(0, "mkdir -p cpp && export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig && "
                     "source=prefix/share/byoc/examples/plugins/cpp/unary.cpp && "
                     "c++ -std=c++17 -shared -fPIC -fvisibility=hidden $source $(pkg-config --cflags byoc) -o "
                     "cpp/plain.so && nm -D --defined-only cpp/plain.so | grep -v byoc_plugin_query | grep -q . && "
                     "byoc plugins --load --plugin cpp/plain.so | grep -A1 'loaded *unary'");
  byoc_test_shell(
      0, "export PKG_CONFIG_PATH=$PWD/prefix/lib/pkgconfig && "
         "source=prefix/share/byoc/examples/plugins/cpp/unary.cpp && "
         "c++ -std=c++17 $(pkg-config --cflags byoc-plugin) $source $(pkg-config --libs byoc-plugin) -o "
         "cpp/flags.so && nm -D --defined-only cpp/flags.so > symbols.txt && ! grep -v byoc_plugin_query symbols.txt");
}

// libbyoc shows the functions of byoc/compiler.h and nothing else, finds the plugins wherever the tree is moved, and
// needs no other part of byoc. (examples/compiler is built against it by CMake and by pkg-config.)
static void test_library(void **state) {
  (void)state;
  byoc_test_shell(0, "nm -D --defined-only prefix/lib/libbyoc.so > symbols.txt && ! grep -v ' byoc_compiler_\\| A "
                     "BYOC_0$' symbols.txt");
#ifdef BYOC_SANITIZED
  byoc_test_leave_out("a program without sanitizers cannot load a library with them");
#else
  byoc_test_shell(0,
                  "rm -rf elsewhere && mkdir elsewhere && cp -r prefix/lib elsewhere && cc -std=c11 -Iprefix/include "
                  "prefix/share/byoc/examples/compiler/compile.c -o compile elsewhere/lib/libbyoc.so "
                  "-Wl,-rpath,$PWD/elsewhere/lib && byoc-modelgen lenet -o lenet.onnx && ./compile lenet.onnx "
                  "lenet.so cutlass && byoc run lenet.so --random");
  byoc_test_shell(0, "./compile lenet.onnx lenet.so cutlass | grep 'cutlass [1-9][0-9]* operators'");
#endif
}

// ---- refusals ----

// Listed with the reason, without a word from the plugin; the good one beside it works.
static void assert_refused(const char *path, const char *reason) {
  char listed[200];
  snprintf(listed, sizeof(listed), "%s  (", path); // a warning names it too, in front of the list
  const char *entry = strstr(byoc_test_output(), listed);
  if (entry == NULL) fail_msg("%s is not listed:\n%s", path, byoc_test_output());
  const char *line = strstr(entry, "reason: ");
  const char *next = strstr(entry + strlen(listed), ".so  (");
  if (line == NULL || (next != NULL && line > next)) fail_msg("%s has no reason:\n%s", path, byoc_test_output());
  char text[1000];
  snprintf(text, sizeof(text), "%.*s", (int)strcspn(line, "\n"), line);
  if (strstr(text, reason) == NULL) fail_msg("%s: '%s' does not say '%s'", path, text, reason);
}

static void test_refused_plugins(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p good crowd && mkdir -p -m 777 open && chmod 777 open");
  byoc_test_shell(0, "cp by_hand/stranger.so good && cp by_hand/stranger.so crowd/taken.so && cp by_hand/stranger.so "
                     "open/writable.so && cp " BAD "/bad_constructor_traps.so crowd && echo text > "
                     "crowd/text.so && head -c 3000 good/stranger.so > crowd/torn.so");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=$PWD/good:$PWD/open:$PWD/crowd byoc plugins");
  assert_refused("writable.so", "writable");
  assert_refused("taken.so", "stranger");
  assert_refused("text.so", "");
  assert_refused("torn.so", "");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=$PWD/good:$PWD/open:$PWD/crowd byoc plugins --load");
  assert_refused("bad_constructor_traps.so", "it crashes while it is loaded");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=$PWD/good:$PWD/open:$PWD/crowd byoc targets");
  byoc_test_printed("stranger - ");
  byoc_test_printed("cutlass - ");
  // Asked for by name, it is an error with the reason.
  byoc_test_shell(1, "BYOC_PLUGIN_PATH=$PWD/crowd byoc build absolute.onnx -o b.so --target 'bad; c'");
  byoc_test_printed("target 'bad' cannot be used");
  byoc_test_shell(0, "rm crowd/bad_constructor_traps.so");
  use_stranger("$PWD/good:$PWD/open:$PWD/crowd");
  byoc_test_shell(1, "mkdir -p alone && cp " BAD
                     "/bad_unresolved.so alone && BYOC_PLUGIN_PATH=$PWD/alone byoc plugins --load");
  assert_refused("bad_unresolved.so", "nobody_defines_this");
  int code = byoc_test_try_shell("byoc build absolute.onnx -o b.so --plugin open/writable.so");
  assert_true(code == 1 || code == 2);
  byoc_test_printed("writable");
  assert_false(byoc_file_exists("b.so"));
  // The working folder is never searched.
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=good byoc plugins");
  byoc_test_printed("a relative folder in BYOC_PLUGIN_PATH is passed over");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_installed_tree),
      cmocka_unit_test(test_headers),
      cmocka_unit_test(test_dlpack),
      cmocka_unit_test(test_header_examples),
      cmocka_unit_test(test_by_cmake),
      cmocka_unit_test(test_by_pkg_config),
      cmocka_unit_test(test_a2_a_plugin_linked_by_hand_is_loaded),
      cmocka_unit_test(test_library),
      cmocka_unit_test(test_refused_plugins),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
