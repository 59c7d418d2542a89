// SPDX-License-Identifier: Apache-2.0
// Collects valid host programs to begin with.
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/hostir/pass/pass.h"
#include "core/kernel/work.h"
#include "tests/random/host/host.h"
#include "tests/random/pipeline.h"

enum { TEXT_AT_MOST = 32 << 10, WORK_AT_MOST = 1 << 28, BYTES_AT_MOST = 64 << 10 };

// Small enough to run it thousands of times.
static bool is_small(const byoc_host_program_t *program) {
  int64_t work = 0;
  uint64_t bytes = 0;
  for (size_t k = 0; k < program->kernels.count; ++k) work += byoc_work_of(program->kernels.data[k]->body);
  for (size_t k = 0; k < program->buffers.count; ++k) bytes += program->buffers.data[k]->size_bytes;
  return work <= WORK_AT_MOST && bytes <= BYTES_AT_MOST;
}

// Puts the program among the seeds, unless it is large.
static bool push(seeds_t *seeds, const char *path, const byoc_host_program_t *program) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_string_t text;
  byoc_string_init(&text, allocator);
  byoc_host_program_print(program, NULL, &text);
  bool ok = !text.failed && text.size <= TEXT_AT_MOST && is_small(program);
  if (ok && seeds->count == seeds->capacity) {
    seeds->capacity = seeds->capacity > 0 ? 2 * seeds->capacity : 32;
    seeds->data = realloc(seeds->data, seeds->capacity * sizeof(*seeds->data));
    if (seeds->data == NULL) exit(2);
  }
  if (ok) seeds->data[seeds->count++] = (seed_t){strdup(byoc_path_base(path)), strdup(text.data)};
  byoc_string_deinit(&text);
  return ok;
}

// Adds what lacks, as a build does.
static byoc_status_t plan(byoc_host_program_t *program, byoc_diag_t *diag) {
  uint32_t properties = 0;
  if (!byoc_host_program_properties(program, &properties)) return byoc_diag_out_of_memory(diag);
  const char *passes = (properties & BYOC_HOST_PLAN) != 0        ? ""
                       : (properties & BYOC_HOST_LIFETIMES) != 0 ? "plan-memory"
                                                                 : "place-lifetimes,plan-memory";
  BYOC_RETURN_IF_ERROR(byoc_host_pass_run_list(passes, program, NULL, diag));
  return byoc_host_program_verify(program, diag);
}

static void add_host_program(seeds_t *seeds, const char *path, const char *text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_status_t status = byoc_host_program_parse(text, path, NULL, byoc_allocator_system(), &diag, &module, &program);
  if (status == BYOC_OK) status = plan(program, &diag);
  if (status == BYOC_OK) (void)push(seeds, path, program);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
}

static void add_module(seeds_t *seeds, const char *path, const char *text) {
  byoc_diag_t diag = {0};
  char *folder = byoc_test_folder();
  char *copy = byoc_path_join(byoc_allocator_system(), folder, "seed.byoc");
  pipeline_t pipeline = {0};
  byoc_status_t status = byoc_file_write(copy, text, strlen(text), &diag);
  if (status == BYOC_OK) status = pipeline_open_file(&pipeline, copy, "c", &diag);
  if (status == BYOC_OK) (void)push(seeds, path, pipeline.build.result.program);
  pipeline_close(&pipeline);
  byoc_free(byoc_allocator_system(), copy);
  free(folder);
}

void seeds_add(seeds_t *seeds, const char *path) {
  byoc_diag_t diag = {0};
  char *text = NULL;
  size_t size = 0;
  if (byoc_file_read(path, byoc_allocator_system(), &diag, &text, &size) != BYOC_OK) {
    byoc_diag_print(&diag, stderr);
    exit(2);
  }
  char *expect = strstr(text, "\n// EXPECT");
  if (expect != NULL) expect[1] = '\0';
  if (byoc_ends_with(path, ".byoc")) {
    add_module(seeds, path, text);
  } else {
    add_host_program(seeds, path, text);
  }
  byoc_free(byoc_allocator_system(), text);
}

// The files of a folder whose names end so; "" takes all.
static void add_folder(seeds_t *seeds, const char *folder, const char *ending) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  char **names = NULL;
  size_t count = 0;
  byoc_diag_t diag = {0};
  if (byoc_list_directory(folder, allocator, &diag, &names, &count) != BYOC_OK) {
    byoc_diag_print(&diag, stderr);
    exit(2);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!byoc_ends_with(names[i], ending)) continue;
    char *path = byoc_path_join(allocator, folder, names[i]);
    if (path == NULL) exit(2);
    seeds_add(seeds, path);
    byoc_free(allocator, path);
  }
  byoc_free_names(allocator, names, count);
}

void seeds_collect(seeds_t *seeds) {
  static const char *const modules[] = {"loop_grows", "scan_is_a_loop", "join_memory", "write_over",
                                        "shapes_from_shapes"};
  byoc_log_set_level(BYOC_LOG_ERROR);
  add_folder(seeds, BYOC_TEST_SOURCE_DIR "/tests/ir", ".host");
  add_folder(seeds, BYOC_TEST_SOURCE_DIR "/tests/rows", ".host");
  add_folder(seeds, BYOC_TEST_SOURCE_DIR "/tests/fuzz/seeds/host", "");
  add_folder(seeds, BYOC_TEST_SOURCE_DIR "/tests/random/host/seeds", "");
  for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); ++i) {
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/ir/%s.byoc", BYOC_TEST_SOURCE_DIR, modules[i]);
    seeds_add(seeds, path);
  }
}

void seeds_free(seeds_t *seeds) {
  for (size_t i = 0; i < seeds->count; ++i) {
    free(seeds->data[i].name);
    free(seeds->data[i].text);
  }
  free(seeds->data);
  *seeds = (seeds_t){0};
}
