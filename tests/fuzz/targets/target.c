// SPDX-License-Identifier: Apache-2.0
// Target strings (core/targets/target.h): what is accepted has a canonical text, which stays as it is.
#include <stdlib.h>
#include <string.h>

#include "core/targets/target.h"
#include "tests/fuzz/fuzz.h"

#define OPTION(option_name, option_type, default_text)                                                                 \
  .header = BYOC_HEADER(byoc_option_t, BYOC_ABI_MINOR), .name = (option_name), .type = (option_type),                  \
  .default_value = (default_text), .help = "an option"

// An option of each type, beside those of "c".
static const byoc_option_schema_t options[] = {
    {OPTION("count", BYOC_OPTION_INT, "3"), .minimum = -5, .maximum = 1000},
    {OPTION("choice", BYOC_OPTION_CHOICE, "auto"), .choices = "auto|one|two"},
    {OPTION("text", BYOC_OPTION_STRING, "")},
    {OPTION("flag", BYOC_OPTION_BOOL, "0")},
    {OPTION("share", BYOC_OPTION_FLOAT, "0.5")},
    {OPTION("cpu", BYOC_OPTION_CPU, "x86-64")},
};
static const byoc_backend_t backend;
static const byoc_target_kind_t kind = {.name = "mine",
                                        .description = "a target",
                                        .plugin_name = "mine",
                                        .plugin_version = "1",
                                        .options = options,
                                        .option_count = sizeof(options) / sizeof(options[0]),
                                        .backend = &backend};

static const byoc_target_kind_t *lookup(const void *self, const char *name) {
  (void)self;
  if (strcmp(name, kind.name) == 0) return &kind;
  return strcmp(name, "c") == 0 ? byoc_target_kind_native() : NULL;
}

static byoc_status_t parse(const char *text, byoc_diag_t *diag, byoc_target_list_t *out_list) {
  static const char *const names[] = {"c", "mine"};
  static const byoc_target_registry_t registry = {.lookup = lookup, .names = names, .name_count = 2};
  return byoc_target_list_parse(&text, 1, &registry, fuzz_allocator(), diag, out_list);
}

static void check_again(const byoc_target_t *target) {
  byoc_diag_t diag = {0};
  byoc_target_list_t again = {0};
  byoc_status_t status = parse(target->text, &diag, &again);
  fuzz_check_ok(status, &diag, target->text);
  if (status != BYOC_OK) return;
  const char *text = again.targets.data[0]->text;
  if (strcmp(text, target->text) != 0) fuzz_fail("'%s' becomes '%s'", target->text, text);
  byoc_target_list_deinit(&again);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  byoc_diag_t diag = {0};
  fuzz_check_ok(byoc_option_schema_verify(options, kind.option_count, &diag), &diag, "the options");
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_target_list_t list = {0};
  char *text = fuzz_text(data, size);
  byoc_status_t status = parse(text, &diag, &list);
  fuzz_check(status, &diag);
  for (size_t i = 0; status == BYOC_OK && i < list.targets.count; ++i) check_again(list.targets.data[i]);
  if (status == BYOC_OK) byoc_target_list_deinit(&list);
  free(text);
  return 0;
}
