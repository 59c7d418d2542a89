// SPDX-License-Identifier: Apache-2.0
// Reports of backends, as the metadata of an artifact list them (core/compose/artifact/metadata_reports.h). They come
// from plugins and files, so everything is escaped or written anew (core/base/html.h).
#ifndef BYOC_TOOLS_BYOC_REPORTS_H_
#define BYOC_TOOLS_BYOC_REPORTS_H_

#include <jansson.h>

#include "core/base/diag.h"
#include "core/base/string.h"

// Appends a heading and a box for each report; nothing if `reports` is NULL or empty. The page has reports.css.
void byoc_reports_append_page(const json_t *reports, byoc_string_t *out);
// "report memory: html, 960 bytes, by 'npu' about npu_0 (Conv+Relu)", one line each.
void byoc_reports_append_list(const json_t *reports, byoc_string_t *out);
// Appends the content of all reports of that name, each under its line of the list if there are several.
// BYOC_INVALID_ARGUMENT with the names that exist if there is none.
byoc_status_t byoc_reports_append_named(const json_t *reports, const char *name, byoc_string_t *out, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_REPORTS_H_
