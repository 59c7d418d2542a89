// SPDX-License-Identifier: Apache-2.0
// Prints what a command's table of options says: as --help, as a manual page, or as lines for shells to complete from.
#include "tools/common/usage.h"

#include <stdio.h>
#include <string.h>

// The word that stands for the value: " FILE", "[=FILE]", or nothing.
static void print_value(const byoc_option_row_t *row, char *out, size_t size) {
  if (row->kind == BYOC_OPT_FLAG) {
    out[0] = '\0';
  } else {
    snprintf(out, size, row->kind == BYOC_OPT_MAYBE ? "[=%s]" : " %s", row->placeholder);
  }
}

static void print_help(const byoc_usage_t *usage) {
  printf("%s - %s\n\nusage: %s %s\n\noptions:\n", usage->command, usage->summary, usage->command, usage->synopsis);
  for (size_t i = 0; i < usage->row_count; ++i) {
    const byoc_option_row_t *row = &usage->rows[i];
    char left[80], value[40];
    print_value(row, value, sizeof(value));
    int size = row->letter ? snprintf(left, sizeof(left), "-%c, ", row->letter) : snprintf(left, sizeof(left), "    ");
    snprintf(left + size, sizeof(left) - (size_t)size, "--%s%s", row->name, value);
    printf("  %-30s %s\n", left, row->help);
  }
  printf("  %-30s %s\n", "-h, --help", "show this");
  if (usage->more != NULL) printf("\n%s", usage->more);
}

void byoc_man_text(const char *text) {
  bool begins_line = true;
  for (const char *at = text; *at != '\0'; ++at) {
    if (begins_line && (*at == '.' || *at == '\'')) fputs("\\&", stdout);
    if (*at == '\\') {
      fputs("\\e", stdout);
    } else if (*at == '-') {
      fputs("\\-", stdout);
    } else if (*at == '\'') {
      fputs("\\(aq", stdout);
    } else {
      putchar(*at);
    }
    begins_line = *at == '\n';
  }
}

void byoc_man_begin(const char *command, const char *summary) {
  char name[64];
  snprintf(name, sizeof(name), "%s", command);
  for (char *at = name; *at != '\0'; ++at) {
    if (*at == ' ') *at = '-';
  }
  printf(".TH \"%s\" 1 \"\" \"byoc %s\" \"byoc\"\n.SH NAME\n%s \\- ", name, BYOC_VERSION_TEXT, name);
  byoc_man_text(summary);
  printf("\n");
}

static void print_man(const byoc_usage_t *usage) {
  byoc_man_begin(usage->command, usage->summary);
  printf(".SH SYNOPSIS\n.B %s\n", usage->command);
  byoc_man_text(usage->synopsis);
  printf("\n.SH OPTIONS\n");
  for (size_t i = 0; i < usage->row_count; ++i) {
    const byoc_option_row_t *row = &usage->rows[i];
    char left[80], value[40];
    print_value(row, value, sizeof(value));
    int size = row->letter ? snprintf(left, sizeof(left), "-%c, ", row->letter) : 0;
    snprintf(left + size, sizeof(left) - (size_t)size, "--%s%s", row->name, value);
    printf(".TP\n.B ");
    byoc_man_text(left);
    printf("\n");
    byoc_man_text(row->help);
    printf("\n");
  }
  printf(".TP\n.B \\-h, \\-\\-help\nshow this\n");
  if (usage->more != NULL) {
    printf(".SH NOTES\n.nf\n");
    byoc_man_text(usage->more);
    printf(".fi\n");
  }
  if (strncmp(usage->command, "byoc ", 5) == 0) printf(".SH SEE ALSO\n.BR byoc (1)\n");
}

// One line for each option: "--output -o FILE<tab>help". A flag has no third word.
static void print_options(const byoc_usage_t *usage) {
  for (size_t i = 0; i < usage->row_count; ++i) {
    const byoc_option_row_t *row = &usage->rows[i];
    printf("--%s ", row->name);
    if (row->letter) printf("-%c", row->letter);
    printf(" %s\t%s\n", row->kind == BYOC_OPT_FLAG ? "" : row->placeholder, row->help);
  }
  printf("--help -h \tshow this\n");
}

byoc_status_t byoc_usage_print(const byoc_usage_t *usage, const char *form, byoc_diag_t *diag) {
  if (form == NULL) {
    print_help(usage);
  } else if (strcmp(form, "man") == 0) {
    print_man(usage);
  } else if (strcmp(form, "options") == 0) {
    print_options(usage);
  } else {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--help takes man or options, not '%s'", form);
  }
  return BYOC_OK;
}
