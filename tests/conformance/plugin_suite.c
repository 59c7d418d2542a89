// The plugin suite: what every backend has to pass, ours and a stranger's.
//
//   plugin_suite PLUGIN.so [--needs=LIBRARY]... TARGETS...
//     BYOC_SUITE_CASES=DIR    other case tables than tests/conformance/cases (format: cases.h)
//     BYOC_SUITE_FILTER=TEXT  only the cases whose "file/name" holds TEXT
//
// Each TARGETS is a target list whose first kind is the plugin's ("c" follows by itself). The whole of the suite runs
// on the first; on the others, placement and compiled results. --needs names a library that the plugin may link to.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/string.h"
#include "core/target/cpu.h"
#include "tests/conformance/suite.h"

suite_t suite;

// ---- complaints ----

static void complain(const char *format, va_list arguments) {
  char text[1200];
  vsnprintf(text, sizeof(text), format, arguments);
  if (suite.complaints++ < 60) print_error("  %s\n", text);
}

void suite_complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  complain(format, arguments);
  va_end(arguments);
}

void suite_complain_diag(const byoc_diag_t *diag, const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  complain(format, arguments);
  va_end(arguments);
  byoc_diag_format(diag, text, sizeof(text));
  print_error("    %s\n", text);
}

void suite_settle(void) {
  int complaints = suite.complaints;
  suite.complaints = 0;
  if (complaints > 0) fail_msg("%d complaints", complaints);
}

const char *suite_case_name(const case_file_t *file, const char *name) {
  int index = case_of_name(name);
  return index >= 0 && index < (int)file->count ? file->cases[index].name : "?";
}

// ---- comparing ----

static double element(const port_set_t *set, size_t port, int64_t index) {
  const void *data = set->data[port];
  if (set->dtypes[port] == BYOC_DTYPE_F32) return (double)((const float *)data)[index];
  if (set->dtypes[port] == BYOC_DTYPE_F64) return ((const double *)data)[index];
  if (set->dtypes[port] == BYOC_DTYPE_I64) return (double)((const int64_t *)data)[index];
  return (double)((const uint8_t *)data)[index];
}

// The root mean square of the finite elements: the error of a sum of many terms depends on their size, not on the
// sum's.
static double scale_of(const port_set_t *set, size_t port) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < set->element_counts[port]; ++k) {
    double value = element(set, port, k);
    if (!isfinite(value) || fabs(value) > 1e30) continue;
    sum += value * value;
    count += 1;
  }
  return count > 0 ? sqrt(sum / (double)count) : 0;
}

// ONNX does not say what Relu, Clip and MaxPool make of NaN, nor which is the largest value of an open Clip.
static bool is_close(double value, double expected, double scale, bool is_open) {
  if (isnan(expected)) return isnan(value) || is_open;
  if (isinf(expected)) return value == expected || (is_open && fabs(value) > 3.4e38 && (value > 0) == (expected > 0));
  return fabs(value - expected) <= 1e-4 * fabs(expected) + 1e-4 * scale + 1e-6;
}

void suite_compare(const case_file_t *file, const port_set_t *outputs, const port_set_t *expected, const char *way) {
  assert_int_equal(outputs->count, expected->count);
  for (size_t i = 0; i < outputs->count; ++i) {
    assert_string_equal(outputs->names[i], expected->names[i]);
    assert_int_equal(outputs->sizes_bytes[i], expected->sizes_bytes[i]);
    const double scale = scale_of(expected, i);
    const bool is_open = strstr(expected->names[i], "_open") != NULL;
    int64_t wrong = 0, first = 0;
    for (int64_t k = 0; k < expected->element_counts[i]; ++k) {
      if (is_close(element(outputs, i, k), element(expected, i, k), scale, is_open)) continue;
      if (wrong++ == 0) first = k;
    }
    if (wrong == 0) continue;
    suite_complain("%s/%s, %s: %s differs in %lld of %lld elements; element %lld is %.7g, not %.7g", file->name,
                   suite_case_name(file, outputs->names[i]), way, outputs->names[i], (long long)wrong,
                   (long long)expected->element_counts[i], (long long)first, element(outputs, i, first),
                   element(expected, i, first));
  }
}

void suite_compare_bytes(const case_file_t *file, const port_set_t *outputs, const port_set_t *expected,
                         const char *way) {
  for (size_t i = 0; i < outputs->count; ++i) {
    if (memcmp(outputs->data[i], expected->data[i], outputs->sizes_bytes[i]) == 0) continue;
    suite_complain("%s/%s: %s is not the same bytes %s", file->name, suite_case_name(file, outputs->names[i]),
                   outputs->names[i], way);
  }
}

// ---- setting up ----

byoc_plugin_registry_t *suite_open_registry(byoc_allocator_t allocator) {
  byoc_diag_t diag = {0};
  const byoc_plugin_options_t options = {.paths = &suite.plugin, .path_count = 1, .environment = ""};
  byoc_plugin_registry_t *registry = NULL;
  byoc_test_ok(byoc_plugin_registry_create(&options, allocator, &diag, &registry), &diag);
  (void)byoc_plugin_registry_load_all(registry);
  assert_int_equal(byoc_plugin_registry_count(registry), 1);
  const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, 0);
  if (entry->state != BYOC_PLUGIN_LOADED) fail_msg("%s is refused: %s", suite.plugin, entry->reason);
  return registry;
}

// Every case, by "c" in the evaluator: kernels as they are written, without a C compiler in between.
static void compute_expected(const case_file_t *file, port_set_t *out_expected) {
  byoc_diag_t diag = {0};
  uint8_t *model = NULL;
  size_t size = 0;
  road_t road;
  port_set_t inputs;
  case_file_model(file, ALL_CASES, &model, &size);
  byoc_test_ok(road_open(&road, suite.registry, model, size, "c", BYOC_BUILD_ALL, byoc_allocator_system(), &diag),
               &diag);
  port_set_init(&inputs, road.build.result.program->inputs.data, road.build.result.program->inputs.count);
  port_set_init(out_expected, road.build.result.program->outputs.data, road.build.result.program->outputs.count);
  port_set_fill(&inputs);
  byoc_test_ok(road_evaluate(&road, inputs.data, out_expected->data, &diag), &diag);
  port_set_deinit(&inputs);
  road_close(&road);
  byoc_free(byoc_allocator_system(), model);
}

static int set_up(void **state) {
  (void)state;
  suite.registry = suite_open_registry(byoc_allocator_system());
  suite.entry = byoc_plugin_registry_at(suite.registry, 0);
  suite.expected = calloc(suite.table.file_count + 1, sizeof(*suite.expected));
  assert_non_null(suite.expected);
  for (size_t f = 0; f < suite.table.file_count; ++f) compute_expected(&suite.table.files[f], &suite.expected[f]);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  for (size_t f = 0; f < suite.table.file_count; ++f) port_set_deinit(&suite.expected[f]);
  free(suite.expected);
  case_table_deinit(&suite.table);
  byoc_plugin_registry_destroy(suite.registry);
  return 0;
}

// The checks that load the plugin themselves come first: a plugin may keep its host in a static variable.
static int set_up_alone(void **state) {
  (void)state;
  const char *folder = getenv("BYOC_SUITE_CASES");
  case_table_read(folder ? folder : BYOC_TEST_SOURCE_DIR "/tests/conformance/cases", getenv("BYOC_SUITE_FILTER"),
                  &suite.table);
  return 0;
}

// Removes "features?" from a target list; false if this processor lacks them.
static bool is_for_this_processor(const char **targets) {
  const char *mark = strchr(*targets, '?');
  if (mark == NULL) return true;
  char name[64];
  uint64_t features = 0;
  snprintf(name, sizeof(name), "%.*s", (int)(mark - *targets), *targets);
  *targets = mark + 1;
  bool has = byoc_cpu_parse(name, NULL, &features) == BYOC_OK && (features & ~byoc_cpu_detect()) == 0;
  if (!has) print_message("'%s' is left out: this processor is not %s\n", *targets, name);
  return has;
}

static int run_all(void) {
  const struct CMUnitTest alone[] = {cmocka_unit_test(check_file), cmocka_unit_test(check_reloading),
                                     cmocka_unit_test(check_failing_allocations)};
  const struct CMUnitTest whole[] = {cmocka_unit_test(check_identity),      cmocka_unit_test(check_options),
                                     cmocka_unit_test(check_option_misuse), cmocka_unit_test(check_placement),
                                     cmocka_unit_test(check_results),       cmocka_unit_test(check_reproducible)};
  const struct CMUnitTest again[] = {cmocka_unit_test(check_placement), cmocka_unit_test(check_results)};
  suite.current = suite.targets[0];
  int failed = cmocka_run_group_tests_name("loading", alone, set_up_alone, NULL);
  failed += cmocka_run_group_tests_name(suite.current, whole, set_up, NULL);
  const struct CMUnitTest refusal[] = {cmocka_unit_test(check_refused)};
  for (size_t t = 1; t < suite.target_count; ++t) {
    suite.current = suite.targets[t];
    if (suite.current[0] == '!') {
      suite.current += 1;
      failed += cmocka_run_group_tests_name(suite.current, refusal, NULL, NULL);
      continue;
    }
    if (!is_for_this_processor(&suite.current)) continue;
    failed += cmocka_run_group_tests_name(suite.current, again, NULL, NULL);
  }
  tear_down(NULL);
  return failed;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    if (byoc_starts_with(argv[i], "--needs=") && suite.library_count < MAX_SUITE_LIBRARIES) {
      suite.libraries[suite.library_count++] = argv[i] + strlen("--needs=");
    } else if (suite.plugin == NULL) {
      suite.plugin = argv[i];
    } else if (suite.target_count < MAX_SUITE_TARGETS) {
      suite.targets[suite.target_count++] = argv[i];
    }
  }
  if (suite.target_count == 0) {
    fprintf(stderr, "usage: plugin_suite PLUGIN.so [--needs=LIBRARY]... TARGETS...\n");
    return 2;
  }
  return run_all();
}
