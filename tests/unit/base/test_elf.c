// SPDX-License-Identifier: Apache-2.0
// The ELF and archive readers, on files of this machine's compiler, of 64 bits and then of 32 where it makes them, and
// on the same files cut and changed everywhere.
#include "tests/support/support.h"

#include <elf.h>
#include <stdlib.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/process.h"

static const char source[] =
    "extern double sin(double);\n"
    "__asm__(\".pushsection .note.byoc,\\\"a\\\",%note\\n.balign 4\\n.long 5,6,7\\n\"\n"
    "        \".asciz \\\"byoc\\\"\\n.balign 4\\n.ascii \\\"a note\\\"\\n.balign 4\\n\"\n"
    "        \".popsection\");\n"
    "extern double outside(double);\n"
    "__attribute__((weak)) int weak_one;\n"
    "__attribute__((visibility(\"hidden\"))) int hidden_one(void) { return 1; }\n"
    "static int local_one(int x) { return x * 3; }\n"
    "int (*keep)(int) = local_one;\n"
    "double exported_one(double x) { return sin(x) + outside(x) + hidden_one() + weak_one; }\n";

static bool is_32; // the files are of 32 bits
#define WIDTH (is_32 ? "-m32" : "-O1")

static char *folder;
static byoc_file_view_t shared, object, archive;

static bool can_compile(const char *const *argv, byoc_string_t *output) {
  byoc_diag_t diag = {0};
  byoc_process_result_t result;
  byoc_process_options_t options = {.directory = folder};
  byoc_test_ok(byoc_process_run(argv, &options, output, &diag, &result), &diag);
  return result.exit_code == 0;
}

static void compile(const char *const *argv) {
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  if (!can_compile(argv, &output)) fail_msg("%s: %s", argv[0], output.data);
  byoc_string_deinit(&output);
}

static void write_source(const char *name, const char *text) {
  byoc_diag_t diag = {0};
  char *path = byoc_path_join(byoc_allocator_system(), folder, name);
  byoc_test_ok(byoc_file_write(path, text, strlen(text), &diag), &diag);
  free(path);
}

// Links a library that is empty but for its name.
#define LIBRARY(file, name)                                                                                            \
  (const char *const[]) {                                                                                              \
    "cc", WIDTH, "-fPIC", "-shared", "-nostdlib", "empty.c", "-o", file, "-Wl,-soname," name, NULL                     \
  }

static void open_view(const char *name, byoc_file_view_t *view) {
  byoc_diag_t diag = {0};
  char *path = byoc_path_join(byoc_allocator_system(), folder, name);
  byoc_test_ok(byoc_file_view_open(path, &diag, view), &diag);
  free(path);
}

static int group_setup(void **state) {
  (void)state;
  folder = byoc_test_folder();
  write_source("a_rather_long_source_name.c", source);
  write_source("empty.c", "int empty;\n");
  // Libraries of the names that are needed, which exist in both widths.
  compile(LIBRARY("libm.so", "libm.so.6"));
  compile(LIBRARY("libc.so", "libc.so.6"));
  compile((const char *const[]){"cc", WIDTH, "-fPIC", "-O1", "-c", "a_rather_long_source_name.c", NULL});
  compile((const char *const[]){"cc", WIDTH, "-fPIC", "-O1", "-c", "a_rather_long_source_name.c", "-o", "s.o", NULL});
  compile((const char *const[]){"cc", WIDTH, "-shared", "-nostdlib", "s.o", "-o", "lib.so", "-Wl,-soname,libours.so.1",
                                "-Wl,--no-as-needed", "libm.so", "libc.so", NULL});
  compile((const char *const[]){"ar", "rcs", "lib.a", "a_rather_long_source_name.o", "s.o", NULL});
  open_view("lib.so", &shared);
  open_view("s.o", &object);
  open_view("lib.a", &archive);
  return 0;
}

static int group_teardown(void **state) {
  (void)state;
  byoc_file_view_close(&shared);
  byoc_file_view_close(&object);
  byoc_file_view_close(&archive);
  free(folder);
  return 0;
}

static byoc_status_t see_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  byoc_string_appendf(self, "%s%s%s%s%s;", symbol->name, symbol->defined ? "" : " undefined",
                      symbol->global ? "" : " local", symbol->weak ? " weak" : "", symbol->hidden ? " hidden" : "");
  return BYOC_OK;
}

static byoc_status_t see_needed(void *self, const char *name, bool soname) {
  byoc_string_appendf(self, "%s%s;", soname ? "soname " : "", name);
  return BYOC_OK;
}

static byoc_status_t see_member(void *self, const char *member, const uint8_t *data, size_t size_bytes) {
  byoc_string_appendf(self, "%s%s;", member, byoc_is_elf(data, size_bytes) ? "" : " other");
  return BYOC_OK;
}

static size_t section_bytes(void) {
  return is_32 ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

static size_t segment_bytes(void) {
  return is_32 ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

static void expect_part(const byoc_string_t *text, const char *part) {
  if (strstr(text->data, part) == NULL) fail_msg("'%s' is not in '%s'", part, text->data);
}

static byoc_elf_t opened(const byoc_file_view_t *view) {
  byoc_diag_t diag = {0};
  byoc_elf_t elf;
  byoc_test_ok(byoc_elf_open(view->data, view->size_bytes, "file", &diag, &elf), &diag);
  return elf;
}

static void notes(void **state) {
  (void)state;
  const byoc_file_view_t *views[] = {&shared, &object};
  for (size_t i = 0; i < 2; i++) {
    byoc_elf_t elf = opened(views[i]);
    assert_int_equal(elf.type, i == 0 ? ET_DYN : ET_REL);
    byoc_diag_t diag = {0};
    const uint8_t *data = NULL;
    size_t size = 0;
    byoc_test_ok(byoc_elf_find_note(&elf, "byoc", 7, &diag, &data, &size), &diag);
    assert_int_equal(size, 6);
    assert_memory_equal(data, "a note", 6);
    assert_int_equal(byoc_elf_find_note(&elf, "byoc", 8, &diag, &data, &size), BYOC_NOT_FOUND);
    assert_int_equal(byoc_elf_find_note(&elf, "byo", 7, &diag, &data, &size), BYOC_NOT_FOUND);
    assert_int_equal(diag.status, BYOC_OK);
    assert_null(data);
  }
}

static void note_is_found_without_sections(void **state) {
  (void)state;
  uint8_t *copy = malloc(shared.size_bytes);
  assert_non_null(copy);
  memcpy(copy, shared.data, shared.size_bytes);
  Elf64_Ehdr header;
  Elf32_Ehdr narrow;
  memcpy(&header, copy, sizeof(header));
  memcpy(&narrow, copy, sizeof(narrow));
  header.e_shoff = narrow.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = narrow.e_shnum = narrow.e_shstrndx = 0;
  memcpy(copy, is_32 ? (void *)&narrow : (void *)&header, is_32 ? sizeof(narrow) : sizeof(header));
  byoc_elf_t elf;
  byoc_diag_t diag = {0};
  const uint8_t *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_elf_open(copy, shared.size_bytes, "stripped", &diag, &elf), &diag);
  byoc_test_ok(byoc_elf_find_note(&elf, "byoc", 7, &diag, &data, &size), &diag);
  assert_memory_equal(data, "a note", 6);
  free(copy);
}

// A whole shared object can be loaded; an object, and a file that ends before what its tables refer to, cannot.
static void what_can_be_loaded(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_elf_t elf = opened(&shared);
  byoc_test_ok(byoc_elf_check_loadable(&elf, &diag), &diag);
  elf.size_bytes = elf.segment_offset + elf.segment_count * segment_bytes();
  elf.section_count = 0;
  byoc_test_error(byoc_elf_check_loadable(&elf, &diag), BYOC_INVALID_DATA, &diag, "'file' is truncated: a segment");
  byoc_diag_clear(&diag);
  elf = opened(&object);
  byoc_test_error(byoc_elf_check_loadable(&elf, &diag), BYOC_INVALID_DATA, &diag, "not a shared object");
  byoc_diag_clear(&diag);
}

static void symbols(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_string_t seen;
  byoc_string_init(&seen, byoc_allocator_system());
  byoc_elf_t elf = opened(&object);
  byoc_test_ok(byoc_elf_visit_symbols(&elf, false, see_symbol, &seen, &diag), &diag);
  expect_part(&seen, "exported_one;");
  expect_part(&seen, "hidden_one hidden;");
  expect_part(&seen, "local_one local;");
  expect_part(&seen, "weak_one weak;");
  expect_part(&seen, "outside undefined;");
  byoc_string_clear(&seen);
  byoc_test_ok(byoc_elf_visit_symbols(&elf, true, see_symbol, &seen, &diag), &diag);
  assert_string_equal(seen.data, ""); // an object has no dynamic symbols
  elf = opened(&shared);
  byoc_test_ok(byoc_elf_visit_symbols(&elf, true, see_symbol, &seen, &diag), &diag);
  expect_part(&seen, "exported_one;");
  expect_part(&seen, "outside undefined;");
  assert_null(strstr(seen.data, "hidden_one"));
  assert_null(strstr(seen.data, "local_one"));
  byoc_string_deinit(&seen);
}

static void needed_libraries(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_string_t seen;
  byoc_string_init(&seen, byoc_allocator_system());
  byoc_elf_t elf = opened(&shared);
  byoc_test_ok(byoc_elf_visit_needed(&elf, see_needed, &seen, &diag), &diag);
  assert_string_equal(seen.data, "libm.so.6;libc.so.6;soname libours.so.1;");
  byoc_string_clear(&seen);
  elf = opened(&object);
  byoc_test_ok(byoc_elf_visit_needed(&elf, see_needed, &seen, &diag), &diag);
  assert_string_equal(seen.data, "");
  byoc_string_deinit(&seen);
}

static byoc_status_t stop_at_once(void *self, const byoc_elf_symbol_t *symbol) {
  (void)symbol;
  ++*(int *)self;
  return BYOC_CANCELLED;
}

static void visitors_can_stop(void **state) {
  (void)state;
  byoc_elf_t elf = opened(&object);
  int count = 0;
  assert_int_equal(byoc_elf_visit_symbols(&elf, false, stop_at_once, &count, NULL), BYOC_CANCELLED);
  assert_int_equal(count, 1);
}

static void archive_members(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_string_t seen;
  byoc_string_init(&seen, byoc_allocator_system());
  assert_true(byoc_is_ar(archive.data, archive.size_bytes));
  byoc_test_ok(byoc_ar_visit(archive.data, archive.size_bytes, "lib.a", see_member, &seen, &diag), &diag);
  assert_string_equal(seen.data, "a_rather_long_source_name.o;s.o;");
  byoc_string_deinit(&seen);
}

// Adds a member: its header, and its text, which ends at an even place.
static void append_member(byoc_string_t *out, const char *name, const char *text) {
  byoc_string_appendf(out, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n%s", name, 0, 0, 0, 0644, strlen(text), text);
}

// GNU ar and LLVM's write an index of 64-bit offsets into archives above 4 GiB, and BSD's in front of smaller ones.
static void indices_of_archives_are_no_members(void **state) {
  (void)state;
  static const char *const indices[] = {"/", "/SYM64/"};
  for (size_t i = 0; i < 2; ++i) {
    byoc_diag_t diag = {0};
    byoc_string_t file, seen;
    byoc_string_init(&file, byoc_allocator_system());
    byoc_string_init(&seen, byoc_allocator_system());
    byoc_string_append(&file, "!<arch>\n");
    append_member(&file, indices[i], "index...");
    append_member(&file, "//", "a_name_of_many_letters.txt/\n");
    append_member(&file, "/0", "text");
    append_member(&file, "short.txt/", "text");
    assert_false(file.failed);
    byoc_test_ok(byoc_ar_visit(file.data, file.size, "lib.a", see_member, &seen, &diag), &diag);
    assert_string_equal(seen.data, "a_name_of_many_letters.txt other;short.txt other;");
    byoc_string_deinit(&file);
    byoc_string_deinit(&seen);
  }
}

static void other_files_are_refused_by_name(void **state) {
  (void)state;
  byoc_elf_t elf;
  byoc_diag_t diag = {0};
  byoc_test_error(byoc_elf_open("#!/bin/sh\n", 10, "script", &diag, &elf), BYOC_INVALID_DATA, &diag,
                  "'script' is not an ELF file");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_elf_open("", 0, "empty", &diag, &elf), BYOC_INVALID_DATA, &diag, "'empty' is not an ELF file");
  byoc_diag_clear(&diag);
  static const uint8_t big_endian[64] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2MSB, EV_CURRENT};
  byoc_test_error(byoc_elf_open(big_endian, sizeof(big_endian), "other", &diag, &elf), BYOC_INVALID_DATA, &diag,
                  "'other' is not a little-endian ELF file");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_ar_visit("!<thin>\n", 8, "thin.a", see_member, NULL, &diag), BYOC_INVALID_DATA, &diag,
                  "thin archive");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_ar_visit("junk", 4, "junk", see_member, NULL, &diag), BYOC_INVALID_DATA, &diag,
                  "not an archive");
}

// Uses the whole reader on exactly `size` bytes: the sanitizer sees any access outside them. Every refusal must have a
// message.
static byoc_status_t read_all_of(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1);
  assert_non_null(copy);
  if (size > 0) memcpy(copy, bytes, size);
  byoc_status_t statuses[4] = {0};
  byoc_diag_t diags[4] = {0};
  byoc_string_t seen;
  byoc_string_init(&seen, byoc_allocator_system());
  if (byoc_is_ar(copy, size)) {
    statuses[0] = byoc_ar_visit(copy, size, "damaged", see_member, &seen, &diags[0]);
  } else {
    byoc_elf_t elf;
    const uint8_t *data = NULL;
    size_t note_size = 0;
    statuses[0] = byoc_elf_open(copy, size, "damaged", &diags[0], &elf);
    if (statuses[0] == BYOC_OK) {
      statuses[0] = byoc_elf_find_note(&elf, "nobody", 1, &diags[0], &data, &note_size); // walks all notes
      if (statuses[0] == BYOC_NOT_FOUND) statuses[0] = BYOC_OK;
      statuses[1] = byoc_elf_visit_symbols(&elf, false, see_symbol, &seen, &diags[1]);
      statuses[2] = byoc_elf_visit_symbols(&elf, true, see_symbol, &seen, &diags[2]);
      statuses[3] = byoc_elf_visit_needed(&elf, see_needed, &seen, &diags[3]);
    }
  }
  byoc_status_t first = BYOC_OK;
  for (int i = 0; i < 4; i++) {
    assert_true(statuses[i] == BYOC_OK || statuses[i] == BYOC_INVALID_DATA);
    assert_int_equal(statuses[i], diags[i].status);
    if (first == BYOC_OK) first = statuses[i];
  }
  byoc_string_deinit(&seen);
  free(copy);
  return first;
}

static void flip_every_bit(const byoc_file_view_t *view, size_t start, size_t size, size_t step) {
  uint8_t *copy = malloc(view->size_bytes);
  assert_non_null(copy);
  memcpy(copy, view->data, view->size_bytes);
  for (size_t at = start; at < start + size && at < view->size_bytes; at += step) {
    for (int bit = 0; bit < 8; bit++) {
      copy[at] ^= (uint8_t)(1u << bit);
      (void)read_all_of(copy, view->size_bytes);
      copy[at] = view->data[at];
    }
    copy[at] = 0xFF;
    (void)read_all_of(copy, view->size_bytes);
    copy[at] = view->data[at];
  }
  free(copy);
}

static void flipped_headers(void **state) {
  (void)state;
  const byoc_file_view_t *views[] = {&shared, &object};
  for (size_t i = 0; i < 2; i++) {
    byoc_elf_t elf = opened(views[i]);
    flip_every_bit(views[i], 0, sizeof(Elf64_Ehdr), 1);
    flip_every_bit(views[i], elf.section_offset, (size_t)elf.section_count * section_bytes(), 1);
    flip_every_bit(views[i], elf.segment_offset, (size_t)elf.segment_count * segment_bytes(), 1);
  }
  flip_every_bit(&archive, 0, 600, 1);
}

static void flipped_contents(void **state) {
  (void)state;
  flip_every_bit(&shared, 0, shared.size_bytes, 37);
  flip_every_bit(&object, 0, object.size_bytes, 11);
}

static void truncated_at_every_section(void **state) {
  (void)state;
  const byoc_file_view_t *views[] = {&shared, &object};
  for (size_t i = 0; i < 2; i++) {
    byoc_elf_t elf = opened(views[i]);
    for (uint32_t s = 0; s <= elf.section_count; s++) {
      size_t header = elf.section_offset + (size_t)s * section_bytes();
      if (header < views[i]->size_bytes) assert_int_equal(read_all_of(views[i]->data, header), BYOC_INVALID_DATA);
      if (s == elf.section_count) break;
      Elf64_Shdr section;
      Elf32_Shdr narrow;
      memcpy(is_32 ? (void *)&narrow : (void *)&section, views[i]->data + header, section_bytes());
      for (int delta = -1; delta <= 1; delta++) {
        size_t size = (is_32 ? narrow.sh_offset : section.sh_offset) + (size_t)delta;
        if (size < views[i]->size_bytes) (void)read_all_of(views[i]->data, size);
      }
    }
  }
  for (size_t size = 0; size < archive.size_bytes; size += size < 700 ? 1 : 53) {
    (void)read_all_of(archive.data, size);
  }
}

static bool makes_32(void) {
  byoc_string_t output;
  byoc_string_init(&output, byoc_allocator_system());
  folder = byoc_test_folder();
  write_source("empty.c", "int empty;\n");
  const bool can = can_compile(LIBRARY("narrow.so", "narrow.so"), &output);
  if (!can) byoc_test_leave_out("cc makes no code of 32 bits");
  free(folder);
  byoc_string_deinit(&output);
  return can;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(notes),
      cmocka_unit_test(note_is_found_without_sections),
      cmocka_unit_test(what_can_be_loaded),
      cmocka_unit_test(symbols),
      cmocka_unit_test(needed_libraries),
      cmocka_unit_test(visitors_can_stop),
      cmocka_unit_test(archive_members),
      cmocka_unit_test(indices_of_archives_are_no_members),
      cmocka_unit_test(other_files_are_refused_by_name),
      cmocka_unit_test(flipped_headers),
      cmocka_unit_test(flipped_contents),
      cmocka_unit_test(truncated_at_every_section),
  };
  const int failed = cmocka_run_group_tests_name("elf", tests, group_setup, group_teardown);
  is_32 = true;
  return failed + (makes_32() ? cmocka_run_group_tests_name("elf of 32 bits", tests, group_setup, group_teardown) : 0);
}
