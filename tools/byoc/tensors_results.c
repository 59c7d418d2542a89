// What came out of a run: compared, saved, printed.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/file.h"
#include "npy.h"
#include "tensors.h"

// ---- reading elements ----

static double half_to_double(uint16_t half) {
  int exponent = (half >> 10) & 31, mantissa = half & 1023;
  double value = exponent == 0    ? ldexp(mantissa, -24)
                 : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                  : ldexp(mantissa + 1024, exponent - 25);
  return half >> 15 ? -value : value;
}

// Element `index` as a number; raw bits for the types that have no C counterpart.
static double element(byoc_dtype_t dtype, const void *data, uint64_t index) {
  switch (dtype) {
  case BYOC_DTYPE_F32:
    return ((const float *)data)[index];
  case BYOC_DTYPE_F64:
    return ((const double *)data)[index];
  case BYOC_DTYPE_F16:
    return half_to_double(((const uint16_t *)data)[index]);
  case BYOC_DTYPE_BF16: {
    uint32_t bits = (uint32_t)((const uint16_t *)data)[index] << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
  case BYOC_DTYPE_I8:
    return ((const int8_t *)data)[index];
  case BYOC_DTYPE_I16:
    return ((const int16_t *)data)[index];
  case BYOC_DTYPE_I32:
    return ((const int32_t *)data)[index];
  case BYOC_DTYPE_I64:
    return (double)((const int64_t *)data)[index];
  case BYOC_DTYPE_U16:
    return ((const uint16_t *)data)[index];
  case BYOC_DTYPE_U32:
    return ((const uint32_t *)data)[index];
  case BYOC_DTYPE_U64:
    return (double)((const uint64_t *)data)[index];
  default:
    return ((const uint8_t *)data)[index];
  }
}

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
    double a = element(port->dtype, port->data, i), b = element(port->dtype, expected, i);
    if (a == b || (isnan(a) && isnan(b))) continue;
    double distance = fabs(a - b), excess = distance - (atol + rtol * fabs(b));
    if (distance > difference.largest) difference.largest = distance;
    if (excess <= 0) continue; // NaN goes on
    if (difference.count++ == 0) difference.first = i;
    if (!(excess <= difference.worst_excess)) {
      difference.worst_excess = excess;
      difference.worst = i;
    }
  }
  return difference;
}

static void format_index(const byoc_port_t *port, uint64_t index, char *buffer, size_t size) {
  int64_t at[BYOC_MAX_RANK];
  for (int32_t d = port->rank - 1; d >= 0; --d) {
    at[d] = (int64_t)(index % (uint64_t)port->dims[d]);
    index /= (uint64_t)port->dims[d];
  }
  size_t used = (size_t)snprintf(buffer, size, "[");
  for (int32_t d = 0; d < port->rank && used < size; ++d) {
    used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", at[d]);
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}

static byoc_status_t compare_one(const byoc_port_t *port, const void *expected, double rtol, double atol,
                                 byoc_diag_t *diag) {
  difference_t d = find_differences(port, expected, rtol, atol);
  if (d.count == 0) {
    printf("%s: as expected, largest difference %.3g\n", port->name, d.largest);
    return BYOC_OK;
  }
  char first[128], worst[128];
  format_index(port, d.first, first, sizeof(first));
  format_index(port, d.worst, worst, sizeof(worst));
  return byoc_diag_error(diag, BYOC_MISMATCH,
                         "output '%s' differs in %" PRIu64 " of %" PRIu64
                         " elements (rtol %g, atol %g): first at %s: %.9g, expected %.9g; "
                         "worst at %s: %.9g, expected %.9g",
                         port->name, d.count, element_count(port), rtol, atol, first,
                         element(port->dtype, port->data, d.first), element(port->dtype, expected, d.first), worst,
                         element(port->dtype, port->data, d.worst), element(port->dtype, expected, d.worst));
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

byoc_status_t byoc_ports_save(const byoc_ports_t *ports, const char *directory, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_make_directories(directory, diag));
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_port_t *port = &ports->items[i];
    if (port->data == NULL) {
      return byoc_diag_error(diag, BYOC_UNSUPPORTED, "output '%s' is no tensor: .npy files hold tensors", port->name);
    }
    char name[512];
    snprintf(name, sizeof(name), "%s.npy", port->name);
    for (char *c = name; *c; ++c) {
      if (*c == '/' || *c == ':') *c = '_';
    }
    char *path = byoc_path_join(byoc_allocator_system(), directory, name);
    if (path == NULL) return byoc_diag_out_of_memory(diag);
    byoc_status_t status =
        byoc_npy_write(path, port->dtype, port->rank, port->dims, port->data, port->size_bytes, diag);
    byoc_free(byoc_allocator_system(), path);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

void byoc_ports_print(const byoc_ports_t *ports) {
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_port_t *port = &ports->items[i];
    char type[192];
    byoc_port_format(port, type, sizeof(type));
    if (port->data == NULL || port->dtype == BYOC_DTYPE_STRING) {
      printf("%s : %s with %" PRIu64 " items\n", port->name, type,
             port->data == NULL ? port->argument.count : element_count(port));
      continue;
    }
    uint64_t count = element_count(port);
    double smallest = INFINITY, largest = -INFINITY, sum = 0;
    for (uint64_t k = 0; k < count; ++k) {
      double value = element(port->dtype, port->data, k);
      smallest = fmin(smallest, value);
      largest = fmax(largest, value);
      sum += value;
    }
    printf("%s : %s =", port->name, type);
    for (uint64_t k = 0; k < count && k < 6; ++k) printf(" %.6g", element(port->dtype, port->data, k));
    if (count > 6) printf(" ...");
    if (count > 0) printf("   (from %.6g to %.6g, mean %.6g)", smallest, largest, sum / (double)count);
    printf("\n");
  }
}
