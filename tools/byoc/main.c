#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "core/base/file.h"
#include "core/base/interrupt.h"

typedef struct command_row_t {
  const char *name, *summary;
  int (*run)(int argc, char **argv);
} command_row_t;

#define COMMAND_ROW(NAME, text) {#NAME, text, byoc_main_##NAME},
static const command_row_t commands[] = {BYOC_COMMAND_LIST(COMMAND_ROW)};
#undef COMMAND_ROW
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *stream) {
  fprintf(stream,
          "byoc %s - compiles a neural-network model into one shared object\n\n"
          "usage: byoc COMMAND [arguments]\n\ncommands:\n",
          BYOC_VERSION_TEXT);
  for (size_t i = 0; i < COMMAND_COUNT; ++i) fprintf(stream, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fprintf(stream,
          "\nbyoc COMMAND --help says more about each. Exit codes: 0 fine, 1 the model or a comparison failed,\n"
          "2 misuse.\n");
}

int byoc_report(const byoc_diag_t *diag, byoc_status_t status) {
  byoc_diag_print(diag, stderr);
  return status == BYOC_INVALID_ARGUMENT ? BYOC_EXIT_MISUSE : BYOC_EXIT_FAILED;
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

int main(int argc, char **argv) {
  byoc_interrupt_install();
  signal(SIGPIPE, SIG_IGN); // a closed pipe is a write error
  signal(SIGXFSZ, SIG_IGN); // and so is a file that grows beyond the limit
  int code = BYOC_EXIT_MISUSE;
  if (argc < 2) {
    print_help(stderr);
  } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    print_help(stdout);
    code = BYOC_EXIT_OK;
  } else if (strcmp(argv[1], "--version") == 0) {
    printf("byoc %s\n", BYOC_VERSION_TEXT);
    code = BYOC_EXIT_OK;
  } else {
    size_t i = 0;
    while (i < COMMAND_COUNT && strcmp(commands[i].name, argv[1]) != 0) ++i;
    code = i < COMMAND_COUNT ? commands[i].run(argc - 1, argv + 1) : unknown_command(argv[1]);
  }
  byoc_remove_temporaries();
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "error: cannot write to standard output\n");
    if (code == BYOC_EXIT_OK) code = BYOC_EXIT_FAILED;
  }
  return code;
}
