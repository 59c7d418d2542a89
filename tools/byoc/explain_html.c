// The page is plan.html with the plan put in the place of its mark.
#include <string.h>

#include "core/base/file.h"
#include "core/collage/plan_json.h"
#include "explain.h"

extern const unsigned char byoc_embed_plan_page[];

static const char mark[] = "/*PLAN*/null";

// JSON inside <script>: "</script>" and "<!--" would end or change it, so every '<' is written as an escape. Outside
// of texts JSON has none.
static void append_escaped(byoc_string_t *out, const byoc_string_t *json) {
  const char *cursor = json->data, *end = json->data + json->size;
  while (cursor < end) {
    const char *next = memchr(cursor, '<', (size_t)(end - cursor));
    size_t size = (size_t)((next ? next : end) - cursor);
    byoc_string_append_bytes(out, cursor, size);
    if (next != NULL) byoc_string_append(out, "\\u003c");
    cursor += size + (next != NULL);
  }
}

byoc_status_t byoc_explain_html(const byoc_plan_t *plan, const char *path, byoc_diag_t *diag) {
  const char *page = (const char *)byoc_embed_plan_page; // followed by a NUL
  const char *place = strstr(page, mark), *tail = place ? place + strlen(mark) : NULL;
  if (place == NULL) return byoc_diag_error(diag, BYOC_INTERNAL, "the page for plans has no place for one");
  byoc_string_t json, text;
  byoc_string_init(&json, plan->arena.allocator);
  byoc_string_init(&text, plan->arena.allocator);
  byoc_status_t status = byoc_plan_print(plan, &json, diag);
  byoc_string_append_bytes(&text, page, (size_t)(place - page));
  append_escaped(&text, &json);
  byoc_string_append(&text, tail);
  if (status == BYOC_OK && text.failed) status = byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_file_write_atomic(path, text.data, text.size, 0644, diag);
  byoc_string_deinit(&json);
  byoc_string_deinit(&text);
  return status;
}
