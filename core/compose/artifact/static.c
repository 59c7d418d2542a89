// SPDX-License-Identifier: Apache-2.0
// Links the files of an artifact into one object or static library.
#include "core/compose/artifact/static.h"

#include <ar.h>
#include <string.h>

#include "byoc/artifact.h"
#include "core/base/elf.h"
#include "core/base/file.h"

typedef struct names_t {
  char prefix[BYOC_COMPOSE_PREFIX_BYTES];
  byoc_string_t name; // the last one that was made
} names_t;

// Every name that the object defines begins with the prefix, so that it meets no other in a program.
static const char *rename_symbol(void *self, const char *name, bool defined) {
  names_t *names = self;
  if (!defined) return name;
  const bool is_entry = strcmp(name, BYOC_ARTIFACT_ENTRY) == 0;
  byoc_string_clear(&names->name);
  byoc_string_appendf(&names->name, "%s%s%s", names->prefix, is_entry ? BYOC_COMPOSE_STATIC_ENTRY : "__",
                      is_entry ? "" : name);
  return names->name.failed ? name : names->name.data;
}

// A program that is linked statically has no loader that could open libraries.
static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  byoc_diag_t *diag = self;
  if (symbol->defined || (strcmp(symbol->name, "dlopen") != 0 && strcmp(symbol->name, "dlmopen") != 0)) return BYOC_OK;
  byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                         "code of a backend opens libraries when it runs, which a static "
                                         "artifact cannot do");
  byoc_diag_hint(diag, "build a shared object (model.so), or leave out the target that does (byoc targets lists them)");
  return status;
}

// An archive of one member, without an index: byoc_ar_rename adds one.
static void append_archive(const byoc_file_view_t *object, byoc_string_t *out) {
  byoc_string_append_bytes(out, ARMAG, SARMAG);
  byoc_ar_append_header(out, "model.o/", object->size_bytes);
  byoc_string_append_bytes(out, object->data, object->size_bytes);
  if (object->size_bytes % 2 != 0) byoc_string_append(out, "\n");
}

static byoc_status_t rename_object(const byoc_file_view_t *object, bool is_archive, names_t *names, byoc_string_t *out,
                                   byoc_diag_t *diag) {
  static const char what[] = "the linked object";
  byoc_elf_t elf;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(object->data, object->size_bytes, what, diag, &elf));
  BYOC_RETURN_IF_ERROR(byoc_elf_visit_symbols(&elf, false, visit_symbol, diag, diag));
  if (!is_archive) return byoc_elf_rename(&elf, rename_symbol, names, out, diag);
  if (object->size_bytes > BYOC_AR_MOST_BYTES) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                           "the model has %zu bytes, and a member of a static "
                                           "library at most %llu",
                                           object->size_bytes, (unsigned long long)BYOC_AR_MOST_BYTES);
    byoc_diag_hint(diag, "make an object (model.o) instead");
    return status;
  }
  byoc_string_t archive;
  byoc_string_init(&archive, out->allocator);
  append_archive(object, &archive);
  byoc_status_t status = archive.failed
                             ? byoc_diag_out_of_memory(diag)
                             : byoc_ar_rename(archive.data, archive.size, what, rename_symbol, names, out, diag);
  byoc_string_deinit(&archive);
  return status;
}

byoc_status_t byoc_compose_make_static(const byoc_link_job_t *job, const byoc_compose_options_t *options,
                                       byoc_allocator_t allocator, byoc_diag_t *diag) {
  if (job->needed_count > 0) {
    byoc_status_t status = byoc_diag_error(diag, BYOC_UNSUPPORTED,
                                           "a static artifact cannot need the shared library '%s'", job->needed[0]);
    byoc_diag_hint(diag, "build a shared object (model.so), or leave out the target whose table names it");
    return status;
  }
  byoc_file_view_t object;
  names_t names;
  byoc_string_t renamed;
  BYOC_RETURN_IF_ERROR(byoc_link_relocatable(job, diag));
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(job->output, diag, &object));
  byoc_compose_prefix(options, names.prefix);
  byoc_string_init(&names.name, allocator);
  byoc_string_init(&renamed, allocator);
  byoc_status_t status =
      rename_object(&object, byoc_compose_form(options->output) == BYOC_COMPOSE_ARCHIVE, &names, &renamed, diag);
  if (status == BYOC_OK && (names.name.failed || renamed.failed)) status = byoc_diag_out_of_memory(diag);
  byoc_file_view_close(&object);
  if (status == BYOC_OK) status = byoc_file_write(job->output, renamed.data, renamed.size, diag);
  byoc_string_deinit(&renamed);
  byoc_string_deinit(&names.name);
  return status;
}
