// SPDX-License-Identifier: Apache-2.0
// Checks the files that a build is asked to write.
#include "core/compile/outputs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/hostir/text/program_text.h"

static bool resolve_folder(const char *path, char resolved[PATH_MAX]) {
  char *folder = byoc_path_directory(byoc_allocator_system(), path);
  bool found = folder != NULL && realpath(folder, resolved) != NULL;
  byoc_free(byoc_allocator_system(), folder);
  return found;
}

// A link counts as its target, a file that does not exist yet as its later path. A device (/dev/stdout, /dev/null) may
// be written to more than once.
static bool is_same_file(const char *a, const char *b) {
  struct stat left, right;
  bool has_left = stat(a, &left) == 0, has_right = stat(b, &right) == 0;
  if (has_left != has_right) return false;
  if (has_left) return S_ISREG(left.st_mode) && left.st_dev == right.st_dev && left.st_ino == right.st_ino;
  char left_folder[PATH_MAX], right_folder[PATH_MAX];
  return strcmp(byoc_path_base(a), byoc_path_base(b)) == 0 && resolve_folder(a, left_folder) &&
         resolve_folder(b, right_folder) && strcmp(left_folder, right_folder) == 0;
}

static byoc_status_t refuse_input(const byoc_output_t *output, const char *input, byoc_diag_t *diag) {
  if (input == NULL || !is_same_file(output->path, input)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s would overwrite '%s', which is an input", output->option,
                         input);
}

// The data file of a host program is read with it.
static byoc_status_t refuse_inputs(const byoc_output_t *output, const char *input, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(refuse_input(output, input, diag));
  if (input == NULL || !byoc_ends_with(input, ".host")) return BYOC_OK;
  char *data = byoc_host_data_path(input, byoc_allocator_system());
  byoc_status_t status = data != NULL ? refuse_input(output, data, diag) : byoc_diag_out_of_memory(diag);
  byoc_free(byoc_allocator_system(), data);
  return status;
}

byoc_status_t byoc_outputs_check(const byoc_output_t *outputs, size_t count, const char *input, byoc_diag_t *diag) {
  for (size_t i = 0; i < count; ++i) {
    const char *path = outputs[i].path;
    if (path == NULL) continue;
    BYOC_RETURN_IF_ERROR_IN(diag, byoc_file_check_place(path, diag), "%s", outputs[i].option);
    BYOC_RETURN_IF_ERROR(refuse_inputs(&outputs[i], input, diag));
    for (size_t j = 0; j < i; ++j) {
      if (outputs[j].path == NULL || !is_same_file(path, outputs[j].path)) continue;
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s and %s would write the same file, '%s'",
                             outputs[j].option, outputs[i].option, path);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_outputs_check_outside(const byoc_output_t *outputs, size_t count, const char *folder,
                                         byoc_diag_t *diag) {
  char whole[PATH_MAX], own[PATH_MAX];
  if (realpath(folder, whole) == NULL) return BYOC_OK; // it is not there yet
  const size_t size = strlen(whole);
  for (size_t i = 0; i < count; ++i) {
    const char *path = outputs[i].path;
    if (path == NULL || !resolve_folder(path, own) || strncmp(own, whole, size) != 0) continue;
    if (own[size] != '\0' && own[size] != '/') continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s '%s' lies in '%s', a folder that is replaced as a whole",
                           outputs[i].option, path, folder);
  }
  return BYOC_OK;
}
