// SPDX-License-Identifier: Apache-2.0
// Folders → cases. A folder with model.onnx is a case; any other is searched for cases below it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"
#include "core/base/file.h"

// Deeper folders are not looked into: links may lead in circles.
enum { MAX_DEPTH = 16 };

static byoc_status_t add_case(byoc_conform_t *conform, const char *name, const char *path, byoc_diag_t *diag) {
  const char *filter = conform->options->filter;
  if (filter != NULL && strstr(name, filter) == NULL) return BYOC_OK;
  byoc_allocator_t allocator = conform->session.allocator;
  byoc_conform_case_t item = {.name = byoc_copy_string(allocator, name), .path = byoc_copy_string(allocator, path)};
  if (item.name != NULL && item.path != NULL && byoc_vector_push(&conform->cases, allocator, item)) return BYOC_OK;
  byoc_free(allocator, item.name);
  byoc_free(allocator, item.path);
  return byoc_diag_out_of_memory(diag);
}

static byoc_status_t search(byoc_conform_t *conform, const char *name, const char *path, int depth, byoc_diag_t *diag) {
  byoc_allocator_t allocator = conform->session.allocator;
  char *model = byoc_path_join(allocator, path, "model.onnx");
  if (model == NULL) return byoc_diag_out_of_memory(diag);
  bool is_case = byoc_file_exists(model);
  byoc_free(allocator, model);
  if (is_case) return add_case(conform, name, path, diag);
  if (depth == MAX_DEPTH) return BYOC_OK;
  char **entries = NULL;
  size_t count = 0;
  BYOC_RETURN_IF_ERROR(byoc_list_directory(path, allocator, diag, &entries, &count));
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    char *child = byoc_path_join(allocator, path, entries[i]),
         *child_name = byoc_path_join(allocator, name, entries[i]);
    if (child == NULL || child_name == NULL) {
      status = byoc_diag_out_of_memory(diag);
    } else if (byoc_is_directory(child)) {
      status = search(conform, child_name, child, depth + 1, diag);
    }
    byoc_free(allocator, child);
    byoc_free(allocator, child_name);
  }
  byoc_free_names(allocator, entries, count);
  return status;
}

static byoc_status_t search_root(byoc_conform_t *conform, const char *root, byoc_diag_t *diag) {
  if (!byoc_is_directory(root)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is not a folder", root);
  }
  char *path = realpath(root, NULL);
  if (path == NULL && errno == ENOMEM) return byoc_diag_out_of_memory(diag);
  if (path == NULL) return byoc_diag_error(diag, BYOC_IO, "cannot find the folder of '%s': %s", root, strerror(errno));
  byoc_status_t status = search(conform, byoc_path_base(path), path, 0, diag);
  free(path);
  return status;
}

static int compare_cases(const void *a, const void *b) {
  const byoc_conform_case_t *left = a, *right = b;
  int order = strcmp(left->name, right->name);
  return order != 0 ? order : strcmp(left->path, right->path);
}

byoc_status_t byoc_conform_find(byoc_conform_t *conform, byoc_diag_t *diag) {
  const byoc_conform_options_t *options = conform->options;
  for (size_t i = 0; i < options->directories.count; ++i) {
    BYOC_RETURN_IF_ERROR(search_root(conform, options->directories.items[i], diag));
  }
  if (conform->cases.count == 0) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there are no cases%s%s%s in the folders given",
                                           options->filter ? " matching '" : "", options->filter ? options->filter : "",
                                           options->filter ? "'" : "");
    byoc_diag_hint(diag, "a case is a folder with model.onnx and test_data_set_*/{input,output}_*.pb");
    return status;
  }
  qsort(conform->cases.data, conform->cases.count, sizeof(*conform->cases.data), compare_cases);
  return BYOC_OK;
}
