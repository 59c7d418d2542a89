// SPDX-License-Identifier: Apache-2.0
// Prints tables of texts for a terminal.
#include "table.h"

#include "core/base/visible.h"

enum { MIN_WIDTH = 8 }; // smallest width of a column that is cut

void byoc_table_init(byoc_table_t *table, const byoc_table_column_t *columns, size_t column_count,
                     byoc_allocator_t allocator) {
  *table = (byoc_table_t){.columns = columns, .column_count = column_count};
  byoc_arena_init(&table->arena, allocator);
}

void byoc_table_deinit(byoc_table_t *table) {
  byoc_vector_deinit(&table->cells, table->arena.allocator);
  byoc_arena_deinit(&table->arena);
}

void byoc_table_cell(byoc_table_t *table, const char *format, ...) {
  byoc_string_t text;
  byoc_string_init(&text, table->arena.allocator);
  va_list arguments;
  va_start(arguments, format);
  byoc_string_appendv(&text, format, arguments);
  va_end(arguments);
  byoc_string_t shown;
  byoc_string_init(&shown, table->arena.allocator);
  byoc_string_append_shown(&shown, text.data);
  const char *cell = text.failed || shown.failed ? NULL : byoc_arena_copy_string(&table->arena, shown.data);
  if (cell == NULL || !byoc_vector_push(&table->cells, table->arena.allocator, cell)) table->failed = true;
  byoc_string_deinit(&text);
  byoc_string_deinit(&shown);
}

// Narrows the widest flexible column until the line fits.
static void fit(const byoc_table_t *table, size_t *widths, size_t limit) {
  size_t total = table->column_count - 1;
  for (size_t c = 0; c < table->column_count; ++c) total += widths[c];
  while (total > limit) {
    size_t widest = SIZE_MAX;
    for (size_t c = 0; c < table->column_count; ++c) {
      if (!table->columns[c].is_flexible || widths[c] <= MIN_WIDTH) continue;
      if (widest == SIZE_MAX || widths[c] > widths[widest]) widest = c;
    }
    if (widest == SIZE_MAX) return;
    widths[widest] -= 1;
    total -= 1;
  }
}

// Where the first `width` characters end.
static int cut_at(const char *text, size_t width) {
  size_t at = 0;
  for (;; ++at) {
    const bool is_start = ((unsigned char)text[at] & 0xC0) != 0x80;
    if (text[at] == '\0' || (is_start && width-- == 0)) return (int)at;
  }
}

static void print_row(const byoc_table_t *table, const char *const *cells, const size_t *widths, int indent,
                      byoc_string_t *out) {
  byoc_string_indent(out, indent);
  for (size_t c = 0; c < table->column_count; ++c) {
    size_t size = byoc_shown_width(cells[c]), width = widths[c];
    bool is_cut = size > width, is_last = c + 1 == table->column_count;
    int padding = is_cut ? 0 : (int)(width - size);
    if (table->columns[c].to_the_right) byoc_string_indent(out, padding);
    if (is_cut) {
      byoc_string_appendf(out, "%.*s..", cut_at(cells[c], width - 2), cells[c]);
    } else {
      byoc_string_append(out, cells[c]);
    }
    if (!table->columns[c].to_the_right && !is_last) byoc_string_indent(out, padding);
    if (!is_last) byoc_string_append(out, " ");
  }
  while (out->size > 0 && out->data[out->size - 1] == ' ') out->data[--out->size] = '\0';
  byoc_string_append(out, "\n");
}

void byoc_table_print(byoc_table_t *table, int indent, byoc_string_t *out) {
  const char *titles[BYOC_TABLE_COLUMNS];
  size_t widths[BYOC_TABLE_COLUMNS];
  for (size_t c = 0; c < table->column_count; ++c) {
    titles[c] = table->columns[c].title;
    widths[c] = byoc_shown_width(titles[c]);
  }
  for (size_t i = 0; i < table->cells.count; ++i) {
    size_t size = byoc_shown_width(table->cells.data[i]), *width = &widths[i % table->column_count];
    if (size > *width) *width = size;
  }
  fit(table, widths, (size_t)(BYOC_LINE_WIDTH - indent));
  print_row(table, titles, widths, indent, out);
  for (size_t i = 0; i + table->column_count <= table->cells.count; i += table->column_count) {
    print_row(table, &table->cells.data[i], widths, indent, out);
  }
  if (table->failed) out->failed = true;
}
