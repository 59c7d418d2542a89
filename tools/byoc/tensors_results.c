// SPDX-License-Identifier: Apache-2.0
// Compares, saves and prints the results of a run.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "containers.h"
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

// "y", "y[0]" or "y[1][0]": a tensor, or an item of a sequence.
typedef struct place_t {
  double rtol, atol;
  char name[256];
} place_t;

static byoc_port_t port_of_tensor(const char *name, const byoc_argument_t *tensor) {
  byoc_port_t port = {.name = name, .dtype = tensor->dtype, .rank = (int32_t)tensor->rank, .data = tensor->data};
  for (int32_t d = 0; d < port.rank; ++d) port.dims[d] = tensor->dims[d];
  return port;
}

static byoc_status_t compare_values(const place_t *place, const byoc_argument_t *value, const byoc_argument_t *expected,
                                    byoc_diag_t *diag) {
  if (value->kind == BYOC_ARGUMENT_TENSOR) {
    byoc_port_t port = port_of_tensor(place->name, value), wanted = port_of_tensor(place->name, expected);
    char type[192], wanted_type[192];
    byoc_port_format(&port, type, sizeof(type));
    byoc_port_format(&wanted, wanted_type, sizeof(wanted_type));
    if (strcmp(type, wanted_type) != 0) {
      return byoc_diag_error(diag, BYOC_MISMATCH, "output '%s' is %s, expected %s", place->name, type, wanted_type);
    }
    return compare_one(&port, expected->data, place->rtol, place->atol, diag);
  }
  if (value->count != expected->count) {
    return byoc_diag_error(diag, BYOC_MISMATCH, "output '%s' has %" PRIu64 " item%s, expected %" PRIu64, place->name,
                           value->count, byoc_plural(value->count), expected->count);
  }
  for (uint64_t i = 0; i < value->count; ++i) {
    place_t item = *place;
    if (value->kind == BYOC_ARGUMENT_SEQUENCE) {
      const size_t used = strlen(item.name);
      snprintf(item.name + used, sizeof(item.name) - used, "[%" PRIu64 "]", i);
    }
    BYOC_RETURN_IF_ERROR(compare_values(&item, &value->items[i], &expected->items[i], diag));
  }
  if (value->count == 0) byoc_print("%s: as expected, no items\n", place->name);
  return BYOC_OK;
}

static byoc_status_t compare_container(const byoc_port_t *port, const char *path, double rtol, double atol,
                                       byoc_diag_t *diag) {
  byoc_argument_t expected;
  place_t place = {rtol, atol, ""};
  snprintf(place.name, sizeof(place.name), "%s", port->name);
  BYOC_RETURN_IF_ERROR(byoc_container_read(port, path, diag, &expected));
  byoc_status_t status = compare_values(&place, &port->argument, &expected, diag);
  byoc_container_free(&expected);
  return status;
}

byoc_status_t byoc_ports_compare(const byoc_ports_t *outputs, const byoc_string_items_t *items, double rtol,
                                 double atol, byoc_diag_t *diag) {
  for (size_t i = 0; i < items->count; ++i) {
    byoc_port_t *port = NULL;
    const char *path = NULL;
    byoc_npy_t array;
    BYOC_RETURN_IF_ERROR(byoc_ports_find(outputs, items->items[i], "expect", "output", diag, &port, &path));
    if (byoc_port_is_container(port)) {
      BYOC_RETURN_IF_ERROR(compare_container(port, path, rtol, atol, diag));
      continue;
    }
    BYOC_RETURN_IF_ERROR(byoc_port_read(port, path, diag, &array));
    byoc_status_t status = compare_one(port, array.data, rtol, atol, diag);
    byoc_npy_deinit(&array, byoc_allocator_system());
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

// ---- results ----

static byoc_status_t save(const byoc_port_t *port, const char *directory, const char *name, byoc_diag_t *diag) {
  char *stem = byoc_path_join(byoc_allocator_system(), directory, name);
  if (stem == NULL) return byoc_diag_out_of_memory(diag);
  const byoc_argument_t tensor = {
      .dtype = port->dtype, .rank = (uint32_t)port->rank, .dims = port->dims, .data = port->data};
  byoc_status_t status = byoc_container_save(byoc_port_is_container(port) ? &port->argument : &tensor, stem, diag);
  byoc_free(byoc_allocator_system(), stem);
  return status;
}

byoc_status_t byoc_ports_save(const byoc_ports_t *ports, const char *directory, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_make_directories(directory, diag));
  byoc_map_t taken;
  byoc_string_t name;
  byoc_string_map_init(&taken, byoc_allocator_system());
  byoc_string_init(&name, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < ports->count && status == BYOC_OK; ++i) {
    byoc_string_clear(&name);
    status = byoc_npy_unique_name(ports->items[i].name, &taken, &name, diag);
    if (status == BYOC_OK) status = save(&ports->items[i], directory, name.data, diag);
  }
  byoc_string_deinit(&name);
  byoc_map_deinit(&taken);
  return status;
}

// "   (from 0 to 3, mean 1.5)" of the elements that are numbers, and how many are NaN; complex ones have no order.
static void print_summary(const byoc_port_t *port, uint64_t count) {
  double smallest = INFINITY, largest = -INFINITY, sum = 0, imaginary_sum = 0;
  uint64_t nans = 0;
  const bool is_complex = byoc_dtype_is_complex(port->dtype);
  for (uint64_t k = 0; k < count; ++k) {
    const double value = byoc_element_f64(port->dtype, port->data, (size_t)k);
    const double imaginary = byoc_element_imaginary(port->dtype, port->data, (size_t)k);
    nans += isnan(value) || isnan(imaginary);
    if (isnan(value) || isnan(imaginary)) continue;
    smallest = fmin(smallest, value);
    largest = fmax(largest, value);
    sum += value;
    imaginary_sum += imaginary;
  }
  const double numbers = (double)(count - nans), mean = sum / numbers;
  if (nans == count)
    printf("   (all NaN");
  else if (is_complex)
    printf("   (mean %.6g%+.6gi", mean, imaginary_sum / numbers);
  else
    printf("   (from %.6g to %.6g, mean %.6g", smallest, largest, isnan(mean) ? fabs(mean) : mean);
  if (nans > 0 && nans < count) printf(", %llu NaN", (unsigned long long)nans);
  printf(")");
}

static void print_tensor(const byoc_port_t *port) {
  char type[192], text[96];
  byoc_port_format(port, type, sizeof(type));
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

enum { PRINTED_ITEMS = 6 };

// The first items of a sequence, or what an optional holds, one line for each tensor.
static void print_items(const char *name, const byoc_argument_t *value) {
  for (uint64_t i = 0; i < value->count && i < PRINTED_ITEMS; ++i) {
    const byoc_argument_t *item = &value->items[i];
    char item_name[256];
    snprintf(item_name, sizeof(item_name), "%s", name);
    if (value->kind == BYOC_ARGUMENT_SEQUENCE) snprintf(item_name, sizeof(item_name), "%s[%" PRIu64 "]", name, i);
    if (item->kind != BYOC_ARGUMENT_TENSOR) {
      print_items(item_name, item);
      continue;
    }
    const byoc_port_t port = port_of_tensor(item_name, item);
    byoc_print("  ");
    print_tensor(&port);
  }
  if (value->count > PRINTED_ITEMS) printf("  ...\n");
}

void byoc_ports_print(const byoc_ports_t *ports) {
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_port_t *port = &ports->items[i];
    if (!byoc_port_is_container(port)) {
      print_tensor(port);
      continue;
    }
    char type[192];
    byoc_port_format(port, type, sizeof(type));
    const uint64_t count = port->argument.count;
    byoc_print("%s : %s with %" PRIu64 " item%s\n", port->name, type, count, byoc_plural(count));
    print_items(port->name, &port->argument);
  }
}
