// SPDX-License-Identifier: Apache-2.0
// byoc weights: what became of a model's weights in an artifact, and others in their place.
#include <stdio.h>
#include <string.h>

#include "action.h"
#include "artifact.h"
#include "build_replacing.h"
#include "command.h"
#include "core/compose/artifact/compose.h"
#include "core/loader/artifact_file.h"
#include "table.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"
#include "weights_take.h"

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? text : "";
}

// The metadata of the entry and level (NULL: the first one).
static byoc_status_t read_entry(const byoc_artifact_file_t *file, const char *path, const char *name, const char *level,
                                byoc_diag_t *diag, json_t **out_root) {
  bool has_entry = false;
  for (const char *text = file->metadata; text < file->metadata_end; text += strlen(text) + 1) {
    json_error_t error;
    json_t *root = byoc_json_load(text, strlen(text), 0, &error);
    if (root == NULL && byoc_json_out_of_memory(&error)) return byoc_diag_out_of_memory(diag);
    if (root == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the metadata of '%s': %s", path, error.text);
    *out_root = root;
    const bool is_entry = name == NULL || strcmp(text_of(root, "entry"), name) == 0;
    has_entry = has_entry || is_entry;
    if (is_entry && (level == NULL || strcmp(text_of(root, "level"), level) == 0)) return BYOC_OK;
    json_decref(root);
  }
  *out_root = NULL;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' has no %s '%s'; byoc inspect lists its contents", path,
                         has_entry ? "level" : "entry", has_entry ? level : name);
}

static byoc_status_t read_metadata(const char *path, const char *entry, const char *level, byoc_diag_t *diag,
                                   json_t **out_root) {
  byoc_artifact_file_t file;
  *out_root = NULL;
  BYOC_RETURN_IF_ERROR(byoc_artifact_file_open(path, diag, &file));
  byoc_status_t status = read_entry(&file, path, entry, level, diag, out_root);
  byoc_artifact_file_close(&file);
  return status;
}

// ---- list ----

static const char *fate_of(const json_t *initializer) {
  const bool is_stored = json_is_true(json_object_get(initializer, "stored"));
  const bool is_read = json_object_get(initializer, "read") != NULL;
  if (is_read) return is_stored ? "as it is, and values of it in the code" : "values of it in the code";
  return is_stored ? "as it is" : "packed, folded into others, or not used";
}

static byoc_status_t print_list(const json_t *root, byoc_diag_t *diag) {
  static const byoc_table_column_t columns[] = {{.title = "initialiser", .is_flexible = true},
                                                {.title = "type", .is_flexible = true},
                                                {.title = "is in the artifact"}};
  const json_t *initializers = json_object_get(root, "initializers"), *initializer;
  const char *weights_file = json_string_value(json_object_get(root, "weights_file"));
  const size_t constants = json_array_size(json_object_get(root, "constants"));
  size_t index;
  byoc_table_t table;
  byoc_string_t out;
  byoc_string_init(&out, byoc_allocator_system());
  byoc_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]), byoc_allocator_system());
  json_array_foreach(initializers, index, initializer) {
    byoc_table_cell(&table, "%s", text_of(initializer, "name"));
    byoc_table_cell(&table, "%s", text_of(initializer, "type"));
    byoc_table_cell(&table, "%s", fate_of(initializer));
  }
  byoc_table_print(&table, 0, &out);
  byoc_string_appendf(&out, "%zu constant%s, %lld bytes", constants, byoc_plural(constants),
                      (long long)json_integer_value(json_object_get(root, "constants_size_bytes")));
  if (weights_file != NULL) byoc_string_appendf(&out, ", in the weights file '%s'", weights_file);
  byoc_string_append(&out, "\n");
  byoc_status_t status = table.failed ? byoc_diag_out_of_memory(diag) : byoc_print_text(&out, diag);
  byoc_table_deinit(&table);
  byoc_string_deinit(&out);
  return status;
}

static byoc_status_t print_json(const json_t *root, byoc_diag_t *diag) {
  json_t *object = json_object();
  static const char *const keys[] = {"weights_file", "constants_size_bytes", "constants", "initializers"};
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
    json_t *value = json_object_get(root, keys[i]);
    if (value != NULL) (void)json_object_set(object, keys[i], value);
  }
  return byoc_json_print(object, diag);
}

static int list(int argc, char **argv) {
  const char *artifact = NULL, *entry = NULL, *level = NULL;
  bool as_json = false;
  const byoc_option_row_t rows[] = {
      BYOC_ENTRY_ROW(entry, "show this one"),
      {"level", 0, BYOC_OPT_STRING, &level, "NAME",
       "the ISA level to show, in an artifact for several (default: the best for this processor)"},
      {"json", 0, BYOC_OPT_FLAG, &as_json, "", "as JSON"},
  };
  static const char *const operands[] = {"an artifact", NULL};
  const byoc_usage_t usage = {
      .command = "byoc weights list",
      .synopsis = "ARTIFACT [--entry NAME] [--level NAME] [--json]",
      .summary = "show the form of the model's initialisers in the artifact",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "Values in the code cannot be replaced; byoc weights replace takes new values for the rest.\n",
  };
  byoc_diag_t diag = {0};
  json_t *root = NULL;
  bool done = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &artifact, &done);
  if (status == BYOC_OK && !done) {
    status = read_metadata(artifact, entry, level, &diag, &root);
    if (status == BYOC_OK) status = as_json ? print_json(root, &diag) : print_list(root, &diag);
    json_decref(root);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}

// ---- replace ----

typedef struct replace_options_t {
  byoc_string_items_t with, operands;
  const char *model, *output;
} replace_options_t;

typedef struct words_t {
  byoc_string_items_t recorded, all;
  char *argv[2 * BYOC_MAX_LIST + 4];
  int argc;
} words_t;

static void add_word(words_t *words, const char *word) {
  words->argv[words->argc++] = (char *)(uintptr_t)word;
}

// NAME=MODEL of one of the entries.
static byoc_status_t check_entry(const char *artifact, const char *item, const json_t *root, byoc_diag_t *diag) {
  const size_t size = strcspn(item, "=");
  size_t index;
  const json_t *entry;
  json_array_foreach(json_object_get(root, "entries"), index, entry) {
    const char *name = json_string_value(entry);
    if (name != NULL && strlen(name) == size && strncmp(name, item, size) == 0) return BYOC_OK;
  }
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' has no entry '%.*s'; byoc inspect lists its entries",
                         artifact, (int)size, item);
}

static byoc_status_t check(const replace_options_t *options, const json_t *root, byoc_diag_t *diag) {
  const size_t entries = json_array_size(json_object_get(root, "entries"));
  const bool has_entries = entries > 0;
  const char *artifact = options->operands.items[0];
  if (options->with.count == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "byoc weights replace needs --with FILE: the new weights");
  }
  if (options->output != artifact && byoc_compose_form(options->output) != BYOC_COMPOSE_SHARED) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "weights are replaced in shared objects; '%s' would be none",
                           options->output);
  }
  if (!has_entries && options->with.count > 1) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' has one model, and --with is given %zu times", artifact,
                           options->with.count);
  }
  if (has_entries && options->with.count != entries) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "'%s' has %zu entries, and --with is given %zu time%s: give a model for each, NAME=MODEL",
                           artifact, entries, options->with.count, byoc_plural(options->with.count));
  }
  for (size_t i = 0; has_entries && i < options->with.count; ++i) {
    BYOC_RETURN_IF_ERROR(check_entry(artifact, options->with.items[i], root, diag));
  }
  const bool are_arrays = byoc_weights_are_arrays(options->with.items[0]);
  if (has_entries && (are_arrays || options->model != NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "'%s' has several entries: give a model for each, --with NAME=MODEL", artifact);
  }
  if (!has_entries && are_arrays != (options->model != NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           are_arrays
                               ? "%s says nothing of the model: give the one that '%s' was made of, --model MODEL"
                               : "%s is a model: --model is for .npz and .safetensors files, which '%s' would "
                                 "take",
                           options->with.items[0], artifact);
  }
  return BYOC_OK;
}

static void list_recorded(const json_t *root, byoc_string_items_t *out_words) {
  size_t index;
  const json_t *item;
  json_array_foreach(json_object_get(root, "options"), index, item) {
    const char *word = json_string_value(item);
    if (word != NULL && out_words->count < BYOC_MAX_LIST) out_words->items[out_words->count++] = word;
  }
}

static byoc_status_t collect(const replace_options_t *options, const json_t *root, byoc_diag_t *diag, words_t *words) {
  byoc_string_items_t given = {.count = 0};
  for (size_t i = 1; i < options->operands.count; ++i) given.items[given.count++] = options->operands.items[i];
  list_recorded(root, &words->recorded);
  BYOC_RETURN_IF_ERROR(
      byoc_build_words_merge(options->operands.items[0], json_object_get(root, "options"), &given, diag, &words->all));
  add_word(words, "byoc build");
  for (size_t i = 0; i < words->all.count; ++i) add_word(words, words->all.items[i]);
  const bool has_entries = json_object_get(root, "entries") != NULL;
  for (size_t i = 0; i < options->with.count && i < BYOC_MAX_LIST / 2; ++i) {
    if (has_entries) add_word(words, "--entry");
    add_word(words, options->model != NULL ? options->model : options->with.items[i]);
  }
  if (has_entries) add_word(words, "-o"), add_word(words, options->output);
  return BYOC_OK;
}

static int replace_in(const replace_options_t *options, const json_t *root) {
  words_t words = {.argc = 0};
  byoc_diag_t diag = {0};
  byoc_status_t status = check(options, root, &diag);
  if (status == BYOC_OK) status = collect(options, root, &diag, &words);
  if (status != BYOC_OK) return byoc_report(&diag, status);
  const byoc_build_replacing_t replacing = {
      .artifact = options->operands.items[0],
      .output = options->output,
      .model_name = text_of(root, "model"),
      .weights_file = json_string_value(json_object_get(root, "weights_file")),
      .arrays = options->model != NULL ? options->with.items[0] : NULL,
      .words = words.recorded.items,
      .word_count = words.recorded.count,
  };
  return byoc_build_replacing(&replacing, words.argc, words.argv);
}

static int replace(int argc, char **argv) {
  replace_options_t options = {.model = NULL};
  const byoc_option_row_t rows[] = {
      {"with", 0, BYOC_OPT_LIST, &options.with, "[NAME=]FILE",
       "the model with its new weights, once for each entry; or a .npz or .safetensors file of arrays"},
      {"model", 0, BYOC_OPT_STRING, &options.model, "MODEL", "the model of these initialisers"},
      {"output", 'o', BYOC_OPT_STRING, &options.output, "FILE", "the output (default: the artifact itself)"},
  };
  static const char *const operands[] = {"an artifact", NULL};
  const byoc_usage_t usage = {
      .command = "byoc weights replace",
      .synopsis = "ARTIFACT --with FILE [--model MODEL] [-o OUT] [-- OPTIONS]",
      .summary = "replace the weights of an artifact; the code does not change",
      .operands = operands,
      .more_operands = &options.operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "The new model goes through the steps of the artifact's build, with the same options; the same code packs "
          "and\n"
          "folds its weights. If the resulting code is equal, the artifact gets the weights. Otherwise an error gives "
          "the\n"
          "reason, and nothing changes. OPTIONS are options of byoc build that the artifact does not know: a file (--\n"
          "--plan FILE.json), or all options if byoc build did not make the artifact.\n",
  };
  byoc_diag_t diag = {0};
  json_t *root = NULL;
  bool done = false;
  const char *artifact = NULL;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &artifact, &done);
  if (status == BYOC_OK && done) return BYOC_EXIT_OK;
  if (status == BYOC_OK) status = read_metadata(artifact, NULL, NULL, &diag, &root);
  if (status != BYOC_OK) return byoc_report(&diag, status);
  if (options.output == NULL) options.output = artifact;
  const int code = replace_in(&options, root);
  json_decref(root);
  return code;
}

int byoc_main_weights(int argc, char **argv) {
  static const byoc_action_t actions[] = {{"list", list}, {"replace", replace}};
  static const char *const operands[] = {"an action: list ARTIFACT, or replace ARTIFACT --with FILE", NULL};
  const byoc_usage_t usage = {
      .command = "byoc weights",
      .synopsis = "list ARTIFACT | replace ARTIFACT --with FILE",
      .summary = "list an artifact's weights, or replace them without a build",
      .operands = operands,
      .more =
          "list shows the form of each initialiser of the model in the artifact. replace takes the weights of another\n"
          "training of the same model, and does not change the code.\n"
          "byoc weights list --help and byoc weights replace --help describe them.\n"
          "\n"
          "  byoc weights replace model.so --with tuned.onnx\n"
          "  byoc weights replace model.so --with tuned.safetensors --model model.onnx -o tuned.so\n",
  };
  return byoc_action_run(&usage, actions, sizeof(actions) / sizeof(actions[0]), argc, argv);
}
