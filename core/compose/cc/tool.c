// SPDX-License-Identifier: Apache-2.0
// Finds the compiler and its version, and runs it.
#define _GNU_SOURCE // memmem
#include "core/compose/cc/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/process.h"
#include "core/base/sha256.h"
#include "core/compose/cc/compiler.h"

void byoc_command_add(byoc_command_t *command, const char *argument) {
  const char *copy = byoc_arena_copy_string(&command->arena, argument);
  if (copy == NULL || !byoc_vector_push(&command->arguments, command->arena.allocator, copy)) command->failed = true;
}

void byoc_command_addf(byoc_command_t *command, const char *format, ...) {
  byoc_string_t text;
  byoc_string_init(&text, command->arena.allocator);
  va_list arguments;
  va_start(arguments, format);
  byoc_string_appendv(&text, format, arguments);
  va_end(arguments);
  if (text.failed) command->failed = true;
  if (!text.failed) byoc_command_add(command, text.data);
  byoc_string_deinit(&text);
}

// Contraction of a * b + c is allowed (gnu11's default). No warning makes a user's build fail. In the tests two do: of
// two things of one name, one of which is taken for the other, and of comparisons that always have one answer.
static const char *const quiet_flags[] = {"-std=gnu11", "-w", "-fdiagnostics-color=never", "-I", "include", NULL};
static const char *const checked_flags[] = {
    "-std=gnu11", "-Werror=shadow", "-Werror=tautological-compare", "-fdiagnostics-color=never", "-I", "include", NULL,
};

const char *const *byoc_flags_before(void) {
  const char *asked = getenv("BYOC_CHECK_C");
  return asked != NULL && asked[0] != '\0' ? checked_flags : quiet_flags;
}

// The folder's own name must not reach the object.
const char *const byoc_flags_after[] = {
    "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-fno-lto", "-g0", NULL,
};

void byoc_command_add_compilation(byoc_command_t *command, const byoc_compile_job_t *job) {
  for (const char *const *flag = byoc_flags_before(); *flag != NULL; flag++) byoc_command_add(command, *flag);
  for (size_t i = 0; i < job->flag_count; i++) byoc_command_add(command, job->flags[i]);
  for (const char *const *flag = byoc_flags_after; *flag != NULL; flag++) byoc_command_add(command, *flag);
}

// The first word of a compiler's command line.
static bool first_word_exists(const char *compiler) {
  char word[1024];
  compiler += strspn(compiler, " \t");
  size_t length = strcspn(compiler, " \t");
  if (length == 0 || length >= sizeof(word)) return false;
  memcpy(word, compiler, length);
  word[length] = '\0';
  return byoc_program_exists(word);
}

void byoc_command_init(byoc_command_t *command, const char *compiler, byoc_allocator_t allocator) {
  *command = (byoc_command_t){0};
  byoc_arena_init(&command->arena, allocator);
  // A path with spaces in it is one program; any other text is split into words.
  if (strchr(compiler, ' ') == NULL || byoc_program_exists(compiler)) {
    byoc_command_add(command, compiler);
    return;
  }
  while (*compiler != '\0') {
    compiler += strspn(compiler, " \t");
    size_t length = strcspn(compiler, " \t");
    if (length > 0) byoc_command_addf(command, "%.*s", (int)length, compiler);
    compiler += length;
  }
}

void byoc_command_deinit(byoc_command_t *command) {
  byoc_vector_deinit(&command->arguments, command->arena.allocator);
  byoc_vector_deinit(&command->places, command->arena.allocator);
  byoc_arena_deinit(&command->arena);
}

// Messages of a driver whose linker failed: the linker's own messages have the reason.
static bool is_summary(const char *line, size_t size) {
  static const char *const summaries[] = {"ld returned ", "linker command failed"};
  for (size_t i = 0; i < sizeof(summaries) / sizeof(summaries[0]); i++) {
    if (memmem(line, size, summaries[i], strlen(summaries[i])) != NULL) return true;
  }
  return false;
}

// Appends one line in which paths on this machine are replaced by names that readers know.
static void append_line(const byoc_command_t *command, const char *line, size_t size, byoc_string_t *out) {
  for (size_t at = 0; at < size;) {
    const byoc_command_place_t *found = NULL;
    for (size_t i = 0; i < command->places.count && found == NULL; i++) {
      const byoc_command_place_t *place = &command->places.data[i];
      size_t length = strlen(place->path);
      if (length <= size - at && memcmp(line + at, place->path, length) == 0) found = place;
    }
    if (found == NULL) {
      byoc_string_append_bytes(out, line + at++, 1);
      continue;
    }
    byoc_string_append(out, found->name);
    at += strlen(found->path);
  }
}

// Where the messages that matter begin: the line of the first error.
static const char *first_error(const char *text) {
  static const char *const marks[] = {"error:", "undefined reference", "undefined symbol", "multiple definition",
                                      "No space left"};
  const char *best = NULL;
  for (const char *line = text; *line != '\0' && best == NULL;) {
    size_t size = strcspn(line, "\n");
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !is_summary(line, size) && best == NULL; i++) {
      if (memmem(line, size, marks[i], strlen(marks[i])) != NULL) best = line;
    }
    line += size + (line[size] == '\n');
  }
  return best != NULL ? best : text;
}

// The messages from the first error on; all of them if none is an error.
static void append_reason(const byoc_command_t *command, const char *text, byoc_string_t *out) {
  enum { MAX_LINES = 12 };
  const char *line = first_error(text);
  for (int count = 0; *line != '\0' && count < MAX_LINES;) {
    size_t size = strcspn(line, "\n");
    if (size > 0 && !is_summary(line, size)) {
      if (count++ > 0) byoc_string_append(out, "\n");
      append_line(command, line, size, out);
    }
    line += size + (line[size] == '\n');
  }
}

void byoc_command_name(byoc_command_t *command, const char *path, const char *name) {
  byoc_command_place_t place = {byoc_arena_copy_string(&command->arena, path),
                                byoc_arena_copy_string(&command->arena, name)};
  if (place.path == NULL || place.name == NULL ||
      !byoc_vector_push(&command->places, command->arena.allocator, place)) {
    command->failed = true;
  }
}

void byoc_command_work_in(byoc_command_t *command, const char *folder) {
  command->folder = byoc_arena_copy_string(&command->arena, folder);
  const char *inside = byoc_arena_format(&command->arena, "%s/", folder);
  if (inside == NULL || command->folder == NULL) command->failed = true;
  if (inside != NULL) byoc_command_name(command, inside, "");
  byoc_command_name(command, folder, "");
}

byoc_status_t byoc_command_run(byoc_command_t *command, const char *what, const char *directory, byoc_diag_t *diag) {
  byoc_allocator_t allocator = command->arena.allocator;
  if (command->failed || !byoc_vector_push(&command->arguments, allocator, NULL)) return byoc_diag_out_of_memory(diag);
  if (byoc_log_level() >= BYOC_LOG_DEBUG) {
    byoc_string_t line;
    byoc_string_init(&line, allocator);
    for (size_t i = 0; i + 1 < command->arguments.count; i++) {
      byoc_string_appendf(&line, "%s%s", i > 0 ? " " : "", command->arguments.data[i]);
    }
    byoc_log(BYOC_LOG_DEBUG, "%s", line.data);
    byoc_string_deinit(&line);
  }
  const char *place = command->folder == NULL ? NULL : byoc_arena_format(&command->arena, "TMPDIR=%s", command->folder);
  if (command->folder != NULL && place == NULL) return byoc_diag_out_of_memory(diag);
  const char *const variables[] = {"LC_ALL=C", place, NULL};
  byoc_process_options_t options = {.directory = directory, .variables = variables};
  byoc_process_result_t result;
  byoc_string_t output;
  byoc_string_init(&output, allocator);
  byoc_status_t status = byoc_process_run(command->arguments.data, &options, &output, diag, &result);
  if (status == BYOC_NOT_FOUND) {
    byoc_diag_hint(diag, "install it, or name another compiler with the target \"c -cc=PROGRAM\" or in CC");
  }
  if (status == BYOC_OK && result.exit_code != 0) {
    byoc_string_t shown;
    byoc_string_init(&shown, allocator);
    append_reason(command, output.data, &shown);
    if (result.signal != 0) byoc_string_appendf(&shown, " (ended by signal %d)", result.signal);
    bool is_full = strstr(output.data, "No space left on device") != NULL;
    status = byoc_diag_error(diag, is_full ? BYOC_IO : BYOC_TOOL, "%s failed: %s", what,
                             shown.size > 0 ? shown.data : "it gave no reason");
    byoc_string_deinit(&shown);
  }
  byoc_string_deinit(&output);
  return status;
}

byoc_status_t byoc_c_compiler_find(const char *compiler, byoc_diag_t *diag, const char **out_compiler) {
  const char *chosen = compiler != NULL && compiler[0] != '\0' ? compiler : NULL, *of_user = getenv("CC");
  bool is_of_user = chosen == NULL && of_user != NULL && of_user[0] != '\0';
  if (is_of_user) chosen = of_user;
  *out_compiler = chosen;
  if (chosen != NULL) {
    if (first_word_exists(chosen) || byoc_program_exists(chosen)) return BYOC_OK;
    byoc_status_t status = byoc_diag_error(diag, BYOC_NOT_FOUND, "the compiler '%s'%s was not found", chosen,
                                           is_of_user ? " of the variable CC" : "");
    byoc_diag_hint(diag, "install it, or name another one with the target \"c -cc=PROGRAM\" or in CC");
    return status;
  }
  static const char *const names[] = {"cc", "gcc", "clang"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    *out_compiler = names[i];
    if (byoc_program_exists(names[i])) return BYOC_OK;
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_NOT_FOUND,
                                         "no C compiler was found: building needs one (cc, gcc and clang were looked "
                                         "for in PATH)");
  byoc_diag_hint(diag,
                 "install the Debian package gcc (or clang), or name a compiler with the target \"c -cc=PROGRAM\" "
                 "or in CC");
  return status;
}

// The versions asked for so far; they live as long as the process.
typedef struct version_t version_t;
struct version_t {
  version_t *next;
  const char *compiler, *text;
};
static pthread_mutex_t versions_lock = PTHREAD_MUTEX_INITIALIZER;
static version_t *versions;

// NULL if out of memory.
static const char *keep_version(const char *compiler, const char *text) {
  byoc_allocator_t allocator = byoc_allocator_system();
  version_t *version = calloc(1, sizeof(*version));
  char *name = byoc_copy_string(allocator, compiler), *copy = byoc_copy_string(allocator, text);
  if (version == NULL || name == NULL || copy == NULL) {
    byoc_free(allocator, name);
    byoc_free(allocator, copy);
    free(version);
    return NULL;
  }
  *version = (version_t){.next = versions, .compiler = name, .text = copy};
  versions = version;
  return copy;
}

// A compiler without a version is identified by its file, and by the files of the words after it: "wrapper gcc".
static byoc_status_t identify_by_files(const byoc_command_t *command, byoc_string_t *out, byoc_diag_t *diag) {
  byoc_sha256_t hasher;
  byoc_sha256_init(&hasher);
  byoc_string_clear(out);
  for (size_t i = 0; i < command->arguments.count; i++) {
    const char *word = command->arguments.data[i];
    if (word == NULL || strcmp(word, "--version") == 0) continue;
    char *path = NULL;
    BYOC_RETURN_IF_ERROR(byoc_program_path(word, command->arena.allocator, diag, &path));
    byoc_sha256_update_string(&hasher, word);
    if (path == NULL) continue;
    byoc_file_view_t view;
    byoc_status_t status = byoc_file_view_open(path, diag, &view);
    byoc_free(command->arena.allocator, path);
    BYOC_RETURN_IF_ERROR(status);
    byoc_sha256_update(&hasher, view.data, view.size_bytes);
    byoc_file_view_close(&view);
  }
  char digits[65];
  byoc_digest_t digest = byoc_sha256_finish(&hasher);
  byoc_digest_format(&digest, digits);
  byoc_string_appendf(out, "without a version, file %s", digits);
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static byoc_status_t ask_version(const char *compiler, byoc_diag_t *diag, const char **out_version) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_status_t status = BYOC_OK;
  byoc_command_t command;
  byoc_command_init(&command, compiler, allocator);
  byoc_command_add(&command, "--version");
  byoc_string_t output;
  byoc_string_init(&output, allocator);
  byoc_process_result_t result;
  static const char *const english[] = {"LC_ALL=C", NULL};
  byoc_process_options_t options = {.variables = english, .without_errors = true, .timeout_ms = 20000};
  if (command.failed || !byoc_vector_push(&command.arguments, allocator, NULL)) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_process_run(command.arguments.data, &options, &output, diag, &result);
  // Asks once more, in case memory or descriptors ran out, or the clock leapt: the answer is part of all keys.
  if (status == BYOC_OK && (result.exit_code != 0 || output.size == 0)) {
    byoc_string_clear(&output);
    status = byoc_process_run(command.arguments.data, &options, &output, diag, &result);
  }
  const size_t line_size = strcspn(output.data, "\n");
  if (status == BYOC_OK && line_size < output.size) output.data[line_size] = '\0';
  if (status == BYOC_OK && (result.exit_code != 0 || line_size == 0)) {
    status = identify_by_files(&command, &output, diag);
  }
  if (status == BYOC_OK) {
    *out_version = keep_version(compiler, output.data);
    if (*out_version == NULL) status = byoc_diag_out_of_memory(diag);
  }
  byoc_string_deinit(&output);
  byoc_command_deinit(&command);
  return status;
}

byoc_status_t byoc_c_compiler_version(const char *compiler, byoc_diag_t *diag, const char **out_version) {
  *out_version = NULL;
  BYOC_RETURN_IF_ERROR(byoc_c_compiler_find(compiler, diag, &compiler));
  byoc_status_t status = BYOC_OK;
  pthread_mutex_lock(&versions_lock);
  for (const version_t *at = versions; at != NULL && *out_version == NULL; at = at->next) {
    if (strcmp(at->compiler, compiler) == 0) *out_version = at->text;
  }
  if (*out_version == NULL) status = ask_version(compiler, diag, out_version);
  pthread_mutex_unlock(&versions_lock);
  return status;
}
