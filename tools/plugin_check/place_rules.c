// SPDX-License-Identifier: Apache-2.0
// Rules about what the backend takes of the cases, and why it leaves the rest.
#include <string.h>

#include "core/ir/graph.h"
#include "tools/plugin_check/pipeline.h"

typedef struct tally_t {
  const char *kind;
  int *claimed, *left; // nodes of each case, in functions of the kind and out of them
  int case_count;
} tally_t;

static bool count_operator(void *self, byoc_node_t *node) {
  int *count = self;
  if (node->callee == NULL) *count += 1;
  return node->callee == NULL || byoc_block_walk(node->callee->body, count_operator, self);
}

// Equal functions are one function with several calls, so a region's case is told by what its call returns.
static bool tally_node(void *self, byoc_node_t *node) {
  tally_t *tally = self;
  int index = check_case_of_name(node->name);
  for (uint32_t r = 0; r < node->result_count && node->callee != NULL; ++r) {
    const int named = check_case_of_name(node->results[r]->name);
    if (named >= 0) index = named;
  }
  if (index < 0 || index >= tally->case_count) return true;
  if (node->callee == NULL) {
    tally->left[index] += 1;
    return true;
  }
  const char *compiler = byoc_attributes_string(&node->callee->attributes, "Compiler", "");
  return byoc_block_walk(node->callee->body, count_operator,
                         strcmp(compiler, tally->kind) == 0 ? &tally->claimed[index] : &tally->left[index]);
}

// Places the cases of the file.
static void place(check_t *check, const check_case_file_t *file, const char *targets, check_pipeline_t *pipeline) {
  byoc_diag_t diag = {0};
  const check_model_t model = check_case_file_model(check, file);
  check_doing(check, "its rules are asked about %s, with '%s'", file->name, targets);
  check_ok(check,
           check_pipeline_open(pipeline, check->registry, &model, targets, BYOC_BUILD_PLACED, byoc_allocator_system(),
                               &diag),
           &diag, file->name);
}

static tally_t tally_cases(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline) {
  tally_t tally = {.kind = pipeline->targets.targets.data[0]->kind->name,
                   .claimed = check_allocate(check, file->count, sizeof(int)),
                   .left = check_allocate(check, file->count, sizeof(int)),
                   .case_count = (int)file->count};
  (void)byoc_block_walk(pipeline->build.module->functions.data[0]->body, tally_node, &tally);
  return tally;
}

check_cases_t check_taken_cases(check_t *check, const char *targets) {
  check_cases_t cases, out = {0};
  check_cases_read(check, &cases);
  out.files = check_allocate(check, cases.file_count, sizeof(*out.files));
  for (size_t f = 0; f < cases.file_count; ++f) {
    const check_case_file_t *file = &cases.files[f];
    check_case_file_t *claimed = &out.files[out.file_count];
    check_pipeline_t pipeline;
    place(check, file, targets, &pipeline);
    const tally_t tally = tally_cases(check, file, &pipeline);
    *claimed =
        (check_case_file_t){.name = file->name, .cases = check_allocate(check, file->count, sizeof(*file->cases))};
    for (size_t i = 0; i < file->count; ++i) {
      if (tally.claimed[i] > 0) claimed->cases[claimed->count++] = file->cases[i];
    }
    out.file_count += claimed->count > 0;
    check_pipeline_close(&pipeline);
  }
  if (out.file_count == 0) check_skip(check, "with '%s' it takes nothing of the cases", targets);
  return out;
}

// ---- what must be taken ----

// The last reason that was given for a node of the case.
static const char *reason_for(const byoc_placement_t *placement, int index) {
  const char *reason = "no rule matched";
  for (size_t i = 0; i < placement->declines.count; ++i) {
    if (check_case_of_name(placement->declines.data[i].node->name) == index) {
      reason = placement->declines.data[i].reason;
    }
  }
  return reason;
}

static void check_demands(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline) {
  const tally_t tally = tally_cases(check, file, pipeline);
  int claimed = 0, left = 0;
  for (size_t i = 0; i < file->count; ++i) {
    const check_demand_t demand = check_case_demand(&file->cases[i], tally.kind);
    claimed += tally.claimed[i];
    left += tally.left[i];
    check_tried(check, demand != CHECK_DEMAND_NONE);
    const bool is_met =
        demand == CHECK_DEMAND_NONE || (tally.claimed[i] > 0 && (demand == CHECK_DEMAND_SOME || tally.left[i] == 0));
    if (is_met) continue;
    check_fail(check, "%s/%s: %s has %d operators and leaves %d: %s", file->name, file->cases[i].name, tally.kind,
               tally.claimed[i], tally.left[i], reason_for(&pipeline->build.result.placement, (int)i));
  }
  check_property(check, "%s: %zu cases, %d operators with %s, %d left", file->name, file->count, claimed, tally.kind,
                 left);
}

void check_place_cases(check_t *check) {
  check_cases_t cases;
  check_cases_read(check, &cases);
  for (size_t t = 0; t < check->targets.count; ++t) {
    for (size_t f = 0; f < cases.file_count; ++f) {
      check_pipeline_t pipeline;
      place(check, &cases.files[f], check->targets.items[t], &pipeline);
      check_demands(check, &cases.files[f], &pipeline);
      check_pipeline_close(&pipeline);
    }
  }
  check_need_tried(check, "no case names one of its targets, so nothing was checked: --cases gives such tables");
}

void check_place_reasons(check_t *check) {
  check_cases_t cases;
  check_cases_read(check, &cases);
  for (size_t t = 0; t < check->targets.count; ++t) {
    for (size_t f = 0; f < cases.file_count; ++f) {
      check_pipeline_t pipeline;
      place(check, &cases.files[f], check->targets.items[t], &pipeline);
      const byoc_placement_t *placement = &pipeline.build.result.placement;
      for (size_t i = 0; i < placement->declines.count; ++i) {
        const byoc_decline_t *decline = &placement->declines.data[i];
        check_tried(check, 1);
        const bool is_reported = decline->reason != NULL && decline->reason[0] != '\0' &&
                                 strcmp(decline->reason, "no reason was given") != 0;
        if (is_reported) continue;
        check_fail(check, "%s/%s: %s declines %s without a reason", cases.files[f].name,
                   check_case_name(&cases.files[f], decline->node->name), decline->rule, decline->node_text);
      }
      check_pipeline_close(&pipeline);
    }
  }
  check_need_tried(check, "it declines nothing of the cases, so there is no reason to look at");
}

// A target list that is refused with a reason: when it is read as a user's mistake, when code is made as one in what
// the plugin was given.
void check_place_refused(check_t *check) {
  if (check->refused.count == 0) check_skip(check, "--refuses names no targets");
  check_cases_t cases;
  check_cases_read(check, &cases);
  for (size_t i = 0; i < check->refused.count; ++i) {
    byoc_diag_t diag = {0};
    check_pipeline_t pipeline;
    const check_model_t model = check_case_file_model(check, &cases.files[0]);
    const char *targets = check->refused.items[i];
    check_doing(check, "generating code with '%s'", targets);
    byoc_status_t status = check_pipeline_open(&pipeline, check->registry, &model, targets, BYOC_BUILD_ALL,
                                               byoc_allocator_system(), &diag);
    check_pipeline_close(&pipeline);
    const bool is_refused =
        status == BYOC_INVALID_ARGUMENT || status == BYOC_INVALID_DATA || status == BYOC_UNSUPPORTED;
    if (is_refused && diag.message[0] != '\0') continue;
    check_fail_diag(check, &diag, "'%s' gives '%s', not a refusal", targets, byoc_status_name(status));
  }
}
