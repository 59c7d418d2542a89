// SPDX-License-Identifier: Apache-2.0
// Every subcommand as a user meets it: help, misuse, listings, what build prints.
#include <jansson.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

static json_t *parse_output(void) {
  json_error_t error;
  json_t *value = json_loads(byoc_test_output(), 0, &error);
  if (value == NULL) fail_msg("not JSON (%s): %s", error.text, byoc_test_output());
  return value;
}

static json_t *find_by(json_t *array, const char *key, const char *wanted) {
  size_t index = 0;
  json_t *entry = NULL;
  json_array_foreach(array, index, entry) {
    const char *text = json_string_value(json_object_get(entry, key));
    if (text != NULL && strcmp(text, wanted) == 0) return entry;
  }
  fail_msg("no entry with %s '%s'", key, wanted);
  return NULL;
}

// ---- help and misuse ----

static void test_help(void **state) {
  (void)state;
  static const char *const commands[] = {"build", "run", "bench", "inspect", "targets", "ops", "plugins", "opt"};
  byoc_test_shell(0, "byoc --help");
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) byoc_test_printed(commands[i]);
  byoc_test_shell(0, "byoc --version");
  byoc_test_printed("byoc ");
  byoc_test_shell(0, "byoc --help > long.txt && byoc -h | cmp - long.txt && byoc help");
  byoc_test_printed("byoc COMMAND --help");
  byoc_test_shell(0, "byoc help build");
  byoc_test_printed("usage: byoc build");
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(0, "byoc %s --help > long.txt && byoc %s -h | cmp - long.txt && cat long.txt", commands[i],
                    commands[i]);
    byoc_test_printed("usage: byoc ");
    byoc_test_printed(commands[i]);
    byoc_test_printed("--help");
  }
  byoc_test_shell(0, "byoc opt --help");
  byoc_test_printed("fold-constants");
  byoc_test_shell(0, "byoc-modelgen --help");
  byoc_test_shell(0, "byoc-modelgen --list");
  byoc_test_printed("mobilenet_v2");
}

// Exit code 2, what is wrong, and the nearest match if there is one.
static void test_misuse(void **state) {
  (void)state;
  static const struct {
    const char *line, *message, *hint;
  } rows[] = {
      {"byoc", "usage: byoc", "build"},
      {"byoc biuld x.onnx", "there is no command 'biuld'", "byoc build"},
      {"byoc build", "byoc build needs", "usage: byoc build"},
      {"byoc build a.onnx b.onnx", "does not take the word 'b.onnx'", ""},
      {"byoc build a.onnx --outptu b.so", "does not know the option '--outptu'", "--output"},
      {"byoc build a.onnx -x", "does not know the option '-x'", "--help"},
      {"byoc build a.onnx -o", "--output needs a value", "--output FILE"},
      {"byoc build a.onnx --threads=many", "--threads takes a number from 1 to 256, or", ""},
      {"byoc build a.onnx --threads=-1", "up to 8 increasing ones, as in 1,2,4, not '-1'", ""},
      {"byoc build a.onnx --threads=99999999999", "from 1 to 256", ""},
      {"byoc build a.onnx --threads=2,1", "increasing", ""},
      {"byoc build a.onnx --threads=1,,2", "not '1,,2'", ""},
      {"byoc build a.onnx --threads=1,2,3,4,5,6,7,8,9", "up to 8 increasing ones", ""},
      {"byoc run a.onnx --threads=1,2", "--threads takes a whole number, not '1,2'", ""},
      {"byoc build a.onnx --cost-budget 0", "--cost-budget takes a number above 0, not '0'", ""},
      {"byoc run tiny.onnx --rtol=-1", "--rtol takes a number from 0 on, not '-1'", ""},
      {"byoc help biuld", "there is no command 'biuld'", "byoc build"},
      {"byoc opt tiny.onnx --plan greedy", "does not know the option '--plan'", "--help"},
      {"byoc costs list --older-than 3", "--older-than is for byoc costs prune", ""},
      {"byoc build a.onnx --verbose=yes", "--verbose takes no value", ""},
      {"byoc build tiny.onnx --emit=llvm", "--emit takes ir, host or c, not 'llvm'", ""},
      {"byoc build tiny.onnx --target cutlas", "cutlas", "cutlass"},
      {"byoc build tiny.onnx --target 'c -o=3'", "has no option '-o'", "did you mean '-O'?"},
      {"byoc build tiny.onnx --target 'c -O=9'", "9", "0 to 3"},
      {"byoc build tiny.onnx --target 'cutlass -mcpu=avx51'", "avx51", "avx512"},
      {"byoc build tiny.onnx --dim N", "--dim takes NAME=VALUE", ""},
      {"byoc build tiny.onnx --dim N=x", "--dim takes NAME=VALUE", ""},
      {"byoc run tiny.onnx --rtol tiny", "--rtol takes a number, not 'tiny'", ""},
      {"byoc run tiny.onnx --input 'in/x=x.npy'", "the model has no input 'in/x'", "'in/x:0'"},
      {"byoc run tiny.onnx", "input 'in/x:0' (f32[2,4]) is missing", "--random"},
      {"byoc bench tiny.so --runs 0", "--runs", ""},
      {"byoc targets everything", "does not take the word 'everything'", ""},
      {"byoc targets --json --page", "--json and --page are two forms of one list", ""},
      {"byoc ops Gelo", "there is no operator 'Gelo'", "did you mean 'Gelu'?"},
      {"byoc ops byoc::ToBlokced", "there is no operator 'byoc::ToBlokced'", "did you mean 'byoc::ToBlocked'?"},
      {"byoc ops ai.onnx::Gelo", "there is no operator 'ai.onnx::Gelo'", "did you mean 'Gelu'?"},
      {"byoc explain tiny.onnx --collage-depth 0", "--collage-depth takes a whole number from 1 to 64, not '0'", ""},
      {"byoc explain tiny.onnx --collage-nodes=0", "--collage-nodes takes a whole number from 1 to 64, not '0'", ""},
      {"byoc opt tiny.onnx --passes=fold-constnats", "there is no pass 'fold-constnats'", "fold-constants"},
      {"byoc build tiny.onnx --print-after=simplfy", "simplfy", "simplify"},
      {"byoc-modelgen", "--help", ""},
      {"byoc-modelgen resnet51 -o x.onnx", "resnet51", "resnet50"},
  };
  write_tiny("tiny.onnx", "2");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(2, "%s", rows[i].line);
    byoc_test_printed(rows[i].message);
    byoc_test_printed(rows[i].hint);
  }
  assert_false(byoc_file_exists("x.onnx"));
  assert_false(byoc_file_exists("tiny.so"));
}

// ---- listings ----

// What rules see of a model: spellings are one, what changes nothing is gone.
static void test_ops_after_simplify(void **state) {
  (void)state;
  byoc_test_shell(0, "cat > seen.byoc <<'END'\n"
                     "module {\n"
                     "  constant @w : f32[3] = [1.0, 2.0, 3.0]\n"
                     "  func @main(%%a : f32[2,3], %%b : f32[2,3]) -> (%%y : f32[2,3]) {\n"
                     "    %%0 = Sum@13(%%a, %%b) : f32[2,3]\n"
                     "    %%1 = Identity@13(%%0) : f32[2,3]\n"
                     "    %%2 = Relu@14(%%1) : f32[2,3]\n"
                     "    %%3 = Relu@14(%%b) : f32[2,3]\n"
                     "    %%4 = Mul@14(%%2, @w) : f32[2,3]\n"
                     "    %%y = Add@14(%%4, %%3) : f32[2,3]\n"
                     "    return %%y\n"
                     "  }\n"
                     "}\n"
                     "END");
  byoc_test_shell(0, "byoc ops --after-simplify seen.byoc");
  byoc_test_printed("Add(_, _)      14     2 f32     ");
  byoc_test_printed("Mul(_, @)      14     1 f32     ");
  byoc_test_printed("Relu(_)        14     2 f32     ");
  assert_null(strstr(byoc_test_output(), "Sum"));
  assert_null(strstr(byoc_test_output(), "Identity"));
  byoc_test_shell(0, "byoc ops --after-simplify seen.byoc --json");
  json_t *ops = parse_output();
  assert_int_equal(json_array_size(ops), 3);
  assert_int_equal(json_integer_value(json_object_get(find_by(ops, "operator", "Relu"), "nodes")), 2);
  json_decref(ops);
  byoc_test_shell(2, "byoc ops Relu --after-simplify seen.byoc");
  byoc_test_printed("'Relu' is one word too many");
  byoc_test_shell(1, "byoc ops --after-simplify nowhere.onnx");
}

static void test_ops(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc ops");
  byoc_test_printed("LeakyRelu");
  byoc_test_printed("byoc::ToBlocked");
  byoc_test_shell(0, "byoc ops LeakyRelu Pad");
  byoc_test_printed("  version 16  1 operand, 1 result\n");
  byoc_test_printed("    alpha                          a float, default 0.01\n");
  byoc_test_printed("one of \"constant\", \"reflect\", \"edge\", \"wrap\", since version 18\n");
  byoc_test_printed("  targets     cutlass, dnnl");
  byoc_test_shell(0, "byoc ops ai.onnx::LeakyRelu"); // as messages write the domain
  byoc_test_printed("LeakyRelu\n  version 6 ");
  byoc_test_shell(0, "byoc ops ::LeakyRelu"); // the domain of ONNX's own operators is empty
  byoc_test_printed("  version 16  1 operand, 1 result\n");
  byoc_test_shell(0, "byoc ops --json");
  json_t *ops = parse_output();
  json_t *conv = find_by(ops, "operator", "Conv");
  json_t *versions = json_object_get(conv, "versions");
  json_t *last = json_array_get(versions, json_array_size(versions) - 1);
  assert_int_equal(json_integer_value(json_object_get(last, "version")), 22);
  assert_int_equal(json_integer_value(json_array_get(json_object_get(last, "operands"), 1)), 3);
  assert_string_equal(json_string_value(json_object_get(last, "work")), "convolution");
  json_t *padding = find_by(json_object_get(last, "attributes"), "name", "auto_pad");
  assert_string_equal(json_string_value(json_object_get(padding, "default")), "NOTSET");
  assert_string_equal(json_string_value(json_array_get(json_object_get(padding, "allowed"), 3)), "VALID");
  assert_true(json_array_size(json_object_get(conv, "targets")) >= 2);
  json_decref(ops);
  byoc_test_shell(1, "byoc ops > /dev/full");
}

static void test_targets(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc targets");
  byoc_test_printed("c - ");
  byoc_test_printed("cutlass - ");
  byoc_test_printed("-tune_trials=int");
  byoc_test_printed("-deploy=bundle|system");
  byoc_test_shell(0, "byoc targets --page");
  byoc_test_printed("\n## c\n\n");
  byoc_test_printed("\n| `-O` | int, 0 to 3 | `3` | optimisation level of the C compiler |\n");
  byoc_test_shell(0, "byoc targets --json");
  json_t *targets = parse_output();
  static const char *const names[] = {"c", "cutlass", "dnnl", "cblas"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    json_t *target = find_by(targets, "target", names[i]);
    assert_true(json_is_array(json_object_get(target, "options")));
    assert_true(strlen(json_string_value(json_object_get(target, "description"))) > 0);
  }
  json_t *level = find_by(json_object_get(find_by(targets, "target", "c"), "options"), "name", "O");
  assert_string_equal(json_string_value(json_object_get(level, "type")), "int");
  assert_int_equal(json_integer_value(json_object_get(level, "maximum")), 3);
  json_decref(targets);
}

static void test_plugins(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc plugins");
  byoc_test_printed("cutlass");
  byoc_test_shell(0, "byoc plugins --json");
  json_t *plugins = parse_output();
  json_t *entry = find_by(plugins, "name", "cblas");
  assert_string_equal(json_string_value(json_object_get(entry, "state")), "found");
  assert_string_equal(json_string_value(json_object_get(entry, "targets")), "cblas");
  assert_true(json_is_object(json_object_get(entry, "abi")));
  json_decref(plugins);
  byoc_test_shell(0, "byoc plugins --load --json");
  plugins = parse_output();
  entry = find_by(plugins, "name", "cblas");
  assert_string_equal(json_string_value(json_object_get(entry, "state")), "loaded");
  json_decref(plugins);
}

// Its `prepare` stands beyond the end of its struct, and would end the process.
static void test_older_plugin(void **state) {
  (void)state;
  byoc_test_shell(0, "printf '%s' > neg.byoc",
                  "module {\\n  func @main(%%x : f32[8]) -> (%%y : f32[8]) {\\n    %%y = Neg@13(%%x) : f32[8]\\n"
                  "    return %%y\\n  }\\n}\\n");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good byoc run neg.byoc --plan=greedy "
                     "--target 'older; c' --random -v 2>&1 | grep 'placed older 1 operator in 1 region,'");
}

static void test_inspect(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc inspect tiny.onnx");
  byoc_test_printed("input  in/x:0 : f32[2,4]");
  byoc_test_printed("MatMul");
  byoc_test_shell(0, "byoc inspect tiny.onnx --json");
  json_t *model = parse_output();
  assert_string_equal(json_string_value(json_object_get(model, "kind")), "model");
  assert_int_equal(json_integer_value(json_object_get(json_object_get(model, "operators"), "Relu")), 1);
  json_decref(model);
  byoc_test_shell(0, "byoc build tiny.onnx -o tiny.so && byoc inspect tiny.so");
  byoc_test_printed("output out/y:0 : f32[2,3]");
  byoc_test_no_line("[{]"); // for people: no JSON
  byoc_test_shell(0, "byoc inspect tiny.so --json");
  json_t *artifact = parse_output();
  assert_string_equal(json_string_value(json_object_get(artifact, "kind")), "artifact");
  json_t *input = find_by(json_object_get(artifact, "inputs"), "name", "in/x:0");
  assert_int_equal(json_integer_value(json_array_get(json_object_get(input, "dims"), 1)), 4);
  assert_int_equal(json_integer_value(json_object_get(input, "size_bytes")), 32);
  assert_true(json_is_object(json_object_get(artifact, "metadata")));
  json_decref(artifact);
}

// Dimensions are called what the model calls them, wherever people read them.
static void test_dimensions_have_the_names_of_the_model(void **state) {
  (void)state;
  write_frames("frames.onnx");
  byoc_test_shell(0, "byoc inspect frames.onnx");
  byoc_test_printed("input  x : f32[1,2,T]\noutput half : f32[1,2,frames]\n");
  byoc_test_printed("output first : f32[1,2,T]\noutput places : i64[3,hits]\n");
  byoc_test_shell(0, "byoc explain frames.onnx -t c");
  byoc_test_printed("f32[1,2,frames]");
  byoc_test_printed("i64[3,hits]");
  byoc_test_shell(0, "byoc build frames.onnx -o frames.so -t c && byoc inspect frames.so");
  byoc_test_printed("output half : f32[1,2,frames], frames = floordiv(T + 1, 2)\n");
  byoc_test_printed("output first : f32[1,2,T], T = min(T, 16)\n");
  byoc_test_printed("output places : i64[3,hits]\n");
  byoc_test_shell(0, "grep -c 'Output \"half\": f32\\[1,2,frames\\], frames = floordiv(T + 1, 2)' frames.h");
  byoc_test_shell(0, "byoc inspect frames.so --json");
  json_t *artifact = parse_output();
  json_t *outputs = json_object_get(artifact, "outputs");
  const json_t *half = find_by(outputs, "name", "half"), *places = find_by(outputs, "name", "places");
  assert_string_equal(json_string_value(json_array_get(json_object_get(half, "dims"), 2)), "frames");
  assert_string_equal(json_string_value(json_array_get(json_object_get(places, "dims"), 1)), "hits");
  json_decref(artifact);
  // Names say that sizes are equal to those who feed the artifact, so that "first" has a formula there.
  byoc_test_shell(0, "strings frames.so | grep -x 'min(T, 16)' && strings frames.so | grep -x frames");
  byoc_test_shell(0, "byoc run frames.so --random --dim T=21");
  byoc_test_shell(0, "byoc build frames.onnx -o fixed.so -t c --dim T=21 && byoc inspect fixed.so");
  byoc_test_printed("output half : f32[1,2,11]");
}

// ---- what build prints ----

static void test_emit(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx --emit=ir --target 'dnnl; c'");
  byoc_test_printed("Compiler = \"dnnl\"");
  byoc_test_shell(0, "byoc build vision.onnx --emit=host");
  byoc_test_printed("host program \"vision\"");
  byoc_test_printed("kernel ");
  byoc_test_shell(0, "byoc build vision.onnx --emit=c -o vision.c");
  assert_false(byoc_file_exists("vision.so"));
  byoc_test_shell(0, "byoc build vision.onnx --emit=c | cmp - vision.c");
  // The C that a backend handed back is shown, with its flags, and does not disturb the rest.
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good byoc build vision.onnx --emit=c "
                     "--target 'negate; c' --plan greedy > negate.c && grep -A9 \"^#if 0 // C source\" negate.c");
  byoc_test_printed(" of target 'negate");
  byoc_test_printed("BYOC_PACKED int32_t ");
  byoc_test_shell(0, "byoc build vision.onnx --emit=ir --print-after=fold-constants");
  byoc_test_printed("fold-constants");
  byoc_test_shell(0, "byoc build vision.onnx --emit=host --print-after=all --target 'cutlass; c'");
  byoc_test_printed("place");
  byoc_test_printed("generate");
  // What is emitted as a module is a module.
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx && byoc opt lenet.onnx --constants > lenet.byoc && "
                     "byoc opt lenet.byoc --constants | cmp - lenet.byoc");
  byoc_test_shell(0, "byoc opt lenet.onnx --passes=simplify --target 'dnnl; c' | grep -c 'Compiler = \"dnnl\"'");
}

// The story of a build goes to standard error; standard output stays clean.
static void test_verbose(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx -v --target 'dnnl; c' 2>/dev/null");
  assert_null(strstr(byoc_test_output(), "composed"));
  byoc_test_shell(0, "byoc build vision.onnx -v --target 'dnnl; c' 2>&1 >/dev/null");
  byoc_test_printed("dnnl");
  byoc_test_printed("operators");
  byoc_test_printed("composed vision.so");
  byoc_test_shell(0, "byoc build vision.onnx 2>&1 >/dev/null");
  assert_string_equal(byoc_test_output(), "");
}

// A kernel that was not timed says so, where it said "nan us".
static void test_untimed_plans(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet --batch 64 -o many.onnx");
  byoc_test_shell(0,
                  "BYOC_CACHE_DIR=new byoc build many.onnx -v --plan collage --target 'cutlass; c' --cost-budget 0.01 "
                  "2>&1 | grep '^plan '");
  byoc_test_printed("not timed");
  assert_null(strstr(byoc_test_output(), "nan"));
}

static void test_bench(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx -o bench.so && byoc bench bench.so --runs 5 --threads 2");
  byoc_test_printed("median ");
  const char *line = byoc_test_shell(0, "byoc bench bench.so --runs 5 --threads 2 --json");
  assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1); // one line
  json_t *result = parse_output();
  static const char *const names[] = {"median_ms", "min_ms", "load_ms", "first_run_ms"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    json_t *value = json_object_get(result, names[i]);
    assert_true(json_is_real(value));
    assert_true(json_real_value(value) > 0);
  }
  assert_int_equal(json_integer_value(json_object_get(result, "threads")), 2);
  assert_true(json_real_value(json_object_get(result, "min_ms")) <=
              json_real_value(json_object_get(result, "median_ms")));
  json_decref(result);
  byoc_test_shell(1, "byoc bench vision.onnx");
  byoc_test_shell(2, "byoc bench bench.so --input nothing=x.npy");
  byoc_test_printed("nothing");
}

// Constants of over 256 bytes print as "elided", which says how they can be had.
static void test_elided_constants(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "byoc-modelgen lenet -o lenet.onnx && byoc opt lenet.onnx > short.byoc && ! grep base64 short.byoc "
                  "&& grep ' = elided' short.byoc && test $(wc -c < short.byoc) -lt 20000");
  byoc_test_shell(1, "byoc opt short.byoc");
  byoc_test_printed("was left out when it was printed; byoc opt --constants prints it");
  byoc_test_shell(0, "byoc opt lenet.onnx --constants | grep base64 | head -c 300");
  byoc_test_shell(0, "byoc opt lenet.onnx --passes=simplify --print-after=all");
  byoc_test_no_line("base64");
}

// A reader that has seen enough is no error. 141 is a shell's word for SIGPIPE.
static void test_reader_leaves(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  static const char *const commands[] = {"opt lenet.onnx --constants", "build lenet.onnx --emit=c", "targets --json",
                                         "--help"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(0,
                    "{ byoc %s 2> said; echo $? > code; } | true; c=$(cat code); "
                    "test ! -s said && { test $c = 0 || test $c = 141; }",
                    commands[i]);
  }
}

// A text is not written under the name of a shared object.
static void test_output_endings(void **state) {
  (void)state;
  write_vision("vision.onnx");
  static const char *const cases[][2] = {{"m.obj", "names an object file"},
                                         {"m.dll", "names a Windows library"},
                                         {"m.lib", "names a static library of Windows"},
                                         {"m.onnx", "names a model"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(2, "byoc build vision.onnx -o %s", cases[i][0]);
    byoc_test_printed(cases[i][1]);
    byoc_test_printed(
        "byoc build writes shared objects (.so), static libraries (.a), objects (.o) and folders of C source (.c)");
    byoc_test_printed("hint: name it m.so");
    assert_false(byoc_file_exists(cases[i][0]));
    assert_false(byoc_file_exists("m.h"));
  }
}

// Nodes that share a kernel keep their own names in steps and profiles.
static void test_names_of_clones(void **state) {
  (void)state;
  byoc_test_shell(
      0, "printf '%%s\n' 'module {' 'func @main(%%x : f32[8,8]) -> (%%z : f32[8,8]) {' "
         "'%%y = MatMul@13 \"first\" (%%x, %%x) : f32[8,8]' '%%z = MatMul@13 \"second\" (%%y, %%y) : "
         "f32[8,8]' 'return %%z' '}' '}' > twin.byoc && byoc build twin.byoc --emit=host > twin.host && "
         "test $(grep -c 'kernel byoc_k0_matmul' twin.host) = 2 && grep \"\\\"MatMul 'first'\\\"\" twin.host && "
         "grep \"\\\"MatMul 'second'\\\"\" twin.host");
  byoc_test_shell(0, "byoc build twin.byoc --emit=c > twin.c && grep \"\\\"MatMul 'second'\\\"\" twin.c");
}

// A reader that goes away is no success and no crash.
static void test_closed_output(void **state) {
  (void)state;
  byoc_test_shell(1, "byoc targets > /dev/full");
  byoc_test_printed("cannot write to standard output");
  write_vision("vision.onnx");
  byoc_test_shell(1, "byoc build vision.onnx --emit=c > /dev/full");
}

// Which way a walk through a tree goes cannot be predicted, also where NaN has a way of its own.
static void test_walks_through_trees_have_no_branches(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "byoc build " BYOC_TEST_SOURCE_DIR "/tests/conform/ml/trees/model.onnx --emit=c -o trees.c -t c && "
                  "grep -Eq 'at[0-9]+ = .*& nan[0-9]+' trees.c");
  byoc_test_shell(1, "grep -E 'at[0-9]+ = .*([|][|]|&&)' trees.c");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_walks_through_trees_have_no_branches),
      cmocka_unit_test(test_help),
      cmocka_unit_test(test_misuse),
      cmocka_unit_test(test_targets),
      cmocka_unit_test(test_ops),
      cmocka_unit_test(test_ops_after_simplify),
      cmocka_unit_test(test_plugins),
      cmocka_unit_test(test_older_plugin),
      cmocka_unit_test(test_inspect),
      cmocka_unit_test(test_dimensions_have_the_names_of_the_model),
      cmocka_unit_test(test_elided_constants),
      cmocka_unit_test(test_reader_leaves),
      cmocka_unit_test(test_output_endings),
      cmocka_unit_test(test_names_of_clones),
      cmocka_unit_test(test_untimed_plans),
      cmocka_unit_test(test_emit),
      cmocka_unit_test(test_verbose),
      cmocka_unit_test(test_bench),
      cmocka_unit_test(test_closed_output),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
