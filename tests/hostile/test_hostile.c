// SPDX-License-Identifier: Apache-2.0
// Hostile shapes and values: ONNX's node tests, with the dimensions of their inputs opened, under the sanitizers. The
// right inputs give the expected outputs. All other inputs give results or a reason, and nothing is read or written out
// of bounds. With --operators, the models are single operators of the table, those of com.microsoft and ai.onnx.ml
// among them, and what the operators take as constants (sizes, axes, weights) is data, too.
//
//   hostile_models TARGETS [--operators] [NAME...]   cases whose names hold one of the NAMEs; all where there is none
//                                      BYOC_HOSTILE_COUNT=n    runs of each model (default 500)
//                                      BYOC_HOSTILE_SEED=n     (default 1)
//                                      BYOC_HOSTILE_JOBS=n     models at a time (default 2)
//                                      BYOC_HOSTILE_SHAPES=0   shapes stay as they are: hostile values alone
//                                      BYOC_HOSTILE_VERBOSE=1  what every model came to
//
// Generated code is compiled with the sanitizers by CC; backends' libraries are not.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/child.h"
#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/vector.h"
#include "tests/hostile/open_model.h"
#include "tests/hostile/open_operator.h"
#include "tests/hostile/values.h"
#include "tests/support/support.h"

enum { MOST_JOBS = 64, TIMEOUT_MS = 300000 };

static byoc_allocator_t allocator;
static const char *targets;
static char *const *names;
static int name_count;

typedef struct case_t {
  char *folder; // of a model; NULL: the operator in row `row`
  size_t row;
} case_t;

static BYOC_VECTOR(case_t) cases;

static long long setting(const char *name, long long otherwise) {
  const char *text = getenv(name);
  return text != NULL && text[0] != '\0' ? atoll(text) : otherwise;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

// ---- one model, in a child ----

typedef enum { FINE, SLOW, NOT_BUILT, WRONG, SANITIZER } verdict_t;

typedef struct answer_t {
  verdict_t verdict;
  char text[1800];
} answer_t;

static void answer_with(answer_t *answer, verdict_t verdict, const char *text) {
  answer->verdict = verdict;
  snprintf(answer->text, sizeof(answer->text), "%s", text);
}

// Finds in a sanitizer's report the sentence and the inputs that are printed after it.
static void tell_sanitizer(answer_t *answer, const char *text) {
  const char *error = strstr(text, "runtime error:"), *summary = strstr(text, "SUMMARY:");
  const char *line = summary != NULL ? summary : error != NULL ? error : "it ended without a word";
  const char *inputs = strstr(text, "in run ");
  snprintf(answer->text, sizeof(answer->text), "%.*s\n%.1200s", (int)strcspn(line, "\n"), line,
           inputs != NULL ? inputs : "");
  answer->verdict = SANITIZER;
}

// Does `byoc conform` fail the case too, with a reason (tests/conform/expected_failures.txt)?
static bool is_expected_to_differ(const char *folder) {
  char line[300], wanted[300];
  bool is_listed = false;
  snprintf(wanted, sizeof(wanted), "node/%s\n", base_name(folder));
  FILE *list = fopen(BYOC_CONFORM_LIST, "r");
  while (list != NULL && !is_listed && fgets(line, sizeof(line), list) != NULL) is_listed = strcmp(line, wanted) == 0;
  if (list != NULL) (void)fclose(list);
  return is_listed;
}

static const char *right_inputs(const case_t *item) {
  if (item->folder == NULL) return "try";
  return is_expected_to_differ(item->folder) ? "run" : "compare";
}

static void run_artifact(const case_t *item, const char *artifact, const char *values, answer_t *answer) {
  char count[24], seed[24];
  snprintf(count, sizeof(count), "%lld", setting("BYOC_HOSTILE_COUNT", 500));
  snprintf(seed, sizeof(seed), "%lld", setting("BYOC_HOSTILE_SEED", 1));
  const char *const arguments[] = {BYOC_HOSTILE_RUNNER, artifact, values, count, seed, right_inputs(item), NULL};
  static const char *const variables[] = {
      "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=32:handle_abort=1:"
      "detect_stack_use_after_return=0",
      "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=0", NULL};
  const byoc_process_options_t options = {.variables = variables};
  byoc_process_result_t result;
  byoc_string_t output;
  byoc_diag_t diag = {0};
  byoc_string_init(&output, allocator);
  byoc_status_t status = byoc_process_run(arguments, &options, &output, &diag, &result);
  const char *verdict = status == BYOC_OK ? strstr(output.data, HOSTILE_VERDICT " ") : NULL;
  if (status != BYOC_OK) {
    answer_with(answer, WRONG, diag.message);
  } else if (result.exit_code == 0 && verdict != NULL) {
    bool is_slow = strstr(verdict, HOSTILE_VERDICT " slow") != NULL;
    answer_with(answer, is_slow ? SLOW : FINE, is_slow ? output.data : verdict);
  } else if (verdict != NULL) {
    answer_with(answer, WRONG, output.data);
  } else {
    tell_sanitizer(answer, output.data);
  }
  byoc_string_deinit(&output);
}

static byoc_status_t build_case(const case_t *item, const char *folder, const char *artifact, const char *values,
                                byoc_diag_t *diag) {
  const bool keep_shapes = setting("BYOC_HOSTILE_SHAPES", 1) == 0;
  if (item->folder != NULL) {
    return open_model_build(&(open_model_job_t){item->folder, targets, artifact, values, keep_shapes}, diag);
  }
  return open_operator_build(&(open_operator_job_t){item->row, targets, folder, artifact, values, keep_shapes}, diag);
}

static void try_case(void *self, void *out) {
  const case_t *item = self;
  answer_t *answer = out;
  byoc_diag_t diag = {0};
  char *folder = NULL, artifact[600], values[600];
  (void)setenv("CC", BYOC_HOSTILE_CC, 1);
  if (byoc_make_temporary_directory("byoc-hostile", allocator, &diag, &folder) != BYOC_OK) {
    answer_with(answer, NOT_BUILT, diag.message);
    return;
  }
  snprintf(artifact, sizeof(artifact), "%s/model.so", folder);
  snprintf(values, sizeof(values), "%s/values", folder);
  if (build_case(item, folder, artifact, values, &diag) != BYOC_OK) {
    answer_with(answer, NOT_BUILT, diag.message);
  } else {
    run_artifact(item, artifact, values, answer);
  }
  (void)byoc_remove_tree(folder, NULL);
  free(folder);
}

// ---- all of them ----

typedef struct tally_t {
  size_t counts[SANITIZER + 1];
} tally_t;

static const char *name_of(const case_t *item) {
  return item->folder != NULL ? base_name(item->folder) : open_operator_name(item->row);
}

static void count_answer(tally_t *tally, const case_t *item, const answer_t *answer) {
  static const char *const words[] = {"fine", "slow", "not built", "WRONG", "SANITIZER"};
  tally->counts[answer->verdict] += 1;
  if (answer->verdict < WRONG && setting("BYOC_HOSTILE_VERBOSE", 0) == 0) return;
  printf("%s: %s: %s\n", name_of(item), words[answer->verdict], answer->text);
  (void)fflush(stdout);
}

static void test_hostile_models(void **state) {
  (void)state;
  const byoc_child_limits_t limits = {.timeout_ms = TIMEOUT_MS};
  byoc_child_t children[MOST_JOBS];
  answer_t answers[MOST_JOBS];
  tally_t tally = {0};
  size_t jobs = (size_t)setting("BYOC_HOSTILE_JOBS", 2), started = 0;
  assert_in_range(jobs, 1, MOST_JOBS);
  for (size_t done = 0; done < cases.count; ++done) {
    byoc_diag_t diag = {0};
    for (; started < cases.count && started < done + jobs; ++started) {
      size_t slot = started % jobs;
      byoc_test_ok(byoc_child_start(&limits, try_case, &cases.data[started], &answers[slot], sizeof(answers[slot]),
                                    &diag, &children[slot]),
                   &diag);
    }
    answer_t *answer = &answers[done % jobs];
    if (byoc_child_wait(&children[done % jobs], &diag) != BYOC_OK) answer_with(answer, WRONG, diag.message);
    count_answer(&tally, &cases.data[done], answer);
  }
  printf("'%s': %zu models, %lld runs each: %zu fine, %zu slow, %zu not built, %zu wrong, %zu out of bounds\n", targets,
         cases.count, setting("BYOC_HOSTILE_COUNT", 500), tally.counts[FINE], tally.counts[SLOW],
         tally.counts[NOT_BUILT], tally.counts[WRONG], tally.counts[SANITIZER]);
  assert_int_equal(tally.counts[WRONG] + tally.counts[SANITIZER], 0);
}

static bool is_chosen(const char *name) {
  for (int i = 0; i < name_count; ++i) {
    if (strstr(name, names[i]) != NULL) return true;
  }
  return name_count == 0;
}

static void find_operators(void) {
  for (size_t row = 0; row < open_operator_count(); ++row) {
    if (!is_chosen(open_operator_name(row))) continue;
    if (!byoc_vector_push(&cases, allocator, ((case_t){.row = row}))) abort();
  }
}

static void find_models(void) {
  char **entries = NULL;
  size_t count = 0;
  if (byoc_list_directory(BYOC_CONFORM_DATA "/node", allocator, NULL, &entries, &count) != BYOC_OK) return;
  for (size_t i = 0; i < count; ++i) {
    char path[600];
    if (!is_chosen(entries[i])) continue;
    snprintf(path, sizeof(path), "%s/node/%s", BYOC_CONFORM_DATA, entries[i]);
    char *copy = byoc_copy_string(allocator, path);
    if (copy == NULL || !byoc_vector_push(&cases, allocator, ((case_t){.folder = copy}))) abort();
  }
  byoc_free_names(allocator, entries, count);
}

static int compare_cases(const void *a, const void *b) {
  const case_t *left = a, *right = b;
  if (left->folder == NULL || right->folder == NULL) return left->row < right->row ? -1 : 1;
  return strcmp(left->folder, right->folder);
}

int main(int argc, char **argv) {
  if (argc < 2) {
    (void)fprintf(stderr, "usage: hostile_models TARGETS [--operators] [NAME...]\n");
    return 2;
  }
  allocator = byoc_allocator_system();
  targets = argv[1];
  const bool of_table = argc > 2 && strcmp(argv[2], "--operators") == 0;
  const int first = of_table ? 3 : 2;
  names = argv + first, name_count = argc - first;
  if (of_table)
    find_operators();
  else
    find_models();
  if (cases.count == 0) {
    printf("skipped: %s has no such case (apt install libonnx-testdata)\n", BYOC_CONFORM_DATA);
    return 77;
  }
  qsort(cases.data, cases.count, sizeof(*cases.data), compare_cases);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hostile_models)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (size_t i = 0; i < cases.count; ++i) byoc_free(allocator, cases.data[i].folder);
  byoc_vector_deinit(&cases, allocator);
  return failed;
}
