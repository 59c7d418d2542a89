// SPDX-License-Identifier: Apache-2.0
// Runs one text fixture.
//
//   // what it is about
//   // RULE: first.relu := Relu(%x)                a rule of tests/plugins/demo_rows.c; any number of them
//   // RUN: opt %s --passes=remove-identities      the byoc command line; %s is a file with the module below, and a
//                                                  word with spaces stands in single quotes
//   // EXIT: 1                                     expected exit code; 0 where the line is missing
//   module { ... }                              or: host program ... { ... }, in a file named *.host
//   // EXPECT                                      all that follows is standard output, to the letter
//   ...
//   // EXPECT PART                                 or: each line that follows must stand in the output, in this order
//
// Lines of the command's errors are part of its output. A difference is shown line by line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/string.h"

enum { MAX_WORDS = 32 };

typedef struct fixture_t {
  char *text;
  const char *expected; // behind the EXPECT line
  bool in_parts;
  int exit_code;
  char command[512];
  char rules[2048]; // a line each
} fixture_t;

static int fail(const char *path, const char *what) {
  fprintf(stderr, "%s: %s\n", path, what);
  return 1;
}

static void read_rules(fixture_t *fixture) {
  size_t size = 0;
  for (const char *at = fixture->text; (at = strstr(at, "// RULE: ")) != NULL;) {
    at += strlen("// RULE: ");
    int written = snprintf(fixture->rules + size, sizeof(fixture->rules) - size, "%.*s\n", (int)strcspn(at, "\n"), at);
    size += (size_t)written < sizeof(fixture->rules) - size ? (size_t)written : 0;
  }
}

// The next word of a command line, a text in single quotes being one; NULL at its end.
static char *next_word(char **line) {
  char *word = *line + strspn(*line, " ");
  if (*word == '\0') return NULL;
  const bool quoted = *word == '\'';
  word += quoted;
  char *end = word + strcspn(word, quoted ? "'" : " ");
  *line = *end != '\0' ? end + 1 : end;
  *end = '\0';
  return word;
}

// Cuts the text at its EXPECT line and reads the header lines.
static bool parse_fixture(fixture_t *fixture) {
  char *expect = strstr(fixture->text, "// EXPECT"), *run = strstr(fixture->text, "// RUN: ");
  char *code = strstr(fixture->text, "// EXIT: ");
  if (expect == NULL || run == NULL || run > expect) return false;
  snprintf(fixture->command, sizeof(fixture->command), "%.*s", (int)strcspn(run + 8, "\n"), run + 8);
  if (code != NULL && code < expect) fixture->exit_code = atoi(code + 9);
  fixture->in_parts = strncmp(expect, "// EXPECT PART", 14) == 0;
  char *end = strchr(expect, '\n');
  fixture->expected = end ? end + 1 : "";
  *expect = '\0';
  read_rules(fixture);
  return true;
}

static void print_lines(const char *mark, const char *text) {
  for (const char *line = text; *line != '\0';) {
    size_t size = strcspn(line, "\n");
    fprintf(stderr, "%s%.*s\n", mark, (int)size, line);
    line += size + (line[size] == '\n');
  }
}

// Each expected line stands in the output, behind the one before it.
static const char *first_missing_part(const char *output, const char *expected, char *line, size_t line_size) {
  while (*expected != '\0') {
    size_t size = strcspn(expected, "\n");
    const char *begin = expected + strspn(expected, " ");
    if (begin < expected + size) {
      snprintf(line, line_size, "%.*s", (int)(expected + size - begin), begin);
      const char *found = strstr(output, line);
      if (found == NULL) return line;
      output = found + strlen(line);
    }
    expected += size + (expected[size] == '\n');
  }
  return NULL;
}

static int compare(const char *path, const fixture_t *fixture, const char *output) {
  char line[512];
  if (!fixture->in_parts) {
    if (strcmp(output, fixture->expected) == 0) return 0;
    fail(path, "the output differs");
    print_lines("- ", fixture->expected);
    print_lines("+ ", output);
    return 1;
  }
  const char *missing = first_missing_part(output, fixture->expected, line, sizeof(line));
  if (missing == NULL) return 0;
  fprintf(stderr, "%s: the output lacks (in this order): %s\n", path, missing);
  print_lines("+ ", output);
  return 1;
}

static int run(const char *program, const char *path, fixture_t *fixture) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_diag_t diag = {0};
  char *folder = NULL, input[600] = "";
  if (byoc_make_temporary_directory("fixture", allocator, &diag, &folder) != BYOC_OK) return fail(path, diag.message);
  snprintf(input, sizeof(input), "%s/fixture%s", folder, byoc_ends_with(path, ".host") ? ".host" : ".byoc");
  const char *argv[MAX_WORDS + 2] = {program};
  size_t count = 1;
  char *line = fixture->command;
  for (char *word; count < MAX_WORDS && (word = next_word(&line)) != NULL;) {
    argv[count++] = strcmp(word, "%s") == 0 ? input : word;
  }
  char rules[sizeof(fixture->rules) + 32];
  snprintf(rules, sizeof(rules), "BYOC_TEST_RULES=%s", fixture->rules);
  const char *const variables[] = {rules, NULL};
  const byoc_process_options_t options = {.variables = variables, .directory = folder};
  byoc_string_t output;
  byoc_string_init(&output, allocator);
  byoc_process_result_t result = {0};
  byoc_status_t status = byoc_file_write(input, fixture->text, strlen(fixture->text), &diag);
  if (status == BYOC_OK) status = byoc_process_run(argv, &options, &output, &diag, &result);
  int failed = status == BYOC_OK ? compare(path, fixture, output.data) : fail(path, diag.message);
  if (status == BYOC_OK && result.exit_code != fixture->exit_code) {
    fprintf(stderr, "%s: exit code %d, expected %d\n", path, result.exit_code, fixture->exit_code);
    print_lines("+ ", output.data);
    failed = 1;
  }
  byoc_string_deinit(&output);
  byoc_free(allocator, folder);
  byoc_remove_temporaries();
  return failed;
}

int main(int argc, char **argv) {
  if (argc != 3) return fail("run_fixture", "usage: run_fixture BYOC FIXTURE");
  byoc_diag_t diag = {0};
  fixture_t fixture = {0};
  size_t size = 0;
  if (byoc_file_read(argv[2], byoc_allocator_system(), &diag, &fixture.text, &size) != BYOC_OK) {
    return fail(argv[2], diag.message);
  }
  int failed = parse_fixture(&fixture) ? run(argv[1], argv[2], &fixture) : fail(argv[2], "no RUN or no EXPECT line");
  byoc_free(byoc_allocator_system(), fixture.text);
  return failed;
}
