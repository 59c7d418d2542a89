// SPDX-License-Identifier: Apache-2.0
// Damaged artifacts and strangers' shared objects: every command refuses them with a sentence, and nothing in them
// runs.
#include <stdio.h>
#include <stdlib.h>

#include "byoc/artifact.h"
#include "core/base/file.h"
#include "core/compose/artifact/seal.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

static char *good; // of tiny.so
static size_t good_size;

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_tiny("tiny.onnx", "2");
  byoc_test_shell(0, "byoc build tiny.onnx --target c");
  byoc_test_ok(byoc_file_read("tiny.so", byoc_allocator_system(), NULL, &good, &good_size), NULL);
  return 0;
}

static int teardown(void **state) {
  free(good);
  return byoc_test_leave_folder(state);
}

static void write_file(const char *name, const void *data, size_t size_bytes) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(name, data, size_bytes, &diag), &diag);
}

// inspect and run: exit code 1 and one sentence that names the file.
static void is_refused(const char *data, size_t size_bytes, const char *what, size_t place) {
  static const char *const commands[] = {"byoc inspect t.so", "byoc inspect t.so --json", "byoc run t.so --random"};
  write_file("t.so", data, size_bytes);
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    int code = byoc_test_try_shell("%s", commands[i]);
    const char *text = byoc_test_output();
    if (code != 1 || strncmp(text, "error: ", 7) != 0 || strstr(text, "'t.so'") == NULL) {
      fail_msg("%s, %s at %zu: exit code %d\n%s", commands[i], what, place, code, text);
    }
  }
}

// Bits, bytes, blocks and ends of a file, at seeded places.
static void test_damaged_artifacts_are_refused(void **state) {
  (void)state;
  byoc_test_random_t random = {13};
  char *data = malloc(good_size);
  assert_non_null(data);
  for (size_t round = 0; round < 60; ++round) {
    memcpy(data, good, good_size);
    size_t place = byoc_test_below(&random, good_size), from = byoc_test_below(&random, good_size - 64);
    const char *what = "a flipped bit";
    if (round % 3 == 0) data[place] ^= (char)(1 << byoc_test_below(&random, 8));
    if (round % 3 == 1) what = "a page of zeros", place -= place % 4096;
    for (size_t i = place; round % 3 == 1 && i < place + 4096 && i < good_size; ++i) data[i] = 0;
    if (round % 3 == 2) what = "another place's bytes", place = place < good_size - 64 ? place : 0;
    if (round % 3 == 2) memcpy(data + place, good + from, 64);
    if (memcmp(data, good, good_size) != 0) is_refused(data, good_size, what, place);
  }
  static const size_t sizes[] = {0, 1, 3, 4, 16, 63, 64, 65, 512, 4095, 4096};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) is_refused(good, sizes[i], "cut off", sizes[i]);
  for (size_t i = 0; i < 20; ++i) {
    size_t size = i < 5 ? good_size - 1 - i * 16 : byoc_test_below(&random, good_size);
    is_refused(good, size, "cut off", size);
  }
  free(data);
  byoc_test_shell(0, "cp tiny.so t.so && echo >> t.so");
  static const char *const commands[] = {"inspect t.so", "run t.so --random", "bench t.so", "profile t.so"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(1, "byoc %s", commands[i]);
    byoc_test_printed("'t.so' has 1 more bytes than byoc wrote: copy it again, or build it again");
  }
  if (byoc_test_try_shell("command -v strip") != 0) {
    byoc_test_leave_out("strip is not installed");
    return;
  }
  byoc_test_shell(0, "cp tiny.so t.so && strip t.so");
  byoc_test_shell(1, "byoc inspect t.so");
  byoc_test_printed("a tool such as strip or objcopy changed it; build it again");
}

// ---- strangers ----

// Whoever loads this file leaves another one behind.
static const char stranger[] =
    "#include <stdio.h>\n"
    "__attribute__((constructor)) static void run(void) { FILE *f = fopen(\"ran\", \"w\"); if (f) fclose(f); }\n"
    "const void *byoc_artifact_entry(unsigned version) { return run(), (const void *)(long)(version & 0); }\n"
    "#ifdef METADATA\n"
    "__attribute__((section(\"" BYOC_ARTIFACT_METADATA_SECTION "\"))) const char metadata[] = METADATA;\n"
    "#endif\n";

static void test_inspect_runs_nothing(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  write_file("stranger.c", stranger, sizeof(stranger) - 1);
  byoc_test_shell(0, "cc -shared -fPIC stranger.c -o stranger.so");
  byoc_test_shell(1, "byoc inspect stranger.so");
  byoc_test_printed("'stranger.so' does not end with the seal of an artifact: an older byoc built it");
  byoc_test_shell(1, "byoc inspect stranger.so --json");
  byoc_test_shell(1, "byoc run stranger.so --random");
  byoc_test_printed("'stranger.so' does not end with the seal of an artifact");
  // A stranger can write a seal, too.
  byoc_test_ok(byoc_compose_seal("stranger.so", &diag), &diag);
  byoc_test_shell(1, "byoc inspect stranger.so");
  byoc_test_printed("'stranger.so' is an artifact without metadata in .byoc.metadata");
  static const char *const wrong[] = {"no JSON",
                                      "[]",
                                      "{\\\"inputs\\\": [{}]}",
                                      "{\\\"inputs\\\": [{\\\"type\\\": 3}]}",
                                      "{\\\"outputs\\\": [{\\\"type\\\": \\\"f32[2,\\\"}]}",
                                      "{\\\"inputs\\\": [{\\\"type\\\": \\\"?\\\"}]}"};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    byoc_test_shell(0, "cc -shared -fPIC -DMETADATA='\"%s\"' stranger.c -o stranger.so", wrong[i]);
    byoc_test_ok(byoc_compose_seal("stranger.so", &diag), &diag);
    byoc_test_shell(1, "byoc inspect stranger.so");
    byoc_test_printed("error: inspecting 'stranger.so': ");
    byoc_test_shell(1, "byoc inspect stranger.so --json");
  }
  byoc_test_shell(0, "cc -shared -fPIC -DMETADATA='\"{\\\"model\\\": \\\"odd\\\"}\"' stranger.c -o stranger.so");
  byoc_test_ok(byoc_compose_seal("stranger.so", &diag), &diag);
  byoc_test_shell(0, "byoc inspect stranger.so --json && byoc inspect stranger.so");
  byoc_test_printed("artifact of odd");
  byoc_test_shell(
      0, "cc -shared -fPIC -DMETADATA='\"{\\\"entry\\\": 2, \\\"entries\\\": [1]}\"' stranger.c -o stranger.so");
  byoc_test_ok(byoc_compose_seal("stranger.so", &diag), &diag);
  byoc_test_shell(0, "byoc inspect stranger.so");
  byoc_test_printed("entry  of \n");
  byoc_test_shell(2, "byoc inspect stranger.so --entry a");
  byoc_test_printed("the artifact has no entry 'a'; it has one model");
  assert_false(byoc_file_exists("ran"));
}

// ---- programs ----

static void test_verify_in_programs(void **state) {
  (void)state;
  byoc_test_shell(0, "cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user.c . && cc -std=c99 -Wall -Werror user.c -o user -ldl");
  byoc_test_shell(0, "BYOC_VERIFY=1 ./user && BYOC_VERIFY=1 LD_LIBRARY_PATH=. ./user tiny.so");
  // One changed digit of the metadata harms nobody who does not ask.
  char *data = malloc(good_size), *found = NULL;
  assert_non_null(data);
  memcpy(data, good, good_size);
  for (size_t i = 0; found == NULL && i + 10 < good_size; ++i) {
    if (memcmp(data + i, "\"format\":1", 10) == 0) found = data + i;
  }
  assert_non_null(found);
  found[9] = '2';
  write_file("t.so", data, good_size);
  free(data);
  byoc_test_shell(0, "./user ./t.so && BYOC_VERIFY=0 ./user ./t.so && BYOC_VERIFY= ./user ./t.so");
  byoc_test_shell(1, "BYOC_VERIFY=1 ./user ./t.so"); // refused before dlopen
  assert_string_equal(byoc_test_output(),
                      "'./t.so' is damaged: it is not what byoc wrote; copy it again, or build it again\n");
  byoc_test_shell(1, "BYOC_VERIFY=1 LD_LIBRARY_PATH=. ./user t.so"); // refused by `create`
  byoc_test_printed("t.so' is damaged: it is not what byoc wrote; copy it again, or build it again");
  byoc_test_shell(1, "BYOC_VERIFY=yes ./user");
  byoc_test_printed("BYOC_VERIFY is 'yes'; a number from 0 to 1 is needed");
  byoc_test_shell(0, "head -c 9000 tiny.so > t.so");
  byoc_test_shell(1, "BYOC_VERIFY=1 ./user ./t.so");
  byoc_test_printed("'./t.so' is cut off: it has 9000 bytes of");
}

// The file that is checked is the one that was loaded, whatever its name means by then.
static void test_verify_finds_the_loaded_file(void **state) {
  (void)state;
  byoc_test_shell(0, "cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user.c . && cc -std=c99 -Wall -Werror user.c -o user -ldl");
  byoc_test_shell(0, "mkdir -p elsewhere && cp tiny.so moved.so && head -c 9000 tiny.so > elsewhere/moved.so && "
                     "cp tiny.so changed.so && cp tiny.so elsewhere/changed.so && cp stranger.so elsewhere/new.so && "
                     "printf x | dd of=changed.so bs=1 seek=$(($(stat -c %%s changed.so) - 40)) conv=notrunc");
  // The damaged file of the same name in the other folder does not matter, nor does the good one.
  byoc_test_shell(0, "BYOC_VERIFY=1 LD_LIBRARY_PATH=. ./user moved.so elsewhere");
  byoc_test_shell(0, "BYOC_VERIFY=1 LD_LIBRARY_PATH=. ./user moved.so /");
  byoc_test_shell(1, "BYOC_VERIFY=1 LD_LIBRARY_PATH=. ./user changed.so elsewhere");
  byoc_test_printed("/changed.so' is damaged: it is not what byoc wrote");
  // Another file has taken the place of the one that was loaded: it is not the one to be asked about.
  byoc_test_shell(1, "BYOC_VERIFY=1 LD_LIBRARY_PATH=$PWD ./user moved.so elsewhere new.so ../moved.so");
  byoc_test_printed("/moved.so' cannot be checked: it is no longer the file that was loaded");
  byoc_test_shell(0, "cp tiny.so moved.so && cp stranger.so elsewhere/new.so");
  byoc_test_shell(1, "BYOC_VERIFY=1 LD_LIBRARY_PATH=. ./user moved.so elsewhere new.so ../moved.so");
  byoc_test_printed("/moved.so (deleted)' cannot be read: No such file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_damaged_artifacts_are_refused),
      cmocka_unit_test(test_inspect_runs_nothing),
      cmocka_unit_test(test_verify_in_programs),
      cmocka_unit_test(test_verify_finds_the_loaded_file),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
