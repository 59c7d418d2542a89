// SPDX-License-Identifier: Apache-2.0
// Prints the largest elements of results, with the labels that a file gives them.
#include "ranking.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "containers.h"
#include "core/base/file.h"
#include "core/base/vector.h"
#include "core/ir/element.h"
#include "elements.h"
#include "tools/common/print.h"

enum { PRINTED_ROWS = 4 };

typedef struct labels_t {
  char *text; // the file, in which a NUL ends each line
  BYOC_VECTOR(const char *) lines;
} labels_t;

static byoc_status_t read_labels(const char *path, byoc_diag_t *diag, labels_t *labels) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  size_t size = 0;
  if (path == NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_file_read(path, allocator, diag, &labels->text, &size));
  for (char *at = labels->text, *end = at + size; at < end;) {
    char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (line_end == NULL) line_end = end; // the NUL that byoc_file_read adds
    *line_end = '\0';
    if (line_end > at && line_end[-1] == '\r') line_end[-1] = '\0';
    if (!byoc_vector_push(&labels->lines, allocator, at)) return byoc_diag_out_of_memory(diag);
    at = line_end + 1;
  }
  return BYOC_OK;
}

// The index of the largest element of a row behind (`value`, `index`) in the order of the ranking; `width` if there is
// none. NaN comes nowhere.
static size_t next_largest(const byoc_port_t *port, size_t row, size_t width, double value, size_t index) {
  size_t best = width;
  double best_value = 0;
  for (size_t i = 0; i < width; ++i) {
    const double candidate = byoc_element_f64(port->dtype, port->data, row * width + i);
    const bool is_behind = candidate < value || (candidate == value && (index == width || i > index));
    if (!is_behind || isnan(candidate) || (best < width && candidate <= best_value)) continue;
    best = i;
    best_value = candidate;
  }
  return best;
}

static void print_row(const byoc_port_t *port, size_t row, size_t width, size_t count, const labels_t *labels) {
  double value = INFINITY;
  size_t index = width;
  for (size_t k = 0; k < count; ++k) {
    index = next_largest(port, row, width, value, index);
    if (index == width) return;
    value = byoc_element_f64(port->dtype, port->data, row * width + index);
    char text[96];
    byoc_element_format(port->dtype, port->data, row * width + index, 6, text, sizeof(text));
    byoc_print("  %12s  %zu%s%s\n", text, index, labels->text != NULL ? "  " : "",
               labels->text != NULL ? labels->lines.data[index] : "");
  }
}

static byoc_status_t print_port(const byoc_port_t *port, size_t count, const labels_t *labels, const char *path,
                                byoc_diag_t *diag) {
  const bool is_ranked = !byoc_port_is_container(port) && port->rank > 0 && port->dtype != BYOC_DTYPE_STRING &&
                         !byoc_dtype_is_complex(port->dtype) && byoc_dtype_bits(port->dtype) >= 8;
  const size_t width = is_ranked ? (size_t)port->dims[port->rank - 1] : 0;
  if (width == 0) return BYOC_OK;
  if (labels->text != NULL && labels->lines.count < width) {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s has %zu lines, and a row of '%s' has %zu elements", path,
                           labels->lines.count, port->name, width);
  }
  size_t rows = 1;
  for (int32_t d = 0; d + 1 < port->rank; ++d) rows *= (size_t)port->dims[d];
  for (size_t row = 0; row < rows && row < PRINTED_ROWS; ++row) {
    byoc_print("%s", port->name);
    if (rows > 1) byoc_print(", row %zu", row);
    byoc_print(":\n");
    print_row(port, row, width, count, labels);
  }
  if (rows > PRINTED_ROWS) byoc_print("  ... and %zu more rows\n", rows - PRINTED_ROWS);
  return BYOC_OK;
}

byoc_status_t byoc_ranking_print(const byoc_ports_t *outputs, size_t count, const char *labels, byoc_diag_t *diag) {
  labels_t lines = {0};
  byoc_status_t status = read_labels(labels, diag, &lines);
  for (size_t i = 0; i < outputs->count && status == BYOC_OK; ++i) {
    status = print_port(&outputs->items[i], count, &lines, labels, diag);
  }
  byoc_vector_deinit(&lines.lines, byoc_allocator_system());
  byoc_free(byoc_allocator_system(), lines.text);
  return status;
}
