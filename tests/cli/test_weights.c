// SPDX-License-Identifier: Apache-2.0
// Weights files: constants that lie beside an artifact (byoc build --weights).
#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIMDEV "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "

// An If, whose branches hold constants, and open shapes: constants are values, addresses in code, and tensors of calls.
static const char open_model[] = "module {opset_import. = 17} {\n"
                                 "  constant @w : f32[4,3] = splat 0.5\n"
                                 "  constant @b : f32[3] = [1.0, -2.0, 3.0]\n"
                                 "  constant @k : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
                                 "  func @main(%x : f32[N,4], %c : bool[]) -> (%y : f32[N,3], %z : f32[2,3]) {\n"
                                 "    %0 = MatMul@13(%x, @w) : f32[N,3]\n"
                                 "    %y = Add@14(%0, @b) : f32[N,3]\n"
                                 "    %z = If@16(%c) [then_branch () -> (f32[2,3]) {\n"
                                 "      return @k\n"
                                 "    }, else_branch () -> (f32[2,3]) {\n"
                                 "      %n = Neg@13(@k) : f32[2,3]\n"
                                 "      return %n\n"
                                 "    }] : f32[2,3]\n"
                                 "    return %y, %z\n"
                                 "  }\n"
                                 "}\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_tiny("tiny.onnx", "2");
  write_vision("vision.onnx");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("open.byoc", open_model, sizeof(open_model) - 1, &diag), &diag);
  return 0;
}

// Whatever makes use of a constant: kernels, an engine, C calls of a library, cells of open shapes, and a device.
static void test_weights_outside_change_no_result(void **state) {
  (void)state;
  static const char *const models[] = {"vision.onnx", "vision.onnx", "vision.onnx", "open.byoc", "tiny.onnx"};
  static const char *const targets[] = {"c", "dnnl; c", "cblas; c", "c", "simdev; c"};
  for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); ++i) {
    byoc_test_shell(0,
                    SIMDEV
                    "byoc build %s -t '%s' -o in.so && " SIMDEV "byoc build %s -t '%s' -o out.so --weights "
                    "external && rm -rf in out && mkdir in out && for s in in out; do byoc run $s.so --random %s "
                    "--output-dir $s || exit 1; done && diff -r in out",
                    models[i], targets[i], models[i], targets[i], i == 3 ? "--dim N=5" : "");
    byoc_test_shell(0, "test -f out.weights && ! test -f in.weights && head -c 8 out.weights");
    byoc_test_printed("BYOCWGHT");
  }
}

static void test_missing_and_wrong_weights_files_are_named(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build vision.onnx -t c -o v.so --weights external && byoc build tiny.onnx -t c -o t.so "
                     "--weights external && cp v.weights kept");
  byoc_test_shell(0, "byoc inspect v.so");
  byoc_test_printed("in the weights file 'v.weights'");
  byoc_test_shell(1, "mv v.weights away; byoc run v.so --random");
  byoc_test_printed("the weights file '");
  byoc_test_printed("v.weights' cannot be read: No such file or directory; copy it beside the artifact");
  byoc_test_shell(0, "BYOC_WEIGHTS=away byoc run v.so --random");
  byoc_test_shell(1, "BYOC_WEIGHTS=t.weights byoc run v.so --random");
  byoc_test_printed("it was written for another build");
  byoc_test_shell(1, "cp tiny.onnx v.weights; byoc run v.so --random");
  byoc_test_printed("v.weights' is not a weights file of byoc");
  byoc_test_shell(1, "head -c 1000 kept > v.weights; byoc run v.so --random");
  byoc_test_printed("has 1000 bytes of");
  byoc_test_shell(1, ": > v.weights; byoc run v.so --random");
  byoc_test_printed("is empty");
  byoc_test_shell(1, "rm v.weights && mkdir v.weights; byoc run v.so --random; code=$?; rmdir v.weights; exit $code");
  byoc_test_printed("is not a regular file");
  // A changed weight is found by the hashes of the contents alone, a changed table always.
  byoc_test_shell(0, "cp kept v.weights && printf x | dd of=v.weights bs=1 seek=100 conv=notrunc 2> /dev/null && "
                     "byoc run v.so --random");
  byoc_test_shell(1, "BYOC_VERIFY=1 byoc run v.so --random");
  byoc_test_printed("v.weights' is damaged");
  byoc_test_shell(1, "cp kept v.weights && size=$(stat -c %%s kept) && printf x | dd of=v.weights bs=1 "
                     "seek=$((size - 60)) conv=notrunc 2> /dev/null && byoc run v.so --random");
  byoc_test_printed("v.weights' is damaged");
  byoc_test_shell(0, "cp kept v.weights && BYOC_VERIFY=1 byoc run v.so --random");
  // From another folder, by a relative path.
  byoc_test_shell(0, "mkdir -p sub && cp v.so v.weights sub/ && cd sub && byoc run v.so --random && cd .. && byoc run "
                     "sub/v.so --random");
}

// What several artifacts take from one file stands there once, and the file goes on serving those built before.
static void test_artifacts_share_a_weights_file(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build vision.onnx -t c -o one.so --weights all.weights && stat -c %%s all.weights > one && "
                     "byoc build vision.onnx -t c -o two.so --weights all.weights --name two && "
                     "stat -c %%s all.weights > two && cmp one two && "
                     "byoc build tiny.onnx -t c -o three.so --weights all.weights && "
                     "test $(stat -c %%s all.weights) -gt $(cat two) && for a in one two three; do BYOC_VERIFY=1 byoc "
                     "run $a.so --random || exit 1; done");
  byoc_test_shell(0, "mkdir -p again && cd again && byoc build ../vision.onnx -t c -o one.so --weights all.weights && "
                     "byoc build ../tiny.onnx -t c -o three.so --weights all.weights && cmp one.so ../one.so && "
                     "cmp three.so ../three.so && cmp all.weights ../all.weights");
}

// 16 MiB of weights, which two artifacts in two processes map four times: the machine has them once.
static void test_artifacts_and_processes_share_memory(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "mkdir -p shared && cd shared && printf 'module {opset_import. = 17} {\\n"
                  "  constant @w : f32[2048,2048] = splat 0.5\\n"
                  "  func @main(%%%%x : f32[16,2048]) -> (%%%%y : f32[16,2048]) {\\n"
                  "    %%%%0 = MatMul@13(%%%%x, @w) : f32[16,2048]\\n    %%%%y = Relu@14(%%%%0) : f32[16,2048]\\n"
                  "    return %%%%y\\n  }\\n}\\n' > one.byoc && sed s/Relu@14/Abs@13/ one.byoc > two.byoc && "
                  "for m in one two; do byoc build $m.byoc -t c --weights all.weights || exit 1; done; "
                  "test $(stat -c %%s all.weights) -lt 17000000 && "
                  "cc -std=c11 -I . " BYOC_TEST_SOURCE_DIR "/tests/cli/user_shared_weights.c -o user -ldl && ./user");
  byoc_test_printed("2 mappings, 32 MiB, 8 MiB");
}

static void test_weights_in_another_folder_are_warned_of(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p elsewhere && byoc build tiny.onnx -t c -o elsewhere/t.so --weights apart.weights && "
                     "BYOC_WEIGHTS=apart.weights byoc run elsewhere/t.so --random");
  byoc_test_printed("warning: 'elsewhere/t.so' looks for 'apart.weights' in its own folder");
  byoc_test_shell(0, "byoc build tiny.onnx -t c -o t.so --weights ./apart.weights 2>&1 | grep -c warning: | grep -x 0");
}

// Nobody waits for the writer of a named pipe.
static void test_named_pipes_are_refused_at_once(void **state) {
  (void)state;
  byoc_test_shell(2, "mkfifo pipe.weights && timeout 60 byoc build tiny.onnx -t c -o p.so --weights pipe.weights");
  byoc_test_printed("weights cannot go to 'pipe.weights', which is not a regular file");
  byoc_test_shell(1, "byoc build tiny.onnx -t c -o p.so --weights external && BYOC_WEIGHTS=pipe.weights timeout 60 "
                     "byoc run p.so --random");
  byoc_test_printed("'pipe.weights' is not a regular file");
}

// One file with the weights behind its code, sealed as a whole.
static void test_appended_weights_are_sealed_with_the_code(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "byoc build vision.onnx -t 'dnnl; c' -o ap.so --weights appended && ! test -e ap.weights && "
                  "byoc build vision.onnx -t 'dnnl; c' -o in.so && rm -rf in ap && mkdir in ap && for s in in ap; do "
                  "BYOC_VERIFY=1 byoc run $s.so --random --output-dir $s || exit 1; done && diff -r in ap && "
                  "byoc inspect ap.so");
  byoc_test_shell(0, "mkdir -p moved && cp ap.so moved/other.so && cd moved && byoc run other.so --random && cd / && "
                     "BYOC_WEIGHTS=nowhere byoc run \"$OLDPWD/other.so\" --random");
  byoc_test_shell(1, "cp ap.so ap2.so && printf x | dd of=ap2.so bs=1 seek=$(($(stat -c %%s ap.so) - 200)) "
                     "conv=notrunc 2> /dev/null && byoc run ap2.so --random");
  byoc_test_printed("'ap2.so' is damaged");
  byoc_test_shell(0, "strip ap.so -o stripped.so && cat > load.c <<'END'\n"
                     "#include <dlfcn.h>\n#include <stdio.h>\n#include \"byoc/artifact.h\"\n"
                     "int main(void) {\n"
                     "  byoc_context_t *context = NULL;\n"
                     "  void *library = dlopen(\"./stripped.so\", RTLD_NOW);\n"
                     "  const byoc_artifact_t *a = ((byoc_artifact_entry_t)dlsym(library, BYOC_ARTIFACT_ENTRY))(1);\n"
                     "  return a->create(NULL, &context) == 0 ? 1 : (puts(a->last_error(NULL)), 0);\n"
                     "}\nEND\n"
                     "cc -I " BYOC_TEST_SOURCE_DIR "/include load.c -ldl -o load && ./load");
  byoc_test_printed("has lost the weights after its code");
  byoc_test_shell(2, "byoc build tiny.onnx -t c -o no.a --weights appended");
  byoc_test_printed("weights are appended to shared objects");
}

static void test_weights_overwrite_no_other_file(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build tiny.onnx --weights elsewhere");
  byoc_test_printed(
      "--weights takes internal, appended, external or a file whose name ends in .weights, not 'elsewhere'");
  byoc_test_shell(1, "echo mine > r.weights; byoc build tiny.onnx -t c -o r.so --weights external; code=$?; "
                     "cat r.weights; ls r.so; exit $code");
  byoc_test_printed("the weights would overwrite 'r.weights', which is not a weights file");
  byoc_test_printed("mine\n");
  byoc_test_printed("cannot access 'r.so'");
  byoc_test_shell(2, "byoc build tiny.onnx -t c -o q.weights --weights q.weights");
  byoc_test_printed("would write the same file");
}

// A program finds the weights file beside itself.
static void test_a_static_program_finds_weights_beside_itself(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "mkdir -p s && byoc build tiny.onnx -t c -o s/tiny.a --weights external && cat > s/main.c <<'END'\n"
                  "#include \"tiny.h\"\n"
                  "#include <stdio.h>\n"
                  "int main(void) {\n"
                  "  float x[8] = {0}, y[6];\n"
                  "  tiny_model_t model;\n"
                  "  tiny_context_t context;\n"
                  "  if (tiny_load(NULL, &model) != 0 || tiny_create(&model, NULL, &context) != 0) {\n"
                  "    return puts(tiny_error(NULL, &model)), 1;\n"
                  "  }\n"
                  "  return tiny_run(&context, x, y);\n"
                  "}\n"
                  "END\n"
                  "cc -std=c99 s/main.c s/tiny.a -lm -lpthread -o s/program && s/program");
  byoc_test_shell(1, "mv s/tiny.weights s/away && s/program");
  byoc_test_printed("s/tiny.weights' cannot be read");
}

// The most memory that a line of shell, or a program that it runs, has at once. The address sanitizer would keep 256 MB
// of what was freed, and does with 8.
static long peak_kib(const char *line) {
  struct rusage usage;
  char sanitizer[1024];
  int status = -1;
  const char *before = getenv("ASAN_OPTIONS");
  snprintf(sanitizer, sizeof(sanitizer), "%s:quarantine_size_mb=8", before != NULL ? before : "");
  const pid_t child = fork();
  if (child == 0) {
    (void)setenv("ASAN_OPTIONS", sanitizer, 1);
    (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
  assert_true(child > 0);
  assert_int_equal(wait4(child, &status, 0, &usage), child);
  assert_int_equal(status, 0);
  return usage.ru_maxrss;
}

// A build reads the weights where they lie and never holds the whole model: 320 MB here.
static void test_a_build_does_not_hold_the_weights(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen bert_base --layers 8 --sequence 8 -o bert.onnx --external");
  const long peak =
      peak_kib("env -u BYOC_CHECK_HOST_TEXT byoc build bert.onnx -t c -o bert.so --weights external > bert.txt");
  if (peak > 240 << 10) fail_msg("the build had %ld KiB", peak);
  byoc_test_shell(0, "test $(stat -c %%s bert.weights) -gt 300000000 && rm bert.*");
}

// Nor the constants of a backend's modules, which are hashed one by one: 430 MB here.
static void test_a_backend_does_not_hold_the_weights(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen bert_base --layers 12 --sequence 8 -o bert.onnx --external");
  const long peak =
      peak_kib("env -u BYOC_CHECK_HOST_TEXT byoc build bert.onnx -t 'cutlass; c' --plan greedy -o bert.so "
               "--weights external > bert.txt");
  if (peak > 300 << 10) fail_msg("the build had %ld KiB", peak);
  byoc_test_shell(0, "test $(stat -c %%s bert.weights) -gt 430000000 && rm bert.*");
}

// A backend packs the model's largest constant: it is read where it lies, and the packed one is the only copy. Here
// they have 256 MB each.
static void test_packing_holds_one_copy_of_a_weight(void **state) {
  (void)state;
  byoc_test_shell(0, "printf 'module {opset_import. = 17} {\\n  constant @w : f32[8192,8192] = splat 0.5\\n"
                     "  func @main(%%%%x : f32[16,8192]) -> (%%%%y : f32[16,8192]) {\\n"
                     "    %%%%y = MatMul@13(%%%%x, @w) : f32[16,8192]\\n    return %%%%y\\n  }\\n}\\n' > wide.byoc");
  const long peak =
      peak_kib("env -u BYOC_CHECK_HOST_TEXT byoc build wide.byoc -t 'cutlass; c' --plan greedy -o wide.so > wide.txt");
  if (peak > (2 * 256 + 100) << 10) fail_msg("the build had %ld KiB", peak);
  byoc_test_shell(0, "test $(stat -c %%s wide.so) -gt 268000000 && grep -q 'cutlass 1 operator' wide.txt && rm wide.*");
}

// Weights in the model's own file, at odd addresses, that go into the artifact's data: 320 MB. The linker holds them.
static void test_a_build_does_not_hold_a_model_of_one_file(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen bert_base --layers 8 --sequence 8 -o bert.onnx");
  const long peak =
      peak_kib("env -u BYOC_CHECK_HOST_TEXT byoc build bert.onnx -t c -o bert.so --weights internal > bert.txt");
  if (peak > (320 + 150) << 10) fail_msg("the build had %ld KiB", peak);
  byoc_test_shell(0, "test $(stat -c %%s bert.so) -gt 300000000 && rm bert.*");
}

// Builds that are ready at about the same time all add to the file that they share.
static void test_builds_at_once_share_a_file(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "rm -f all.weights; for i in 1 2 3 4 5 6; do sed \"s/splat 0.5/splat $i.5/\" open.byoc > m$i.byoc; "
                  "(byoc build m$i.byoc -t c -o m$i.so --weights all.weights || touch failed) & done; wait; "
                  "! test -f failed && for i in 1 2 3 4 5 6; do byoc run m$i.so --random --dim N=2 || exit 1; done");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weights_outside_change_no_result),
      cmocka_unit_test(test_missing_and_wrong_weights_files_are_named),
      cmocka_unit_test(test_artifacts_share_a_weights_file),
      cmocka_unit_test(test_artifacts_and_processes_share_memory),
      cmocka_unit_test(test_weights_in_another_folder_are_warned_of),
      cmocka_unit_test(test_named_pipes_are_refused_at_once),
      cmocka_unit_test(test_appended_weights_are_sealed_with_the_code),
      cmocka_unit_test(test_weights_overwrite_no_other_file),
      cmocka_unit_test(test_a_static_program_finds_weights_beside_itself),
      cmocka_unit_test(test_a_build_does_not_hold_the_weights),
      cmocka_unit_test(test_packing_holds_one_copy_of_a_weight),
      byoc_test_long_only(test_a_backend_does_not_hold_the_weights),
      byoc_test_long_only(test_a_build_does_not_hold_a_model_of_one_file),
      cmocka_unit_test(test_builds_at_once_share_a_file),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
