// SPDX-License-Identifier: Apache-2.0
// Every mistake in a table is told by `byoc plugins`, with the place where it is; nothing is silent.
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/string.h"
#include "tests/support/command.h"

// The parts of a table that is right. A case replaces one of them.
#define TARGET                                    "\"target\": \"%s\""
#define DESCRIPTION                               "\"description\": \"one C function\""
#define LIBRARY                                   "\"library\": {\"files\": [\"relu.o\"]}"
#define NAME                                      "\"name\": \"%s.relu\""
#define PATTERN                                   "\"pattern\": \"relu:Relu(%%x)\""
#define WHERE                                     "\"where\": [[\"dtype(x) == 'f32'\", \"its elements are not f32\"]]"
#define STEP                                      "{\"call\": \"my_relu\", \"arguments\": [\"&x\", \"&result\", \"i64 count(x)\"]}"
#define STEPS                                     "\"steps\": [" STEP "]"
#define RULE                                      NAME ", " PATTERN ", " WHERE ", " STEPS
#define TABLE(target, description, library, rule) "{" target ", " description ", " library ", \"rules\": [{" rule "}]}"
#define WITH_LIBRARY(library)                     TABLE(TARGET, DESCRIPTION, library, RULE)
#define WITH_RULE(rule)                           TABLE(TARGET, DESCRIPTION, LIBRARY, rule)
#define WITH_WHERE(where)                         WITH_RULE(NAME ", " PATTERN ", \"where\": [" where "], " STEPS)
#define WITH_STEP(step)                           WITH_RULE(NAME ", " PATTERN ", " WHERE ", \"steps\": [" step "]")

typedef struct case_t {
  const char *name;     // of the file, and of the target in it
  const char *text;     // NAME stands for the target
  const char *expected; // in the reason
} case_t;

static const case_t cases[] = {
    // The file as a whole.
    {"syntax", "{" TARGET ",\n  \"rules\": [}", "it is not JSON: unexpected token near '}' (line 2, column 13)"},
    {"empty", "", "it is not JSON: '[' or '{' expected"},
    {"twice", "{" TARGET ", " TARGET "}", "it is not JSON: duplicate object key near '\"target\"'"},
    {"list", "[1, 2]", "it is not a table of byoc: the member 'target' is missing"},
    {"no-description", "{" TARGET ", " LIBRARY "}", "it is not a table of byoc: the member 'description' is missing"},
    {"long-description",
     "{" TARGET ", \"description\": \""
     "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
     "01234567890123456789\"}",
     "its description has 120 bytes, more than 119"},
    {"bad-target", "{\"target\": \"not good\", " DESCRIPTION "}",
     "its name 'not good' is not a letter, then letters, digits, '_' and '-'"},
    {"takes-c", "{\"target\": \"c\", " DESCRIPTION "}", "it claims the target 'c', which is the host's own"},
    {"bad-version", "{" TARGET ", " DESCRIPTION ", \"version\": \"1/2\"}", "its version '1/2' has other characters"},
    {"unknown-member", TABLE(TARGET, DESCRIPTION ", \"libary\": {}", LIBRARY, RULE),
     "the table: unknown member 'libary', there are: target version description library options rules"},
    {"no-rules", "{" TARGET ", " DESCRIPTION ", " LIBRARY ", \"rules\": []}", "the list 'rules' is missing"},
    {"no-library", "{" TARGET ", " DESCRIPTION ", \"rules\": [{" RULE "}]}", "the object 'library' is missing"},
    // The library.
    {"library-member", WITH_LIBRARY("\"library\": {\"file\": [\"relu.o\"]}"),
     "'library': unknown member 'file', there are: "},
    {"library-empty", WITH_LIBRARY("\"library\": {}"),
     "'library' has nothing to call: it needs files, sources or needed"},
    {"library-text", WITH_LIBRARY("\"library\": {\"files\": \"relu.o\"}"), "it is not a list: files"},
    {"library-number", WITH_LIBRARY("\"library\": {\"files\": [1]}"), "a member of the list is not a string: files"},
    {"file-missing", WITH_LIBRARY("\"library\": {\"files\": [\"lib/none.a\"]}"), "/lib/none.a': there is no such file"},
    {"file-writable", WITH_LIBRARY("\"library\": {\"files\": [\"open.o\"]}"), "/open.o' is world-writable"},
    {"file-folder", WITH_LIBRARY("\"library\": {\"files\": [\"folder\"]}"), "/folder': it is a folder"},
    {"file-text", WITH_LIBRARY("\"library\": {\"files\": [\"relu.c\"]}"), "relu.c"},
    {"file-lacks", WITH_LIBRARY("\"library\": {\"files\": [\"other.o\"]}"),
     "lists the symbol 'my_relu', but none of its objects defines it"},
    {"file-static", WITH_LIBRARY("\"library\": {\"files\": [\"static.o\"]}"),
     "lists the symbol 'my_relu', but it is local to its file (static)"},
    {"source-missing", WITH_LIBRARY("\"library\": {\"sources\": [\"none.c\"]}"), "/none.c': there is no such file"},
    {"flags-alone", WITH_LIBRARY("\"library\": {\"files\": [\"relu.o\"], \"flags\": [\"-O2\"]}"),
     "'flags' are for 'sources'"},
    {"needed-missing", WITH_LIBRARY("\"library\": {\"needed\": [\"libnone.so.7\"]}"),
     "needs the shared library 'libnone.so.7', which is not in the system's folders"},
    {"needed-path", WITH_LIBRARY("\"library\": {\"needed\": [\"lib/none.so\"]}"),
     "'lib/none.so' is not the name of a shared library"},
    {"search-colon", WITH_LIBRARY("\"library\": {\"needed\": [\"libc.so.6\"], \"search\": [\"/a:/b\"]}"),
     "'/a:/b' is not a folder to look for shared libraries in"},
    {"setup-missing", WITH_LIBRARY("\"library\": {\"files\": [\"relu.o\"], \"setup\": \"start\"}"), "'start'"},
    {"shared-missing", WITH_LIBRARY("\"library\": {\"files\": [\"relu.o\"], \"shared\": \"./none.so\"}"),
     "none.so': there is no such file"},
    // Options.
    {"option-help",
     "{" TARGET ", " DESCRIPTION ", " LIBRARY ", \"options\": [{\"name\": \"level\", \"default\": \"1\"}], "
     "\"rules\": [{" RULE "}]}",
     "the string is missing: help"},
    {"option-default",
     "{" TARGET ", " DESCRIPTION ", " LIBRARY ", \"options\": [{\"name\": \"mode\", \"default\": \"x\", "
     "\"choices\": \"a|b\", \"help\": \"\"}], \"rules\": [{" RULE "}]}",
     "the default of option 'mode': option '-mode' takes one of a, b, not 'x'"},
    // Rules.
    {"rule-name", WITH_RULE("\"name\": \"other.relu\", " PATTERN ", " STEPS),
     "rule 'other.relu': its name does not begin with 'rule-name.'"},
    {"rule-member", WITH_RULE(RULE ", \"step\": []"),
     "rule 'rule-member.relu': unknown member 'step', there are: name pattern"},
    {"rule-pattern", WITH_RULE(NAME ", \"pattern\": \"relu:Relu(%%x\", " STEPS), "expected ')' at column 13"},
    {"rule-no-pattern", WITH_RULE(NAME ", " STEPS), "rule 'rule-no-pattern.relu': the string 'pattern' is missing"},
    {"rule-root", WITH_RULE(NAME ", \"pattern\": \"Relu(%%x)\", " STEPS),
     "rule 'rule-root.relu': the root of its pattern must be named 'relu'"},
    {"rule-steps", WITH_RULE(NAME ", " PATTERN), "rule 'rule-steps.relu': the list 'steps' is missing"},
    {"rule-dtype", WITH_RULE(RULE ", \"dtype\": \"z\""), "'dtype': unknown value 'z'"},
    {"rule-result", WITH_RULE(RULE ", \"result\": \"z\""), "'result': unknown value 'z'"},
    // Conditions and expressions.
    {"where-pair", WITH_WHERE("[\"rank(x) == 2\"]"), "condition 1 is not [condition, reason]"},
    {"where-name", WITH_WHERE("[\"rank(x) == m\", \"no\"]"), "condition 1: 'rank(x) == m', column 12: "},
    {"where-function", WITH_WHERE("[\"size(x) == 2\", \"no\"]"), "condition 1: 'size(x) == 2', column 1: "},
    {"where-end", WITH_WHERE("[\"rank(x) ==\", \"no\"]"), "condition 1: 'rank(x) ==', column 11: "},
    {"let-name", WITH_RULE(NAME ", " PATTERN ", \"let\": {\"m\": \"dim(z, 0)\"}, " STEPS),
     "'m': 'dim(z, 0)', column 5: "},
    // Steps.
    {"step-member", WITH_STEP("{\"call\": \"my_relu\", \"argument\": []}"),
     "rule 'step-member.relu': step 1: unknown member 'argument', there are: call returns arguments"},
    {"step-arguments", WITH_STEP("{\"call\": \"my_relu\"}"), "step 1: the list 'arguments' is missing"},
    {"step-argument", WITH_STEP("{\"call\": \"my_relu\", \"arguments\": [\"&x\", \"count(x)\"]}"),
     "step 1: argument 2: 'count(x)' is none of: &name, null, runtime, i32, i64, f32, f64 or real and an expression"},
    {"step-value", WITH_STEP("{\"call\": \"my_relu\", \"arguments\": [\"&y\"]}"),
     "step 1: argument 1: unknown value 'y'"},
    {"step-returns", WITH_STEP("{\"call\": \"my_relu\", \"returns\": \"int\", \"arguments\": []}"),
     "step 1: 'returns' is none of void, i32, i64, f32, f64, status"},
    {"step-dtype", WITH_STEP("{\"call\": {\"f31\": \"my_relu\"}, \"arguments\": []}"),
     "'call' names an unknown element type: f31"},
    {"step-symbol", WITH_STEP("{\"call\": \"my relu\", \"arguments\": []}"), "'my relu' is not a C identifier"},
};

enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

static void write_case(const case_t *one) {
  byoc_diag_t diag = {0};
  byoc_string_t text;
  char path[128];
  byoc_string_init(&text, byoc_allocator_system());
  // The target is called as the file is, wherever it stands; "%%" is a percent sign.
  for (const char *at = one->text; *at != '\0'; ++at) {
    if (at[0] == '%' && at[1] == 's') byoc_string_append(&text, one->name);
    if (at[0] == '%' && at[1] == '%') byoc_string_append(&text, "%");
    if (at[0] != '%') byoc_string_appendf(&text, "%c", *at);
    if (at[0] == '%') ++at;
  }
  snprintf(path, sizeof(path), "tables/%s.json", one->name);
  byoc_test_ok(byoc_file_write(path, text.data, text.size, &diag), &diag);
  byoc_string_deinit(&text);
}

static void test_every_mistake_is_told(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "mkdir -p tables/folder && cd tables && printf '%s' > relu.c && cc -c relu.c -o relu.o && "
                  "printf 'int other_one(void) { return 0; }' > other.c && cc -c other.c -o other.o && "
                  "printf 'static void my_relu(void) {} void (*one)(void) = my_relu;' > static.c && "
                  "cc -c static.c -o static.o && cp relu.o open.o && chmod 666 open.o",
                  "void my_relu(const float *x, float *y, long n) { for (long i = 0; i < n; ++i) y[i] = x[i]; }");
  for (size_t i = 0; i < CASE_COUNT; ++i) write_case(&cases[i]);
  write_case(&(case_t){"right", WITH_RULE(RULE), ""});
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=$PWD/tables byoc plugins");
  const char *listing = byoc_test_output();
  size_t wrong = 0;
  for (size_t i = 0; i < CASE_COUNT; ++i) {
    char file[160];
    snprintf(file, sizeof(file), "/tables/%s.json  (", cases[i].name);
    const char *entry = strstr(listing, file), *reason = entry != NULL ? strstr(entry, "reason: ") : NULL;
    char line[2048] = "it is not listed";
    if (reason != NULL) snprintf(line, sizeof(line), "%.*s", (int)strcspn(reason, "\n"), reason);
    if (strstr(line, cases[i].expected) != NULL) continue;
    print_error("%s: %s\n  expected: %s\n", cases[i].name, line, cases[i].expected);
    ++wrong;
  }
  assert_int_equal(wrong, 0);
  byoc_test_printed("loaded   right 1: targets right - one C function");
}

// One that the user names ends the command, whether its file or its content is wrong.
static void test_a_named_table_is_an_error(void **state) {
  (void)state;
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc plugins --plugin tables/syntax.json");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc plugins --plugin tables/step-value.json");
  byoc_test_printed("step 1: argument 1: unknown value 'y'");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc targets --plugin tables/step-value.json");
  byoc_test_shell(1, "BYOC_PLUGIN_PATH= byoc build none.onnx --plugin tables/step-value.json --target step-value");
  byoc_test_printed("target 'step-value' cannot be used: the plugin 'tables/step-value.json' is refused: ");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH= byoc plugins --plugin tables/right.json");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_mistake_is_told),
      cmocka_unit_test(test_a_named_table_is_an_error),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
