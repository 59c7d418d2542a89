// SPDX-License-Identifier: Apache-2.0
// The byoc command as a host of the oldest released minor: what plugins of today see of it, and what it reads of them.
//
// These functions stand in front of the real ones (the linker's --wrap). The host's tables end where they ended in that
// minor, each before a page that nobody may read, so that a plugin which uses what came later crashes. Fields that came
// later are zero in what a plugin hands over.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/plugin/abi.h"
#include "core/plugin/host.h"
#include "core/plugin/identity.h"
#include "core/targets/target.h"

enum { OLDEST_MINOR = 1 };

// How large the struct was in the oldest minor: up to the end of the last field that it had then.
static uint32_t oldest_size(const byoc_abi_struct_t *shape) {
  uint32_t size_bytes = 0;
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    const byoc_abi_field_t *field = &byoc_abi_fields[i];
    if (field->since <= OLDEST_MINOR) size_bytes = field->offset + field->size_bytes;
  }
  return size_bytes;
}

// ---- what plugins see ----

// A read-only copy of the table's first bytes, up to the end of a page.
static const void *cut(const void *table, const byoc_abi_struct_t *shape) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = oldest_size(shape);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || size > page) _exit(70);
  char *copy = pages + page - size;
  memcpy(copy, table, size);
  const byoc_header_t header = {(uint32_t)size, 1};
  memcpy(copy, &header, sizeof(header));
  if (mprotect(pages, page, PROT_READ) != 0 || mprotect(pages + page, page, PROT_NONE) != 0) _exit(70);
  return copy;
}

static const void *no_extension(const byoc_host_t *host, const char *name, uint32_t version) {
  (void)host;
  (void)name;
  (void)version;
  return NULL; // all of them came later
}

void __real_byoc_host_fill_tables(byoc_host_t *host);
void __wrap_byoc_host_fill_tables(byoc_host_t *host);
void __wrap_byoc_host_fill_tables(byoc_host_t *host) {
  __real_byoc_host_fill_tables(host);
  if (host->abi_minor > OLDEST_MINOR) host->abi_minor = OLDEST_MINOR;
  host->header.struct_size = oldest_size(byoc_abi_of(byoc_host_t));
  host->target = cut(host->target, byoc_abi_of(byoc_target_api_t));
  host->graph = cut(host->graph, byoc_abi_of(byoc_graph_api_t));
  host->region = cut(host->region, byoc_abi_of(byoc_region_api_t));
  host->edit = cut(host->edit, byoc_abi_of(byoc_edit_api_t));
  host->codegen = cut(host->codegen, byoc_abi_of(byoc_codegen_api_t));
  host->extension = no_extension;
}

// ---- what the host reads ----

static void forget(const byoc_abi_struct_t *shape, void *out) {
  const size_t size = oldest_size(shape);
  memset((char *)out + size, 0, shape->size_bytes - size);
}

byoc_status_t __real_byoc_abi_read(const void *from, const byoc_abi_struct_t *shape, const char *what, void *out,
                                   byoc_diag_t *diag);
byoc_status_t __wrap_byoc_abi_read(const void *from, const byoc_abi_struct_t *shape, const char *what, void *out,
                                   byoc_diag_t *diag);
byoc_status_t __wrap_byoc_abi_read(const void *from, const byoc_abi_struct_t *shape, const char *what, void *out,
                                   byoc_diag_t *diag) {
  const byoc_status_t status = __real_byoc_abi_read(from, shape, what, out, diag);
  forget(shape, out);
  return status;
}

byoc_status_t __real_byoc_abi_read_at(const void *array, uint64_t stride, uint64_t index,
                                      const byoc_abi_struct_t *shape, const char *what, void *out, byoc_diag_t *diag);
byoc_status_t __wrap_byoc_abi_read_at(const void *array, uint64_t stride, uint64_t index,
                                      const byoc_abi_struct_t *shape, const char *what, void *out, byoc_diag_t *diag);
byoc_status_t __wrap_byoc_abi_read_at(const void *array, uint64_t stride, uint64_t index,
                                      const byoc_abi_struct_t *shape, const char *what, void *out, byoc_diag_t *diag) {
  const byoc_status_t status = __real_byoc_abi_read_at(array, stride, index, shape, what, out, diag);
  forget(shape, out);
  return status;
}

// Constants that came later have no meaning: an instruction set is no type of an option.
byoc_status_t __real_byoc_option_schema_verify(const byoc_option_schema_t *options, size_t count, byoc_diag_t *diag);
byoc_status_t __wrap_byoc_option_schema_verify(const byoc_option_schema_t *options, size_t count, byoc_diag_t *diag);
byoc_status_t __wrap_byoc_option_schema_verify(const byoc_option_schema_t *options, size_t count, byoc_diag_t *diag) {
  for (size_t i = 0; i < count; ++i) {
    if (options[i].type < BYOC_OPTION_CPU) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "option '%s' has unknown type %u", options[i].name,
                           (unsigned)options[i].type);
  }
  return __real_byoc_option_schema_verify(options, count, diag);
}

byoc_status_t __real_byoc_plugin_identity_read(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                               bool *out_has_note);
byoc_status_t __wrap_byoc_plugin_identity_read(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                               bool *out_has_note);
byoc_status_t __wrap_byoc_plugin_identity_read(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                               bool *out_has_note) {
  BYOC_RETURN_IF_ERROR(__real_byoc_plugin_identity_read(path, diag, out_note, out_has_note));
  if (out_note->abi_minor_needed <= OLDEST_MINOR) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_VERSION, "it needs plugin ABI %u.%u, this host has %d.%d",
                         (unsigned)out_note->abi_major, (unsigned)out_note->abi_minor_needed, BYOC_ABI_MAJOR,
                         OLDEST_MINOR);
}
