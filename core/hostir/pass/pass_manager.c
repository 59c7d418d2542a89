// SPDX-License-Identifier: Apache-2.0
// Finds passes in tables, runs them, and verifies and prints the module or host program.
#include "core/hostir/pass/pass_manager.h"

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/task.h"
#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"
#include "core/hostir/text/program_text.h"
#include "core/ir/module_text.h"
#include "core/ir/verify_module.h"

// ---- tables ----

const byoc_pass_t *byoc_passes_find(const byoc_passes_t *passes, const char *name) {
  BYOC_FOR_EACH_PASS(pass, passes) {
    if (strcmp(pass->name, name) == 0) return pass;
  }
  return NULL;
}

byoc_status_t byoc_passes_unknown(const byoc_passes_t *passes, const char *name, byoc_diag_t *diag) {
  enum { MAX_NAMES = 96 };
  const char *names[MAX_NAMES];
  size_t count = 0;
  BYOC_FOR_EACH_PASS(pass, passes) {
    if (count < MAX_NAMES) names[count++] = pass->name;
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there is no pass '%s'", name);
  const char *nearest = byoc_nearest_match(name, names, count);
  if (nearest != NULL) {
    byoc_diag_hint(diag, "did you mean '%s'? byoc opt --help lists them", nearest);
  } else {
    byoc_diag_hint(diag, "byoc opt --help lists them");
  }
  return status;
}

// ---- prints ----

static void print_subject(byoc_pass_subject_t subject, const byoc_pass_options_t *options, byoc_string_t *out) {
  if (subject.program != NULL) {
    byoc_host_program_print(subject.program, &(byoc_host_print_options_t){.program_only = true}, out);
  } else {
    byoc_graph_print(subject.module, &(byoc_print_options_t){.elide_bytes = options->print_elide_bytes}, out);
  }
}

byoc_status_t byoc_pass_print_after(const char *name, byoc_pass_subject_t subject, const byoc_pass_options_t *options,
                                    byoc_diag_t *diag) {
  const bool wanted = options != NULL && options->print_after != NULL &&
                      (strcmp(options->print_after, name) == 0 || strcmp(options->print_after, "all") == 0);
  if (!wanted) return BYOC_OK;
  byoc_string_t text;
  byoc_string_init(&text, subject.program != NULL ? subject.program->arena.allocator : subject.module->allocator);
  byoc_string_appendf(&text, "// after %s\n", name);
  print_subject(subject, options, &text);
  byoc_status_t status = text.failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
  if (status == BYOC_OK && options->print_out != NULL) {
    byoc_string_append_bytes(options->print_out, text.data, text.size);
  } else if (status == BYOC_OK && (fwrite(text.data, 1, text.size, stdout) != text.size || fflush(stdout) != 0)) {
    status = byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
  }
  byoc_string_deinit(&text);
  return status;
}

// ---- modules ----

static byoc_status_t run_on_module(const byoc_pass_t *pass, const byoc_pass_arguments_t *arguments,
                                   byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  byoc_status_t status =
      pass->run_with != NULL ? pass->run_with(module, arguments, diag, changes) : pass->run(module, diag, changes);
  // A pass that ran out of memory may have left rewrites out.
  return status == BYOC_OK && module->arena.is_exhausted ? byoc_diag_out_of_memory(diag) : status;
}

// ---- host programs ----

static byoc_status_t check_needs(const byoc_pass_t *pass, const byoc_host_program_t *program, byoc_diag_t *diag,
                                 uint32_t *out_properties) {
  if (!byoc_host_program_properties(program, out_properties)) return byoc_diag_out_of_memory(diag);
  if ((pass->needs & ~*out_properties) == 0) return BYOC_OK;
  byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s needs lifetimes, which the program lacks", pass->name);
  byoc_diag_hint(diag, "run place-lifetimes before it");
  return BYOC_INVALID_ARGUMENT;
}

static void forget_plan(byoc_host_program_t *program) {
  for (size_t k = 0; k < program->buffers.count; ++k) {
    byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind == BYOC_HOST_BUFFER_LOCAL) buffer->offset_bytes = BYOC_HOST_OFFSET_NONE;
  }
  for (size_t k = 0; k < program->memories.count; ++k) program->memories.data[k]->size = 0;
  program->workspace_size_bytes = program->workspace_bound_bytes = 0;
  program->live_bound_bytes = byoc_dim_constant(0);
}

static void forget_lost(const byoc_pass_t *pass, byoc_host_program_t *program, uint32_t properties) {
  const uint32_t lost = properties & ~(pass->keeps | pass->gives);
  if ((lost & BYOC_HOST_LIFETIMES) != 0) byoc_host_forget_lifetimes(program);
  if (lost != 0) forget_plan(program);
}

static byoc_status_t verify_program(const byoc_pass_t *pass, const byoc_host_program_t *program, byoc_diag_t *diag) {
  uint32_t properties = 0;
#ifndef NDEBUG
  BYOC_RETURN_IF_ERROR(byoc_host_check_edits(program, diag));
#endif
  if (!byoc_host_program_properties(program, &properties)) return byoc_diag_out_of_memory(diag);
  // A program with queues and no events is not ordered yet. It may have its plan: if all its buffers are values.
  const bool is_ordered = program->queues.count == 0 || program->events.count > 0 ||
                          (pass->gives & (BYOC_HOST_ORDER | BYOC_HOST_PLAN)) != 0;
  if ((properties & BYOC_HOST_PLAN) != 0 && is_ordered) {
    BYOC_RETURN_IF_ERROR(byoc_host_program_verify(program, diag));
  } else if ((properties & BYOC_HOST_LIFETIMES) != 0) {
    BYOC_RETURN_IF_ERROR(byoc_host_program_verify_unordered(program, diag));
  }
  return byoc_host_text_check_if_asked(program, diag);
}

// ---- running ----

static byoc_status_t verify(const byoc_pass_t *pass, byoc_pass_subject_t subject, byoc_diag_t *diag) {
  return subject.program != NULL ? verify_program(pass, subject.program, diag)
                                 : byoc_graph_verify(subject.module, diag);
}

static byoc_status_t run_pass(const byoc_pass_t *pass, const byoc_pass_arguments_t *arguments,
                              byoc_pass_subject_t subject, byoc_diag_t *diag, size_t *out_changes) {
  const byoc_pass_options_t *options = arguments->options;
  size_t changes = 0;
  uint32_t properties = 0;
  if (out_changes != NULL) *out_changes = 0;
  if (options != NULL && !byoc_switches_is_on(options->switches, pass->name)) {
    byoc_log(subject.program != NULL ? BYOC_LOG_INFO : BYOC_LOG_DEBUG, "%-32s is switched off", pass->name);
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_task_check(diag));
  if (subject.program != NULL) BYOC_RETURN_IF_ERROR(check_needs(pass, subject.program, diag, &properties));
  const int64_t start_ns = byoc_now_ns();
  byoc_status_t status = subject.program != NULL ? pass->run_host(subject.program, diag, &changes)
                                                 : run_on_module(pass, arguments, subject.module, diag, &changes);
  BYOC_RETURN_IF_ERROR_IN(diag, status, "pass %s", pass->name);
  byoc_log(changes > 0 ? BYOC_LOG_INFO : BYOC_LOG_DEBUG, "%-32s %6zu change%s %8.2f ms", pass->name, changes,
           byoc_plural(changes), (double)(byoc_now_ns() - start_ns) / 1e6);
  if (subject.program != NULL && changes > 0) forget_lost(pass, subject.program, properties);
#ifdef NDEBUG
  const bool verifies = changes > 0 || (pass->gives & BYOC_HOST_PLAN) != 0; // no program runs by an unchecked plan
#else
  const bool verifies = true;
#endif
  if (verifies) BYOC_RETURN_IF_ERROR_IN(diag, verify(pass, subject, diag), "after pass %s", pass->name);
  if (out_changes != NULL) *out_changes = changes;
  return byoc_pass_print_after(pass->name, subject, options, diag);
}

static byoc_pass_arguments_t arguments_of(const byoc_pass_options_t *options) {
  if (options == NULL) return (byoc_pass_arguments_t){0};
  return (byoc_pass_arguments_t){.targets = options->targets, .axis = options->stream_axis, .options = options};
}

byoc_status_t byoc_pass_run(const byoc_pass_t *pass, byoc_graph_module_t *module, const byoc_pass_options_t *options,
                            byoc_diag_t *diag, size_t *out_changes) {
  const byoc_pass_arguments_t arguments = arguments_of(options);
  return run_pass(pass, &arguments, (byoc_pass_subject_t){.module = module}, diag, out_changes);
}

// ---- lists ----

// "{compiler=NAME}" behind a pass; `text` begins behind the opening brace, and is cut at the closing one.
static byoc_status_t parse_argument(const byoc_pass_t *pass, char *text, byoc_diag_t *diag,
                                    byoc_pass_arguments_t *arguments) {
  char *end = strchr(text, '}');
  if (end == NULL || end[1] != '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s: its argument, '{%s', does not end with '}'",
                           pass->name, text);
  }
  *end = '\0';
  if (pass->argument == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s takes no argument, not {%s}", pass->name, text);
  }
  const size_t size = strlen(pass->argument);
  if (strncmp(text, pass->argument, size) != 0 || text[size] != '=' || text[size + 1] == '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s takes {%s=NAME}, not {%s}", pass->name, pass->argument,
                           text);
  }
  const char *value = text + size + 1;
  if (strcmp(pass->argument, "compiler") == 0) arguments->compiler = value;
  if (strcmp(pass->argument, "axis") == 0) arguments->axis = value;
  if (strcmp(pass->argument, "without") == 0) arguments->without = value;
  return BYOC_OK;
}

static byoc_status_t check_subject(const byoc_pass_t *pass, byoc_pass_subject_t subject, byoc_diag_t *diag) {
  const bool is_host = pass->stage == BYOC_PASS_HOST;
  if (is_host != (subject.program != NULL)) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "'%s' is a pass over %s, and this is a %s", pass->name,
                    is_host ? "host programs" : "modules", is_host ? "module" : "host program");
    if (is_host) byoc_diag_hint(diag, "byoc build MODEL --emit=host --constants -o FILE.host writes a host program");
    return BYOC_INVALID_ARGUMENT;
  }
  if (pass->stage != BYOC_PASS_MODULE || subject.module->scope == NULL) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "pass %s works on whole modules, not on functions", pass->name);
}

byoc_status_t byoc_passes_run(const byoc_passes_t *passes, const char *names, byoc_pass_subject_t subject,
                              const byoc_pass_options_t *options, byoc_diag_t *diag, size_t *changes) {
  while (*names != '\0') {
    const size_t size = strcspn(names, ",");
    char name[128];
    snprintf(name, sizeof(name), "%.*s", (int)size, names);
    names += size + (names[size] == ',');
    if (name[0] == '\0') continue;
    char *text = strchr(name, '{');
    if (text != NULL) *text++ = '\0';
    const byoc_pass_t *pass = byoc_passes_find(passes, name);
    if (pass == NULL) return byoc_passes_unknown(passes, name, diag);
    BYOC_RETURN_IF_ERROR(check_subject(pass, subject, diag));
    byoc_pass_arguments_t arguments = arguments_of(options);
    if (text != NULL) BYOC_RETURN_IF_ERROR(parse_argument(pass, text, diag, &arguments));
    size_t count = 0;
    BYOC_RETURN_IF_ERROR(run_pass(pass, &arguments, subject, diag, &count));
    if (changes != NULL) *changes += count;
  }
  return BYOC_OK;
}
