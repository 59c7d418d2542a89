// SPDX-License-Identifier: Apache-2.0
// byoc opt: runs passes over a module and prints it.
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "core/base/file.h"
#include "core/collage/partition.h"
#include "core/compile/outputs.h"
#include "core/hostir/pass/pass.h"
#include "core/hostir/text/program_text.h"
#include "core/ir/module_text.h"
#include "session.h"

typedef struct opt_options_t {
  byoc_session_options_t session;
  const char *file, *passes, *output;
  bool constants;
} opt_options_t;

// Larger constants are printed only with --constants.
enum { PRINTED_BYTES = 256 };

// True if the list holds the steps of a placement one by one.
static bool has_partition_pass(const char *names) {
  for (size_t i = 0; i < byoc_partition_passes.count && names != NULL; ++i) {
    if (strstr(names, byoc_partition_passes.rows[i].name) != NULL) return true;
  }
  return false;
}

static byoc_status_t run_passes(byoc_session_t *session, const opt_options_t *options, byoc_pass_subject_t subject,
                                byoc_diag_t *diag) {
  const byoc_pass_options_t passes = {.print_after = options->session.print_after,
                                      .print_elide_bytes = options->constants ? 0 : PRINTED_BYTES,
                                      .targets = &session->setup.targets,
                                      .switches = &session->setup.switches};
  return options->passes != NULL
             ? byoc_passes_run(&byoc_partition_passes, options->passes, subject, &passes, diag, NULL)
             : BYOC_OK;
}

static byoc_status_t write_text(const byoc_string_t *text, const char *output, byoc_diag_t *diag) {
  if (text->failed) return byoc_diag_out_of_memory(diag);
  if (output != NULL) return byoc_file_write_atomic(output, text->data, text->size, 0644, diag);
  if (fwrite(text->data, 1, text->size, stdout) == text->size) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
}

// ---- host programs ----

static byoc_status_t write_host_files(const byoc_host_program_t *program, const char *path, byoc_diag_t *diag) {
  byoc_file_set_t files = {0};
  byoc_status_t status = byoc_host_program_add_files(program, path, &files, diag);
  if (status == BYOC_OK) status = byoc_file_set_commit(&files, diag);
  byoc_file_set_abandon(&files);
  return status;
}

static byoc_status_t opt_host(byoc_session_t *session, const opt_options_t *options, byoc_diag_t *diag) {
  byoc_host_program_t *program = session->setup.build.result.program;
  if (options->session.targets.count > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--target partitions modules; this is a host program");
  }
  BYOC_RETURN_IF_ERROR(run_passes(session, options, (byoc_pass_subject_t){.program = program}, diag));
  if (options->output != NULL && options->constants) return write_host_files(program, options->output, diag);
  byoc_string_t text;
  byoc_string_init(&text, session->allocator);
  const byoc_host_print_options_t print = {.elide_bytes = options->constants ? 0 : PRINTED_BYTES};
  byoc_host_program_print(program, &print, &text);
  byoc_status_t status = write_text(&text, options->output, diag);
  byoc_string_deinit(&text);
  return status;
}

// ---- modules ----

static byoc_status_t opt(byoc_session_t *session, const opt_options_t *options, byoc_diag_t *diag) {
  const byoc_output_t output = {"-o", options->output};
  BYOC_RETURN_IF_ERROR(byoc_outputs_check(&output, 1, options->file, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_open(&options->session, diag, session));
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(session, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(session, options->file, diag));
  if (session->setup.build.result.program != NULL) return opt_host(session, options, diag);
  const byoc_pass_subject_t subject = {.module = session->setup.build.module};
  BYOC_RETURN_IF_ERROR(run_passes(session, options, subject, diag));
  if (options->session.targets.count > 0 && !has_partition_pass(options->passes)) {
    BYOC_RETURN_IF_ERROR(byoc_place_greedy(session->setup.build.module, &session->setup.targets, diag,
                                           &session->setup.build.result.placement));
  }
  byoc_string_t text;
  byoc_string_init(&text, session->allocator);
  const byoc_print_options_t print = {.elide_bytes = options->constants ? 0 : PRINTED_BYTES};
  byoc_graph_print(session->setup.build.module, &print, &text);
  byoc_status_t status = write_text(&text, options->output, diag);
  byoc_string_deinit(&text);
  return status;
}

static void format_rows(bool are_host, byoc_string_t *out) {
  BYOC_FOR_EACH_PASS(pass, &byoc_partition_passes) {
    const bool is_host = pass->stage == BYOC_PASS_HOST;
    if (is_host == are_host) byoc_string_appendf(out, "  %-30s %s\n", pass->name, pass->summary);
  }
}

// The passes, as lines of --help.
static bool format_passes(byoc_string_t *out) {
  byoc_string_append(out, "passes:\n");
  format_rows(false, out);
  byoc_string_append(out, "\nPasses over functions marked Compiler take {compiler=NAME} after their name, stream-axis "
                          "takes\n{axis=NAME:parts}, and simplify takes {without=PASS}, which leaves that pass out. "
                          "The first four passes\nare the steps of partitioning by --target. "
                          "With --target and none of them, the module is\npartitioned after the passes.\n");
  byoc_string_append(out, "\npasses over host programs (.host files):\n");
  format_rows(true, out);
  return !out->failed;
}

int byoc_main_opt(int argc, char **argv) {
  opt_options_t options = {0};
  const byoc_option_row_t rows[] = {
      {"passes", 'p', BYOC_OPT_STRING, &options.passes, "LIST", "passes to run, separated by commas"},
      {"output", 'o', BYOC_OPT_STRING, &options.output, "FILE", "the output (default, and -: standard output)"},
      {"constants", 0, BYOC_OPT_FLAG, &options.constants, "",
       "print all data of constants, so that byoc can read the text back; without it constants of over 256 bytes print "
       "as "
       "'elided'. With -o, those of host programs go into FILE.data"},
      BYOC_TARGET_ROWS(options.session, "c"),
      BYOC_DIM_ROW(options.session),
      BYOC_STRICT_ROWS(options.session),
  };
  static const char *const operands[] = {
      "a module or host program: text form in a .byoc or .host file, or an .onnx file", NULL};
  byoc_diag_t diag = {0};
  byoc_string_t more;
  byoc_string_init(&more, byoc_allocator_system());
  byoc_status_t status = format_passes(&more) ? BYOC_OK : byoc_diag_out_of_memory(&diag);
  const byoc_usage_t usage = {
      .command = "byoc opt",
      .synopsis = "FILE [--passes=LIST] [--target TARGETS] [options]",
      .summary = "run passes over a module or host program in text form, or over a model, and print it",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = more.data,
  };
  byoc_session_t session = {0};
  bool done = false;
  if (status == BYOC_OK) status = byoc_options_parse(&usage, argc, argv, &diag, &options.file, &done);
  if (status == BYOC_OK && !done) {
    if (byoc_option_is_stdout(options.output)) options.output = NULL;
    status = opt(&session, &options, &diag);
    byoc_session_close(&session);
  }
  byoc_string_deinit(&more);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
