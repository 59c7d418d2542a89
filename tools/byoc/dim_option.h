// SPDX-License-Identifier: Apache-2.0
// --dim NAME=VALUE, given any number of times. A model is built for several sizes by NAME=VALUE,VALUE...; the word
// "open" as the last one says what is true of every list: other sizes work too.
#ifndef BYOC_TOOLS_BYOC_DIM_OPTION_H_
#define BYOC_TOOLS_BYOC_DIM_OPTION_H_

#include <stdint.h>

#include "core/compile/variants.h"
#include "tools/common/options.h"

typedef struct byoc_dim_option_t {
  const char *name; // not terminated: a part of the item
  size_t name_size;
  int64_t values[BYOC_MOST_VARIANTS]; // not negative
  size_t count;                       // at least 1
  bool is_list;                       // the dimension stays open
} byoc_dim_option_t;

// Reads item `index`. BYOC_INVALID_ARGUMENT if it has another form or if an earlier item has its name.
byoc_status_t byoc_dim_option_read(const byoc_string_items_t *items, size_t index, byoc_diag_t *diag,
                                   byoc_dim_option_t *out_dim);
// The same for the inputs of one run: a list is refused.
byoc_status_t byoc_dim_option_read_one(const byoc_string_items_t *items, size_t index, byoc_diag_t *diag,
                                       byoc_dim_option_t *out_dim);

#endif // BYOC_TOOLS_BYOC_DIM_OPTION_H_
