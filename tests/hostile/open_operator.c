// SPDX-License-Identifier: Apache-2.0
// Opens the operands of an operator, builds it, and writes down inputs that are likely to fit.
#include "tests/hostile/open_operator.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/compose/artifact/compose.h"
#include "tests/hostile/values.h"
#include "tests/random/pipeline.h"
#include "tests/unit/ops/plausible.h"

size_t open_operator_count(void) {
  return sizeof(plausible) / sizeof(plausible[0]);
}

const char *open_operator_name(size_t row) {
  static char name[160];
  snprintf(name, sizeof(name), "%s, row %zu", plausible[row].op, row);
  return name;
}

// ---- the module ----

// The newest version below `before`; NULL: there is none.
static const byoc_op_t *find_operator(const plausible_t *row, int32_t before) {
  const byoc_op_t *found = NULL;
  for (size_t i = 0; i < byoc_op_count(); ++i) {
    const byoc_op_t *op = byoc_op_at(i);
    if (!is_of(row, op) || op->since_version >= before) continue;
    if (found == NULL || op->since_version > found->since_version) found = op;
  }
  return found;
}

// How much of an operator is open, from the most on; the first that builds is taken.
typedef struct {
  enum { ALL, LEADING, LEADING_OF_FIRST, NONE } dims; // LEADING: all but the last dimension
  bool keeps_constants;                               // otherwise constants become inputs, too
} openness_t;
static const openness_t openness[] = {
    {ALL, false},  {ALL, true}, {LEADING, false}, {LEADING, true}, {LEADING_OF_FIRST, false}, {LEADING_OF_FIRST, true},
    {NONE, false}, {NONE, true}};

static bool is_open(const openness_t *how, const operand_t *operand, int index, int axis) {
  if (how->dims == ALL) return true;
  if (how->dims == NONE || operand->is_constant || (how->dims == LEADING_OF_FIRST && index > 0)) return false;
  return axis < operand->rank - 1;
}

// "f32[open_0_0,3]"
static void open_operand(operand_t *operand, int index, const openness_t *how) {
  if (!operand->is_tensor || (operand->is_constant && how->keeps_constants)) return;
  char text[PART_SIZE];
  size_t used = (size_t)snprintf(text, sizeof(text), "%s[", operand->dtype);
  for (int d = 0; d < operand->rank; ++d) {
    const char *comma = d > 0 ? "," : "";
    const size_t room = sizeof(text) - used;
    used += (size_t)(is_open(how, operand, index, d) ? snprintf(text + used, room, "%sopen_%d_%d", comma, index, d)
                                                     : snprintf(text + used, room, "%s%ld", comma, operand->dims[d]));
  }
  snprintf(text + used, sizeof(text) - used, "]");
  memcpy(operand->text, text, sizeof(text));
  operand->is_constant = false;
}

static byoc_status_t write_text(const open_operator_job_t *job, const byoc_op_t *op, const openness_t *how,
                                const char *path, byoc_diag_t *diag) {
  const plausible_t *row = &plausible[job->row];
  operand_t operands[MOST_OPERANDS];
  const int count = read_operands(row->operands, operands);
  for (int i = 0; i < count; ++i) open_operand(&operands[i], i, how);
  char text[TEXT_SIZE];
  write_module(op, row, operands, count, text);
  return byoc_file_write(path, text, strlen(text), diag);
}

// ---- the values ----

// The bytes of number `value` as an element of the type; small types that fill no byte stay 0.
static void put_element(FILE *file, byoc_dtype_t dtype, double value) {
  const float single = (float)value;
  const int64_t integer = (int64_t)value;
  if (dtype == BYOC_DTYPE_F32)
    (void)fwrite(&single, sizeof(single), 1, file);
  else if (dtype == BYOC_DTYPE_F64)
    (void)fwrite(&value, sizeof(value), 1, file);
  else if (byoc_dtype_bits(dtype) <= 64)
    (void)fwrite(&integer, byoc_dtype_bits(dtype) / 8, 1, file);
  else
    for (uint32_t i = 0; i < byoc_dtype_bits(dtype) / 8; ++i) (void)fputc(0, file);
}

// Element i of what a row has as "[0, -1]"; without values, a small number.
static double element_of(const operand_t *operand, int64_t i) {
  const char *at = operand->values[0] == '[' ? operand->values + 1 : NULL;
  for (int64_t k = 0; at != NULL && k < i; ++k) {
    at = strchr(at, ',');
    if (at != NULL) ++at;
  }
  if (at != NULL) return strtod(at, NULL);
  return operand->dtype[0] == 'f' || operand->dtype[0] == 'b' ? (double)(i * 7 % 11) / 4 - 1 : (double)(i * 3 % 4);
}

static void put_value(FILE *file, const operand_t *operand, const byoc_type_t *type) {
  const bool is_tensor = byoc_type_is_tensor(type) && operand->is_tensor;
  const byoc_dtype_t dtype = byoc_type_is_tensor(type) ? type->dtype : BYOC_DTYPE_NONE;
  const uint32_t kind = is_tensor                          ? BYOC_ARGUMENT_TENSOR
                        : type->kind == BYOC_TYPE_SEQUENCE ? BYOC_ARGUMENT_SEQUENCE
                                                           : BYOC_ARGUMENT_OPTIONAL;
  const uint32_t head[] = {kind, (uint32_t)dtype, is_tensor ? (uint32_t)operand->rank : 0};
  (void)fwrite(head, sizeof(head), 1, file);
  int64_t elements = 1;
  for (int d = 0; is_tensor && d < operand->rank; ++d) {
    const int64_t size = operand->dims[d];
    elements *= size;
    (void)fwrite(&size, sizeof(size), 1, file);
  }
  const bool is_text = dtype == BYOC_DTYPE_STRING;
  const uint64_t bits = is_text ? 0 : byoc_dtype_bits(dtype);
  const uint64_t count = !is_tensor ? 0 : is_text ? (uint64_t)elements : ((uint64_t)elements * bits + 7) / 8;
  (void)fwrite(&count, sizeof(count), 1, file);
  for (uint64_t i = 0; is_tensor && is_text && i < count; ++i) (void)fwrite("a", 2, 1, file);
  if (!is_tensor || is_text) return;
  for (int64_t i = 0; bits >= 8 && i < elements; ++i) put_element(file, dtype, element_of(operand, i));
  for (uint64_t i = 0; bits < 8 && i < count; ++i) (void)fputc(0, file);
}

// Inputs are called by the letters of their operands (write_module).
static byoc_status_t write_values(const open_operator_job_t *job, const byoc_host_program_t *program,
                                  byoc_diag_t *diag) {
  operand_t operands[MOST_OPERANDS];
  (void)read_operands(plausible[job->row].operands, operands);
  FILE *file = fopen(job->values, "wb");
  if (file == NULL) return byoc_diag_error(diag, BYOC_IO, "cannot write %s", job->values);
  const uint32_t counts[] = {(uint32_t)program->inputs.count, 0};
  (void)fwrite(counts, sizeof(counts), 1, file);
  for (size_t i = 0; i < program->inputs.count; ++i) {
    const byoc_host_buffer_t *input = program->inputs.data[i];
    put_value(file, &operands[input->name[0] - 'a'], input->type);
  }
  const bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) return byoc_diag_error(diag, BYOC_IO, "cannot write %s", job->values);
  return BYOC_OK;
}

static byoc_status_t build(const open_operator_job_t *job, const byoc_op_t *op, const openness_t *how,
                           byoc_diag_t *diag) {
  char path[700];
  snprintf(path, sizeof(path), "%s/operator.byoc", job->folder);
  BYOC_RETURN_IF_ERROR(write_text(job, op, how, path, diag));
  pipeline_t pipeline;
  byoc_status_t status = pipeline_open_file(&pipeline, path, job->targets, diag);
  if (status == BYOC_OK) status = write_values(job, pipeline.build.result.program, diag);
  const byoc_compose_options_t options = {.output = job->artifact, .model_name = "hostile", .thread_count = 1};
  if (status == BYOC_OK) status = byoc_build_compose(&pipeline.build, &options, diag);
  pipeline_close(&pipeline);
  return status;
}

// A version, as open as it can be.
static byoc_status_t build_version(const open_operator_job_t *job, const byoc_op_t *op, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_INTERNAL;
  for (size_t i = 0; i < sizeof(openness) / sizeof(openness[0]) && status != BYOC_OK; ++i) {
    if (job->keep_shapes && openness[i].dims != NONE) continue;
    byoc_diag_clear(diag);
    status = build(job, op, &openness[i], diag);
  }
  return status;
}

byoc_status_t open_operator_build(const open_operator_job_t *job, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_INTERNAL;
  const byoc_op_t *op = find_operator(&plausible[job->row], INT32_MAX);
  for (; op != NULL && status != BYOC_OK; op = find_operator(&plausible[job->row], op->since_version)) {
    status = build_version(job, op, diag);
  }
  return status;
}
