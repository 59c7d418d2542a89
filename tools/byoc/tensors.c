#include "tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/call.h"
#include "core/base/file.h"
#include "npy.h"

byoc_status_t byoc_ports_init(byoc_ports_t *ports, size_t count, byoc_diag_t *diag) {
  *ports = (byoc_ports_t){.count = count};
  ports->items = byoc_allocate(byoc_allocator_system(), count, sizeof(*ports->items));
  ports->pointers = byoc_allocate(byoc_allocator_system(), count, sizeof(*ports->pointers));
  if (ports->items != NULL && ports->pointers != NULL) return BYOC_OK;
  byoc_ports_deinit(ports);
  return byoc_diag_out_of_memory(diag);
}

bool byoc_port_is_open(const byoc_port_t *port) {
  bool is_open = port->rank < 0 || (port->kinds != NULL && strcmp(port->kinds, "t") != 0);
  for (int32_t d = 0; d < port->rank; ++d) is_open = is_open || port->dims[d] < 0;
  return is_open;
}

bool byoc_ports_are_open(const byoc_ports_t *ports) {
  for (size_t i = 0; i < ports->count; ++i) {
    if (byoc_port_is_open(&ports->items[i])) return true;
  }
  return false;
}

byoc_status_t byoc_ports_allocate(byoc_ports_t *ports, byoc_diag_t *diag) {
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    if (byoc_port_is_open(port) || port->data != NULL) continue;
    size_t size = byoc_dtype_bits(port->dtype);
    for (int32_t d = 0; d < port->rank; ++d) {
      if (port->dims[d] < 0 || !byoc_size_mul(size, (size_t)port->dims[d], &size)) {
        return byoc_diag_error(diag, BYOC_UNSUPPORTED, "'%s' has a shape that is not known before the run", port->name);
      }
    }
    port->size_bytes = (size + 7) / 8;
    size_t rounded = (port->size_bytes + BYOC_BUFFER_ALIGNMENT) / BYOC_BUFFER_ALIGNMENT * BYOC_BUFFER_ALIGNMENT;
    port->data = aligned_alloc(BYOC_BUFFER_ALIGNMENT, rounded);
    if (port->data == NULL) return byoc_diag_out_of_memory(diag);
    memset(port->data, 0, rounded);
    ports->pointers[i] = port->data;
  }
  return BYOC_OK;
}

// Names of dimensions live as long as the program.
static byoc_status_t describe_buffer(byoc_port_t *port, const byoc_host_buffer_t *buffer, byoc_diag_t *diag) {
  const byoc_type_t *type = buffer->type;
  port->kinds = type->kind == BYOC_TYPE_SEQUENCE ? "st" : type->kind == BYOC_TYPE_OPTIONAL ? "ot" : "t";
  while (type->element != NULL) type = type->element;
  port->name = buffer->name;
  port->dtype = type->dtype;
  port->rank = type->rank;
  const char **names = byoc_allocate(byoc_allocator_system(), BYOC_MAX_RANK, sizeof(*names));
  if (names == NULL) return byoc_diag_out_of_memory(diag);
  port->owned_dim_names = names;
  port->dim_names = names;
  for (int32_t d = 0; d < type->rank; ++d) {
    const byoc_dim_expr_t *expr = type->dims[d].expr;
    port->dims[d] = expr == NULL ? type->dims[d].constant : -1;
    if (expr != NULL) names[d] = expr->kind == BYOC_DIM_SYMBOL ? expr->symbol : "?";
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_for_buffers(byoc_ports_t *ports, byoc_host_buffer_t *const *buffers, size_t count,
                                     byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_ports_init(ports, count, diag));
  for (size_t i = 0; i < count; ++i) {
    BYOC_RETURN_IF_ERROR(describe_buffer(&ports->items[i], buffers[i], diag));
  }
  return byoc_ports_allocate(ports, diag);
}

void byoc_ports_deinit(byoc_ports_t *ports) {
  for (size_t i = 0; ports->items != NULL && i < ports->count; ++i) {
    free(ports->items[i].data);
    byoc_free(byoc_allocator_system(), ports->items[i].owned_dim_names);
  }
  byoc_free(byoc_allocator_system(), ports->items);
  byoc_free(byoc_allocator_system(), ports->pointers);
  *ports = (byoc_ports_t){0};
}

// ---- names and types ----

// Splits NAME=FILE at the last '=' in front of a file, so that names may hold one.
static byoc_status_t find_port(const byoc_ports_t *ports, const char *item, const char *option, const char *kind,
                               byoc_diag_t *diag, byoc_port_t **out_port, const char **out_path) {
  for (size_t i = 0; i < ports->count; ++i) {
    size_t size = strlen(ports->items[i].name);
    if (strncmp(ports->items[i].name, item, size) == 0 && item[size] == '=') {
      *out_port = &ports->items[i];
      *out_path = item + size + 1;
      return BYOC_OK;
    }
  }
  const char *equals = strchr(item, '=');
  if (equals == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s takes NAME=FILE.npy, not '%s'", option, item);
  }
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the model has no %s '%.*s'", kind, (int)(equals - item), item);
  char names[400] = "";
  size_t used = 0;
  for (size_t i = 0; i < ports->count && used < sizeof(names); ++i) {
    used += (size_t)snprintf(names + used, sizeof(names) - used, "%s'%s'", i ? ", " : "", ports->items[i].name);
  }
  byoc_diag_hint(diag, "it has %s", names);
  return status;
}

static void format_type(byoc_dtype_t dtype, int32_t rank, const int64_t *dims, char *buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "%s[", byoc_dtype_name(dtype));
  for (int32_t d = 0; d < rank && used < size; ++d) {
    if (dims[d] < 0) used += (size_t)snprintf(buffer + used, size - used, "%s?", d ? "," : "");
    if (dims[d] >= 0) used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", dims[d]);
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}

// The type of a port, symbolic dimensions by their names.
static void format_port(const byoc_port_t *port, char *buffer, size_t size) {
  const char *kinds = port->kinds != NULL ? port->kinds : "t";
  size_t used = (size_t)snprintf(buffer, size, "%s%s%s[", kinds[0] == 'o' ? "optional " : "",
                                 strchr(kinds, 's') != NULL ? "sequence of " : "", byoc_dtype_name(port->dtype));
  for (int32_t d = 0; d < port->rank && used < size; ++d) {
    const char *name = port->dim_names != NULL && port->dim_names[d] != NULL ? port->dim_names[d] : "?";
    if (port->dims[d] < 0) used += (size_t)snprintf(buffer + used, size - used, "%s%s", d ? "," : "", name);
    if (port->dims[d] >= 0) {
      used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "," : "", port->dims[d]);
    }
  }
  if (used < size) snprintf(buffer + used, size - used, "]");
}

static byoc_status_t check_type(const byoc_port_t *port, const byoc_npy_t *array, const char *path, byoc_diag_t *diag) {
  bool same = port->rank == array->rank || port->rank < 0;
  for (int32_t d = 0; d < port->rank && same; ++d) same = port->dims[d] < 0 || port->dims[d] == array->dims[d];
  same = same && (port->kinds == NULL || strcmp(port->kinds, "t") == 0) &&
         byoc_dtype_bits(port->dtype) == byoc_dtype_bits(array->dtype) &&
         (port->dtype == array->dtype || port->dtype == BYOC_DTYPE_BF16 || port->dtype > BYOC_DTYPE_BF16);
  if (same) return BYOC_OK;
  char wanted[128], got[128];
  format_port(port, wanted, sizeof(wanted));
  format_type(array->dtype, array->rank, array->dims, got, sizeof(got));
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is %s, %s holds %s", port->name, wanted, path, got);
}

// ---- shapes known at run time ----

byoc_status_t byoc_ports_set_dims(byoc_ports_t *ports, const byoc_text_items_t *items, byoc_diag_t *diag) {
  for (size_t i = 0; i < items->count; ++i) {
    const char *equals = strrchr(items->items[i], '=');
    char *end = NULL;
    long long value = equals != NULL ? strtoll(equals + 1, &end, 10) : -1;
    if (equals == NULL || *end != '\0' || end == equals + 1 || value < 0) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dim takes NAME=VALUE, not '%s'", items->items[i]);
    }
    size_t size = (size_t)(equals - items->items[i]);
    for (size_t p = 0; p < ports->count; ++p) {
      byoc_port_t *port = &ports->items[p];
      for (int32_t d = 0; d < port->rank; ++d) {
        const char *name = port->dims[d] < 0 && port->dim_names != NULL ? port->dim_names[d] : NULL;
        bool is_it = name != NULL && strncmp(name, items->items[i], size) == 0 && name[size] == '\0';
        if (is_it) port->dims[d] = value;
      }
    }
  }
  return byoc_ports_allocate(ports, diag);
}

byoc_status_t byoc_ports_arguments(const byoc_ports_t *ports, byoc_diag_t *diag, byoc_argument_t **out_arguments) {
  *out_arguments = byoc_allocate(byoc_allocator_system(), ports->count, sizeof(**out_arguments));
  if (*out_arguments == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < ports->count; ++i) {
    const byoc_port_t *port = &ports->items[i];
    (*out_arguments)[i] =
        (byoc_argument_t){.dtype = port->dtype, .rank = (uint32_t)port->rank, .dims = port->dims, .data = port->data};
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_take(byoc_ports_t *ports, const byoc_argument_t *arguments, byoc_diag_t *diag) {
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    port->argument = arguments[i];
    if (arguments[i].kind != BYOC_ARGUMENT_TENSOR) continue;
    free(port->data);
    port->data = NULL;
    port->kinds = "t";
    port->rank = (int32_t)arguments[i].rank;
    for (int32_t d = 0; d < port->rank; ++d) port->dims[d] = arguments[i].dims[d];
  }
  BYOC_RETURN_IF_ERROR(byoc_ports_allocate(ports, diag));
  for (size_t i = 0; i < ports->count; ++i) {
    byoc_port_t *port = &ports->items[i];
    if (port->data != NULL && port->size_bytes > 0) memcpy(port->data, arguments[i].data, port->size_bytes);
  }
  return BYOC_OK;
}

// ---- filling ----

byoc_status_t byoc_ports_read(byoc_ports_t *inputs, const byoc_text_items_t *items, byoc_diag_t *diag) {
  for (size_t i = 0; i < items->count; ++i) {
    byoc_port_t *port = NULL;
    const char *path = NULL;
    byoc_npy_t array;
    BYOC_RETURN_IF_ERROR(find_port(inputs, items->items[i], "input", "input", diag, &port, &path));
    BYOC_RETURN_IF_ERROR(byoc_npy_read(path, byoc_allocator_system(), diag, &array));
    byoc_status_t status = check_type(port, &array, path, diag);
    if (status == BYOC_OK && byoc_port_is_open(port)) {
      port->rank = array.rank;
      memcpy(port->dims, array.dims, sizeof(port->dims));
      status = byoc_ports_allocate(inputs, diag);
    }
    if (status == BYOC_OK && array.size_bytes > 0) memcpy(port->data, array.data, array.size_bytes);
    byoc_npy_deinit(&array, byoc_allocator_system());
    if (status != BYOC_OK) return status;
    port->filled = true;
  }
  return BYOC_OK;
}

// splitmix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static void randomise(byoc_port_t *port, uint64_t *state) {
  size_t bytes = byoc_dtype_bits(port->dtype) / 8;
  if (bytes == 0 || port->dtype == BYOC_DTYPE_STRING) return;
  for (uint64_t i = 0; i < port->size_bytes / bytes; ++i) {
    double unit = (double)(next_random(state) >> 11) * 0x1p-53;
    uint8_t *at = (uint8_t *)port->data + i * bytes;
    float f32 = (float)unit;
    uint64_t integer = (uint64_t)(unit * (port->dtype == BYOC_DTYPE_BOOL ? 2 : 10)); // little-endian: low bytes first
    if (port->dtype == BYOC_DTYPE_F32) {
      memcpy(at, &f32, sizeof(f32));
    } else if (port->dtype == BYOC_DTYPE_F64) {
      memcpy(at, &unit, sizeof(unit));
    } else if (port->dtype == BYOC_DTYPE_F16) {
      uint16_t half = (uint16_t)(0x3400 + (next_random(state) & 0x3ff)); // [0.25, 0.5)
      memcpy(at, &half, sizeof(half));
    } else if (port->dtype == BYOC_DTYPE_BF16) {
      uint32_t bits;
      memcpy(&bits, &f32, sizeof(bits));
      uint16_t half = (uint16_t)(bits >> 16);
      memcpy(at, &half, sizeof(half));
    } else {
      memcpy(at, &integer, bytes < 8 ? bytes : 8);
    }
  }
}

byoc_status_t byoc_ports_randomise(byoc_ports_t *inputs, uint64_t seed, byoc_diag_t *diag) {
  for (size_t i = 0; i < inputs->count; ++i) {
    uint64_t state = seed * 1000003 + i;
    if (!inputs->items[i].filled && byoc_port_is_open(&inputs->items[i])) {
      char type[192];
      format_port(&inputs->items[i], type, sizeof(type));
      byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the shape of input '%s' (%s) is not known",
                                             inputs->items[i].name, type);
      byoc_diag_hint(diag, "give its dimensions values: --dim NAME=VALUE, or the input itself: --input NAME=FILE.npy");
      return status;
    }
    if (!inputs->items[i].filled) randomise(&inputs->items[i], &state);
    inputs->items[i].filled = true;
  }
  return BYOC_OK;
}

byoc_status_t byoc_ports_check_filled(const byoc_ports_t *inputs, byoc_diag_t *diag) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const byoc_port_t *port = &inputs->items[i];
    if (port->filled) continue;
    char type[192];
    format_port(port, type, sizeof(type));
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "input '%s' (%s) is missing", port->name, type);
    byoc_diag_hint(diag, "give --input '%s=FILE.npy', or --random for seeded random numbers", port->name);
    return status;
  }
  return BYOC_OK;
}

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
    BYOC_RETURN_IF_ERROR(find_port(outputs, items->items[i], "expect", "output", diag, &port, &path));
    BYOC_RETURN_IF_ERROR(byoc_npy_read(path, byoc_allocator_system(), diag, &array));
    byoc_status_t status = check_type(port, &array, path, diag);
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
    format_port(port, type, sizeof(type));
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
