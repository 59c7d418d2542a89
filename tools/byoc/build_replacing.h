// SPDX-License-Identifier: Apache-2.0
// How weights are exchanged: a build with the options that the artifact knows, whose code is there already.
#ifndef BYOC_TOOLS_BYOC_BUILD_REPLACING_H_
#define BYOC_TOOLS_BYOC_BUILD_REPLACING_H_

#include "core/base/json.h"
#include "core/compose/artifact/compose.h"
#include "tools/common/options.h"

// The options of a build that its code depends on: no names of outputs, and of files no more than that there is one:
// "--plan=*".
byoc_status_t byoc_build_words(const byoc_usage_t *usage, int argc, char **argv, byoc_arena_t *arena, byoc_diag_t *diag,
                               byoc_string_items_t *out_words);
// Puts such words, an array of `artifact`'s metadata, in front of those that a user gives, which take the place of any
// of the same option. BYOC_INVALID_ARGUMENT if a file is not given again.
byoc_status_t byoc_build_words_merge(const char *artifact, const json_t *words, const byoc_string_items_t *given,
                                     byoc_diag_t *diag, byoc_string_items_t *out_words);

// How byoc weights replace differs from a build.
typedef struct byoc_build_replacing_t {
  const char *artifact, *output; // the code that stays, and where it goes with its new weights
  const char *model_name;        // as its metadata have it
  const char *weights_file;      // the name of its weights file; NULL: it has none
  const char *arrays;            // .npz or .safetensors: initialisers of the model; NULL: it is taken as it is
  const char *const *words;      // of its metadata
  size_t word_count;
} byoc_build_replacing_t;
// Lets a build keep the artifact's code. *out_weights is to be freed when the build is done.
byoc_status_t byoc_build_keep_code(const byoc_build_replacing_t *replacing, byoc_compose_options_t *compose,
                                   byoc_diag_t *diag, char **out_weights);
// cmd_build.c: byoc build with these arguments, as far as an artifact whose code is there already.
int byoc_build_replacing(const byoc_build_replacing_t *replacing, int argc, char **argv);

#endif // BYOC_TOOLS_BYOC_BUILD_REPLACING_H_
