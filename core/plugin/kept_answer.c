// SPDX-License-Identifier: Apache-2.0
// Writes the answer for one function into the cache, and reads it back into a session.
#include "core/plugin/kept_answer.h"

#include <dlfcn.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/module/linkage.h"
#include "core/plugin/host.h"
#include "core/plugin/kept_parts.h"
#include "core/targets/hook.h"

// ---- opening ----

static bool is_off;

void byoc_kept_answers_switch_off(void) {
  is_off = true;
}

// Where the file with this address begins in memory; NULL: it is in no file.
static const char *image_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static byoc_status_t depend(const byoc_codegen_t *session, byoc_diag_t *diag, byoc_kept_answers_t *kept) {
  enum { MOST_BYTES = 4096 };
  const byoc_backend_t *backend = session->target->kind->backend;
  const char *text = "";
  if (backend->depends_on != NULL) {
    const byoc_foreign_t outer = byoc_hook_enter(session->target, "hook depends_on", NULL, NULL);
    text = backend->depends_on(backend->self, session->target);
    byoc_foreign_leave(&outer);
  }
  if (text == NULL || strnlen(text, MOST_BYTES + 1) > MOST_BYTES) {
    byoc_log(BYOC_LOG_INFO, "%s: no answer is cached, because its hook depends_on gives %s",
             session->target->kind->name, text == NULL ? "none" : "more than 4096 bytes");
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_kept_build_hash(session, text, diag, &kept->build));
  kept->is_open = true;
  return BYOC_OK;
}

byoc_status_t byoc_kept_answers_open(byoc_codegen_t *session, byoc_diag_t *diag, byoc_kept_answers_t *out_kept) {
  *out_kept = (byoc_kept_answers_t){0};
  const byoc_target_kind_t *kind = session->target->kind;
  const byoc_backend_t *backend = kind->backend;
  const void *hook = backend->generate != NULL ? *(void *const *)(const void *)&backend->generate
                                               : *(void *const *)(const void *)&backend->generate_function;
  if ((backend->flags & BYOC_BACKEND_CACHED) == 0 || session->services->cache_directory == NULL) return BYOC_OK;
  if (is_off || kind->plugin_content == NULL) return BYOC_OK; // another build of the plugin could not be told apart
  out_kept->image = image_of(hook);
  out_kept->cache = (byoc_plugin_cache_t){
      .folder = byoc_arena_format(&session->arena, "%s/answers", session->services->cache_directory),
      .plugin = kind->plugin_name,
      .version = kind->plugin_version,
      .content = kind->plugin_content};
  if (out_kept->cache.folder == NULL) return byoc_diag_out_of_memory(diag);
  return depend(session, diag, out_kept);
}

void byoc_kept_answers_close(const byoc_kept_answers_t *kept) {
  if (kept->is_open) byoc_plugin_cache_prune(&kept->cache, BYOC_KEPT_FOLDER_LIMIT_BYTES);
}

// ---- writing ----

static const char *why_not_module(const byoc_kept_answers_t *kept, const byoc_runtime_module_t *module) {
  const bool is_kept_kind = module->kind == BYOC_RUNTIME_MODULE_C_SOURCE ||
                            module->kind == BYOC_RUNTIME_MODULE_STATIC_LIBRARY ||
                            module->kind == BYOC_RUNTIME_MODULE_ENGINE || module->kind == BYOC_RUNTIME_MODULE_JSON ||
                            module->kind == BYOC_RUNTIME_MODULE_PACKED || module->kind == BYOC_RUNTIME_MODULE_REPORT;
  if (!is_kept_kind) return "it has code for a device, or a kind of module that is not cached";
  if (module->code != NULL) return "its code is announced";
  if (module->in_process != NULL && image_of(module->in_process) != kept->image) {
    return "its engine's table is not in the plugin's own memory";
  }
  const void *open = *(void *const *)(const void *)&module->open_in_process;
  if (open != NULL && image_of(open) != kept->image) return "its open_in_process is not in the plugin's own file";
  return NULL;
}

static const char *why_not(const byoc_kept_answers_t *kept, const byoc_codegen_t *session, unsigned read) {
  if (kept->image == NULL) return "its hook is in no file";
  if (session->prepared != NULL) return session->prepared;
  if ((read & BYOC_READ_MODULE) != 0) return "its hook read the whole module";
  if ((read & BYOC_READ_EDIT) != 0) return "its hook edited the function";
  if (session->results[0].answer == BYOC_CODEGEN_HANDED_BACK) return "the function was handed back";
  for (size_t i = 0; i < session->made.count; ++i) {
    const char *why = why_not_module(kept, session->made.data[i]);
    if (why != NULL) return why;
  }
  return NULL;
}

static uint64_t offset_of(const kept_writer_t *w, const void *address) {
  return address != NULL ? (uint64_t)((const char *)address - w->kept->image) : UINT64_MAX;
}

static void write_texts(kept_writer_t *w, const char *const *texts, size_t count) {
  kept_write_number(w, count);
  for (size_t i = 0; i < count; ++i) kept_write_text(w, texts[i]);
}

static void write_files(kept_writer_t *w, const byoc_file_bytes_t *files, size_t count) {
  kept_write_number(w, count);
  for (size_t i = 0; i < count; ++i) {
    kept_write_text(w, files[i].name);
    kept_write_content(w, files[i].data, files[i].size_bytes);
  }
}

static void write_constant(kept_writer_t *w, const byoc_bound_constant_t *constant) {
  kept_write_number(w, constant->type->dtype);
  kept_write_number(w, (uint64_t)constant->type->rank);
  for (int32_t i = 0; i < constant->type->rank; ++i) kept_write_number(w, (uint64_t)constant->type->dims[i].constant);
  kept_write_content(w, constant->data, constant->size_bytes);
}

// A field that is added to modules is written and read here, or its kind is not cached (why_not_module).
_Static_assert(sizeof(void *) != 8 || sizeof(byoc_runtime_module_t) - offsetof(byoc_runtime_module_t, owner) == 560,
               "write_module and read_module handle all fields of byoc_runtime_module_t");

static void write_module(kept_writer_t *w, const byoc_runtime_module_t *m) {
  kept_write_number(w, (uint64_t)m->kind);
  kept_write_text(w, byoc_runtime_module_given_name(m));
  write_texts(w, m->symbols.data, m->symbols.count);
  kept_write_text(w, m->fits);
  kept_write_text(w, m->runtime_options);
  kept_write_text(w, m->source);
  kept_write_text(w, m->compiler);
  write_texts(w, m->flags.data, m->flags.count);
  write_files(w, m->files.data, m->files.count);
  write_texts(w, m->needed.data, m->needed.count);
  write_texts(w, m->search.data, m->search.count);
  kept_write_text(w, m->setup_symbol);
  kept_write_number(w, offset_of(w, *(void *const *)(const void *)&m->open_in_process));
  kept_write_text(w, m->engine_symbol);
  write_files(w, m->blobs.data, m->blobs.count);
  kept_write_number(w, offset_of(w, m->in_process));
  kept_write_text(w, m->packed_symbol);
  kept_write_text(w, m->engine_name);
  kept_write_text(w, m->json);
  kept_write_number(w, m->constants.count);
  for (size_t i = 0; i < m->constants.count; ++i) write_constant(w, &m->constants.data[i]);
  kept_write_number(w, m->workspace_size_bytes);
}

// What the file at a path has in it now. An entry has it for each file that the hook handed over by its path.
static bool hash_file(const char *path, byoc_content_hash_t *out_hash) {
  byoc_file_view_t view;
  if (byoc_file_view_open(path, NULL, &view) != BYOC_OK) return false;
  *out_hash = byoc_content_hash(view.data, view.size_bytes);
  byoc_file_view_close(&view);
  return true;
}

static void write_paths(kept_writer_t *w, const byoc_codegen_t *session) {
  kept_write_number(w, session->paths.count);
  for (size_t i = 0; i < session->paths.count; ++i) {
    byoc_content_hash_t hash = {0};
    if (!hash_file(session->paths.data[i], &hash)) w->has_lost = true;
    kept_write_text(w, session->paths.data[i]);
    kept_write_number(w, hash.low);
    kept_write_number(w, hash.high);
  }
}

// The answer is no longer valid if a file has changed.
static void check_paths(kept_reader_t *r) {
  const uint64_t count = kept_read_count(r);
  for (uint64_t i = 0; i < count && !r->failed; ++i) {
    byoc_content_hash_t hash = {0};
    const char *path = kept_read_text(r, &r->session->arena);
    const uint64_t low = kept_read_number(r), high = kept_read_number(r);
    if (path == NULL || !hash_file(path, &hash) || hash.low != low || hash.high != high) r->failed = true;
  }
}

static byoc_status_t write_result(kept_writer_t *w, byoc_codegen_t *session, byoc_diag_t *diag) {
  const byoc_codegen_result_t *result = &session->results[0];
  kept_nodes_t nodes = {0};
  BYOC_RETURN_IF_ERROR(kept_nodes_list(session, diag, &nodes));
  write_paths(w, session);
  kept_write_number(w, (uint64_t)result->answer);
  kept_write_text(w, result->reason);
  kept_write_number(w, result->nodes != NULL ? result->node_count : UINT64_MAX);
  for (size_t i = 0; i < result->node_count && result->nodes != NULL; ++i) {
    kept_write_number(w, kept_nodes_find(&nodes, result->nodes[i]));
  }
  kept_write_text(w, result->precision);
  kept_write_text(w, result->lapse);
  kept_write_text(w, session->report->required_cpu_features.data);
  kept_write_number(w, session->made.count);
  for (size_t i = 0; i < session->made.count; ++i) write_module(w, session->made.data[i]);
  return w->text.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

enum { NAMES_DECIDE, ANSWER }; // the first number of an entry

// Stores one entry; a failure is only logged.
static byoc_status_t store(const byoc_kept_answers_t *kept, const char *key, const byoc_string_t *text,
                           byoc_diag_t *diag) {
  byoc_diag_t why = {0};
  const byoc_status_t status = byoc_plugin_cache_put(&kept->cache, key, text->data, text->size, &why);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) byoc_log(BYOC_LOG_INFO, "an answer is not cached: %s", why.message);
  return BYOC_OK;
}

static byoc_status_t write_entries(const byoc_kept_answers_t *kept, byoc_codegen_t *session, const byoc_kept_key_t *key,
                                   bool has_names, byoc_diag_t *diag) {
  kept_writer_t w = {.kept = kept, .arena = &session->arena};
  byoc_string_init(&w.text, session->allocator);
  kept_write_number(&w, ANSWER);
  byoc_status_t status = write_result(&w, session, diag);
  if (status == BYOC_OK && w.size_bytes > BYOC_KEPT_ENTRY_LIMIT_BYTES) {
    byoc_log(BYOC_LOG_INFO, "the answer for function '%s' is not cached: it has %llu MiB", session->functions[0]->name,
             (unsigned long long)(w.size_bytes >> 20));
  } else if (status == BYOC_OK && !w.has_lost) {
    status = store(kept, has_names ? key->named : key->content, &w.text, diag);
    byoc_string_clear(&w.text);
    kept_write_number(&w, NAMES_DECIDE);
    if (status == BYOC_OK && has_names) status = store(kept, key->content, &w.text, diag);
  }
  byoc_string_deinit(&w.text);
  return status;
}

byoc_status_t byoc_kept_answer_put(const byoc_kept_answers_t *kept, byoc_codegen_t *session, const byoc_kept_key_t *key,
                                   unsigned read, byoc_diag_t *diag) {
  const char *why = why_not(kept, session, read);
  if (why == NULL) return write_entries(kept, session, key, (read & BYOC_READ_NAMES) != 0, diag);
  byoc_log(BYOC_LOG_INFO, "%s: the answer for function '%s' is not cached: %s", session->target->kind->name,
           session->functions[0]->name, why);
  return BYOC_OK;
}

// ---- reading ----

typedef BYOC_VECTOR(const char *) texts_t;

static void *address_at(kept_reader_t *r, uint64_t offset) {
  if (offset == UINT64_MAX) return NULL;
  char *address = (char *)(uintptr_t)r->kept->image + offset;
  if (image_of(address) != r->kept->image) r->failed = true;
  return address;
}

// `list` is a vector of strings in the module's arena.
static byoc_status_t read_texts(kept_reader_t *r, byoc_runtime_module_t *m, void *list, byoc_diag_t *diag) {
  texts_t texts = {0};
  const uint64_t count = kept_read_count(r);
  for (uint64_t i = 0; i < count; ++i) {
    const char *copy = kept_read_text(r, &m->arena);
    if (r->failed) return BYOC_OK;
    if (!byoc_vector_push(&texts, byoc_arena_allocator(&m->arena), copy)) return byoc_diag_out_of_memory(diag);
  }
  memcpy(list, &texts, sizeof(texts));
  return BYOC_OK;
}

static byoc_status_t read_files(kept_reader_t *r, byoc_runtime_module_t *m, bool are_blobs, byoc_diag_t *diag) {
  const uint64_t count = kept_read_count(r);
  for (uint64_t i = 0; i < count && !r->failed; ++i) {
    byoc_file_content_t content = {.header = BYOC_HEADER(byoc_file_content_t, 1)};
    content.name = kept_read_text(r, &m->arena);
    BYOC_RETURN_IF_ERROR(kept_read_content(r, diag, &content.data, &content.size_bytes));
    if (!r->failed) BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_file(m, &content, are_blobs, diag));
  }
  return BYOC_OK;
}

static byoc_status_t read_constants(kept_reader_t *r, byoc_runtime_module_t *m, byoc_diag_t *diag) {
  const uint64_t count = kept_read_count(r);
  for (uint64_t i = 0; i < count && !r->failed; ++i) {
    byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
    int64_t dims[BYOC_MAX_RANK] = {0};
    data.dtype = (uint32_t)kept_read_number(r);
    data.rank = (uint32_t)kept_read_number(r);
    if (data.rank > BYOC_MAX_RANK) r->failed = true;
    for (uint32_t k = 0; k < data.rank && !r->failed; ++k) dims[k] = (int64_t)kept_read_number(r);
    data.dims = dims;
    BYOC_RETURN_IF_ERROR(kept_read_content(r, diag, &data.data, &data.size_bytes));
    if (!r->failed) BYOC_RETURN_IF_ERROR(byoc_runtime_module_add_constant(m, r->session->module, &data, diag));
  }
  return BYOC_OK;
}

static byoc_status_t read_fields(kept_reader_t *r, byoc_runtime_module_t *m, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(read_texts(r, m, &m->symbols, diag));
  m->fits = kept_read_text(r, &m->arena);
  m->runtime_options = kept_read_text(r, &m->arena);
  m->source = kept_read_text(r, &m->arena);
  m->compiler = kept_read_text(r, &m->arena);
  BYOC_RETURN_IF_ERROR(read_texts(r, m, &m->flags, diag));
  BYOC_RETURN_IF_ERROR(read_files(r, m, false, diag));
  BYOC_RETURN_IF_ERROR(read_texts(r, m, &m->needed, diag));
  BYOC_RETURN_IF_ERROR(read_texts(r, m, &m->search, diag));
  m->setup_symbol = kept_read_text(r, &m->arena);
  *(void **)(void *)&m->open_in_process = address_at(r, kept_read_number(r));
  m->engine_symbol = kept_read_text(r, &m->arena);
  BYOC_RETURN_IF_ERROR(read_files(r, m, true, diag));
  m->in_process = address_at(r, kept_read_number(r));
  m->packed_symbol = kept_read_text(r, &m->arena);
  m->engine_name = kept_read_text(r, &m->arena);
  m->json = kept_read_text(r, &m->arena);
  BYOC_RETURN_IF_ERROR(read_constants(r, m, diag));
  m->workspace_size_bytes = kept_read_number(r);
  return BYOC_OK;
}

// Gives the module what is not of the entry, but of this run.
static byoc_status_t settle_module(kept_reader_t *r, byoc_runtime_module_t *m, byoc_diag_t *diag) {
  const bool is_of_function = m->kind == BYOC_RUNTIME_MODULE_JSON || m->kind == BYOC_RUNTIME_MODULE_PACKED;
  if (m->kind == BYOC_RUNTIME_MODULE_STATIC_LIBRARY) m->open_self = r->session->target->kind->backend->self;
  if (is_of_function) {
    m->function_name = byoc_arena_copy_string(&m->arena, r->session->functions[0]->name);
    if (m->function_name == NULL) return byoc_diag_out_of_memory(diag);
  }
  if (m->kind == BYOC_RUNTIME_MODULE_REPORT && m->json == NULL) r->failed = true;
  const bool has_files = m->kind == BYOC_RUNTIME_MODULE_STATIC_LIBRARY || m->kind == BYOC_RUNTIME_MODULE_ENGINE;
  byoc_diag_t why = {0};
  const byoc_status_t status = has_files && !r->failed ? byoc_runtime_module_check_symbols(m, &why) : BYOC_OK;
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) r->failed = true; // a library beside it has changed
  return BYOC_OK;
}

static byoc_status_t read_module(kept_reader_t *r, byoc_diag_t *diag) {
  const uint64_t kind = kept_read_number(r);
  const char *name = kept_read_text(r, &r->session->arena);
  if (r->failed || kind >= BYOC_RUNTIME_MODULE_KIND_COUNT || name == NULL) {
    r->failed = true;
    return BYOC_OK;
  }
  if (kind == BYOC_RUNTIME_MODULE_JSON || kind == BYOC_RUNTIME_MODULE_PACKED) {
    name = byoc_session_symbol(r->session->functions[0]);
  }
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_session_create_module(r->session, (byoc_runtime_module_kind_t)kind, name, diag, &module));
  byoc_status_t status = read_fields(r, module, diag);
  if (status == BYOC_OK) status = settle_module(r, module, diag);
  return byoc_session_end_module(r->session, module, status, diag);
}

static byoc_status_t read_nodes(kept_reader_t *r, byoc_codegen_result_t *result, byoc_diag_t *diag) {
  const uint64_t count = kept_read_number(r);
  if (count == UINT64_MAX || r->failed) return BYOC_OK;
  kept_nodes_t nodes = {0};
  BYOC_RETURN_IF_ERROR(kept_nodes_list(r->session, diag, &nodes));
  if (count > nodes.list.count) r->failed = true;
  byoc_node_t **list = BYOC_ARENA_ARRAY(&r->session->arena, byoc_node_t *, nodes.list.count + 1);
  if (list == NULL) return byoc_diag_out_of_memory(diag);
  for (uint64_t i = 0; i < count && !r->failed; ++i) {
    const uint64_t index = kept_read_number(r);
    if (index >= nodes.list.count) r->failed = true;
    if (!r->failed) list[i] = nodes.list.data[index];
  }
  result->nodes = list;
  result->node_count = (size_t)count;
  return BYOC_OK;
}

static byoc_status_t read_result(kept_reader_t *r, byoc_diag_t *diag) {
  byoc_codegen_t *session = r->session;
  byoc_codegen_result_t result = {.function = session->functions[0]};
  check_paths(r);
  const uint64_t answer = kept_read_number(r);
  result.answer = (byoc_codegen_answer_t)answer;
  if (answer != BYOC_CODEGEN_BOUND && answer != BYOC_CODEGEN_DECLINED) r->failed = true;
  result.reason = kept_read_text(r, &session->arena);
  BYOC_RETURN_IF_ERROR(read_nodes(r, &result, diag));
  result.precision = kept_read_text(r, &session->arena);
  result.lapse = kept_read_text(r, &session->arena);
  const char *features = kept_read_text(r, &session->arena);
  const uint64_t count = kept_read_count(r);
  for (uint64_t i = 0; i < count && !r->failed; ++i) BYOC_RETURN_IF_ERROR(read_module(r, diag));
  if (r->failed || r->at != r->end) return BYOC_OK;
  session->results[0] = result;
  byoc_string_append(&session->report->required_cpu_features, features != NULL ? features : "");
  return session->report->required_cpu_features.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

// Leaves nothing of an entry that could be read in part only.
static void forget(byoc_codegen_t *session) {
  while (session->made.count > 0) byoc_runtime_module_release(session->made.data[--session->made.count]);
}

static byoc_status_t get(const byoc_kept_answers_t *kept, byoc_codegen_t *session, const char *key, byoc_diag_t *diag,
                         uint64_t *out_kind, bool *out_found) {
  const void *data = NULL;
  size_t size_bytes = 0;
  const byoc_status_t status = byoc_plugin_cache_get(&kept->cache, key, &session->arena, diag, &data, &size_bytes);
  if (status == BYOC_NOT_FOUND) return BYOC_OK;
  if (status != BYOC_OK) return status;
  kept_reader_t r = {.kept = kept, .session = session, .at = data, .end = (const uint8_t *)data + size_bytes};
  *out_kind = kept_read_number(&r);
  if (r.failed || *out_kind != ANSWER) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(read_result(&r, diag));
  if (r.is_out_of_memory) return byoc_diag_out_of_memory(diag);
  *out_found = !r.failed && r.at == r.end;
  if (!*out_found) forget(session);
  return BYOC_OK;
}

byoc_status_t byoc_kept_answer_get(const byoc_kept_answers_t *kept, byoc_codegen_t *session, unsigned read,
                                   byoc_diag_t *diag, byoc_kept_key_t *out_key, bool *out_found) {
  *out_found = false;
  if (kept->image == NULL || session->prepared != NULL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_kept_key_make(kept, session->functions[0], diag, out_key));
  uint64_t kind = NAMES_DECIDE;
  if ((read & BYOC_READ_NAMES) == 0) {
    kind = ANSWER;
    BYOC_RETURN_IF_ERROR(get(kept, session, out_key->content, diag, &kind, out_found));
  }
  if (kind == NAMES_DECIDE) return get(kept, session, out_key->named, diag, &kind, out_found);
  return BYOC_OK;
}
