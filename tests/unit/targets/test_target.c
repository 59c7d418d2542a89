// SPDX-License-Identifier: Apache-2.0
// Target strings: their meaning, and the text of every error.
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/targets/cpu.h"
#include "core/targets/runtime_code.h"
#include "core/targets/target.h"

static const byoc_option_schema_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "tune_trials",
     .type = BYOC_OPTION_INT,
     .default_value = "0",
     .minimum = 0,
     .maximum = 1000},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "ratio",
     .type = BYOC_OPTION_FLOAT,
     .default_value = "0.5",
     .minimum_f64 = 0,
     .maximum_f64 = 1},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "fast", .type = BYOC_OPTION_BOOL},
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "flags", .type = BYOC_OPTION_STRING, .maximum = 16},
    {.header = BYOC_HEADER(byoc_option_t, 1),
     .name = "deploy",
     .type = BYOC_OPTION_CHOICE,
     .default_value = "bundle",
     .choices = "bundle|system"},
};
static const byoc_target_kind_t demo_kind = {.name = "demo", .options = options, .option_count = 5};
static const byoc_option_schema_t processor_options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "mcpu", .type = BYOC_OPTION_CPU, .default_value = "native"}};
static const byoc_target_kind_t processor_kind = {.name = "processor", .options = processor_options, .option_count = 1};
static const byoc_target_kind_t plain_kind = {.name = "plain"};
static const byoc_backend_t every_machine = {.flags = BYOC_BACKEND_EVERY_MACHINE};
static const byoc_target_kind_t every_kind = {
    .name = "every", .options = processor_options, .option_count = 1, .backend = &every_machine};
static const char *const names[] = {"c", "demo", "plain", "broken"};

static const byoc_target_kind_t *look_up(const void *self, const char *name) {
  (void)self;
  if (strcmp(name, "c") == 0) return byoc_target_kind_native();
  if (strcmp(name, "demo") == 0) return &demo_kind;
  if (strcmp(name, "processor") == 0) return &processor_kind;
  if (strcmp(name, "every") == 0) return &every_kind;
  return strcmp(name, "plain") == 0 ? &plain_kind : NULL;
}

static const char *refusal(const void *self, const char *name) {
  (void)self;
  return strcmp(name, "broken") == 0 ? "the plugin '/p/broken.so' is refused: it crashes" : NULL;
}

static const byoc_target_registry_t registry = {.lookup = look_up, .names = names, .name_count = 3, .refusal = refusal};

static byoc_status_t parse(const char *text, byoc_diag_t *diag, byoc_target_list_t *list) {
  return byoc_target_list_parse(&text, 1, &registry, byoc_allocator_system(), diag, list);
}

// The canonical texts of the list, one per line.
static void expect_targets(const char *text, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  byoc_test_ok(parse(text, &diag, &list), &diag);
  char got[2048] = "";
  for (size_t i = 0; i < list.targets.count; ++i) {
    assert_int_equal(list.targets.data[i]->index, i);
    strcat(strcat(got, list.targets.data[i]->text), "\n");
  }
  byoc_test_same_text(got, expected);
  byoc_target_list_deinit(&list);
}

// The diagnostic as it is printed.
static void expect_error(const char *text, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  assert_int_not_equal(parse(text, &diag, &list), BYOC_OK);
  char *got = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&got, &size);
  assert_non_null(stream);
  byoc_diag_print(&diag, stream);
  assert_int_equal(fclose(stream), 0);
  byoc_test_same_text(got, expected);
  free(got);
  assert_null(list.targets.data);
}

#define DEMO   "demo -tune_trials=0 -ratio=0.5 -fast=0 -flags=\"\" -deploy=bundle\n"
#define NATIVE "c -O=3 -mcpu=native -cc=\"\" -fuse=1 -indices=check\n"

static void test_lists(void **state) {
  (void)state;
  expect_targets("demo", DEMO NATIVE);
  expect_targets("c", NATIVE);
  expect_targets(" demo ; plain;", DEMO "plain\n" NATIVE);
  // "c" goes last, wherever it was given.
  expect_targets("c -O=1 -mcpu=x86-64-v3; plain", "plain\nc -O=1 -mcpu=x86-64-v3 -cc=\"\" -fuse=1 -indices=check\n");
  // Two targets of one kind with different options.
  expect_targets("demo -fast; demo", "demo -tune_trials=0 -ratio=0.5 -fast=1 -flags=\"\" -deploy=bundle\n" DEMO NATIVE);
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  byoc_test_ok(byoc_target_list_parse(NULL, 0, &registry, byoc_allocator_system(), &diag, &list), &diag);
  assert_int_equal(list.targets.count, 1);
  byoc_target_list_deinit(&list);
  const char *const texts[] = {"plain", "demo;c -O=0"};
  byoc_test_ok(byoc_target_list_parse(texts, 2, &registry, byoc_allocator_system(), &diag, &list), &diag);
  assert_int_equal(list.targets.count, 3);
  assert_int_equal(byoc_target_option_int(list.targets.data[2], "O"), 0);
  byoc_target_list_deinit(&list);
}

// A "c" that nobody named is for the processor of the last target before it that was given one.
static void test_the_native_target_takes_the_processor_of_those_before_it(void **state) {
  (void)state;
  expect_targets("processor -mcpu=x86-64-v2",
                 "processor -mcpu=x86-64-v2\nc -O=3 -mcpu=x86-64-v2 -cc=\"\" -fuse=1 -indices=check\n");
  expect_targets("processor -mcpu=x86-64-v2; processor -mcpu=avx2+f16c; plain; processor",
                 "processor -mcpu=x86-64-v2\nprocessor -mcpu=avx2+f16c\nplain\nprocessor -mcpu=native\n"
                 "c -O=3 -mcpu=avx2+f16c -cc=\"\" -fuse=1 -indices=check\n");
  expect_targets("processor", "processor -mcpu=native\n" NATIVE);
  expect_targets("processor -mcpu=x86-64-v2; c", "processor -mcpu=x86-64-v2\n" NATIVE);
}

static void test_values(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  const char *text = "demo\t-tune_trials=32\n-ratio=1e-3 -fast=true -flags=\"-O3 \\\"g\\\";\" -deploy=system";
  byoc_test_ok(parse(text, &diag, &list), &diag);
  const byoc_target_t *target = list.targets.data[0];
  assert_int_equal(byoc_target_option_int(target, "tune_trials"), 32);
  assert_true(byoc_target_option_float(target, "ratio") == 1e-3);
  assert_int_equal(byoc_target_option_int(target, "fast"), 1);
  assert_string_equal(byoc_target_option_string(target, "flags"), "-O3 \"g\";");
  assert_string_equal(byoc_target_option_string(target, "deploy"), "system");
  // Undeclared names and other types.
  assert_int_equal(byoc_target_option_int(target, "nothing"), 0);
  assert_int_equal(byoc_target_option_int(target, "flags"), 0);
  assert_true(byoc_target_option_float(target, "tune_trials") == 0.0);
  assert_string_equal(byoc_target_option_string(target, "tune_trials"), "");
  assert_string_equal(byoc_target_option_string(NULL, "flags"), "");
  // The canonical text gives the same target again.
  byoc_target_list_t again;
  byoc_test_ok(parse(target->text, &diag, &again), &diag);
  assert_string_equal(again.targets.data[0]->text, target->text);
  byoc_target_list_deinit(&again);
  byoc_target_list_deinit(&list);
  expect_targets("demo -fast", "demo -tune_trials=0 -ratio=0.5 -fast=1 -flags=\"\" -deploy=bundle\n" NATIVE);
  expect_targets("demo -flags=a\"b c\"d",
                 "demo -tune_trials=0 -ratio=0.5 -fast=0 -flags=\"ab cd\" -deploy=bundle\n" NATIVE);
}

static void test_errors(void **state) {
  (void)state;
  expect_error("", "error: no target is given\n");
  expect_error(" ; ", "error: no target is given\n   ; \n  ^\n");
  expect_error("dmeo", "error: unknown target 'dmeo'; there are: c, demo, plain\n  dmeo\n  ^\nhint: did you mean "
                       "'demo'?\n");
  expect_error("plain; xyz", "error: unknown target 'xyz'; there are: c, demo, plain\n  plain; xyz\n         ^\n"
                             "hint: name its plugin with --plugin, or the plugin's folder in BYOC_PLUGIN_PATH\n");
  expect_error("broken", "error: target 'broken' cannot be used: the plugin '/p/broken.so' is refused: it "
                         "crashes\n  broken\n  ^\n");
  expect_error("-O=3", "error: expected a target before '-O=3'\n  -O=3\n  ^\nhint: an option follows its target: "
                       "'c -O=3'\n");
  expect_error("demo,c", "error: 'demo,c' is not a target\n  demo,c\n      ^\nhint: targets are separated by ';'\n");
  expect_error("de/mo", "error: 'de/mo' is not a target\n  de/mo\n    ^\n");
  expect_error("demo -tune_trails=3", "error: target 'demo' has no option '-tune_trails'; it has: -tune_trials, "
                                      "-ratio, -fast, -flags, -deploy\n  demo -tune_trails=3\n       ^\nhint: did you "
                                      "mean '-tune_trials'?\n");
  expect_error("plain -x", "error: target 'plain' has no options, so no '-x'\n  plain -x\n        ^\n");
  expect_error("demo fast", "error: expected an option of target 'demo', not 'fast'\n  demo fast\n       ^\n"
                            "hint: options are written '-key=value', targets are separated by ';'\n");
  expect_error("demo --fast", "error: '--fast' is not an option\n  demo --fast\n       ^\nhint: options are "
                              "written '-key=value', with one '-'\n");
  expect_error("demo -tune_trials=3 -tune_trials=4", "error: option '-tune_trials' is given twice\n  demo "
                                                     "-tune_trials=3 -tune_trials=4\n                      ^\n");
  expect_error("demo -tune_trials=1001", "error: target 'demo': option '-tune_trials' takes an integer from 0 to "
                                         "1000, not '1001'\n  demo -tune_trials=1001\n                    ^\n");
  expect_error("demo -tune_trials=99999999999999999999", "error: target 'demo': option '-tune_trials' takes an "
                                                         "integer from 0 to 1000, not '99999999999999999999'\n  demo "
                                                         "-tune_trials=99999999999999999999\n                    ^\n");
  expect_error("demo -tune_trials=3x", "error: target 'demo': option '-tune_trials' takes an integer from 0 to "
                                       "1000, not '3x'\n  demo -tune_trials=3x\n                    ^\n");
  expect_error("demo -tune_trials", "error: target 'demo': option '-tune_trials' needs a value: an integer from 0 "
                                    "to 1000\n  demo -tune_trials\n       ^\nhint: write '-tune_trials=VALUE', without "
                                    "spaces\n");
  expect_error("demo -ratio=nan", "error: target 'demo': option '-ratio' takes a number from 0 to 1, not "
                                  "'nan'\n  demo -ratio=nan\n              ^\n");
  expect_error("demo -ratio=1.5", "error: target 'demo': option '-ratio' takes a number from 0 to 1, not "
                                  "'1.5'\n  demo -ratio=1.5\n              ^\n");
  expect_error("demo -fast=yes", "error: target 'demo': option '-fast' takes 0, 1, false or true, not 'yes'\n  "
                                 "demo -fast=yes\n             ^\n");
  expect_error("demo -flags=0123456789abcdefg", "error: target 'demo': option '-flags' takes at most 16 bytes, "
                                                "not 17\n  demo -flags=0123456789abcdefg\n              ^\n");
  expect_error("demo -flags=\"abc", "error: this quote is never closed\n  demo -flags=\"abc\n              ^\n");
  expect_error("demo -deploy=systen", "error: target 'demo': option '-deploy' takes one of bundle, system, not "
                                      "'systen'\n  demo -deploy=systen\n               ^\nhint: did you mean "
                                      "'-deploy=system'?\n");
  expect_error("c; c -O=2", "error: target 'c' is given twice\n  c; c -O=2\n     ^\nhint: give its options once; "
                            "it is always the last resort\n");
  expect_error("plain;\nplain", "error: target 'plain' is given twice with the same options\n  plain\n  ^\n");
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  byoc_test_error(parse("c -mcpu=haswel", &diag, &list), BYOC_INVALID_ARGUMENT, &diag,
                  "target 'c': option '-mcpu': unknown processor or extension 'haswel'; there are native, x86-64, ");
}

static void expect_schema_error(byoc_option_schema_t option, const char *part) {
  byoc_diag_t diag = {0};
  byoc_test_error(byoc_option_schema_verify(&option, 1, &diag), BYOC_INVALID_DATA, &diag, part);
}

static void test_schemas(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_option_schema_verify(options, 5, &diag), &diag);
  const byoc_target_kind_t *native = byoc_target_kind_native();
  byoc_test_ok(byoc_option_schema_verify(native->options, native->option_count, &diag), &diag);
  const byoc_option_schema_t twice[] = {options[0], options[0]};
  byoc_test_error(byoc_option_schema_verify(twice, 2, &diag), BYOC_INVALID_DATA, &diag, "is declared twice");
  expect_schema_error((byoc_option_schema_t){.type = BYOC_OPTION_INT}, "option 0 has no usable name");
  expect_schema_error((byoc_option_schema_t){.name = "-x", .type = BYOC_OPTION_INT}, "no usable name ('-x')");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = 9}, "option 'x' has unknown type 9");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_INT, .minimum = 2, .maximum = 1},
                      "empty range: 2 to 1");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_INT, .minimum = 1, .maximum = 2},
                      "the default of option 'x': option '-x' takes an integer from 1 to 2, not '0'");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_FLOAT, .minimum_f64 = 2},
                      "empty range: 2 to 0");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_STRING, .maximum = -1}, "negative");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_CHOICE}, "has no choices");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_CHOICE, .choices = "a||b"},
                      "unusable choice");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_CHOICE, .choices = "a|b|a"},
                      "the choice 'a' twice");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_CHOICE, .choices = "a|b"},
                      "needs a default");
  expect_schema_error(
      (byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_CHOICE, .choices = "a|b", .default_value = "d"},
      "takes one of a, b, not 'd'");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_CPU, .default_value = "d"},
                      "the default of option 'x': option '-x': unknown processor or extension 'd'");
  expect_schema_error((byoc_option_schema_t){.name = "x", .type = BYOC_OPTION_BOOL, .help = "a\nb"}, "one line");
}

static byoc_status_t parse_with(void *argument, byoc_allocator_t allocator) {
  const char *text = argument;
  byoc_target_list_t list;
  byoc_status_t status = byoc_target_list_parse(&text, 1, &registry, allocator, NULL, &list);
  if (status == BYOC_OK) byoc_target_list_deinit(&list);
  return status;
}

static void test_out_of_memory(void **state) {
  (void)state;
  char text[] = "demo -flags=\"a b\" -tune_trials=7; plain; c -O=2";
  byoc_test_each_allocation_fails(parse_with, text, false);
}

// Parsing ends for any text, without touching memory outside it.
static void test_random_texts(void **state) {
  (void)state;
  static const char alphabet[] = "demo plainc-=;\"\\x1.\n\t";
  byoc_test_random_t random = {7};
  for (int i = 0; i < 20000; ++i) {
    char text[48];
    const size_t size = byoc_test_below(&random, sizeof(text));
    for (size_t k = 0; k < size; ++k) text[k] = alphabet[byoc_test_below(&random, sizeof(alphabet) - 1)];
    text[size] = '\0';
    byoc_diag_t diag = {0};
    byoc_target_list_t list;
    if (parse(text, &diag, &list) == BYOC_OK)
      byoc_target_list_deinit(&list);
    else
      assert_true(diag.message[0] != '\0');
  }
}

// For another machine, targets of this one only are left out, and a processor that is not given is
// any of that machine.
static void test_targets_of_this_machine_only_are_left_out_for_another(void **state) {
  (void)state;
  byoc_target_registry_t other = registry;
  const char *text = "plain; every; demo";
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  other.triple = byoc_machine_host() == BYOC_MACHINE_AARCH64 ? "riscv64-linux-gnu" : "aarch64-linux-gnu";
  const byoc_machine_t machine =
      byoc_machine_host() == BYOC_MACHINE_AARCH64 ? BYOC_MACHINE_RISCV64 : BYOC_MACHINE_AARCH64;
  byoc_test_ok(byoc_target_list_parse(&text, 1, &other, byoc_allocator_system(), &diag, &list), &diag);
  assert_int_equal(list.targets.count, 2);
  assert_string_equal(list.triple, other.triple);
  for (size_t i = 0; i < 2; ++i) {
    const byoc_target_t *target = list.targets.data[i];
    assert_int_equal(target->machine, machine);
    assert_string_equal(byoc_target_option_cpu(target, "mcpu"), byoc_machine_base(machine));
    assert_int_equal(byoc_target_cpu_features(target, "mcpu") & ~byoc_cpu_features_of(machine), 0);
  }
  byoc_target_list_deinit(&list);
  if (machine == BYOC_MACHINE_AARCH64) {
    static const char *const named[][3] = {{"every -mcpu=cortex-a76; c", "cortex-a76", "cortex-a76"},
                                           {"every -mcpu=cortex-a76; c -mcpu=armv8-a", "cortex-a76", "armv8-a"},
                                           {"every; c -mcpu=cortex-a76", "cortex-a76", "cortex-a76"}};
    for (size_t i = 0; i < 3; ++i) {
      byoc_test_ok(byoc_target_list_parse(&named[i][0], 1, &other, byoc_allocator_system(), &diag, &list), &diag);
      for (size_t t = 0; t < 2; ++t) {
        assert_string_equal(byoc_target_option_cpu(list.targets.data[t], "mcpu"), named[i][1 + t]);
        assert_non_null(strstr(list.targets.data[t]->text, named[i][1 + t]));
      }
      byoc_target_list_deinit(&list);
    }
  }
  text = "every -mcpu=native";
  byoc_test_error(byoc_target_list_parse(&text, 1, &other, byoc_allocator_system(), &diag, &list),
                  BYOC_INVALID_ARGUMENT, &diag, "unknown processor or extension 'native'");
  byoc_diag_clear(&diag);
  text = "plain";
  other.triple = byoc_machine_host_triple(); // changes nothing
  byoc_test_ok(byoc_target_list_parse(&text, 1, &other, byoc_allocator_system(), &diag, &list), &diag);
  assert_int_equal(list.targets.count, 2);
  assert_null(list.triple);
  byoc_target_list_deinit(&list);
}

// Code for several processors: this machine runs that of the levels whose features it has, and says which it does not.
static void test_levels_that_this_machine_lacks(void **state) {
  (void)state;
  byoc_target_list_t list = {.levels = {.levels = {{.name = "better", .features = UINT64_MAX}, {.name = "any"}}}};
  assert_null(byoc_target_list_foreign(&list)); // for this processor alone
  list.levels.count = 2;
  assert_string_equal(byoc_target_list_foreign(&list), "better");
  list.level = 1;
  assert_null(byoc_target_list_foreign(&list));
  list.triple = "riscv64-linux-gnu";
  assert_string_equal(byoc_target_list_foreign(&list), "riscv64-linux-gnu");
}

// A target states no error of its floats if it has no backend, or one without that hook.
static void test_no_error_is_stated(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  byoc_test_ok(parse("every; c", &diag, &list), &diag);
  for (size_t i = 0; i < 2; ++i) assert_true(byoc_target_relative_error(list.targets.data[i]) == 0);
  byoc_target_list_deinit(&list);
}

// The machines of archives are words with `*` for any characters.
static void test_archives_are_found_by_triple(void **state) {
  (void)state;
  static const struct {
    const char *machines, *triple;
    bool expected;
  } cases[] = {{"aarch64-linux-gnu", "aarch64-linux-gnu", true},
               {"aarch64-linux-gnu", "aarch64-linux-gnux", false},
               {"aarch64-linux-gnu", "aarch64-linux-gn", false},
               {"aarch64-*", "aarch64-unknown-linux-gnu", true},
               {"aarch64-*", "aarch64_be-linux-gnu", false},
               {"riscv64-*  arm-*-gnueabihf", "arm-linux-gnueabihf", true},
               {"riscv64-*  arm-*-gnueabihf", "arm-linux-gnueabi", false},
               {"*-linux-*musl*", "x86_64-linux-musl", true},
               {"*-gnu-*-gnu", "a-gnu-gnu", false},
               {"*", "riscv64-linux-gnu", true},
               {" ", "riscv64-linux-gnu", false}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const byoc_machine_code_t archives = {.machines = cases[i].machines};
    const byoc_runtime_code_t code = {.name = "engine", .archives = &archives, .archive_count = 1};
    const byoc_runtime_code_t *missing = NULL;
    const byoc_backend_t backend = {.runtime_code = &code, .runtime_code_count = 1};
    const char *lost = "";
    const bool is_found = byoc_runtime_code_archives(&code, cases[i].triple, &lost) == &archives;
    if (is_found != cases[i].expected) fail_msg("'%s' for %s", cases[i].machines, cases[i].triple);
    assert_null(lost);
    assert_int_equal(byoc_runtime_code_serves(&backend, cases[i].triple, &missing), is_found);
    assert_ptr_equal(missing, is_found ? NULL : &code);
  }
}

// A backend serves a machine if all of its code is there for it: sources always are.
static void test_all_code_of_a_backend_has_to_be_there(void **state) {
  (void)state;
  const byoc_machine_code_t archives = {.machines = "aarch64-*"};
  const byoc_runtime_code_t codes[] = {{.name = "driver", .source_count = 1},
                                       {.name = "engine", .archives = &archives, .archive_count = 1}};
  const byoc_backend_t backend = {.runtime_code = codes, .runtime_code_count = 2};
  const byoc_runtime_code_t *missing = NULL;
  assert_true(byoc_runtime_code_serves(&backend, "aarch64-linux-gnu", &missing));
  assert_false(byoc_runtime_code_serves(&backend, "riscv64-linux-gnu", &missing));
  assert_ptr_equal(missing, &codes[1]);
  assert_ptr_equal(byoc_runtime_code_find(&backend, "engine"), &codes[1]);
  assert_null(byoc_runtime_code_find(&backend, "other"));
  assert_true(byoc_runtime_code_serves(&every_machine, "riscv64-linux-gnu", &missing));
  const byoc_backend_t none = {.target = "none"};
  assert_false(byoc_runtime_code_serves(&none, "riscv64-linux-gnu", &missing));
  assert_null(missing);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_the_native_target_takes_the_processor_of_those_before_it),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_schemas),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_random_texts),
      cmocka_unit_test(test_targets_of_this_machine_only_are_left_out_for_another),
      cmocka_unit_test(test_levels_that_this_machine_lacks),
      cmocka_unit_test(test_no_error_is_stated),
      cmocka_unit_test(test_archives_are_found_by_triple),
      cmocka_unit_test(test_all_code_of_a_backend_has_to_be_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
