// SPDX-License-Identifier: Apache-2.0
// Keeps the rows of plugins in a list, which a lock guards.
#include "core/op/extension.h"

#include <pthread.h>
#include <string.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static byoc_op_extension_t *extensions;

bool byoc_op_domain_is_reserved(const char *domain) {
  return domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0 || strcmp(domain, "byoc") == 0;
}

static bool same_operator(const byoc_op_t *row, const char *domain, const char *name) {
  return strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0;
}

// The first row of another file with the operator's name. Called with the lock held.
static const byoc_op_t *find_other(const byoc_op_extension_t *extension, const byoc_op_t *row) {
  for (const byoc_op_extension_t *other = extensions; other; other = other->next) {
    if (strcmp(other->content, extension->content) == 0) continue;
    for (size_t i = 0; i < other->row_count; ++i) {
      if (same_operator(other->rows[i], row->domain, row->name)) return other->rows[i];
    }
  }
  return NULL;
}

byoc_status_t byoc_op_extend(byoc_op_extension_t *extension, byoc_diag_t *diag) {
  byoc_status_t status = BYOC_OK;
  for (size_t i = 0; i < extension->row_count; ++i) {
    const byoc_op_t *row = extension->rows[i], *own = byoc_op_newest(row->domain, row->name);
    if (!own || own->extension) continue;
    // Not BYOC_ALREADY_EXISTS: that means that the user has to choose one of two plugins.
    byoc_diag_error(diag, BYOC_INVALID_DATA, "it declares the operator '%s::%s', which is byoc's own", row->domain,
                    row->name);
    byoc_diag_hint(diag, "declare it in a domain of the plugin's own");
    return BYOC_INVALID_DATA;
  }
  pthread_rwlock_wrlock(&lock);
  for (size_t i = 0; i < extension->row_count && status == BYOC_OK; ++i) {
    const byoc_op_t *other = find_other(extension, extension->rows[i]);
    if (!other) continue;
    status = byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "it declares the operator '%s::%s', which '%s' declares too",
                             other->domain, other->name, other->extension->path);
  }
  if (status == BYOC_OK) {
    extension->next = extensions;
    extensions = extension;
  }
  pthread_rwlock_unlock(&lock);
  return status;
}

void byoc_op_retract(byoc_op_extension_t *extension) {
  pthread_rwlock_wrlock(&lock);
  for (byoc_op_extension_t **at = &extensions; *at; at = &(*at)->next) {
    if (*at != extension) continue;
    *at = extension->next;
    break;
  }
  pthread_rwlock_unlock(&lock);
}

const byoc_op_t *byoc_op_find_extended(const char *domain, const char *name, int32_t opset) {
  if (byoc_op_domain_is_reserved(domain)) return NULL;
  const byoc_op_t *best = NULL;
  pthread_rwlock_rdlock(&lock);
  for (const byoc_op_extension_t *extension = extensions; extension; extension = extension->next) {
    for (size_t i = 0; i < extension->row_count; ++i) {
      const byoc_op_t *row = extension->rows[i];
      if (row->since_version > opset || !same_operator(row, domain, name)) continue;
      if (!best || row->since_version > best->since_version) best = row;
    }
  }
  pthread_rwlock_unlock(&lock);
  return best;
}

size_t byoc_op_extended_count(void) {
  size_t count = 0;
  pthread_rwlock_rdlock(&lock);
  for (const byoc_op_extension_t *extension = extensions; extension; extension = extension->next) {
    count += extension->row_count;
  }
  pthread_rwlock_unlock(&lock);
  return count;
}

const byoc_op_t *byoc_op_extended_at(size_t index) {
  const byoc_op_t *row = NULL;
  pthread_rwlock_rdlock(&lock);
  for (const byoc_op_extension_t *extension = extensions; extension && !row; extension = extension->next) {
    if (index < extension->row_count) row = extension->rows[index];
    if (!row) index -= extension->row_count;
  }
  pthread_rwlock_unlock(&lock);
  return row;
}
