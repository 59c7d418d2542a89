// SPDX-License-Identifier: Apache-2.0
// Two processes that run two artifacts with one weights file, in two contexts each: prints in how many mappings the
// first one has the file, how much of it they show in MiB, and how much of that is its share of the machine's memory.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "one.h"
#include "two.h"

static float x[16 * 2048], y[16 * 2048];

static int run_one(void) {
  static one_model_t model;
  static one_context_t contexts[2];
  if (one_load("./one.so", &model) != 0) return 1;
  for (int i = 0; i < 2; i++) {
    if (one_create(&model, NULL, &contexts[i]) != 0 || one_run(&contexts[i], x, y) != 0) return 1;
  }
  return 0;
}

static int run_two(void) {
  static two_model_t model;
  static two_context_t contexts[2];
  if (two_load("./two.so", &model) != 0) return 1;
  for (int i = 0; i < 2; i++) {
    if (two_create(&model, NULL, &contexts[i]) != 0 || two_run(&contexts[i], x, y) != 0) return 1;
  }
  return 0;
}

static int print_mappings(void) {
  char line[4096];
  int count = 0, is_weights = 0;
  unsigned long begin, end, kib, rss = 0, pss = 0;
  FILE *file = fopen("/proc/self/smaps", "r");
  if (file == NULL) return 1;
  while (fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2) count += is_weights = strstr(line, "all.weights") != NULL;
    if (is_weights && sscanf(line, "Rss: %lu", &kib) == 1) rss += kib;
    if (is_weights && sscanf(line, "Pss: %lu", &kib) == 1) pss += kib;
  }
  (void)fclose(file);
  return printf("%d mappings, %lu MiB, %lu MiB\n", count, (rss + 512) >> 10, (pss + 512) >> 10) < 0;
}

int main(void) {
  int ready[2], done[2], status = 1;
  char byte = 0;
  if (pipe(ready) != 0 || pipe(done) != 0) return 1;
  const pid_t other = fork();
  if (other == 0) {
    (void)close(done[1]);
    if (run_one() != 0 || run_two() != 0 || write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(done[0], &byte, 1) != 0); // until the first one is done
  }
  (void)close(ready[1]);
  if (other < 0 || read(ready[0], &byte, 1) != 1) return 1;
  if (run_one() != 0 || run_two() != 0 || print_mappings() != 0) return 1;
  (void)close(done[1]);
  return waitpid(other, &status, 0) != other || status != 0;
}
