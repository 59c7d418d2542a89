// SPDX-License-Identifier: Apache-2.0
// Takes specimens along the pipeline with the plugin under test, and compares what comes out with the reference.
#include "tools/plugin_check/trial.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/string.h"
#include "core/ir/element.h"

enum { MOST_FAILURES = 12 };

// ---- targets ----

static void begin(trial_t *trial, check_t *check, const byoc_target_registry_t *kinds, const char *text) {
  byoc_diag_t diag = {0};
  *trial = (trial_t){.check = check, .kinds = *kinds};
  check_doing(check, "reading the target '%s'", text);
  check_ok(check, byoc_target_list_parse(&text, 1, kinds, byoc_allocator_system(), &diag, &trial->targets), &diag,
           "reading its target");
  trial->target = trial->targets.targets.data[0];
  specimens_init(&trial->specimens, byoc_allocator_system());
}

typedef struct apart_t {
  trial_t *trial;
  void (*body)(trial_t *trial);
} apart_t;

static void run_apart(check_t *check, void *self) {
  const apart_t *apart = self;
  (void)check;
  apart->body(apart->trial);
}

static const char *nothing_tried(const trial_t *trial) {
  return trial->counts_calls ? "nothing of the specimens calls a function"
                             : "nothing of the specimens is taken by a rule";
}

void trial_each(check_t *check, const byoc_target_registry_t *kinds, bool all, void (*body)(trial_t *trial)) {
  enum { MOST_KINDS = 64 };
  const byoc_target_registry_t own = byoc_plugin_registry_targets(check->registry);
  const byoc_target_kind_t *seen[MOST_KINDS];
  size_t seen_count = 0;
  for (size_t i = 0; i < check->targets.count; ++i) {
    trial_t trial;
    begin(&trial, check, kinds != NULL ? kinds : &own, check->targets.items[i]);
    bool is_seen = false;
    for (size_t k = 0; k < seen_count; ++k) is_seen = is_seen || seen[k] == trial.target->kind;
    if (!is_seen && seen_count < MOST_KINDS) seen[seen_count++] = trial.target->kind;
    const int64_t tried = check->answer->tried_count;
    if (all) {
      // A library of a process may take one set of options only: the core that OpenBLAS computes for.
      check_apart(check, 0, run_apart, &(apart_t){&trial, body});
    } else if (!is_seen) {
      body(&trial);
    }
    if (check->answer->tried_count == tried && (all || trial.specimens.items.count > 0)) {
      check_property(check, "%s of '%s': --rule=rules.take -v says what is taken, and --cases gives other graphs",
                     nothing_tried(&trial), trial.target->text);
    }
    specimens_deinit(&trial.specimens);
    byoc_target_list_deinit(&trial.targets);
  }
  check_need_tried(check, "so nothing was checked");
}

// ---- building ----

// Regions that the plugin's target took and kept.
static size_t count_regions(const trial_t *trial, const trial_build_t *built) {
  const byoc_placement_t *placement = &built->build.result.placement;
  size_t count = 0;
  for (size_t i = 0; i < placement->regions.count; ++i) {
    const byoc_placement_region_t *region = &placement->regions.data[i];
    count += region->target == trial->target && !region->falls_back;
  }
  return count;
}

byoc_status_t trial_open(trial_t *trial, size_t first, size_t count, const byoc_target_list_t *targets,
                         byoc_placer_t placer, byoc_build_extent_t extent, byoc_allocator_t allocator,
                         byoc_diag_t *diag, trial_build_t *out_build) {
  *out_build = (trial_build_t){0};
  (void)fesetround(FE_TONEAREST); // what a function of the plugin left behind is for hygiene.functions to tell
  BYOC_RETURN_IF_ERROR(specimens_module(&trial->specimens, first, count, allocator, diag, &out_build->module));
  const byoc_build_options_t options = {.targets = targets, .placer = placer};
  byoc_build_init(&out_build->build, &options, allocator);
  byoc_build_lend(&out_build->build, out_build->module, false);
  BYOC_RETURN_IF_ERROR(byoc_build_compile(&out_build->build, extent, diag));
  if (targets == &trial->targets && !trial->counts_calls) check_tried(trial->check, count_regions(trial, out_build));
  return BYOC_OK;
}

void trial_close(trial_build_t *build) {
  byoc_build_deinit(&build->build);
  byoc_graph_module_destroy(build->module);
  *build = (trial_build_t){0};
}

byoc_status_t trial_run(trial_t *trial, const trial_build_t *built, const byoc_call_watch_t *watch, byoc_diag_t *diag,
                        tensors_t *out_outputs) {
  const byoc_host_program_t *program = built->build.result.program;
  byoc_build_evaluation_t evaluation;
  *out_outputs = (tensors_t){0};
  BYOC_RETURN_IF_ERROR(byoc_build_evaluate(&built->build, 1, diag, &evaluation));
  if (watch != NULL) byoc_evaluator_watch(evaluation.evaluator, watch);
  byoc_evaluator_set_undefined(evaluation.evaluator, 0xA5);
  tensors_t inputs;
  tensors_init(&inputs, program->inputs.data, program->inputs.count);
  tensors_init(out_outputs, program->outputs.data, program->outputs.count);
  tensors_fill(trial, &inputs);
  tensors_spoil(out_outputs);
  const byoc_status_t status =
      byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs.data, out_outputs->data, diag);
  tensors_deinit(&inputs);
  byoc_build_evaluation_end(&evaluation);
  return status;
}

byoc_status_t trial_expect(trial_t *trial, size_t first, size_t count, byoc_diag_t *diag, tensors_t *out_expected) {
  static const char *const native = "c";
  byoc_target_list_t targets = {0};
  trial_build_t built = {0};
  *out_expected = (tensors_t){0};
  check_doing(trial->check, "computing what the results should be");
  byoc_status_t status = byoc_target_list_parse(&native, 1, &trial->kinds, byoc_allocator_system(), diag, &targets);
  if (status == BYOC_OK) {
    status = trial_open(trial, first, count, &targets, (byoc_placer_t){0}, BYOC_BUILD_ALL, byoc_allocator_system(),
                        diag, &built);
  }
  if (status == BYOC_OK) status = trial_run(trial, &built, NULL, diag, out_expected);
  trial_close(&built);
  byoc_target_list_deinit(&targets);
  return status;
}

// ---- comparing ----

static bool has_operator(const specimen_t *specimen, const char *const *names, size_t count) {
  for (size_t n = 0; n < specimen->nodes.count; ++n) {
    for (size_t i = 0; i < count; ++i) {
      if (strcmp(specimen->nodes.data[n].op, names[i]) == 0) return true;
    }
  }
  return false;
}

// Operators for which ONNX does not say what they make of infinities; Sigmoid, since x * Sigmoid(x) of minus infinity
// depends on how it is written.
static bool is_open(const specimen_t *specimen) {
  static const char *const open[] = {"Relu",       "Clip",
                                     "Max",        "Min",
                                     "MaxPool",    "GlobalMaxPool",
                                     "ReduceMax",  "ReduceMin",
                                     "ArgMax",     "ArgMin",
                                     "Sign",       "HardSigmoid",
                                     "HardSwish",  "Hardmax",
                                     "TopK",       "Cast",
                                     "PRelu",      "LeakyRelu",
                                     "Elu",        "Selu",
                                     "Celu",       "Softmax",
                                     "LogSoftmax", "QuantizeLinear",
                                     "Swish",      "Gelu",
                                     "Mish",       "Softplus",
                                     "Pow",        "ThresholdedRelu",
                                     "Shrink",     "DynamicQuantizeLinear",
                                     "LRN",        "Attention",
                                     "Sigmoid"};
  return has_operator(specimen, open, sizeof(open) / sizeof(open[0]));
}

// Operators that choose or convert, of which ONNX does not say what they make of NaN. All others keep it.
static bool is_open_to_nan(const specimen_t *specimen) {
  static const char *const open[] = {"ArgMax",    "ArgMin",         "Hardmax", "TopK",
                                     "Cast",      "QuantizeLinear", "Shrink",  "DynamicQuantizeLinear",
                                     "Attention", "ThresholdedRelu"};
  return has_operator(specimen, open, sizeof(open) / sizeof(open[0]));
}

// --waive=operators.wild/Exp waives the rule for specimens with that operator.
static bool is_waived(const trial_t *trial, const specimen_t *specimen) {
  for (size_t n = 0; n < specimen->nodes.count; ++n) {
    char id[128];
    snprintf(id, sizeof(id), "%s/%s", trial->check->rule->id, specimen->nodes.data[n].op);
    if (check_is_waived(trial->check, id)) return true;
  }
  return false;
}

// The root mean square of the finite elements: the error of a sum of many terms depends on their size, not on the
// sum's.
static double scale_of(const tensors_t *tensors, size_t port) {
  double sum = 0;
  size_t count = 0;
  for (size_t k = 0; k < tensors->element_counts[port]; ++k) {
    const double value = byoc_element_f64(tensors->dtypes[port], tensors->data[port], k);
    if (!isfinite(value) || fabs(value) > 1e30) continue;
    sum += value * value;
    count += 1;
  }
  return count > 0 ? sqrt(sum / (double)count) : 0;
}

static double tolerance_of(const trial_t *trial, byoc_dtype_t dtype) {
  const double stated = byoc_target_relative_error(trial->target);
  double usual = dtype == BYOC_DTYPE_F64 ? 1e-9 : 1e-4;
  if (byoc_dtype_bits(dtype) == 16) usual = dtype == BYOC_DTYPE_BF16 ? 3e-2 : 4e-3;
  if (byoc_dtype_bits(dtype) == 8) usual = 0.25;
  return stated > usual ? stated : usual;
}

static bool is_close(byoc_dtype_t dtype, double value, double expected, double scale, double tolerance, bool open) {
  if (!byoc_dtype_is_any_float(dtype)) return value == expected;
  if (isnan(expected)) return isnan(value) || open;
  if (isinf(expected)) return value == expected || open;
  return fabs(value - expected) <= tolerance * (fabs(expected) + scale) + 1e-6;
}

// The value that a port shows, which is called "k3_r7".
static uint32_t value_of(const char *name) {
  const char *at = strstr(name, "_r");
  return at != NULL ? (uint32_t)strtoul(at + 2, NULL, 10) : 0;
}

typedef struct difference_t {
  size_t wrong, first; // elements, and the first of them
} difference_t;

static difference_t compare_port(const trial_t *trial, const specimen_t *specimen, const tensors_t *outputs,
                                 const tensors_t *expected, size_t i) {
  const double scale = scale_of(expected, i), tolerance = tolerance_of(trial, expected->dtypes[i]);
  const bool open =
      (trial->data == SPECIMEN_WILD && is_open(specimen)) || (trial->data == SPECIMEN_NAN && is_open_to_nan(specimen));
  const double step = specimen_step(specimen, value_of(expected->names[i])) * (1 + 1e-6);
  difference_t out = {0};
  size_t stepped = 0, first_stepped = 0;
  for (size_t k = 0; k < expected->element_counts[i]; ++k) {
    const double value = byoc_element_f64(outputs->dtypes[i], outputs->data[i], k);
    const double right = byoc_element_f64(expected->dtypes[i], expected->data[i], k);
    if (is_close(expected->dtypes[i], value, right, scale, tolerance, open)) continue;
    if (fabs(value - right) <= step) {
      if (stepped++ == 0) first_stepped = k;
    } else if (out.wrong++ == 0) {
      out.first = k;
    }
  }
  if (out.wrong > 0 || specimen_steps_are_few(stepped, expected->element_counts[i])) return out;
  return (difference_t){stepped, first_stepped};
}

size_t trial_compare(trial_t *trial, const tensors_t *outputs, const tensors_t *expected, const char *way) {
  size_t failures = 0;
  if (outputs->count != expected->count) {
    check_fail(trial->check, "%s: %zu results instead of %zu", way, outputs->count, expected->count);
    return 1;
  }
  for (size_t i = 0; i < outputs->count; ++i) {
    const specimen_t *specimen = trial->specimens.items.data[specimen_of_name(expected->names[i])];
    if (is_waived(trial, specimen)) continue;
    const difference_t difference = compare_port(trial, specimen, outputs, expected, i);
    const size_t wrong = difference.wrong, first = difference.first;
    if (wrong == 0) continue;
    if (failures++ == MOST_FAILURES) check_fail(trial->check, "%s: and others differ, too", way);
    if (failures > MOST_FAILURES) continue;
    check_fail(trial->check, "%s: %s, %s: %zu of %zu elements differ; element %zu is %.7g instead of %.7g",
               specimen->rule, specimen->label, way, wrong, expected->element_counts[i], first,
               byoc_element_f64(outputs->dtypes[i], outputs->data[i], first),
               byoc_element_f64(expected->dtypes[i], expected->data[i], first));
  }
  return failures;
}

// ---- all of it ----

static byoc_status_t try_values(trial_t *trial, size_t first, size_t count, byoc_placer_t placer,
                                const byoc_call_watch_t *watch, const char *way, byoc_diag_t *diag) {
  tensors_t expected = {0}, outputs = {0};
  trial_build_t built = {0};
  byoc_status_t status = trial_expect(trial, first, count, diag, &expected);
  check_ok(trial->check, status, diag, "computing what the results should be");
  if (count == 1) check_doing(trial->check, "compiling %s", trial->specimens.items.data[first]->label);
  if (count > 1) check_doing(trial->check, "compiling %zu specimens for '%s'", count, trial->target->text);
  status =
      trial_open(trial, first, count, &trial->targets, placer, BYOC_BUILD_ALL, byoc_allocator_system(), diag, &built);
  check_doing(trial->check, "running what it compiled");
  if (status == BYOC_OK) status = trial_run(trial, &built, watch, diag, &outputs);
  if (status == BYOC_OK) trial_compare(trial, &outputs, &expected, way);
  trial_close(&built);
  tensors_deinit(&expected);
  tensors_deinit(&outputs);
  return status;
}

void trial_values(trial_t *trial, byoc_placer_t placer, const byoc_call_watch_t *watch, const char *way) {
  byoc_diag_t diag = {0};
  const size_t count = trial->specimens.items.count;
  if (count == 0) return;
  if (try_values(trial, 0, count, placer, watch, way, &diag) == BYOC_OK) return;
  size_t failures = 0;
  for (size_t i = 0; i < count && failures < MOST_FAILURES; ++i) {
    byoc_diag_t alone = {0};
    if (try_values(trial, i, 1, placer, watch, way, &alone) == BYOC_OK) continue;
    const specimen_t *specimen = trial->specimens.items.data[i];
    check_fail_diag(trial->check, &alone, "%s: %s, %s", specimen->rule, specimen->label, way);
    failures += 1;
  }
  if (failures == 0) check_fail_diag(trial->check, &diag, "%zu specimens together, %s", count, way);
}

// ---- what was taken ----

typedef struct counter_t {
  const char *kind;
  trial_tally_t *tally;
} counter_t;

static bool count_operator(void *self, byoc_node_t *node) {
  size_t *count = self;
  if (node->callee == NULL) *count += 1;
  return node->callee == NULL || byoc_block_walk(node->callee->body, count_operator, self);
}

// Equal functions are one function with several calls, so a region's specimen is told by what its call returns.
static bool count_node(void *self, byoc_node_t *node) {
  const counter_t *counter = self;
  int64_t index = specimen_of_name(node->name);
  for (uint32_t r = 0; r < node->result_count && node->callee != NULL; ++r) {
    const int64_t named = specimen_of_name(node->results[r]->name);
    if (named >= 0) index = named;
  }
  if (index < 0 || (size_t)index >= counter->tally->count) return true;
  if (node->callee == NULL) {
    counter->tally->left[index] += 1;
    return true;
  }
  const char *compiler = byoc_attributes_string(&node->callee->attributes, "Compiler", "");
  size_t *counts = strcmp(compiler, counter->kind) == 0 ? counter->tally->claimed : counter->tally->left;
  return byoc_block_walk(node->callee->body, count_operator, &counts[index]);
}

void trial_tally(trial_t *trial, const trial_build_t *built, trial_tally_t *out_tally) {
  const size_t count = trial->specimens.items.count;
  *out_tally = (trial_tally_t){calloc(count + 1, sizeof(size_t)), calloc(count + 1, sizeof(size_t)), count};
  if (out_tally->claimed == NULL || out_tally->left == NULL) check_stop(trial->check, NULL, "out of memory");
  counter_t counter = {trial->target->kind->name, out_tally};
  (void)byoc_block_walk(byoc_graph_module_main(built->module)->body, count_node, &counter);
}

void trial_tally_deinit(trial_tally_t *tally) {
  free(tally->claimed);
  free(tally->left);
  *tally = (trial_tally_t){0};
}

// ---- specimens ----

// Some specimens that are placed, to learn which of them are taken.
typedef struct placing_t {
  trial_t *trial;
  size_t first, count;
  bool *is_taken; // by specimen from `first` on; the child shares it
} placing_t;

static void place(check_t *check, void *self) {
  const placing_t *placing = self;
  byoc_diag_t diag = {0};
  trial_build_t built;
  trial_tally_t tally;
  check_doing(check, "placing %zu specimens for '%s'", placing->count, placing->trial->target->text);
  const byoc_status_t status =
      trial_open(placing->trial, placing->first, placing->count, &placing->trial->targets, (byoc_placer_t){0},
                 BYOC_BUILD_PLACED, byoc_allocator_system(), &diag, &built);
  if (status != BYOC_OK) check_end(check); // the rule will say so
  trial_tally(placing->trial, &built, &tally);
  for (size_t i = 0; i < placing->count; ++i) placing->is_taken[i] = tally.claimed[placing->first + i] > 0;
}

// Keeps the specimens from `first` on of which the target takes something, and one of eight of the others. The plugin
// is asked in another process: whatever it remembers of this is gone when the rule asks it.
static void keep_taken(trial_t *trial, size_t first) {
  enum { ONE_OF = 8 };
  check_t *check = trial->check;
  const size_t count = trial->specimens.items.count - first;
  const int64_t tried = check->answer->tried_count;
  bool *is_taken = mmap(NULL, count + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (is_taken == MAP_FAILED) check_stop(check, NULL, "out of memory");
  check_apart(check, 0, place, &(placing_t){trial, first, count, is_taken});
  check->answer->tried_count = tried;
  size_t kept = first;
  for (size_t i = 0; i < count; ++i) {
    if (is_taken[i] || i % ONE_OF == 0) specimens_move(&trial->specimens, kept++, first + i);
  }
  specimens_end(&trial->specimens, kept);
  (void)munmap(is_taken, count + 1);
}

static void add(trial_t *trial, const specimen_wish_t *wish, size_t limit, bool only_taken) {
  byoc_diag_t diag = {0};
  const size_t first = trial->specimens.items.count;
  check_doing(trial->check, "making specimens of the rules of '%s'", trial->target->kind->name);
  check_ok(trial->check, specimens_add(&trial->specimens, trial->target->kind->backend, wish, &diag), &diag,
           "making specimens of its rules");
  if (only_taken) keep_taken(trial, first);
  specimens_thin(&trial->specimens, first, limit);
}

// Returns the number of cases.
static size_t add_cases(trial_t *trial) {
  if (trial->check->case_folder == NULL || trial->specimens.items.count > 0) return 0;
  specimens_add_cases(&trial->specimens, trial->check);
  return trial->specimens.items.count;
}

void trial_add(trial_t *trial, const specimen_wish_t *wish, size_t limit) {
  const size_t cases = add_cases(trial);
  add(trial, wish, cases < limit / 2 ? limit - cases : limit / 2, false);
}

void trial_add_usual(trial_t *trial, size_t limit) {
  static const byoc_dtype_t bytes[] = {BYOC_DTYPE_I8, BYOC_DTYPE_U8};
  trial_add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_F32, .lead = 2}, limit);
  add(trial, &(specimen_wish_t){.dtype = BYOC_DTYPE_F32, .lead = 2, .as_inputs = true}, limit, false);
  for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); ++i) {
    add(trial, &(specimen_wish_t){.dtype = bytes[i], .lead = 2}, limit / 4, true);
  }
}

// ---- tensors ----

void tensors_init(tensors_t *tensors, byoc_host_buffer_t *const *buffers, size_t count) {
  enum { SLACK = 64 };
  *tensors = (tensors_t){.count = count,
                         .names = calloc(count + 1, sizeof(*tensors->names)),
                         .dtypes = calloc(count + 1, sizeof(*tensors->dtypes)),
                         .element_counts = calloc(count + 1, sizeof(*tensors->element_counts)),
                         .sizes_bytes = calloc(count + 1, sizeof(*tensors->sizes_bytes)),
                         .data = calloc(count + 1, sizeof(*tensors->data))};
  bool is_made = tensors->names && tensors->dtypes && tensors->element_counts && tensors->sizes_bytes && tensors->data;
  for (size_t i = 0; i < count && is_made; ++i) {
    const byoc_type_t *type = buffers[i]->type;
    snprintf(tensors->names[i], sizeof(tensors->names[i]), "%s", buffers[i]->name);
    tensors->dtypes[i] = type->dtype;
    tensors->element_counts[i] = (size_t)byoc_type_element_count(type);
    tensors->sizes_bytes[i] = (size_t)byoc_type_size_bytes(type);
    tensors->data[i] = calloc(1, tensors->sizes_bytes[i] + SLACK);
    is_made = tensors->data[i] != NULL;
  }
  if (!is_made) abort(); // a few kilobytes: the whole process is out of memory
}

void tensors_deinit(tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; ++i) free(tensors->data[i]);
  free(tensors->names);
  free(tensors->dtypes);
  free(tensors->element_counts);
  free(tensors->sizes_bytes);
  free(tensors->data);
  *tensors = (tensors_t){0};
}

void tensors_fill(const trial_t *trial, tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; ++i) {
    specimens_fill(&trial->specimens, tensors->names[i], tensors->dtypes[i], tensors->data[i],
                   tensors->element_counts[i], trial->data);
  }
}

void tensors_spoil(tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; ++i) memset(tensors->data[i], 0xA5, tensors->sizes_bytes[i]);
}
