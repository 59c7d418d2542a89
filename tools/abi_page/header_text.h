// SPDX-License-Identifier: Apache-2.0
// What the public headers say about structs and fields, as text.
#ifndef BYOC_TOOLS_ABI_PAGE_HEADER_TEXT_H_
#define BYOC_TOOLS_ABI_PAGE_HEADER_TEXT_H_

#include "core/base/diag.h"
#include "core/base/string.h"
#include "core/base/vector.h"

typedef struct header_t {
  char name[64]; // "byoc/plugin.h"
  char *text;
  BYOC_VECTOR(char *) lines; // in `text`
} header_t;

typedef struct headers_t {
  BYOC_VECTOR(header_t) list; // by name
} headers_t;

// The declaration of a struct: the line that opens it.
typedef struct declaration_t {
  const header_t *header;
  size_t line;
} declaration_t;

// Reads the headers in a folder. headers_free frees what was read, after an error too.
byoc_status_t headers_read(const char *folder, headers_t *headers, byoc_diag_t *diag);
void headers_free(headers_t *headers);

bool headers_find(const headers_t *headers, const char *type, declaration_t *out);
// The comment before the struct; nothing if there is none.
void declaration_comment(const declaration_t *declaration, byoc_string_t *out);
// The comments before and behind a field.
void declaration_field_comment(const declaration_t *declaration, const char *name, byoc_string_t *out);

#endif // BYOC_TOOLS_ABI_PAGE_HEADER_TEXT_H_
