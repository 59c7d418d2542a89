// SPDX-License-Identifier: Apache-2.0
// Plugins that are wrong in one way each. Compiled once per variant, with BAD_<variant> defined; whatever the variant's
// section does not set is as in a good plugin.
#define _GNU_SOURCE
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byoc/plugin.h"

// ---- before anything runs: the file and its note ----

#ifdef BAD_no_note
#define NOTE
#endif
#ifdef BAD_truncated_note
// Claims the whole size, brings 16 bytes.
__attribute__((used, aligned(4), section(".note.byoc"))) static const struct {
  uint32_t name_size, descriptor_size, type;
  char owner[8];
  uint32_t descriptor[4];
} note = {5, 16, BYOC_PLUGIN_NOTE_TYPE, "byoc", {sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0}};
#define NOTE
#endif
#ifdef BAD_wrong_major
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), 999, 3, 0, "bad_wrong_major", "1.0", "bad", "" }
#endif
#ifdef BAD_newer_minor
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 77, 77, "bad_newer_minor", "1.0", "bad", "" }
#endif
#ifdef BAD_endless_text
// 32 characters: no room for the NUL.
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "abcdefghijklmnopqrstuvwxyz-01234", "1.0", "bad", "" }
#endif
#ifdef BAD_control_characters
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "bad_control", "1.0", "bad", "colours \033[31m" }
#endif
#ifdef BAD_plugin_name
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "../../name", "1.0", "bad", "" }
#endif
#ifdef BAD_version
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "bad_version", "1/0", "bad", "" }
#endif
#ifdef BAD_claims_c
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "bad_claims_c", "1.0", "bad,c", "" }
#endif
#ifdef BAD_target_name
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "bad_target_name", "1.0", "good,not good", "" }
#endif
#ifdef BAD_missing_target
#define NOTE_FIELDS                                                                                                    \
  { sizeof(byoc_plugin_note_t), BYOC_ABI_MAJOR, 0, 0, "bad_missing_target", "1.0", "bad,promised", "" }
#endif
#ifdef BAD_second_symbol
BYOC_PLUGIN_EXPORT int helper_everybody_has(void);
int helper_everybody_has(void) {
  return 1;
}
#endif
// Static variables of C++ templates, as g++ lays them down: one for the whole process. This one is the plugin's own
// (Registry<Item>::all), the next one of the standard library (std::piecewise_construct), as std::map leaves it.
#define UNIQUE_VARIABLE(name)                                                                                          \
  __asm__(".pushsection .rodata\n.globl " name "\n.type " name ", %gnu_unique_object\n.size " name ", 4\n" name        \
          ": .long 1\n.popsection\n")
#ifdef BAD_shared_template
UNIQUE_VARIABLE("_ZN8RegistryI4ItemE3allE");
#endif
#ifdef BAD_good_standard_template
UNIQUE_VARIABLE("_ZSt19piecewise_construct");
UNIQUE_VARIABLE("_ZGVZNKSt8__detail11_AnyMatcherIcEE5__nul");
#endif
#ifdef BAD_no_query
#define QUERY static __attribute__((used)) int32_t query
#endif
// ABI 1.0 with a note that a later header made larger: nothing wrong with that.
#ifdef BAD_good_larger_note
__attribute__((used, aligned(4), section(".note.byoc"))) static const struct {
  uint32_t name_size, descriptor_size, type;
  char owner[8];
  byoc_plugin_note_t note;
  char later_fields[64];
} note = {5,
          sizeof(byoc_plugin_note_t) + 64,
          BYOC_PLUGIN_NOTE_TYPE,
          "byoc",
          {sizeof(byoc_plugin_note_t) + 64, BYOC_ABI_MAJOR, 9, 0, "larger_note", "1.0", "bad", ""},
          "later"};
#define NOTE
#endif

#ifndef NOTE
#ifdef NOTE_FIELDS
__attribute__((used, aligned(4), section(".note.byoc"))) static const byoc_plugin_elf_note_t note = {
    sizeof(BYOC_PLUGIN_NOTE_OWNER), sizeof(byoc_plugin_note_t), BYOC_PLUGIN_NOTE_TYPE, BYOC_PLUGIN_NOTE_OWNER,
    NOTE_FIELDS};
#else
BYOC_PLUGIN_IDENTITY("bad", "1.0", "bad", "One of the bad plugins of the tests");
#endif
#endif

// ---- while it is loaded ----

#ifdef BAD_constructor_traps
__attribute__((constructor)) static void trap(void) {
  __builtin_trap();
}
#endif
#ifdef BAD_constructor_exits
__attribute__((constructor)) static void leave(void) {
  exit(0);
}
#endif
#ifdef BAD_constructor_prints
__attribute__((constructor)) static void speak(void) {
  puts("hello from a constructor");
}
#endif
#ifdef BAD_changes_folder
__attribute__((constructor)) static void move(void) {
  if (chdir("/") != 0) abort();
}
#endif
#ifdef BAD_handles_signals
static void on_signal(int number) {
  (void)number;
}
__attribute__((constructor)) static void handle(void) {
  signal(SIGUSR2, on_signal);
}
#endif
#ifdef BAD_changes_environment
__attribute__((constructor)) static void change(void) {
  setenv("BYOC_TEST_OF_HYGIENE", "1", 1);
}
#endif
#ifdef BAD_unresolved
extern int nobody_defines_this(int x);
#define GENERATE_FIRST nobody_defines_this(1);
#endif
#ifdef BAD_destructor_crashes
__attribute__((destructor)) static void crash(void) {
  abort();
}
#endif

// ---- what query says ----

#ifndef GENERATE_FIRST
#define GENERATE_FIRST
#endif
__attribute__((unused)) static int32_t generate(void *self, byoc_codegen_t *codegen) {
  (void)self;
  (void)codegen;
  GENERATE_FIRST
  return BYOC_OK;
}

#ifdef BAD_query_fails
#define QUERY_FIRST return host->error(host, BYOC_UNSUPPORTED, "the licence has expired");
#endif
#ifdef BAD_query_hangs
#define QUERY_FIRST                                                                                                    \
  for (;;) pause();
#endif
#ifdef BAD_query_stops
#define QUERY_FIRST (void)raise(SIGSTOP);
#endif
#ifdef BAD_query_crashes
#define QUERY_FIRST                                                                                                    \
  volatile int *volatile nowhere = (volatile int *)8;                                                                  \
  *nowhere = 1;
#endif
#ifdef BAD_no_backends
#define QUERY_FIRST return BYOC_OK;
#endif
#ifdef BAD_writes_too_much
#define QUERY_LAST memset(out_plugin + 1, 0, 8);
#endif
#ifdef BAD_null_generate
#define BACKEND .target = "bad", .generate = NULL
#endif
#ifdef BAD_null_target
#define BACKEND .target = NULL, .generate = generate
#endif
#ifdef BAD_other_target
#define BACKEND .target = "unannounced", .generate = generate
#endif
#ifdef BAD_no_header
#define BACKEND_HEADER                                                                                                 \
  { 0, 0 }
#endif
#ifdef BAD_device_type
#define DEVICE .driver = "mine", .device_type = 1
#endif
#ifdef BAD_driver_missing
#define DEVICE .device_type = 2
#endif
#ifdef BAD_driver_name
#define DEVICE .driver = "../mine", .device_type = 2
#endif
#ifdef BAD_option_type
static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "level", .type = 99, .help = "of no known type"}};
#define OPTIONS
#endif
#ifdef BAD_option_default
static const byoc_option_t options[] = {{.header = BYOC_HEADER(byoc_option_t, 1),
                                         .name = "level",
                                         .type = BYOC_OPTION_INT,
                                         .minimum = 1,
                                         .maximum = 3,
                                         .default_value = "7"}};
#define OPTIONS
#endif
#ifdef BAD_option_stride
static const byoc_option_t options[] = {
    {.header = BYOC_HEADER(byoc_option_t, 1), .name = "level", .type = BYOC_OPTION_INT}};
#define OPTIONS
#define OPTION_STRIDE 8
#endif
#ifdef BAD_rule_name
static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "other.relu", .pattern = "Relu(%x)"}};
#define RULES
#endif
#ifdef BAD_rule_empty
static const byoc_rule_t rules[] = {{.header = BYOC_HEADER(byoc_rule_t, 1), .name = "bad.relu"}};
#define RULES
#endif
#ifdef BAD_rule_pattern
static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "bad.relu", .pattern = "Relu(Conv(%x, @w)"}};
#define RULES
#endif
#ifdef BAD_rule_operator
static const char *const operators[] = {"Relu", "com.example::"};
static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "bad.group", .operators = {operators, 2}}};
#define RULES
#endif
#ifdef BAD_rule_operator_word
static const char *const operators[] = {"Relu", "com.example::Max Pool"};
static const byoc_rule_t rules[] = {
    {.header = BYOC_HEADER(byoc_rule_t, 1), .name = "bad.group", .operators = {operators, 2}}};
#define RULES
#endif
// Runtime code for other machines.
#define CODE(...) static const byoc_runtime_code_t codes[] = {__VA_ARGS__}
#define ONE_CODE(...)                                                                                                  \
  { .header = BYOC_HEADER(byoc_runtime_code_t, 1), .name = "mine", __VA_ARGS__ }
#define SOURCE(name_)                                                                                                  \
  static const byoc_file_content_t source = {                                                                          \
      .header = BYOC_HEADER(byoc_file_content_t, 1), .name = name_, .data = "", .size_bytes = 0}
#define OF_SOURCE ONE_CODE(.sources = &source, .source_count = 1, .source_stride = sizeof(source))
#define ARCHIVE_FOR(machines_)                                                                                         \
  SOURCE("engine.a");                                                                                                  \
  static const byoc_machine_code_t archives = {.header = BYOC_HEADER(byoc_machine_code_t, 1),                          \
                                               .machines = machines_,                                                  \
                                               .files = &source,                                                       \
                                               .file_count = 1,                                                        \
                                               .file_stride = sizeof(source)};                                         \
  CODE(ONE_CODE(.archives = &archives, .archive_count = 1, .archive_stride = sizeof(archives)))
#ifdef BAD_code_empty
CODE(ONE_CODE(.flags = {NULL, 0}));
#define CODES
#endif
#ifdef BAD_code_name
SOURCE("../engine.c");
CODE(OF_SOURCE);
#define CODES
#endif
#ifdef BAD_code_language
SOURCE("engine.cc");
CODE(OF_SOURCE);
#define CODES
#endif
#ifdef BAD_code_unnamed
SOURCE(NULL);
CODE(OF_SOURCE);
#define CODES
#endif
#ifdef BAD_code_twice
SOURCE("engine.c");
CODE(OF_SOURCE, OF_SOURCE);
#define CODES
#endif
#ifdef BAD_code_machines
ARCHIVE_FOR("aarch64-linux-gnu;riscv64");
#define CODES
#endif

#ifdef BAD_code_folder
ARCHIVE_FOR("..");
#define CODES
#endif

// ABI 1.0 with structs of another size: nothing wrong with that either.
#ifdef BAD_good_larger_structs
typedef struct later_option_t {
  byoc_option_t option;
  const char *later_field;
} later_option_t;
static const later_option_t options[] = {
    {{.header = {sizeof(later_option_t), 1}, .name = "first", .type = BYOC_OPTION_INT, .default_value = "3"}, "later"},
    {{.header = {sizeof(later_option_t), 1}, .name = "second", .type = BYOC_OPTION_BOOL}, "later"}};
#define OPTIONS
typedef struct later_backend_t {
  byoc_backend_t backend;
  const char *later_field;
} later_backend_t;
static const later_backend_t later_backend = {{.header = {sizeof(later_backend_t), 1},
                                               .target = "bad",
                                               .generate = generate,
                                               .options = &options[0].option,
                                               .option_count = 2,
                                               .option_stride = sizeof(later_option_t)},
                                              "later"};
#define BACKENDS &later_backend.backend
#endif
#ifdef BAD_good_smaller_structs
// As an older header would have it: without the fields at the end.
typedef struct earlier_option_t {
  byoc_header_t header;
  const char *name;
  uint32_t type, reserved;
  const char *default_value;
} earlier_option_t;
static const earlier_option_t earlier_options[] = {
    {{sizeof(earlier_option_t), 1}, "first", BYOC_OPTION_INT, 0, "3"},
    {{sizeof(earlier_option_t), 1}, "second", BYOC_OPTION_STRING, 0, "text"}};
static byoc_backend_t earlier_backend = {.header = BYOC_HEADER(byoc_backend_t, 1),
                                         .target = "bad",
                                         .generate = generate,
                                         .option_count = 2,
                                         .option_stride = sizeof(earlier_option_t)};
#define QUERY_FIRST earlier_backend.options = (const byoc_option_t *)(const void *)earlier_options;
#define BACKENDS    &earlier_backend
#endif

#ifndef QUERY
#define QUERY BYOC_PLUGIN_EXPORT int32_t byoc_plugin_query
#endif
#ifndef QUERY_FIRST
#define QUERY_FIRST
#endif
#ifndef QUERY_LAST
#define QUERY_LAST
#endif
#ifndef BACKEND
#define BACKEND .target = "bad", .generate = generate
#endif
#ifndef BACKEND_HEADER
#define BACKEND_HEADER BYOC_HEADER(byoc_backend_t, 1)
#endif
#ifndef OPTION_STRIDE
#define OPTION_STRIDE sizeof(options[0])
#endif

#ifndef BACKENDS
static const byoc_backend_t backend = {
    .header = BACKEND_HEADER,
    BACKEND,
#ifdef DEVICE
    DEVICE,
#endif
#ifdef OPTIONS
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .option_stride = OPTION_STRIDE,
#endif
#ifdef RULES
    .rules = rules,
    .rule_count = sizeof(rules) / sizeof(rules[0]),
    .rule_stride = sizeof(rules[0]),
#endif
#ifdef CODES
    .runtime_code = codes,
    .runtime_code_count = sizeof(codes) / sizeof(codes[0]),
    .runtime_code_stride = sizeof(codes[0]),
#endif
};
#define BACKENDS &backend
#endif

QUERY(const byoc_host_t *host, byoc_plugin_t *out_plugin) {
  (void)host;
  QUERY_FIRST
  static const byoc_backend_t *const backends[] = {BACKENDS};
  out_plugin->backends = backends;
  out_plugin->backend_count = 1;
  QUERY_LAST
  return BYOC_OK;
}
