// SPDX-License-Identifier: Apache-2.0
// byoc debug diff: compares two traces and shows the first tensor in which they differ.
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "debug.h"
#include "elements.h"
#include "npy.h"
#include "tools/common/print.h"

typedef enum verdict_t { SAME, DIFFERENT, OTHER_TYPE } verdict_t;

// The result of comparing one tensor.
typedef struct finding_t {
  const byoc_trace_record_t *a, *b;
  verdict_t verdict;
  bool has_values;
  char type_a[256], type_b[256];
  uint64_t count, total; // elements that differ; all
  double largest;        // difference
  char first[384], worst[384];
} finding_t;

typedef struct comparison_t {
  const byoc_trace_t *a, *b;
  const byoc_debug_tolerance_t *tolerance;
  byoc_diag_t *diag;
  BYOC_VECTOR(const char *) others; // names of further tensors that differ; those of traces
  size_t common, same;
  finding_t first;
} comparison_t;

// ---- one tensor ----

static void format_type(const byoc_trace_record_t *record, const byoc_npy_t *array, char *out, size_t size) {
  if (record->type[0] != '\0') {
    snprintf(out, size, "%s", record->type);
    return;
  }
  size_t used = (size_t)snprintf(out, size, "%s[", byoc_dtype_name(array->dtype));
  for (int32_t d = 0; d < array->rank && used < size; ++d) {
    used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, d > 0 ? "," : "", array->dims[d]);
  }
  if (used < size) snprintf(out + used, size - used, "]");
}

// The element type that a text begins with; files have unsigned integers for types that NumPy lacks.
static byoc_dtype_t dtype_of(const char *type, byoc_dtype_t stored) {
  char name[32];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(type, "["), type);
  const byoc_dtype_t dtype = byoc_dtype_parse(name);
  return byoc_dtype_bits(dtype) == byoc_dtype_bits(stored) ? dtype : stored;
}

static void format_pair(byoc_dtype_t dtype, const byoc_npy_t *a, const byoc_npy_t *b, uint64_t index, char *out,
                        size_t size) {
  char at[160], left[96], right[96];
  byoc_element_format_index(a->rank, a->dims, index, at, sizeof(at));
  byoc_element_format(dtype, a->data, (size_t)index, 9, left, sizeof(left));
  byoc_element_format(dtype, b->data, (size_t)index, 9, right, sizeof(right));
  snprintf(out, size, "%s: %s and %s", at, left, right);
}

static void compare_values(const byoc_debug_tolerance_t *tolerance, byoc_dtype_t dtype, const byoc_npy_t *a,
                           const byoc_npy_t *b, finding_t *f) {
  const size_t element = byoc_dtype_bits(dtype) / 8;
  const double rtol = tolerance->is_exact ? 0 : tolerance->rtol, atol = tolerance->is_exact ? 0 : tolerance->atol;
  double worst_excess = -1;
  uint64_t worst = 0, first = 0;
  f->total = element > 0 ? a->size_bytes / element : 0;
  for (uint64_t i = 0; i < f->total; ++i) {
    const bool same_bits =
        memcmp((const char *)a->data + i * element, (const char *)b->data + i * element, element) == 0;
    const byoc_element_difference_t at = byoc_element_compare(dtype, a->data, b->data, (size_t)i, rtol, atol);
    if (at.distance > f->largest) f->largest = at.distance;
    if (tolerance->is_exact ? same_bits : at.agrees) continue;
    if (f->count++ == 0) first = worst = i;
    if (!(at.excess <= worst_excess)) {
      worst_excess = at.excess;
      worst = i;
    }
  }
  f->verdict = f->count > 0 ? DIFFERENT : SAME;
  if (f->count == 0) return;
  format_pair(dtype, a, b, first, f->first, sizeof(f->first));
  format_pair(dtype, a, b, worst, f->worst, sizeof(f->worst));
}

static bool same_shape(const byoc_npy_t *a, const byoc_npy_t *b) {
  bool same = a->rank == b->rank && byoc_dtype_bits(a->dtype) == byoc_dtype_bits(b->dtype);
  for (int32_t d = 0; d < a->rank && same; ++d) same = a->dims[d] == b->dims[d];
  return same;
}

// By values if both have them, otherwise by hashes.
static void compare_arrays(const comparison_t *c, const byoc_npy_t *a, const byoc_npy_t *b, finding_t *f) {
  format_type(f->a, a, f->type_a, sizeof(f->type_a));
  format_type(f->b, b, f->type_b, sizeof(f->type_b));
  f->has_values = a->data != NULL && b->data != NULL;
  if (f->has_values && same_shape(a, b)) {
    const byoc_dtype_t dtype = dtype_of(f->a->type[0] != '\0' ? f->type_a : f->type_b, a->dtype);
    const bool is_same_type = a->dtype == b->dtype || f->a->type[0] == '\0' || f->b->type[0] == '\0';
    if (is_same_type) compare_values(c->tolerance, dtype, a, b, f);
    if (!is_same_type) f->verdict = OTHER_TYPE;
    return;
  }
  if (strcmp(f->type_a, f->type_b) != 0) {
    f->verdict = OTHER_TYPE;
    return;
  }
  char hashes[2][BYOC_TRACE_HASH_SIZE];
  const byoc_trace_record_t *records[2] = {f->a, f->b};
  const byoc_npy_t *arrays[2] = {a, b};
  for (int i = 0; i < 2; ++i) {
    if (records[i]->hash != NULL) snprintf(hashes[i], sizeof(hashes[i]), "%s", records[i]->hash);
    if (records[i]->hash != NULL) continue;
    const size_t element = byoc_dtype_bits(arrays[i]->dtype) / 8;
    byoc_trace_hash(arrays[i]->dtype, arrays[i]->size_bytes / element, arrays[i]->data, hashes[i]);
  }
  f->verdict = strcmp(hashes[0], hashes[1]) == 0 ? SAME : DIFFERENT;
}

static byoc_status_t compare(const comparison_t *c, const byoc_trace_record_t *a, const byoc_trace_record_t *b,
                             finding_t *out_finding) {
  *out_finding = (finding_t){.a = a, .b = b};
  byoc_npy_t arrays[2] = {{0}, {0}};
  byoc_status_t status = BYOC_OK;
  if (a->hash != NULL && b->hash != NULL && strcmp(a->hash, b->hash) == 0 && strcmp(a->type, b->type) == 0) {
    return BYOC_OK; // no need to read the files
  }
  if (a->file != NULL) status = byoc_npy_read(a->file, byoc_allocator_system(), c->diag, &arrays[0]);
  if (b->file != NULL && status == BYOC_OK) {
    status = byoc_npy_read(b->file, byoc_allocator_system(), c->diag, &arrays[1]);
  }
  if (status == BYOC_OK) compare_arrays(c, &arrays[0], &arrays[1], out_finding);
  byoc_npy_deinit(&arrays[0], byoc_allocator_system());
  byoc_npy_deinit(&arrays[1], byoc_allocator_system());
  if (status != BYOC_OK || c->tolerance->is_exact || out_finding->has_values || out_finding->verdict != DIFFERENT) {
    return status;
  }
  byoc_diag_error(c->diag, BYOC_INVALID_ARGUMENT,
                  "'%s' differs, and --rtol and --atol need its values, which are missing", a->name);
  byoc_diag_hint(c->diag, "compare folders that byoc run --dump all=FOLDER has filled");
  return BYOC_INVALID_ARGUMENT;
}

// ---- all ----

// Tensors that the model does not name are called t, t_7 or v_3 (core/hostir), and may be something else in another
// program: they are compared only if the same operators made them.
static bool is_stranger(const byoc_trace_record_t *a, const byoc_trace_record_t *b) {
  const char *name = a->name;
  if (a->origin == NULL || b->origin == NULL || (name[0] != 't' && name[0] != 'v')) return false;
  const char *number = name[1] == '_' ? name + 2 : name + 1;
  if (number[strspn(number, "0123456789")] != '\0' || (name[1] != '_' && name[1] != '\0')) return false;
  return strcmp(a->origin, b->origin) != 0 || strcmp(a->type, b->type) != 0;
}

// The run's order is that of `a`, unless only `b` knows it.
static byoc_status_t compare_all(comparison_t *c) {
  const bool by_a = c->a->has_order || !c->b->has_order;
  const byoc_trace_t *leading = by_a ? c->a : c->b, *other = by_a ? c->b : c->a;
  for (size_t i = 0; i < leading->records.count; ++i) {
    const byoc_trace_record_t *record = &leading->records.data[i];
    const byoc_trace_record_t *found = byoc_trace_find(other, leading, record);
    if (found == NULL || is_stranger(record, found)) continue;
    finding_t finding;
    BYOC_RETURN_IF_ERROR(compare(c, by_a ? record : found, by_a ? found : record, &finding));
    c->common += 1;
    c->same += finding.verdict == SAME ? 1 : 0;
    if (finding.verdict == SAME) continue;
    if (c->first.a == NULL) {
      c->first = finding;
    } else if (!byoc_vector_push(&c->others, byoc_allocator_system(), record->key)) {
      return byoc_diag_out_of_memory(c->diag);
    }
  }
  return BYOC_OK;
}

// ---- report ----

static const char *name_of_step(const byoc_trace_record_t *record) {
  return record->step != NULL ? record->step : "made by an unknown instruction";
}

// The newest record of a tensor before `record`, or in its turn of a loop.
static const byoc_trace_record_t *find_operand(const byoc_trace_t *trace, const byoc_trace_record_t *record,
                                               const char *name) {
  for (size_t i = (size_t)(record - trace->records.data); i-- > 0;) {
    if (strcmp(trace->records.data[i].name, name) == 0) return &trace->records.data[i];
  }
  return NULL;
}

// Prints the operands of the instruction, and whether they are equal in both traces.
static byoc_status_t print_operands(const comparison_t *c) {
  const bool of_a = c->first.a->operand_count > 0 || c->first.b->operand_count == 0;
  const byoc_trace_t *trace = of_a ? c->a : c->b, *other = of_a ? c->b : c->a;
  const byoc_trace_record_t *record = of_a ? c->first.a : c->first.b;
  for (size_t i = 0; i < record->operand_count; ++i) {
    const byoc_trace_record_t *operand = find_operand(trace, record, record->operands[i]);
    const byoc_trace_record_t *clone = operand != NULL ? byoc_trace_find(other, trace, operand) : NULL;
    const char *what = operand == NULL ? "a constant or a view" : "not in the other one";
    finding_t finding = {.verdict = SAME};
    if (clone != NULL) {
      BYOC_RETURN_IF_ERROR(compare(c, of_a ? operand : clone, of_a ? clone : operand, &finding));
      what = finding.verdict != SAME ? "different, too" : c->tolerance->is_exact ? "the same in both" : "near enough";
    }
    byoc_print("  it read \"%s\": %s\n", record->operands[i], what);
  }
  return BYOC_OK;
}

static byoc_status_t print_first(const comparison_t *c) {
  const finding_t *f = &c->first;
  byoc_print("first difference: \"%s\" %s\n", f->a->key, f->type_a[0] != '\0' ? f->type_a : f->a->type);
  byoc_print("  in %s %s\n", c->a->path, name_of_step(f->a));
  byoc_print("  in %s %s\n", c->b->path, name_of_step(f->b));
  if (f->verdict == OTHER_TYPE) byoc_print("  the types differ: %s and %s\n", f->type_a, f->type_b);
  if (f->verdict == DIFFERENT && f->has_values) {
    byoc_print("  %" PRIu64 " of %" PRIu64 " elements differ, by %.3g at most; first at %s; worst at %s\n", f->count,
               f->total, f->largest, f->first, f->worst);
  }
  if (f->verdict == DIFFERENT && !f->has_values && f->a->range[0] != '\0' && f->b->range[0] != '\0') {
    byoc_print("  %s, and %s\n", f->a->range, f->b->range);
  }
  BYOC_RETURN_IF_ERROR(print_operands(c));
  enum { SHOWN = 8 };
  for (size_t i = 0; i < c->others.count && i < SHOWN; ++i) {
    byoc_print("%s\"%s\"", i == 0 ? "also different: " : ", ", c->others.data[i]);
  }
  if (c->others.count > SHOWN) byoc_print(" and %zu more", c->others.count - SHOWN);
  if (c->others.count > 0) byoc_print("\n");
  return BYOC_OK;
}

static byoc_status_t refuse_strangers(const comparison_t *c) {
  byoc_status_t status =
      byoc_diag_error(c->diag, BYOC_NOT_FOUND, "%s and %s have no tensor in common", c->a->path, c->b->path);
  if (c->a->records.count > 0 && c->b->records.count > 0) {
    byoc_diag_hint(c->diag, "tensors are matched by name: one has '%s', the other '%s'", c->a->records.data[0].key,
                   c->b->records.data[0].key);
  }
  return status;
}

static byoc_status_t report(const comparison_t *c) {
  const byoc_trace_t *traces[2] = {c->a, c->b};
  char how[80] = ", bit by bit";
  if (!c->tolerance->is_exact)
    snprintf(how, sizeof(how), " (rtol %g, atol %g)", c->tolerance->rtol, c->tolerance->atol);
  if (c->common == c->same) {
    byoc_print("the %zu tensor%s that both have %s the same%s\n", c->common, byoc_plural(c->common),
               c->common == 1 ? "is" : "are", how);
  } else {
    byoc_print("%zu of the %zu tensor%s that both have differ%s\n", c->common - c->same, c->common,
               byoc_plural(c->common), how);
    BYOC_RETURN_IF_ERROR(print_first(c));
  }
  for (int i = 0; i < 2; ++i) {
    if (!traces[i]->is_whole) byoc_print("%s has no end: it was cut off, or its run failed\n", traces[i]->path);
  }
  return BYOC_OK;
}

byoc_status_t byoc_debug_compare(const byoc_trace_t *a, const byoc_trace_t *b, const byoc_debug_tolerance_t *tolerance,
                                 bool is_quiet, byoc_diag_t *diag, bool *out_differs) {
  comparison_t c = {.a = a, .b = b, .tolerance = tolerance, .diag = diag};
  byoc_status_t status = compare_all(&c);
  if (status == BYOC_OK && c.common == 0) status = refuse_strangers(&c);
  if (status == BYOC_OK && !is_quiet) status = report(&c);
  *out_differs = c.common != c.same || a->is_whole != b->is_whole;
  byoc_vector_deinit(&c.others, byoc_allocator_system());
  return status;
}

// ---- the command ----

static byoc_status_t diff(const char *const *paths, const byoc_debug_tolerance_t *tolerance, byoc_diag_t *diag,
                          bool *out_differs) {
  byoc_trace_t traces[2] = {{.path = NULL}, {.path = NULL}};
  byoc_status_t status = byoc_trace_read(paths[0], diag, &traces[0]);
  if (status == BYOC_OK) status = byoc_trace_read(paths[1], diag, &traces[1]);
  if (status == BYOC_OK) status = byoc_debug_compare(&traces[0], &traces[1], tolerance, false, diag, out_differs);
  byoc_trace_deinit(&traces[0]);
  byoc_trace_deinit(&traces[1]);
  return status;
}

int byoc_main_debug_diff(int argc, char **argv) {
  enum { NOT_GIVEN = -1 };
  byoc_debug_tolerance_t tolerance = {.rtol = NOT_GIVEN, .atol = NOT_GIVEN};
  const byoc_option_row_t rows[] = {
      {"rtol", 0, BYOC_OPT_NUMBER, &tolerance.rtol, "X", "relative tolerance (default: 0, and bit by bit)"},
      {"atol", 0, BYOC_OPT_NUMBER, &tolerance.atol, "X", "absolute tolerance (default: 0, and bit by bit)"},
  };
  static const char *const operands[] = {"a trace, or a folder of .npy files",
                                         "a second trace or folder, to compare the first one with", NULL};
  const byoc_usage_t usage = {
      .command = "byoc debug diff",
      .synopsis = "A B [--rtol X] [--atol X]",
      .summary = "find the first instruction with a different result",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "A and B are files of byoc run --trace, folders of byoc run --dump all=FOLDER, or folders of .npy files\n"
          "from elsewhere, each named by its tensor ('/' and ':' as '_'). Tensors are matched by name, in the order\n"
          "of the run. Tensors that only one of them has are left out. So are names that byoc made, such as t or v_3,\n"
          "unless the same operators made the tensors. Tolerances need values, which folders have.\n"
          "Exit codes: 0 no difference; 1 a difference.\n",
  };
  byoc_diag_t diag = {0};
  bool done = false, differs = false;
  const char *paths[2] = {NULL, NULL};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, paths, &done);
  tolerance.is_exact = tolerance.rtol < 0 && tolerance.atol < 0;
  if (tolerance.rtol < 0) tolerance.rtol = 0;
  if (tolerance.atol < 0) tolerance.atol = 0;
  if (status == BYOC_OK && !done) {
    status = diff(paths, &tolerance, &diag, &differs);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "comparing %s with %s", paths[0], paths[1]);
  }
  if (status != BYOC_OK) return byoc_report(&diag, status);
  return differs ? BYOC_EXIT_FAILED : BYOC_EXIT_OK;
}
