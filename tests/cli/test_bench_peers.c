// SPDX-License-Identifier: Apache-2.0
// tools/bench-peers: a race of byoc builds alone, its files, going on where it stopped. Skipped where Python has no
// numpy; the peers themselves are not needed.
#include <jansson.h>

#include "core/base/file.h"
#include "tests/support/command.h"

#define BENCH_PEERS                                                                                                    \
  "python3 " BYOC_TEST_SOURCE_DIR "/tools/bench-peers --programs " BYOC_TEST_PROGRAM_DIR " --peers '' --output out "

static void need_numpy(void) {
  if (byoc_test_try_shell("python3 -c 'import numpy'") != 0) byoc_test_skip("python3 has no numpy");
}

static json_t *read_rows(json_t **out_root) {
  json_error_t error;
  *out_root = json_load_file("out/results.json", 0, &error);
  if (*out_root == NULL) fail_msg("results.json:%d: %s", error.line, error.text);
  return json_object_get(*out_root, "rows");
}

static void test_race(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx");
  byoc_test_shell(0, BENCH_PEERS "mlp.onnx --threads 1 --rounds 2 --turn-ms 5 --byoc 'c=--target c' "
                                 "--byoc 'blas=--target cblas;c' --byoc 'wrong=--target nobody'");
  byoc_test_printed("byoc blas: median");
  json_t *root = NULL, *rows = read_rows(&root);
  assert_int_equal(json_array_size(rows), 3);
  for (size_t i = 0; i < 2; ++i) {
    const json_t *row = json_array_get(rows, i);
    assert_true(json_number_value(json_object_get(row, "median_ms")) > 0);
    assert_true(json_number_value(json_object_get(row, "processor_ms")) > 0);
    assert_true(json_number_value(json_object_get(row, "build_s")) > 0);
    assert_int_equal(json_array_size(json_object_get(row, "peaks_gflops")), 3); // before each round and after the last
    assert_true(json_number_value(json_object_get(row, "first_result_ms")) > 0);
  }
  assert_true(json_is_true(json_object_get(json_array_get(rows, 1), "agrees")));
  assert_non_null(strstr(json_string_value(json_object_get(json_array_get(rows, 2), "error")), "nobody"));
  json_decref(root);
  byoc_test_shell(0, "test -s out/ratios.svg && grep -q 'byoc blas' out/table.txt && grep -q '^mlp,1,0,byoc c,' "
                     "out/table.csv");
  // What was timed already is not timed again; the rest is.
  byoc_test_shell(0, BENCH_PEERS "mlp.onnx --threads 1 --rounds 2 --turn-ms 5 --byoc 'c=--target c'");
  byoc_test_printed("going on with");
  assert_null(strstr(byoc_test_output(), "byoc c: median"));
  byoc_test_shell(0, BENCH_PEERS "mlp.onnx --threads 2 --rounds 2 --turn-ms 5 --byoc 'c=--target c'");
  byoc_test_printed("byoc c: median");
  rows = read_rows(&root);
  assert_int_equal(json_array_size(rows), 4);
  json_decref(root);
  byoc_test_shell(0, "grep -q '^2 threads: times as fast as one thread' out/table.txt");
}

// One thread and two take turns in one race: a machine that gets slower in between changes no speed-up.
static void test_threads(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx && rm -rf out");
  byoc_test_shell(0, BENCH_PEERS "mlp.onnx --threads 2,1 --rounds 2 --turn-ms 5 --byoc 'c=--target c'");
  byoc_test_printed("mlp, 1, 2 threads\n");
  byoc_test_printed("byoc c, 1 thread: median");
  byoc_test_printed("byoc c, 2 threads: median");
  json_t *root = NULL, *rows = read_rows(&root);
  assert_int_equal(json_array_size(rows), 2);
  const json_t *one = json_array_get(rows, 0), *two = json_array_get(rows, 1);
  assert_int_equal(json_integer_value(json_object_get(one, "threads")), 1);
  assert_int_equal(json_integer_value(json_object_get(two, "threads")), 2);
  assert_true(json_equal(json_object_get(one, "race"), json_object_get(two, "race")));
  assert_true(json_equal(json_object_get(one, "peaks_gflops"), json_object_get(two, "peaks_gflops")));
  assert_true(json_is_true(json_object_get(two, "agrees")));
  json_decref(root);
}

// Two rounds beside a busy program, which is gone afterwards; both rounds count.
static void test_neighbours(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx && rm -rf out");
  byoc_test_shell(0, BENCH_PEERS "mlp.onnx --threads 1 --neighbours 1 --rounds 2 --turn-ms 5 --byoc 'c=--target c'");
  byoc_test_printed("mlp, 1 thread, 1 neighbour\n");
  byoc_test_printed("2 of 2 rounds count");
  json_t *root = NULL, *row = json_array_get(read_rows(&root), 0);
  assert_int_equal(json_integer_value(json_object_get(row, "neighbours")), 1);
  assert_true(json_number_value(json_object_get(row, "median_ms")) > 0);
  json_decref(root);
  byoc_test_shell(0, "grep -q '^1 thread, 1 neighbour: median ms' out/table.txt");
}

// Helpers that have begun end when others cannot begin.
static void test_no_helper_stays(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(0, "python3 -B - <<'END'\n"
                     "import sys; sys.path.insert(0, '" BYOC_TEST_SOURCE_DIR "/tools')\n"
                     "from bench_peers import machine, rounds\n"
                     "begun = []\n"
                     "class Peak(machine.Peak):\n"
                     "    def __init__(self, threads):\n"
                     "        super().__init__(threads)\n"
                     "        begun.extend(self.processes)\n"
                     "def refuse(count):\n"
                     "    raise OSError('no more processes')\n"
                     "machine.Peak, machine.Neighbours = Peak, refuse\n"
                     "try:\n"
                     "    rounds.take_rounds([], 2, 1, None)\n"
                     "except OSError as error:\n"
                     "    print(error, [helper.process.poll() for helper in begun])\n"
                     "END");
  byoc_test_printed("no more processes [0, 0]\n");
}

// A round in whose turn the machine was slow does not count; if that leaves too few, all do.
static void test_rounds_that_count(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(0, "python3 -B -c 'import sys; sys.path.insert(0, \"" BYOC_TEST_SOURCE_DIR "/tools\"); "
                     "from bench_peers.machine import quiet_rounds as q; "
                     "print(q([100, 99, 80, 95, 91]), q([100, 50, 50, 50, 50]), q([70, 70, 70]))'");
  byoc_test_printed("[0, 3] [0, 1, 2, 3] [0, 1]\n");
}

// Rows of two rounds and two contestants: the ratio is that of the rounds, the speed-up that of the medians, or of the
// rounds of one race.
static void test_tables(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(
      0, "python3 -B - <<'END'\n"
         "import sys; sys.path.insert(0, '" BYOC_TEST_SOURCE_DIR "/tools')\n"
         "from bench_peers import report\n"
         "def row(contestant, threads, *turns, **more):\n"
         "    return {**more, 'model': 'm', 'threads': threads, 'contestant': contestant, 'median_ms': turns[0],\n"
         "            'processor_ms': threads * turns[0], 'turns_ms': turns, 'start_ms': 1}\n"
         "print(report.table([row('onnxruntime', 1, 8, 8), row('byoc c', 1, 4, 6),\n"
         "                    row('onnxruntime', 2, 5, 5), row('byoc c', 2, 2.5, 2.5)]))\n"
         "races = [row('byoc c', 1, 4, 6, 20, race=1), row('byoc c', 2, 4, 3, 10, race=1),\n"
         "         row('byoc c', 2, 8, 9, 10, race=2)]\n"
         "case = 'm', (2, 0), 'byoc c'\n"
         "print([report.speed_up(report.index(races[:1] + [two]), *case) for two in races[1:]])\n"
         "END");
  byoc_test_printed("m                                     8.000  4.000 0.62\n");
  byoc_test_printed("geometric mean, to onnxruntime         1.00        0.50\n");
  byoc_test_printed("2 threads: times as fast as one thread\nmodel  onnxruntime  byoc c\nm             1.60    1.60\n");
  byoc_test_printed("[2.0, 0.5]\n");
}

// Peers and ways to build take part in the precisions that they have, f32 first; errors stand below the times.
static void test_precisions(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(
      0, "python3 -B - <<'END'\n"
         "import sys; sys.path.insert(0, '" BYOC_TEST_SOURCE_DIR "/tools')\n"
         "from bench_peers import entries, report\n"
         "ways = {'byoc c': '--target c', 'byoc all': '--target cutlass;c'}\n"
         "field = entries.of_race(ways, ['onnxruntime', 'openvino'], ['qdq', 'bf16', 'default', 'f32'])\n"
         "print(', '.join(entry.name for entry in field))\n"
         "print([entry.words for entry in field if entry.name == 'byoc all bf16'])\n"
         "row = {'model': 'm', 'threads': 1, 'median_ms': 1, 'turns_ms': [1], 'start_ms': 1}\n"
         "print(report.table([{**row, 'contestant': 'byoc c', 'precision': 'f32'},\n"
         "                    {**row, 'contestant': 'byoc c qdq', 'precision': 'qdq', 'relative_error': 0.0123}]))\n"
         "END");
  byoc_test_printed("onnxruntime, openvino, byoc c, byoc all, openvino default, openvino bf16, byoc all bf16, "
                    "onnxruntime qdq, openvino qdq, byoc c qdq, byoc all qdq\n");
  byoc_test_printed("['--target cutlass\\\\ -precision=bf16;c']");
  byoc_test_printed("first contestant in f32\nmodel  byoc c  byoc c qdq\nm                 1.2e-02\n");
}

static void test_refusals(void **state) {
  (void)state;
  need_numpy();
  byoc_test_shell(1, BENCH_PEERS "--models nothing");
  byoc_test_printed("there is no model 'nothing'");
  byoc_test_printed("left out: byoc xnnpack: no plugin has the target 'xnnpack'"); // one of the usual ways
  byoc_test_shell(1, BENCH_PEERS "mlp.onnx --byoc target");
  byoc_test_printed("LABEL=ARGUMENTS");
  byoc_test_shell(1, BENCH_PEERS "mlp.onnx --peers nobody");
  byoc_test_printed("there is no peer 'nobody'");
  byoc_test_shell(2, BENCH_PEERS "mlp.onnx --precisions f32,f8");
  byoc_test_printed("there is no precision 'f8'; known are f32, default, bf16, f16, int8, qdq");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_race),
                                     cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_neighbours),
                                     cmocka_unit_test(test_no_helper_stays),
                                     cmocka_unit_test(test_rounds_that_count),
                                     cmocka_unit_test(test_tables),
                                     cmocka_unit_test(test_precisions),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
