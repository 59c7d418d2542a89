// SPDX-License-Identifier: Apache-2.0
// Prints the tables of run-time options.
#include "core/compose/c/host_c.h"

// A row of a run-time option.
static void emit_option(const byoc_runtime_option_row_t *row, byoc_string_t *out) {
  byoc_string_append(out, "    {");
  byoc_string_append_c_quoted(out, row->name);
  byoc_string_append(out, ", ");
  byoc_string_append_c_quoted(out, row->default_value);
  byoc_string_appendf(out, ", %u, ", (unsigned)row->type);
  byoc_host_c_emit_integer(row->minimum, out);
  byoc_string_append(out, ", ");
  byoc_host_c_emit_integer(row->maximum, out);
  byoc_string_append(out, ", ");
  byoc_host_c_emit_real(BYOC_C_F64, row->minimum_f64, out);
  byoc_string_append(out, ", ");
  byoc_host_c_emit_real(BYOC_C_F64, row->maximum_f64, out);
  byoc_string_append(out, ", ");
  if (row->choices != NULL) byoc_string_append_c_quoted(out, row->choices);
  byoc_string_append(out, row->choices != NULL ? "},\n" : "0},\n");
}

void byoc_host_c_emit_options(const byoc_runtime_option_row_t *rows, uint32_t count, const char *whose, size_t index,
                              byoc_string_t *out) {
  if (count == 0) return;
  byoc_string_append(out, "// Name, default, type, limits, choices.\n");
  byoc_string_appendf(out, "static const byoc_runtime_option_row_t host_%s_%zu_options[] = {\n", whose, index);
  for (uint32_t i = 0; i < count; i++) emit_option(&rows[i], out);
  byoc_string_append(out, "};\n");
}
