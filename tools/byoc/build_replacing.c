// SPDX-License-Identifier: Apache-2.0
// Options of builds as words that an artifact keeps, and a build that keeps the code of an artifact.
#include "build_replacing.h"

#include <string.h>

#include "core/base/file.h"
#include "core/base/string.h"

// Options whose values are files, but for these words.
static const struct {
  const char *option, *words[2];
} files[] = {{"--plan=", {"collage", "greedy"}},
             {"--shard=", {"megatron", "megatron"}},
             {"--plugin=", {"*", "*"}},
             {"--prefer=", {"*", "*"}}};
static const char any_file[] = "*";

static byoc_status_t hide_file(const char **word, byoc_arena_t *arena, byoc_diag_t *diag) {
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
    if (!byoc_starts_with(*word, files[i].option)) continue;
    const char *value = *word + strlen(files[i].option);
    if (strcmp(value, files[i].words[0]) == 0 || strcmp(value, files[i].words[1]) == 0) return BYOC_OK;
    *word = byoc_arena_format(arena, "%s%s", files[i].option, any_file);
    return *word != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  static const char weights[] = "--weights=";
  if (!byoc_starts_with(*word, weights)) return BYOC_OK;
  *word = byoc_arena_format(arena, "%s%s", weights, byoc_path_base(*word + strlen(weights)));
  return *word != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static const char *const left_out[] = {"output",       "name",   "entry",   "emit",    "constants",
                                       "save-plan",    "html",   "require", "verbose", "print-after",
                                       "check-budget", "verify", NULL};

byoc_status_t byoc_build_words(const byoc_usage_t *usage, int argc, char **argv, byoc_arena_t *arena, byoc_diag_t *diag,
                               byoc_string_items_t *out_words) {
  BYOC_RETURN_IF_ERROR(byoc_options_words(usage, argc, argv, left_out, arena, diag, out_words));
  for (size_t i = 0; i < out_words->count; ++i) BYOC_RETURN_IF_ERROR(hide_file(&out_words->items[i], arena, diag));
  return BYOC_OK;
}

static size_t name_size(const char *word) {
  return strcspn(word, "=");
}

// A user may write "-t X" and "--target X", too.
static bool is_given(const byoc_string_items_t *given, const char *word) {
  const size_t size = name_size(word);
  for (size_t i = 0; i < given->count; ++i) {
    const char *other = given->items[i];
    if (name_size(other) == size && strncmp(other, word, size) == 0) return true;
    if (byoc_starts_with(word, "--target=") && byoc_starts_with(other, "-t")) return true;
  }
  return false;
}

// An artifact may come from anywhere: what it records starts no plugin and no compiler, and writes no file.
static bool may_be_recorded(const char *word) {
  if (!byoc_starts_with(word, "--") || strstr(word, "-cc") != NULL) return false;
  for (size_t i = 0; left_out[i] != NULL; ++i) {
    if (name_size(word) == strlen(left_out[i]) + 2 && byoc_starts_with(word + 2, left_out[i])) return false;
  }
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
    if (!byoc_starts_with(word, files[i].option)) continue;
    const char *value = word + strlen(files[i].option);
    return strcmp(value, files[i].words[0]) == 0 || strcmp(value, files[i].words[1]) == 0;
  }
  return true;
}

byoc_status_t byoc_build_words_merge(const char *artifact, const json_t *words, const byoc_string_items_t *given,
                                     byoc_diag_t *diag, byoc_string_items_t *out_words) {
  size_t index;
  const json_t *item;
  out_words->count = 0;
  json_array_foreach(words, index, item) {
    const char *word = json_string_value(item);
    if (word == NULL || is_given(given, word)) continue;
    if (byoc_ends_with(word, "=*")) {
      const int size = (int)name_size(word);
      byoc_status_t status =
          byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' was built with a file by %.*s", artifact, size, word);
      byoc_diag_hint(diag, "give it again, after the other options: -- %.*s FILE", size, word);
      return status;
    }
    if (!may_be_recorded(word)) {
      byoc_status_t status =
          byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                          "'%s' says that it was built with '%s', which has to be given again", artifact, word);
      byoc_diag_hint(diag, "if it is right, give it after the other options: -- %s", word);
      return status;
    }
    if (out_words->count < BYOC_MAX_LIST) out_words->items[out_words->count++] = word;
  }
  for (size_t i = 0; i < given->count && out_words->count < BYOC_MAX_LIST; ++i) {
    out_words->items[out_words->count++] = given->items[i];
  }
  return BYOC_OK;
}

// The artifact's code has the name of its weights file. The file keeps what it holds: other artifacts may share it.
static byoc_status_t keep_weights(const byoc_build_replacing_t *replacing, byoc_compose_options_t *compose,
                                  byoc_diag_t *diag, char **out_path) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  char *folder = byoc_path_directory(allocator, replacing->output);
  *out_path = folder != NULL ? byoc_path_join(allocator, folder, replacing->weights_file) : NULL;
  byoc_free(allocator, folder);
  compose->weights = BYOC_COMPOSE_WEIGHTS_EXTERNAL;
  compose->weights_path = *out_path;
  return *out_path != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_build_keep_code(const byoc_build_replacing_t *replacing, byoc_compose_options_t *compose,
                                   byoc_diag_t *diag, char **out_weights) {
  compose->output = replacing->output;
  compose->model_name = compose->header_name = replacing->model_name;
  compose->keep_header = false;
  compose->words = replacing->words;
  compose->word_count = replacing->word_count;
  compose->replaces = replacing->artifact;
  return replacing->weights_file != NULL ? keep_weights(replacing, compose, diag, out_weights) : BYOC_OK;
}
