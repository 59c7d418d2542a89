// SPDX-License-Identifier: Apache-2.0
// Weights exchanged without a build (byoc weights).
#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

// Constants that are stored as they are (@w, @b), folded into another one (@k, which is stored too), and a number in
// the code (@p).
static const char model[] = "module {opset_import. = 17} {\n"
                            "  constant @w : f32[4,3] = splat 0.5\n"
                            "  constant @b : f32[3] = [1.0, -2.0, 3.0]\n"
                            "  constant @k : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
                            "  constant @p : f32[] = splat 2.0\n"
                            "  func @main(%x : f32[N,4], %c : bool[]) -> (%y : f32[N,3], %z : f32[2,3]) {\n"
                            "    %0 = MatMul@13(%x, @w) : f32[N,3]\n"
                            "    %1 = Add@14(%0, @b) : f32[N,3]\n"
                            "    %y = Mul@14(%1, @p) : f32[N,3]\n"
                            "    %z = If@16(%c) [then_branch () -> (f32[2,3]) {\n"
                            "      return @k\n"
                            "    }, else_branch () -> (f32[2,3]) {\n"
                            "      %n = Exp@13(@k) : f32[2,3]\n"
                            "      return %n\n"
                            "    }] : f32[2,3]\n"
                            "    return %y, %z\n"
                            "  }\n"
                            "}\n";

// Arrays for the initialisers of vision.onnx, as .npz and as .safetensors; and files that do not fit.
static const char make_arrays[] =
    "cat > arrays.py <<'END'\n"
    "import json, random, struct, zipfile\n"
    "random.seed(3)\n"
    "shapes = {'w1': [16, 3, 3, 3], 'b1': [16], 'w2': [16, 16, 3, 3], 'w3': [576, 10], 'b3': [10]}\n"
    "def count(shape):\n"
    "    n = 1\n"
    "    for d in shape: n *= d\n"
    "    return n\n"
    "arrays = {name: struct.pack('<%df' % count(s), *(random.uniform(-0.1, 0.1) for _ in range(count(s))))\n"
    "          for name, s in shapes.items()}\n"
    "def safetensors(path, names):\n"
    "    header, data = {'__metadata__': {'format': 'pt'}}, b''\n"
    "    for name, (shape, values) in names.items():\n"
    "        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(data), len(data) + len(values)]}\n"
    "        data += values\n"
    "    text = json.dumps(header).encode()\n"
    "    open(path, 'wb').write(struct.pack('<Q', len(text)) + text + data)\n"
    "safetensors('new.safetensors', {name: (shapes[name], arrays[name]) for name in shapes})\n"
    "safetensors('stranger.safetensors', {'w9': ([10], arrays['b3'])})\n"
    "safetensors('shape.safetensors', {'b3': ([2, 5], arrays['b3'])})\n"
    "open('short.safetensors', 'wb').write(open('new.safetensors', 'rb').read()[:-4])\n"
    "open('header.safetensors', 'wb').write(struct.pack('<Q', 1 << 60) + b'{}')\n"
    "with zipfile.ZipFile('new.npz', 'w') as z:\n"
    "    for name, shape in shapes.items():\n"
    "        shown = '(' + ''.join('%d,' % d for d in shape) + ')'\n"
    "        head = \"{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\" % shown\n"
    "        head += ' ' * (63 - (10 + len(head)) % 64) + '\\n'\n"
    "        z.writestr(name + '.npy', b'\\x93NUMPY\\x01\\x00' + struct.pack('<H', len(head)) + head.encode() + "
    "arrays[name])\n"
    "END\n"
    "python3 arrays.py";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_tiny("tiny.onnx", "2");
  write_vision("vision.onnx");
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("one.byoc", model, sizeof(model) - 1, &diag), &diag);
  // The same with other weights, and with another number in the code, too.
  byoc_test_shell(0, "sed 's/splat 0.5/splat 0.25/; s/1.0, -2.0, 3.0/7.0, 8.0, 9.0/; s/5.0, 6.0/0.5, 0.25/' one.byoc > "
                     "two.byoc && sed 's/splat 2.0/splat 3.0/' two.byoc > "
                     "number.byoc");
  byoc_test_shell(0, "%s", make_arrays);
  return 0;
}

#define SAME_RESULTS                                                                                                   \
  "rm -rf got wanted && BYOC_VERIFY=1 byoc run got.so --random --dim N=5 --output-dir got && BYOC_VERIFY=1 byoc run "  \
  "wanted.so --random --dim N=5 --output-dir wanted && diff -r got wanted"

// Wherever the weights lie. No compiler is there, and the code stays.
static void test_replaced_weights_are_those_of_a_new_build(void **state) {
  (void)state;
  static const char *const forms[] = {"internal", "appended", "external", "shared.weights"};
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
    byoc_test_shell(0,
                    "byoc build one.byoc -t c -o got.so --weights %s && cp got.so old.so && byoc build two.byoc -t c "
                    "-o wanted.so --weights %s && PATH=$(dirname $(command -v byoc)) $(command -v byoc) weights "
                    "replace got.so --with two.byoc",
                    forms[i], forms[i]);
    byoc_test_printed("got.so: other weights, the code of got.so");
    byoc_test_shell(1, "cmp -s old.so got.so");
    byoc_test_shell(0, SAME_RESULTS " && byoc inspect got.so");
    byoc_test_shell(0, "byoc inspect --json old.so | grep '\"code\"' > old.code && byoc inspect --json got.so | grep "
                       "'\"code\"' > got.code && diff old.code got.code");
  }
}

// What backends packed, and what was folded on the way to them, is packed and folded again.
static void test_packed_and_folded_weights_are_replaced(void **state) {
  (void)state;
  static const char *const targets[] = {"c", "cutlass; c", "dnnl; c", "cblas; c"};
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    byoc_test_shell(0,
                    "byoc build vision.onnx -t '%s' --plan greedy -o old.so && byoc weights replace old.so -o got.so "
                    "--with new.npz --model vision.onnx && byoc weights replace old.so -o other.so --with "
                    "new.safetensors --model vision.onnx && cmp got.so other.so && byoc weights replace got.so -o "
                    "back.so --with vision.onnx && cmp back.so old.so",
                    targets[i]);
    byoc_test_shell(0, "rm -rf a b && byoc run old.so --random --output-dir a && byoc run got.so --random --output-dir "
                       "b && ! diff -r a b > /dev/null");
  }
}

static void test_weights_that_change_code_are_refused(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build one.byoc -t c -o r.so && cp r.so kept.so && : > after && ls > before");
  byoc_test_shell(1, "byoc weights replace r.so --with number.byoc");
  byoc_test_printed("they were folded into it from 'p'");
  byoc_test_shell(1, "byoc weights replace r.so --with two.byoc -- --target 'c -fuse=0'");
  byoc_test_printed("'r.so' has other code than this model would have");
  byoc_test_shell(1, "byoc weights replace r.so --with tiny.onnx");
  byoc_test_printed("was made of a model with an initialiser 'k', which this one lacks");
  byoc_test_shell(2, "byoc weights replace r.so --with new.npz");
  byoc_test_printed("give the one that 'r.so' was made of, --model MODEL");
  byoc_test_shell(2, "byoc weights replace r.so --with two.byoc --model one.byoc");
  byoc_test_printed("two.byoc is a model");
  byoc_test_shell(2, "byoc weights replace r.so --with two.byoc -o r.a");
  byoc_test_printed("weights are replaced in shared objects; 'r.a' would be none");
  byoc_test_shell(2, "byoc weights replace r.so");
  byoc_test_printed("byoc weights replace needs --with FILE");
  byoc_test_shell(1, "byoc weights replace two.byoc --with two.byoc");
  byoc_test_printed("'two.byoc' is not an artifact");
  byoc_test_shell(0, "ls > after && diff before after && cmp r.so kept.so");
  byoc_test_shell(0, "byoc build one.byoc -t c -o lib.a");
  byoc_test_shell(1, "byoc weights replace lib.a --with two.byoc");
  byoc_test_printed("'lib.a' is a static library");
  byoc_test_shell(1, "printf x | dd of=r.so bs=1 seek=5000 conv=notrunc 2> /dev/null; byoc weights replace r.so --with "
                     "two.byoc");
  byoc_test_printed("'r.so' is damaged");
}

// What is equal is stored once: the code then has one place for both.
static void test_weights_that_become_equal_are_refused(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "sed 's/f32\\[4,3\\] = splat 0.5/f32[1,3] = [4.0, 5.0, 6.0]/; s/N,4/N,1/' one.byoc > differ.byoc && "
                  "sed 's/\\[4.0, 5.0, 6.0\\]/[1.0, -2.0, 3.0]/' differ.byoc > equal.byoc && byoc build differ.byoc "
                  "-t c -o d.so");
  byoc_test_shell(1, "byoc weights replace d.so --with equal.byoc");
  byoc_test_printed("equal ones are stored once, and other ones are equal now");
}

static void test_arrays_that_do_not_fit_are_refused(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build vision.onnx -t c -o v.so");
  static const char *const files[] = {"stranger", "shape", "short", "header"};
  static const char *const messages[] = {
      "stranger.safetensors: no initialiser of the model is called as the array 'w9'",
      "shape.safetensors: the array 'b3' has another type or shape than the initialiser, f32[10]",
      "short.safetensors is not a .safetensors file that can be read: a tensor lies beyond the end of the file",
      "header.safetensors is not a .safetensors file that can be read: it is too short for its header"};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
    byoc_test_shell(1, "byoc weights replace v.so --with %s.safetensors --model vision.onnx", files[i]);
    byoc_test_printed(messages[i]);
  }
}

// A weights file keeps what others take of it.
static void test_a_shared_weights_file_keeps_the_weights_of_others(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir s && cd s && byoc build ../one.byoc -t c -o one.so --weights all.weights && byoc build "
                     "../one.byoc -t c -o again.so --weights all.weights && byoc weights replace one.so --with "
                     "../two.byoc && for a in one again; do BYOC_VERIFY=1 byoc run $a.so --random --dim N=2 || exit 1; "
                     "done");
  byoc_test_shell(0, "mkdir e && cd e && byoc build ../one.byoc -t c -o one.so --weights external && byoc weights "
                     "replace one.so -o two.so --with ../two.byoc && for a in one two; do BYOC_VERIFY=1 byoc run $a.so "
                     "--random --dim N=2 || exit 1; done && size=$(stat -c %%s one.weights) && byoc weights replace "
                     "one.so --with ../two.byoc && test $(stat -c %%s one.weights) -eq $size && for a in one two; do "
                     "BYOC_VERIFY=1 byoc run $a.so --random --dim N=2 || exit 1; done");
}

static void test_each_entry_gets_its_weights(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(0,
                    "byoc build --entry first=one.byoc --entry second=two.byoc -t c -o got.so %s && byoc build --entry "
                    "first=two.byoc --entry second=one.byoc -t c -o wanted.so %s && byoc weights replace got.so --with "
                    "first=two.byoc --with second=one.byoc && for e in first second; do rm -rf got wanted && for s in "
                    "got wanted; do BYOC_VERIFY=1 byoc run $s.so --entry $e --random --dim N=5 --output-dir $s || exit "
                    "1; done && diff -r got wanted || exit 1; done",
                    i == 0 ? "" : "--weights external", i == 0 ? "" : "--weights external");
  }
  byoc_test_shell(2, "byoc weights replace got.so --with first=two.byoc");
  byoc_test_printed("'got.so' has 2 entries, and --with is given 1 time");
  byoc_test_shell(2, "byoc weights replace got.so --with first=two.byoc --with third=one.byoc");
  byoc_test_printed("'got.so' has no entry 'third'");
}

// The options of the build are known; files among them are asked for.
static void test_replacing_keeps_the_options_of_the_build(void **state) {
  (void)state;
  byoc_test_shell(
      0,
      "byoc build one.byoc -t 'c -fuse=0' --threads 2 --profile -o got.so && byoc build two.byoc -t "
      "'c -fuse=0' --threads 2 --profile -o wanted.so && byoc weights replace got.so --with two.byoc && " SAME_RESULTS);
  byoc_test_shell(0, "byoc build vision.onnx -t 'c -mcpu=x86-64-v2,x86-64-v3' -o got.so && cp got.so old.so && byoc "
                     "weights replace got.so --with new.npz --model vision.onnx && byoc weights replace got.so --with "
                     "vision.onnx && cmp got.so old.so && byoc weights list got.so --level x86-64-v2");
  byoc_test_shell(0, "byoc build vision.onnx -t 'cblas; c' --save-plan plan.json --cost estimate -o p.so && byoc build "
                     "vision.onnx -t 'cblas; c' --plan ./plan.json -o got.so");
  byoc_test_shell(2, "byoc weights replace got.so --with new.npz --model vision.onnx");
  byoc_test_printed("'got.so' was built with a file by --plan");
  byoc_test_shell(0, "byoc weights replace got.so --with new.npz --model vision.onnx -- --plan plan.json");
  byoc_test_shell(
      0, "byoc build one.byoc -t c $(yes ' --disable-pass=fold-constants' | head -n 70) -o got.so && byoc weights "
         "replace got.so --with one.byoc");
  byoc_test_shell(0, "byoc build vision.onnx -t 'c -mcpu=x86-64' -o got.so");
  byoc_test_shell(1, "byoc weights replace got.so --with vision.onnx -- -t 'c -mcpu=x86-64-v3'");
  byoc_test_printed("the code of 'got.so' is for processors with ");
  byoc_test_printed(", and the model would be built for ones with ");
}

static void test_initialisers_are_listed_with_where_they_went(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build one.byoc -t c -o l.so --weights external && byoc weights list l.so");
  byoc_test_printed("w           f32[4,3] as it is\n");
  byoc_test_printed("p           f32[]    values of it in the code\n");
  byoc_test_printed("in the weights file 'l.weights'");
  byoc_test_shell(0, "byoc weights list --json l.so | python3 -c 'import json, sys; i = json.load(sys.stdin)"
                     "[\"initializers\"]; print([x[\"name\"] for x in i if x[\"stored\"]])'");
  byoc_test_printed("['w', 'b', 'k']");
  byoc_test_shell(2, "byoc weights list l.so --entry none");
  byoc_test_printed("'l.so' has no entry 'none'");
  byoc_test_shell(2, "byoc weights list l.so --level x86-64");
  byoc_test_printed("'l.so' has no level 'x86-64'");
  byoc_test_shell(2, "byoc weights lis l.so");
  byoc_test_printed("did you mean 'byoc weights list'?");
  byoc_test_shell(0, "byoc weights --help && byoc weights list --help && byoc weights replace --help");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replaced_weights_are_those_of_a_new_build),
      cmocka_unit_test(test_packed_and_folded_weights_are_replaced),
      cmocka_unit_test(test_weights_that_change_code_are_refused),
      cmocka_unit_test(test_weights_that_become_equal_are_refused),
      cmocka_unit_test(test_arrays_that_do_not_fit_are_refused),
      cmocka_unit_test(test_a_shared_weights_file_keeps_the_weights_of_others),
      cmocka_unit_test(test_each_entry_gets_its_weights),
      cmocka_unit_test(test_replacing_keeps_the_options_of_the_build),
      cmocka_unit_test(test_initialisers_are_listed_with_where_they_went),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}
