// SPDX-License-Identifier: Apache-2.0
// Models on several ranks, as a user runs them: byoc build --shard, byoc run --ranks, mpirun.
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/command.h"

// The constants of an artifact in bytes.
static long long constants(const char *artifact) {
  byoc_test_shell(0, "byoc inspect %s", artifact);
  const char *at = strstr(byoc_test_output(), "constants ");
  assert_non_null(at);
  return strtoll(at + strlen("constants "), NULL, 10);
}

// One that begins and ends apart is one.
static size_t count_collectives(const char *kind) {
  size_t count = 0;
  char words[64];
  (void)snprintf(words, sizeof(words), "\n  collective %s(", kind);
  for (const char *at = byoc_test_output(); (at = strstr(at, words)) != NULL; ++at) {
    const char *ends = strstr(at, " ends \"");
    count += ends == NULL || ends > at + 1 + strcspn(at + 1, "\n");
  }
  return count;
}

// Columns, rows, and one sum behind each: two for each layer. Each rank has half of the weights.
static void test_h15_two_ranks_halve_the_weights_of_bert(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen bert_base --layers 2 --sequence 5 --vocabulary 1000 -o bert.onnx && byoc build "
                     "bert.onnx -o bert.so "
                     "&& byoc run bert.so --random --output-dir whole");
  for (int rank = 0; rank < 2; ++rank) {
    byoc_test_shell(0, "byoc build bert.onnx --shard megatron --ranks 2 --rank %d -o bert%d.so", rank, rank);
  }
  const long long whole = constants("bert.so"), first = constants("bert0.so"), second = constants("bert1.so");
  byoc_test_printed("rank 1 of 2");
  assert_in_range(first * 1000 / whole, 500, 503);
  assert_int_equal(first, second);
  byoc_test_shell(0, "byoc run --ranks 2 bert0.so bert1.so --random --atol 1e-4 --expect "
                     "last_hidden_state=whole/last_hidden_state.npy --expect pooler_output=whole/pooler_output.npy "
                     "--output-dir ranks && cmp ranks/0/last_hidden_state.npy ranks/1/last_hidden_state.npy");
  byoc_test_printed("last_hidden_state: as expected");
  byoc_test_shell(0, "byoc build bert.onnx --shard megatron --ranks 2 --rank 1 --emit=host");
  assert_int_equal(count_collectives("all_reduce"), 4);
  assert_int_equal(count_collectives("all_gather"), 2); // what was looked up, and the pooler's result
  // A model that each rank compiles, or evaluates.
  byoc_test_shell(0, "byoc run --ranks 4 bert.onnx --shard megatron --random --expect "
                     "pooler_output=whole/pooler_output.npy");
  byoc_test_shell(0, "byoc run --ranks 3 bert.onnx --shard megatron --evaluate --random --expect "
                     "pooler_output=whole/pooler_output.npy");
  byoc_test_shell(0, "rm -r bert* whole ranks");
}

// The caches of each rank are those of its heads.
static void test_h15_each_rank_caches_its_heads_of_gpt2(void **state) {
  (void)state;
  byoc_test_shell(
      0,
      "byoc-modelgen gpt2_step --layers 1 --sequence 3 --vocabulary 1001 -o gpt2.onnx && byoc run gpt2.onnx --random "
      "--output-dir whole");
  byoc_test_shell(0, "byoc run --ranks 2 gpt2.onnx --shard megatron --random --expect logits=whole/logits.npy --expect "
                     "present_key_0=whole/present_key_0.npy --expect present_value_0=whole/present_value_0.npy");
  byoc_test_shell(0,
                  "printf '# heads\\nmesh tp=2\\nweights tp\\nspread past_* tp: 1\\nspread present_* tp: 1\\n' > spec "
                  "&& byoc build gpt2.onnx --shard spec --ranks 2 --emit=host");
  assert_int_equal(count_collectives("all_reduce"), 3); // two of the layer, one of the logits
  assert_int_equal(count_collectives("all_gather"), 1);
  byoc_test_printed("input    %past_key_0 : f32[1,6,3,64]");
  byoc_test_printed("output   %present_key_0 : f32[1,6,4,64]");
  byoc_test_shell(2, "byoc build gpt2.onnx --shard spec --ranks 4");
  byoc_test_printed("spec, line 2: the mesh 'tp=2' has 2 ranks, and there are 4");
  byoc_test_shell(2,
                  "printf 'mesh tp=2\\nspread past_keys tp: 1\\n' > spec; byoc build gpt2.onnx --shard spec --ranks 2");
  byoc_test_printed("spec, line 2: no value is named 'past_keys'");
  byoc_test_shell(2, "echo spread x tp: 1 > spec; byoc build gpt2.onnx --shard spec --ranks 2");
  byoc_test_printed("spec, line 1: the mesh must come first");
  byoc_test_shell(2, "byoc build gpt2.onnx --shard megatron");
  byoc_test_printed("--shard needs to know how many ranks there are: --ranks N");
  byoc_test_shell(2, "byoc build gpt2.onnx --shard megatron --ranks 2 --rank 2");
  byoc_test_printed("there is no rank 2 of 2");
  byoc_test_shell(2, "byoc build gpt2.onnx --ranks 2");
  byoc_test_printed("--rank and --ranks go with --shard");
  byoc_test_shell(0, "rm -r gpt2.onnx whole spec");
}

// Every kind of collective, for any number of ranks.
static void write_every_kind(void) {
  byoc_test_shell(0, "cat > every.host <<'END'\n"
                     "host program \"every\" {\n"
                     "  input    %%x : f32[4]\n"
                     "  output   %%broadcast : f32[4]\n"
                     "  output   %%gather : f32[2,4]\n"
                     "  output   %%all_gather : f32[8]\n"
                     "  output   %%scatter : f32[2]\n"
                     "  output   %%reduce : f32[4]\n"
                     "  output   %%all_reduce : f32[4]\n"
                     "  output   %%reduce_scatter : f32[2]\n"
                     "  output   %%all_to_all : f32[4]\n"
                     "  output   %%permute : f32[4]\n"
                     "\n"
                     "  collective broadcast(%%x) -> (%%broadcast) among 2 step 1 root 1\n"
                     "  collective gather(%%x) -> (%%gather) among 2 step 1 root 0\n"
                     "  collective all_gather(%%x) -> (%%all_gather) among 2 step 1\n"
                     "  collective scatter(%%x) -> (%%scatter) among 2 step 1 root 0\n"
                     "  collective reduce(%%x) -> (%%reduce) max among 2 step 1 root 1\n"
                     "  collective all_reduce(%%x) -> (%%all_reduce) sum\n"
                     "  collective reduce_scatter(%%x) -> (%%reduce_scatter) product among 2 step 1\n"
                     "  collective all_to_all(%%x) -> (%%all_to_all) among 2 step 1\n"
                     "  collective permute(%%x) -> (%%permute) among 2 step 1 to [1, -1]\n"
                     "}\n"
                     "END\n"
                     "sed 's/^  collective .*/& begins\\n& ends/' every.host > steps.host\n"
                     "byoc build every.host -o every.so && byoc build steps.host -o steps.so");
  for (int rank = 0; rank < 4; ++rank) {
    byoc_test_shell(0,
                    "printf '\\223NUMPY\\001\\000\\166\\000%%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, "
                    "'shape': (4,), }\" > x%d.npy && printf '\\000\\000\\200\\077\\000\\000\\000\\100\\000\\000\\100"
                    "\\100\\000\\000\\%d\\100' >> x%d.npy",
                    rank, 200 + rank, rank);
  }
}

// Over MPI, each rank gets the same bits as over shared memory, in one step and in two.
static void test_h15_mpi_gives_the_bits_of_shared_memory(void **state) {
  (void)state;
  if (byoc_test_try_shell("command -v mpicc && command -v mpirun") != 0) {
    byoc_test_skip("there is no mpicc (libmpich-dev) or no mpirun");
  }
  byoc_test_shell(0, "mpicc -shared -fPIC -O2 -Wall -Werror -I '%s/include' -o mpi.so '%s/communicators/mpi.c'",
                  BYOC_TEST_SOURCE_DIR, BYOC_TEST_SOURCE_DIR);
  write_every_kind();
  for (int ranks = 2; ranks <= 4; ranks += 2) {
    byoc_test_shell(0,
                    "byoc run --ranks %d every.so --input x=x%%r.npy --output-dir shared && mpirun -n %d env "
                    "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" byoc run " // MPI libraries keep memory to the end
                    "--communicator mpi.so every.so --input x=x%%r.npy --output-dir mpi && diff -r shared mpi && "
                    "test -f mpi/%d/permute.npy && rm -r mpi",
                    ranks, ranks, ranks - 1);
    byoc_test_shell(0,
                    "byoc run --ranks %d steps.so --input x=x%%r.npy --output-dir steps && mpirun -n %d env "
                    "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" byoc run "
                    "--communicator mpi.so steps.so --input x=x%%r.npy --output-dir mpi && diff -r shared steps && "
                    "diff -r shared mpi && rm -r shared steps mpi",
                    ranks, ranks);
  }
  // Two of three ranks talk, and the third one knows nothing of it.
  byoc_test_shell(0,
                  "p() { printf 'host program \"p\" {\\n input %%%%x : f32[4]\\n output %%%%y : f32[4]\\n %%s\\n}\\n' "
                  "\"$1\"; }\n"
                  "p 'collective send(%%x) -> () among 3 step 1 root 2 copy %%x -> %%y' > s0.host\n"
                  "p 'copy %%x -> %%y' > s1.host\n"
                  "p 'collective receive() -> (%%y) among 3 step 1 root 0' > s2.host\n"
                  "for r in 0 1 2; do byoc build s$r.host -o s$r.so || exit 9; done\n"
                  "timeout 60 mpirun -n 3 env ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" byoc run --communicator "
                  "mpi.so s0.so s1.so s2.so --input x=x%%r.npy "
                  "--output-dir sent && cmp sent/0/y.npy sent/2/y.npy");
  byoc_test_shell(1, "byoc run --communicator every.so every.so --random");
  byoc_test_printed("'every.so' has no function byoc_communicator_open");
}

// A rank is killed while it waits for its input: the other one ends with a sentence, in time.
static void test_h15_a_killed_rank_ends_the_others(void **state) {
  (void)state;
  write_every_kind();
  byoc_test_shell(1, "in=in$$_; cp x0.npy ${in}0.npy && ln -s /dev/stdin ${in}1.npy\n" // no other program has this name
                     "(sleep 60 | { byoc run --ranks 2 every.so --input x=$in%%r.npy; echo $? > code; }) 2> said &\n"
                     "ours() { pgrep -f \"^byoc run --ranks 2 every.so --input x=$in\" | sort -n; }\n"
                     "n=0; while [ $(ours | wc -l) -lt 3 ] && [ $n -lt 500 ]; do sleep 0.1; n=$((n + 1)); done\n"
                     "begin=$(date +%%s); kill -9 $(ours | tail -1); kill $(pgrep -P $! -x sleep)\n"
                     "wait; test $(($(date +%%s) - begin)) -le 50 || exit 9\n"
                     "cat said; exit $(cat code)");
  byoc_test_printed("rank 1 has died, and rank 0 needs it");
  byoc_test_printed("rank 1 was killed by signal 9");
  // One that fails otherwise is told, too.
  byoc_test_shell(1, "byoc run --ranks 2 every.so no.so --input x=x%%r.npy");
  byoc_test_printed("rank 1 has failed, and rank 0 needs it");
  // What is wrong for all of them is said once, before they start.
  byoc_test_shell(2, "byoc run every.so --ranks 3 every.so --random 2> said; code=$?; test $(wc -l < said) -eq 1 || "
                     "exit 9; cat said; exit $code");
  byoc_test_printed("2 files are given for 3 ranks: one, or one for each");
}

// Ranks of different models, or of different ways to cut them, refuse each other, over either transport; those that
// differ in targets only run.
static void test_ranks_of_different_builds(void **state) {
  (void)state;
  static const char model[] = "module {opset_import. = 17} {\\n"
                              "  constant @w : f32[8,8] = splat %s\\n"
                              "  func @main(%%%%x : f32[4,8]) -> (%%%%y : f32[4,8]) {\\n"
                              "    %%%%h = MatMul@13(%%%%x, @w) : f32[4,8]\\n"
                              "    %%%%y = MatMul@13(%%%%h, @w) : f32[4,8]\\n    return %%%%y\\n  }\\n}\\n";
  char text[512];
  for (int k = 0; k < 2; ++k) {
    (void)snprintf(text, sizeof(text), model, k == 0 ? "1.0" : "2.0");
    byoc_test_shell(0, "printf '%s' > m%d.byoc", text, k);
    for (int rank = 0; rank < 2; ++rank) {
      byoc_test_shell(0, "byoc build m%d.byoc --shard megatron --ranks 2 --rank %d -t c -o m%d_%d.so", k, rank, k,
                      rank);
    }
  }
  byoc_test_shell(0, "byoc build m0.byoc --shard megatron --ranks 2 --rank 1 -t 'cutlass; c' --plan greedy -o mixed.so "
                     "&& byoc run --ranks 2 m0_0.so m0_1.so --random && byoc run --ranks 2 m0_0.so mixed.so --random");
  static const struct {
    const char *command;
    const char *blamed; // mpirun ends the others as soon as one rank has failed: either may be the one that speaks
  } ways[] = {{"byoc run --ranks 2", "error: rank 0"}, {"mpirun -n 2 byoc run --communicator mpi.so", "error: rank "}};
  byoc_test_shell(0, "mpicc -shared -fPIC -I " BYOC_TEST_SOURCE_DIR "/include -o mpi.so " BYOC_TEST_SOURCE_DIR
                     "/communicators/mpi.c");
  for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); ++w) {
    int code = byoc_test_try_shell("timeout 60 %s m0_0.so m1_1.so --random", ways[w].command);
    assert_true(code != 0 && code != 124);
    byoc_test_printed("are of different builds: build all ranks from one model, with the same --shard and --ranks");
    byoc_test_printed(ways[w].blamed);
  }
  byoc_test_shell(2, "byoc run --ranks 2 m0_0.so m1_1.so --random");
  byoc_test_printed("error: rank 1");
  byoc_test_shell(0, "rm *.so *.byoc");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_h15_two_ranks_halve_the_weights_of_bert),
      cmocka_unit_test(test_h15_each_rank_caches_its_heads_of_gpt2),
      cmocka_unit_test(test_h15_mpi_gives_the_bits_of_shared_memory),
      cmocka_unit_test(test_h15_a_killed_rank_ends_the_others),
      cmocka_unit_test(test_ranks_of_different_builds),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
