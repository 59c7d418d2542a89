// Reads the files of cases of the plugin suite.
#include "tests/conformance/cases.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/string.h"
#include "tests/support/support.h"

enum { MAX_DIMS = 8, MAX_VALUES = 64, NAME_SIZE = 64, LIST_SIZE = 64 };

// ---- reading ----

static char *trim(char *text) {
  while (isspace((unsigned char)*text)) ++text;
  size_t size = strlen(text);
  while (size > 0 && isspace((unsigned char)text[size - 1])) text[--size] = '\0';
  return text;
}

static bool is_wanted(const case_file_t *file, const case_t *entry, const char *filter) {
  char name[256];
  snprintf(name, sizeof(name), "%s/%s", file->name, entry->name);
  return filter == NULL || strstr(name, filter) != NULL;
}

static void read_line(case_file_t *file, const char *line, size_t size, int line_number, const char *filter) {
  case_t entry = {.line_number = line_number, .line = strndup(line, size)};
  assert_non_null(entry.line);
  char *fields[4], *at = entry.line;
  for (size_t i = 0; i < 4; ++i) {
    char *bar = i < 3 && at != NULL ? strchr(at, '|') : NULL;
    if (at == NULL || (i < 3 && bar == NULL)) fail_msg("%s:%d: not four fields", file->path, line_number);
    if (bar != NULL) *bar = '\0';
    fields[i] = trim(at);
    at = bar != NULL ? bar + 1 : NULL;
  }
  entry.name = fields[0], entry.demands = fields[1], entry.operands = fields[2], entry.nodes = fields[3];
  if (!is_wanted(file, &entry, filter)) {
    free(entry.line);
    return;
  }
  case_t *cases = realloc(file->cases, (file->count + 1) * sizeof(*cases));
  assert_non_null(cases);
  file->cases = cases;
  file->cases[file->count++] = entry;
}

static void read_file(const char *folder, const char *name, const char *filter, case_file_t *out_file) {
  byoc_diag_t diag = {0};
  char *text = NULL;
  size_t size = 0;
  *out_file = (case_file_t){.path = byoc_path_join(byoc_allocator_system(), folder, name)};
  assert_non_null(out_file->path);
  out_file->name = byoc_path_base(out_file->path);
  byoc_test_ok(byoc_file_read(out_file->path, byoc_allocator_system(), &diag, &text, &size), &diag);
  int number = 1;
  for (const char *line = text; *line != '\0'; ++number) {
    size_t length = strcspn(line, "\n");
    if (length > 0 && line[0] != '#') read_line(out_file, line, length, number, filter);
    line += length + (line[length] == '\n');
  }
  byoc_free(byoc_allocator_system(), text);
}

void case_table_read(const char *folder, const char *filter, case_table_t *out_table) {
  byoc_diag_t diag = {0};
  char **names = NULL;
  size_t count = 0;
  *out_table = (case_table_t){0};
  byoc_test_ok(byoc_list_directory(folder, byoc_allocator_system(), &diag, &names, &count), &diag);
  out_table->files = calloc(count + 1, sizeof(*out_table->files));
  assert_non_null(out_table->files);
  for (size_t i = 0; i < count; ++i) {
    case_file_t *file = &out_table->files[out_table->file_count];
    if (!byoc_ends_with(names[i], ".cases")) continue;
    read_file(folder, names[i], filter, file);
    if (file->count > 0) {
      out_table->file_count += 1;
    } else {
      byoc_free(byoc_allocator_system(), file->path);
    }
  }
  byoc_free_names(byoc_allocator_system(), names, count);
}

void case_table_deinit(case_table_t *table) {
  for (size_t f = 0; f < table->file_count; ++f) {
    for (size_t i = 0; i < table->files[f].count; ++i) free(table->files[f].cases[i].line);
    free(table->files[f].cases);
    byoc_free(byoc_allocator_system(), table->files[f].path);
  }
  free(table->files);
}

demand_t case_demand(const case_t *entry, const char *kind) {
  size_t size = strlen(kind);
  for (const char *word = entry->demands; *word != '\0';) {
    size_t length = strcspn(word, " ");
    if (length >= size && strncmp(word, kind, size) == 0) {
      if (length == size) return DEMAND_ALL;
      if (strncmp(word + size, ":some", length - size) == 0) return DEMAND_SOME;
    }
    word += length + strspn(word + length, " ");
  }
  return DEMAND_NONE;
}

int case_of_name(const char *name) {
  char *end = NULL;
  if (name == NULL || name[0] != 'k' || !isdigit((unsigned char)name[1])) return -1;
  long index = strtol(name + 1, &end, 10);
  return *end == '_' ? (int)index : -1;
}

// ---- writing ----

// One case on its way into a model.
typedef struct writer_t {
  const case_file_t *file;
  const case_t *entry;
  int index;
  byoc_onnx_graph_t *graph;
  struct {
    char name[NAME_SIZE]; // as in the table
    bool is_result, is_read;
  } values[MAX_VALUES];
  size_t value_count;
  byoc_dtype_t result_dtype; // f64 where an operand is
  byoc_test_random_t random;
} writer_t;

static void refuse(const writer_t *w, const char *what, const char *where) {
  fail_msg("%s:%d: %s, at '%.40s'", w->file->path, w->entry->line_number, what, where);
}

static size_t add_value(writer_t *w, const char *name, size_t size, bool is_result) {
  if (w->value_count == MAX_VALUES || size == 0 || size >= NAME_SIZE - 16) refuse(w, "not a name", name);
  memcpy(w->values[w->value_count].name, name, size);
  w->values[w->value_count].is_result = is_result;
  return w->value_count++;
}

static void write_name(const writer_t *w, const char *name, size_t size, byoc_string_t *out) {
  byoc_string_appendf(out, "k%d_%.*s", w->index, (int)size, name);
}

static size_t word_size(const char *text) {
  size_t size = 0;
  while (isalnum((unsigned char)text[size]) || text[size] == '_') ++size;
  return size;
}

// "[2,3]" at *at, which moves behind it.
static size_t read_dims(const writer_t *w, const char **at, int64_t dims[MAX_DIMS], char text[128]) {
  const char *begin = *at + 1, *end = strchr(begin, ']');
  size_t rank = 0;
  if (**at != '[' || end == NULL || end - begin >= 128) refuse(w, "expected [dims]", *at);
  snprintf(text, 128, "%.*s", (int)(end - begin), begin);
  for (const char *p = begin; p < end && rank < MAX_DIMS; ++rank) {
    dims[rank] = strtoll(p, NULL, 10);
    p += strcspn(p, ",]") + 1;
  }
  *at = end + 1;
  return rank;
}

static void store(void *data, byoc_dtype_t dtype, int64_t index, double value) {
  if (dtype == BYOC_DTYPE_F32) ((float *)data)[index] = (float)value;
  if (dtype == BYOC_DTYPE_F64) ((double *)data)[index] = value;
  if (dtype == BYOC_DTYPE_I64) ((int64_t *)data)[index] = (int64_t)value;
}

// What stands behind '=': nothing, "+" or a list that repeats.
static void fill(writer_t *w, void *data, byoc_dtype_t dtype, int64_t count, const char *values, size_t size) {
  double list[LIST_SIZE];
  size_t listed = 0;
  bool is_positive = size > 0 && values[0] == '+';
  for (const char *p = values; !is_positive && p < values + size && listed < LIST_SIZE; ++listed) {
    list[listed] = strtod(p, NULL);
    p += strcspn(p, ", ") + 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    double value = (double)byoc_test_float(&w->random);
    if (is_positive) value = 0.75 + value / 2;
    store(data, dtype, i, listed > 0 ? list[(size_t)i % listed] : value);
  }
}

static const char *write_operand(writer_t *w, const char *at) {
  int64_t dims[MAX_DIMS];
  char shape[128];
  size_t size = word_size(at);
  const char *name = at;
  add_value(w, at, size, false);
  at += size;
  size_t rank = read_dims(w, &at, dims, shape);
  byoc_dtype_t dtype = BYOC_DTYPE_F32;
  if (*at == ':') {
    dtype = strncmp(at, ":i64", 4) == 0 ? BYOC_DTYPE_I64 : BYOC_DTYPE_F64;
    if (dtype == BYOC_DTYPE_F64 && strncmp(at, ":f64", 4) != 0) refuse(w, "the types are f64 and i64", at);
    at += 4;
  }
  if (dtype == BYOC_DTYPE_F64) w->result_dtype = dtype;
  byoc_string_t full;
  byoc_string_init(&full, byoc_allocator_system());
  write_name(w, name, size, &full);
  if (*at == '=') {
    size_t value_size = strcspn(at + 1, " ");
    int64_t count = 1;
    for (size_t i = 0; i < rank; ++i) count *= dims[i];
    void *data = byoc_onnx_graph_initialiser(w->graph, full.data, dtype, rank, dims);
    if (data != NULL) fill(w, data, dtype, count, at + 1, value_size);
    at += 1 + value_size;
  } else {
    byoc_onnx_graph_input(w->graph, full.data, dtype, shape);
  }
  byoc_string_deinit(&full);
  return at + strspn(at, " ");
}

// "a,b,," up to `end`: names into `out`, each marked as read, or added as a result.
static void write_names(writer_t *w, const char *at, const char *end, bool are_results, byoc_string_t *out) {
  while (at <= end) {
    at += strspn(at, " ");
    size_t size = word_size(at), found = w->value_count;
    if (size > 0 && are_results) {
      add_value(w, at, size, true);
    } else if (size > 0) {
      for (size_t i = 0; i < w->value_count; ++i) {
        if (strlen(w->values[i].name) == size && strncmp(w->values[i].name, at, size) == 0) found = i;
      }
      if (found == w->value_count) refuse(w, "no such value", at);
      w->values[found].is_read = true;
    }
    if (size > 0) write_name(w, at, size, out);
    at += size;
    at += strspn(at, " ");
    if (at < end) byoc_string_append(out, ",");
    if (at < end && *at != ',') refuse(w, "expected ','", at);
    ++at;
  }
}

static const char *write_attribute(writer_t *w, byoc_onnx_node_t *node, const char *at) {
  char key[NAME_SIZE], value[128];
  size_t key_size = word_size(at), value_size = strcspn(at + key_size + 1, " ;");
  if (key_size == 0 || key_size >= NAME_SIZE || at[key_size] != '=' || value_size >= sizeof(value)) {
    refuse(w, "expected key=value", at);
  }
  snprintf(key, sizeof(key), "%.*s", (int)key_size, at);
  snprintf(value, sizeof(value), "%.*s", (int)value_size, at + key_size + 1);
  bool is_number = value[0] == '-' || isdigit((unsigned char)value[0]);
  if (is_number && strchr(value, ',') != NULL) {
    int64_t list[LIST_SIZE];
    size_t count = 0;
    for (char *p = value; *p != '\0' && count < LIST_SIZE; p += *p == ',') list[count++] = strtoll(p, &p, 10);
    byoc_onnx_node_ints(node, key, list, count);
  } else if (is_number && strpbrk(value, ".e") != NULL) {
    byoc_onnx_node_float(node, key, strtof(value, NULL));
  } else if (is_number) {
    byoc_onnx_node_int(node, key, strtoll(value, NULL, 10));
  } else {
    byoc_onnx_node_string(node, key, value);
  }
  return at + key_size + 1 + value_size;
}

// "y = Conv(x,w) pads=1,1": one node.
static const char *write_node(writer_t *w, const char *at, int number) {
  byoc_string_t inputs, outputs;
  byoc_string_init(&inputs, byoc_allocator_system());
  byoc_string_init(&outputs, byoc_allocator_system());
  char op[NAME_SIZE], name[NAME_SIZE];
  const char *equals = strchr(at, '='), *open = equals ? strchr(equals, '(') : NULL;
  const char *close = open ? strchr(open, ')') : NULL;
  if (close == NULL) refuse(w, "expected y = Op(x)", at);
  const char *begin = equals + 1 + strspn(equals + 1, " ");
  snprintf(op, sizeof(op), "%.*s", (int)(open - begin), begin);
  write_names(w, open + 1, close - 1, false, &inputs);
  const char *last = equals - 1;
  while (last > at && *last == ' ') --last;
  write_names(w, at, last, true, &outputs);
  snprintf(name, sizeof(name), "k%d_node%d", w->index, number);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(w->graph, op, name, inputs.data, outputs.data);
  at = close + 1;
  for (at += strspn(at, " "); *at != '\0' && *at != ';'; at += strspn(at, " ")) at = write_attribute(w, node, at);
  byoc_string_deinit(&inputs);
  byoc_string_deinit(&outputs);
  at += *at == ';';
  return at + strspn(at, " ");
}

static void write_case(const case_file_t *file, int index, byoc_onnx_graph_t *graph) {
  writer_t w = {
      .file = file, .entry = &file->cases[index], .index = index, .graph = graph, .result_dtype = BYOC_DTYPE_F32};
  for (const char *p = w.entry->name; *p != '\0'; ++p) w.random.state = w.random.state * 31 + (unsigned char)*p;
  for (const char *at = w.entry->operands; *at != '\0';) at = write_operand(&w, at);
  int number = 0;
  for (const char *at = w.entry->nodes; *at != '\0';) at = write_node(&w, at, number++);
  for (size_t i = 0; i < w.value_count; ++i) {
    char name[NAME_SIZE + 16];
    if (!w.values[i].is_result || w.values[i].is_read) continue;
    snprintf(name, sizeof(name), "k%d_%s", index, w.values[i].name);
    byoc_onnx_graph_output(graph, name, w.result_dtype, NULL);
  }
}

void case_file_model(const case_file_t *file, int which, uint8_t **out_data, size_t *out_size) {
  byoc_diag_t diag = {0};
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "cases", 24);
  assert_non_null(model);
  for (int i = 0; i < (int)file->count; ++i) {
    if (which == ALL_CASES || which == i) write_case(file, i, byoc_onnx_model_graph(model));
  }
  byoc_test_ok(byoc_onnx_model_pack(model, &diag, out_data, out_size), &diag);
  byoc_onnx_model_destroy(model);
}
