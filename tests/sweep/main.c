// SPDX-License-Identifier: Apache-2.0
// Operators, quantised ones and those of floats, over channel counts around blocks and their rests, kernels, groups,
// fixed and open sizes, by every target alone and by mixtures, compiled, as C source, and evaluated. Each result is
// held against a reference that shares no code with lowering.
//
//   sweep_operators [--quick] [--targets LIST]... [--forms static,open,source,evaluated] [--operators NAME] [--batch N]
//                   [--every N]
//
// --operators takes those whose names begin so, --every one case of N, --batch puts so many into one model.
// It prints a table for each target, and ends with code 1 if a result is wrong or missing. A case depends on its
// operator and numbers alone.
#include <stdio.h>
#include <stdlib.h>

#include "tests/sweep/sweep.h"

enum { BATCH = 24, SHOWN = 40 };

static const char *const usual_targets[] = {
    "c",
    "cutlass",
    "dnnl",
    "cblas",
    "cutlass; dnnl; cblas; c",
    "dnnl; c",
    "c -mcpu=x86-64-v2",
    "cutlass -mcpu=x86-64-v3; c -mcpu=x86-64-v3",
};

static const char *chosen_targets[SWEEP_MOST_TARGETS];
static sweep_options_t options = {.forms = {true, true, true, true},
                                  .targets = usual_targets,
                                  .target_count = sizeof(usual_targets) / sizeof(usual_targets[0]),
                                  .batch = BATCH,
                                  .every = 1,
                                  .shown = SHOWN};
static sweep_table_t counts;

static int usage(void) {
  fprintf(stderr, "usage: sweep_operators [--quick] [--targets LIST]... [--forms static,open,source,evaluated] "
                  "[--operators NAME] [--batch N] [--every N]\n");
  return 2;
}

static bool read_forms(const char *text) {
  for (int form = 0; form < SWEEP_FORMS; ++form) options.forms[form] = false;
  while (*text != '\0') {
    const size_t length = strcspn(text, ",");
    int form = 0;
    while (form < SWEEP_FORMS &&
           (strlen(sweep_form_names[form]) != length || strncmp(sweep_form_names[form], text, length) != 0)) {
      ++form;
    }
    if (form == SWEEP_FORMS) return false;
    options.forms[form] = true;
    text += length + (text[length] == ',');
  }
  return true;
}

static bool read_options(int argc, char **argv) {
  size_t chosen = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--quick") == 0) {
      options.is_quick = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const char *name = argv[i], *value = argv[++i];
    if (strcmp(name, "--targets") == 0 && chosen < SWEEP_MOST_TARGETS)
      chosen_targets[chosen++] = value;
    else if (strcmp(name, "--operators") == 0)
      options.operators = value;
    else if (strcmp(name, "--batch") == 0 && atoi(value) > 0 && atoi(value) <= 128)
      options.batch = (size_t)atoi(value);
    else if (strcmp(name, "--every") == 0 && atoi(value) > 0)
      options.every = (size_t)atoi(value);
    else if (strcmp(name, "--forms") != 0 || !read_forms(value))
      return false;
  }
  if (chosen > 0) {
    options.targets = chosen_targets;
    options.target_count = chosen;
  }
  return true;
}

static void add_cases(const sweep_operator_t *op, sweep_case_t **cases, size_t *count) {
  if (options.operators != NULL && strncmp(op->name, options.operators, strlen(options.operators)) != 0) return;
  size_t more = 0;
  sweep_case_t *own = sweep_cases(op, options.is_quick, &more);
  *cases = realloc(*cases, (*count + more) * sizeof(**cases));
  assert_non_null(*cases);
  memcpy(*cases + *count, own, more * sizeof(*own));
  *count += more;
  free(own);
}

static void run_all(void) {
  sweep_case_t *cases = NULL;
  size_t count = 0;
  for (size_t i = 0; i < sweep_operator_count; ++i) add_cases(&sweep_operators[i], &cases, &count);
  for (size_t i = 0; i * options.every < count; ++i) cases[i] = cases[i * options.every];
  count = (count + options.every - 1) / options.every;
  for (size_t first = 0; first < count; first += options.batch) {
    const size_t part = count - first < options.batch ? count - first : options.batch;
    sweep_run(&cases[first], part, &options, &counts);
    if (!options.is_quick) print_message("%zu of %zu cases\n", first + part, count);
  }
  free(cases);
}

// Returns what is wrong or missing.
static int64_t print_row(const char *name, const sweep_counts_t *row) {
  int64_t bad = 0, results = 0;
  for (int form = 0; form < SWEEP_FORMS; ++form) {
    bad += row->wrong[form] + row->failed[form];
    results += row->results[form];
  }
  if (results + bad == 0) return 0;
  print_message("  %-22s", name);
  for (int form = 0; form < SWEEP_FORMS; ++form) print_message("%10lld", (long long)row->results[form]);
  print_message("   ");
  for (int form = 0; form < SWEEP_FORMS; ++form) print_message("%6lld", (long long)row->wrong[form]);
  int64_t failed = 0;
  for (int form = 0; form < SWEEP_FORMS; ++form) failed += row->failed[form];
  print_message("%8lld\n", (long long)failed);
  return bad;
}

static int64_t print_target(size_t target) {
  print_message("\n'%s'\n  %-22s%40s   %24s%8s\n  %-22s", options.targets[target], "", "results", "of them wrong",
                "failed", "");
  for (int form = 0; form < SWEEP_FORMS; ++form) print_message("%10s", sweep_form_names[form]);
  print_message("     st.  open   src.   ev.\n");
  int64_t bad = 0;
  sweep_counts_t sum = {0};
  for (size_t i = 0; i < sweep_operator_count; ++i) {
    const sweep_counts_t *row = &counts[i][target];
    bad += print_row(sweep_operators[i].name, row);
    for (int form = 0; form < SWEEP_FORMS; ++form) {
      sum.results[form] += row->results[form];
      sum.wrong[form] += row->wrong[form];
      sum.failed[form] += row->failed[form];
    }
  }
  (void)print_row("all", &sum);
  return bad;
}

static void test_sweep(void **state) {
  (void)state;
  int64_t bad = 0, results = 0;
  run_all();
  for (size_t t = 0; t < options.target_count; ++t) bad += print_target(t);
  for (size_t i = 0; i < sweep_operator_count; ++i) {
    for (size_t t = 0; t < options.target_count; ++t) {
      for (int form = 0; form < SWEEP_FORMS; ++form) results += counts[i][t].results[form];
    }
  }
  print_message("\n%lld results, %lld wrong or missing\n", (long long)results, (long long)bad);
  assert_true(results > 0);
  if (bad > 0) fail_msg("%lld results are wrong or missing", (long long)bad);
}

int main(int argc, char **argv) {
  if (!read_options(argc, argv)) return usage();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sweep)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
