// SPDX-License-Identifier: Apache-2.0
// An artifact with one input and one output in a process that forks, and in threads that share a context.
//   user_process ARTIFACT fork|share
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "byoc/artifact.h"

static const byoc_artifact_t *model;
static void *input, *output, *expected;
static uint64_t output_bytes;

static byoc_context_t *make(const byoc_thread_pool_t *pool) {
  byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = pool != NULL ? 0 : 3, .pool = pool};
  byoc_context_t *context = NULL;
  if (model->create(&options, &context) == 0) return context;
  printf("create: %s\n", model->last_error(NULL));
  exit(1);
}

static const char *run(byoc_context_t *context) {
  const void *inputs[] = {input};
  void *outputs[] = {output};
  memset(output, 0xff, output_bytes);
  if (model->run(context, inputs, outputs) != 0) return model->last_error(context);
  return expected == NULL || memcmp(output, expected, output_bytes) == 0 ? "right" : "wrong";
}

// Prints what the child says of the parent's context and of one of its own.
static int fork_with_a_context(void) {
  byoc_context_t *context = make(NULL);
  printf("parent: %s\n", run(context));
  expected = malloc(output_bytes);
  memcpy(expected, output, output_bytes);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    printf("inherited: %s\n", run(context));
    byoc_context_t *own = make(NULL);
    printf("own: %s\n", run(own));
    model->destroy(own);
    model->destroy(context);
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) printf("the child hung or crashed\n");
  printf("parent again: %s\n", run(context));
  model->destroy(context);
  return 0;
}

// A second run begins while the first one is in a loop.
static byoc_context_t *shared;
static int nested;
static void parallel_for(void *self, void (*body)(void *, int64_t, int64_t, int32_t), void *argument, int64_t count,
                         int64_t grain) {
  (void)self, (void)grain;
  if (nested++ == 0) {
    const void *inputs[] = {input};
    void *outputs[] = {output};
    int32_t status = model->run(shared, inputs, outputs);
    printf("second: %s\n", status != 0 ? model->last_error(shared) : "not refused");
  }
  body(argument, 0, count, 0);
}

static int share_a_context(void) {
  static const byoc_thread_pool_t pool = {sizeof(pool), 4, NULL, parallel_for};
  shared = make(&pool);
  printf("first: %s\n", run(shared));
  printf("later: %s\n", run(shared));
  model->destroy(shared);
  return 0;
}

int main(int count, char **arguments) {
  void *library = count == 3 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library != NULL ? dlsym(library, BYOC_ARTIFACT_ENTRY) : NULL;
  byoc_artifact_entry_t entry;
  if (symbol == NULL) return 2;
  memcpy(&entry, &symbol, sizeof(entry));
  model = entry(BYOC_ARTIFACT_ABI);
  output_bytes = model->outputs[0].size_bytes;
  input = calloc(1, model->inputs[0].size_bytes);
  output = malloc(output_bytes);
  int status = strcmp(arguments[2], "fork") == 0 ? fork_with_a_context() : share_a_context();
  (void)dlclose(library);
  return status;
}
