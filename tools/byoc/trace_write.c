// SPDX-License-Identifier: Apache-2.0
// Writes traces and the values of tensors as a run reports them.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "containers.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/compile/outputs.h"
#include "core/ir/element.h"
#include "npy.h"
#include "tools/common/print.h"
#include "trace.h"

// ---- values as text ----

static uint64_t size_of(byoc_dtype_t dtype, uint64_t count) {
  return (count * byoc_dtype_bits(dtype) + 7) / 8;
}

static uint64_t element_count(const byoc_argument_t *value) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < value->rank; ++d) count *= (uint64_t)value->dims[d];
  return count;
}

void byoc_trace_hash(byoc_dtype_t dtype, uint64_t count, const void *data, char out[BYOC_TRACE_HASH_SIZE]) {
  const char *const *texts = data;
  byoc_string_t joined;
  byoc_string_init(&joined, byoc_allocator_system());
  for (uint64_t i = 0; dtype == BYOC_DTYPE_STRING && i < count; ++i) {
    byoc_string_append_bytes(&joined, texts[i], strlen(texts[i]) + 1);
  }
  const uint64_t hash =
      dtype == BYOC_DTYPE_STRING ? XXH64(joined.data, joined.size, 0) : XXH64(data, (size_t)size_of(dtype, count), 0);
  byoc_string_deinit(&joined);
  snprintf(out, BYOC_TRACE_HASH_SIZE, "%016" PRIx64, hash);
}

static void append_range(const byoc_argument_t *value, byoc_string_t *out) {
  const uint64_t count = element_count(value);
  double smallest = INFINITY, largest = -INFINITY, sum = 0;
  uint64_t nan_count = 0;
  if (value->dtype == BYOC_DTYPE_STRING || byoc_dtype_is_complex(value->dtype)) return;
  for (uint64_t i = 0; i < count; ++i) {
    const double element = byoc_element_f64(value->dtype, value->data, (size_t)i);
    nan_count += isnan(element) ? 1 : 0;
    if (isnan(element)) continue;
    smallest = fmin(smallest, element);
    largest = fmax(largest, element);
    sum += element;
  }
  if (count > nan_count) {
    byoc_string_appendf(out, " min %.9g max %.9g mean %.9g", smallest, largest, sum / (double)(count - nan_count));
  }
  if (nan_count > 0) byoc_string_appendf(out, " nan %" PRIu64, nan_count);
}

// `f32[2,3] 0123456789abcdef`
static void append_value(const byoc_argument_t *value, byoc_string_t *out) {
  char hash[BYOC_TRACE_HASH_SIZE];
  if (value->kind == BYOC_ARGUMENT_TENSOR) {
    byoc_string_appendf(out, "%s[", byoc_dtype_name(value->dtype));
    for (uint32_t d = 0; d < value->rank; ++d) {
      byoc_string_appendf(out, "%s%" PRId64, d > 0 ? "," : "", value->dims[d]);
    }
    byoc_trace_hash(value->dtype, element_count(value), value->data, hash);
    byoc_string_appendf(out, "] %s", hash);
    return;
  }
  byoc_string_t items;
  byoc_string_init(&items, out->allocator);
  for (uint64_t i = 0; i < value->count; ++i) append_value(&value->items[i], &items);
  byoc_trace_hash(BYOC_DTYPE_U8, items.size, items.data, hash);
  out->failed |= items.failed;
  byoc_string_deinit(&items);
  byoc_string_appendf(out, "%s(%" PRIu64 ") %s", value->kind == BYOC_ARGUMENT_SEQUENCE ? "seq" : "opt", value->count,
                      hash);
}

// ---- files of values ----

static void note(byoc_trace_writer_t *writer, byoc_status_t status) {
  if (writer->status == BYOC_OK) writer->status = status;
}

static void no_memory(byoc_trace_writer_t *writer) {
  note(writer, byoc_diag_out_of_memory(&writer->diag));
}

// Into the folder that takes them all. Appends the file's name, unless NumPy has no type for the values.
static void dump_to_folder(byoc_trace_writer_t *writer, const char *key, const byoc_argument_t *value,
                           byoc_string_t *out_name) {
  byoc_string_t name;
  byoc_string_init(&name, byoc_allocator_system());
  byoc_diag_t diag = {0};
  const bool ok = byoc_npy_unique_name(key, &writer->files, &name, &diag) == BYOC_OK;
  byoc_string_append(&name, ".npy");
  char *path = ok && !name.failed ? byoc_path_join(byoc_allocator_system(), writer->folder, name.data) : NULL;
  byoc_status_t status = path != NULL ? byoc_npy_write(path, value->dtype, (int32_t)value->rank, value->dims,
                                                       value->data, size_of(value->dtype, element_count(value)), &diag)
                                      : byoc_diag_out_of_memory(&diag);
  if (status == BYOC_OK) byoc_string_append(out_name, name.data);
  if (status != BYOC_OK && status != BYOC_UNSUPPORTED) note(writer, byoc_diag_adopt(&writer->diag, &diag));
  byoc_free(byoc_allocator_system(), path);
  byoc_string_deinit(&name);
}

// `suffix` is what the key has behind the name: results of other turns go into other files.
static void dump_named(byoc_trace_writer_t *writer, byoc_trace_dump_t *dump, const char *suffix,
                       const byoc_argument_t *value) {
  byoc_string_t path;
  byoc_string_init(&path, byoc_allocator_system());
  const size_t size = strlen(dump->path) - (byoc_ends_with(dump->path, ".npy") ? strlen(".npy") : 0);
  byoc_string_append_bytes(&path, dump->path, size);
  byoc_string_appendf(&path, "%s%s", suffix, dump->path + size);
  byoc_status_t status = path.failed ? byoc_diag_out_of_memory(&writer->diag) : BYOC_OK;
  if (status == BYOC_OK && value->kind != BYOC_ARGUMENT_TENSOR) {
    status = byoc_diag_error(&writer->diag, BYOC_UNSUPPORTED, "--dump %s: it is no tensor, and .npy files hold tensors",
                             dump->name);
  }
  if (status == BYOC_OK) {
    status = byoc_npy_write(path.data, value->dtype, (int32_t)value->rank, value->dims, value->data,
                            size_of(value->dtype, element_count(value)), &writer->diag);
  }
  note(writer, status);
  dump->count += 1;
  byoc_string_deinit(&path);
}

// ---- lines ----

// The name, its turn, and how often it was made before in that turn: "h@2.0", "state#2".
static void make_key(byoc_trace_writer_t *writer, const char *name, const char *turn, byoc_string_t *out) {
  byoc_string_appendf(out, "%s%s", name, turn);
  uintptr_t seen = (uintptr_t)byoc_string_map_get(&writer->taken, out->data) + 1;
  if (!byoc_string_map_put(&writer->taken, out->data, (void *)seen)) no_memory(writer);
  if (seen > 1) byoc_string_appendf(out, "#%llu", (unsigned long long)seen);
}

static void write_line(byoc_trace_writer_t *writer, FILE *file, const byoc_string_t *line, const char *in) {
  if (file == NULL) return;
  byoc_string_t end;
  byoc_string_init(&end, byoc_allocator_system());
  if (in[0] != '\0') {
    byoc_string_append(&end, " in ");
    byoc_string_append_quoted(&end, in);
  }
  byoc_string_append(&end, "\n");
  const bool written = !line->failed && !end.failed && fputs(line->data, file) >= 0 && fputs(end.data, file) >= 0;
  if (line->failed || end.failed) no_memory(writer);
  if (!written) note(writer, byoc_diag_error(&writer->diag, BYOC_IO, "cannot write the trace: %s", strerror(errno)));
  byoc_string_deinit(&end);
}

// `head` stands in front of the name, `tail` behind the numbers.
static void write_value(byoc_trace_writer_t *writer, const char *head, const char *name, const char *turn,
                        const byoc_argument_t *value, const char *tail) {
  if (writer->status != BYOC_OK) return;
  byoc_string_t key, line, file;
  byoc_string_init(&key, byoc_allocator_system());
  byoc_string_init(&line, byoc_allocator_system());
  byoc_string_init(&file, byoc_allocator_system());
  make_key(writer, name, turn, &key);
  if (writer->file != NULL || writer->folder_trace != NULL) {
    byoc_string_appendf(&line, "%s%s ", head, turn);
    byoc_string_append_quoted(&line, name);
    byoc_string_append(&line, " ");
    append_value(value, &line);
    if (value->kind == BYOC_ARGUMENT_TENSOR) append_range(value, &line);
    byoc_string_append(&line, tail);
  }
  if (key.failed) no_memory(writer);
  for (size_t i = 0; i < writer->dumps.count && !key.failed; ++i) {
    byoc_trace_dump_t *dump = &writer->dumps.data[i];
    if (strcmp(dump->name, name) == 0) dump_named(writer, dump, key.data + strlen(name), value);
  }
  if (writer->folder != NULL && value->kind == BYOC_ARGUMENT_TENSOR && !key.failed) {
    dump_to_folder(writer, key.data, value, &file);
  }
  write_line(writer, writer->file, &line, "");
  write_line(writer, writer->folder_trace, &line, file.data);
  byoc_string_deinit(&file);
  byoc_string_deinit(&line);
  byoc_string_deinit(&key);
}

void byoc_trace_inputs(byoc_trace_writer_t *writer, const byoc_ports_t *inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const byoc_port_t *port = &inputs->items[i];
    const byoc_argument_t value = {
        .dtype = port->dtype, .rank = (uint32_t)port->rank, .dims = port->dims, .data = port->data};
    write_value(writer, "input", port->name, "", byoc_port_is_container(port) ? &port->read : &value, "");
  }
}

void byoc_trace_write(void *self, const byoc_trace_event_t *event) {
  byoc_trace_writer_t *writer = self;
  char head[16];
  snprintf(head, sizeof(head), "%" PRIu32, event->instruction);
  byoc_string_t turn, tail;
  byoc_string_init(&turn, byoc_allocator_system());
  byoc_string_init(&tail, byoc_allocator_system());
  for (uint32_t i = 0; i < event->turn_count; ++i) {
    byoc_string_appendf(&turn, "%c%" PRId64, i == 0 ? '@' : '.', event->turns[i]);
  }
  byoc_string_appendf(&tail, " by %s ", event->op);
  byoc_string_append_quoted(&tail, event->symbol);
  byoc_string_append(&tail, " ");
  byoc_string_append_quoted(&tail, event->origin);
  byoc_string_append(&tail, event->operand_count > 0 ? " from" : "");
  for (uint32_t i = 0; i < event->operand_count; ++i) {
    byoc_string_append(&tail, " ");
    byoc_string_append_quoted(&tail, event->operands[i]);
  }
  if (turn.failed || tail.failed) no_memory(writer);
  write_value(writer, head, event->name, turn.data, &event->value, tail.data);
  byoc_string_deinit(&tail);
  byoc_string_deinit(&turn);
}

// ---- opening ----

// Says where a tensor went that no instruction makes.
static byoc_status_t refuse(const byoc_trace_map_t *map, const char *name, byoc_diag_t *diag) {
  const byoc_fused_t *fused = byoc_string_map_get(&map->fused, name);
  byoc_status_t status = BYOC_INVALID_ARGUMENT;
  if (fused != NULL && fused->into == NULL) {
    return byoc_diag_error(diag, status,
                           "--dump: '%s' is not computed when the model runs: it was folded into constants, or nothing "
                           "needs it",
                           name);
  }
  const char *maker = fused != NULL ? byoc_string_map_get(&map->makers, fused->into) : NULL;
  if (fused != NULL && fused->kind == BYOC_FUSED_VIEW) {
    byoc_diag_error(diag, status, "--dump: '%s' is made of the bytes of '%s', in another shape or as a part of it",
                    name, fused->into);
    byoc_diag_hint(diag, "--dump '%s' has them", fused->into);
    return status;
  }
  if (fused != NULL && fused->kind == BYOC_FUSED_WHOLE) {
    byoc_diag_error(diag, status, "--dump: '%s' is made in parts, which instructions write where they belong", name);
    byoc_diag_hint(diag, "--dump '%s' has one of them; --dump all=FOLDER has all", fused->into);
    return status;
  }
  if (fused != NULL) {
    byoc_diag_error(diag, status,
                    "--dump: '%s' has no memory of its own: it is computed inside of %s, which makes '%s'", name,
                    maker != NULL && maker[0] != '\0' ? maker : "an instruction", fused->into);
    byoc_diag_hint(diag, "--dump '%s' has that; with --target 'c -fuse=0' each operator has memory of its own",
                   fused->into);
    return status;
  }
  byoc_diag_error(diag, status, "--dump: no instruction makes a tensor '%s'", name);
  const char **names = byoc_allocate(byoc_allocator_system(), map->makers.count + map->fused.count, sizeof(*names));
  size_t count = 0;
  for (size_t i = 0; names != NULL && i < map->makers.count; ++i) names[count++] = map->makers.entries[i].text;
  for (size_t i = 0; names != NULL && i < map->fused.count; ++i) names[count++] = map->fused.entries[i].text;
  const char *nearest = byoc_nearest_match(name, names, count);
  if (strcmp(name, "all") == 0) {
    byoc_diag_hint(diag, "--dump all=FOLDER saves all tensors");
  } else if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean '%s'?", nearest);
  } else {
    byoc_diag_hint(diag, "--trace lists them");
  }
  byoc_free(byoc_allocator_system(), names);
  return status;
}

// May a function of a backend hand over the tensor? One that is computed inside of such a function, or that the model
// does not name.
static bool may_be_inner(const byoc_trace_map_t *map, const char *name) {
  const byoc_fused_t *fused = byoc_string_map_get(&map->fused, name);
  if (fused == NULL) return map->inside.count > 0 && strcmp(name, "all") != 0;
  return fused->kind == BYOC_FUSED_INSIDE && fused->into != NULL &&
         byoc_string_map_find(&map->inside, fused->into) != NULL;
}

// Splits NAME=FILE: behind the name of a tensor that there is, which may contain '='; otherwise at the last one.
static size_t name_size(const byoc_trace_map_t *map, const char *item) {
  size_t size = strlen(item);
  for (size_t i = 0; i < map->makers.count; ++i) {
    const size_t known = strlen(map->makers.entries[i].text);
    if (strncmp(map->makers.entries[i].text, item, known) == 0 && (item[known] == '=' || item[known] == '\0')) {
      return known;
    }
  }
  const char *equals = strrchr(item, '=');
  return equals != NULL ? (size_t)(equals - item) : size;
}

static byoc_status_t add_dump(byoc_trace_writer_t *writer, const char *item, byoc_diag_t *diag) {
  const size_t size = name_size(writer->map, item);
  byoc_trace_dump_t dump = {.name = byoc_arena_format(&writer->arena, "%.*s", (int)size, item)};
  if (dump.name == NULL) return byoc_diag_out_of_memory(diag);
  dump.is_inner = byoc_string_map_find(&writer->map->makers, dump.name) == NULL;
  if (dump.is_inner && !may_be_inner(writer->map, dump.name)) return refuse(writer->map, dump.name, diag);
  if (item[size] == '=' && item[size + 1] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dump takes NAME=FILE.npy, not '%s'", item);
  }
  byoc_string_t path;
  byoc_string_init(&path, byoc_arena_allocator(&writer->arena));
  if (item[size] == '=') byoc_string_append(&path, item + size + 1);
  if (item[size] != '=') byoc_npy_name(dump.name, &path);
  if (item[size] != '=') byoc_string_append(&path, ".npy");
  dump.path = path.data;
  if (path.failed || !byoc_vector_push(&writer->dumps, byoc_arena_allocator(&writer->arena), dump)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// No file may be written twice or be the one that is run.
static byoc_status_t check_files(byoc_trace_writer_t *writer, const byoc_trace_files_t *files, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_arena_allocator(&writer->arena);
  byoc_output_t *outputs = byoc_allocate(allocator, writer->dumps.count + 1, sizeof(*outputs));
  if (outputs == NULL) return byoc_diag_out_of_memory(diag);
  const bool has_trace = files->trace != NULL && strcmp(files->trace, "-") != 0;
  outputs[0] = (byoc_output_t){"--trace", has_trace ? files->trace : NULL};
  for (size_t i = 0; i < writer->dumps.count; ++i) {
    const char *option = byoc_arena_format(&writer->arena, "--dump %s", writer->dumps.data[i].name);
    if (option == NULL) return byoc_diag_out_of_memory(diag);
    outputs[i + 1] = (byoc_output_t){option, writer->dumps.data[i].path};
  }
  return byoc_outputs_check(outputs, writer->dumps.count + 1, files->run, diag);
}

static byoc_status_t open_file(const char *path, FILE **out_file, byoc_diag_t *diag) {
  *out_file = fopen(path, "we");
  if (*out_file == NULL) return byoc_diag_error(diag, BYOC_IO, "cannot write %s: %s", path, strerror(errno));
  return BYOC_OK;
}

static byoc_status_t open_all(byoc_trace_writer_t *writer, const byoc_trace_files_t *files, byoc_diag_t *diag) {
  const byoc_string_items_t *dumps = files->dumps;
  const char *path = files->trace;
  for (size_t i = 0; i < dumps->count; ++i) {
    if (!byoc_starts_with(dumps->items[i], "all=")) {
      BYOC_RETURN_IF_ERROR(add_dump(writer, dumps->items[i], diag));
      continue;
    }
    if (writer->folder != NULL) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dump all=FOLDER can be given once");
    }
    writer->folder = dumps->items[i] + strlen("all=");
    if (writer->folder[0] == '\0') {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--dump all=FOLDER needs the name of a folder");
    }
  }
  BYOC_RETURN_IF_ERROR(check_files(writer, files, diag));
  if (writer->folder != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_make_directories(writer->folder, diag));
    const char *trace = byoc_arena_format(&writer->arena, "%s/" BYOC_TRACE_NAME, writer->folder);
    if (trace == NULL) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(open_file(trace, &writer->folder_trace, diag));
  }
  if (path != NULL && strcmp(path, "-") != 0) return open_file(path, &writer->file, diag);
  if (path != NULL) writer->file = stdout;
  return BYOC_OK;
}

byoc_status_t byoc_trace_open(byoc_trace_writer_t *writer, const byoc_trace_files_t *files, const byoc_trace_map_t *map,
                              byoc_diag_t *diag) {
  *writer = (byoc_trace_writer_t){.map = map};
  byoc_arena_init(&writer->arena, byoc_allocator_system());
  byoc_string_map_init(&writer->taken, byoc_allocator_system());
  byoc_string_map_init(&writer->files, byoc_allocator_system());
  byoc_status_t status = open_all(writer, files, diag);
  if (status != BYOC_OK) {
    (void)byoc_trace_close(writer, false, NULL);
    return status;
  }
  // Each line is written at once: after a crash, the last one tells how far the run came.
  if (writer->file != NULL) (void)setvbuf(writer->file, NULL, _IOLBF, BUFSIZ);
  if (writer->folder_trace != NULL) (void)setvbuf(writer->folder_trace, NULL, _IOLBF, BUFSIZ);
  if (writer->file != NULL) fputs("byoc trace 1\n", writer->file);
  if (writer->folder_trace != NULL) fputs("byoc trace 1\n", writer->folder_trace);
  return BYOC_OK;
}

static void close_file(byoc_trace_writer_t *writer, FILE **file, bool is_whole) {
  if (*file == NULL) return;
  if (is_whole && writer->status == BYOC_OK) fputs("end\n", *file);
  const bool failed = ferror(*file) != 0 || (*file != stdout && fclose(*file) != 0);
  *file = NULL;
  if (failed) note(writer, byoc_diag_error(&writer->diag, BYOC_IO, "cannot write the trace: %s", strerror(errno)));
}

byoc_status_t byoc_trace_close(byoc_trace_writer_t *writer, bool is_whole, byoc_diag_t *diag) {
  if (writer->taken.allocator.resize == NULL) return BYOC_OK; // it was never opened
  close_file(writer, &writer->file, is_whole);
  close_file(writer, &writer->folder_trace, is_whole);
  for (size_t i = 0; i < writer->dumps.count && is_whole && writer->status == BYOC_OK; ++i) {
    const byoc_trace_dump_t *dump = &writer->dumps.data[i];
    if (dump->count == 0 && dump->is_inner) {
      note(writer, refuse(writer->map, dump->name, &writer->diag));
    } else if (dump->count == 0) {
      note(writer, byoc_diag_error(&writer->diag, BYOC_NOT_FOUND,
                                   "--dump: '%s' was not computed in this run: it is in a branch or a loop that did "
                                   "not run",
                                   dump->name));
    }
  }
  byoc_status_t status = writer->status;
  if (status != BYOC_OK && diag != NULL) status = byoc_diag_adopt(diag, &writer->diag);
  byoc_map_deinit(&writer->taken);
  byoc_map_deinit(&writer->files);
  byoc_arena_deinit(&writer->arena);
  *writer = (byoc_trace_writer_t){0};
  return status;
}
