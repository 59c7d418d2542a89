// SPDX-License-Identifier: Apache-2.0
// Reads samples of a model's inputs from files and folders, or makes them up.
#include "calibration.h"

#include <inttypes.h>
#include <string.h>

#include "containers.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/measure/data.h"
#include "input_file.h"

typedef struct reader_t {
  const byoc_ports_t *inputs;
  const byoc_image_options_t *image;
  size_t most;
  byoc_calibration_t *out;
  byoc_diag_t *diag;
} reader_t;

// The arrays of one file or folder, one for each input.
typedef struct group_t {
  const reader_t *reader;
  const char *path;
  byoc_npy_t *arrays;
  bool *found;
  size_t found_count;
} group_t;

// ---- samples ----

// The ports of a new sample, without data.
static byoc_status_t copy_ports(const byoc_ports_t *inputs, byoc_diag_t *diag, byoc_ports_t *out) {
  BYOC_RETURN_IF_ERROR(byoc_ports_init(out, inputs->count, diag));
  for (size_t i = 0; i < inputs->count; ++i) {
    byoc_port_t *port = &out->items[i];
    *port = inputs->items[i];
    port->data = NULL;
    port->owned_dim_names = NULL;
    if (port->kinds == inputs->items[i].owned_kinds) port->kinds = port->owned_kinds;
  }
  const byoc_status_t status = byoc_ports_allocate(out, diag);
  if (status != BYOC_OK) byoc_ports_deinit(out);
  return status;
}

// Takes the ports over, also on failure.
static byoc_status_t add_sample(byoc_calibration_t *to, byoc_ports_t *sample, byoc_diag_t *diag) {
  byoc_argument_t *arguments = NULL;
  const byoc_allocator_t allocator = byoc_allocator_system();
  static const byoc_string_items_t no_dims;
  byoc_status_t status = byoc_ports_set_dims(sample, &no_dims, diag);
  if (status == BYOC_OK) status = byoc_ports_arguments(sample, diag, &arguments);
  if (status == BYOC_OK && to->count == to->capacity) {
    const size_t capacity = to->capacity > 0 ? 2 * to->capacity : 8;
    byoc_ports_t *samples = byoc_allocate(allocator, capacity, sizeof(*samples));
    byoc_argument_t **lists = byoc_allocate(allocator, capacity, sizeof(*lists));
    if (samples == NULL || lists == NULL) {
      byoc_free(allocator, samples);
      byoc_free(allocator, lists);
      status = byoc_diag_out_of_memory(diag);
    } else {
      if (to->count > 0) memcpy(samples, to->samples, to->count * sizeof(*samples));
      if (to->count > 0) memcpy(lists, to->arguments, to->count * sizeof(*lists));
      byoc_free(allocator, to->samples);
      byoc_free(allocator, to->arguments);
      to->samples = samples;
      to->arguments = lists;
      to->capacity = capacity;
    }
  }
  if (status != BYOC_OK) {
    byoc_free(allocator, arguments);
    byoc_ports_deinit(sample);
    return status;
  }
  to->samples[to->count] = *sample;
  to->arguments[to->count++] = arguments;
  return BYOC_OK;
}

void byoc_calibration_deinit(byoc_calibration_t *samples) {
  for (size_t i = 0; i < samples->count; ++i) {
    byoc_ports_deinit(&samples->samples[i]);
    byoc_free(byoc_allocator_system(), samples->arguments[i]);
  }
  byoc_free(byoc_allocator_system(), samples->samples);
  byoc_free(byoc_allocator_system(), samples->arguments);
  *samples = (byoc_calibration_t){0};
}

// ---- from arrays to samples ----

static bool dims_fit(const byoc_port_t *port, int32_t from, const int64_t *dims) {
  for (int32_t d = from; d < port->rank; ++d) {
    if (port->dims[d] >= 0 && port->dims[d] != dims[d]) return false;
  }
  return true;
}

// The number of samples in an array: by a further axis, or by a larger first one. 1 if it fits as it is, or not at all.
static int64_t samples_in(const byoc_port_t *port, const byoc_npy_t *array, bool *out_has_axis) {
  *out_has_axis = false;
  if (port->rank < 0 || array->dtype == BYOC_DTYPE_STRING || byoc_dtype_bits(array->dtype) % 8 != 0) return 1;
  if (array->rank == port->rank + 1 && dims_fit(port, 0, array->dims + 1)) {
    *out_has_axis = true;
    return array->dims[0];
  }
  if (array->rank != port->rank || port->rank == 0 || dims_fit(port, 0, array->dims)) return 1;
  const bool divides = port->dims[0] > 0 && array->dims[0] > 0 && array->dims[0] % port->dims[0] == 0;
  return divides && dims_fit(port, 1, array->dims) ? array->dims[0] / port->dims[0] : 1;
}

// Sample `index` of `count` in an array, as an array of its own.
static byoc_status_t cut(const byoc_npy_t *array, int64_t index, int64_t count, bool has_axis, byoc_diag_t *diag,
                         byoc_npy_t *out) {
  *out = *array;
  out->size_bytes = array->size_bytes / (uint64_t)count;
  if (has_axis) {
    out->rank--;
    for (int32_t d = 0; d < out->rank; ++d) out->dims[d] = array->dims[d + 1];
  } else if (count > 1) {
    out->dims[0] /= count;
  }
  out->data = byoc_allocate(byoc_allocator_system(), (size_t)out->size_bytes + 1, 1);
  if (out->data == NULL) return byoc_diag_out_of_memory(diag);
  const uint8_t *from = (const uint8_t *)array->data + (uint64_t)index * out->size_bytes;
  if (out->size_bytes > 0) memcpy(out->data, from, (size_t)out->size_bytes);
  return BYOC_OK;
}

static byoc_status_t fill_sample(const group_t *group, int64_t index, int64_t count, const bool *has_axis,
                                 byoc_ports_t *sample) {
  byoc_diag_t *diag = group->reader->diag;
  for (size_t i = 0; i < sample->count; ++i) {
    byoc_npy_t array;
    if (!group->found[i]) continue;
    if (group->arrays[i].dtype == BYOC_DTYPE_STRING) { // one sample: its texts move
      array = group->arrays[i];
      group->arrays[i].data = NULL;
    } else {
      BYOC_RETURN_IF_ERROR(cut(&group->arrays[i], index, count, has_axis[i], diag, &array));
    }
    byoc_status_t status = byoc_ports_fill(sample, &sample->items[i], &array, group->path, diag);
    byoc_npy_deinit(&array, byoc_allocator_system());
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static byoc_status_t check_complete(const group_t *group) {
  const byoc_ports_t *inputs = group->reader->inputs;
  for (size_t i = 0; i < inputs->count; ++i) {
    if (group->found[i] || byoc_port_is_container(&inputs->items[i])) continue;
    byoc_status_t status = byoc_diag_error(group->reader->diag, BYOC_INVALID_DATA,
                                           "%s has no values for the input '%s'", group->path, inputs->items[i].name);
    byoc_ports_hint(inputs, group->reader->diag);
    return status;
  }
  return BYOC_OK;
}

// All arrays must hold as many samples.
static byoc_status_t count_samples(const group_t *group, bool *has_axis, int64_t *out_count) {
  const byoc_ports_t *inputs = group->reader->inputs;
  size_t first = inputs->count;
  *out_count = 1;
  for (size_t i = 0; i < inputs->count; ++i) {
    if (!group->found[i]) continue;
    const int64_t count = samples_in(&inputs->items[i], &group->arrays[i], &has_axis[i]);
    if (first < inputs->count && count != *out_count) {
      return byoc_diag_error(group->reader->diag, BYOC_INVALID_DATA,
                             "%s holds %" PRId64 " sample%s of the input '%s', and %" PRId64 " of '%s'", group->path,
                             *out_count, *out_count == 1 ? "" : "s", inputs->items[first].name, count,
                             inputs->items[i].name);
    }
    first = first < inputs->count ? first : i;
    *out_count = count;
  }
  return BYOC_OK;
}

static byoc_status_t add_group(const group_t *group) {
  const reader_t *reader = group->reader;
  byoc_calibration_t *out = reader->out;
  BYOC_RETURN_IF_ERROR(check_complete(group));
  bool *has_axis = byoc_allocate(byoc_allocator_system(), reader->inputs->count + 1, sizeof(*has_axis));
  if (has_axis == NULL) return byoc_diag_out_of_memory(reader->diag);
  int64_t count = 0;
  byoc_status_t status = count_samples(group, has_axis, &count);
  for (int64_t s = 0; status == BYOC_OK && s < count && (reader->most == 0 || out->count < reader->most); ++s) {
    byoc_ports_t sample;
    status = copy_ports(reader->inputs, reader->diag, &sample);
    if (status != BYOC_OK) break;
    status = fill_sample(group, s, count, has_axis, &sample);
    if (status == BYOC_OK) {
      status = add_sample(out, &sample, reader->diag);
    } else {
      byoc_ports_deinit(&sample);
    }
  }
  byoc_free(byoc_allocator_system(), has_axis);
  return status;
}

// ---- from files to arrays ----

static byoc_status_t group_open(group_t *group, const reader_t *reader, const char *path) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  *group = (group_t){.reader = reader, .path = path};
  group->arrays = byoc_allocate(allocator, reader->inputs->count + 1, sizeof(*group->arrays));
  group->found = byoc_allocate(allocator, reader->inputs->count + 1, sizeof(*group->found));
  return group->arrays != NULL && group->found != NULL ? BYOC_OK : byoc_diag_out_of_memory(reader->diag);
}

static void group_close(group_t *group) {
  for (size_t i = 0; group->arrays != NULL && i < group->reader->inputs->count; ++i) {
    byoc_npy_deinit(&group->arrays[i], byoc_allocator_system());
  }
  byoc_free(byoc_allocator_system(), group->arrays);
  byoc_free(byoc_allocator_system(), group->found);
}

static byoc_status_t take_npz_array(void *self, const char *name, byoc_npy_t *array, byoc_diag_t *diag) {
  group_t *group = self;
  (void)diag;
  for (size_t i = 0; i < group->reader->inputs->count; ++i) {
    if (strcmp(group->reader->inputs->items[i].name, name) != 0 || group->found[i]) continue;
    group->arrays[i] = *array;
    *array = (byoc_npy_t){0};
    group->found[i] = true;
    ++group->found_count;
  }
  return BYOC_OK;
}

static byoc_status_t read_npz(const reader_t *reader, const char *path) {
  group_t group;
  byoc_status_t status = group_open(&group, reader, path);
  if (status == BYOC_OK) status = byoc_npz_visit(path, byoc_allocator_system(), take_npz_array, &group, reader->diag);
  if (status == BYOC_OK) status = add_group(&group);
  group_close(&group);
  return status;
}

static byoc_status_t read_array(group_t *group, size_t input, const char *path) {
  if (group->found[input]) {
    return byoc_diag_error(group->reader->diag, BYOC_INVALID_DATA, "%s has two files for the input '%s'", group->path,
                           group->reader->inputs->items[input].name);
  }
  BYOC_RETURN_IF_ERROR(byoc_input_file_read(path, &group->reader->inputs->items[input], group->reader->image,
                                            byoc_allocator_system(), group->reader->diag, &group->arrays[input]));
  group->found[input] = true;
  ++group->found_count;
  return BYOC_OK;
}

static byoc_status_t read_single(const reader_t *reader, const char *path) {
  group_t group;
  byoc_status_t status = group_open(&group, reader, path);
  if (status == BYOC_OK) status = read_array(&group, 0, path);
  if (status == BYOC_OK) status = add_group(&group);
  group_close(&group);
  return status;
}

static bool is_array_file(const char *name) {
  static const char *const endings[] = {".npy", ".pb", ".raw"};
  for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); ++i) {
    if (byoc_ends_with(name, endings[i])) return true;
  }
  return byoc_image_is_meant(name);
}

// The input that a file is called after, or `input_count`.
static size_t find_input(const byoc_ports_t *inputs, const char *file) {
  const char *dot = strrchr(file, '.');
  const size_t size = dot != NULL ? (size_t)(dot - file) : strlen(file);
  size_t found = inputs->count;
  for (size_t i = 0; i < inputs->count && found == inputs->count; ++i) {
    byoc_string_t name;
    byoc_string_init(&name, byoc_allocator_system());
    byoc_npy_name(inputs->items[i].name, &name);
    if (name.size == size && memcmp(name.data, file, size) == 0) found = i;
    name.size = 0;
    byoc_string_appendf(&name, "input_%zu", i);
    if (name.size == size && memcmp(name.data, file, size) == 0) found = i;
    byoc_string_deinit(&name);
  }
  return found;
}

typedef struct listing_t {
  char **names;
  size_t count;
} listing_t;

// Reads the files of a folder that are called after inputs, as one group. Other files are left aside.
static byoc_status_t read_named(const reader_t *reader, const char *folder, const listing_t *files) {
  group_t group;
  byoc_status_t status = group_open(&group, reader, folder);
  for (size_t i = 0; status == BYOC_OK && i < files->count; ++i) {
    const size_t input =
        is_array_file(files->names[i]) ? find_input(reader->inputs, files->names[i]) : reader->inputs->count;
    if (input == reader->inputs->count) continue;
    char *path = byoc_path_join(byoc_allocator_system(), folder, files->names[i]);
    status = path != NULL ? read_array(&group, input, path) : byoc_diag_out_of_memory(reader->diag);
    byoc_free(byoc_allocator_system(), path);
  }
  if (status == BYOC_OK && group.found_count > 0) status = add_group(&group);
  group_close(&group);
  return status;
}

static bool has_named(const reader_t *reader, const listing_t *files) {
  for (size_t i = 0; i < files->count; ++i) {
    if (is_array_file(files->names[i]) && find_input(reader->inputs, files->names[i]) < reader->inputs->count) {
      return true;
    }
  }
  return false;
}

// ---- folders ----

static byoc_status_t read_folder(const reader_t *reader, const char *folder, bool is_sample);

static byoc_status_t read_entry(const reader_t *reader, const char *path, bool is_sample, bool takes_files) {
  if (reader->most > 0 && reader->out->count >= reader->most) return BYOC_OK;
  if (byoc_is_directory(path)) return is_sample ? BYOC_OK : read_folder(reader, path, true);
  if (byoc_ends_with(path, ".npz")) return read_npz(reader, path);
  return takes_files && is_array_file(path) ? read_single(reader, path) : BYOC_OK;
}

// `is_sample`: it is a folder in the folder that was given, so that folders in it are left aside.
static byoc_status_t read_folder(const reader_t *reader, const char *folder, bool is_sample) {
  listing_t files = {0};
  BYOC_RETURN_IF_ERROR(byoc_list_directory(folder, byoc_allocator_system(), reader->diag, &files.names, &files.count));
  const bool is_named = has_named(reader, &files);
  byoc_status_t status = is_named ? read_named(reader, folder, &files) : BYOC_OK;
  for (size_t i = 0; status == BYOC_OK && !is_named && i < files.count; ++i) {
    char *path = byoc_path_join(byoc_allocator_system(), folder, files.names[i]);
    status = path != NULL ? read_entry(reader, path, is_sample, reader->inputs->count == 1)
                          : byoc_diag_out_of_memory(reader->diag);
    byoc_free(byoc_allocator_system(), path);
  }
  byoc_free_names(byoc_allocator_system(), files.names, files.count);
  return status;
}

static byoc_status_t read_path(const reader_t *reader, const char *path) {
  if (byoc_is_directory(path)) return read_folder(reader, path, false);
  if (byoc_ends_with(path, ".npz")) return read_npz(reader, path);
  if (reader->inputs->count == 1) return read_single(reader, path);
  return byoc_diag_error(reader->diag, BYOC_INVALID_ARGUMENT,
                         "'%s' holds one array, and the model has %zu inputs: give a folder or a .npz file", path,
                         reader->inputs->count);
}

byoc_status_t byoc_calibration_read(const byoc_ports_t *inputs, const char *path, const byoc_image_options_t *image,
                                    size_t most, byoc_diag_t *diag, byoc_calibration_t *out) {
  static const byoc_image_options_t by_default = BYOC_IMAGE_DEFAULTS;
  *out = (byoc_calibration_t){0};
  const reader_t reader = {
      .inputs = inputs, .image = image != NULL ? image : &by_default, .most = most, .out = out, .diag = diag};
  byoc_status_t status = read_path(&reader, path);
  if (status == BYOC_OK && out->count == 0) {
    status = byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' holds no sample of the model's inputs", path);
    byoc_diag_hint(diag, "a sample is a .npz file, or a folder with NAME.npy for each input (docs/quantise.md)");
  }
  if (status != BYOC_OK) byoc_calibration_deinit(out);
  return status;
}

// ---- generated ----

static byoc_status_t fill_generated(byoc_ports_t *sample, uint64_t *state, byoc_diag_t *diag) {
  for (size_t i = 0; i < sample->count; ++i) {
    byoc_port_t *port = &sample->items[i];
    if (port->rank > 0 && port->dims[0] < 0) port->dims[0] = 1;
  }
  static const byoc_string_items_t no_dims;
  BYOC_RETURN_IF_ERROR(byoc_ports_set_dims(sample, &no_dims, diag));
  BYOC_RETURN_IF_ERROR(byoc_ports_randomise(sample, 0, diag)); // asks for open dimensions
  for (size_t i = 0; i < sample->count; ++i) {
    byoc_port_t *port = &sample->items[i];
    if (port->filled && port->data != NULL && port->dtype != BYOC_DTYPE_STRING) {
      byoc_measure_fill(port->dtype, port->data, (size_t)port->size_bytes, state);
    }
  }
  return byoc_ports_check_filled(sample, diag);
}

byoc_status_t byoc_calibration_generate(const byoc_ports_t *inputs, size_t count, byoc_diag_t *diag,
                                        byoc_calibration_t *out) {
  *out = (byoc_calibration_t){.is_generated = true};
  uint64_t state = BYOC_MEASURE_SEED;
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    byoc_ports_t sample;
    status = copy_ports(inputs, diag, &sample);
    if (status != BYOC_OK) break;
    status = fill_generated(&sample, &state, diag);
    if (status == BYOC_OK) {
      status = add_sample(out, &sample, diag);
    } else {
      byoc_ports_deinit(&sample);
    }
  }
  if (status != BYOC_OK) byoc_calibration_deinit(out);
  return status;
}
