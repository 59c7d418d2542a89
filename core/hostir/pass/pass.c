// SPDX-License-Identifier: Apache-2.0
// The table of host passes, and their manager.
#include "core/hostir/pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/text/program_text.h"

#define BYOC_HOST_PASS_ROW(NAME, text, needs_, gives_, keeps_, line)                                                   \
  {.name = text, .summary = line, .run = byoc_host_pass_##NAME, .needs = needs_, .gives = gives_, .keeps = keeps_},
static const byoc_host_pass_t passes[] = {BYOC_HOST_PASS_LIST(BYOC_HOST_PASS_ROW)};
#undef BYOC_HOST_PASS_ROW
enum { PASS_COUNT = sizeof(passes) / sizeof(passes[0]) };

const byoc_host_pass_t *byoc_host_pass_at(size_t index) {
  return index < PASS_COUNT ? &passes[index] : NULL;
}

const byoc_host_pass_t *byoc_host_pass_find(const char *name) {
  for (size_t i = 0; i < PASS_COUNT; ++i) {
    if (strcmp(passes[i].name, name) == 0) return &passes[i];
  }
  return NULL;
}

// ---- results that a pass does not keep ----

static void forget_plan(byoc_host_program_t *program) {
  for (size_t k = 0; k < program->buffers.count; ++k) {
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind == BYOC_HOST_BUFFER_LOCAL) buffer->offset_bytes = BYOC_HOST_OFFSET_NONE;
  }
  for (size_t k = 0; k < program->memories.count; ++k) program->memories.data[k]->size = 0;
  program->workspace_size_bytes = program->workspace_bound_bytes = 0;
  program->live_bound_bytes = byoc_dim_constant(0);
}

// ---- running ----

static byoc_status_t print_after(const char *name, const byoc_host_program_t *program,
                                 const byoc_host_pass_options_t *options, byoc_diag_t *diag) {
  const bool wanted = options != NULL && options->print_after != NULL &&
                      (strcmp(options->print_after, name) == 0 || strcmp(options->print_after, "all") == 0);
  if (!wanted) return BYOC_OK;
  byoc_string_t text;
  byoc_string_init(&text, program->arena.allocator);
  byoc_string_appendf(&text, "// after %s\n", name);
  const byoc_host_print_options_t print = {.program_only = true};
  byoc_host_program_print(program, &print, &text);
  byoc_status_t status = text.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && options->print_out != NULL) {
    byoc_string_append_bytes(options->print_out, text.data, text.size);
  } else if (status == BYOC_OK && (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout) != 0)) {
    status = byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
  }
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t check_needs(const byoc_host_pass_t *pass, uint32_t facts, byoc_diag_t *diag) {
  if ((pass->needs & ~facts) == 0) return BYOC_OK;
  byoc_status_t status =
      byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s needs lifetimes, which the program lacks", pass->name);
  byoc_diag_hint(diag, "run place-lifetimes before it");
  return status;
}

static byoc_status_t check_after(const byoc_host_pass_t *pass, const byoc_host_program_t *program, byoc_diag_t *diag) {
  uint32_t facts = 0;
  if (!byoc_host_program_facts(program, &facts)) return byoc_diag_out_of_memory(diag);
  // A program with queues and no events is not ordered yet. It may have its plan: if all its buffers are values.
  const bool is_ordered = program->queues.count == 0 || program->events.count > 0 ||
                          (pass->gives & (BYOC_HOST_ORDER | BYOC_HOST_PLAN)) != 0;
  if ((facts & BYOC_HOST_PLAN) != 0 && is_ordered) {
    BYOC_RETURN_IF_ERROR(byoc_host_program_verify(program, diag));
  } else if ((facts & BYOC_HOST_LIFETIMES) != 0) {
    BYOC_RETURN_IF_ERROR(byoc_host_program_verify_unordered(program, diag));
  }
  return byoc_host_text_check_if_asked(program, diag);
}

byoc_status_t byoc_host_pass_run(const byoc_host_pass_t *pass, byoc_host_program_t *program,
                                 const byoc_host_pass_options_t *options, byoc_diag_t *diag, size_t *out_changes) {
  size_t changes = 0;
  uint32_t facts = 0;
  if (out_changes != NULL) *out_changes = 0;
  if (options != NULL && !byoc_switches_is_on(options->switches, pass->name)) {
    byoc_log(BYOC_LOG_INFO, "%-32s is switched off", pass->name);
    return BYOC_OK;
  }
  if (!byoc_host_program_facts(program, &facts)) return byoc_diag_out_of_memory(diag);
  BYOC_RETURN_IF_ERROR(check_needs(pass, facts, diag));
  const int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR_IN(diag, pass->run(program, diag, &changes), "host pass %s", pass->name);
  byoc_log(changes > 0 ? BYOC_LOG_INFO : BYOC_LOG_DEBUG, "%-32s %6zu change%s %8.2f ms", pass->name, changes,
           byoc_plural(changes), (double)(byoc_now_ns() - start_ns) / 1e6);
  const uint32_t lost = changes > 0 ? facts & ~(pass->keeps | pass->gives) : 0;
  if ((lost & BYOC_HOST_LIFETIMES) != 0) byoc_host_forget_lifetimes(program);
  if (lost != 0) forget_plan(program);
#ifdef NDEBUG
  const bool check = changes > 0 || (pass->gives & BYOC_HOST_PLAN) != 0; // nothing runs by a plan that was not checked
#else
  const bool check = true;
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_host_check_edits(program, diag), "after host pass %s", pass->name);
#endif
  if (check) BYOC_RETURN_IF_ERROR_IN(diag, check_after(pass, program, diag), "after host pass %s", pass->name);
  if (out_changes != NULL) *out_changes = changes;
  return print_after(pass->name, program, options, diag);
}

static byoc_status_t unknown_pass(const char *name, byoc_diag_t *diag) {
  const char *names[PASS_COUNT];
  for (size_t i = 0; i < PASS_COUNT; ++i) names[i] = passes[i].name;
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no host pass '%s'", name);
  const char *nearest = byoc_nearest_match(name, names, PASS_COUNT);
  if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean '%s'? byoc opt --help lists them", nearest);
  } else {
    byoc_diag_hint(diag, "byoc opt --help lists them");
  }
  return status;
}

byoc_status_t byoc_host_pass_run_list(const char *names, byoc_host_program_t *program,
                                      const byoc_host_pass_options_t *options, byoc_diag_t *diag) {
  while (*names != '\0') {
    const size_t size = strcspn(names, ",");
    char name[128];
    snprintf(name, sizeof(name), "%.*s", (int)size, names);
    names += size + (names[size] == ',');
    if (name[0] == '\0') continue;
    const byoc_host_pass_t *pass = byoc_host_pass_find(name);
    if (pass == NULL) return unknown_pass(name, diag);
    BYOC_RETURN_IF_ERROR(byoc_host_pass_run(pass, program, options, diag, NULL));
  }
  return BYOC_OK;
}
