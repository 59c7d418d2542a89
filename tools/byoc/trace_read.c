// SPDX-License-Identifier: Apache-2.0
// Reads traces, and folders of .npy files as if they were traces.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "npy.h"
#include "trace.h"

// One line, from word to word.
typedef struct reader_t {
  byoc_trace_t *trace;
  const char *folder; // that `in` refers to
  const char *file, *text;
  const char *at;
  byoc_diag_t *diag;
  byoc_status_t status;
} reader_t;

static byoc_status_t no_trace(reader_t *r, const char *wanted) {
  if (r->status != BYOC_OK) return r->status;
  r->status = byoc_diag_error(r->diag, BYOC_INVALID_DATA, "this is no line of a trace: %s is wanted", wanted);
  byoc_diag_locate(r->diag, r->file, r->text, (size_t)(r->at - r->text));
  byoc_diag_hint(r->diag, "byoc run --trace=FILE writes traces; a folder of .npy files will do, too");
  return r->status;
}

static byoc_status_t no_memory(reader_t *r) {
  if (r->status == BYOC_OK) r->status = byoc_diag_out_of_memory(r->diag);
  return r->status;
}

static void skip_spaces(reader_t *r) {
  while (*r->at == ' ') ++r->at;
}

static const char *copy(reader_t *r, const char *from, size_t size) {
  const char *text = byoc_arena_format(&r->trace->arena, "%.*s", (int)size, from);
  if (text == NULL) (void)no_memory(r);
  return text != NULL ? text : "";
}

// A word without spaces.
static const char *read_word(reader_t *r, const char *wanted) {
  skip_spaces(r);
  const size_t size = strcspn(r->at, " \n");
  if (size == 0) (void)no_trace(r, wanted);
  const char *word = copy(r, r->at, size);
  r->at += size;
  return word;
}

static bool accept(reader_t *r, const char *word) {
  skip_spaces(r);
  const size_t size = strlen(word);
  if (strncmp(r->at, word, size) != 0 || (r->at[size] != ' ' && r->at[size] != '\n' && r->at[size] != '\0')) {
    return false;
  }
  r->at += size;
  return true;
}

static void append_utf8(byoc_string_t *out, uint32_t code) {
  char bytes[4] = {0};
  if (code < 0x80) bytes[0] = (char)code;
  if (code >= 0x80 && code < 0x800) bytes[0] = (char)(0xc0 | code >> 6);
  if (code >= 0x800) bytes[0] = (char)(0xe0 | code >> 12);
  if (code >= 0x800) bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
  if (code >= 0x80) bytes[code >= 0x800 ? 2 : 1] = (char)(0x80 | (code & 0x3f));
  byoc_string_append_bytes(out, bytes, code >= 0x800 ? 3 : code >= 0x80 ? 2 : 1);
}

static void read_escape(reader_t *r, byoc_string_t *out) {
  static const char letters[] = "nrtbf", meanings[] = "\n\r\t\b\f";
  const char letter = r->at[1];
  if (letter == '\0' || letter == '\n') return;
  r->at += 2;
  const char *found = strchr(letters, letter);
  if (letter != 'u') {
    byoc_string_append_bytes(out, found != NULL ? &meanings[found - letters] : &letter, 1);
    return;
  }
  char digits[5] = "";
  memcpy(digits, r->at, strnlen(r->at, 4));
  char *end = NULL;
  const unsigned long code = strtoul(digits, &end, 16);
  r->at += end - digits;
  append_utf8(out, (uint32_t)code);
}

// A text in quotes, as in JSON.
static const char *read_quoted(reader_t *r, const char *wanted) {
  skip_spaces(r);
  if (*r->at != '"') {
    (void)no_trace(r, wanted);
    return "";
  }
  byoc_string_t text;
  byoc_string_init(&text, byoc_arena_allocator(&r->trace->arena));
  for (++r->at; *r->at != '"' && *r->at != '\n' && *r->at != '\0';) {
    const char *before = r->at;
    if (*r->at == '\\') read_escape(r, &text);
    if (*before != '\\') byoc_string_append_bytes(&text, r->at++, 1);
    if (r->at == before) break; // a backslash at the end of the line
  }
  if (text.failed) (void)no_memory(r);
  if (*r->at != '"') (void)no_trace(r, "the end of a text in quotes");
  if (*r->at == '"') ++r->at;
  return text.failed ? "" : text.data;
}

static byoc_status_t add(reader_t *r, byoc_trace_record_t *record, const char *turn) {
  byoc_trace_t *trace = r->trace;
  byoc_allocator_t allocator = byoc_arena_allocator(&trace->arena);
  record->key = byoc_arena_format(&trace->arena, "%s%s", record->name, turn);
  for (int again = 2; record->key != NULL && byoc_string_map_find(&trace->keys, record->key) != NULL; ++again) {
    record->key = byoc_arena_format(&trace->arena, "%s%s#%d", record->name, turn, again);
  }
  if (record->key == NULL || !byoc_vector_push(&trace->records, allocator, *record) ||
      !byoc_string_map_put(&trace->keys, record->key, (void *)(uintptr_t)trace->records.count)) {
    return no_memory(r);
  }
  return BYOC_OK;
}

static void read_operands(reader_t *r, byoc_trace_record_t *record) {
  BYOC_VECTOR(const char *) names = {0};
  byoc_allocator_t allocator = byoc_arena_allocator(&r->trace->arena);
  for (skip_spaces(r); *r->at == '"' && r->status == BYOC_OK; skip_spaces(r)) {
    if (!byoc_vector_push(&names, allocator, read_quoted(r, "a name"))) (void)no_memory(r);
  }
  record->operands = names.data;
  record->operand_count = names.count;
}

// Reads the description of an instruction: "instruction 12@3, kernel byoc_k4, Conv+Relu 'conv1'".
static const char *read_step(reader_t *r, const char *number, const char **out_origin) {
  const char *op = read_word(r, "what the instruction is"), *symbol = read_quoted(r, "the function called");
  const char *origin = read_quoted(r, "the origin");
  const char *step = byoc_arena_format(&r->trace->arena, "made by instruction %s, %s%s%s%s%s", number, op,
                                       symbol[0] != '\0' ? " " : "", symbol, origin[0] != '\0' ? ", " : "", origin);
  if (step == NULL) (void)no_memory(r);
  *out_origin = origin;
  return step;
}

static byoc_status_t read_line(reader_t *r) {
  byoc_trace_record_t record = {0};
  const char *number = read_word(r, "the number of an instruction");
  const bool is_input = strcmp(number, "input") == 0;
  const size_t digits = strspn(number, "0123456789");
  const char *turn = is_input ? "" : number + digits;
  if (r->status == BYOC_OK && !is_input && (digits == 0 || (turn[0] != '\0' && turn[0] != '@'))) {
    r->at -= strlen(number);
    return no_trace(r, "the number of an instruction");
  }
  record.name = read_quoted(r, "the name of a tensor");
  record.type = read_word(r, "a type");
  record.hash = read_word(r, "a hash");
  if (r->status == BYOC_OK && strspn(record.hash, "0123456789abcdef") != BYOC_TRACE_HASH_SIZE - 1) {
    return no_trace(r, "a hash of 16 digits");
  }
  skip_spaces(r);
  const char *range = r->at;
  static const char *const numbers[] = {"min", "max", "mean", "nan"};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && r->status == BYOC_OK; ++i) {
    const char *end = r->at; // without the spaces behind it
    if (accept(r, numbers[i]))
      (void)read_word(r, "a number");
    else
      r->at = end;
  }
  record.range = copy(r, range, (size_t)(r->at - range));
  skip_spaces(r);
  record.step = "an input";
  if (accept(r, "by")) record.step = read_step(r, number, &record.origin);
  if (accept(r, "from")) read_operands(r, &record);
  if (accept(r, "in")) {
    record.file = byoc_arena_format(&r->trace->arena, "%s/%s", r->folder, read_quoted(r, "a file"));
    if (record.file == NULL) (void)no_memory(r);
  }
  skip_spaces(r);
  if (*r->at != '\n' && *r->at != '\0') (void)no_trace(r, "the end of the line");
  return r->status == BYOC_OK ? add(r, &record, turn) : r->status;
}

static byoc_status_t read_text(reader_t *r) {
  if (!accept(r, "byoc") || !accept(r, "trace") || !accept(r, "1")) return no_trace(r, "'byoc trace 1'");
  r->trace->has_order = true;
  while (r->status == BYOC_OK && *r->at != '\0') {
    if (*r->at == '\n') ++r->at;
    if (*r->at == '\0') break;
    r->trace->is_whole = accept(r, "end");
    if (!r->trace->is_whole) (void)read_line(r);
    if (*r->at != '\n' && *r->at != '\0' && r->status == BYOC_OK) (void)no_trace(r, "the end of the line");
  }
  return r->status;
}

static byoc_status_t read_file(byoc_trace_t *trace, const char *path, const char *folder, byoc_diag_t *diag) {
  char *text = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(byoc_file_read(path, byoc_allocator_system(), diag, &text, &size));
  reader_t reader = {.trace = trace, .folder = folder, .file = path, .text = text, .at = text, .diag = diag};
  byoc_status_t status = read_text(&reader);
  byoc_free(byoc_allocator_system(), text);
  return status;
}

// ---- folders from elsewhere ----

static byoc_status_t read_arrays(byoc_trace_t *trace, const char *path, byoc_diag_t *diag) {
  char **names = NULL;
  size_t count = 0;
  reader_t reader = {.trace = trace, .diag = diag};
  BYOC_RETURN_IF_ERROR(byoc_list_directory(path, byoc_allocator_system(), diag, &names, &count));
  trace->is_whole = trace->by_file = true;
  for (size_t i = 0; i < count && reader.status == BYOC_OK; ++i) {
    if (!byoc_ends_with(names[i], ".npy")) continue;
    byoc_trace_record_t record = {.type = "", .range = ""};
    record.name = copy(&reader, names[i], strlen(names[i]) - strlen(".npy"));
    record.file = byoc_arena_format(&trace->arena, "%s/%s", path, names[i]);
    if (record.file == NULL) (void)no_memory(&reader);
    if (reader.status == BYOC_OK) (void)add(&reader, &record, "");
  }
  byoc_free_names(byoc_allocator_system(), names, count);
  if (reader.status != BYOC_OK || trace->records.count > 0) return reader.status;
  byoc_diag_error(diag, BYOC_INVALID_DATA, "the folder %s has neither " BYOC_TRACE_NAME " nor .npy files", path);
  byoc_diag_hint(diag, "byoc run --dump all=FOLDER fills one");
  return BYOC_INVALID_DATA;
}

byoc_status_t byoc_trace_read(const char *path, byoc_diag_t *diag, byoc_trace_t *out_trace) {
  byoc_trace_t *trace = out_trace;
  *trace = (byoc_trace_t){.path = path};
  byoc_arena_init(&trace->arena, byoc_allocator_system());
  byoc_string_map_init(&trace->keys, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  if (byoc_is_directory(path)) {
    const char *inside = byoc_arena_format(&trace->arena, "%s/" BYOC_TRACE_NAME, path);
    if (inside == NULL) status = byoc_diag_out_of_memory(diag);
    if (inside != NULL) {
      status = byoc_file_exists(inside) ? read_file(trace, inside, path, diag) : read_arrays(trace, path, diag);
    }
  } else {
    status = read_file(trace, path, ".", diag);
  }
  if (status != BYOC_OK) byoc_trace_deinit(trace);
  return status;
}

void byoc_trace_deinit(byoc_trace_t *trace) {
  if (trace->keys.allocator.resize == NULL) return;
  byoc_map_deinit(&trace->keys);
  byoc_arena_deinit(&trace->arena);
  *trace = (byoc_trace_t){0};
}

const byoc_trace_record_t *byoc_trace_find(const byoc_trace_t *trace, const byoc_trace_t *of,
                                           const byoc_trace_record_t *record) {
  uintptr_t index = (uintptr_t)byoc_string_map_get(&trace->keys, record->key);
  if (index == 0 && trace->by_file != of->by_file) {
    byoc_string_t name;
    byoc_string_init(&name, byoc_allocator_system());
    if (trace->by_file) {
      byoc_npy_name(record->key, &name);
      index = (uintptr_t)byoc_string_map_get(&trace->keys, name.data);
    } else {
      for (size_t i = 0; i < trace->records.count && index == 0 && !name.failed; ++i) {
        byoc_string_clear(&name);
        byoc_npy_name(trace->records.data[i].key, &name);
        if (strcmp(name.data, record->key) == 0) index = i + 1;
      }
    }
    byoc_string_deinit(&name);
  }
  return index != 0 ? &trace->records.data[index - 1] : NULL;
}
