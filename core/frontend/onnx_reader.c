// SPDX-License-Identifier: Apache-2.0
// The state of one reading: its file, how strict it is, the operator sets that the model imports.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/frontend/onnx_reader.h"

// Git LFS puts a text of three lines in the place of a large file that was not fetched.
byoc_status_t byoc_onnx_check_fetched(const void *data, size_t size_bytes, const char *what, byoc_diag_t *diag) {
  static const char begin[] = "version https://git-lfs.github.com/spec/";
  if (size_bytes < sizeof(begin) - 1 || memcmp(data, begin, sizeof(begin) - 1) != 0) return BYOC_OK;
  byoc_diag_error(diag, BYOC_INVALID_DATA, "%s is a Git LFS pointer, which stands for a file that was not fetched",
                  what);
  byoc_diag_hint(diag, "run 'git lfs pull' in its repository");
  return BYOC_INVALID_DATA;
}

static byoc_status_t forbid(byoc_onnx_reader_t *reader, bool is_reported, const char *format, va_list arguments) {
  char text[640];
  vsnprintf(text, sizeof text, format, arguments);
  if (reader->options->strictness != BYOC_ONNX_STRICT) {
    if (is_reported) byoc_log(BYOC_LOG_WARNING, "%s", text);
    return BYOC_OK;
  }
  byoc_diag_error(reader->diag, BYOC_INVALID_DATA, "%s", text);
  byoc_diag_hint(reader->diag, "the specification forbids this; reading that is not strict accepts it");
  return BYOC_INVALID_DATA;
}

byoc_status_t byoc_onnx_forbidden(byoc_onnx_reader_t *reader, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const byoc_status_t status = forbid(reader, true, format, arguments);
  va_end(arguments);
  return status;
}

byoc_status_t byoc_onnx_tolerate(byoc_onnx_reader_t *reader, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const byoc_status_t status = forbid(reader, false, format, arguments);
  va_end(arguments);
  return status;
}

void byoc_onnx_reader_init(byoc_onnx_reader_t *reader, const void *data, size_t size_bytes,
                           byoc_allocator_t allocator) {
  reader->allocator = allocator;
  reader->data = data;
  reader->size_bytes = size_bytes;
  byoc_arena_init(&reader->scratch, allocator);
  const byoc_allocator_t scratch = byoc_arena_allocator(&reader->scratch);
  byoc_string_map_init(&reader->external, scratch);
  byoc_string_map_init(&reader->functions, scratch);
  byoc_pointer_map_init(&reader->instances, scratch);
  byoc_string_map_init(&reader->symbols, scratch);
  byoc_pointer_map_init(&reader->declarations, scratch);
  byoc_pointer_map_init(&reader->told, scratch);
  byoc_string_map_init(&reader->optional, scratch);
}

void byoc_onnx_describe_node(const Onnx__NodeProto *node, size_t index, char *buffer, size_t size) {
  const char *name = byoc_onnx_string(node->name), *domain = byoc_onnx_domain(node->domain);
  const char *separator = domain[0] ? "::" : "", *op = byoc_onnx_string(node->op_type);
  if (name[0] != '\0') {
    snprintf(buffer, size, "node '%.80s' (%.40s%s%.60s)", name, domain, separator, op);
  } else if (node->n_output > 0) {
    snprintf(buffer, size, "node %zu (%.40s%s%.60s), which makes '%.60s'", index, domain, separator, op,
             byoc_onnx_string(node->output[0]));
  } else {
    snprintf(buffer, size, "node %zu (%.40s%s%.60s)", index, domain, separator, op);
  }
}

bool byoc_onnx_find_import(const byoc_onnx_context_t *context, const char *domain, int64_t *out_version) {
  for (size_t i = 0; i < context->import_count; i++) {
    if (strcmp(byoc_onnx_domain(context->imports[i]->domain), domain) == 0) {
      *out_version = context->imports[i]->version;
      return true;
    }
  }
  return false;
}

// The domains whose operators models use without importing them.
static bool is_taken_for_granted(const char *domain) {
  return strcmp(domain, "com.microsoft") == 0 || strcmp(domain, "ai.onnx.ml") == 0;
}

bool byoc_onnx_find_version(const byoc_onnx_context_t *context, const char *domain, int64_t *out_version) {
  if (byoc_onnx_find_import(context, domain, out_version)) return true;
  *out_version = 1;
  return is_taken_for_granted(domain);
}
