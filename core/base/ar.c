// SPDX-License-Identifier: Apache-2.0
// The reader of ar archives: the common format with GNU's long names.
#include <ar.h>
#include <string.h>

#include "core/base/elf.h"

bool byoc_is_ar(const void *data, size_t size_bytes) {
  return size_bytes >= SARMAG && memcmp(data, ARMAG, SARMAG) == 0;
}

static byoc_status_t damaged(const char *name, byoc_diag_t *diag, const char *what) {
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is a damaged archive: %s", name, what);
}

// A decimal number padded with blanks.
static bool parse_number(const char *text, size_t size, uint64_t *out_value) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < size && text[i] >= '0' && text[i] <= '9'; i++) value = value * 10 + (uint64_t)(text[i] - '0');
  bool any = i > 0;
  for (; i < size; i++) {
    if (text[i] != ' ') return false;
  }
  *out_value = value;
  return any;
}

typedef struct ar_names_t {
  const char *data;
  size_t size_bytes;
} ar_names_t;

// Copies the member's name: "name/" in the header, or "/offset" of "name/\n" in the table of long names.
static bool member_name(const struct ar_hdr *header, ar_names_t names, char *buffer, size_t size) {
  const char *start = header->ar_name;
  size_t limit = sizeof(header->ar_name);
  uint64_t offset = 0;
  if (start[0] == '/') {
    if (!parse_number(start + 1, limit - 1, &offset) || offset >= names.size_bytes) return false;
    start = names.data + offset;
    limit = names.size_bytes - offset;
  }
  const char *end = memchr(start, offset > 0 || header->ar_name[0] == '/' ? '\n' : '/', limit);
  size_t length = end == NULL ? limit : (size_t)(end - start);
  while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '/')) length--;
  if (length == 0 || length >= size || memchr(start, 0, length) != NULL) return false;
  memcpy(buffer, start, length);
  buffer[length] = '\0';
  return true;
}

byoc_status_t byoc_ar_visit(const void *data, size_t size_bytes, const char *name, byoc_ar_visitor_t visitor,
                            void *self, byoc_diag_t *diag) {
  const char *bytes = data;
  if (size_bytes >= SARMAG && memcmp(bytes, "!<thin>\n", SARMAG) == 0) {
    byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is a thin archive, which holds names of files only", name);
    byoc_diag_hint(diag, "make it again with `ar rcs`, without T");
    return BYOC_INVALID_DATA;
  }
  if (!byoc_is_ar(data, size_bytes)) return byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is not an archive", name);
  ar_names_t names = {0};
  for (size_t at = SARMAG; at < size_bytes;) {
    struct ar_hdr header;
    if (size_bytes - at < sizeof(header)) return damaged(name, diag, "it ends within a member's header");
    memcpy(&header, bytes + at, sizeof(header));
    at += sizeof(header);
    uint64_t size = 0;
    if (memcmp(header.ar_fmag, ARFMAG, sizeof(header.ar_fmag)) != 0) {
      return damaged(name, diag, "a member's header has no end mark");
    }
    if (!parse_number(header.ar_size, sizeof(header.ar_size), &size) || size > size_bytes - at) {
      return damaged(name, diag, "a member runs past the end of the file");
    }
    const char *body = bytes + at;
    at += size;
    if (at % 2 != 0) at++; // members start at even offsets
    if (memcmp(header.ar_name, "// ", 3) == 0) {
      names = (ar_names_t){.data = body, .size_bytes = size};
      continue;
    }
    bool symbols = memcmp(header.ar_name, "/ ", 2) == 0 || memcmp(header.ar_name, "/SYM64/ ", 8) == 0;
    if (symbols) continue;
    char member[1024];
    if (!member_name(&header, names, member, sizeof(member))) return damaged(name, diag, "a member has no valid name");
    BYOC_RETURN_IF_ERROR(visitor(self, member, (const uint8_t *)body, size));
  }
  return BYOC_OK;
}
