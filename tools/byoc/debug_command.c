// SPDX-License-Identifier: Apache-2.0
// Runs byoc as a command of its own, for trials that may crash.
#include "debug_command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "core/base/process.h"

static void add_word(byoc_debug_command_t *command, const char *word) {
  const char *copy = byoc_arena_copy_string(&command->arena, word);
  if (copy == NULL || !byoc_vector_push(&command->words, byoc_arena_allocator(&command->arena), copy)) {
    command->failed = true;
  }
}

void byoc_debug_command_add(byoc_debug_command_t *command, const char *option, const char *value) {
  add_word(command, option);
  if (value != NULL) add_word(command, value);
}

static void add_list(byoc_debug_command_t *command, const char *option, const byoc_string_items_t *items) {
  for (size_t i = 0; i < items->count; ++i) byoc_debug_command_add(command, option, items->items[i]);
}

void byoc_debug_command_init(byoc_debug_command_t *command, const char *name, const byoc_debug_model_t *model,
                             const char *target) {
  *command = (byoc_debug_command_t){.failed = false};
  byoc_arena_init(&command->arena, byoc_allocator_system());
  add_word(command, "byoc");
  add_word(command, name);
  add_word(command, model->path);
  if (target != NULL) byoc_debug_command_add(command, "--target", target);
  if (target == NULL) add_list(command, "--target", &model->session.targets);
  add_list(command, "--plugin", &model->session.plugins);
  add_list(command, "--dim", &model->session.dims);
  add_list(command, "--disable-pass", &model->session.disabled);
  if (model->session.layout != NULL) byoc_debug_command_add(command, "--layout", model->session.layout);
  if (strcmp(name, "run") != 0) return;
  byoc_debug_command_add(command, "--check-budget", "0"); // wrong code is what it looks for
  char seed[32];
  snprintf(seed, sizeof(seed), "%lld", (long long)model->seed);
  add_list(command, "--input", &model->inputs);
  byoc_debug_command_add(command, "--random", NULL);
  byoc_debug_command_add(command, "--seed", seed);
}

void byoc_debug_command_deinit(byoc_debug_command_t *command) {
  byoc_arena_deinit(&command->arena);
}

void byoc_debug_command_print(const byoc_debug_command_t *command, byoc_string_t *out) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  for (size_t i = 0; i < command->words.count; ++i) {
    const char *word = command->words.data[i];
    byoc_string_append(out, i > 0 ? " " : "");
    if (word[0] != '\0' && word[strspn(word, safe)] == '\0') {
      byoc_string_append(out, word);
      continue;
    }
    byoc_string_append(out, "'");
    for (; *word != '\0'; ++word) {
      if (*word == '\'') byoc_string_append(out, "'\\''");
      if (*word != '\'') byoc_string_append_bytes(out, word, 1);
    }
    byoc_string_append(out, "'");
  }
}

// The first error that it printed, without what only says where it was, and its hint.
static void find_reason(byoc_debug_command_t *command, const char *output, byoc_string_t *out) {
  const char *error = strstr(output, "error: ");
  if (error == NULL) byoc_string_append(out, "it failed without a reason");
  if (error != NULL) byoc_string_append_bytes(out, error + strlen("error: "), strcspn(error + strlen("error: "), "\n"));
  const char *hint = error != NULL ? strstr(error, "\nhint: ") : NULL;
  if (hint == NULL) return;
  hint += strlen("\nhint: ");
  command->hint = byoc_arena_format(&command->arena, "%.*s", (int)strcspn(hint, "\n"), hint);
  if (command->hint == NULL) command->failed = true;
}

byoc_status_t byoc_debug_command_run(byoc_debug_command_t *command, int64_t timeout_ms, byoc_string_t *out_reason,
                                     byoc_diag_t *diag) {
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
  if (size <= 0) return byoc_diag_error(diag, BYOC_IO, "cannot find out which file this program is");
  program[size] = '\0';
  if (!byoc_vector_push(&command->words, byoc_arena_allocator(&command->arena), (const char *)NULL)) {
    command->failed = true;
  }
  if (command->failed) return byoc_diag_out_of_memory(diag);
  const char *name = command->words.data[0];
  command->words.data[0] = program;
  const byoc_process_options_t options = {.timeout_ms = timeout_ms};
  byoc_process_result_t result = {0};
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  byoc_status_t status = byoc_process_run(command->words.data, &options, &output, diag, &result);
  command->words.data[0] = name;
  command->words.count -= 1; // without the NULL
  if (status == BYOC_OK && result.timed_out) {
    byoc_string_appendf(out_reason, "it took longer than %lld seconds", (long long)(timeout_ms / 1000));
  } else if (status == BYOC_OK && result.signal != 0) {
    byoc_string_appendf(out_reason, "it crashed (signal %d, %s)", result.signal, strsignal(result.signal));
  } else if (status == BYOC_OK && result.exit_code != 0) {
    command->is_misuse = result.exit_code == BYOC_EXIT_MISUSE;
    find_reason(command, output.data, out_reason);
  }
  if (output.failed || out_reason->failed || command->failed) status = byoc_diag_out_of_memory(diag);
  byoc_string_deinit(&output);
  return status;
}

byoc_status_t byoc_debug_command_require(byoc_debug_command_t *command, const char *what, byoc_diag_t *diag) {
  byoc_string_t reason;
  byoc_string_init(&reason, byoc_allocator_system());
  byoc_status_t status = byoc_debug_command_run(command, 0, &reason, diag);
  if (status == BYOC_OK && reason.size > 0) {
    status = command->is_misuse ? BYOC_INVALID_ARGUMENT : BYOC_INVALID_DATA;
    byoc_diag_error(diag, status, "%s: %s", what, reason.data);
    if (command->hint != NULL) byoc_diag_hint(diag, "%s", command->hint);
  }
  byoc_string_deinit(&reason);
  return status;
}
