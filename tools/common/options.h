// SPDX-License-Identifier: Apache-2.0
// Command line options as rows of one table: parsing, --help and the nearest match for a misspelt one come from it.
#ifndef BYOC_TOOLS_COMMON_OPTIONS_H_
#define BYOC_TOOLS_COMMON_OPTIONS_H_

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"

enum { BYOC_MAX_LIST = 512 };

// An option that may be given several times.
typedef struct byoc_string_items_t {
  const char *items[BYOC_MAX_LIST];
  size_t count;
} byoc_string_items_t;

typedef enum byoc_option_kind_t {
  BYOC_OPT_FLAG,    // bool *
  BYOC_OPT_STRING,  // const char **
  BYOC_OPT_MAYBE,   // const char **: --trace alone sets "-", --trace=FILE the file
  BYOC_OPT_LIST,    // byoc_string_items_t *
  BYOC_OPT_COUNT,   // int64_t *, from 0
  BYOC_OPT_THREADS, // int64_t *, 0 to BYOC_MODEL_MAX_THREADS
  BYOC_OPT_GROUP,   // int64_t *, operators of a group: 1 to BYOC_COLLAGE_LIMIT
  BYOC_OPT_QUEUES,  // int64_t *, 1 to BYOC_HOST_MAX_SET
  BYOC_OPT_RANKS,   // int64_t *, 1 to BYOC_MESH_MOST_RANKS
  BYOC_OPT_NUMBER,  // double *, from 0
  BYOC_OPT_SECONDS, // double *, more than 0
} byoc_option_kind_t;

typedef struct byoc_option_row_t {
  const char *name; // "target": --target VALUE or --target=VALUE
  char letter;      // 'o': -o VALUE; 0: none
  byoc_option_kind_t kind;
  void *value;
  const char *placeholder; // "FILE"
  const char *help;        // one line
} byoc_option_row_t;

typedef struct byoc_usage_t {
  const char *command;  // "byoc build"
  const char *synopsis; // "MODEL [-o OUT] [options]"
  const char *summary;
  const char *const *operands;        // help of each operand, for the message when one is missing; NULL-terminated
  byoc_string_items_t *more_operands; // takes the operands and all words after them too; NULL: no further words
  const byoc_string_items_t *instead; // a BYOC_OPT_LIST: where it is given, there are no operands; NULL: none
  const byoc_option_row_t *rows;
  size_t row_count;
  const char *more; // further text for --help; may be NULL
} byoc_usage_t;

// Parses argv[1..]. `operands` receives the other words (exactly as many as usage->operands names, unless there are
// more_operands). --help and -h print the options and set *out_done; --help=FORM does so in a form of
// tools/common/usage.h. Errors are BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_options_parse(const byoc_usage_t *usage, int argc, char **argv, byoc_diag_t *diag,
                                 const char **operands, bool *out_done);

// The options of argv, which was parsed already, as words "--name=value" in the arena; those named in `left_out`, which
// ends in NULL, are left out.
byoc_status_t byoc_options_words(const byoc_usage_t *usage, int argc, char **argv, const char *const *left_out,
                                 byoc_arena_t *arena, byoc_diag_t *diag, byoc_string_items_t *out_words);

// True for the word that stands for standard output in the options of commands that print text.
static inline bool byoc_option_is_stdout(const char *output) {
  return output != NULL && strcmp(output, "-") == 0;
}

#endif // BYOC_TOOLS_COMMON_OPTIONS_H_
