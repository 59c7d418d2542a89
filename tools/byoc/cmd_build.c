// SPDX-License-Identifier: Apache-2.0
// byoc build: compiles a model into an artifact.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "build_replacing.h"
#include "command.h"
#include "core/base/file_set.h"
#include "core/base/log.h"
#include "core/compile/outputs.h"
#include "core/compile/weights.h"
#include "core/hostir/text/program_text.h"
#include "core/ir/module_text.h"
#include "explain.h"
#include "session.h"
#include "tools/common/print.h"
#include "verify.h"
#include "weights_take.h"

typedef struct build_options_t {
  byoc_session_options_t session;
  const char *output, *emit, *model, *name;
  const char *save_plan, *html, *require, *weights, *threads;
  bool profile, huge_pages, constants, verify;
  byoc_string_items_t entries; // instead of the model
  byoc_string_items_t words;   // of the options
  const byoc_build_replacing_t *replacing;
} build_options_t;

// NAME=MODEL of --entry.
typedef struct entry_option_t {
  char name[BYOC_COMPOSE_ENTRY_BYTES];
  const char *model;
} entry_option_t;

// Text goes to -o if it is given, otherwise to standard output.
static byoc_status_t write_text(const byoc_string_t *text, const char *output, byoc_file_set_t *files,
                                byoc_diag_t *diag) {
  if (text->failed) return byoc_diag_out_of_memory(diag);
  const byoc_bytes_t bytes = {.data = text->data, .size_bytes = text->size};
  if (output != NULL) BYOC_RETURN_IF_ERROR(byoc_file_set_add(files, output, &bytes, 1, 0644, diag));
  BYOC_RETURN_IF_ERROR(byoc_file_set_commit(files, diag));
  if (output != NULL) return BYOC_OK;
  if (fwrite(text->data, 1, text->size, stdout) == text->size) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
}

// Larger constants are emitted only with --constants.
enum { PRINTED_BYTES = 256 };

static byoc_status_t emit(byoc_session_t *session, const build_options_t *options,
                          const byoc_compose_options_t *compose, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, session->allocator);
  byoc_status_t status = BYOC_OK;
  const bool is_host = strcmp(options->emit, "host") == 0;
  if (is_host && options->constants && options->output != NULL) {
    byoc_string_deinit(&text);
    BYOC_RETURN_IF_ERROR(
        byoc_host_program_add_files(session->setup.build.result.program, options->output, compose->files, diag));
    return byoc_file_set_commit(compose->files, diag);
  }
  const size_t elide_bytes = options->constants ? 0 : PRINTED_BYTES;
  if (strcmp(options->emit, "ir") == 0) {
    const byoc_print_options_t print = {.elide_bytes = elide_bytes};
    byoc_graph_print(session->setup.build.module, &print, &text);
  } else if (is_host) {
    const byoc_host_print_options_t print = {.elide_bytes = elide_bytes};
    byoc_host_program_print(session->setup.build.result.program, &print, &text);
  } else {
    status = byoc_build_emit_c(&session->setup.build, compose, &text, diag);
  }
  if (status == BYOC_OK) status = write_text(&text, options->output, compose->files, diag);
  byoc_string_deinit(&text);
  return status;
}

// Of a file, or of the files in a folder.
static double size_of(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return 0.0;
  if (!S_ISDIR(info.st_mode)) return (double)info.st_size;
  byoc_allocator_t allocator = byoc_allocator_system();
  char **names = NULL;
  size_t count = 0;
  double size = 0.0;
  if (byoc_list_directory(path, allocator, NULL, &names, &count) != BYOC_OK) return 0.0;
  for (size_t i = 0; i < count; i++) {
    char *entry = byoc_path_join(allocator, path, names[i]);
    if (entry != NULL) size += size_of(entry);
    byoc_free(allocator, entry);
  }
  byoc_free_names(allocator, names, count);
  return size;
}

// Prints what was made, and which target took what.
static byoc_status_t print_summary(const byoc_session_t *session, bool is_host, const char *output, byoc_diag_t *diag) {
  byoc_string_t placed;
  byoc_string_init(&placed, session->allocator);
  if (is_host) {
    const size_t count = session->setup.build.result.program->instruction_count;
    byoc_string_appendf(&placed, "%zu instruction%s", count, byoc_plural(count));
  } else {
    byoc_setup_format_placement(&session->setup, &placed);
  }
  double mebibytes = size_of(output) / 1048576.0;
  byoc_string_append(&placed, "\n");
  if (session->setup.build.result.plan.budget.allowed > 0) {
    byoc_plan_budget_text(&session->setup.build.result.plan.budget, &placed);
    byoc_string_append(&placed, "\n");
  }
  byoc_plan_gain_text(&session->setup.build.result.plan.gain, &placed);
  byoc_session_format_unusable(session, &placed);
  const bool can_measure = session->setup.targets.triple == NULL;
  if (can_measure && session->setup.are_default_targets && strcmp(session->setup.placing.plan, "greedy") == 0) {
    byoc_string_append(
        &placed, "partitioned in order of preference; a minute of --plan=collage measures alternatives, and --target "
                 "names more targets\n");
  }
  byoc_print("%s: %.1f MiB, ", output, mebibytes);
  byoc_status_t status = byoc_print_text(&placed, diag);
  byoc_string_deinit(&placed);
  return status;
}

static byoc_status_t print_replaced(const build_options_t *options) {
  byoc_print("%s: other weights, the code of %s\n", options->replacing->output, options->replacing->artifact);
  return BYOC_OK;
}

static byoc_status_t check_emit(const char *what, byoc_diag_t *diag) {
  static const char *const forms[] = {"ir", "host", "c"};
  for (size_t i = 0; what != NULL && i < sizeof(forms) / sizeof(forms[0]); ++i) {
    if (strcmp(what, forms[i]) == 0) return BYOC_OK;
  }
  return what == NULL ? BYOC_OK
                      : byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--emit takes ir, host or c, not '%s'", what);
}

// The plan's files appear together with the artifact, but even without it if the requirement is not met: they show why.
static byoc_status_t add_plan(const byoc_build_t *build, const build_options_t *options, byoc_file_set_t *files,
                              byoc_diag_t *diag) {
  const byoc_plan_t *plan = &build->result.plan;
  BYOC_RETURN_IF_ERROR(byoc_explain_add_files(plan, build->module, options->save_plan, options->html, files, diag));
  byoc_status_t status = options->require != NULL ? byoc_require_placed(options->require, plan, diag) : BYOC_OK;
  if (status != BYOC_OK) (void)byoc_file_set_commit(files, NULL);
  return status;
}

static byoc_status_t check_outputs(const build_options_t *options, const byoc_compose_options_t *compose,
                                   const char *model, byoc_diag_t *diag) {
  const char *artifact = compose->output;
  const bool is_source = options->emit == NULL && byoc_compose_is_source(artifact); // a folder of its own
  const byoc_output_t others[] = {{"the model", model}, {"--save-plan", options->save_plan}, {"--html", options->html}};
  if (is_source) BYOC_RETURN_IF_ERROR(byoc_outputs_check_outside(others, 3, artifact, diag));
  const bool has_header = options->emit == NULL && !is_source && !byoc_file_is_special(artifact);
  char *header = has_header ? byoc_compose_header_path(artifact, byoc_allocator_system()) : NULL;
  if (has_header && header == NULL) return byoc_diag_out_of_memory(diag);
  char *data = NULL; // a host program's
  if (options->emit != NULL && strcmp(options->emit, "host") == 0 && options->output != NULL) {
    data = byoc_host_data_path(options->output, byoc_allocator_system());
    if (data == NULL) return byoc_diag_out_of_memory(diag);
  }
  char *weights = NULL;
  if (options->emit == NULL) {
    BYOC_RETURN_IF_ERROR(byoc_build_weights_path(compose, byoc_allocator_system(), diag, &weights));
  }
  const byoc_output_t outputs[] = {{"-o", options->emit != NULL ? options->output
                                          : is_source           ? NULL
                                                                : artifact},
                                   {"the header of -o", header},
                                   {"the weights file of -o", weights},
                                   {"the data file of -o", data},
                                   {"--save-plan", options->save_plan},
                                   {"--html", options->html}};
  byoc_status_t status = byoc_outputs_check(outputs, sizeof(outputs) / sizeof(outputs[0]), model, diag);
  byoc_free(byoc_allocator_system(), header);
  byoc_free(byoc_allocator_system(), data);
  byoc_free(byoc_allocator_system(), weights);
  return status;
}

// File endings that name what byoc build cannot make.
static byoc_status_t check_artifact_name(const char *path, byoc_diag_t *diag) {
  static const struct {
    const char *ending, *meaning;
  } others[] = {{".lib", "a static library of Windows"}, {".obj", "an object file"},    {".h", "a C header"},
                {".dll", "a Windows library"},           {".dylib", "a macOS library"}, {".onnx", "a model"}};
  const size_t size = strlen(path);
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
    const size_t ending = strlen(others[i].ending);
    if (size <= ending || strcmp(path + size - ending, others[i].ending) != 0) continue;
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                                           "-o %s names %s, but byoc build writes shared objects (.so), static "
                                           "libraries (.a), objects (.o) and folders of C "
                                           "source (.c)",
                                           path, others[i].meaning);
    byoc_diag_hint(diag, "name it %.*s.so", (int)(size - ending), path);
    return status;
  }
  return BYOC_OK;
}

// The name of an artifact, and the names of the files beside it.
typedef struct build_names_t {
  char model[128], header[128], output[160];
} build_names_t;

static void choose_names(const build_options_t *options, build_names_t *names) {
  // Several models are called after the artifact.
  byoc_model_name(options->model != NULL ? options->model : options->output, names->model, sizeof(names->model));
  if (options->name != NULL) snprintf(names->model, sizeof(names->model), "%s", options->name);
  snprintf(names->output, sizeof(names->output), "%s.so", names->model);
  byoc_model_name(options->output ? options->output : names->output, names->header, sizeof(names->header));
}

// Checks what can be checked before any work.
static byoc_status_t check_options(const build_options_t *options, const entry_option_t *entries,
                                   const byoc_compose_options_t *compose, byoc_diag_t *diag) {
  const size_t entry_count = options->entries.count;
  if (options->session.shard == NULL && (options->session.rank_count > 0 || options->session.rank > 0)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--rank and --ranks go with --shard");
  }
  BYOC_RETURN_IF_ERROR(byoc_setup_check_name("--name", options->name, sizeof(((build_names_t *)0)->model), diag));
  BYOC_RETURN_IF_ERROR(check_emit(options->emit, diag));
  if (options->verify) {
    BYOC_RETURN_IF_ERROR(byoc_verify_check(&options->session, options->output, options->emit, diag));
  }
  if (options->constants && options->emit == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--constants goes with --emit: an artifact holds all data");
  }
  if (entry_count == 0) BYOC_RETURN_IF_ERROR(check_outputs(options, compose, options->model, diag));
  for (size_t k = 0; k < entry_count; ++k) {
    BYOC_RETURN_IF_ERROR(check_outputs(options, compose, entries[k].model, diag));
  }
  return options->emit == NULL && options->output != NULL ? check_artifact_name(options->output, diag) : BYOC_OK;
}

// `level`: as in core/targets/target.h.
static byoc_status_t open_session(byoc_session_t *session, const build_options_t *options, size_t level,
                                  byoc_diag_t *diag) {
  byoc_session_options_t session_options = options->session;
  session_options.as_source = options->emit == NULL && byoc_compose_is_source(options->output);
  session_options.level = level;
  BYOC_RETURN_IF_ERROR(byoc_session_open(&session_options, diag, session));
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(session, diag));
  return options->require != NULL ? byoc_require_check(options->require, &session->setup.targets, diag) : BYOC_OK;
}

// *out_is_host: it was a host program, in which nothing is placed.
static byoc_status_t compile(byoc_session_t *session, const build_options_t *options, const char *model,
                             bool *out_is_host, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(session, model, diag));
  if (options->replacing != NULL && options->replacing->arrays != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_weights_take(&session->setup.build, options->replacing->arrays, diag));
  }
  *out_is_host = session->setup.build.result.program != NULL;
  const bool emit_ir = options->emit != NULL && strcmp(options->emit, "ir") == 0;
  return byoc_session_compile(session, emit_ir ? BYOC_BUILD_PLACED : BYOC_BUILD_ALL, diag);
}

static byoc_status_t build_model(byoc_session_t *session, const build_options_t *options,
                                 const byoc_compose_options_t *compose, byoc_diag_t *diag) {
  bool is_host = false;
  BYOC_RETURN_IF_ERROR(compile(session, options, options->model, &is_host, diag));
  BYOC_RETURN_IF_ERROR(add_plan(&session->setup.build, options, compose->files, diag));
  if (options->emit != NULL) return emit(session, options, compose, diag);
  const byoc_build_t *build = &session->setup.build;
  if (options->verify) {
    BYOC_RETURN_IF_ERROR(byoc_verify_builds(&options->session, &build, NULL, &options->model, 0, compose, diag));
  }
  BYOC_RETURN_IF_ERROR(byoc_session_compose(session, compose, diag));
  if (options->replacing != NULL) return print_replaced(options);
  return print_summary(session, is_host, compose->output, diag);
}

// ---- several models ----

static byoc_status_t read_entry(const byoc_string_items_t *items, size_t index, byoc_diag_t *diag,
                                entry_option_t *entries) {
  const char *item = items->items[index], *equals = strchr(item, '=');
  entry_option_t *entry = &entries[index];
  if (equals == NULL || equals == item || equals[1] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--entry takes NAME=MODEL, a name and a file, not '%s'", item);
  }
  snprintf(entry->name, sizeof(entry->name), "%.*s", (int)(equals - item), item);
  entry->model = equals + 1;
  if ((size_t)(equals - item) < sizeof(entry->name)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the entry's name '%.*s' is longer than %zu bytes",
                         (int)(equals - item), item, sizeof(entry->name) - 1);
}

// An artifact of several models or levels: what is written of one build alone is refused.
static byoc_status_t refuse_alone(const build_options_t *options, const char *what, const char *hint,
                                  byoc_diag_t *diag) {
  const struct {
    const char *name;
    bool is_given;
  } alone[] = {
      {"emit", options->emit != NULL}, {"save-plan", options->save_plan != NULL}, {"html", options->html != NULL}};
  for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); ++i) {
    if (!alone[i].is_given) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s is for one %s: %s", alone[i].name, what, hint);
  }
  return BYOC_OK;
}

static byoc_status_t read_entries(const build_options_t *options, byoc_diag_t *diag, entry_option_t *entries) {
  BYOC_RETURN_IF_ERROR(refuse_alone(options, "model", "build that entry alone", diag));
  if (options->output == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "with --entry the artifact has no name of its own: give -o");
  }
  const char *names[BYOC_COMPOSE_MOST_ENTRIES];
  const size_t count = options->entries.count;
  for (size_t k = 0; k < count && k < BYOC_COMPOSE_MOST_ENTRIES; ++k) {
    BYOC_RETURN_IF_ERROR(read_entry(&options->entries, k, diag, entries));
    names[k] = entries[k].name;
  }
  return byoc_setup_check_entries("--entry", names, count, diag);
}

// The programs of an artifact: each model, or entry, for each level.
typedef struct programs_t {
  byoc_session_t *sessions; // all models of the best level first
  const entry_option_t *entries;
  size_t model_count, entry_count, level_count; // entry_count 0: one model without a name; level_count 0: one processor
  size_t count;
} programs_t;

// "prefill", "x86-64-v3" or "prefill, x86-64-v3".
static void append_name(const programs_t *programs, size_t k, byoc_string_t *out) {
  const byoc_isa_levels_t *levels = &programs->sessions[0].setup.targets.levels;
  if (programs->entry_count > 0) byoc_string_append(out, programs->entries[k % programs->model_count].name);
  if (programs->level_count == 0) return;
  byoc_string_appendf(out, "%s%s", programs->entry_count > 0 ? ", " : "",
                      levels->levels[k / programs->model_count].name);
}

// Prints what was made: one line of the whole, and one for each program.
static byoc_status_t print_programs(const programs_t *programs, const char *output, byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_string_appendf(&text, "%s: %.1f MiB", output, size_of(output) / 1048576.0);
  if (programs->entry_count > 0) {
    byoc_string_appendf(&text, ", %zu entr%s", programs->entry_count, programs->entry_count == 1 ? "y" : "ies");
  }
  if (programs->level_count > 0) byoc_string_appendf(&text, ", %zu ISA levels", programs->level_count);
  byoc_string_append(&text, "\n");
  for (size_t k = 0; k < programs->count; ++k) {
    append_name(programs, k, &text);
    byoc_string_append(&text, ": ");
    byoc_setup_format_placement(&programs->sessions[k].setup, &text);
    byoc_string_append(&text, "\n");
    byoc_session_format_unusable(&programs->sessions[k], &text);
  }
  byoc_status_t status = byoc_print_text(&text, diag);
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t compile_program(const programs_t *programs, size_t k, const build_options_t *options,
                                     byoc_diag_t *diag) {
  byoc_session_t *session = &programs->sessions[k];
  const bool is_open = k == 0; // by it, the number of levels was found
  const char *model = programs->entry_count > 0 ? programs->entries[k % programs->model_count].model : options->model;
  bool is_host = false;
  byoc_status_t status = is_open ? BYOC_OK : open_session(session, options, k / programs->model_count + 1, diag);
  if (status == BYOC_OK) status = compile(session, options, model, &is_host, diag);
  if (status == BYOC_OK && options->require != NULL) {
    status = byoc_require_placed(options->require, &session->setup.build.result.plan, diag);
  }
  if (status == BYOC_OK) return BYOC_OK;
  byoc_string_t name;
  byoc_string_init(&name, byoc_allocator_system());
  append_name(programs, k, &name);
  (void)byoc_diag_context(diag, status, "%s '%s'", programs->entry_count > 0 ? "the entry" : "the level",
                          name.failed ? "" : name.data);
  byoc_string_deinit(&name);
  return status;
}

static byoc_status_t build_programs(programs_t *programs, const build_options_t *options,
                                    const byoc_compose_options_t *compose, byoc_diag_t *diag) {
  const byoc_build_t *builds[BYOC_COMPOSE_MOST_ENTRIES];
  const char *names[BYOC_COMPOSE_MOST_ENTRIES], *models[BYOC_COMPOSE_MOST_ENTRIES] = {options->model};
  BYOC_RETURN_IF_ERROR(byoc_setup_check_programs(programs->entry_count, programs->level_count, diag));
  for (size_t k = 0; k < programs->entry_count; ++k) {
    names[k] = programs->entries[k].name;
    models[k] = programs->entries[k].model;
  }
  byoc_status_t status = BYOC_OK;
  for (size_t k = 0; k < programs->count && status == BYOC_OK; ++k) {
    status = compile_program(programs, k, options, diag);
    builds[k] = &programs->sessions[k].setup.build;
  }
  if (status == BYOC_OK && options->verify) {
    status = byoc_verify_builds(&options->session, builds, names, models, programs->entry_count, compose, diag);
  }
  if (status == BYOC_OK) status = byoc_build_compose_entries(builds, names, programs->entry_count, compose, diag);
  byoc_progress_wipe();
  if (status != BYOC_OK) return status;
  return options->replacing != NULL ? print_replaced(options) : print_programs(programs, compose->output, diag);
}

static byoc_status_t build_all(const build_options_t *options, const entry_option_t *entries,
                               const byoc_compose_options_t *compose, byoc_diag_t *diag) {
  byoc_session_t sessions[BYOC_COMPOSE_MOST_ENTRIES] = {0};
  const size_t entry_count = options->entries.count, model_count = entry_count > 0 ? entry_count : 1;
  byoc_status_t status = open_session(&sessions[0], options, 1, diag);
  const size_t level_count = sessions[0].setup.targets.levels.count;
  programs_t programs = {.sessions = sessions,
                         .entries = entries,
                         .model_count = model_count,
                         .entry_count = entry_count,
                         .level_count = level_count,
                         .count = model_count * (level_count > 0 ? level_count : 1)};
  if (status == BYOC_OK && level_count > 0) {
    status = refuse_alone(options, "processor", "name one with -mcpu", diag);
  }
  if (status == BYOC_OK && (entry_count > 0 || level_count > 0)) {
    status = build_programs(&programs, options, compose, diag);
  } else if (status == BYOC_OK) {
    status = build_model(&sessions[0], options, compose, diag);
  }
  for (size_t k = 0; k < BYOC_COMPOSE_MOST_ENTRIES; ++k) byoc_session_close(&sessions[k]);
  return status;
}

static byoc_status_t build(const build_options_t *options, byoc_file_set_t *files, byoc_diag_t *diag) {
  build_names_t names;
  entry_option_t entries[BYOC_COMPOSE_MOST_ENTRIES];
  if (options->entries.count > 0) BYOC_RETURN_IF_ERROR(read_entries(options, diag, entries));
  choose_names(options, &names);
  byoc_compose_options_t compose = {
      // With --emit=c, -o names a file for the C of a shared object, not the folder that -o model.c is otherwise.
      .output = options->output != NULL && options->emit == NULL ? options->output : names.output,
      .model_name = names.model,
      .header_name = options->name != NULL ? names.model : names.header,
      .profile = options->profile,
      .keep_header = true,
      .huge_pages = options->huge_pages,
      .words = options->words.items,
      .word_count = options->words.count,
      .files = files,
  };
  BYOC_RETURN_IF_ERROR(byoc_build_parse_weights("--weights", options->weights, &compose, diag));
  char *weights = NULL;
  if (options->replacing != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_build_keep_code(options->replacing, &compose, diag, &weights));
  }
  byoc_status_t status = check_options(options, entries, &compose, diag);
  if (status == BYOC_OK) status = build_all(options, entries, &compose, diag);
  byoc_free(byoc_allocator_system(), weights);
  return status;
}

// One number is that of the contexts, too; 0 leaves it to them.
static byoc_status_t read_threads(build_options_t *options, byoc_diag_t *diag) {
  byoc_thread_list_t *threads = &options->session.threads;
  if (options->threads == NULL || strcmp(options->threads, "0") == 0) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_placing_read_threads("--threads", options->threads, diag, threads));
  if (threads->count == 1) options->session.thread_count = threads->counts[0];
  return BYOC_OK;
}

static int run(int argc, char **argv, const byoc_build_replacing_t *replacing) {
  build_options_t options = {.session = {.installed_by_default = true, .shows_steps = true}, .replacing = replacing};
  const byoc_option_row_t rows[] = {
      {"output", 'o', BYOC_OPT_STRING, &options.output, "FILE",
       "a shared object, or by the ending a static library (.a), an object (.o) or a folder of C source (.c) (default: "
       "MODEL.so here)"},
      {"name", 0, BYOC_OPT_STRING, &options.name, "NAME",
       "the model's name in the artifact; the header's functions begin with it (default: from the names of the files)"},
      {"entry", 0, BYOC_OPT_LIST, &options.entries, "NAME=MODEL",
       "one of several models of the artifact, instead of MODEL; repeat it for each"},
      BYOC_TARGET_ROWS(options.session, BYOC_INSTALLED_TARGETS),
      {"triple", 0, BYOC_OPT_STRING, &options.session.triple, "TRIPLE",
       "build for another machine: aarch64-linux-gnu, riscv64-linux-gnu, arm-linux-gnueabihf, x86_64-linux-musl "
       "(default: this one)"},
      BYOC_DIM_ROW(options.session),
      BYOC_STRICT_ROWS(options.session),
      BYOC_ALIAS_ROW(options.session),
      BYOC_AXIS_ROWS(options.session),
      BYOC_FALLBACK_ROW(options.session),
      BYOC_SHARD_ROWS(options.session),
      {"rank", 0, BYOC_OPT_COUNT, &options.session.rank, "R", "rank of the artifact, from 0"},
      BYOC_PLAN_ROWS(options.session, BYOC_COLLAGE_PLAN),
      BYOC_ERROR_ROWS(options.session),
      BYOC_CHECK_ROW(options.session),
      {"threads", 0, BYOC_OPT_STRING, &options.threads, "N[,N...]",
       "threads of a context, and of measuring (default: all processors that the process may use; 1 for measuring). "
       "Several numbers: a plan by measured costs for each; a context uses the plan for its number"},
      {"verify", 0, BYOC_OPT_FLAG, &options.verify, "",
       "compare the artifact with the evaluator: random inputs, zeros, NaN, several sizes; if they differ, no artifact "
       "is written"},
      {"emit", 0, BYOC_OPT_STRING, &options.emit, "FORM",
       "print the module (ir), the host program (host) or its C (c)"},
      {"constants", 0, BYOC_OPT_FLAG, &options.constants, "",
       "with --emit: print all data, so that byoc can read the text back; data of a host program goes into FILE.data "
       "beside -o FILE"},
      {"save-plan", 0, BYOC_OPT_STRING, &options.save_plan, "FILE",
       "write the plan as JSON: targets, costs and reasons"},
      {"html", 0, BYOC_OPT_STRING, &options.html, "FILE", "draw the plan as a page: one file, no network"},
      {"require", 0, BYOC_OPT_STRING, &options.require, "TARGET[,TARGET]", "fail if an operator is on another target"},
      {"profile", 0, BYOC_OPT_FLAG, &options.profile, "", "give the artifact a profile entry"},
      {"trace", 0, BYOC_OPT_FLAG, &options.session.trace, "",
       "give the artifact a trace entry, which reports the result of each instruction"},
      {"weights", 0, BYOC_OPT_STRING, &options.weights, "internal|appended|external|FILE",
       "put constants into the artifact's data, after its code, or into a file beside it: OUT.weights, or a "
       "FILE.weights that several artifacts share (default: internal, from 1.5 GiB on external)"},
      {"huge-pages", 0, BYOC_OPT_FLAG, &options.huge_pages, "",
       "copy the weights to huge pages when a model is loaded"},
  };
  static const char *const operands[] = {"a model: an .onnx file, or text form in a .byoc or .host file", NULL};
  const byoc_usage_t usage = {
      .command = "byoc build",
      .synopsis = "MODEL|--entry NAME=MODEL... [-o OUT] [--target TARGETS] [options]",
      .summary = "compile a model into one shared object",
      .operands = operands,
      .instead = &options.entries,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "byoc build writes a header for C programs beside the artifact: model.so, model.h.\n"
          "A weights file travels with its artifact: model.so, model.weights.\n"
          "model.a and model.o are linked into programs, which then need no dlopen; one program may have several.\n"
          "model.c is a folder with a Makefile that any C11 compiler builds; by default it has target 'c' alone, for\n"
          "any processor.\n"
          "With --entry, several models share the weights and the code of one artifact. Each has its own inputs,\n"
          "outputs and contexts, and is selected by its name at run time.\n"
          "byoc targets lists the targets and their options.\n"
          "With --shard, an artifact has the program and the weights of one rank: build one for each rank. byoc run\n"
          "--ranks runs them. A file for --shard has lines 'mesh dp=2, tp=2', 'weights tp' (matrices and tables are\n"
          "sharded along tp, as in Megatron-LM), 'spread NAME tp: 1' (dimension 1 of that value) and 'pipeline'.\n",
  };
  byoc_diag_t diag = {0};
  byoc_file_set_t files = {0};
  byoc_arena_t arena;
  bool done = false;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.model, &done);
  if (status == BYOC_OK && !done) status = byoc_build_words(&usage, argc, argv, &arena, &diag, &options.words);
  if (status == BYOC_OK && !done) {
    if (options.emit != NULL && byoc_option_is_stdout(options.output)) options.output = NULL;
    status = read_threads(&options, &diag);
    if (status == BYOC_OK) status = build(&options, &files, &diag);
    byoc_file_set_abandon(&files);
    const char *what = options.model != NULL ? options.model : options.output;
    if (status != BYOC_OK && what != NULL) byoc_diag_context(&diag, status, "building %s", what);
  }
  byoc_arena_deinit(&arena);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}

int byoc_main_build(int argc, char **argv) {
  return run(argc, argv, NULL);
}

int byoc_build_replacing(const byoc_build_replacing_t *replacing, int argc, char **argv) {
  return run(argc, argv, replacing);
}
