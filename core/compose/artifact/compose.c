// SPDX-License-Identifier: Apache-2.0
// Compose: the steps from a host program to the files on disk.
#include "core/compose/artifact/compose.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/artifact/composing.h"
#include "core/compose/artifact/install.h"
#include "core/compose/artifact/metadata.h"
#include "core/compose/artifact/source_folder.h"
#include "core/compose/artifact/weights_file.h"
#include "core/compose/cc/tool.h"
#include "core/kernel/emit_c.h"

// Instructions of the longest host program that is compiled at the full level.
enum { MOST_OPTIMISED = 4096 };

// ---- the beginning ----

// Do constants of the programs have to lie outside of the artifact's data?
static byoc_status_t is_large(const byoc_composing_t *composing, bool *out_is_large) {
  return byoc_data_layout_exceeds(composing->programs, composing->entry_count, BYOC_COMPOSE_WEIGHTS_MOST_BYTES,
                                  composing->allocator, composing->diag, out_is_large);
}

static byoc_status_t decide_weights(byoc_composing_t *composing, byoc_compose_weights_t *weights) {
  const char *output = composing->options->output;
  const bool is_shared = output == NULL || byoc_compose_form(output) == BYOC_COMPOSE_SHARED;
  if (*weights == BYOC_COMPOSE_WEIGHTS_APPENDED && !is_shared) {
    return byoc_diag_error(composing->diag, BYOC_INVALID_ARGUMENT,
                           "weights are appended to shared objects; '%s' is "
                           "none",
                           output);
  }
  if (*weights != BYOC_COMPOSE_WEIGHTS_AUTO && *weights != BYOC_COMPOSE_WEIGHTS_INTERNAL) return BYOC_OK;
  bool outside = false;
  BYOC_RETURN_IF_ERROR(is_large(composing, &outside));
  if (*weights == BYOC_COMPOSE_WEIGHTS_INTERNAL && outside && is_shared) *weights = BYOC_COMPOSE_WEIGHTS_APPENDED;
  if (*weights != BYOC_COMPOSE_WEIGHTS_AUTO) return BYOC_OK;
  *weights = outside ? BYOC_COMPOSE_WEIGHTS_EXTERNAL : BYOC_COMPOSE_WEIGHTS_INTERNAL;
  return BYOC_OK;
}

static byoc_status_t choose_weights_path(byoc_composing_t *composing, const char **path) {
  const char *output = composing->options->output != NULL ? composing->options->output : "model.so";
  if (*path != NULL) return BYOC_OK;
  if (byoc_file_is_special(output)) {
    byoc_status_t status =
        byoc_diag_error(composing->diag, BYOC_INVALID_ARGUMENT,
                        "the weights cannot be written beside '%s', which is not a regular file", output);
    byoc_diag_hint(composing->diag, "name a file for them, or leave them in the artifact: --weights internal");
    return status;
  }
  *path = byoc_compose_weights_path(output, byoc_arena_allocator(&composing->arena));
  return *path != NULL ? BYOC_OK : byoc_diag_out_of_memory(composing->diag);
}

// Cannot fail, and allocates nothing.
static void composing_init(byoc_composing_t *composing, byoc_allocator_t allocator, byoc_diag_t *diag) {
  *composing = (byoc_composing_t){.allocator = allocator, .diag = diag};
  byoc_arena_init(&composing->arena, allocator);
  byoc_string_init(&composing->runtime, allocator);
  byoc_string_init(&composing->metadata, allocator);
}

static byoc_status_t list_entries(byoc_composing_t *composing, const byoc_compose_entry_t *entries, size_t count) {
  composing->entries = BYOC_ARENA_ARRAY(&composing->arena, byoc_composing_entry_t, count);
  composing->programs = BYOC_ARENA_ARRAY(&composing->arena, const byoc_host_program_t *, count);
  if (composing->entries == NULL || composing->programs == NULL) return byoc_diag_out_of_memory(composing->diag);
  for (size_t k = 0; k < count; k++) {
    composing->entries[k] = (byoc_composing_entry_t){.program = entries[k].program, .options = entries[k].options};
    byoc_string_map_init(&composing->entries[k].shared, composing->allocator);
    composing->programs[k] = entries[k].program;
  }
  composing->entry_count = count;
  composing->options = &composing->entries[0].options;
  return BYOC_OK;
}

static byoc_status_t choose_flags(byoc_composing_t *composing, size_t k) {
  static const char hasty_level[] = "-O1"; // the last -O on a command line counts
  byoc_composing_entry_t *entry = &composing->entries[k];
  BYOC_RETURN_IF_ERROR(byoc_native_flags(entry->options.targets, &composing->arena, composing->diag, &entry->native));
  if (!composing->options->in_haste ||
      byoc_vector_push(&entry->native.kernel, byoc_arena_allocator(&composing->arena), hasty_level)) {
    return BYOC_OK;
  }
  return byoc_diag_out_of_memory(composing->diag);
}

// The decisions before C is made: flags, weights, layout.
static byoc_status_t prepare(byoc_composing_t *composing) {
  for (size_t k = 0; k < composing->entry_count; k++) {
    BYOC_RETURN_IF_ERROR(byoc_host_check_places(composing->programs[k], composing->diag));
  }
  for (size_t k = 0; k < composing->entry_count; k++) BYOC_RETURN_IF_ERROR(choose_flags(composing, k));
  composing->native = &composing->entries[0].native;
  byoc_compose_weights_t weights = composing->options->weights;
  const char *path = composing->options->weights_path;
  BYOC_RETURN_IF_ERROR(decide_weights(composing, &weights));
  if (weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL) BYOC_RETURN_IF_ERROR(choose_weights_path(composing, &path));
  for (size_t k = 0; k < composing->entry_count; k++) {
    composing->entries[k].options.weights = weights;
    composing->entries[k].options.weights_path = path;
  }
  BYOC_RETURN_IF_ERROR(byoc_data_layout_create(composing->programs, composing->entry_count,
                                               weights != BYOC_COMPOSE_WEIGHTS_INTERNAL, composing->allocator,
                                               composing->diag, &composing->layout));
  composing->has_layout = true;
  return byoc_composing_share_kernels(composing);
}

static void composing_deinit(byoc_composing_t *composing) {
  for (size_t i = 0; i < composing->objects.count; i++) {
    byoc_free(composing->allocator, (void *)(uintptr_t)composing->objects.data[i].data);
  }
  for (size_t i = 0; i < composing->texts.count; i++) byoc_string_deinit(&composing->texts.data[i]);
  for (size_t k = 0; k < composing->entry_count; k++) {
    byoc_vector_deinit(&composing->entries[k].kernels, composing->allocator);
    byoc_map_deinit(&composing->entries[k].shared);
  }
  byoc_string_deinit(&composing->runtime);
  byoc_string_deinit(&composing->metadata);
  for (size_t i = 0; i < composing->shared_level_count; i++) {
    byoc_vector_deinit(&composing->shared_levels[i].kernels, composing->allocator);
  }
  byoc_vector_deinit(&composing->objects, composing->allocator);
  byoc_vector_deinit(&composing->texts, composing->allocator);
  byoc_vector_deinit(&composing->jobs, composing->allocator);
  if (composing->has_layout) byoc_data_layout_deinit(&composing->layout);
  if (composing->folder != NULL) (void)byoc_remove_tree(composing->folder, NULL);
  byoc_free(composing->allocator, composing->folder);
  byoc_arena_deinit(&composing->arena);
}

// ---- sources ----

static byoc_string_t *new_text(byoc_composing_t *composing) {
  byoc_string_t text;
  byoc_string_init(&text, composing->allocator);
  if (!byoc_vector_push(&composing->texts, composing->allocator, text)) return NULL;
  return &composing->texts.data[composing->texts.count - 1];
}

// The metadata of the entry, behind those of the entries before it.
static byoc_status_t add_metadata(byoc_composing_t *composing, byoc_composing_entry_t *entry) {
  char *text = NULL;
  BYOC_RETURN_IF_ERROR(byoc_compose_metadata(entry->program, &entry->options, &composing->layout,
                                             composing->compiler_version, composing->allocator, composing->diag,
                                             &text));
  entry->metadata = (byoc_host_c_metadata_t){.offset_bytes = composing->metadata.size, .size_bytes = strlen(text)};
  byoc_string_append_bytes(&composing->metadata, text, entry->metadata.size_bytes + 1);
  byoc_free(composing->allocator, text);
  return composing->metadata.failed ? byoc_diag_out_of_memory(composing->diag) : BYOC_OK;
}

static byoc_status_t emit_host(byoc_composing_t *composing, byoc_composing_entry_t *entry, byoc_string_t *out) {
  BYOC_RETURN_IF_ERROR(add_metadata(composing, entry));
  byoc_host_c_t host;
  BYOC_RETURN_IF_ERROR(byoc_host_c_init(entry->program, &entry->options, &composing->layout, composing->allocator,
                                        composing->diag, &host));
  byoc_status_t status = byoc_host_c_emit(&host, &entry->metadata, out);
  byoc_host_c_deinit(&host);
  return status;
}

// Unit `unit` of a list of kernels.
static byoc_status_t emit_kernels(byoc_composing_t *composing, const byoc_loop_kernel_t *const *kernels, size_t all,
                                  size_t unit, byoc_string_t *out) {
  size_t first = unit * BYOC_KERNELS_A_UNIT, count = all - first;
  if (count > BYOC_KERNELS_A_UNIT) count = BYOC_KERNELS_A_UNIT;
  byoc_status_t status = byoc_kernel_emit_c(kernels + first, count, out);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(composing->diag);
  if (status != BYOC_OK) {
    return byoc_diag_error(composing->diag, status, "the kernels from '%s' on cannot be emitted as C",
                           kernels[first]->name);
  }
  return BYOC_OK;
}

// ---- jobs ----

static byoc_status_t add_job(byoc_composing_t *composing, const byoc_compile_job_t *job) {
  if (job->name == NULL || !byoc_vector_push(&composing->jobs, composing->allocator, *job) ||
      !byoc_vector_push(&composing->objects, composing->allocator, (byoc_bytes_t){0})) {
    return byoc_diag_out_of_memory(composing->diag);
  }
  return BYOC_OK;
}

// "kernels", "_decode", 0 → "kernels_decode_0".
static byoc_status_t add_kernel_jobs(byoc_composing_t *composing, const byoc_loop_kernel_t *const *kernels,
                                     size_t count, const char *name, const byoc_native_flags_t *native) {
  for (size_t i = 0; i < byoc_kernel_unit_count(count); i++) {
    byoc_string_t *text = new_text(composing);
    BYOC_RETURN_IF_ERROR(emit_kernels(composing, kernels, count, i, text));
    const byoc_compile_job_t job = {.name = byoc_arena_format(&composing->arena, "%s_%zu", name, i),
                                    .source = text->data,
                                    .compiler = native->compiler,
                                    .flags = native->kernel.data,
                                    .flag_count = native->kernel.count};
    BYOC_RETURN_IF_ERROR(add_job(composing, &job));
  }
  return BYOC_OK;
}

// "host", or "host_decode" of several entries.
static const char *name_of(byoc_composing_t *composing, const char *what, const byoc_composing_entry_t *entry) {
  char part[BYOC_COMPOSE_PART_BYTES];
  byoc_compose_part_name(&entry->options.place, part);
  return part[0] != '\0' ? byoc_arena_format(&composing->arena, "%s_%s", what, part) : what;
}

static byoc_status_t add_entry_jobs(byoc_composing_t *composing, byoc_composing_entry_t *entry) {
  // A higher level of optimisation does not make very long programs faster, and takes twice the time.
  static const char *const host_flags[] = {"-O2"}, *const long_flags[] = {"-O1"};
  const bool is_long = entry->program->instruction_count > MOST_OPTIMISED;
  const byoc_native_flags_t *native = &entry->native;
  const char *kernels = name_of(composing, "kernels", entry);
  if (kernels == NULL) return byoc_diag_out_of_memory(composing->diag);
  entry->first_job = composing->jobs.count;
  byoc_string_t *text = new_text(composing);
  BYOC_RETURN_IF_ERROR(emit_host(composing, entry, text));
  const byoc_compile_job_t host = {.name = name_of(composing, "host", entry),
                                   .source = text->data,
                                   .compiler = native->compiler,
                                   .flags = is_long ? long_flags : host_flags,
                                   .flag_count = 1};
  BYOC_RETURN_IF_ERROR(add_job(composing, &host));
  BYOC_RETURN_IF_ERROR(add_kernel_jobs(composing, entry->kernels.data, entry->kernels.count, kernels, native));
  for (size_t i = 0; i < entry->program->libraries.count; i++) {
    const byoc_runtime_module_t *module = entry->program->libraries.data[i];
    if (!byoc_runtime_module_has(module, BYOC_MODULE_LINKABLE | BYOC_MODULE_SERIALISABLE)) continue;
    const byoc_compile_job_t job = {.name = module->name,
                                    .source = module->source,
                                    .compiler = module->compiler != NULL ? module->compiler : native->compiler,
                                    .flags = module->flags.data,
                                    .flag_count = module->flags.count};
    BYOC_RETURN_IF_ERROR(add_job(composing, &job));
  }
  return BYOC_OK;
}

// Kernels that several entries share are compiled for their level.
static byoc_status_t add_shared_jobs(byoc_composing_t *composing) {
  for (size_t i = 0; i < composing->shared_level_count; i++) {
    const byoc_composing_shared_t *shared = &composing->shared_levels[i];
    const char *name =
        composing->shared_level_count > 1 ? byoc_arena_format(&composing->arena, "kernels_level_%zu", i) : "kernels";
    if (name == NULL) return byoc_diag_out_of_memory(composing->diag);
    BYOC_RETURN_IF_ERROR(add_kernel_jobs(composing, (const byoc_loop_kernel_t *const *)shared->kernels.data,
                                         shared->kernels.count, name, shared->native));
  }
  return BYOC_OK;
}

static byoc_status_t add_jobs(byoc_composing_t *composing) {
  // The sources must not move, because jobs point into them.
  size_t text_count = composing->shared_unit_count;
  for (size_t k = 0; k < composing->entry_count; k++) text_count += composing->entries[k].kernel_unit_count + 1;
  if (!byoc_vector_reserve(&composing->texts, composing->allocator, text_count)) {
    return byoc_diag_out_of_memory(composing->diag);
  }
  BYOC_RETURN_IF_ERROR(add_shared_jobs(composing));
  for (size_t k = 0; k < composing->entry_count; k++) {
    BYOC_RETURN_IF_ERROR(add_entry_jobs(composing, &composing->entries[k]));
  }
  return composing->options->in_haste ? BYOC_OK : byoc_composing_sign_code(composing);
}

static byoc_status_t compile(byoc_composing_t *composing) {
  int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR(byoc_compile_all(composing->jobs.data, composing->jobs.count, 0, composing->allocator,
                                        composing->diag, composing->objects.data));
  byoc_log(BYOC_LOG_INFO, "compiled %zu translation units in %.2f s", composing->jobs.count,
           (double)(byoc_now_ns() - start_ns) / 1e9);
  return BYOC_OK;
}

// ---- checking ----

// Lists units from `job` on that have these kernels.
static void list_units(const byoc_composing_t *composing, size_t job, const byoc_loop_kernel_t *const *kernels,
                       size_t count, byoc_compose_kernels_t *units, size_t *unit_count) {
  for (size_t i = 0; i < byoc_kernel_unit_count(count); i++, job++) {
    const size_t first = i * BYOC_KERNELS_A_UNIT, rest = count - first;
    units[(*unit_count)++] = (byoc_compose_kernels_t){.kernels = kernels + first,
                                                      .count = rest < BYOC_KERNELS_A_UNIT ? rest : BYOC_KERNELS_A_UNIT,
                                                      .object = composing->objects.data[job],
                                                      .compiler = composing->jobs.data[job].compiler,
                                                      .flags = composing->jobs.data[job].flags,
                                                      .flag_count = composing->jobs.data[job].flag_count};
  }
}

// The kernels of one ISA level: those of its entries, and shared ones.
static byoc_status_t check_level(const byoc_composing_t *composing, size_t level, byoc_compose_kernels_t *units) {
  const byoc_compose_checker_t *checker = NULL;
  size_t job = 0, unit_count = 0;
  for (size_t i = 0; i < composing->shared_level_count; i++) {
    const byoc_composing_shared_t *shared = &composing->shared_levels[i];
    const byoc_loop_kernel_t *const *kernels = (const byoc_loop_kernel_t *const *)shared->kernels.data;
    if (i == level) list_units(composing, job, kernels, shared->kernels.count, units, &unit_count);
    job += byoc_kernel_unit_count(shared->kernels.count);
  }
  for (size_t k = 0; k < composing->entry_count; k++) {
    const byoc_composing_entry_t *entry = &composing->entries[k];
    if (entry->options.place.level != level) continue;
    checker = &entry->options.checker;
    list_units(composing, entry->first_job + 1, entry->kernels.data, entry->kernels.count, units, &unit_count);
  }
  if (checker == NULL || checker->check == NULL || unit_count == 0) return BYOC_OK;
  return checker->check(checker->self, composing->programs, composing->entry_count, units, unit_count, composing->diag);
}

static byoc_status_t check(const byoc_composing_t *composing) {
  byoc_compose_kernels_t *units = byoc_allocate(composing->allocator, composing->jobs.count + 1, sizeof(*units));
  byoc_status_t status = units != NULL ? BYOC_OK : byoc_diag_out_of_memory(composing->diag);
  for (size_t level = 0; level < composing->shared_level_count && status == BYOC_OK; level++) {
    status = check_level(composing, level, units);
  }
  byoc_free(composing->allocator, units);
  return status;
}

// ---- the whole ----

static byoc_status_t emit_header(const byoc_composing_t *composing, byoc_string_t *out) {
  byoc_compose_entry_t entries[BYOC_COMPOSE_MOST_ENTRIES];
  const size_t count = composing->options->place.count > 0 ? composing->options->place.count : 1; // of one level
  for (size_t k = 0; k < count; k++) {
    entries[k] = (byoc_compose_entry_t){.program = composing->programs[k], .options = composing->entries[k].options};
  }
  return byoc_compose_emit_header(entries, count, out, composing->diag);
}

static byoc_status_t compose_source(byoc_composing_t *composing) {
  for (size_t k = 0; k < composing->entry_count; k++) {
    BYOC_RETURN_IF_ERROR(byoc_source_folder_check(composing->programs[k], composing->diag));
  }
  byoc_compose_weights_t *weights = &composing->entries[0].options.weights;
  if (*weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL || *weights == BYOC_COMPOSE_WEIGHTS_APPENDED) {
    return byoc_diag_error(composing->diag, BYOC_INVALID_ARGUMENT,
                           "C source holds its weights: --weights is for files");
  }
  if (composing->options->targets != NULL && composing->options->targets->triple != NULL) {
    return byoc_diag_error(composing->diag, BYOC_INVALID_ARGUMENT, "C source is for any machine: leave out --triple");
  }
  *weights = BYOC_COMPOSE_WEIGHTS_INTERNAL;
  BYOC_RETURN_IF_ERROR(prepare(composing));
  BYOC_RETURN_IF_ERROR(add_jobs(composing));
  byoc_string_t header;
  byoc_string_init(&header, composing->allocator);
  byoc_status_t status = emit_header(composing, &header);
  if (status == BYOC_OK) status = byoc_source_folder_write(composing, &header);
  byoc_string_deinit(&header);
  return status;
}

// An artifact looks for its weights in its own folder, also if they were written to another one.
static void note_place_of_weights(const byoc_compose_options_t *options) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  char *own = byoc_path_directory(allocator, options->output);
  char *theirs = byoc_path_directory(allocator, options->weights_path);
  struct stat left, right;
  if (own != NULL && theirs != NULL && !byoc_file_is_special(options->output) && stat(own, &left) == 0 &&
      stat(theirs, &right) == 0 && (left.st_dev != right.st_dev || left.st_ino != right.st_ino)) {
    byoc_log(BYOC_LOG_WARNING,
             "'%s' looks for '%s' in its own folder: move the weights there, or name them in BYOC_WEIGHTS when it runs",
             options->output, byoc_path_base(options->weights_path));
  }
  byoc_free(allocator, own);
  byoc_free(allocator, theirs);
}

static byoc_status_t add_weights(byoc_composing_t *composing, bool is_named, byoc_file_set_t *files) {
  const byoc_compose_options_t *options = composing->options;
  if (options->weights != BYOC_COMPOSE_WEIGHTS_EXTERNAL || composing->layout.weights.count == 0) return BYOC_OK;
  if (is_named) note_place_of_weights(options);
  return byoc_weights_file_add(&composing->layout, options->weights_path, is_named, files, composing->diag);
}

// Other builds may add to the same weights file and finish first: our weights are then added to theirs. In each round
// one build wins, so that this many builds at once all end.
enum { MOST_RETRIES = 64 };

static byoc_status_t commit_again(byoc_composing_t *composing, byoc_file_set_t *files) {
  byoc_status_t status = BYOC_ALREADY_EXISTS;
  for (int i = 0; i < MOST_RETRIES && status == BYOC_ALREADY_EXISTS; i++) {
    byoc_diag_clear(composing->diag);
    BYOC_RETURN_IF_ERROR(add_weights(composing, true, files));
    byoc_file_set_supersede(files);
    status = byoc_file_set_commit(files, composing->diag);
  }
  return status;
}

static byoc_status_t link_and_install(byoc_composing_t *composing, bool has_named_weights) {
  const byoc_compose_options_t *options = composing->options;
  byoc_diag_t *diag = composing->diag;
  byoc_file_set_t own_files = {0}, *files = options->files != NULL ? options->files : &own_files;
  byoc_string_t header;
  byoc_string_init(&header, composing->allocator);
  char *linked = byoc_path_join(composing->allocator, composing->folder, "model.so");
  byoc_status_t status = BYOC_OK;
  if (linked == NULL) {
    status = byoc_diag_out_of_memory(diag);
  } else if (options->replaces != NULL) {
    status = byoc_composing_replace(composing, linked);
  } else {
    status = byoc_composing_link(composing, linked);
  }
  if (status == BYOC_OK && options->keep_header) status = emit_header(composing, &header);
  if (status == BYOC_OK && options->keep_header) status = byoc_compose_note_header(options->output, diag);
  if (status == BYOC_OK) status = add_weights(composing, has_named_weights, files);
  if (status == BYOC_OK) {
    status = byoc_compose_install(linked, options->output, options->keep_header ? &header : NULL, files,
                                  composing->allocator, diag);
    const bool follows = has_named_weights && options->weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL;
    if (status == BYOC_ALREADY_EXISTS && follows) status = commit_again(composing, files);
  }
  byoc_file_set_abandon(&own_files);
  byoc_free(composing->allocator, linked);
  byoc_string_deinit(&header);
  return status;
}

static byoc_status_t compose_linked(byoc_composing_t *composing) {
  const bool has_named_weights = composing->options->weights_path != NULL;
  const bool replaces = composing->options->replaces != NULL;
  byoc_diag_t *diag = composing->diag;
  BYOC_RETURN_IF_ERROR(byoc_file_check_place(composing->options->output, diag));
  BYOC_RETURN_IF_ERROR(prepare(composing));
  if (replaces) {
    BYOC_RETURN_IF_ERROR(byoc_composing_adopt_compiler(composing));
  } else {
    BYOC_RETURN_IF_ERROR(byoc_c_compiler_version(composing->native->compiler, diag, &composing->compiler_version));
  }
  BYOC_RETURN_IF_ERROR(add_jobs(composing));
  if (!replaces) BYOC_RETURN_IF_ERROR(compile(composing));
  if (!replaces) BYOC_RETURN_IF_ERROR(check(composing));
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-compose", composing->allocator, diag, &composing->folder));
  return link_and_install(composing, has_named_weights);
}

byoc_status_t byoc_compose_entries(const byoc_compose_entry_t *entries, size_t count, byoc_allocator_t allocator,
                                   byoc_diag_t *diag) {
  const char *output = entries[0].options.output;
  byoc_composing_t composing;
  composing_init(&composing, allocator, diag);
  byoc_status_t status = list_entries(&composing, entries, count);
  if (status == BYOC_OK) {
    status = byoc_compose_form(output) == BYOC_COMPOSE_SOURCE ? compose_source(&composing) : compose_linked(&composing);
  }
  composing_deinit(&composing);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "composing '%s'", output);
}

byoc_status_t byoc_compose_artifact(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                    byoc_allocator_t allocator, byoc_diag_t *diag) {
  const byoc_compose_entry_t entry = {.program = program, .options = *options};
  return byoc_compose_entries(&entry, 1, allocator, diag);
}

static byoc_status_t emit_c(byoc_composing_t *composing, byoc_string_t *out) {
  byoc_composing_entry_t *entry = &composing->entries[0];
  BYOC_RETURN_IF_ERROR(prepare(composing));
  const byoc_native_flags_t *native = composing->native;
  // Printing the C needs no compiler; if there is none, its version is left out of the metadata.
  const char *compiler = NULL;
  if (byoc_c_compiler_find(native->compiler, NULL, &compiler) == BYOC_OK) {
    BYOC_RETURN_IF_ERROR(byoc_c_compiler_version(native->compiler, composing->diag, &composing->compiler_version));
  }
  byoc_string_append(out, "// ---- host.c ----\n");
  BYOC_RETURN_IF_ERROR(emit_host(composing, entry, out));
  for (size_t i = 0; i < entry->kernel_unit_count; i++) {
    byoc_string_appendf(out, "\n// ---- kernels_%zu.c ----\n", i);
    BYOC_RETURN_IF_ERROR(emit_kernels(composing, entry->kernels.data, entry->kernels.count, i, out));
  }
  return out->failed ? byoc_diag_out_of_memory(composing->diag) : BYOC_OK;
}

byoc_status_t byoc_compose_emit_c(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                  byoc_string_t *out, byoc_diag_t *diag) {
  const byoc_compose_entry_t entry = {.program = program, .options = *options};
  byoc_composing_t composing;
  composing_init(&composing, out->allocator, diag);
  byoc_status_t status = list_entries(&composing, &entry, 1);
  if (status == BYOC_OK) status = emit_c(&composing, out);
  composing_deinit(&composing);
  return status;
}
