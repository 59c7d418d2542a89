// SPDX-License-Identifier: Apache-2.0
// Writes an artifact as a folder of C source: the host program, its kernels, backends' sources, constants, the runtime
// with its headers, and a Makefile.
#include "core/compose/artifact/source_folder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/folder.h"
#include "core/compose/artifact/source_names.h"
#include "core/compose/artifact/source_place.h"
#include "core/compose/artifact/source_writer.h"
#include "core/compose/cc/runtime_files.h"

// More constants than these are not printed as C, which compilers would take minutes to read.
enum { MOST_PRINTED_BYTES = 2 << 20 };
// Bytes on a line.
enum { LINE_BYTES = 24 };

#define TEMPLATES(X) X(makefile) X(readme) X(embed)
#define TEMPLATE_EXTERN(name)                                                                                          \
  extern const char byoc_embed_source_##name[];                                                                        \
  extern const unsigned long long byoc_embed_source_##name##_size;
TEMPLATES(TEMPLATE_EXTERN)

typedef byoc_source_writer_t writer_t;

// ---- checks ----

static byoc_status_t refuse(const char *what, const char *name, const char *target, byoc_diag_t *diag) {
  byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                         "target '%s' added %s, '%s', which C source cannot hold", target, what, name);
  byoc_diag_hint(diag, "leave that target out (-t c), or build a static library (model.a); its plugin can announce the "
                       "sources (byoc_runtime_code_t in byoc/plugin.h)");
  return status;
}

// Code that its backend announced for C source.
static bool is_announced(const byoc_runtime_module_t *module) {
  return module->sources.count + module->archives.count > 0;
}

byoc_status_t byoc_source_folder_check(const byoc_host_program_t *program, byoc_diag_t *diag) {
  for (size_t i = 0; i < program->libraries.count; i++) {
    const byoc_runtime_module_t *module = program->libraries.data[i];
    if (is_announced(module)) continue;
    if (module->kind != BYOC_RUNTIME_MODULE_C_SOURCE || module->files.count > 0 || module->needed.count > 0) {
      return refuse("machine code", module->name, module->target, diag);
    }
  }
  for (size_t i = 0; i < program->engines.count; i++) {
    const byoc_runtime_module_t *engine = program->engines.data[i].engine;
    if (is_announced(engine)) continue;
    return refuse("an engine", byoc_runtime_module_given_name(engine), engine->target, diag);
  }
  for (size_t i = 0; program->module != NULL && i < program->module->runtime_modules.count; i++) {
    const byoc_runtime_module_t *driver = program->module->runtime_modules.data[i];
    if (!byoc_composing_uses_driver(program, driver) || is_announced(driver)) continue;
    return refuse("a driver", byoc_runtime_module_given_name(driver), driver->target, diag);
  }
  return BYOC_OK;
}

// ---- sources ----

static byoc_status_t name_jobs(writer_t *w) {
  for (size_t i = 0; i < w->composing->jobs.count; i++) {
    char whole[1024];
    byoc_make_identifier(w->composing->jobs.data[i].name, whole, sizeof(whole));
    BYOC_RETURN_IF_ERROR(byoc_source_take_name(w, whole, w->job_names[i]));
  }
  return BYOC_OK;
}

// The entry that a job belongs to; NULL: it is shared.
static const byoc_composing_entry_t *entry_of(const writer_t *w, size_t job) {
  const byoc_composing_entry_t *found = NULL;
  for (size_t k = 0; k < w->composing->entry_count; k++) {
    if (w->composing->entries[k].first_job <= job) found = &w->composing->entries[k];
  }
  return found;
}

// host.c, kernels_0.c, ..., and the sources of backends: NAME.c.
static byoc_status_t write_job(writer_t *w, size_t index) {
  const byoc_compile_job_t *job = &w->composing->jobs.data[index];
  const byoc_composing_entry_t *entry = entry_of(w, index);
  char path[BYOC_SOURCE_JOB_NAME_BYTES + 4], names[BYOC_SOURCE_NAMES_BYTES] = "names.h";
  if (entry != NULL) byoc_source_names_file(&entry->options.place, names);
  snprintf(path, sizeof(path), "%s.c", w->job_names[index]);
  byoc_string_appendf(&w->text, "#include \"%s\"\n\n", names);
  if (job->preamble != NULL) byoc_string_append(&w->text, job->preamble);
  byoc_string_append(&w->text, job->source);
  return byoc_source_write_text(w, path);
}

static byoc_status_t write_names_of_entry(writer_t *w, const byoc_composing_entry_t *entry) {
  char name[BYOC_SOURCE_NAMES_BYTES], path[BYOC_SOURCE_NAMES_BYTES + 8];
  byoc_source_names_file(&entry->options.place, name);
  snprintf(path, sizeof(path), "include/%s", name);
  BYOC_RETURN_IF_ERROR(byoc_source_emit_entry_names(entry, w->prefix, &w->text, w->diag));
  return byoc_source_write_text(w, path);
}

typedef enum part_t {
  EVERYWHERE,
  WITH_THREADS,
  WITHOUT_THREADS,
  WITH_TEXTS,
  WITH_DEVICES,
  WITHOUT_DEVICES,
  WITH_CODE,
  NOWHERE
} part_t;

// When a file of the runtime is compiled. Those of core/runtime/plain stand for others.
static part_t part_of(const char *path) {
  static const struct {
    const char *name;
    part_t part;
  } rows[] = {{"clock.c", WITH_THREADS},
              {"huge_pages.c", WITH_THREADS},
              {"memory.c", WITH_THREADS},
              {"pool.c", WITH_THREADS},
              {"processors.c", WITH_THREADS},
              {"stack.c", WITH_THREADS},
              {"thread_text.c", WITH_THREADS},
              {"machine.c", WITHOUT_THREADS},
              {"text.c", WITH_TEXTS},
              {"text_tokens.c", WITH_TEXTS},
              {"own_file.c", NOWHERE},
              {"own_file.h", NOWHERE},
              {"weights.c", NOWHERE},
              {"weights_file.c", NOWHERE},
              {"cpu.c", NOWHERE},
              {"cpu.h", NOWHERE},
              {"isa_level.c", NOWHERE},
              {"no_devices.c", WITHOUT_DEVICES},
              {"device.c", WITH_DEVICES},
              {"device_cell.c", WITH_DEVICES},
              {"device_lend.c", WITH_DEVICES},
              {"device_memory.c", WITH_DEVICES},
              {"device_run.c", WITH_DEVICES},
              {"device_internal.h", WITH_DEVICES},
              {"verify.c", NOWHERE},
              {"memory_library.h", WITH_CODE}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(rows[i].name, byoc_path_base(path)) == 0) return rows[i].part;
  }
  return EVERYWHERE;
}

static bool is_wanted(const writer_t *w, part_t part, bool has_texts) {
  if (part == WITH_TEXTS) return has_texts;
  if (part == WITH_DEVICES || part == WITHOUT_DEVICES) {
    return byoc_source_has_device(w->composing) == (part == WITH_DEVICES);
  }
  if (part == WITH_CODE) return w->rules.size > 0;
  return part != NOWHERE;
}

static byoc_status_t write_runtime_file(writer_t *w, const byoc_embedded_header_t *file, bool has_texts) {
  const part_t part = part_of(file->path);
  char path[160];
  if (!is_wanted(w, part, has_texts)) return BYOC_OK;
  if (!byoc_ends_with(file->path, ".c")) {
    snprintf(path, sizeof(path), "include/%s", file->path);
  } else {
    snprintf(path, sizeof(path), "runtime/%s", byoc_path_base(file->path));
    byoc_string_append(&w->text, "#include \"names.h\"\n");
  }
  const char *condition = part == WITH_THREADS      ? "#ifdef BYOC_THREADS\n"
                          : part == WITHOUT_THREADS ? "#ifndef BYOC_THREADS\n"
                                                    : "";
  byoc_string_append(&w->text, condition);
  byoc_string_append_bytes(&w->text, file->data, file->size_bytes);
  if (condition[0] != '\0') byoc_string_append(&w->text, "#endif\n");
  return byoc_source_write_text(w, path);
}

static byoc_status_t write_runtime(writer_t *w) {
  bool has_texts = false;
  for (size_t k = 0; k < w->composing->entry_count; k++) {
    const byoc_compile_job_t *host = &w->composing->jobs.data[w->composing->entries[k].first_job];
    has_texts = has_texts || strstr(host->source, "byoc_text_") != NULL;
  }
  BYOC_VECTOR(byoc_embedded_header_t) files = {0};
  if (!byoc_vector_reserve(&files, w->allocator, byoc_runtime_file_count + byoc_embedded_header_count)) {
    return byoc_diag_out_of_memory(w->diag);
  }
  for (size_t i = 0; i < byoc_runtime_file_count; i++) files.data[files.count++] = byoc_runtime_file(i);
  byoc_source_emit_names(w->composing, w->prefix, files.data, files.count, &w->text);
  byoc_status_t status = byoc_source_write_text(w, "include/names.h");
  // The public headers too; those of the runtime are in both lists.
  for (size_t i = 0; i < byoc_embedded_header_count; i++) files.data[files.count++] = byoc_embedded_header(i);
  for (size_t i = 0; i < files.count && status == BYOC_OK; i++) {
    status = write_runtime_file(w, &files.data[i], has_texts);
  }
  byoc_vector_deinit(&files, w->allocator);
  return status;
}

// ---- constants ----

static void print_bytes(const void *data, size_t size_bytes, size_t *column, byoc_string_t *out) {
  const uint8_t *bytes = data;
  for (size_t i = 0; i < size_bytes; i++) {
    byoc_string_appendf(out, "%s%u,", (*column)++ % LINE_BYTES == 0 ? "\n" : "", bytes[i]);
  }
}

static void begin_array(writer_t *w, const char *type, const char *name) {
  byoc_string_appendf(&w->text, "#include <stdint.h>\n\n#include \"names.h\"\n\n%s %s[] = {", type, name);
}

// The assembler includes larger ones as a file.
static byoc_status_t write_data(writer_t *w) {
  const byoc_data_layout_t *layout = &w->composing->layout;
  const size_t count = byoc_data_layout_part_count(layout);
  BYOC_VECTOR(byoc_bytes_t) parts = {0};
  if (!byoc_vector_reserve(&parts, w->allocator, count + 1)) return byoc_diag_out_of_memory(w->diag);
  byoc_data_layout_list(layout, parts.data);
  parts.data[count] = (byoc_bytes_t){"", 1}; // there is always some
  byoc_status_t status = BYOC_OK;
  if (layout->size_bytes > MOST_PRINTED_BYTES) {
    status = byoc_source_write_parts(w, "data.bin", parts.data, count + 1);
    byoc_string_appendf(&w->text,
                        "  .section .rodata.byoc_data,\"a\",%%progbits\n  .globl %s__byoc_data\n"
                        "  .hidden %s__byoc_data\n  .type %s__byoc_data, %%object\n  .balign 64\n%s__byoc_data:\n"
                        "  .incbin \"data.bin\"\n  .size %s__byoc_data, . - %s__byoc_data\n"
                        "  .section .note.GNU-stack,\"\",%%progbits\n",
                        w->prefix, w->prefix, w->prefix, w->prefix, w->prefix, w->prefix);
    if (status == BYOC_OK) status = byoc_source_write_text(w, "data.S");
    byoc_string_append_bytes(&w->text, byoc_embed_source_embed, (size_t)byoc_embed_source_embed_size);
    if (status == BYOC_OK) status = byoc_source_write_text(w, "embed.c");
  } else {
    size_t column = 0;
    begin_array(w, "_Alignas(64) const uint8_t", "byoc_data");
    for (size_t i = 0; i <= count; i++) print_bytes(parts.data[i].data, parts.data[i].size_bytes, &column, &w->text);
    byoc_string_append(&w->text, "\n};\n");
    status = byoc_source_write_text(w, "data.c");
  }
  byoc_vector_deinit(&parts, w->allocator);
  return status;
}

static byoc_status_t write_metadata(writer_t *w) {
  size_t column = 0;
  begin_array(w, "const char", "byoc_metadata");
  print_bytes(w->composing->metadata.data, w->composing->metadata.size, &column, &w->text);
  byoc_string_append(&w->text, "\n};\n");
  return byoc_source_write_text(w, "metadata.c");
}

// ---- templates ----

static void fill_in(writer_t *w, const char *word, size_t size) {
  const byoc_native_flags_t *native = w->composing->native;
  const struct {
    const char *word, *value;
  } words[] = {{"prefix", w->prefix}, {"version", BYOC_VERSION_TEXT}, {"level", native->kernel.data[0]}};
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    if (strlen(words[i].word) == size && memcmp(words[i].word, word, size) == 0) {
      byoc_string_append(&w->text, words[i].value);
      return;
    }
  }
  byoc_source_append_flags(native->kernel.data + 1, native->kernel.count - 1, &w->text); // @flags@
}

// Words between two @ are replaced by values of this model.
static void append_template(writer_t *w, const char *text) {
  for (const char *at = strchr(text, '@'); at != NULL; at = strchr(text, '@')) {
    const char *end = at + 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
    const bool is_word = end > at + 1 && *end == '@';
    byoc_string_append_bytes(&w->text, text, (size_t)(at - text) + !is_word);
    if (is_word) fill_in(w, at + 1, (size_t)(end - at - 1));
    text = is_word ? end + 1 : at + 1;
  }
  byoc_string_append(&w->text, text);
}

static byoc_status_t write_makefile(writer_t *w) {
  append_template(w, byoc_embed_source_makefile);
  for (size_t i = 0; i < w->composing->jobs.count; i++) {
    const byoc_compile_job_t *job = &w->composing->jobs.data[i];
    const byoc_composing_entry_t *entry = entry_of(w, i);
    const bool is_ours = entry == NULL || i <= entry->first_job + entry->kernel_unit_count;
    if (is_ours || job->flag_count == 0) continue;
    byoc_string_appendf(&w->text, "\n# What the backend asks for.\n%s.o: KNOWN += ", w->job_names[i]);
    BYOC_RETURN_IF_ERROR_IN(w->diag, byoc_source_check_flags(job->flags, job->flag_count, w->diag), "%s.c",
                            w->job_names[i]);
    byoc_source_append_flags(job->flags, job->flag_count, &w->text);
    byoc_string_append(&w->text, "\n");
  }
  byoc_string_append_bytes(&w->text, w->rules.data, w->rules.size);
  return byoc_source_write_text(w, "Makefile");
}

// ---- the whole ----

static byoc_status_t write_files(writer_t *w) {
  char header[BYOC_COMPOSE_PREFIX_BYTES + 4];
  snprintf(header, sizeof(header), "%s.h", w->prefix);
  BYOC_RETURN_IF_ERROR(name_jobs(w));
  for (size_t i = 0; i < w->composing->jobs.count; i++) BYOC_RETURN_IF_ERROR(write_job(w, i));
  for (size_t k = 0; k < w->composing->entry_count; k++) {
    BYOC_RETURN_IF_ERROR(write_names_of_entry(w, &w->composing->entries[k]));
    BYOC_RETURN_IF_ERROR(byoc_source_write_code(w, &w->composing->entries[k]));
  }
  BYOC_RETURN_IF_ERROR(write_data(w));
  BYOC_RETURN_IF_ERROR(write_metadata(w));
  BYOC_RETURN_IF_ERROR(write_runtime(w));
  BYOC_RETURN_IF_ERROR(write_makefile(w));
  append_template(w, byoc_embed_source_readme);
  BYOC_RETURN_IF_ERROR(byoc_source_write_text(w, "README.md"));
  byoc_string_append_bytes(&w->text, w->header->data, w->header->size);
  BYOC_RETURN_IF_ERROR(byoc_source_write_text(w, header));
  byoc_string_append_bytes(&w->text, w->files.data, w->files.size);
  if (w->files.failed) return byoc_diag_out_of_memory(w->diag);
  return byoc_source_write_text(w, BYOC_SOURCE_FILES);
}

byoc_status_t byoc_source_folder_write(const byoc_composing_t *composing, const byoc_string_t *header) {
  const byoc_compose_options_t *options = composing->options;
  const byoc_allocator_t allocator = composing->allocator;
  byoc_diag_t *diag = composing->diag;
  BYOC_RETURN_IF_ERROR(byoc_source_check_place(options->output, allocator, diag));
  char *folder = NULL;
  BYOC_RETURN_IF_ERROR(byoc_folder_begin(options->output, allocator, diag, &folder));
  writer_t w = {.composing = composing, .header = header, .folder = folder, .allocator = allocator, .diag = diag};
  byoc_compose_prefix(options, w.prefix);
  byoc_string_init(&w.text, allocator);
  byoc_string_init(&w.files, allocator);
  byoc_string_init(&w.rules, allocator);
  byoc_string_map_init(&w.taken, allocator);
  w.job_names = byoc_allocate(allocator, composing->jobs.count, sizeof(*w.job_names));
  byoc_status_t status = w.job_names != NULL ? write_files(&w) : byoc_diag_out_of_memory(diag);
  byoc_free(allocator, w.job_names);
  byoc_map_deinit(&w.taken);
  byoc_string_deinit(&w.text);
  byoc_string_deinit(&w.files);
  byoc_string_deinit(&w.rules);
  if (status == BYOC_OK && options->files != NULL) status = byoc_file_set_commit(options->files, diag);
  if (status == BYOC_OK) status = byoc_folder_install(folder, options->output, diag);
  if (status != BYOC_OK) (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, folder);
  return status;
}
