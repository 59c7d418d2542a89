// SPDX-License-Identifier: Apache-2.0
// Text and fragments of pages from plugins, models and files, made safe to put into a page.
//
// A fragment is written anew: only the elements of a list, with the attributes of a list, and the elements nest as HTML
// demands. So a browser builds the tree that is written here, every element ends inside the fragment, and nothing in it
// can end an element of the page around it. Scripts, handlers of events, links, images, frames, forms, drawings and
// everything that loads or moves something are left out.
#ifndef BYOC_CORE_BASE_HTML_H_
#define BYOC_CORE_BASE_HTML_H_

#include "core/base/string.h"

// What was left out of a fragment: how many elements and attributes, and the first of them: "<script>", "onclick".
typedef struct byoc_html_loss_t {
  size_t count;
  char first[48];
} byoc_html_loss_t;

// Appends a text of one line, escaped; what is not safe to show is made visible (core/base/visible.h).
void byoc_html_append_text(byoc_string_t *out, const char *text, size_t size);
// The same for a text of several lines, which keeps its tabs and ends of lines.
void byoc_html_append_lines(byoc_string_t *out, const char *text, size_t size);
// Appends a fragment. docs/plugin.md lists what it may have. `out_loss` may be NULL.
void byoc_html_append_fragment(byoc_string_t *out, const char *text, size_t size, byoc_html_loss_t *out_loss);

#endif // BYOC_CORE_BASE_HTML_H_
