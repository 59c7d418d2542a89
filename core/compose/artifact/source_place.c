// SPDX-License-Identifier: Apache-2.0
// Looks for files that would be lost when a folder of C source is replaced.
#include "core/compose/artifact/source_place.h"

#include <limits.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/string.h"
#include "core/compose/artifact/source_names.h"

// Is it the line of a text?
static bool is_line(const char *text, const char *line) {
  const size_t size = strlen(line);
  for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line)) {
    if ((at == text || at[-1] == '\n') && at[size] == '\n') return true;
  }
  return false;
}

// Is a file of this name, but for `extra` characters in front, and another last character, among the known ones?
static bool has_source(const char *known, const char *name, size_t extra, char last) {
  char source[PATH_MAX];
  const size_t size = strlen(name) - extra;
  if (size >= sizeof(source)) return false;
  memcpy(source, name + extra, size + 1);
  source[size - 1] = last;
  return is_line(known, source);
}

// Does the Makefile make this file of the known ones? x.o of x.c, and, at the top, libmodel.a, whose header is model.h.
static bool is_made(const char *known, const char *name) {
  static const char *const fixed[] = {"data.o", "data.c", "embed"};
  for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
    if (strcmp(name, fixed[i]) == 0) return true;
  }
  if (byoc_ends_with(name, ".o")) return has_source(known, name, 0, 'c');
  return byoc_starts_with(name, "lib") && byoc_ends_with(name, ".a") && has_source(known, name, 3, 'h');
}

typedef struct search_t {
  const char *path, *known; // the folder, and the list of files that byoc wrote there
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
} search_t;

static byoc_status_t search_folder(const search_t *search, const char *below);

// `name` is below the folder.
static byoc_status_t check_file(const search_t *search, const char *name) {
  char *path = byoc_path_join(search->allocator, search->path, name);
  if (path == NULL) return byoc_diag_out_of_memory(search->diag);
  const bool is_folder = byoc_is_directory(path);
  byoc_free(search->allocator, path);
  if (is_folder) return search_folder(search, name);
  if (is_line(search->known, name) || is_made(search->known, name) || strcmp(name, BYOC_SOURCE_FILES) == 0)
    return BYOC_OK;
  byoc_status_t status =
      byoc_diag_error(search->diag, BYOC_ALREADY_EXISTS,
                      "'%s/%s' would be lost: byoc replaces the folder as a whole, and did not write "
                      "that file",
                      search->path, name);
  byoc_diag_hint(search->diag, "move it out of the folder, or choose another name by -o");
  return status;
}

static byoc_status_t search_folder(const search_t *search, const char *below) {
  char **names = NULL, *folder = byoc_path_join(search->allocator, search->path, below);
  size_t count = 0;
  if (folder == NULL) return byoc_diag_out_of_memory(search->diag);
  byoc_status_t status = byoc_list_directory(folder, search->allocator, search->diag, &names, &count);
  for (size_t i = 0; i < count && status == BYOC_OK; i++) {
    char *name = byoc_path_join(search->allocator, below, names[i]);
    status =
        name != NULL ? check_file(search, below[0] != '\0' ? name : names[i]) : byoc_diag_out_of_memory(search->diag);
    byoc_free(search->allocator, name);
  }
  byoc_free_names(search->allocator, names, count);
  byoc_free(search->allocator, folder);
  return status;
}

static byoc_status_t check_files(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag) {
  char *list = byoc_path_join(allocator, path, BYOC_SOURCE_FILES), *known = NULL;
  size_t size = 0;
  if (list == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status =
      byoc_file_exists(list)
          ? byoc_file_read(list, allocator, diag, &known, &size)
          : byoc_diag_error(diag, BYOC_ALREADY_EXISTS,
                            "'%s' is a folder of C source by byoc, but '%s', the list of files that byoc "
                            "wrote there, is missing: it was removed, or an earlier byoc wrote none",
                            path, BYOC_SOURCE_FILES);
  byoc_free(allocator, list);
  if (status != BYOC_OK) {
    byoc_diag_hint(diag, "byoc would replace the folder and cannot tell which files are yours: move them out and "
                         "remove the folder, or choose another name by -o");
    return status;
  }
  const search_t search = {.path = path, .known = known, .allocator = allocator, .diag = diag};
  status = search_folder(&search, "");
  byoc_free(allocator, known);
  return status;
}

byoc_status_t byoc_source_check_place(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag) {
  if (!byoc_file_exists(path)) return BYOC_OK;
  char *names = byoc_path_join(allocator, path, "include/names.h");
  if (names == NULL) return byoc_diag_out_of_memory(diag);
  byoc_file_view_t view;
  bool is_ours = byoc_is_directory(path) && byoc_file_view_open(names, NULL, &view) == BYOC_OK;
  byoc_free(allocator, names);
  if (is_ours) {
    const size_t size = strlen(BYOC_SOURCE_MARK);
    is_ours = view.size_bytes > size && memcmp(view.data, BYOC_SOURCE_MARK, size) == 0;
    byoc_file_view_close(&view);
  }
  if (is_ours) return check_files(path, allocator, diag);
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "'%s' is there, and is no folder of C source that byoc wrote", path);
  byoc_diag_hint(diag, "-o NAME.c writes a folder of that name: choose another one, or remove what is there");
  return status;
}
