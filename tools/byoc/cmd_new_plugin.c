// SPDX-License-Identifier: Apache-2.0
// byoc new-plugin: writes a backend to start from. Its files are those of an example of examples/plugins under another
// name.
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "command.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/plugin/abi.h"
#include "tools/common/options.h"
#include "tools/common/print.h"

typedef struct flavour_t {
  const char *name;
  const char *word; // the example's name, in whose place the new one goes
} flavour_t;
static const flavour_t flavours[] = {
    {"c", "hello"}, {"engine", "abacus"}, {"device", "slab"}, {"npu", "npu"}, {"table", "shrink"}};
enum { FLAVOUR_COUNT = sizeof(flavours) / sizeof(flavours[0]) };

// X(the example's name, file there, symbol of what was embedded)
#define TEMPLATE_LIST(X)                                                                                               \
  X("hello", "hello.c", hello_hello_c)                                                                                 \
  X("hello", "CMakeLists.txt", hello_cmakelists_txt)                                                                   \
  X("hello", "Makefile", hello_makefile)                                                                               \
  X("hello", "model.byoc", hello_model_byoc)                                                                           \
  X("hello", "README.md", hello_readme_md)                                                                             \
  X("abacus", "abacus.c", engine_abacus_c)                                                                             \
  X("abacus", "engine.c", engine_engine_c)                                                                             \
  X("abacus", "stream.h", engine_stream_h)                                                                             \
  X("abacus", "CMakeLists.txt", engine_cmakelists_txt)                                                                 \
  X("abacus", "Makefile", engine_makefile)                                                                             \
  X("abacus", "model.byoc", engine_model_byoc)                                                                         \
  X("abacus", "README.md", engine_readme_md)                                                                           \
  X("slab", "slab.c", device_slab_c)                                                                                   \
  X("slab", "driver.c", device_driver_c)                                                                               \
  X("slab", "driver.h", device_driver_h)                                                                               \
  X("slab", "check.c", device_check_c)                                                                                 \
  X("slab", "CMakeLists.txt", device_cmakelists_txt)                                                                   \
  X("slab", "Makefile", device_makefile)                                                                               \
  X("slab", "model.byoc", device_model_byoc)                                                                           \
  X("slab", "README.md", device_readme_md)                                                                             \
  X("npu", "npu.c", npu_npu_c)                                                                                         \
  X("npu", "chip.h", npu_chip_h)                                                                                       \
  X("npu", "layer.h", npu_layer_h)                                                                                     \
  X("npu", "layer.c", npu_layer_c)                                                                                     \
  X("npu", "compile.h", npu_compile_h)                                                                                 \
  X("npu", "compile.c", npu_compile_c)                                                                                 \
  X("npu", "engine.c", npu_engine_c)                                                                                   \
  X("npu", "CMakeLists.txt", npu_cmakelists_txt)                                                                       \
  X("npu", "Makefile", npu_makefile)                                                                                   \
  X("npu", "model.byoc", npu_model_byoc)                                                                               \
  X("npu", "README.md", npu_readme_md)                                                                                 \
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
  const char *word, *file;
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

// The name as part of an identifier in C, which has no '-'; in upper case where the word is.
static void append_identifier(const char *name, bool is_upper, byoc_string_t *out) {
  for (; *name != '\0'; ++name) {
    byoc_string_appendf(out, "%c", *name == '-' ? '_' : is_upper ? toupper((unsigned char)*name) : *name);
  }
}

// Appends the text with `name` in place of each `word` that stands by itself or begins an identifier: "slab",
// "slab_driver" and "SLAB_ADD", also behind "lib", which begins the names of archives.
static void append_renamed(const char *text, size_t size, const char *word, const char *name, byoc_string_t *out) {
  const size_t length = strlen(word);
  for (size_t i = 0; i < size;) {
    const bool is_archive = i >= 3 && memcmp(text + i - 3, "lib", 3) == 0 && (i == 3 || !is_word_byte(text[i - 4]));
    const bool begins = i == 0 || !is_word_byte(text[i - 1]) || is_archive;
    const bool fits = begins && i + length <= size && strncasecmp(text + i, word, length) == 0;
    const char next = fits && i + length < size ? text[i + length] : '\0';
    if (fits && next == '_') {
      append_identifier(name, memcmp(text + i, word, length) != 0, out);
      i += length;
    } else if (fits && !is_word_byte(next) && memcmp(text + i, word, length) == 0) {
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

// The flavour may have a file of that name already: the engine of a plugin is in engine.c.
static byoc_status_t check_files(const char *name, const flavour_t *flavour, byoc_diag_t *diag) {
  const size_t length = strlen(name);
  for (size_t i = 0; i < TEMPLATE_COUNT; ++i) {
    const char *file = templates[i].file;
    if (strcmp(templates[i].word, flavour->word) != 0 || strncmp(file, name, length) != 0 || file[length] != '.')
      continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "a plugin of this flavour cannot be named '%s': it has the file %s", name, file);
  }
  return BYOC_OK;
}

static byoc_status_t find_flavour(const char *name, const flavour_t **out_flavour, byoc_diag_t *diag) {
  const char *names[FLAVOUR_COUNT];
  for (size_t i = 0; i < FLAVOUR_COUNT; ++i) {
    names[i] = flavours[i].name;
    if (strcmp(names[i], name) != 0) continue;
    *out_flavour = &flavours[i];
    return BYOC_OK;
  }
  const char *nearest = byoc_nearest_match(name, names, FLAVOUR_COUNT);
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no flavour '%s'", name);
  byoc_diag_hint(diag, "%s%s%sthere are c, engine, device, npu and table", nearest != NULL ? "did you mean '" : "",
                 nearest != NULL ? nearest : "", nearest != NULL ? "'? " : "");
  return status;
}

static byoc_status_t write_plugin(const char *name, const char *flavour_name, byoc_diag_t *diag) {
  const flavour_t *flavour = NULL;
  BYOC_RETURN_IF_ERROR(check_name(name, diag));
  BYOC_RETURN_IF_ERROR(find_flavour(flavour_name, &flavour, diag));
  BYOC_RETURN_IF_ERROR(check_files(name, flavour, diag));
  if (mkdir(name, 0755) != 0) {
    byoc_status_t status = errno == EEXIST ? BYOC_ALREADY_EXISTS : BYOC_IO;
    return byoc_diag_error(diag, status, "the folder '%s' cannot be made: %s", name, strerror(errno));
  }
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < TEMPLATE_COUNT && status == BYOC_OK; ++i) {
    if (strcmp(templates[i].word, flavour->word) == 0) status = write_template(&templates[i], name, diag);
  }
  if (status != BYOC_OK) (void)byoc_remove_tree(name, NULL); // nothing half-made is left behind
  return status;
}

int byoc_main_new_plugin(int argc, char **argv) {
  bool done = false;
  const char *name = NULL, *flavour = "c";
  const byoc_option_row_t rows[] = {
      {"flavour", 0, BYOC_OPT_STRING, &flavour, "NAME",
       "c: answers with C source (the default); engine: writes streams that an engine in the artifact runs; device: "
       "brings a device with its driver; npu: a whole accelerator of 8-bit integers, with a simulator; table: "
       "NAME.json, for functions in C, without anything to compile"},
  };
  static const char *const operands[] = {"the plugin's name", NULL};
  const byoc_usage_t usage = {
      .command = "byoc new-plugin",
      .synopsis = "NAME [--flavour c|engine|device|npu|table]",
      .summary = "write a complete backend to start from into the new folder NAME",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = "Its README.md has the commands to build and try it. The plugin claims few operators; extend it from "
              "there.\n",
  };
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &name, &done);
  if (status == BYOC_OK && !done) status = write_plugin(name, flavour, &diag);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
