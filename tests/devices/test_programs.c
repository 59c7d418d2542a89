// Host programs on the driver `sim`, compiled and evaluated.
#include "tests/devices/program.h"

// y = relu(3 x + w), with the copy of the second input on a queue of its own.
static const char small[] =
    "host program \"p\" {\n"
    "  device %d = \"sim\" 0 type 12\n"
    "  queue %q on %d\n"
    "  queue %in on %d\n"
    "  event %e on %d\n"
    "  event %done on %d\n"
    "  input %x : f32[4]\n  input %b : f32[4]\n  output %y : f32[4]\n"
    "  constant %w : f32[4] on %d = [1, -2, 3, -40]\n"
    "  local %t : f32[4] on %d\n  local %u : f32[4] on %d\n  local %v : f32[4] on %d\n  local %h : f32[4]\n"
    "  allocate %t\n  allocate %u\n  allocate %v\n  allocate %h\n"
    "  copy %b -> %v on %in signals %e\n"
    "  copy %x -> %t on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%t) -> (%u) with (operand 0, result 0, f32 3.0, "
    "i64 "
    "4) on %q \"Mul 'three'\"\n"
    "  launch \"kernels\" \"add\" grid [1, 1, 1] block [4, 1, 1] (%u, %w) -> (%t) with (operand 0, operand 1, result "
    "0, "
    "i32 4) on %q\n"
    "  launch \"kernels\" \"add\" grid [1, 1, 1] block [4, 1, 1] (%t, %v) -> (%u) with (operand 0, operand 1, result "
    "0, "
    "i32 4) on %q after (%e) signals %e\n"
    "  launch \"kernels\" \"relu\" grid [1, 1, 1] block [4, 1, 1] (%u) -> (%t) with (operand 0, result 0, i32 4) on "
    "%q\n"
    "  copy %t -> %h on %q signals %done\n"
    "  await (%done)\n"
    "  copy %h -> %y\n"
    "  free %h\n  free %v\n  free %u\n  free %t\n"
    "}\n";

static void check_small(program_t *p, float scale) {
  const float x[4] = {scale, 2 * scale, 3 * scale, 4 * scale}, b[4] = {0.5f, 0.25f, 0, -1}, w[4] = {1, -2, 3, -40};
  float y[4] = {0};
  const void *const inputs[] = {x, b};
  void *const outputs[] = {y};
  program_run(p, inputs, outputs);
  for (int i = 0; i < 4; ++i) {
    const float sum = 3 * x[i] + w[i] + b[i];
    assert_float_equal(y[i], sum > 0 ? sum : 0, 0);
  }
}

static void test_h10_a_program_runs_on_a_device(void **state) {
  (void)state;
  static const char *const options[] = {"", "delay=200", "order=1", "order=7,delay=50"};
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    setenv("BYOC_SIM", options[k], 1);
    program_t p;
    program_open(&p, small, "plan-memory");
    for (int run = 1; run < 4; ++run) check_small(&p, (float)run);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h10_a_program_runs_on_a_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
