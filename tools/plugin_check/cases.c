// SPDX-License-Identifier: Apache-2.0
// Reads the tables of cases and makes models of them.
#include "tools/plugin_check/cases.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/string.h"
#include "core/ir/element.h"

enum { MAX_DIMS = 8, MAX_VALUES = 64, NAME_SIZE = 64, LIST_SIZE = 64 };

// splitmix64
static uint64_t random_next(check_random_t *random) {
  uint64_t z = (random->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double check_random_value(check_random_t *random) {
  return (double)(int64_t)(random_next(random) >> 40) / (double)(1 << 23) - 1.0;
}

double check_random_element(byoc_dtype_t dtype, double value) {
  if (dtype == BYOC_DTYPE_BOOL) return value < 0;
  if (!byoc_dtype_is_any_integer(dtype)) return value;
  if (byoc_dtype_bits(dtype) == 8) return floor(value * 128) + (dtype == BYOC_DTYPE_U8 ? 128 : 0);
  return floor(value * 8) + (byoc_dtype_is_signed_integer(dtype) ? 0 : 8);
}

// ---- reading ----

static char *trim(char *text) {
  while (isspace((unsigned char)*text)) ++text;
  size_t size = strlen(text);
  while (size > 0 && isspace((unsigned char)text[size - 1])) text[--size] = '\0';
  return text;
}

static bool is_wanted(const check_t *check, const char *file, const char *name) {
  char text[256];
  snprintf(text, sizeof(text), "%s/%s", file, name);
  for (size_t i = 0; i < check->case_filters.count; ++i) {
    if (strstr(text, check->case_filters.items[i]) != NULL) return true;
  }
  return check->case_filters.count == 0;
}

// Cuts the line, which stays in use, into its fields.
static void read_line(check_t *check, check_case_file_t *file, char *line, int line_number) {
  char *fields[4], *at = line;
  for (size_t i = 0; i < 4; ++i) {
    char *bar = i < 3 && at != NULL ? strchr(at, '|') : NULL;
    if (at == NULL || (i < 3 && bar == NULL))
      check_stop(check, NULL, "%s:%d: not four fields", file->name, line_number);
    if (bar != NULL) *bar = '\0';
    fields[i] = trim(at);
    at = bar != NULL ? bar + 1 : NULL;
  }
  if (!is_wanted(check, file->name, fields[0])) return;
  file->cases[file->count++] = (check_case_t){
      .name = fields[0], .demands = fields[1], .operands = fields[2], .nodes = fields[3], .line_number = line_number};
}

static void add_file(check_t *check, const char *name, char *text, check_cases_t *cases) {
  check_case_file_t *file = &cases->files[cases->file_count];
  size_t line_count = 1;
  for (const char *c = text; *c != '\0'; ++c) line_count += *c == '\n';
  *file = (check_case_file_t){.name = name, .cases = check_allocate(check, line_count, sizeof(check_case_t))};
  int number = 1;
  for (char *line = text; *line != '\0'; ++number) {
    const size_t length = strcspn(line, "\n");
    const bool is_last = line[length] == '\0';
    line[length] = '\0';
    if (length > 0 && line[0] != '#') read_line(check, file, line, number);
    line += length + !is_last;
  }
  cases->file_count += file->count > 0;
}

static void read_folder(check_t *check, check_cases_t *cases) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_diag_t diag = {0};
  char **names = NULL;
  size_t count = 0;
  check_ok(check, byoc_list_directory(check->case_folder, allocator, &diag, &names, &count), &diag, "reading --cases");
  cases->files = check_allocate(check, count, sizeof(*cases->files));
  for (size_t i = 0; i < count; ++i) {
    char *path = byoc_path_join(allocator, check->case_folder, names[i]), *text = NULL;
    size_t size = 0;
    if (path == NULL) check_stop(check, NULL, "out of memory");
    if (!byoc_ends_with(names[i], ".cases")) continue;
    check_ok(check, byoc_file_read(path, allocator, &diag, &text, &size), &diag, "reading --cases");
    add_file(check, names[i], text, cases);
  }
}

// A rule that is about no case must not pass.
static void need_cases(check_t *check, const check_cases_t *cases) {
  if (cases->file_count > 0) return;
  if (check->case_filters.count > 0) check_stop(check, NULL, "no case holds what --case says");
  check_stop(check, NULL, "'%s' holds no cases in files *.cases", check->case_folder);
}

// The tables of the folder `cases`, with a NUL behind each: BYOC_EMBEDDED_CASES is CASES(conv) CASES(gemm) ...
#define CASES(NAME) extern const char byoc_embed_cases_##NAME[];
BYOC_EMBEDDED_CASES
#undef CASES

void check_cases_read(check_t *check, check_cases_t *out_cases) {
#define CASES(NAME) {#NAME ".cases", byoc_embed_cases_##NAME},
  static const struct { const char *name, *text; } own[] = {BYOC_EMBEDDED_CASES};
#undef CASES
  enum { OWN_COUNT = sizeof(own) / sizeof(own[0]) };
  *out_cases = (check_cases_t){0};
  if (check->case_folder != NULL) {
    read_folder(check, out_cases);
    need_cases(check, out_cases);
    return;
  }
  out_cases->files = check_allocate(check, OWN_COUNT, sizeof(*out_cases->files));
  for (size_t i = 0; i < OWN_COUNT; ++i) {
    char *text = check_allocate(check, strlen(own[i].text) + 1, 1);
    memcpy(text, own[i].text, strlen(own[i].text));
    add_file(check, own[i].name, text, out_cases);
  }
  need_cases(check, out_cases);
}

check_demand_t check_case_demand(const check_case_t *entry, const char *kind) {
  size_t size = strlen(kind);
  for (const char *word = entry->demands; *word != '\0';) {
    size_t length = strcspn(word, " ");
    if (length >= size && strncmp(word, kind, size) == 0) {
      if (length == size) return CHECK_DEMAND_ALL;
      if (strncmp(word + size, ":some", length - size) == 0) return CHECK_DEMAND_SOME;
    }
    word += length + strspn(word + length, " ");
  }
  return CHECK_DEMAND_NONE;
}

int check_case_of_name(const char *name) {
  char *end = NULL;
  if (name == NULL || name[0] != 'k' || !isdigit((unsigned char)name[1])) return -1;
  long index = strtol(name + 1, &end, 10);
  return *end == '_' ? (int)index : -1;
}

const char *check_case_name(const check_case_file_t *file, const char *name) {
  const int index = check_case_of_name(name);
  return index >= 0 && index < (int)file->count ? file->cases[index].name : "?";
}

// ---- writing ----

// The domains that a model imports, besides that of ONNX.
enum { MAX_DOMAINS = 8 };
typedef struct domains_t {
  char names[MAX_DOMAINS][NAME_SIZE];
  size_t count;
} domains_t;

// One case on its way into a model.
typedef struct writer_t {
  check_t *check;
  const check_case_file_t *file;
  const check_case_t *entry;
  int index;
  byoc_onnx_model_t *model;
  byoc_onnx_graph_t *graph;
  struct {
    char name[NAME_SIZE]; // as in the table
    bool is_result, is_read;
  } values[MAX_VALUES];
  size_t value_count;
  domains_t *domains;
  check_random_t random;
} writer_t;

static noreturn void refuse(const writer_t *w, const char *what, const char *where) {
  check_stop(w->check, NULL, "%s:%d: %s, at '%.40s'", w->file->name, w->entry->line_number, what, where);
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

// The text after '=': nothing, "+" or a list that repeats.
static void fill(writer_t *w, void *data, byoc_dtype_t dtype, int64_t count, const char *values, size_t size) {
  double list[LIST_SIZE];
  size_t listed = 0;
  bool is_positive = size > 0 && values[0] == '+';
  for (const char *p = values; !is_positive && p < values + size && listed < LIST_SIZE; ++listed) {
    list[listed] = strtod(p, NULL);
    p += strcspn(p, ", ") + 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    double value = check_random_value(&w->random);
    value = is_positive ? 0.75 + value / 2 : check_random_element(dtype, value);
    byoc_element_set_f64(dtype, data, (size_t)i, listed > 0 ? list[(size_t)i % listed] : value);
  }
}

// ":i64" at *at, which moves behind it; without one, f32.
static byoc_dtype_t read_dtype(const writer_t *w, const char **at) {
  char name[16] = "";
  if (**at != ':') return BYOC_DTYPE_F32;
  const size_t size = word_size(*at + 1);
  if (size < sizeof(name)) memcpy(name, *at + 1, size);
  const byoc_dtype_t dtype = byoc_dtype_parse(name);
  if (byoc_dtype_bits(dtype) < 8 || dtype == BYOC_DTYPE_STRING || byoc_dtype_is_complex(dtype)) {
    refuse(w, "not a type of whole bytes, such as f32, f16, i8, u8 or i64", *at);
  }
  *at += 1 + size;
  return dtype;
}

static const char *write_operand(writer_t *w, const char *at) {
  int64_t dims[MAX_DIMS];
  char shape[128];
  size_t size = word_size(at);
  const char *name = at;
  add_value(w, at, size, false);
  at += size;
  size_t rank = read_dims(w, &at, dims, shape);
  const byoc_dtype_t dtype = read_dtype(w, &at);
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

// "com.microsoft::QLinearAdd", up to `end`: names the operator in `op` and gives its domain, which the model imports
// once.
static const char *read_operator(writer_t *w, const char *begin, const char *end, char op[NAME_SIZE]) {
  static char domain[NAME_SIZE];
  const char *colons = strstr(begin, "::");
  const bool has_domain = colons != NULL && colons < end;
  const char *name = has_domain ? colons + 2 : begin;
  snprintf(domain, sizeof(domain), "%.*s", has_domain ? (int)(colons - begin) : 0, begin);
  snprintf(op, NAME_SIZE, "%.*s", (int)(end - name), name);
  for (size_t i = 0; i < w->domains->count; ++i) {
    if (strcmp(w->domains->names[i], domain) == 0) return domain;
  }
  if (!has_domain) return domain;
  if (w->domains->count == MAX_DOMAINS) refuse(w, "too many domains", begin);
  snprintf(w->domains->names[w->domains->count++], NAME_SIZE, "%s", domain);
  byoc_onnx_model_import(w->model, domain, 1);
  return domain;
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
  const char *domain = read_operator(w, equals + 1 + strspn(equals + 1, " "), open, op);
  write_names(w, open + 1, close - 1, false, &inputs);
  const char *last = equals - 1;
  while (last > at && *last == ' ') --last;
  write_names(w, at, last, true, &outputs);
  snprintf(name, sizeof(name), "k%d_node%d", w->index, number);
  byoc_onnx_node_t *node = byoc_onnx_graph_node(w->graph, op, name, inputs.data, outputs.data);
  byoc_onnx_node_set_domain(node, domain);
  at = close + 1;
  for (at += strspn(at, " "); *at != '\0' && *at != ';'; at += strspn(at, " ")) at = write_attribute(w, node, at);
  byoc_string_deinit(&inputs);
  byoc_string_deinit(&outputs);
  at += *at == ';';
  return at + strspn(at, " ");
}

static void write_case(check_t *check, const check_case_file_t *file, int index, byoc_onnx_model_t *model,
                       domains_t *domains) {
  writer_t w = {.check = check,
                .file = file,
                .entry = &file->cases[index],
                .index = index,
                .model = model,
                .graph = byoc_onnx_model_graph(model),
                .domains = domains};
  for (const char *p = w.entry->name; *p != '\0'; ++p) w.random.state = w.random.state * 31 + (unsigned char)*p;
  for (const char *at = w.entry->operands; *at != '\0';) at = write_operand(&w, at);
  int number = 0;
  for (const char *at = w.entry->nodes; *at != '\0';) at = write_node(&w, at, number++);
  for (size_t i = 0; i < w.value_count; ++i) {
    char name[NAME_SIZE + 16];
    if (!w.values[i].is_result || w.values[i].is_read) continue;
    snprintf(name, sizeof(name), "k%d_%s", index, w.values[i].name);
    byoc_onnx_graph_output(w.graph, name, BYOC_DTYPE_NONE, NULL); // the type is inferred
  }
}

check_model_t check_case_file_model(check_t *check, const check_case_file_t *file) {
  byoc_diag_t diag = {0};
  check_model_t out = {0};
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "cases", 24);
  if (model == NULL) check_stop(check, NULL, "out of memory");
  domains_t domains = {.count = 0};
  for (int i = 0; i < (int)file->count; ++i) write_case(check, file, i, model, &domains);
  check_ok(check, byoc_onnx_model_pack(model, &diag, &out.data, &out.size_bytes), &diag, file->name);
  byoc_onnx_model_destroy(model);
  return out;
}
