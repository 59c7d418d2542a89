// Compares, saves and prints the results of a run.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/map.h"
#include "core/ir/element.h"
#include "elements.h"
#include "npy.h"
#include "tensors.h"
#include "tools/common/print.h"

static uint64_t element_count(const byoc_port_t *port) {
  uint64_t count = 1;
  for (int32_t d = 0; d < port->rank; ++d) count *= (uint64_t)port->dims[d];
  return count;
}

// ---- comparing ----

typedef struct difference_t {
  uint64_t count, first, worst; // elements that differ; indices
  double worst_excess, largest; // largest |a - b| of all
} difference_t;

static difference_t find_differences(const byoc_port_t *port, const void *expected, double rtol, double atol) {
  difference_t difference = {.worst_excess = -1.0};
  uint64_t count = element_count(port);
  for (uint64_t i = 0; i < count; ++i) {
    byoc_element_difference_t at = byoc_element_compare(port->dtype, port->data, expected, (size_t)i, rtol, atol);
    if (at.distance > difference.largest) difference.largest = at.distance;
    if (at.agrees) continue;
    if (difference.count++ == 0) difference.first = i;
    if (!(at.excess <= difference.worst_excess)) {
      difference.worst_excess = at.excess;
      difference.worst = i;
    }
  }
  return difference;
}

// "[1,0]: 2.5, expected 3"
static void format_pair(const byoc_port_t *port, const void *expected, uint64_t index, char *buffer, size_t size) {
  char at[160], got[96], want[96];
  byoc_element_format_index(port->rank, port->dims, index, at, sizeof(at));
  byoc_element_format(port->dtype, port->data, (size_t)index, 9, got, sizeof(got));
  byoc_element_format(port->dtype, expected, (size_t)index, 9, want, sizeof(want));
  snprintf(buffer, size, "%s: %s, expected %s", at, got, want);
}

static byoc_status_t compare_one(const byoc_port_t *port, const void *expected, double rtol, double atol,
                                 byoc_diag_t *diag) {
  difference_t d = find_differences(port, expected, rtol, atol);
  if (d.count == 0) {
    byoc_print("%s: as expected, largest difference %.3g\n", port->name, d.largest);
    return BYOC_OK;
  }
  char first[384], worst[384];
  format_pair(port, expected, d.first, first, sizeof(first));
  format_pair(port, expected, d.worst, worst, sizeof(worst));
  return byoc_diag_error(diag, BYOC_MISMATCH,
                         "output '%s' differs in %" PRIu64 " of %" PRIu64
                         " elements (rtol %g, atol %g): first at %s; worst at %s",
                         port->name, d.count, element_count(port), rtol, atol, first, worst);
}

byoc_status_t byoc_ports_compare(const byoc_ports_t *outputs, const byoc_text_items_t *items, double rtol, double atol,
                                 byoc_diag_t *diag) {
  for (size_t i = 0; i < items->count; ++i) {
    byoc_port_t *port = NULL;
    const char *path = NULL;
    byoc_npy_t array;
    BYOC_RETURN_IF_ERROR(byoc_ports_find(outputs, items->items[i], "expect", "output", diag, &port, &path));
    BYOC_RETURN_IF_ERROR(byoc_npy_read(path, byoc_allocator_system(), diag, &array));
    byoc_status_t status = byoc_port_check_type(port, &array, path, diag);
    if (status == BYOC_OK) status = compare_one(port, array.data, rtol, atol, diag);
    byoc_npy_deinit(&array, byoc_allocator_system());
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

// ---- results ----

// Outputs whose files would have one name are told apart by a number: NAME_2.npy.
static byoc_status_t name_file(const char *port, byoc_map_t *taken, byoc_string_t *out, byoc_diag_t *diag) {
  byoc_string_clear(out);
  byoc_npy_name(port, out);
  const size_t size = out->size;
  for (int number = 2; !out->failed && byoc_text_map_find(taken, out->data) != NULL; ++number) {
    out->data[out->size = size] = '\0';
    byoc_string_appendf(out, "_%d", number);
  }
  if (out->failed || !byoc_text_map_put(taken, out->data, taken)) return byoc_diag_out_of_memory(diag);
  byoc_string_append(out, ".npy");
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static byoc_status_t save(const byoc_port_t *port, const char *directory, const char *name, byoc_diag_t *diag) {
  if (port->data == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "output '%s' is no tensor: .npy files hold tensors", port->name);
  }
  char *path = byoc_path_join(byoc_allocator_system(), directory, name);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_npy_write(path, port->dtype, port->rank, port->dims, port->data, port->size_bytes, diag);
  byoc_free(byoc_allocator_system(), path);
  return status;
}

byoc_status_t byoc_ports_save(const byoc_ports_t *ports, const char *directory, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_make_directories(directory, diag));
  byoc_map_t taken;
  byoc_string_t name;
  byoc_text_map_init(&taken, byoc_allocator_system());
  byoc_string_init(&name, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < ports->count && status == BYOC_OK; ++i) {
    status = name_file(ports->items[i].name, &taken, &name, diag);
    if (status == BYOC_OK) status = save(&ports->items[i], directory, name.data, diag);
  }
  byoc_string_deinit(&name);
  byoc_map_deinit(&taken);
  return status;
}

// "   (from 0 to 3, mean 1.5)"; complex numbers have no order.
static void print_summary(const byoc_port_t *port, uint64_t count) {
  double smallest = INFINITY, largest = -INFINITY, sum = 0, imaginary_sum = 0;
  for (uint64_t k = 0; k < count; ++k) {
    double value = byoc_element_f64(port->dtype, port->data, (size_t)k);
    smallest = fmin(smallest, value);
    largest = fmax(largest, value);
    sum += value;
    imaginary_sum += byoc_element_imaginary(port->dtype, port->data, (size_t)k);
  }
  double mean = sum / (double)count;
  if (byoc_dtype_is_complex(port->dtype)) {
    printf("   (mean %.6g%+.6gi)", mean, imaginary_sum / (double)count);
  } else {
    printf("   (from %.6g to %.6g, mean %.6g)", smallest, largest, mean);
  }
}

void byoc_ports_print(const byoc_ports_t *ports) {
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_port_t *port = &ports->items[i];
    char type[192], text[96];
    byoc_port_format(port, type, sizeof(type));
    if (port->data == NULL) {
      byoc_print("%s : %s with %" PRIu64 " items\n", port->name, type, port->argument.count);
      continue;
    }
    uint64_t count = element_count(port);
    byoc_print("%s : %s =", port->name, type);
    for (uint64_t k = 0; k < count && k < 6; ++k) {
      byoc_element_format(port->dtype, port->data, (size_t)k, 6, text, sizeof(text));
      byoc_print(" %s", text);
    }
    if (count > 6) printf(" ...");
    if (count > 0 && port->dtype != BYOC_DTYPE_STRING) print_summary(port, count);
    printf("\n");
  }
}
