// SPDX-License-Identifier: Apache-2.0
// Host programs as files: written by byoc build --emit=host, and composed from there.
#include "core/base/file.h"
#include "models.h"
#include "tests/support/command.h"

// The artifact of a model's host program has the same code and data as that of the model: nothing is missing in the
// text.
static void compose_from_text(const char *model, const char *target) {
  byoc_test_shell(
      0, "rm -rf direct text && mkdir direct text && byoc build %s.onnx --target '%s' --profile -o direct/m.so", model,
      target);
  byoc_test_shell(0, "byoc build %s.onnx --target '%s' --emit=host --constants -o %s.host", model, target, model);
  byoc_test_shell(0,
                  BYOC_TEST_SAME
                  "byoc build %s.host --target '%s' --profile -o text/m.so && same direct/m.so text/m.so && "
                  "cmp direct/m.h text/m.h",
                  model, target);
  byoc_test_shell(0,
                  "byoc build %s.host --target '%s' --emit=host --constants -o again.host && cmp again.host %s.host "
                  "&& cmp again.host.data %s.host.data",
                  model, target, model, model);
  // Without a data file the bytes stand in the text.
  byoc_test_shell(
      0,
      BYOC_TEST_SAME
      "byoc build %s.host --target '%s' --emit=host --constants > alone.host && byoc build alone.host "
      "--target '%s' --name %s --emit=c | code > alone.c && byoc build %s.onnx --target '%s' --emit=c | code | cmp - "
      "alone.c",
      model, target, target, model, model, target);
}

static void test_h2_static_models_are_composed_from_text(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  compose_from_text("lenet", "cutlass; dnnl; cblas; c");
  if (!byoc_test_is_long()) return;
  compose_from_text("lenet", "c");
  compose_from_text("lenet", "cblas; c");
}

// Sequences, loops, branches, texts and symbols.
static void test_h2_dynamic_models_are_composed_from_text(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen greedy_decoder -o decoder.onnx && byoc-modelgen detector -o detector.onnx && "
                     "byoc-modelgen lstm -o lstm.onnx");
  compose_from_text("decoder", "c");
  if (!byoc_test_is_long()) return;
  compose_from_text("detector", "cutlass; cblas; c");
  compose_from_text("lstm", "dnnl; c");
}

static void test_h2_programs_run(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx && byoc build mlp.onnx --emit=host --constants -o mlp.host && "
                     "byoc run mlp.onnx --random --output-dir r");
  byoc_test_shell(0, "ls r");
  byoc_test_shell(0, "for f in r/*.npy; do n=$(basename $f .npy); byoc run mlp.host --random --expect $n=$f && "
                     "byoc run mlp.host --evaluate --random --expect $n=$f; done");
}

// Queues of the processor run at once, compiled and evaluated alike: kernels, copies and fills. The text has no plan.
static void test_h10_queues_of_the_processor_run_at_once(void **state) {
  (void)state;
  const char *program = BYOC_TEST_SOURCE_DIR "/tests/random/host/seeds/queues.host";
  byoc_test_shell(0, "cp %s queues.host && byoc run queues.host --random --output-dir q && ls q/y.npy q/z.npy",
                  program);
  byoc_test_shell(0, "byoc run queues.host --evaluate --random --expect y=q/y.npy --expect z=q/z.npy");
  byoc_test_shell(0, "byoc run queues.host --random");
  byoc_test_printed("z : f32[4] = 0 0 0 0");
}

static void test_h2_commands_refuse(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx && byoc build mlp.onnx --emit=host -o elided.host");
  byoc_test_shell(1, "byoc build elided.host");
  byoc_test_printed("elided.host:");
  byoc_test_printed("was left out when it was printed");
  byoc_test_shell(0, "byoc build mlp.onnx --emit=host --constants -o mlp.host && byoc build mlp.host");
  byoc_test_printed(" instructions\n");
  byoc_test_shell(2, "byoc build mlp.host --emit=ir");
  byoc_test_printed("a model is wanted here; this is a host program");
  byoc_test_shell(2, "byoc inspect mlp.host");
  byoc_test_printed("is a host program");
  byoc_test_shell(2, "byoc build mlp.host --constants");
  byoc_test_printed("--constants goes with --emit");
  byoc_test_shell(2, "byoc build mlp.host --dim N=4");
  byoc_test_printed(
      "dimensions can be given to ONNX models; 'mlp.host' is a host program, whose dimensions were settled");
}

// Switches and dumps of host passes and graph passes, from the command line.
static void test_h12_the_command_switches_and_dumps_passes(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx && byoc build mlp.onnx --emit=host --print-after=plan-memory");
  byoc_test_printed("// after plan-memory\nhost program");
  byoc_test_shell(0, "byoc build mlp.onnx -v --emit=host 2>&1 >/dev/null | grep 'plan-memory'");
  byoc_test_printed(" change");
  byoc_test_shell(0, "byoc build mlp.onnx -v --emit=host --disable-pass elide-copies 2>&1 >/dev/null");
  byoc_test_printed("elide-copies                     is switched off");
  byoc_test_shell(0, "byoc opt mlp.onnx --passes=simplify --disable-pass canonicalise 2>&1 || true");
  byoc_test_printed("no build can do without the pass canonicalise");
  byoc_test_shell(2, "byoc build mlp.onnx --disable-pass fold-constant");
  byoc_test_printed("did you mean 'fold-constants'?");
  byoc_test_shell(0, "byoc opt mlp.onnx --passes=simplify --disable-pass fold-constants --print-after=all");
  assert_null(strstr(byoc_test_output(), "after fold-constants"));
  byoc_test_printed("after remove-dead-code");
  byoc_test_shell(0, "byoc build mlp.onnx --emit=host --constants -o mlp.host && byoc opt mlp.host "
                     "--passes=elide-copies,place-lifetimes,plan-memory --constants -o again.host && cmp mlp.host "
                     "again.host && cmp mlp.host.data again.host.data");
  byoc_test_shell(2, "byoc opt mlp.onnx --passes=plan-memory");
  byoc_test_printed(
      "'plan-memory' is a pass over host programs, and this is a module\nhint: byoc build MODEL --emit=host");
  // The data file is read with its text, so neither is written over.
  byoc_test_shell(2, "byoc opt mlp.host -o mlp.host.data");
  byoc_test_printed("-o would overwrite 'mlp.host.data', which is an input");
  byoc_test_shell(2, "byoc build mlp.host --emit=host -o mlp.host.data");
  byoc_test_printed("-o would overwrite 'mlp.host.data', which is an input");
  byoc_test_shell(2, "byoc opt mlp.host --target c");
  byoc_test_printed("--target partitions modules; this is a host program");
}

// If and Scan of known shapes: a static model in all that a user sees, on any target, from its text, and evaluated.
static void test_h7_branches_and_scans_stay_static(void **state) {
  (void)state;
  static const char text[] =
      "module {\n  constant @w : f32[32,32] = splat 0.25\n"
      "  func @main(%c : bool[], %s : f32[1,32], %x : f32[8,1,32]) -> (%t : f32[1,32], %y : f32[8,1,32]) {\n"
      "    %r, %y = Scan@16(%s, %x) {num_scan_inputs = 1} [body (%a : f32[1,32], %b : f32[1,32]) -> (f32[1,32], "
      "f32[1,32]) {\n      %m = MatMul@13(%b, @w) : f32[1,32]\n      %n = Add@14(%a, %m) : f32[1,32]\n"
      "      %d = MatMul@13(%n, @w) : f32[1,32]\n      return %n, %d\n    }] : f32[1,32], f32[8,1,32]\n"
      "    %t = If@16(%c) [then_branch () -> (f32[1,32]) {\n      %p = MatMul@13(%r, @w) : f32[1,32]\n"
      "      return %p\n    }, else_branch () -> (f32[1,32]) {\n      return %s\n    }] : f32[1,32]\n"
      "    return %t, %y\n  }\n}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("control.byoc", text, strlen(text), &diag), &diag);
  for (int seed = 0; seed < 3; ++seed) {
    byoc_test_shell(0, "rm -rf r && byoc run control.byoc --evaluate --random --seed %d --output-dir r", seed);
    byoc_test_shell(
        0,
        "for t in c 'cutlass; c' 'dnnl; c' 'cblas; c'; do byoc run control.byoc --target \"$t\" --plan greedy --random "
        "--seed %d --rtol 1e-5 --expect t=r/t.npy --expect y=r/y.npy || exit 1; done",
        seed);
  }
  byoc_test_shell(
      0,
      "byoc build control.byoc -o control.so --plan greedy --target 'cblas; c' --profile && byoc profile control.so");
  byoc_test_printed("instructions, median of 30 runs");
  byoc_test_shell(0, "grep -A6 'int32_t control_run(' control.h");
  byoc_test_printed("const uint8_t *c,\n    const float *s,\n    const float *x,\n    float *t,\n    float *y) {");
  byoc_test_shell(
      0, BYOC_TEST_SAME
      "byoc build control.byoc --plan greedy --target 'cblas; c' --emit=host --constants -o control.host && mkdir h && "
      "byoc build control.host --target 'cblas; c' --profile -o h/control.so && same control.so h/control.so && "
      "byoc build control.host --target 'cblas; c' --profile --emit=c | code >host.c && "
      "byoc build control.byoc --plan greedy --target 'cblas; c' --profile --emit=c | code | cmp - host.c");
}

static const char state_model[] =
    "cat > state.byoc <<'EOF'\n"
    "module {\n"
    "  constant @at : i64[1,4] = [2, 2, 2, 2]\n"
    "  func @main(%state : f32[8,4], %new_row : f32[1,4]) -> (%next_state : f32[8,4], %sum : f32[4]) {\n"
    "    %next_state = ScatterElements@18(%state, @at, %new_row) {axis = 0} : f32[8,4]\n"
    "    %sum = ReduceSum@11(%next_state) {axes = [0], keepdims = 0} : f32[4]\n"
    "    return %next_state, %sum\n"
    "  }\n"
    "}\n"
    "EOF";

static void refuse_alias(const char *pair, const char *why) {
  byoc_test_shell(2, "byoc build state.byoc --alias '%s' -o refused.so", pair);
  byoc_test_printed(why);
  byoc_test_shell(1, "test -e refused.so");
}

static void test_h5_aliased_outputs_are_not_copied(void **state) {
  (void)state;
  byoc_test_shell(0, "%s", state_model);
  byoc_test_shell(0, "byoc build state.byoc -o plain.so && byoc run plain.so --random --output-dir r -v");
  byoc_test_printed("the run copied 128 bytes unchanged");
  static const char *const pairs[] = {"next_state=state", "next_*=*"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_test_shell(0, "byoc build state.byoc -o m.so --alias '%s' && byoc inspect m.so", pairs[i]);
    byoc_test_printed("output next_state : f32[8,4]  128 bytes, may be written over state");
    byoc_test_printed("a run copies 128 bytes unchanged, and 0 if outputs are written over their inputs");
    byoc_test_shell(0, "grep 'next_state may be the memory of state' m.h");
    byoc_test_shell(0, "byoc run m.so --random -v --expect next_state=r/next_state.npy --expect sum=r/sum.npy");
    byoc_test_printed("the run copied 0 bytes unchanged");
  }
  byoc_test_shell(0, "byoc run state.byoc --alias next_state=state --random --expect sum=r/sum.npy");
  byoc_test_shell(0, "byoc run state.byoc --alias next_state=state --evaluate --random --expect sum=r/sum.npy");
  // The pair stands in the host program, and can be declared there, too.
  byoc_test_shell(0, BYOC_TEST_SAME
                  "byoc build state.byoc --alias next_state=state --emit=host --constants -o pair.host && "
                  "byoc build pair.host -o m2.so --name m && byoc build state.byoc --alias next_state=state -o m.so "
                  "--name m && same m.so m2.so && byoc build pair.host --name m --emit=c | code >host.c && "
                  "byoc build state.byoc --alias next_state=state --name m --emit=c | code | cmp - host.c");
  byoc_test_shell(0, "byoc build state.byoc --emit=host --constants -o none.host && byoc build none.host --alias "
                     "next_state=state --emit=host --constants -o late.host && cmp late.host pair.host");
  refuse_alias("next_stat=state", "the model has no output 'next_stat'\nhint: did you mean 'next_state'?");
  refuse_alias("next_state=stat", "the model has no input 'stat'\nhint: did you mean 'state'?");
  refuse_alias("state=next_state", "hint: 'state' is an input; the output comes first");
  refuse_alias("sum=state",
               "the output 'sum' is f32[4], so it cannot be written over the input 'state', which is f32[8,4]");
  refuse_alias("present_*=past_*", "the model has no output whose name fits 'present_*'");
  refuse_alias("next_*=state",
               "the model has no output 'next_*'\nhint: a star stands for a part of many names only if");
  refuse_alias("next_state", "--alias takes OUT=IN, an output and an input, not 'next_state'");
  byoc_test_shell(2, "byoc run plain.so --random --alias next_state=state");
  byoc_test_printed("--alias is for models; this is an artifact");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h2_static_models_are_composed_from_text),
      cmocka_unit_test(test_h2_dynamic_models_are_composed_from_text),
      cmocka_unit_test(test_h2_programs_run),
      cmocka_unit_test(test_h10_queues_of_the_processor_run_at_once),
      cmocka_unit_test(test_h2_commands_refuse),
      cmocka_unit_test(test_h12_the_command_switches_and_dumps_passes),
      cmocka_unit_test(test_h7_branches_and_scans_stay_static),
      cmocka_unit_test(test_h5_aliased_outputs_are_not_copied),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
