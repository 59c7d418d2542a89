// SPDX-License-Identifier: Apache-2.0
// From a host program to a running artifact: every kind of instruction, contexts, pools, refusals.
#include "tests/unit/compose/demo.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "byoc/verify.h"
#include "core/base/elf.h"
#include "core/compose/artifact/seal.h"
#include "core/loader/artifact_file.h"
#include "core/loader/loader.h"

typedef struct state_t {
  demo_t demo;
  char *folder, *path;
} state_t;

static state_t shared; // one build serves most tests

static byoc_compose_options_t options_for(const char *path) {
  return (byoc_compose_options_t){
      .output = path, .model_name = "demo", .cpu_features = "", .profile = true, .keep_header = true};
}

static int set_up(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  demo_init(&shared.demo);
  shared.folder = byoc_test_folder();
  shared.path = demo_output(shared.folder);
  byoc_compose_options_t options = options_for(shared.path);
  byoc_test_ok(byoc_compose_artifact(shared.demo.program, &options, byoc_allocator_system(), &diag), &diag);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  demo_deinit(&shared.demo);
  byoc_test_ok(byoc_remove_tree(shared.folder, NULL), NULL);
  free(shared.path);
  free(shared.folder);
  return 0;
}

static byoc_loaded_artifact_t load(const char *path) {
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t artifact;
  byoc_test_ok(byoc_artifact_load(path, &diag, &artifact), &diag);
  return artifact;
}

static void assert_runs(const byoc_artifact_t *table, byoc_context_t *context) {
  float y[4] = {0};
  const void *inputs[] = {demo_x};
  void *outputs[] = {y};
  int32_t status = table->run(context, inputs, outputs);
  if (status != BYOC_OK) fail_msg("%s", table->last_error(context));
  assert_memory_equal(y, demo_y, sizeof(y));
}

static void test_runs(void **state) {
  (void)state;
  byoc_loaded_artifact_t artifact = load(shared.path);
  const byoc_artifact_t *table = artifact.table;
  assert_string_equal(table->model_name, "demo");
  assert_int_equal(table->input_count, 1);
  assert_int_equal(table->output_count, 1);
  assert_string_equal(table->inputs[0].name, "x/in:0");
  assert_int_equal(table->inputs[0].dtype, BYOC_DTYPE_F32);
  assert_int_equal(table->inputs[0].dims[0], 4);
  assert_null(table->inputs[0].dim_names[0]);
  assert_int_equal(table->outputs[0].size_bytes, 16);
  assert_true(table->constants_size_bytes >= 32);
  assert_int_equal(strlen(table->metadata), table->metadata_size_bytes);
  byoc_context_t *context = NULL;
  assert_int_equal(table->create(NULL, &context), BYOC_OK);
  for (int i = 0; i < 3; i++) assert_runs(table, context);
  table->destroy(context);
  table->destroy(NULL);
  byoc_artifact_unload(&artifact);
}

static void test_failures_say_where(void **state) {
  (void)state;
  byoc_loaded_artifact_t artifact = load(shared.path);
  const byoc_artifact_t *table = artifact.table;
  byoc_context_t *context = NULL;
  byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  assert_int_equal(table->create(&options, &context), BYOC_OK);
  float x[4] = {2000, 0, 0, 0}, y[4];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  assert_int_equal(table->run(context, inputs, outputs), BYOC_INVALID_DATA);
  assert_string_equal(table->last_error(context), "Mul 'mul': the first element is too large");
  inputs[0] = NULL;
  assert_int_equal(table->run(context, inputs, outputs), BYOC_INVALID_ARGUMENT);
  assert_string_equal(table->last_error(context), "the input 'x/in:0' is NULL");
  assert_runs(table, context); // still usable
  table->destroy(context);

  options.thread_count = -3;
  assert_int_equal(table->create(&options, &context), BYOC_INVALID_ARGUMENT);
  assert_null(context);
  assert_non_null(strstr(table->last_error(NULL), "thread count -3"));
  setenv("BYOC_THREADS", "many", 1);
  assert_int_equal(table->create(NULL, &context), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(table->last_error(NULL), "BYOC_THREADS is 'many'"));
  setenv("BYOC_THREADS", "3", 1);
  setenv("BYOC_SPIN_TURNS", "-1", 1);
  assert_int_equal(table->create(NULL, &context), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(table->last_error(NULL), "BYOC_SPIN_TURNS is '-1'; a number from 0 "));
  static const char *const turns[] = {"", "0", "100000"};
  for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); ++i) {
    setenv("BYOC_SPIN_TURNS", turns[i], 1);
    assert_int_equal(table->create(NULL, &context), BYOC_OK);
    assert_runs(table, context);
    table->destroy(context);
  }
  unsetenv("BYOC_SPIN_TURNS");
  unsetenv("BYOC_THREADS");
  byoc_artifact_unload(&artifact);
}

typedef struct runner_t {
  const byoc_artifact_t *table;
  int32_t threads;
  int wrong;
} runner_t;

static void *run_many(void *self) {
  runner_t *runner = self;
  for (int round = 0; round < 4; round++) {
    byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = runner->threads};
    byoc_context_t *context = NULL;
    if (runner->table->create(&options, &context) != BYOC_OK) {
      runner->wrong++;
      return NULL;
    }
    for (int i = 0; i < 500; i++) {
      float y[4] = {0};
      const void *inputs[] = {demo_x};
      void *outputs[] = {y};
      if (runner->table->run(context, inputs, outputs) != BYOC_OK || memcmp(y, demo_y, sizeof(y)) != 0) runner->wrong++;
    }
    runner->table->destroy(context);
  }
  return NULL;
}

static size_t thread_count(void) {
  return byoc_test_count_entries("/proc/self/task");
}

static void test_contexts_run_at_once(void **state) {
  (void)state;
  size_t before = thread_count();
  byoc_loaded_artifact_t artifact = load(shared.path);
  runner_t runners[3] = {{artifact.table, 2, 0}, {artifact.table, 3, 0}, {artifact.table, 1, 0}};
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_many, &runners[i]), 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) assert_int_equal(runners[i].wrong, 0);
  // A joined thread may take a moment to leave /proc.
  for (int i = 0; i < 20000 && thread_count() != before; i++) usleep(1000);
  assert_int_equal(thread_count(), before);
  byoc_artifact_unload(&artifact);
}

static void test_contexts_have_their_threads(void **state) {
  (void)state;
  const size_t before = thread_count();
  byoc_loaded_artifact_t artifact = load(shared.path);
  for (int32_t threads = 1; threads <= 3; threads++) {
    byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = threads};
    byoc_context_t *context = NULL;
    assert_int_equal(artifact.table->create(&options, &context), BYOC_OK);
    assert_runs(artifact.table, context);
    assert_int_equal(thread_count(), before + (size_t)threads - 1); // the caller's thread is one of them
    artifact.table->destroy(context);
    for (int i = 0; i < 20000 && thread_count() != before; i++) usleep(1000);
  }
  byoc_artifact_unload(&artifact);
}

static int32_t pool_calls;
static void user_parallel_for(void *self, void (*body)(void *, int64_t, int64_t, int32_t), void *argument,
                              int64_t count, int64_t grain) {
  (void)grain;
  assert_ptr_equal(self, &pool_calls);
  pool_calls++;
  for (int64_t i = count - 1; i >= 0; i--) body(argument, i, i + 1, (int32_t)(i % 5));
}

static void test_user_pool(void **state) {
  (void)state;
  size_t before = thread_count();
  byoc_loaded_artifact_t artifact = load(shared.path);
  byoc_thread_pool_t pool = {sizeof(pool), 5, &pool_calls, user_parallel_for};
  byoc_context_options_t options = {.struct_size = sizeof(options), .pool = &pool};
  byoc_context_t *context = NULL;
  assert_int_equal(artifact.table->create(&options, &context), BYOC_OK);
  pool_calls = 0;
  assert_runs(artifact.table, context);
  assert_true(pool_calls > 0);
  assert_int_equal(thread_count(), before);
  artifact.table->destroy(context);
  pool.parallel_for = NULL;
  assert_int_equal(artifact.table->create(&options, &context), BYOC_INVALID_ARGUMENT);
  byoc_artifact_unload(&artifact);
}

typedef struct profile_t {
  char names[512];
  int count;
} profile_t;
static void sink(void *argument, const char *name, uint64_t duration_ns) {
  profile_t *profile = argument;
  profile->count++;
  strncat(profile->names, name, sizeof(profile->names) - strlen(profile->names) - 2);
  strcat(profile->names, ";");
  assert_true(duration_ns < 1000000000u);
}

static void test_profile(void **state) {
  (void)state;
  byoc_loaded_artifact_t artifact = load(shared.path);
  byoc_context_t *context = NULL;
  assert_int_equal(artifact.table->create(NULL, &context), BYOC_OK);
  assert_non_null(artifact.table->profile);
  float y[4] = {0};
  const void *inputs[] = {demo_x};
  void *outputs[] = {y};
  profile_t profile = {0};
  assert_int_equal(artifact.table->profile(context, inputs, outputs, sink, &profile), BYOC_OK);
  assert_memory_equal(y, demo_y, sizeof(y));
  assert_string_equal(profile.names, "Add 'add';Mul 'mul';Add 'one';\tsub node;Sub 'sub';Identity 'out';");
  artifact.table->destroy(context);
  byoc_artifact_unload(&artifact);
}

// The metadata say of each step where it runs, and the bytes of its operands, results and constants.
static void test_steps_say_their_bytes(void **state) {
  (void)state;
  static const char *const steps[] = {
      "{\"name\":\"Add 'add'\",\"kind\":\"kernel\",\"target\":\"c\",\"bytes\":48}",
      "{\"name\":\"Mul 'mul'\",\"kind\":\"packed\",\"target\":\"demo\",\"bytes\":32}",
      "{\"name\":\"Add 'one'\",\"kind\":\"c_call\",\"target\":\"demo\",\"bytes\":32}",
      "{\"name\":\"Sub 'sub'\",\"kind\":\"engine\",\"target\":\"demo\",\"bytes\":48}",
      "{\"name\":\"Identity 'out'\",\"kind\":\"copy\",\"target\":\"\",\"flops\":0,\"bytes\":32}"};
  byoc_loaded_artifact_t artifact = load(shared.path);
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i) {
    if (strstr(artifact.table->metadata, steps[i]) == NULL) fail_msg("no %s in %s", steps[i], artifact.table->metadata);
  }
  byoc_artifact_unload(&artifact);
}

typedef struct seen_t {
  char exported[256], needed[256];
  int export_count;
} seen_t;
static byoc_status_t see_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  seen_t *seen = self;
  if (!symbol->defined || !symbol->global || symbol->name[0] == '\0') return BYOC_OK;
  seen->export_count++;
  snprintf(seen->exported, sizeof(seen->exported), "%s", symbol->name);
  return BYOC_OK;
}
static byoc_status_t see_needed(void *self, const char *name, bool soname) {
  seen_t *seen = self;
  assert_false(soname);
  static const char *const of_libc[] = {"libc.so.", "libm.so.", "libpthread.so.", "libdl.so.", "ld-linux"};
  for (size_t i = 0; i < sizeof(of_libc) / sizeof(of_libc[0]); ++i) {
    if (strncmp(name, of_libc[i], strlen(of_libc[i])) == 0) return BYOC_OK;
  }
  snprintf(seen->needed, sizeof(seen->needed), "%s", name);
  return BYOC_OK;
}

static void test_exports_and_needs(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_view_t view;
  byoc_elf_t elf;
  seen_t seen = {0};
  byoc_test_ok(byoc_file_view_open(shared.path, &diag, &view), &diag);
  byoc_test_ok(byoc_elf_open(view.data, view.size_bytes, "model.so", &diag, &elf), &diag);
  byoc_test_ok(byoc_elf_visit_symbols(&elf, true, see_symbol, &seen, &diag), &diag);
  byoc_test_ok(byoc_elf_visit_needed(&elf, see_needed, &seen, &diag), &diag);
  assert_int_equal(seen.export_count, 1);
  assert_string_equal(seen.exported, "byoc_artifact_entry");
  assert_string_equal(seen.needed, "");
  byoc_file_view_close(&view);
}

static void test_cpu_refusal(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_compose_options_t options = options_for(path);
  options.cpu_features = "pni quantum9 ssse3";
  byoc_test_ok(byoc_compose_artifact(shared.demo.program, &options, byoc_allocator_system(), &diag), &diag);
  byoc_loaded_artifact_t artifact;
  byoc_test_error(byoc_artifact_load(path, &diag, &artifact), BYOC_UNSUPPORTED, &diag,
                  "built for a processor with quantum9, which this one lacks");
  assert_null(artifact.library);
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
}

static void test_truncations_are_refused(void **state) {
  (void)state;
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(shared.path, byoc_allocator_system(), NULL, &data, &size), NULL);
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  for (size_t i = 0; i < 200; i++) {
    byoc_diag_t diag = {0};
    byoc_loaded_artifact_t artifact;
    byoc_test_ok(byoc_file_write(path, data, size * i / 200, &diag), &diag);
    byoc_status_t status = byoc_artifact_load(path, &diag, &artifact);
    if (status != BYOC_INVALID_DATA) fail_msg("%zu of %zu bytes: status %d", size * i / 200, size, (int)status);
    assert_true(diag.message[0] != '\0');
  }
  byoc_remove_tree(folder, NULL);
  free(path);
  free(folder);
  free(data);
}

static void test_wrong_files_are_refused(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_loaded_artifact_t artifact;
  char *folder = byoc_test_folder(), *path = demo_output(folder);
  byoc_test_error(byoc_artifact_load(path, &diag, &artifact), BYOC_NOT_FOUND, &diag, "model.so");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_file_write(path, "#!/bin/sh\n", 10, &diag), &diag);
  byoc_test_error(byoc_artifact_load(path, &diag, &artifact), BYOC_INVALID_DATA, &diag, "not an ELF file");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_artifact_load("/lib/x86_64-linux-gnu/libm.so.6", &diag, &artifact), BYOC_INVALID_DATA, &diag,
                  "not an artifact");
  byoc_diag_clear(&diag);
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(shared.path, byoc_allocator_system(), &diag, &data, &size), &diag);
  data[18] = 8, data[19] = 0; // EM_MIPS
  byoc_test_ok(byoc_file_write(path, data, size - sizeof(byoc_seal_t), &diag), &diag);
  byoc_test_ok(byoc_compose_seal(path, &diag), &diag);
  byoc_test_error(byoc_artifact_load(path, &diag, &artifact), BYOC_UNSUPPORTED, &diag, "was made for ELF machine");
  assert_true(byoc_artifact_is_meant(path));
  byoc_remove_tree(folder, NULL);
  free(data);
  free(path);
  free(folder);
}

static void test_abi(void **state) {
  (void)state;
  byoc_loaded_artifact_t artifact = load(shared.path);
  byoc_artifact_entry_t entry = NULL;
  void *symbol = dlsym(artifact.library, BYOC_ARTIFACT_ENTRY);
  memcpy(&entry, &symbol, sizeof(entry));
  assert_null(entry(BYOC_ARTIFACT_ABI + 1));
  assert_null(entry(0));
  assert_ptr_equal(entry(BYOC_ARTIFACT_ABI), artifact.table);
  byoc_artifact_unload(&artifact);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs),
      cmocka_unit_test(test_failures_say_where),
      cmocka_unit_test(test_contexts_run_at_once),
      cmocka_unit_test(test_contexts_have_their_threads),
      cmocka_unit_test(test_user_pool),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_steps_say_their_bytes),
      cmocka_unit_test(test_exports_and_needs),
      cmocka_unit_test(test_cpu_refusal),
      cmocka_unit_test(test_truncations_are_refused),
      cmocka_unit_test(test_wrong_files_are_refused),
      cmocka_unit_test(test_abi),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
