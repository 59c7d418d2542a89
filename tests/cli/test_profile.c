// SPDX-License-Identifier: Apache-2.0
// byoc profile: the table, and its three files.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "models.h"
#include "tests/support/command.h"

static json_t *read_json(const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (root == NULL) fail_msg("%s:%d: %s", path, error.line, error.text);
  return root;
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("'%s' is no number", key);
  return json_number_value(value);
}

// y = relu(x * w + b) on 2x4 times 4x3: 48 operations of the product; Add and Relu count what they read, 9 and 6.
static void test_work(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc build tiny.onnx -o tiny.so --target c --profile");
  byoc_test_shell(0, "byoc profile tiny.so --runs 5 --input in/x:0=x.npy --json tiny.json");
  byoc_test_printed("median of 5 runs");
  byoc_test_printed("machine: ");
  byoc_test_shell(0, "byoc profile tiny.so --runs 2 --best");
  byoc_test_printed("fastest of 2 runs");
  json_t *root = read_json("tiny.json"), *steps = json_object_get(root, "instructions");
  assert_true(number(json_object_get(root, "machine"), "gflops_per_s") > 0);
  assert_true(number(json_object_get(root, "machine"), "gbytes_per_s") > 0);
  double flops = 0, share = 0;
  size_t index;
  json_t *step;
  json_array_foreach(steps, index, step) {
    assert_string_equal(json_string_value(json_object_get(step, "target")), "c");
    flops += number(step, "flops");
    share += number(step, "share");
    assert_true(number(step, "bytes") >= 4 * (8 + 6));
  }
  assert_true(flops == 63);
  assert_true(share > 0.999 && share < 1.001);
  json_decref(root);
}

// Products of bytes count, as integers, whoever computes them: 16x8x8 sums of 8x3x3 terms. Where the machine multiplies
// bytes, their peak is one of its own.
static void check_integers(const char *target) {
  static const char text[] = "module {\n"
                             "  constant @w : i8[16,8,3,3] = splat 3\n"
                             "  constant @s : f32[] = splat 0.05\n"
                             "  constant @z : u8[] = splat 3\n"
                             "  constant @n : i8[] = splat 0\n"
                             "  func @main(%x : u8[1,8,10,10]) -> (%y : u8[1,16,8,8]) {\n"
                             "    %y = QLinearConv@10(%x, @s, @z, @w, @s, @n, @s, @z) : u8[1,16,8,8]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("bytes.byoc", text, strlen(text), &diag), &diag);
  byoc_test_shell(0, "byoc build bytes.byoc -o bytes.so --target '%s' --plan=greedy --profile", target);
  byoc_test_shell(0, "byoc profile bytes.so --runs 3 --json bytes.json --html bytes.html");
  byoc_test_printed("GOP/s");
  json_t *root = read_json("bytes.json"), *step = json_array_get(json_object_get(root, "instructions"), 0);
  assert_string_equal(json_string_value(json_object_get(step, "arithmetic")), "int8");
  assert_true(number(step, "flops") >= 2 * 16 * 64 * 72);
  const json_t *machine = json_object_get(root, "machine"), *peak;
  const char *type;
  json_object_foreach(json_object_get(machine, "peaks"), type, peak) {
    assert_true(strcmp(type, "int8") == 0 || strcmp(type, "bf16") == 0);
    assert_true(json_number_value(peak) > 0);
  }
  json_decref(root);
  byoc_test_shell(0, "grep -q 'GOP/s of int8' bytes.html");
}

static void test_integers_count(void **state) {
  (void)state;
  check_integers("c");
  check_integers("cutlass; c");
}

// Totals by operators and target cover all instructions. Nothing takes more than all of what the machine can do.
static void test_totals_cover_all_instructions(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx -o vision.so --target 'cutlass; c' --profile");
  byoc_test_shell(0, "byoc profile vision.so --runs 5 --json v.json --html v.html > v.txt && "
                     "grep '^operators  *target ' v.txt && ! grep -ohE '[0-9]{3,}%%' v.txt v.html | grep -v '^100%%$'");
  // No label of the time line is cut off.
  byoc_test_shell(0, "grep -oE 'x=\"[0-9.]+\" y=\"[0-9]+\">[0-9.e+-]+ ms<' v.html | "
                     "awk -F'\"' '$2 > 1102 { cut = 1 } END { exit cut || NR == 0 }'");
  json_t *root = read_json("v.json"), *entry;
  size_t index, count = 0, steps = 0;
  double total_us = 0, step_us = 0;
  json_array_foreach(json_object_get(root, "instructions"), index, entry) {
    step_us += number(entry, "median_us");
    steps += json_object_get(entry, "calls") != NULL;
    if (json_object_get(entry, "limit_share") != NULL) assert_true(number(entry, "limit_share") <= 1);
  }
  json_array_foreach(json_object_get(root, "totals"), index, entry) {
    total_us += number(entry, "us");
    count += (size_t)number(entry, "calls");
    assert_null(strchr(json_string_value(json_object_get(entry, "operators")), '\''));
  }
  assert_int_equal(count, steps);
  assert_true(fabs(total_us - step_us) < 1e-3 * step_us);
  json_decref(root);
}

// Every target that the vision model can go to: names, times and work of each.
static void check_target(const char *target, const char *instruction, bool has_nodes) {
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx -o vision.so --target '%s' --profile", target);
  byoc_test_shell(0, "byoc profile vision.so --runs 3 --threads 2 --json v.json --trace v.trace --html v.html");
  byoc_test_printed(instruction);
  json_t *root = read_json("v.json"), *steps = json_object_get(root, "instructions"), *step;
  size_t index, node_count = 0, event_count = 0;
  double flops = 0;
  json_array_foreach(steps, index, step) {
    assert_true(number(step, "median_us") >= 0);
    flops += number(step, "flops");
    node_count += json_array_size(json_object_get(step, "nodes"));
  }
  assert_true(flops > 10000);
  assert_int_equal(node_count > 0, has_nodes);
  size_t row_count = json_array_size(steps) + node_count;
  json_decref(root);

  root = read_json("v.trace");
  json_t *event;
  json_array_foreach(json_object_get(root, "traceEvents"), index, event) {
    if (strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0) continue;
    if (strcmp(json_string_value(json_object_get(event, "cat")), "host") == 0) continue;
    assert_true(number(event, "dur") >= 0);
    assert_true(number(event, "ts") >= 0);
    event_count += 1;
  }
  assert_int_equal(event_count, row_count);
  json_decref(root);

  byoc_diag_t diag = {0};
  char *html = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read("v.html", byoc_allocator_system(), &diag, &html, &size), &diag);
  assert_non_null(strstr(html, "Against the machine's limits"));
  assert_non_null(strstr(html, "By operators and target"));
  assert_non_null(strstr(html, "prefers-color-scheme: dark"));
  // As on the page of a plan: "c", the last target, has a colour of its own, the first one that of its place.
  assert_non_null(strstr(html, strcmp(target, "c") == 0 ? "fill:var(--native)" : "fill:var(--t0)"));
  assert_non_null(strstr(html, "</html>"));
  free(html);
}

static void test_native(void **state) {
  (void)state;
  check_target("c", "Conv", false);
}

static void test_engine(void **state) {
  (void)state;
  check_target("dnnl; c", "operators)", true);
}

static void test_c_calls(void **state) {
  (void)state;
  check_target("cblas; c", "byoc_openblas_sgemm '", false);
}

// Shapes known at run time, in a loop; the host looks after shapes and memory between the calls.
static void test_h16_host_time_of_a_loop_is_told(void **state) {
  (void)state;
  const int64_t steps = 5;
  write_npy_of("steps.npy", "<i8", 0, NULL, &steps, sizeof(steps));
  byoc_test_shell(0, "byoc-modelgen greedy_decoder -o decoder.onnx && byoc build decoder.onnx -o decoder.so --target "
                     "'cblas; c' --profile");
  byoc_test_shell(2, "byoc profile decoder.so --runs 3");
  byoc_test_printed("--dim NAME=VALUE");
  byoc_test_shell(1, "byoc profile decoder.so --input steps=steps.npy --dim prompt_length=9000000000000000000");
  byoc_test_printed("'prompt' is larger than any memory");
  byoc_test_shell(0, "byoc profile decoder.so --runs 3 --dim prompt_length=4 --input steps=steps.npy --json d.json "
                     "--trace d.trace --html d.html");
  byoc_test_printed("host us");
  byoc_test_printed("host, between the calls: ");
  json_t *root = read_json("d.json"), *step;
  size_t index, calls = 0, others = 0;
  assert_true(number(root, "host_ms") > 0);
  double host_us = 0, most_calls = 0, all_calls = 0;
  json_array_foreach(json_object_get(root, "instructions"), index, step) {
    if (json_object_get(step, "host_us") == NULL) {
      others += 1;
      continue;
    }
    calls += 1;
    most_calls = number(step, "calls") > most_calls ? number(step, "calls") : most_calls;
    all_calls += number(step, "calls");
    host_us += number(step, "host_us");
    assert_true(number(step, "median_us") > 0);
  }
  json_array_foreach(json_object_get(root, "totals"), index, step) all_calls -= number(step, "calls");
  assert_true(all_calls == 0);
  assert_true(calls >= 5 && others >= 10);
  assert_true(host_us > 0);
  assert_true(most_calls == 5); // in the loop
  json_decref(root);
  root = read_json("d.trace");
  size_t host_events = 0;
  json_array_foreach(json_object_get(root, "traceEvents"), index, step) {
    const char *category = json_string_value(json_object_get(step, "cat"));
    host_events += category != NULL && strcmp(category, "host") == 0;
  }
  assert_true(host_events > calls); // the loop runs several times
  json_decref(root);
}

// The four causes sum to the lost time: the time on two threads beyond half of the time on one.
static double check_threads(const json_t *threads) {
  const double lost = number(threads, "lost_us");
  const double causes = number(threads, "alone_us") + number(threads, "uneven_us") + number(threads, "forks_us") +
                        number(threads, "dearer_us");
  assert_true(number(threads, "one_us") >= 0 && number(threads, "many_us") >= 0);
  assert_true(fabs(lost - causes) < 0.01);
  assert_true(fabs(lost - (number(threads, "many_us") - number(threads, "one_us") / 2)) < 0.01);
  assert_true(number(threads, "loops_us") >= number(threads, "slowest_us"));
  assert_true(number(threads, "busy_us") >= number(threads, "slowest_us"));
  return lost;
}

static void test_lost_time_of_threads_is_explained(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx -o vision.so --target c --profile");
  byoc_test_shell(0, "byoc profile vision.so --runs 5 --json one.json");
  json_t *root = read_json("one.json");
  assert_null(json_object_get(root, "all_threads"));
  json_decref(root);
  byoc_test_shell(0, "byoc profile vision.so --runs 5 --threads 2 --json v.json --html v.html");
  byoc_test_printed("us, by lost time");
  byoc_test_printed("2 threads are ");
  root = read_json("v.json");
  assert_int_equal(number(root, "threads"), 2);
  json_t *steps = json_object_get(root, "instructions"), *step;
  double lost = check_threads(json_object_get(root, "host_threads")), loops = 0;
  size_t index;
  json_array_foreach(steps, index, step) {
    const json_t *threads = json_object_get(step, "threads");
    lost += check_threads(threads);
    loops += number(threads, "loops");
    if (number(threads, "loops") > 0) assert_true(number(threads, "busy_us") > 0);
  }
  assert_true(loops > 0); // the convolution is wide enough for both
  assert_true(fabs(lost - check_threads(json_object_get(root, "all_threads"))) < 0.01);
  json_decref(root);
  byoc_diag_t diag = {0};
  char *html = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read("v.html", byoc_allocator_system(), &diag, &html, &size), &diag);
  assert_non_null(strstr(html, "Lost time on 2 threads"));
  free(html);
}

static void test_refusals(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc build tiny.onnx -o plain.so --target c");
  byoc_test_shell(1, "byoc profile plain.so");
  byoc_test_printed("built without --profile");
  byoc_test_printed("byoc build MODEL -o ARTIFACT --profile");
  byoc_test_shell(0, "byoc build tiny.onnx -o tiny.so --target c --profile");
  byoc_test_shell(2, "byoc profile tiny.so --runs 0");
  byoc_test_printed("--runs takes a number from 1 on");
  byoc_test_shell(1, "byoc profile tiny.so --trace missing/x.json");
  byoc_test_printed("missing/x.json");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_work),
                                     cmocka_unit_test(test_integers_count),
                                     cmocka_unit_test(test_totals_cover_all_instructions),
                                     cmocka_unit_test(test_native),
                                     cmocka_unit_test(test_engine),
                                     cmocka_unit_test(test_c_calls),
                                     cmocka_unit_test(test_h16_host_time_of_a_loop_is_told),
                                     cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_lost_time_of_threads_is_explained)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
