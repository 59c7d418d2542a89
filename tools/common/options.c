// SPDX-License-Identifier: Apache-2.0
// Parses command line options by a table.
#include "tools/common/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compile/placing.h"
#include "core/hostir/program/device.h"
#include "core/pass/spread.h"
#include "core/runtime/pool.h"
#include "tools/common/usage.h"

static byoc_status_t unknown_option(const byoc_usage_t *usage, const char *word, byoc_diag_t *diag) {
  const char *names[64];
  size_t count = 0;
  for (size_t i = 0; i < usage->row_count && count < 64; ++i) names[count++] = usage->rows[i].name;
  char name[64];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s does not know the option '%s'", usage->command, name);
  const char *nearest = byoc_nearest_match(name + strspn(name, "-"), names, count);
  if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean --%s? %s --help lists the options", nearest, usage->command);
  } else {
    byoc_diag_hint(diag, "%s --help lists the options", usage->command);
  }
  return status;
}

static byoc_status_t bad_value(const byoc_option_row_t *row, const char *value, const char *expected,
                               byoc_diag_t *diag) {
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s takes %s, not '%s'", row->name, expected, value);
}

static byoc_status_t set_count(const byoc_option_row_t *row, const char *value, int64_t minimum, int64_t maximum,
                               byoc_diag_t *diag) {
  char *end = NULL;
  errno = 0;
  long long number = strtoll(value, &end, 10);
  if (end == value || *end != '\0') return bad_value(row, value, "a whole number", diag);
  if (errno == 0 && number >= minimum && number <= maximum) {
    *(int64_t *)row->value = number;
    return BYOC_OK;
  }
  char range[64] = "a whole number from 0 on";
  if (maximum < INT64_MAX) {
    snprintf(range, sizeof(range), "a whole number from %lld to %lld", (long long)minimum, (long long)maximum);
  }
  return bad_value(row, value, range, diag);
}

static byoc_status_t set_number(const byoc_option_row_t *row, const char *value, byoc_diag_t *diag) {
  char *end = NULL;
  errno = 0;
  double number = strtod(value, &end);
  if (end == value || *end != '\0') return bad_value(row, value, "a number", diag);
  bool above_zero = row->kind == BYOC_OPT_SECONDS;
  if (errno == 0 && (above_zero ? number > 0 : number >= 0)) {
    *(double *)row->value = number;
    return BYOC_OK;
  }
  return bad_value(row, value, above_zero ? "a number above 0" : "a number from 0 on", diag);
}

static byoc_status_t set_value(const byoc_option_row_t *row, const char *value, byoc_diag_t *diag) {
  switch (row->kind) {
  case BYOC_OPT_FLAG:
    *(bool *)row->value = true;
    return BYOC_OK;
  case BYOC_OPT_STRING:
    *(const char **)row->value = value;
    return BYOC_OK;
  case BYOC_OPT_MAYBE:
    if (value != NULL && value[0] == '\0') return bad_value(row, value, "a file", diag);
    *(const char **)row->value = value != NULL ? value : "-";
    return BYOC_OK;
  case BYOC_OPT_LIST: {
    byoc_string_items_t *list = row->value;
    if (list->count == BYOC_MAX_LIST) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s is given more than %d times", row->name, BYOC_MAX_LIST);
    }
    list->items[list->count++] = value;
    return BYOC_OK;
  }
  case BYOC_OPT_COUNT:
    return set_count(row, value, 0, INT64_MAX, diag);
  case BYOC_OPT_THREADS:
    return set_count(row, value, 0, BYOC_MODEL_MAX_THREADS, diag);
  case BYOC_OPT_GROUP:
    return set_count(row, value, 1, BYOC_COLLAGE_LIMIT, diag);
  case BYOC_OPT_QUEUES:
    return set_count(row, value, 1, BYOC_HOST_MAX_SET, diag);
  case BYOC_OPT_RANKS:
    return set_count(row, value, 1, BYOC_MESH_MOST_RANKS, diag);
  case BYOC_OPT_NUMBER:
  case BYOC_OPT_SECONDS:
    return set_number(row, value, diag);
  }
  return BYOC_INTERNAL;
}

static const byoc_option_row_t *find_row(const byoc_usage_t *usage, const char *word) {
  bool is_long = word[1] == '-';
  size_t size = strcspn(word, "=");
  for (size_t i = 0; i < usage->row_count; ++i) {
    const byoc_option_row_t *row = &usage->rows[i];
    if (is_long && strlen(row->name) == size - 2 && strncmp(row->name, word + 2, size - 2) == 0) return row;
    if (!is_long && row->letter && word[1] == row->letter) return row;
  }
  return NULL;
}

// Finds the row of an option and its value (NULL: none); *index skips what was used.
static byoc_status_t split_option(const byoc_usage_t *usage, int argc, char **argv, int *index, byoc_diag_t *diag,
                                  const byoc_option_row_t **out_row, const char **out_value) {
  const char *word = argv[*index];
  const byoc_option_row_t *row = find_row(usage, word);
  if (row == NULL) return unknown_option(usage, word, diag);
  const char *value = NULL;
  if (word[1] == '-') {
    const char *equals = strchr(word, '=');
    value = equals ? equals + 1 : NULL;
  } else if (word[2] != '\0') {
    value = word + 2; // -oFILE
  }
  if (row->kind == BYOC_OPT_FLAG && value != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s takes no value", row->name);
  }
  if (value == NULL && row->kind != BYOC_OPT_MAYBE && row->kind != BYOC_OPT_FLAG) {
    if (*index + 1 >= argc) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s needs a value: --%s %s", row->name, row->name,
                             row->placeholder);
    }
    value = argv[++*index];
  }
  *out_row = row;
  *out_value = value;
  return BYOC_OK;
}

static byoc_status_t parse_option(const byoc_usage_t *usage, int argc, char **argv, int *index, byoc_diag_t *diag) {
  const byoc_option_row_t *row = NULL;
  const char *value = NULL;
  BYOC_RETURN_IF_ERROR(split_option(usage, argc, argv, index, diag, &row, &value));
  return set_value(row, value, diag);
}

static bool is_listed(const char *const *names, const char *name) {
  while (*names != NULL && strcmp(*names, name) != 0) ++names;
  return *names != NULL;
}

byoc_status_t byoc_options_words(const byoc_usage_t *usage, int argc, char **argv, const char *const *left_out,
                                 byoc_arena_t *arena, byoc_diag_t *diag, byoc_string_items_t *out_words) {
  out_words->count = 0;
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    const byoc_option_row_t *row = NULL;
    const char *value = NULL;
    if (argv[i][0] != '-' || argv[i][1] == '\0') continue;
    BYOC_RETURN_IF_ERROR(split_option(usage, argc, argv, &i, diag, &row, &value));
    if (is_listed(left_out, row->name)) continue;
    if (out_words->count == BYOC_MAX_LIST) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s is given more than %d options", usage->command,
                             BYOC_MAX_LIST);
    }
    const char *word = byoc_arena_format(arena, "--%s%s%s", row->name, value != NULL ? "=" : "", value ? value : "");
    if (word == NULL) return byoc_diag_out_of_memory(diag);
    out_words->items[out_words->count++] = word;
  }
  return BYOC_OK;
}

static byoc_status_t add_operand(const byoc_usage_t *usage, const char *word, const char **operands, size_t *count,
                                 size_t wanted, byoc_diag_t *diag) {
  if (*count < wanted) operands[(*count)++] = word;
  if (usage->more_operands == NULL) return BYOC_OK;
  if (usage->more_operands->count == BYOC_MAX_LIST) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s takes %d words at most", usage->command, BYOC_MAX_LIST);
  }
  usage->more_operands->items[usage->more_operands->count++] = word;
  return BYOC_OK;
}

static byoc_status_t surplus_word(const byoc_usage_t *usage, const char *before, const char *word, byoc_diag_t *diag) {
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s does not take the word '%s'", usage->command, word);
  const byoc_option_row_t *row = before[0] == '-' && before[1] != '\0' ? find_row(usage, before) : NULL;
  if (row != NULL && row->kind == BYOC_OPT_MAYBE) byoc_diag_hint(diag, "did you mean --%s=%s?", row->name, word);
  return status;
}

byoc_status_t byoc_options_parse(const byoc_usage_t *usage, int argc, char **argv, byoc_diag_t *diag,
                                 const char **operands, bool *out_done) {
  *out_done = false;
  size_t wanted = 0, count = 0;
  while (usage->operands[wanted] != NULL) ++wanted;
  bool only_operands = false;
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i];
    const bool has_form = strncmp(word, "--help=", 7) == 0;
    if (!only_operands && (has_form || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
      *out_done = true;
      return byoc_usage_print(usage, has_form ? word + 7 : NULL, diag);
    }
    if (!only_operands && strcmp(word, "--") == 0) {
      only_operands = true;
    } else if (!only_operands && word[0] == '-' && word[1] != '\0') {
      BYOC_RETURN_IF_ERROR(parse_option(usage, argc, argv, &i, diag));
    } else if (count == wanted && usage->more_operands == NULL) {
      return surplus_word(usage, argv[i - 1], word, diag);
    } else {
      BYOC_RETURN_IF_ERROR(add_operand(usage, word, operands, &count, wanted, diag));
    }
  }
  const bool has_instead = usage->instead != NULL && usage->instead->count > 0;
  if (has_instead && count > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s takes either the word '%s' or '%s' by an option, not both",
                           usage->command, operands[0], usage->instead->items[0]);
  }
  if (count == wanted || has_instead) return BYOC_OK;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s needs %s", usage->command, usage->operands[count]);
  byoc_diag_hint(diag, "usage: %s %s", usage->command, usage->synopsis);
  return status;
}
