// SPDX-License-Identifier: Apache-2.0
// Reads a table and checks it as a whole.
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_load.h"
#include "packed.h"
#include "rule.h"

typedef struct table_reader_t {
  const byoc_host_t *host;
  byoc_shim_table_t *table;
  char *error;
  size_t error_size;
} table_reader_t;

static bool fail(table_reader_t *r, const char *what, const char *detail) {
  snprintf(r->error, r->error_size, "%s%s%s", what, detail != NULL ? ": " : "", detail != NULL ? detail : "");
  return false;
}

static bool need_text(table_reader_t *r, const json_t *object, const char *key, const char **out_text) {
  *out_text = json_string_value(json_object_get(object, key));
  return *out_text != NULL || fail(r, "the string is missing", key);
}

static bool check_members(table_reader_t *r, json_t *object, const char *what, const char *known) {
  byoc_shim_scope_t scope = {.host = r->host};
  if (byoc_shim_check_members(&scope, object, known)) return true;
  return fail(r, what, scope.error);
}

static bool read_texts(table_reader_t *r, const json_t *object, const char *key, const char **out,
                       uint32_t *out_count) {
  const json_t *list = json_object_get(object, key);
  if (list != NULL && !json_is_array(list)) return fail(r, "it is not a list", key);
  if (json_array_size(list) > BYOC_SHIM_MAX_FILES) return fail(r, "the list is too long", key);
  for (size_t i = 0; i < json_array_size(list); ++i) {
    out[i] = json_string_value(json_array_get(list, i));
    if (out[i] == NULL) return fail(r, "a member of the list is not a string", key);
    *out_count = (uint32_t)i + 1;
  }
  return true;
}

// {"name": "core", "choices": "auto|haswell", "default": "auto", "help": "..."}; without choices an integer.
static bool read_option(table_reader_t *r, json_t *item) {
  byoc_shim_table_t *table = r->table;
  byoc_option_t *option = &table->options[table->option_count];
  *option = (byoc_option_t){.header = BYOC_HEADER(byoc_option_t, 1)};
  if (!check_members(r, item, "an option", "name choices minimum maximum default help") ||
      !need_text(r, item, "name", &option->name) || !need_text(r, item, "default", &option->default_value) ||
      !need_text(r, item, "help", &option->help)) {
    return false;
  }
  option->choices = json_string_value(json_object_get(item, "choices"));
  option->type = option->choices != NULL ? BYOC_OPTION_CHOICE : BYOC_OPTION_INT;
  option->minimum = json_integer_value(json_object_get(item, "minimum"));
  option->maximum = json_integer_value(json_object_get(item, "maximum"));
  ++table->option_count;
  return true;
}

static bool add_symbol(table_reader_t *r, const char *symbol) {
  byoc_shim_table_t *table = r->table;
  for (uint32_t i = 0; i < table->symbol_count; ++i) {
    if (strcmp(table->symbols[i], symbol) == 0) return true;
  }
  if (table->symbol_count == BYOC_SHIM_MAX_SYMBOLS) return fail(r, "the rules call too many functions", NULL);
  table->symbols[table->symbol_count++] = symbol;
  return true;
}

static bool add_call_symbols(table_reader_t *r, json_t *call) {
  const char *dtype;
  json_t *symbol;
  if (json_is_string(call)) return add_symbol(r, json_string_value(call));
  json_object_foreach(call, dtype, symbol) {
    if (byoc_dtype_parse(dtype) == BYOC_DTYPE_NONE) return fail(r, "'call' names an unknown element type", dtype);
    if (!json_is_string(symbol)) return fail(r, "'call' has no function for", dtype);
    if (!add_symbol(r, json_string_value(symbol))) return false;
  }
  return true;
}

static bool read_rule(table_reader_t *r, const json_t *rule) {
  byoc_shim_scope_t scope = {.host = r->host};
  const char *name = json_string_value(json_object_get(rule, "name"));
  if (!byoc_shim_walk_rule(&scope, r->table->target, rule, NULL)) {
    byoc_shim_fail_in(&scope, "rule '%.64s'", name != NULL ? name : "");
    return fail(r, scope.error, NULL);
  }
  const char *packed = byoc_shim_packed_symbol(rule);
  if (packed != NULL) return add_symbol(r, packed);
  const json_t *steps = json_object_get(rule, "steps");
  for (size_t i = 0; i < json_array_size(steps); ++i) {
    if (!add_call_symbols(r, json_object_get(json_array_get(steps, i), "call"))) return false;
  }
  return true;
}

// ---- the library ----

// The host has recorded why.
static bool host_refused(table_reader_t *r) {
  r->error[0] = '\0';
  return false;
}

static bool may_have_text(table_reader_t *r, const json_t *object, const char *key, const char **out_text) {
  const json_t *member = json_object_get(object, key);
  *out_text = json_string_value(member);
  return member == NULL || *out_text != NULL || fail(r, "it is not a string", key);
}

// Names of files are relative to the table; a table inside a plugin has none of its own.
static bool find_file(table_reader_t *r, const char **path) {
  const byoc_table_api_t *api = byoc_shim_table_api(r->host);
  if (api == NULL || strcmp(*path, "embedded") == 0) return true;
  return api->find_file(r->host, *path, path) == BYOC_OK || host_refused(r);
}

static bool find_files(table_reader_t *r, const char **paths, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!find_file(r, &paths[i])) return false;
  }
  return true;
}

// Folders are relative to the table, too, but for those of the artifact ($ORIGIN).
static bool find_folders(table_reader_t *r, json_t *list) {
  const byoc_table_api_t *api = byoc_shim_table_api(r->host);
  for (uint32_t i = 0; i < r->table->search_count && api != NULL; ++i) {
    const char *folder = r->table->search[i];
    if (folder[0] == '/' || folder[0] == '$') continue;
    json_t *whole = json_sprintf("%s/%s", api->folder(r->host), folder);
    if (whole == NULL || json_array_set_new(list, i, whole) != 0) return fail(r, "out of memory", NULL);
    r->table->search[i] = json_string_value(whole);
  }
  return true;
}

// "archives": {"aarch64-linux-gnu": "aarch64/libmine.a"}. They may be missing: a build that needs one says so.
static bool read_archives(table_reader_t *r, json_t *archives) {
  byoc_shim_table_t *table = r->table;
  const char *machines;
  json_t *file;
  if (archives != NULL && !json_is_object(archives)) return fail(r, "it is not an object of triples", "archives");
  json_object_foreach(archives, machines, file) {
    if (!json_is_string(file)) return fail(r, "'archives' has no file for", machines);
    if (table->archive_count == BYOC_SHIM_MAX_FILES) return fail(r, "there are too many", "archives");
    table->archives[table->archive_count] = json_string_value(file);
    table->archive_machines[table->archive_count++] = machines;
  }
  return true;
}

static bool read_library(table_reader_t *r, json_t *library) {
  byoc_shim_table_t *table = r->table;
  if (library == NULL) return fail(r, "the object 'library' is missing", NULL);
  if (!check_members(r, library, "'library'", "name files sources flags headers archives needed search shared setup") ||
      !may_have_text(r, library, "name", &table->library_name) ||
      !may_have_text(r, library, "shared", &table->shared) || !may_have_text(r, library, "setup", &table->setup) ||
      !read_texts(r, library, "files", table->files, &table->file_count) ||
      !read_texts(r, library, "sources", table->sources, &table->source_count) ||
      !read_texts(r, library, "flags", table->flags, &table->flag_count) ||
      !read_texts(r, library, "headers", table->headers, &table->header_count) ||
      !read_archives(r, json_object_get(library, "archives")) ||
      !read_texts(r, library, "needed", table->needed, &table->needed_count) ||
      !read_texts(r, library, "search", table->search, &table->search_count)) {
    return false;
  }
  if (table->library_name == NULL) table->library_name = table->target;
  if (table->file_count + table->source_count + table->needed_count == 0) {
    return fail(r, "'library' has nothing to call: it needs files, sources or needed", NULL);
  }
  if (table->flag_count > 0 && table->source_count == 0) return fail(r, "'flags' are for 'sources'", NULL);
  if (table->header_count > 0 && table->source_count == 0) return fail(r, "'headers' are for 'sources'", NULL);
  if (table->shared != NULL && strchr(table->shared, '/') != NULL && !find_file(r, &table->shared)) return false;
  return find_files(r, table->files, table->file_count) && find_files(r, table->sources, table->source_count) &&
         find_folders(r, json_object_get(library, "search"));
}

// Sources and embedded archives define their functions only later; other libraries are checked now.
static bool check_library(table_reader_t *r) {
  const byoc_shim_table_t *table = r->table;
  const byoc_table_api_t *api = byoc_shim_table_api(r->host);
  if (api == NULL || table->source_count > 0) return true;
  byoc_file_content_t files[BYOC_SHIM_MAX_FILES];
  for (uint32_t i = 0; i < table->file_count; ++i) {
    files[i] = (byoc_file_content_t){.header = BYOC_HEADER(byoc_file_content_t, 1), .path = table->files[i]};
  }
  const bool has_setup = table->setup != NULL && strchr(table->setup, '{') == NULL;
  const byoc_static_library_t library = {.header = BYOC_HEADER(byoc_static_library_t, 1),
                                         .name = table->library_name,
                                         .files = files,
                                         .file_count = table->file_count,
                                         .file_stride = sizeof(*files),
                                         .symbols = {table->symbols, table->symbol_count},
                                         .needed = {table->needed, table->needed_count},
                                         .search = {table->search, table->search_count},
                                         .setup_symbol = has_setup ? table->setup : NULL};
  return api->check_library(r->host, &library) == BYOC_OK || host_refused(r);
}

// ---- the whole ----

static bool read_table(table_reader_t *r) {
  byoc_shim_table_t *table = r->table;
  const json_t *options = json_object_get(table->json, "options");
  if (!check_members(r, table->json, "the table", "target version description library options rules") ||
      !need_text(r, table->json, "target", &table->target) ||
      !need_text(r, table->json, "description", &table->description) ||
      !read_library(r, json_object_get(table->json, "library"))) {
    return false;
  }
  if (json_array_size(options) > BYOC_SHIM_MAX_OPTIONS) return fail(r, "there are too many options", NULL);
  for (size_t i = 0; i < json_array_size(options); ++i) {
    if (!read_option(r, json_array_get(options, i))) return false;
  }
  table->rules = json_object_get(table->json, "rules");
  if (json_array_size(table->rules) == 0) return fail(r, "the list 'rules' is missing", NULL);
  if (json_array_size(table->rules) > BYOC_SHIM_MAX_RULES) return fail(r, "there are too many rules", NULL);
  table->rule_count = (uint32_t)json_array_size(table->rules);
  for (uint32_t i = 0; i < table->rule_count; ++i) {
    if (!read_rule(r, json_array_get(table->rules, i))) return false;
  }
  return check_library(r);
}

const byoc_table_api_t *byoc_shim_table_api(const byoc_host_t *host) {
  const byoc_table_api_t *api = host->extension != NULL ? host->extension(host, BYOC_TABLE_EXTENSION, 1) : NULL;
  uint64_t size_bytes = 0;
  return api != NULL && api->text(host, &size_bytes) != NULL ? api : NULL;
}

bool byoc_shim_table_read(const byoc_host_t *host, const char *text, size_t size_bytes, byoc_shim_table_t *out_table,
                          char *out_error, size_t error_size) {
  *out_table = (byoc_shim_table_t){.json = NULL};
  table_reader_t r = {.host = host, .table = out_table, .error = out_error, .error_size = error_size};
  json_error_t error;
  bool out_of_memory;
  out_table->json = byoc_plugin_load_json(text, size_bytes, JSON_REJECT_DUPLICATES, &error, &out_of_memory);
  if (out_table->json == NULL) {
    if (out_of_memory) snprintf(out_error, error_size, "out of memory");
    if (!out_of_memory) snprintf(out_error, error_size, "line %d, column %d: %s", error.line, error.column, error.text);
    return false;
  }
  if (read_table(&r)) return true;
  byoc_shim_table_deinit(out_table);
  return false;
}

void byoc_shim_table_deinit(byoc_shim_table_t *table) {
  json_decref(table->json);
  *table = (byoc_shim_table_t){.json = NULL};
}
