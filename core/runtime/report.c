// SPDX-License-Identifier: Apache-2.0
// Checks what functions of backends report, and passes it on.
#include "core/runtime/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST_REPORTS = 1 << 20, MOST_NAMED = 60 };

void byoc_reporter_begin(byoc_reporter_t *reporter) {
  reporter->row = NULL;
  reporter->function = NULL;
  reporter->count = 0;
  reporter->reason[0] = '\0';
}

int32_t byoc_reporter_status(const byoc_reporter_t *reporter) {
  return reporter->reason[0] == '\0' ? BYOC_OK : BYOC_INVALID_DATA;
}

uint32_t byoc_reporter_wanted(const byoc_reporter_t *reporter) {
  const bool is_traced = reporter->observer != NULL && reporter->observer->trace != NULL && reporter->row != NULL;
  return (reporter->profile != NULL ? BYOC_WANTS_PROFILE : 0u) | (is_traced ? BYOC_WANTS_TENSORS : 0u);
}

// ---- checks ----

__attribute__((format(printf, 2, 3))) static int32_t refuse(byoc_reporter_t *reporter, const char *format, ...) {
  if (reporter->reason[0] != '\0') return BYOC_INVALID_DATA; // the first one counts
  const char *function = reporter->row != NULL ? reporter->row->symbol : reporter->function;
  int used = function != NULL && function[0] != '\0'
                 ? snprintf(reporter->reason, sizeof(reporter->reason), "the function '%.80s' reports ", function)
                 : snprintf(reporter->reason, sizeof(reporter->reason), "a function reports ");
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(reporter->reason + used, sizeof(reporter->reason) - (size_t)used, format, arguments);
  va_end(arguments);
  return BYOC_INVALID_DATA;
}

// The bytes of the character, 0 if it is not UTF-8 or a control character.
static size_t character_size(const unsigned char *text, size_t size) {
  const unsigned char c = text[0];
  if (c < 0x80) return c >= 0x20 && c != 0x7f ? 1 : 0;
  const size_t bytes = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc2 && c < 0xe0 ? 2 : 0;
  if (bytes == 0 || bytes > size) return 0;
  for (size_t i = 1; i < bytes; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong =
      (c == 0xe0 && text[1] < 0xa0) || (c == 0xf0 && text[1] < 0x90) || (c == 0xc2 && text[1] < 0xa0);
  const bool is_beyond = (c == 0xed && text[1] >= 0xa0) || (c == 0xf4 && text[1] >= 0x90);
  return is_overlong || is_beyond ? 0 : bytes;
}

static bool is_shown(const char *text, size_t size) {
  for (size_t at = 0, step = 0; at < size; at += step) {
    step = character_size((const unsigned char *)text + at, size - at);
    if (step == 0) return false;
  }
  return true;
}

// At most `limit`.
static size_t length(const char *text, size_t limit) {
  size_t size = 0;
  while (size < limit && text[size] != '\0') size++;
  return size;
}

static int32_t check_name(byoc_reporter_t *reporter, const char *what, const char *name) {
  if (name == NULL || name[0] == '\0') return refuse(reporter, "%s without a name", what);
  const size_t size = length(name, BYOC_REPORTED_NAME_BYTES + 1);
  if (size > BYOC_REPORTED_NAME_BYTES) {
    return refuse(reporter, "%s whose name has more than %d bytes", what, BYOC_REPORTED_NAME_BYTES);
  }
  if (!is_shown(name, size)) return refuse(reporter, "%s whose name is not printable UTF-8", what);
  if (reporter->count++ < MOST_REPORTS) return BYOC_OK;
  return refuse(reporter, "more than %d steps, counters and tensors in one run", MOST_REPORTS);
}

// ---- steps and counters ----

// A tab distinguishes a part of a function from an instruction of the same name (byoc_profile_sink_t).
int32_t byoc_reporter_step(byoc_reporter_t *reporter, const char *name, uint64_t duration_ns) {
  if (reporter->profile == NULL) return BYOC_OK;
  const int32_t status = check_name(reporter, "a step", name);
  if (status != BYOC_OK) return status;
  char text[BYOC_REPORTED_NAME_BYTES + 2];
  (void)snprintf(text, sizeof(text), "\t%s", name);
  reporter->profile(reporter->profile_argument, text, duration_ns);
  return BYOC_OK;
}

int32_t byoc_reporter_counter(byoc_reporter_t *reporter, const char *name, const char *unit, double value) {
  if (reporter->profile == NULL || reporter->counter == NULL) return BYOC_OK;
  const int32_t status = check_name(reporter, "a counter", name);
  if (status != BYOC_OK) return status;
  if (unit == NULL) unit = "";
  const size_t size = length(unit, BYOC_REPORTED_NAME_BYTES + 1);
  if (size > BYOC_REPORTED_NAME_BYTES || !is_shown(unit, size)) {
    return refuse(reporter, "the counter '%.*s' in a unit that is too long or not printable UTF-8", MOST_NAMED, name);
  }
  if (!isfinite(value)) return refuse(reporter, "the counter '%.*s' as %f", MOST_NAMED, name, value);
  reporter->counter(reporter->counter_argument, name, unit, value);
  return BYOC_OK;
}

// ---- tensors ----

static uint32_t find_dtype(DLDataType type) {
#define TEST(NAME, number, text, bits_, dlpack, onnx)                                                                  \
  if (type.lanes == 1 && type.code == (dlpack) && type.bits == (bits_) && (bits_) >= 8 &&                              \
      BYOC_DTYPE_##NAME != BYOC_DTYPE_STRING) {                                                                        \
    return BYOC_DTYPE_##NAME;                                                                                          \
  }
  BYOC_DTYPE_LIST(TEST)
#undef TEST
  return BYOC_DTYPE_NONE;
}

// Are the strides those of a dense tensor, and its bytes fewer than memory has?
static bool is_dense(const DLTensor *tensor) {
  uint64_t count = 1;
  for (int32_t d = tensor->ndim; d-- > 0;) {
    const int64_t size = tensor->shape[d];
    if (size < 0) return false;
    if (tensor->strides != NULL && size > 1 && tensor->strides[d] != (int64_t)count) return false;
    if (size > 0 && count > ((uint64_t)1 << 46) / (uint64_t)size) return false;
    count *= (uint64_t)size;
  }
  return count == 0 || tensor->data != NULL;
}

int32_t byoc_reporter_tensor(byoc_reporter_t *reporter, const char *name, const DLTensor *tensor) {
  if ((byoc_reporter_wanted(reporter) & BYOC_WANTS_TENSORS) == 0) return BYOC_OK;
  const int32_t status = check_name(reporter, "a tensor", name);
  if (status != BYOC_OK) return status;
  if (tensor == NULL) return refuse(reporter, "the tensor '%.*s' as NULL", MOST_NAMED, name);
  const bool has_shape =
      tensor->ndim >= 0 && tensor->ndim <= BYOC_CELL_MAX_RANK && (tensor->ndim == 0 || tensor->shape);
  const uint32_t dtype = find_dtype(tensor->dtype);
  if (tensor->device.device_type != kDLCPU || !has_shape || dtype == BYOC_DTYPE_NONE || !is_dense(tensor)) {
    return refuse(reporter, "the tensor '%.*s', which is not a dense tensor of numbers in the host's memory",
                  MOST_NAMED, name);
  }
  const byoc_trace_row_t *row = reporter->row;
  const byoc_observer_t *observer = reporter->observer;
  const byoc_trace_event_t event = {.struct_size = sizeof(event),
                                    .instruction = row->instruction,
                                    .op = BYOC_TRACE_INNER,
                                    .symbol = row->symbol,
                                    .origin = row->origin,
                                    .turn_count = observer->turn_count,
                                    .turns = observer->turns,
                                    .result_count = 1,
                                    .name = name,
                                    .value = {.kind = BYOC_ARGUMENT_TENSOR,
                                              .dtype = dtype,
                                              .rank = (uint32_t)tensor->ndim,
                                              .dims = tensor->shape,
                                              .data = (uint8_t *)tensor->data + tensor->byte_offset}};
  observer->trace(observer->argument, &event);
  return BYOC_OK;
}
