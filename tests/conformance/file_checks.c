// What a plugin's file and its tables say, before it compiles anything.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/string.h"
#include "core/plugin/identity.h"
#include "core/target/option.h"
#include "tests/conformance/suite.h"

// ---- the file ----

static byoc_status_t visit_needed(void *self, const char *name, bool soname) {
  (void)self;
  // The C library's own, and the run-time libraries of sanitizers.
  static const char *const usual[] = {"libc.so.",  "libm.so.",   "libdl.so.",    "libpthread.so.", "librt.so.",
                                      "ld-linux-", "libasan.so", "libubsan.so.", "libtsan.so.",    "libgcc_s.so."};
  if (soname) return BYOC_OK;
  for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); ++i) {
    if (byoc_starts_with(name, usual[i])) return BYOC_OK;
  }
  for (size_t i = 0; i < suite.library_count; ++i) {
    if (strcmp(name, suite.libraries[i]) == 0) return BYOC_OK;
  }
  suite_complain("it needs %s, which was not named by --needs", name);
  return BYOC_OK;
}

static bool is_host_symbol(const char *name) {
  return byoc_starts_with(name, "byoc_");
}

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  int *exported = self;
  if (symbol->defined && symbol->global && !symbol->hidden) {
    *exported += 1;
    if (strcmp(symbol->name, "byoc_plugin_query") != 0) suite_complain("it exports '%s'", symbol->name);
  }
  if (!symbol->defined && is_host_symbol(symbol->name)) {
    suite_complain("it expects '%s' from the host, which offers tables only", symbol->name);
  }
  return BYOC_OK;
}

void check_file(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_view_t view;
  byoc_elf_t elf;
  int exported = 0;
  byoc_test_ok(byoc_file_view_open(suite.plugin, &diag, &view), &diag);
  byoc_test_ok(byoc_elf_open(view.data, view.size_bytes, suite.plugin, &diag, &elf), &diag);
  byoc_test_ok(byoc_elf_visit_needed(&elf, visit_needed, NULL, &diag), &diag);
  byoc_test_ok(byoc_elf_visit_symbols(&elf, true, visit_symbol, &exported, &diag), &diag);
  if (exported != 1) suite_complain("it exports %d symbols; one is allowed, byoc_plugin_query", exported);
  byoc_file_view_close(&view);
  suite_settle();
}

// The note says what the loaded plugin is.
void check_identity(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_plugin_note_t note;
  bool has_note = false;
  byoc_test_ok(byoc_plugin_identity_read(suite.plugin, &diag, &note, &has_note), &diag);
  assert_true(has_note);
  assert_int_equal(note.abi_major, BYOC_ABI_MAJOR);
  assert_true(note.description[0] != '\0');
  assert_int_equal(suite.entry->state, BYOC_PLUGIN_LOADED);
  assert_memory_equal(&note, &suite.entry->note, sizeof(note));
  for (size_t i = 0; i < suite.entry->kind_count; ++i) {
    const byoc_target_kind_t *kind = &suite.entry->kinds[i];
    if (!byoc_plugin_note_has_target(&note, kind->name)) suite_complain("its note does not announce '%s'", kind->name);
    if (kind->description == NULL || kind->description[0] == '\0') {
      suite_complain("target '%s' has no description", kind->name);
    }
  }
  suite_settle();
}

// ---- options ----

static void check_option(const byoc_target_kind_t *kind, const byoc_option_schema_t *option, byoc_arena_t *arena) {
  byoc_diag_t diag = {0};
  byoc_target_value_t value;
  size_t help_size = option->help != NULL ? strlen(option->help) : 0;
  if (help_size == 0) suite_complain("%s -%s has no help", kind->name, option->name);
  if (help_size > 0 && (strchr(option->help, '\n') != NULL || option->help[help_size - 1] == '.')) {
    suite_complain("the help of %s -%s is not one line without a full stop", kind->name, option->name);
  }
  if (option->default_value == NULL) suite_complain("%s -%s states no default", kind->name, option->name);
  if (byoc_option_default(option, arena, &diag, &value) != BYOC_OK) {
    suite_complain_diag(&diag, "the default of %s -%s", kind->name, option->name);
  }
}

void check_options(void **state) {
  (void)state;
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  for (size_t i = 0; i < suite.entry->kind_count; ++i) {
    const byoc_target_kind_t *kind = &suite.entry->kinds[i];
    byoc_diag_t diag = {0};
    byoc_test_ok(byoc_option_schema_verify(kind->options, kind->option_count, &diag), &diag);
    for (size_t k = 0; k < kind->option_count; ++k) check_option(kind, &kind->options[k], &arena);
  }
  byoc_arena_deinit(&arena);
  suite_settle();
}

// `text` is refused in words that hold `part`.
static void expect_refused(const char *text, const char *part) {
  byoc_diag_t diag = {0};
  byoc_target_list_t list = {0};
  char message[2048];
  const byoc_target_registry_t kinds = byoc_plugin_registry_targets(suite.registry);
  byoc_status_t status = byoc_target_list_parse(&text, 1, &kinds, byoc_allocator_system(), &diag, &list);
  byoc_target_list_deinit(&list);
  byoc_diag_format(&diag, message, sizeof(message));
  if (status == BYOC_OK) suite_complain("'%.80s' is accepted", text);
  if (status != BYOC_OK && strstr(message, part) == NULL) {
    suite_complain("'%.80s' is refused without naming %s: %s", text, part, message);
  }
}

static void misuse_option(const byoc_target_kind_t *kind, const byoc_option_schema_t *option) {
  char text[512];
  if (option->type == BYOC_OPTION_STRING) {
    size_t size = (option->maximum > 0 ? (size_t)option->maximum : BYOC_OPTION_STRING_LIMIT) + 1;
    char *too_long = calloc(1, size + 200);
    assert_non_null(too_long);
    int used = snprintf(too_long, 200, "%s -%s=", kind->name, option->name);
    memset(too_long + used, 'x', size);
    expect_refused(too_long, option->name);
    free(too_long);
    return;
  }
  snprintf(text, sizeof(text), "%s -%s=no-such-value", kind->name, option->name);
  expect_refused(text, option->name);
  if (option->type == BYOC_OPTION_INT && (option->minimum != 0 || option->maximum != 0)) {
    snprintf(text, sizeof(text), "%s -%s=%lld", kind->name, option->name, (long long)option->maximum + 1);
    expect_refused(text, option->name);
    snprintf(text, sizeof(text), "%s -%s=%lld", kind->name, option->name, (long long)option->minimum - 1);
    expect_refused(text, option->name);
  }
  if (option->type != BYOC_OPTION_BOOL) {
    snprintf(text, sizeof(text), "%s -%s=", kind->name, option->name);
    expect_refused(text, option->name);
  }
  // A misspelt name gets a hint with the right one.
  snprintf(text, sizeof(text), "%s -%sx=1", kind->name, option->name);
  if (strlen(option->name) > 2) expect_refused(text, option->name);
}

void check_option_misuse(void **state) {
  (void)state;
  for (size_t i = 0; i < suite.entry->kind_count; ++i) {
    const byoc_target_kind_t *kind = &suite.entry->kinds[i];
    char text[200];
    snprintf(text, sizeof(text), "%s -no_such_option=1", kind->name);
    expect_refused(text, "no_such_option");
    for (size_t k = 0; k < kind->option_count; ++k) misuse_option(kind, &kind->options[k]);
  }
  suite_settle();
}

// ---- loading ----

static size_t count_lines(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  size_t count = 0;
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) count += c == '\n';
  fclose(file);
  return count;
}

static size_t count_open_files(void) {
  DIR *folder = opendir("/proc/self/fd");
  assert_non_null(folder);
  size_t count = 0;
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

// Loading and unloading leaves no file and no mapping behind.
void check_reloading(void **state) {
  (void)state;
  size_t files = 0, mappings = 0;
  for (int i = 0; i < 8; ++i) {
    byoc_plugin_registry_destroy(suite_open_registry(byoc_allocator_system()));
    if (i != 2) continue; // the first rounds settle the C library's own heaps
    files = count_open_files();
    mappings = count_lines("/proc/self/maps");
  }
  assert_int_equal(count_open_files(), files);
  // A sanitizer's own tables may grow.
  if (count_lines("/proc/self/maps") > mappings + 1) {
    fail_msg("%zu mappings after five more rounds of loading, %zu before", count_lines("/proc/self/maps"), mappings);
  }
}
