// SPDX-License-Identifier: Apache-2.0
// byoc run --trace and --dump, byoc debug: what instructions make, and where two runs part.
#include <stdio.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

#define FAULTY "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "

// Row H16: both executors make the same bytes with every instruction, for models with all kinds of instructions.
// `inputs` names those whose files the first run leaves in a folder, so that the evaluated model has open shapes, too.
static void agrees(const char *model, const char *dims, const char *inputs) {
  byoc_test_shell(0, "byoc-modelgen %s -o %s.onnx", model, model);
  // Optimised code adds in another order, fuses multiplications with additions, and has an exp() of its own.
  byoc_test_shell(0, "byoc build %s.onnx --target 'c -mcpu=x86-64 -O=0' --trace -o %s.so", model, model);
  byoc_test_shell(0, "byoc run %s.so --random %s --trace=compiled.txt --dump all=%s", model, dims, model);
  byoc_test_shell(0, "byoc run %s.onnx --evaluate %s --target 'c -mcpu=x86-64 -O=0' --trace=evaluated.txt", model,
                  inputs);
  byoc_test_shell(0, "tail -n 1 compiled.txt && cmp evaluated.txt compiled.txt");
  assert_string_equal(byoc_test_output(), "end\n");
  byoc_test_shell(0, "byoc debug diff evaluated.txt compiled.txt");
  byoc_test_printed("tensors that both have are the same, bit by bit");
}

static void test_h16_static_models_agree_at_every_instruction(void **state) {
  (void)state;
  agrees("mlp", "", "--random");
  agrees("lenet", "", "--random");
}

static void test_h16_dynamic_models_agree_at_every_instruction(void **state) {
  (void)state;
  const int64_t steps = 3;
  write_npy_of("steps.npy", "<i8", 0, NULL, &steps, sizeof(steps));
  agrees("greedy_decoder", "--dim prompt_length=4 -i steps=steps.npy",
         "-i steps=steps.npy -i prompt=greedy_decoder/prompt.npy");
  agrees("detector", "--dim height=32 --dim width=48", "-i image=detector/image.npy");
  agrees("lstm", "--dim time=5 --dim batch=3", "-i x=lstm/x.npy -i lengths=lstm/lengths.npy");
}

// The code of backends is the same in both, and on one thread so are their sums.
static void test_h16_code_of_backends_agrees_at_every_instruction(void **state) {
  (void)state;
  static const char *const targets[] = {"cutlass; c", "cblas; dnnl; c"};
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
#define RUN "byoc run lenet.onnx --random --plan greedy --threads 1 --target '%s -mcpu=x86-64 -O=0' "
    byoc_test_shell(0, RUN "--evaluate --trace=evaluated.txt", targets[i]);
    byoc_test_shell(0, RUN "--trace=compiled.txt && cmp evaluated.txt compiled.txt", targets[i]);
#undef RUN
  }
}

static void test_trace_lines(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc run tiny.onnx --target 'c -fuse=0' -i in/x:0=x.npy --trace");
  byoc_test_printed("byoc trace 1\ninput \"in/x:0\" f32[2,4] ");
  byoc_test_printed("min -3 max 4 mean 1.0625\n");
  byoc_test_printed("\"product\" f32[2,3] ");
  byoc_test_printed("by kernel \"byoc_k0_matmul\" \"MatMul 'product'\" from \"in/x:0\" \"w\"\n");
  byoc_test_printed("\nend\n");
  byoc_test_shell(0, "byoc run tiny.onnx --target c -i in/x:0=x.npy --trace=t.txt && cat t.txt && wc -l < t.txt");
  byoc_test_printed("by kernel \"byoc_k0_matmul_add_relu\" \"MatMul+Add+Relu 'product'\"");
  byoc_test_printed("\n4\n"); // what is computed inside the kernel has no line
}

static void test_dump(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc run tiny.onnx --target 'c -fuse=0' -i in/x:0=x.npy --dump product --dump sum=deep.npy");
  byoc_test_shell(0,
                  "byoc run tiny.onnx --target 'c -fuse=0' -i in/x:0=x.npy --dump all=whole --dump in/x:0 && ls whole");
  byoc_test_printed("in_x_0.npy\nout_y_0.npy\nproduct.npy\nsum.npy\ntrace.txt\n");
  byoc_test_shell(0,
                  "cmp whole/product.npy product.npy && cmp whole/sum.npy deep.npy && cmp whole/in_x_0.npy in_x_0.npy");
  byoc_test_shell(0, "byoc run tiny.onnx --evaluate --target 'c -fuse=0' -i in/x:0=x.npy -e out/y:0=whole/out_y_0.npy");
  byoc_test_shell(
      0, "byoc build tiny.onnx --target c --trace -o traced.so && byoc build tiny.onnx --target c -o plain.so");
  byoc_test_shell(2, "byoc run traced.so -i in/x:0=x.npy --dump sum");
  byoc_test_printed("'sum' has no memory of its own: it is computed inside of MatMul+Add+Relu 'product', which makes "
                    "'out/y:0'");
  byoc_test_printed("c -fuse=0");
  byoc_test_shell(2, "byoc run traced.so -i in/x:0=x.npy --dump prodct");
  byoc_test_printed("no instruction makes a tensor 'prodct'");
  byoc_test_printed("did you mean 'product'?");
  byoc_test_shell(2, "byoc run tiny.onnx --evaluate --target c -i in/x:0=x.npy --dump product");
  byoc_test_printed("'product' has no memory of its own");
  byoc_test_shell(1, "byoc run plain.so -i in/x:0=x.npy --trace");
  byoc_test_printed("it was built without --trace");
  byoc_test_printed("byoc build MODEL -o ARTIFACT --trace");
  byoc_test_shell(1, "byoc run traced.so -i in/x:0=x.npy --trace=missing/t.txt");
  byoc_test_printed("missing");
  byoc_test_shell(2, "byoc run traced.so -i in/x:0=x.npy --dump all=a --dump all=b");
  byoc_test_shell(2, "byoc run traced.so -i in/x:0=x.npy --trace t.txt");
  byoc_test_printed("did you mean --trace=t.txt?");
}

// A file is written once, is never the one that is run, and stands where the user said.
static void test_dump_files(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc build tiny.onnx --target 'c -fuse=0' --trace -o whole.so && cp whole.so kept.so");
#define RUN "byoc run whole.so -i in/x:0=x.npy "
  byoc_test_shell(2, RUN "--dump product=whole.so");
  byoc_test_printed("--dump product would overwrite 'whole.so', which is an input");
  byoc_test_shell(0, "cmp whole.so kept.so");
  byoc_test_shell(2, RUN "--dump product=same.npy --dump sum=same.npy");
  byoc_test_printed("--dump product and --dump sum would write the same file, 'same.npy'");
  byoc_test_shell(2, RUN "--trace=same.npy --dump sum=same.npy");
  byoc_test_printed("--trace and --dump sum would write the same file, 'same.npy'");
  byoc_test_shell(2, RUN "--dump sum=missing.npy --dump all=");
  byoc_test_printed("--dump all=FOLDER needs the name of a folder");
  byoc_test_shell(2, RUN "--dump all");
  byoc_test_printed("hint: --dump all=FOLDER saves all tensors");
  byoc_test_shell(1, "ls same.npy missing.npy 2>/dev/null || exit 1");
#undef RUN
}

// No instruction makes the result of this Concat: the products are written where they belong in it.
static void test_dump_of_what_is_made_in_parts(void **state) {
  (void)state;
  static const char text[] = "module {\n  func @main(%a : f32[8,8], %b : f32[8,8]) -> (%both : f32[16,8]) {\n"
                             "    %left = MatMul@13(%a, %b) : f32[8,8]\n    %right = MatMul@13(%b, %a) : f32[8,8]\n"
                             "    %both = Concat@13(%left, %right) {axis = 0} : f32[16,8]\n    return %both\n  }\n}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("parts.byoc", text, strlen(text), &diag), &diag);
  byoc_test_shell(0, "byoc build parts.byoc --trace -o parts.so");
  static const char *const runs[] = {"parts.so", "parts.byoc", "parts.byoc --evaluate"};
  for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); ++i) {
    byoc_test_shell(2, "byoc run %s --random --dump both", runs[i]);
    byoc_test_printed(
        "'both' is made in parts, which instructions write where they belong\nhint: --dump 'left' has one");
    byoc_test_shell(0, "byoc run %s --random --dump left", runs[i]);
  }
}

// A loop's tensors go into one file for each turn.
static void test_dump_of_a_loop(void **state) {
  (void)state;
  const int64_t steps = 3, prompt[4] = {1, 2, 3, 4};
  write_npy_of("steps.npy", "<i8", 0, NULL, &steps, sizeof(steps));
  write_npy_of("prompt.npy", "<i8", 1, (const int64_t[]){4}, prompt, sizeof(prompt));
  byoc_test_shell(0, "byoc-modelgen greedy_decoder -o decoder.onnx");
  byoc_test_shell(0, "byoc run decoder.onnx -i steps=steps.npy -i prompt=prompt.npy --evaluate --dump all=turns");
  byoc_test_shell(0, "ls turns");
  byoc_test_printed("@0.npy\n");
  byoc_test_printed("@2.npy\n");
  byoc_test_shell(0, "byoc run decoder.onnx -i steps=steps.npy -i prompt=prompt.npy --dump all=again");
  byoc_test_shell(0, "byoc debug diff turns again --rtol 1e-3 --atol 1e-4");
}

static void test_diff(void **state) {
  (void)state;
  static const float other[2][3] = {{0.5f, 0, 2}, {0, 0, 7}};
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc run tiny.onnx --target 'c -fuse=0' -i in/x:0=x.npy --dump all=one --trace=one.txt");
  byoc_test_shell(0, "byoc run tiny.onnx --target 'c -fuse=0' --random --dump all=two --trace=two.txt");
  byoc_test_shell(1, "byoc debug diff one two");
  byoc_test_printed("4 of the 4 tensors that both have differ");
  byoc_test_printed("first difference: \"in/x:0\" f32[2,4]\n  in one an input\n  in two an input\n");
  byoc_test_printed("elements differ, by ");
  byoc_test_shell(1, "byoc debug diff one.txt two.txt");
  byoc_test_printed("min -3 max 4 mean 1.0625, and min ");
  byoc_test_shell(2, "byoc debug diff one.txt two.txt --rtol 1");
  byoc_test_printed("--rtol and --atol need its values");
  byoc_test_shell(0, "byoc debug diff one two --atol 1000");
  // A folder from elsewhere: only names and values. The first difference is the first one of the run.
  byoc_test_shell(0, "mkdir theirs && cp one/in_x_0.npy one/product.npy theirs");
  write_npy("theirs/sum.npy", 2, (const int64_t[]){2, 3}, &other[0][0]);
  write_npy("theirs/out_y_0.npy", 2, (const int64_t[]){3, 2}, &other[0][0]);
  byoc_test_shell(1, "byoc debug diff theirs one");
  byoc_test_printed("2 of the 4 tensors that both have differ, bit by bit");
  byoc_test_printed("first difference: \"sum\" f32[2,3]");
  byoc_test_printed("in one made by instruction");
  byoc_test_printed("Add 'sum'");
  byoc_test_printed("it read \"product\": the same in both");
  byoc_test_printed("also different: \"out/y:0\"");
  byoc_test_shell(0, "rm theirs/sum.npy");
  byoc_test_shell(1, "byoc debug diff one theirs --rtol 1");
  byoc_test_printed("the types differ: f32[2,3] and f32[3,2]");
  // Other fusion, the same names.
  byoc_test_shell(0,
                  "byoc run tiny.onnx --target c -i in/x:0=x.npy --dump all=fused && byoc debug diff one fused --rtol "
                  "1e-5");
  byoc_test_printed("the 2 tensors that both have are the same (rtol 1e-05, atol 0)");
  byoc_test_shell(1, "head -n 3 one.txt > cut.txt && byoc debug diff one.txt cut.txt");
  byoc_test_printed("cut.txt has no end: it was cut off, or its run failed");
}

// A tensor without a name in the model is another one where other operators made it.
static void test_diff_of_temporaries(void **state) {
  (void)state;
  byoc_test_shell(
      0, "cat > p.txt <<'END'\nbyoc trace 1\n"
         "1 \"t_2\" f32[2] 0000000000000001 by kernel \"k0\" \"Neg 'n'\" from \"x\"\n"
         "2 \"y\" f32[2] 0000000000000002 by kernel \"k1\" \"Relu 'r'\" from \"t_2\"\nend\nEND\n"
         "sed \"s/Neg 'n'/Abs 'a'/; s/0001 by/0003 by/\" p.txt > q.txt; sed 's/0001 by/0003 by/' p.txt > r.txt; "
         "sed 's/t_2/t_x/; s/0001 by/0003 by/; s/Neg/Abs/' p.txt > s.txt; sed 's/t_2/t_x/' p.txt > u.txt");
  byoc_test_shell(0, "byoc debug diff p.txt q.txt");
  byoc_test_printed("the 1 tensor that both have is the same");
  byoc_test_shell(1, "byoc debug diff p.txt r.txt");
  byoc_test_printed("first difference: \"t_2\"");
  byoc_test_shell(1, "byoc debug diff s.txt u.txt");
  byoc_test_printed("first difference: \"t_x\"");
}

// The trace of a run that fails, or crashes, ends with what was made last.
static void test_trace_of_a_failure(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  byoc_test_shell(1, FAULTY "byoc run lenet.onnx --random --plan greedy --target 'faulty -fault=status' --trace=f.txt");
  byoc_test_printed("the moon is full");
  byoc_test_shell(0, "tail -n 1 f.txt");
  byoc_test_printed("by kernel \"byoc_k0_conv");
  (void)byoc_test_try_shell(FAULTY
                            "byoc run lenet.onnx --random --plan greedy --target 'faulty -fault=crash' --trace=g.txt");
  byoc_test_shell(0, "cmp f.txt g.txt");
}

static void test_diff_refuses(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc run tiny.onnx -i in/x:0=x.npy --trace=t.txt");
  byoc_test_shell(1, "byoc debug diff t.txt tiny.onnx");
  byoc_test_printed("this is no line of a trace: 'byoc trace 1' is wanted");
  byoc_test_printed("byoc run --trace=FILE writes traces");
  byoc_test_shell(1, "(cat t.txt; echo '7 \"h\" f32[2]') > bad.txt && byoc debug diff t.txt bad.txt");
  byoc_test_printed("bad.txt:");
  byoc_test_printed("a hash is wanted");
  byoc_test_shell(1, "mkdir empty && byoc debug diff t.txt empty");
  byoc_test_printed("has neither trace.txt nor .npy files");
  byoc_test_shell(1, "mkdir others && cp x.npy others/z.npy && byoc debug diff t.txt others");
  byoc_test_printed("have no tensor in common");
  byoc_test_printed("one has 'in/x:0', the other 'z'");
  byoc_test_shell(1, "byoc debug diff t.txt missing.txt");
  byoc_test_printed("missing.txt");
  byoc_test_shell(2, "byoc debug dif t.txt t.txt");
  byoc_test_printed("did you mean 'byoc debug diff'?");
  byoc_test_shell(2, "byoc debug");
  byoc_test_shell(2, "byoc debug diff t.txt");
  byoc_test_shell(0, "byoc debug --help && byoc debug diff --help");
  // Damaged traces are refused or read, never more.
  for (int size = 0; size < 700; size += 11) {
    int code = byoc_test_try_shell("head -c %d t.txt > cut.txt && byoc debug diff t.txt cut.txt", size);
    if (code != 0 && code != 1) fail_msg("%d bytes: code %d\n%s", size, code, byoc_test_output());
  }
}

// A backend that computes something wrong in one of its two operators, beside others that are right.
static void test_bisect(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  byoc_test_shell(0, FAULTY "byoc debug bisect lenet.onnx --target 'faulty; cblas'");
  byoc_test_printed("the outputs are those of the reference");
  byoc_test_printed("none to blame");
  byoc_test_shell(1,
                  FAULTY "byoc debug bisect lenet.onnx --target 'faulty -fault=wrong; cblas' --save-plan guilty.json");
  byoc_test_printed("region ");
  byoc_test_printed("on faulty -fault=wrong -only=any (faulty.node), 1 operator: Relu ");
  byoc_test_printed("elements differ, by 0.5 at most");
  byoc_test_printed(": near enough");
  byoc_test_printed("to repeat it: byoc run lenet.onnx --target 'faulty -fault=wrong; cblas' --check-budget 0 --random "
                    "--seed 0 --plan guilty.json");
  byoc_test_shell(0, FAULTY "byoc explain guilty.json && " FAULTY "byoc run lenet.onnx --target 'faulty -fault=wrong; "
                            "cblas' --random --seed 0 --plan guilty.json");
  byoc_test_shell(1, FAULTY "byoc debug bisect lenet.onnx --target 'faulty -fault=wrong' --evaluate --seed 4");
  byoc_test_printed("1 operator: Relu ");
}

// What crashes, or cannot be compiled, is found in the same way.
static void test_bisect_of_failures(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet -o lenet.onnx");
  byoc_test_shell(1, FAULTY "byoc debug bisect lenet.onnx --target 'faulty -fault=crash'");
  byoc_test_printed("1 operator: Relu ");
  byoc_test_printed("with it, the model does not run: the model lenet.onnx crashed in its run: SIGSEGV");
  byoc_test_shell(1, FAULTY "byoc debug bisect lenet.onnx --target 'faulty -fault=status'");
  byoc_test_printed("the moon is full");
  byoc_test_shell(1, FAULTY "byoc debug bisect lenet.onnx --target 'faulty -fault=source'");
  byoc_test_printed("with it, the model does not run: ");
}

static void test_bisect_refuses(void **state) {
  (void)state;
  write_tiny("tiny.onnx", "N");
  byoc_test_shell(1, "byoc debug bisect missing.onnx");
  byoc_test_printed("missing.onnx");
  byoc_test_shell(2, "byoc debug bisect tiny.onnx");
  byoc_test_printed("the reference (c -O=0 -fuse=0) does not run");
  byoc_test_printed("the shape of input 'in/x:0'");
  byoc_test_printed("\nhint: give its dimensions values: --dim NAME=VALUE");
  byoc_test_shell(0, "byoc debug bisect tiny.onnx --dim N=2");
  byoc_test_printed("0 regions, none to blame");
  byoc_test_shell(2, "byoc debug bisect tiny.onnx --dim N=2 --target cutlas");
  byoc_test_printed("cutlas");
  byoc_test_shell(2, "byoc debug bisect");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_h16_static_models_agree_at_every_instruction),
                                     cmocka_unit_test(test_h16_dynamic_models_agree_at_every_instruction),
                                     cmocka_unit_test(test_h16_code_of_backends_agrees_at_every_instruction),
                                     cmocka_unit_test(test_trace_lines),
                                     cmocka_unit_test(test_dump),
                                     cmocka_unit_test(test_dump_files),
                                     cmocka_unit_test(test_dump_of_what_is_made_in_parts),
                                     cmocka_unit_test(test_dump_of_a_loop),
                                     cmocka_unit_test(test_diff),
                                     cmocka_unit_test(test_diff_of_temporaries),
                                     cmocka_unit_test(test_trace_of_a_failure),
                                     cmocka_unit_test(test_diff_refuses),
                                     cmocka_unit_test(test_bisect),
                                     cmocka_unit_test(test_bisect_of_failures),
                                     cmocka_unit_test(test_bisect_refuses)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
