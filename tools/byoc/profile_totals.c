// SPDX-License-Identifier: Apache-2.0
// Sums up a profile by operators and targets.
#include <stdlib.h>
#include <string.h>

#include "profile.h"

bool byoc_profile_is_leaf(const byoc_profile_t *profile, size_t row) {
  for (size_t i = profile->step_count; i < profile->rows.count; ++i) {
    if (profile->rows.data[i].parent == row) return false;
  }
  return true;
}

const char *byoc_profile_target(const byoc_profile_t *profile, const byoc_profile_row_t *row) {
  return row->parent == BYOC_PROFILE_NO_ROW ? row->target : profile->rows.data[row->parent].target;
}

// The operators stand in front of the name: "Conv+Relu 'layer1.conv'".
static size_t operators_size(const char *name) {
  const char *end = strstr(name, " '");
  return end != NULL ? (size_t)(end - name) : strlen(name);
}

static int compare_totals(const void *left, const void *right) {
  const byoc_profile_total_t *a = left, *b = right;
  if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
  const size_t size = a->operators_size < b->operators_size ? a->operators_size : b->operators_size;
  const int order = memcmp(a->operators, b->operators, size);
  if (order != 0) return order;
  if (a->operators_size != b->operators_size) return a->operators_size < b->operators_size ? -1 : 1;
  return strcmp(a->target, b->target);
}

byoc_profile_total_t *byoc_profile_totals(const byoc_profile_t *profile, size_t *out_count) {
  *out_count = 0;
  byoc_profile_total_t *totals = calloc(profile->rows.count + 1, sizeof(*totals));
  if (totals == NULL) return NULL;
  size_t count = 0;
  for (size_t i = 0; i < profile->rows.count; ++i) {
    const byoc_profile_row_t *row = &profile->rows.data[i];
    if (!byoc_profile_is_leaf(profile, i) || (!row->is_call && row->parent == BYOC_PROFILE_NO_ROW)) continue;
    const char *target = byoc_profile_target(profile, row);
    const size_t size = operators_size(row->name);
    size_t k = 0;
    while (k < count && (totals[k].operators_size != size || memcmp(totals[k].operators, row->name, size) != 0 ||
                         strcmp(totals[k].target, target) != 0)) {
      ++k;
    }
    if (k == count) {
      totals[count++] = (byoc_profile_total_t){.operators = row->name, .operators_size = size, .target = target};
    }
    totals[k].calls += row->calls;
    totals[k].ns += row->median_ns;
  }
  qsort(totals, count, sizeof(*totals), compare_totals);
  *out_count = count;
  return totals;
}

byoc_profile_share_t byoc_profile_share(double rate, double limit, const char *beyond) {
  byoc_profile_share_t share = {""};
  if (rate > limit) {
    snprintf(share.text, sizeof(share.text), "%s", beyond);
  } else {
    snprintf(share.text, sizeof(share.text), "%.0f%%", 100 * rate / limit);
  }
  return share;
}
