// SPDX-License-Identifier: Apache-2.0
// byoc-abi-page INCLUDE CONSTANTS OUT: writes the reference page of the ABI from byoc/abi.def (layouts), the comments
// of the headers (what fields mean) and the golden list of constants. The build runs it.
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/plugin/manifest.h"
#include "tools/abi_page/header_text.h"

// Comments of C as Markdown: "x[i](...)" outside of `code` is no link.
static void append_comment(byoc_string_t *out, const char *text, bool is_cell) {
  bool is_code = false;
  for (char last = '\0'; text != NULL && *text != '\0'; last = *text++) {
    is_code ^= *text == '`';
    if ((*text == '|' && is_cell) || (*text == '(' && last == ']' && !is_code)) byoc_string_append(out, "\\");
    byoc_string_append_bytes(out, text, 1);
  }
}

// Text in a cell of a table.
static void append_cell(byoc_string_t *out, const char *text) {
  append_comment(out, text, true);
}

static const char *name_of_filler(byoc_abi_filler_t filler) {
  static const char *const names[] = {[BYOC_ABI_HOST] = "the host",
                                      [BYOC_ABI_PLUGIN] = "the plugin",
                                      [BYOC_ABI_ARTIFACT] = "the artifact",
                                      [BYOC_ABI_CALLER] = "the caller of an artifact",
                                      [BYOC_ABI_BOTH] = "either side"};
  return names[filler];
}

static void append_need(byoc_string_t *out, const byoc_abi_field_t *field) {
  static const char *const names[] = {[BYOC_ABI_SIZE] = "size",       [BYOC_ABI_REQUIRED] = "required",
                                      [BYOC_ABI_ONE_OF] = "one of",   [BYOC_ABI_OPTIONAL] = "optional; 0: ",
                                      [BYOC_ABI_VALUE] = "any value", [BYOC_ABI_RESERVED] = "0"};
  byoc_string_append(out, names[field->need]);
  append_cell(out, field->zero);
}

static void append_field(byoc_string_t *out, const byoc_abi_field_t *field, const declaration_t *declaration) {
  byoc_string_t meaning;
  byoc_string_init(&meaning, byoc_allocator_system());
  if (declaration != NULL) declaration_field_comment(declaration, field->name, &meaning);
  byoc_string_appendf(out, "| `%s` | `%s` | %u | %u | %u | ", field->name, field->type, (unsigned)field->offset,
                      (unsigned)field->size_bytes, (unsigned)field->since);
  append_need(out, field);
  byoc_string_append(out, " | ");
  append_cell(out, meaning.data);
  byoc_string_append(out, " |\n");
  out->failed |= meaning.failed;
  byoc_string_deinit(&meaning);
}

static void append_struct(byoc_string_t *out, const byoc_abi_struct_t *shape, const headers_t *headers) {
  declaration_t declaration;
  const bool is_found = headers_find(headers, shape->name, &declaration);
  byoc_string_t meaning;
  byoc_string_init(&meaning, byoc_allocator_system());
  if (is_found) declaration_comment(&declaration, &meaning);
  byoc_string_appendf(out, "\n### %s\n\n", shape->name);
  append_comment(out, meaning.data, false);
  if (meaning.size > 0) byoc_string_append(out, "\n\n");
  byoc_string_appendf(out, "`%s`, since minor %u. Filled by %s; %u bytes, %s.\n\n",
                      is_found ? declaration.header->name : "not declared", (unsigned)shape->since,
                      name_of_filler(shape->filler), (unsigned)shape->size_bytes,
                      shape->growth == BYOC_ABI_GROWS ? "may grow at its end" : "never changes");
  byoc_string_append(out, "| field | type | offset | size | since | need | meaning |\n"
                          "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (uint32_t i = shape[0].first; i < shape[1].first; ++i) {
    append_field(out, &byoc_abi_fields[i], is_found ? &declaration : NULL);
  }
  out->failed |= meaning.failed;
  byoc_string_deinit(&meaning);
}

// Lines "NAME value minor"; '#' begins a comment.
static void append_constants(byoc_string_t *out, char *text) {
  byoc_string_append(out, "\n## Constants\n\n| name | value | since |\n| --- | --- | --- |\n");
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char name[128], value[128];
    unsigned since = 0;
    if (sscanf(line, "%127[A-Z0-9_] %127s %u", name, value, &since) != 3) continue;
    byoc_string_appendf(out, "| `%s` | `%s` | %u |\n", name, value, since);
  }
}

static void append_page(byoc_string_t *out, const headers_t *headers, char *constants) {
  byoc_string_append(
      out,
      "# Reference of the ABI\n\n"
      "Every struct and constant of byoc's public headers. This page is made from `byoc/abi.def`, from the comments "
      "of the headers and from the golden list of constants. Offsets and sizes are in bytes, the same on x86-64 and "
      "AArch64; `since` is the minor version of the plugin ABI in which something came. What may change in which "
      "version is said in abi.md.\n\n"
      "A field that is *required* is never NULL, and the host refuses a struct without it by name. Of the fields "
      "marked *one of* in a struct, at least one is given. An *optional* field may be zero, which stands for what "
      "is said there.\n\n## Structs\n");
  for (size_t i = 0; i < BYOC_ABI_STRUCT_COUNT; ++i) append_struct(out, &byoc_abi_structs[i], headers);
  append_constants(out, constants);
}

static byoc_status_t run(char **arguments, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  headers_t headers = {0};
  byoc_string_t page;
  char *constants = NULL, *folder = byoc_path_join(allocator, arguments[1], "byoc");
  size_t size = 0;
  byoc_string_init(&page, allocator);
  byoc_status_t status = folder != NULL ? headers_read(folder, &headers, diag) : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK) status = byoc_file_read(arguments[2], allocator, diag, &constants, &size);
  if (status == BYOC_OK) {
    append_page(&page, &headers, constants);
    if (page.failed) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = byoc_file_write_atomic(arguments[3], page.data, page.size, 0644, diag);
  byoc_free(allocator, constants);
  byoc_free(allocator, folder);
  byoc_string_deinit(&page);
  headers_free(&headers);
  return status;
}

int main(int argc, char **argv) {
  byoc_diag_t diag = {0};
  if (argc != 4) {
    fprintf(stderr, "usage: byoc-abi-page INCLUDE CONSTANTS OUT\n");
    return 2;
  }
  if (run(argv, &diag) == BYOC_OK) return 0;
  char text[1024];
  byoc_diag_format(&diag, text, sizeof(text));
  fprintf(stderr, "byoc-abi-page: %s\n", text);
  return 1;
}
