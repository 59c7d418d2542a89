// SPDX-License-Identifier: Apache-2.0
// byoc new-plugin: writes a backend to start from. Its files are those of examples/plugins/hello, or of
// examples/plugins/table, under another name.
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/plugin/abi.h"
#include "tools/common/options.h"
#include "tools/common/print.h"

// X(what it is a template of, file there, symbol of what was embedded)
#define TEMPLATE_LIST(X)                                                                                               \
  X("hello", "hello.c", hello_hello_c)                                                                                 \
  X("hello", "CMakeLists.txt", hello_cmakelists_txt)                                                                   \
  X("hello", "Makefile", hello_makefile)                                                                               \
  X("hello", "model.byoc", hello_model_byoc)                                                                           \
  X("hello", "README.md", hello_readme_md)                                                                             \
  X("shrink", "shrink.json", table_shrink_json)                                                                        \
  X("shrink", "shrink.c", table_shrink_c)                                                                              \
  X("shrink", "model.byoc", table_model_byoc)                                                                          \
  X("shrink", "README.md", table_readme_md)

#define DECLARE(word, file, symbol)                                                                                    \
  extern const unsigned char byoc_embed_new_##symbol[];                                                                \
  extern const unsigned long long byoc_embed_new_##symbol##_size;
TEMPLATE_LIST(DECLARE)
#undef DECLARE

typedef struct template_t {
  const char *word; // the example's name, in whose place the new one goes
  const char *file;
  const unsigned char *text;
  const unsigned long long *size;
} template_t;

#define ROW(word, file, symbol) {word, file, byoc_embed_new_##symbol, &byoc_embed_new_##symbol##_size},
static const template_t templates[] = {TEMPLATE_LIST(ROW)};
#undef ROW
enum { TEMPLATE_COUNT = sizeof(templates) / sizeof(templates[0]) };

static bool is_word_byte(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

// Appends the text with `name` in place of each `word` that stands by itself.
static void append_renamed(const char *text, size_t size, const char *word, const char *name, byoc_string_t *out) {
  const size_t length = strlen(word);
  for (size_t i = 0; i < size;) {
    const bool begins = i == 0 || !is_word_byte(text[i - 1]);
    const bool fits = i + length <= size && memcmp(text + i, word, length) == 0;
    if (begins && fits && (i + length == size || !is_word_byte(text[i + length]))) {
      byoc_string_append(out, name);
      i += length;
    } else {
      byoc_string_appendf(out, "%c", text[i++]);
    }
  }
}

// Where a template's text begins that its new owner gets: after the line of byoc's licence, which is not theirs.
static size_t after_licence(const template_t *template) {
  const char *text = (const char *)template->text, *end = strchr(text, '\n'); // a NUL follows the embedded bytes
  return end != NULL && memmem(text, (size_t)(end - text), "SPDX-License-Identifier", 23) != NULL
             ? (size_t)(end - text) + 1
             : 0;
}

static byoc_status_t write_template(const template_t *template, const char *name, byoc_diag_t *diag) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_string_t text, path;
  byoc_string_init(&text, allocator);
  byoc_string_init(&path, allocator);
  byoc_string_appendf(&path, "%s/", name);
  append_renamed(template->file, strlen(template->file), template->word, name, &path);
  const size_t begin = after_licence(template);
  append_renamed((const char *)template->text + begin, (size_t) * template->size - begin, template->word, name, &text);
  byoc_status_t status = text.failed || path.failed
                             ? byoc_diag_out_of_memory(diag)
                             : byoc_file_write_atomic(path.data, text.data, text.size, 0644, diag);
  if (status == BYOC_OK) byoc_print("%s\n", path.data);
  byoc_string_deinit(&text);
  byoc_string_deinit(&path);
  return status;
}

// The name is that of a plugin, its target, its folder and its file.
static byoc_status_t check_name(const char *name, byoc_diag_t *diag) {
  enum { MOST = sizeof(((byoc_plugin_note_t *)0)->name) - 1 };
  if (strcmp(name, "c") == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'c' is the host's own target");
  }
  if (byoc_abi_is_name(name, strlen(name)) && strlen(name) <= MOST) return BYOC_OK;
  return byoc_diag_error(
      diag, BYOC_INVALID_ARGUMENT,
      "'%s' cannot be a plugin's name: a letter, then letters, digits, '_' and '-', at most %d in all", name, MOST);
}

static byoc_status_t write_plugin(const char *name, bool is_table, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_name(name, diag));
  if (mkdir(name, 0755) != 0) {
    byoc_status_t status = errno == EEXIST ? BYOC_ALREADY_EXISTS : BYOC_IO;
    return byoc_diag_error(diag, status, "the folder '%s' cannot be made: %s", name, strerror(errno));
  }
  byoc_status_t status = BYOC_OK;
  const char *word = is_table ? "shrink" : "hello";
  for (size_t i = 0; i < TEMPLATE_COUNT && status == BYOC_OK; ++i) {
    if (strcmp(templates[i].word, word) == 0) status = write_template(&templates[i], name, diag);
  }
  if (status != BYOC_OK) (void)byoc_remove_tree(name, NULL); // nothing half-made is left behind
  return status;
}

int byoc_main_new_plugin(int argc, char **argv) {
  bool is_table = false, done = false;
  const char *name = NULL;
  const byoc_option_row_t rows[] = {
      {"table", 0, BYOC_OPT_FLAG, &is_table, "", "a table, NAME.json, for functions in C, without anything to compile"},
  };
  static const char *const operands[] = {"the plugin's name", NULL};
  const byoc_usage_t usage = {
      .command = "byoc new-plugin",
      .synopsis = "NAME [--table]",
      .summary = "write a complete backend to start from into the new folder NAME",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "Its README.md has the commands to build and try it. The plugin claims one operator; extend it from there.\n",
  };
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &name, &done);
  if (status == BYOC_OK && !done) status = write_plugin(name, is_table, &diag);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
