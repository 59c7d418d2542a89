// SPDX-License-Identifier: Apache-2.0
// byoc build --stream-axis: the memory that it saves, the results that it does not change, and what it refuses.
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/command.h"

// The workspace of mobile.onnx in bytes.
static long long workspace(const char *target, const char *options) {
  byoc_test_shell(0,
                  "byoc build mobile.onnx --dim batch=8 --plan greedy --target '%s' %s --emit=host -o h.host && "
                  "head -1 h.host",
                  target, options);
  const char *at = strstr(byoc_test_output(), " workspace ");
  assert_non_null(at);
  return strtoll(at + strlen(" workspace "), NULL, 10);
}

// One image at a time takes the memory of one image, with and without a backend.
static void test_h13_memory_is_that_of_one_image(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mobilenet_v2 --batch 0 -o mobile.onnx");
  static const char *const targets[] = {"c", "cutlass; c"};
  for (size_t i = 0; i < (byoc_test_is_long() ? sizeof(targets) / sizeof(targets[0]) : 1); ++i) {
    const long long whole = workspace(targets[i], ""), half = workspace(targets[i], "--stream-axis batch:2");
    const long long one = workspace(targets[i], "--stream-axis batch");
    print_message("%s: workspace %lld, in two parts %lld, one image at a time %lld\n", targets[i], whole, half, one);
    assert_in_range(whole, 48000000, 49500000);
    assert_in_range(half, 24000000, 25000000);
    assert_in_range(one, 6000000, 7000000);
  }
}

// `options` of the whole and of the parts; the outputs are the same bytes.
static void same_bits(const char *model, const char *target, const char *axis) {
  byoc_test_shell(0, "byoc run %s --plan greedy --target '%s' --random --seed 3 --output-dir whole", model, target);
  byoc_test_shell(0, "byoc run %s --plan greedy --target '%s' --random --seed 3 --output-dir parts --stream-axis %s",
                  model, target, axis);
  byoc_test_shell(0, "for f in whole/*.npy; do cmp $f parts/$(basename $f) || exit 1; done; rm -r whole parts");
}

static void test_h13_parts_give_the_same_bits(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet --batch 8 -o lenet.onnx");
  // Fully connected layers of c with fewer than four rows sum in another order.
  same_bits("lenet.onnx", "c", "input.0:2");
  same_bits("lenet.onnx", "cutlass; c", "input.0");
  if (!byoc_test_is_long()) return;
  byoc_test_shell(0, "byoc-modelgen mobilenet_v2 --batch 0 -o mobile.onnx && "
                     "byoc-modelgen bert_base --layers 1 --batch 8 --sequence 8 -o bert.onnx");
  same_bits("mobile.onnx --dim batch=8", "cutlass; c", "batch");
  same_bits("mobile.onnx --dim batch=8", "c", "batch:2");
  same_bits("bert.onnx", "c", "input_ids.0:2");
}

static void test_h13_the_command_takes_an_axis(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build --help | tr -s ' \\n' ' '");
  byoc_test_printed("--stream-axis AXIS[:PARTS]");
  byoc_test_shell(0, "byoc opt --help");
  byoc_test_printed("stream-axis");
  byoc_test_shell(0, "byoc-modelgen lenet --batch 0 -o lenet.onnx");
  byoc_test_shell(2, "byoc build lenet.onnx --stream-axis batch");
  byoc_test_printed("the axis 'batch' of input 'input' is open");
  byoc_test_printed("hint: give it a size: --dim NAME=VALUE");
  byoc_test_shell(2, "byoc build lenet.onnx --dim batch=8 --stream-axis batch:3");
  byoc_test_printed("the axis 'batch' of 8 does not divide into 3 equal parts");
  byoc_test_printed("hint: it divides into 2, 4, 8");
  byoc_test_shell(2, "byoc build lenet.onnx --dim batch=8 --stream-axis bath");
  byoc_test_printed("no dimension of the inputs is called 'bath'");
  byoc_test_shell(0, "byoc build lenet.onnx --dim batch=8 --stream-axis batch:4 -v -o lenet.so");
  byoc_test_printed("operators in loops over 4 parts");
  byoc_test_shell(2, "byoc run lenet.so --random --stream-axis batch");
  byoc_test_printed("--stream-axis is for models; this is an artifact");
  byoc_test_shell(0, "byoc build lenet.onnx --dim batch=8 --emit=host --constants -o lenet.host");
  byoc_test_shell(2, "byoc build lenet.host --stream-axis batch");
  byoc_test_printed("only models have axes to stream; this is a host program");
  // The names of dimensions outlive their sizes, in the text of a module, too.
  byoc_test_shell(0, "byoc opt lenet.onnx --dim batch=8 --constants -o lenet.byoc && byoc build lenet.byoc --emit=host "
                     "--stream-axis batch:2");
  byoc_test_printed("\"Loop 'batch'\"");
  // What a turn makes can be looked at.
  byoc_test_shell(0, "byoc run lenet.onnx --dim batch=8 --stream-axis batch:4 --random --trace");
  byoc_test_printed("@3 ");
}

// ---- queues of a device ----

static const char chain[] = "cat > chain.byoc <<'END'\n"
                            "module {\n  func @main(%x : f32[8,128], %w : f32[128,16]) -> (%y : f32[8,16]) {\n"
                            "    %a = Relu@14(%x) : f32[8,128]\n    %b = MatMul@13(%a, %w) : f32[8,16]\n"
                            "    %y = Neg@13(%b) : f32[8,16]\n    return %y\n  }\n}\nEND\n";
#define ON_DEVICE "--plugin '" SIMDEV_PLUGIN "' --target 'simdev; c' --plan greedy --random "

static void test_h13_queues_of_a_device_change_no_bit(void **state) {
  (void)state;
  byoc_test_shell(0, "%s", chain);
  byoc_test_shell(0, "byoc run chain.byoc " ON_DEVICE "--output-dir whole");
  static const char *const options[] = {"", "--queues 2", "--queues 3", "--queues 64", "--queues 3 --evaluate"};
  static const char *const sims[] = {"", "delay=200", "order=5"};
  for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); ++i) {
    for (size_t k = 0; k < sizeof(sims) / sizeof(sims[0]); ++k) {
      byoc_test_shell(0,
                      "BYOC_SIM='%s' byoc run chain.byoc " ON_DEVICE "--output-dir parts --stream-axis x.0 %s && "
                      "cmp whole/y.npy parts/y.npy",
                      sims[k], options[i]);
    }
  }
  byoc_test_shell(2, "byoc run chain.byoc " ON_DEVICE "--stream-axis x.0 --queues 65");
  byoc_test_printed("a whole number from 1 to 64");
}

typedef struct command_t {
  char what[16];
  unsigned queue;
  unsigned long long begin, end;
} command_t;

// Runs over queues, and reads the time stamps of the device. Returns how many copies ran while a kernel of another
// queue did.
static int copies_beside_kernels(const char *queues) {
  enum { MOST = 256 };
  static command_t commands[MOST];
  size_t count = 0;
  byoc_test_shell(0,
                  "rm -f log && BYOC_SIM=delay=3000,times,log=$PWD/log byoc run chain.byoc " ON_DEVICE
                  "--stream-axis x.0 --queues %s >out && grep '^ran' log",
                  queues);
  for (const char *line = byoc_test_output(); line != NULL && count < MOST; line = strchr(line, '\n')) {
    command_t *c = &commands[count];
    line += *line == '\n';
    if (sscanf(line, "ran %15s on q%u from %llu to %llu", c->what, &c->queue, &c->begin, &c->end) == 4) ++count;
  }
  assert_true(count > 8 * 3);
  int found = 0;
  for (size_t i = 0; i < count; ++i) {
    bool is_beside = false;
    for (size_t k = 0; k < count && strcmp(commands[i].what, "copy") == 0; ++k) {
      const bool is_at_once = commands[i].begin < commands[k].end && commands[k].begin < commands[i].end;
      if (commands[i].queue == commands[k].queue && i != k) assert_false(is_at_once);
      is_beside |= is_at_once && strcmp(commands[k].what, "launch") == 0;
    }
    found += is_beside;
  }
  return found;
}

// One part is copied while another one is computed: the device's time stamps say so.
static void test_h14_copies_run_beside_compute(void **state) {
  (void)state;
  enum { MOST_RUNS = 100 }; // the machine may give one thread all its time
  int found = 0;
  byoc_test_shell(0, "%s", chain);
  for (int run = 0; run < MOST_RUNS && found < 3; ++run) found = copies_beside_kernels("2");
  assert_true(found >= 3);
  assert_int_equal(copies_beside_kernels("1"), 0);
}

// The same on a device of OpenCL, where there is one.
static void test_h13_queues_of_opencl_change_no_bit(void **state) {
  (void)state;
  static const char run[] = "byoc run chain.byoc --target 'opencl; c' --plan greedy --random";
  byoc_test_shell(0, "%s", chain);
  if (byoc_test_try_shell("%s --output-dir whole", run) != 0) {
    byoc_test_printed("the device 'opencl' cannot start"); // and no other reason
    byoc_test_skip("there is no device of OpenCL");
  }
  for (int queues = 1; queues < 4; ++queues) {
    byoc_test_shell(0, "%s --output-dir parts --stream-axis x.0:4 --queues %d && cmp whole/y.npy parts/y.npy", run,
                    queues);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h13_memory_is_that_of_one_image),
      cmocka_unit_test(test_h13_parts_give_the_same_bits),
      cmocka_unit_test(test_h13_the_command_takes_an_axis),
      cmocka_unit_test(test_h13_queues_of_a_device_change_no_bit),
      cmocka_unit_test(test_h14_copies_run_beside_compute),
      cmocka_unit_test(test_h13_queues_of_opencl_change_no_bit),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
