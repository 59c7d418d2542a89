// SPDX-License-Identifier: Apache-2.0
// A plan as files: its JSON, and page/plan.html with its style, its scripts and the plan in the places of their marks.
#include <string.h>

#include "core/base/file.h"
#include "core/collage/plan_json.h"
#include "core/compose/artifact/metadata_reports.h"
#include "explain.h"
#include "reports.h"

// X(symbol, "mark")
#define PAGE_PARTS(X)                                                                                                  \
  X(page_colours_css, "/*colours.css*/\n")                                                                             \
  X(page_plan_css, "/*plan.css*/\n")                                                                                   \
  X(page_reports_css, "/*reports.css*/\n")                                                                             \
  X(page_plan_data_js, "/*plan_data.js*/\n")                                                                           \
  X(page_plan_layout_js, "/*plan_layout.js*/\n")                                                                       \
  X(page_plan_draw_js, "/*plan_draw.js*/\n")                                                                           \
  X(page_plan_panel_js, "/*plan_panel.js*/\n")

// Each is followed by a NUL.
#define PART_DECLARE(symbol, text) extern const unsigned char byoc_embed_##symbol[];
PAGE_PARTS(PART_DECLARE)
#undef PART_DECLARE
extern const unsigned char byoc_embed_page_plan_html[];

// The places of the parts. The scripts read the plan, and the style stands before it.
#define PART_PLACE(symbol, mark) PLACE_##symbol,
enum { PAGE_PARTS(PART_PLACE) FIRST_SCRIPT = PLACE_page_plan_data_js };
#undef PART_PLACE

static const char plan_mark[] = "/*PLAN*/null", reports_mark[] = "<!--reports-->\n";

typedef struct page_part_t {
  const char *mark, *text;
} page_part_t;

// JSON inside <script>: "</script>" and "<!--" would end or change it, so every '<' is escaped. JSON has '<' only
// inside texts. An escape of JSON stands for a character that is not safe to show; the page must show the escape, so
// its backslash gets another one. Escapes of one letter stay: \n breaks lines, and a page shows the others as spaces.
static void append_escaped(byoc_string_t *out, const byoc_string_t *json) {
  const char *cursor = json->data, *end = json->data + json->size;
  while (cursor < end) {
    size_t size = strcspn(cursor, "<\\");
    byoc_string_append_bytes(out, cursor, size);
    cursor += size;
    if (*cursor == '<') byoc_string_append(out, "\\u003c");
    if (*cursor == '\\') {
      byoc_string_append(out, cursor[1] == 'u' ? "\\\\" : "\\");
      byoc_string_append_bytes(out, ++cursor, 1);
    }
    if (cursor < end) ++cursor;
  }
}

// Appends `page` up to the mark and moves it behind the mark; false if there is no mark.
static bool append_until(byoc_string_t *out, const char **page, const char *mark) {
  const char *place = strstr(*page, mark);
  if (place == NULL) return false;
  byoc_string_append_bytes(out, *page, (size_t)(place - *page));
  *page = place + strlen(mark);
  return true;
}

// A box at the foot of the page, which opens when it is wanted.
static void append_reports(byoc_string_t *out, const byoc_graph_module_t *module) {
  json_t *root = json_object();
  if (root == NULL || !byoc_compose_set_reports(root, module)) out->failed = true;
  const json_t *reports = json_object_get(root, "reports");
  if (json_array_size(reports) > 0) {
    byoc_string_appendf(out, "<details id=\"reports\"><summary>%zu report%s of backends</summary>\n",
                        json_array_size(reports), byoc_plural(json_array_size(reports)));
    byoc_reports_append_page(reports, out);
    byoc_string_append(out, "</details>\n");
  }
  json_decref(root);
}

static bool append_page(byoc_string_t *out, const byoc_string_t *json, const byoc_graph_module_t *module) {
#define PART_ROW(symbol, mark) {mark, (const char *)byoc_embed_##symbol},
  static const page_part_t parts[] = {PAGE_PARTS(PART_ROW)};
#undef PART_ROW
  const char *page = (const char *)byoc_embed_page_plan_html;
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) {
    if (i == FIRST_SCRIPT) {
      if (!append_until(out, &page, reports_mark)) return false;
      append_reports(out, module);
      if (!append_until(out, &page, plan_mark)) return false;
      append_escaped(out, json);
    }
    if (!append_until(out, &page, parts[i].mark)) return false;
    byoc_string_append(out, parts[i].text);
  }
  byoc_string_append(out, page);
  return true;
}

static byoc_status_t add_text(byoc_file_set_t *files, const char *path, const byoc_string_t *text, byoc_diag_t *diag) {
  if (text->failed) return byoc_diag_out_of_memory(diag);
  const byoc_bytes_t bytes = {.data = text->data, .size_bytes = text->size};
  return byoc_file_set_add(files, path, &bytes, 1, 0644, diag);
}

byoc_status_t byoc_explain_add_files(const byoc_plan_t *plan, const byoc_graph_module_t *module, const char *json_path,
                                     const char *page_path, byoc_file_set_t *files, byoc_diag_t *diag) {
  if (json_path == NULL && page_path == NULL) return BYOC_OK;
  byoc_string_t json, text;
  byoc_string_init(&json, plan->arena.allocator);
  byoc_string_init(&text, plan->arena.allocator);
  byoc_status_t status = byoc_plan_print(plan, &json, diag);
  if (status == BYOC_OK && json_path != NULL) status = add_text(files, json_path, &json, diag);
  if (status == BYOC_OK && page_path != NULL && !append_page(&text, &json, module)) {
    status = byoc_diag_error(diag, BYOC_INTERNAL, "the page of byoc explain misses one of its marks");
  }
  if (status == BYOC_OK && page_path != NULL) status = add_text(files, page_path, &text, diag);
  byoc_string_deinit(&json);
  byoc_string_deinit(&text);
  return status;
}
