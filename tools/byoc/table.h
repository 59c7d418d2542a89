// SPDX-License-Identifier: Apache-2.0
// A table of texts for a terminal: columns as wide as they need to be; flexible ones are cut if the line is too long.
#ifndef BYOC_TOOLS_BYOC_TABLE_H_
#define BYOC_TOOLS_BYOC_TABLE_H_

#include "core/base/arena.h"
#include "core/base/string.h"
#include "core/base/vector.h"

enum { BYOC_TABLE_COLUMNS = 10, BYOC_LINE_WIDTH = 100 };

typedef struct byoc_table_column_t {
  const char *title;
  bool to_the_right;
  bool is_flexible; // may be cut
} byoc_table_column_t;

typedef struct byoc_table_t {
  byoc_arena_t arena; // cells
  const byoc_table_column_t *columns;
  size_t column_count;
  BYOC_VECTOR(const char *) cells; // row by row
  bool failed;                     // out of memory
} byoc_table_t;
void byoc_table_init(byoc_table_t *table, const byoc_table_column_t *columns, size_t column_count,
                     byoc_allocator_t allocator);
void byoc_table_deinit(byoc_table_t *table);
// Appends the next cell, formatted.
void byoc_table_cell(byoc_table_t *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints the heading and the rows, `indent` spaces in front of each.
void byoc_table_print(byoc_table_t *table, int indent, byoc_string_t *out);

#endif // BYOC_TOOLS_BYOC_TABLE_H_
