// SPDX-License-Identifier: Apache-2.0
// The byoc command: finds the subcommand and runs it.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "contain.h"
#include "core/base/file.h"
#include "core/base/group.h"
#include "core/base/interrupt.h"
#include "core/base/standard_streams.h"
#include "tools/common/print.h"
#include "tools/common/usage.h"

typedef struct command_row_t {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} command_row_t;

#define COMMAND_ROW(NAME, word, text) {word, text, byoc_main_##NAME},
static const command_row_t commands[] = {BYOC_COMMAND_LIST(COMMAND_ROW)};
#undef COMMAND_ROW
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *stream) {
  fprintf(stream,
          "byoc %s - compiles a neural-network model into one shared object\n\n"
          "usage: byoc COMMAND [arguments]\n\ncommands:\n",
          BYOC_VERSION_TEXT);
  for (size_t i = 0; i < COMMAND_COUNT; ++i) fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fprintf(
      stream,
      "  %-10s %s\n\nbyoc COMMAND --help describes each; byoc --version prints the version.\n"
      "Exit codes: 0 it worked; 2 the command line is wrong; 1 anything else failed: a file, the model, a build, a\n"
      "comparison.\n",
      "help", "describe a command");
}

static void print_man(void) {
  byoc_man_begin("byoc", "compiles a neural-network model into one shared object");
  printf(".SH SYNOPSIS\n.B byoc\nCOMMAND [arguments]\n.SH COMMANDS\n");
  for (size_t i = 0; i < COMMAND_COUNT; ++i) {
    printf(".TP\n.BR byoc\\-%s (1)\n", commands[i].name);
    byoc_man_text(commands[i].summary);
    printf("\n");
  }
  printf(".SH EXIT STATUS\n0: it worked. 2: the command line is wrong. 1: anything else failed: a file, the model, a "
         "build,\n"
         "a comparison.\n");
}

// For shells to complete from.
static void print_commands(void) {
  for (size_t i = 0; i < COMMAND_COUNT; ++i) printf("%s\t%s\n", commands[i].name, commands[i].summary);
}

static int unknown_command(const char *name) {
  const char *names[COMMAND_COUNT];
  for (size_t i = 0; i < COMMAND_COUNT; ++i) names[i] = commands[i].name;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "there is no command '%s'", name);
  const char *nearest = byoc_nearest_match(name, names, COMMAND_COUNT);
  if (nearest != NULL) {
    byoc_diag_hint(&diag, "did you mean 'byoc %s'? byoc --help lists the commands", nearest);
  } else {
    byoc_diag_hint(&diag, "byoc --help lists the commands");
  }
  return byoc_report(&diag, status);
}

// `argv[0]` is the command's name.
static int run_command(int argc, char **argv) {
  size_t i = 0;
  while (i < COMMAND_COUNT && strcmp(commands[i].name, argv[0]) != 0) ++i;
  return i < COMMAND_COUNT ? commands[i].run(argc, argv) : unknown_command(argv[0]);
}

static bool is_help(const char *word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv) {
  if (!byoc_standard_streams_open()) return BYOC_EXIT_FAILED;
  byoc_group_guard_start();
  byoc_interrupt_install();
  signal(SIGPIPE,
         SIG_IGN); // a closed pipe becomes a write error, so that half-made files are removed before the program ends
  signal(SIGXFSZ, SIG_IGN); // and so does a file that exceeds the size limit
  int code = BYOC_EXIT_MISUSE;
  byoc_diag_t diag = {0};
  const byoc_status_t status = byoc_contain(&diag);
  if (status != BYOC_OK) {
    code = byoc_report(&diag, status);
  } else if (argc < 2) {
    print_help(stderr);
  } else if (is_help(argv[1]) && argc == 2) {
    print_help(stdout);
    code = BYOC_EXIT_OK;
  } else if (argc == 2 && strcmp(argv[1], "--help=man") == 0) {
    print_man();
    code = BYOC_EXIT_OK;
  } else if (argc == 2 && strcmp(argv[1], "--help=commands") == 0) {
    print_commands();
    code = BYOC_EXIT_OK;
  } else if (strcmp(argv[1], "help") == 0) {
    char help[] = "--help", *words[] = {argv[2], help, NULL};
    code = run_command(2, words);
  } else if (strcmp(argv[1], "--version") == 0) {
    printf("byoc %s\n", BYOC_VERSION_TEXT);
    code = BYOC_EXIT_OK;
  } else {
    code = run_command(argc - 1, argv + 1);
  }
  byoc_remove_temporaries();
  byoc_group_guard_stop();
  return byoc_finish_output(code);
}
