// SPDX-License-Identifier: Apache-2.0
// byoc run: runs a model or an artifact once.
#include <stdio.h>
#include <string.h>

#include "artifact.h"
#include "command.h"
#include "core/base/json.h"
#include "core/base/log.h"
#include "core/compile/outputs.h"
#include "core/loader/artifact_file.h"
#include "image.h"
#include "ranking.h"
#include "ranks.h"
#include "session.h"
#include "trace.h"

typedef struct run_options_t {
  byoc_session_options_t session;
  byoc_string_items_t inputs, expected, dumps, runtime_options;
  byoc_runtime_words_t runtime_words; // of runtime_options
  const char *file, *entry, *output_directory;
  const char *trace;            // a file, or "-"; NULL: none
  int64_t seed, max_iterations; // 0: no limit
  double timeout;               // seconds; 0: no limit
  int64_t top;                  // largest elements to print; 0: none
  const char *labels;           // a file with their names; NULL: none
  const char *mean, *scale;     // of pictures, as words; NULL: the default
  byoc_image_options_t image;
  double rtol, atol;
  bool evaluate, random, flush_subnormals;
  byoc_string_items_t files;               // one, or one for each rank
  const char *communicator_file;           // NULL: none
  const byoc_communicator_t *communicator; // of this rank; NULL: it is the only one
} run_options_t;

// ---- what all ways of running share ----

static void log_copied_bytes(uint64_t bytes) {
  byoc_log(BYOC_LOG_INFO, "the run copied %llu bytes unchanged", (unsigned long long)bytes);
}

// Less than a millisecond is one.
static uint64_t timeout_ms(const run_options_t *options) {
  const double ms = options->timeout * 1000;
  return ms >= 1e18 ? (uint64_t)1e18 : ms > 0 && ms < 1 ? 1 : (uint64_t)ms;
}

static byoc_status_t prepare_inputs(byoc_ports_t *inputs, const run_options_t *options, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_ports_read(inputs, &options->inputs, &options->image, diag));
  BYOC_RETURN_IF_ERROR(byoc_ports_set_dims(inputs, &options->session.dims, diag));
  if (options->random) BYOC_RETURN_IF_ERROR(byoc_ports_randomise(inputs, (uint64_t)options->seed, diag));
  return byoc_ports_check_filled(inputs, diag);
}

static byoc_status_t finish(const byoc_ports_t *outputs, const run_options_t *options, byoc_diag_t *diag) {
  if (options->output_directory != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_ports_save(outputs, options->output_directory, diag));
  }
  if (options->top > 0) {
    BYOC_RETURN_IF_ERROR(byoc_ranking_print(outputs, (size_t)options->top, options->labels, diag));
  } else if (options->expected.count == 0) {
    byoc_ports_print(outputs);
  }
  return byoc_ports_compare(outputs, &options->expected, options->rtol, options->atol, diag);
}

static void log_peak(uint64_t bytes) {
  byoc_log(BYOC_LOG_INFO, "the run had at most %llu bytes in use at once", (unsigned long long)bytes);
}

static bool is_traced(const run_options_t *options) {
  return options->trace != NULL || options->dumps.count > 0;
}

static byoc_status_t run_traced(byoc_artifact_run_t *run, const run_options_t *options, byoc_diag_t *diag) {
  byoc_trace_map_t map = {0};
  byoc_trace_writer_t writer = {0};
  const byoc_trace_files_t files = {options->file, options->trace, &options->dumps};
  byoc_status_t status = byoc_trace_map_of_artifact(run->artifact.table, diag, &map);
  if (status == BYOC_OK) status = byoc_trace_open(&writer, &files, &map, diag);
  if (status == BYOC_OK) {
    byoc_trace_inputs(&writer, &run->inputs);
    status = byoc_artifact_run_traced(run, byoc_trace_write, &writer, diag);
  }
  const byoc_status_t written = byoc_trace_close(&writer, status == BYOC_OK, status == BYOC_OK ? diag : NULL);
  byoc_trace_map_deinit(&map);
  return status == BYOC_OK ? written : status;
}

// The bytes that a run copies unchanged, from the metadata of the artifact.
static void log_copies(const byoc_artifact_t *table) {
  json_error_t error;
  json_t *root = byoc_json_load(table->metadata, table->metadata_size_bytes, 0, &error);
  const json_t *host = json_object_get(root, "host");
  const json_t *copied = json_object_get(host, "copied_bytes_in_place");
  if (copied != NULL && byoc_artifact_is_dynamic(table)) copied = json_object_get(host, "copied_bytes");
  if (copied != NULL) log_copied_bytes((uint64_t)json_integer_value(copied));
  json_decref(root);
}

// `model`: NULL, or the model that the artifact was made of for this run.
static byoc_status_t run_artifact(const char *path, const char *model, const run_options_t *options,
                                  byoc_diag_t *diag) {
  byoc_artifact_run_t run;
  const byoc_runtime_words_t *words = &options->runtime_words;
  const byoc_context_options_t context = {.struct_size = sizeof(context),
                                          .thread_count = (int32_t)options->session.thread_count,
                                          .communicator = options->communicator,
                                          .max_iterations = (uint64_t)options->max_iterations,
                                          .timeout_ms = timeout_ms(options),
                                          .flush_subnormals = options->flush_subnormals,
                                          .runtime_options = words->items,
                                          .runtime_option_count = words->count};
  BYOC_RETURN_IF_ERROR(
      byoc_artifact_run_open_with(path, model != NULL ? NULL : options->entry, model, &context, diag, &run));
  byoc_status_t status = prepare_inputs(&run.inputs, options, diag);
  if (status == BYOC_OK) {
    const byoc_foreign_t outer = byoc_artifact_run_enter(&run);
    status = is_traced(options) ? run_traced(&run, options, diag) : byoc_artifact_run_once(&run, diag);
    byoc_foreign_leave(&outer);
  }
  const byoc_artifact_t *table = run.artifact.table;
  const bool knows_peak = table->struct_size >= offsetof(byoc_artifact_t, peak_bytes) + sizeof(table->peak_bytes);
  if (status == BYOC_OK && knows_peak) log_peak(table->peak_bytes(run.context));
  if (status == BYOC_OK) log_copies(table);
  if (status == BYOC_OK) status = finish(&run.outputs, options, diag);
  byoc_artifact_run_close(&run);
  return status;
}

// ---- a model, compiled into a temporary artifact ----

static byoc_status_t run_compiled(byoc_session_t *session, const run_options_t *options, byoc_diag_t *diag) {
  byoc_build_temporary_t artifact;
  BYOC_RETURN_IF_ERROR(byoc_session_compose_temporary(session, diag, &artifact));
  byoc_status_t status = run_artifact(artifact.path, options->file, options, diag);
  byoc_build_temporary_remove(&artifact);
  return status;
}

// ---- a model, evaluated ----

static byoc_status_t evaluate(byoc_session_t *session, byoc_build_evaluation_t *evaluation, const byoc_ports_t *inputs,
                              const byoc_argument_t *in, byoc_argument_t *out, const run_options_t *options,
                              byoc_diag_t *diag) {
  if (!is_traced(options)) return byoc_evaluator_run_arguments(evaluation->evaluator, in, out, diag);
  const byoc_build_t *build = &session->setup.build;
  byoc_trace_map_t map = {0};
  byoc_trace_writer_t writer = {0};
  const byoc_trace_files_t files = {options->file, options->trace, &options->dumps};
  byoc_status_t status = byoc_trace_map_of_program(build->result.program, build->fused, build->fused_count, diag, &map);
  if (status == BYOC_OK) status = byoc_trace_open(&writer, &files, &map, diag);
  if (status == BYOC_OK) status = byoc_evaluator_trace(evaluation->evaluator, byoc_trace_write, &writer, diag);
  if (status == BYOC_OK) {
    byoc_trace_inputs(&writer, inputs);
    status = byoc_evaluator_run_arguments(evaluation->evaluator, in, out, diag);
  }
  const byoc_status_t written = byoc_trace_close(&writer, status == BYOC_OK, status == BYOC_OK ? diag : NULL);
  byoc_trace_map_deinit(&map);
  return status == BYOC_OK ? written : status;
}

static byoc_status_t run_evaluated(byoc_session_t *session, const run_options_t *options, byoc_diag_t *diag) {
  const byoc_host_program_t *program = session->setup.build.result.program;
  byoc_ports_t inputs = {0}, outputs = {0};
  byoc_argument_t *in = NULL, *out = NULL;
  byoc_build_evaluation_t evaluation = {0};
  int32_t threads = options->session.thread_count > 0 ? (int32_t)options->session.thread_count : 1;
  byoc_status_t status = byoc_ports_for_buffers(&inputs, program->inputs.data, program->inputs.count, diag);
  if (status == BYOC_OK) status = byoc_ports_for_buffers(&outputs, program->outputs.data, program->outputs.count, diag);
  if (status == BYOC_OK) status = prepare_inputs(&inputs, options, diag);
  if (status == BYOC_OK) status = byoc_build_evaluate(&session->setup.build, threads, diag, &evaluation);
  if (status == BYOC_OK) {
    status = byoc_evaluator_set_communicator(evaluation.evaluator, options->communicator, diag);
  }
  if (status == BYOC_OK) {
    byoc_evaluator_set_max_iterations(evaluation.evaluator, (uint64_t)options->max_iterations);
    byoc_evaluator_set_stop(evaluation.evaluator, timeout_ms(options), NULL);
    status = byoc_ports_arguments(&inputs, diag, &in);
  }
  if (status == BYOC_OK) status = byoc_ports_arguments(&outputs, diag, &out);
  if (status == BYOC_OK) status = evaluate(session, &evaluation, &inputs, in, out, options, diag);
  if (status == BYOC_OK) log_peak(byoc_evaluator_peak_bytes(evaluation.evaluator));
  if (status == BYOC_OK) log_copied_bytes(byoc_host_copied_bytes(program, false));
  if (status == BYOC_OK) status = byoc_ports_take(&outputs, out, diag);
  if (status == BYOC_OK) status = finish(&outputs, options, diag);
  byoc_free(byoc_allocator_system(), in);
  byoc_free(byoc_allocator_system(), out);
  byoc_build_evaluation_end(&evaluation);
  byoc_ports_deinit(&inputs);
  byoc_ports_deinit(&outputs);
  return status;
}

// The names of --input NAME=FILE.
static byoc_status_t list_given(const byoc_string_items_t *inputs, byoc_arena_t *arena, byoc_diag_t *diag,
                                byoc_string_items_t *out_names) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const char *equals = strchr(inputs->items[i], '=');
    if (equals == NULL || equals == inputs->items[i]) continue;
    const char *name = byoc_arena_format(arena, "%.*s", (int)(equals - inputs->items[i]), inputs->items[i]);
    if (name == NULL) return byoc_diag_out_of_memory(diag);
    if (strcmp(name, "*") != 0) out_names->items[out_names->count++] = name;
  }
  return BYOC_OK;
}

static byoc_status_t run_model(byoc_session_t *session, const run_options_t *options, byoc_diag_t *diag) {
  run_options_t bound = *options;
  byoc_arena_t names;
  byoc_arena_init(&names, byoc_allocator_system());
  bound.session.shows_steps = true;
  bound.session.installed_by_default = !options->evaluate; // the evaluator is for where there is no compiler
  byoc_status_t status = list_given(&options->inputs, &names, diag, &bound.session.given_inputs);
  if (status == BYOC_OK) status = byoc_session_open(&bound.session, diag, session); // which copies the names
  byoc_arena_deinit(&names);
  if (status != BYOC_OK) return status;
  BYOC_RETURN_IF_ERROR(byoc_session_parse_targets(session, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_read_model(session, options->file, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_compile(session, BYOC_BUILD_ALL, diag));
  bound.session.dims.count = 0; // the model was given them when it was read
  if (options->evaluate && options->flush_subnormals) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--flush-subnormals is for compiled runs, not for --evaluate");
  }
  return options->evaluate ? run_evaluated(session, &bound, diag) : run_compiled(session, &bound, diag);
}

static byoc_status_t run(byoc_session_t *session, run_options_t *options, byoc_diag_t *diag) {
  const byoc_output_t outputs[] = {
      {"--trace", options->trace != NULL && strcmp(options->trace, "-") != 0 ? options->trace : NULL}};
  BYOC_RETURN_IF_ERROR(byoc_outputs_check(outputs, sizeof(outputs) / sizeof(outputs[0]), options->file, diag));
  options->session.trace = is_traced(options);
  if (!byoc_artifact_is_meant(options->file)) {
    if (options->entry == NULL) return run_model(session, options, diag);
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--entry is for artifacts; this is a model");
  }
  if (options->session.verbose) byoc_log_set_level(BYOC_LOG_INFO);
  BYOC_RETURN_IF_ERROR(byoc_session_refuse_options(&options->session, "an artifact", diag));
  if (options->evaluate) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--evaluate is for models; this is an artifact");
  }
  return run_artifact(options->file, NULL, options, diag);
}

// ---- one rank of several ----

// NAME=FILE items in which %r stands for the rank.
static byoc_status_t put_rank(byoc_string_items_t *items, int32_t rank, byoc_arena_t *arena, byoc_diag_t *diag) {
  for (size_t i = 0; i < items->count; ++i) {
    const char *mark = strstr(items->items[i], "%r");
    if (mark == NULL) continue;
    items->items[i] =
        byoc_arena_format(arena, "%.*s%d%s", (int)(mark - items->items[i]), items->items[i], rank, mark + 2);
    if (items->items[i] == NULL) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static byoc_status_t check_files(const run_options_t *options, size_t ranks, byoc_diag_t *diag) {
  if (options->files.count == 1 || options->files.count == ranks) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%zu files are given for %zu ranks: one, or one for each",
                         options->files.count, ranks);
}

static byoc_status_t run_rank(void *self, const byoc_communicator_t *communicator, byoc_diag_t *diag) {
  run_options_t options = *(const run_options_t *)self;
  const size_t size = (size_t)communicator->size;
  byoc_session_t session = {0};
  byoc_arena_t texts;
  // Only a communicator knows how many it connects; of processes that byoc starts, that was checked before.
  if (options.communicator_file != NULL) BYOC_RETURN_IF_ERROR(check_files(&options, size, diag));
  if (options.session.rank_count != 0 && options.session.rank_count != (int64_t)size) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--ranks says %lld, and %zu are running",
                           (long long)options.session.rank_count, size);
  }
  options.communicator = communicator;
  options.file = options.files.items[options.files.count == 1 ? 0 : communicator->rank];
  options.session.rank = communicator->rank;
  options.session.rank_count = communicator->size;
  if (communicator->rank > 0) options.trace = NULL;
  if (communicator->rank > 0) options.dumps.count = 0;
  byoc_arena_init(&texts, byoc_allocator_system());
  byoc_status_t status = put_rank(&options.inputs, communicator->rank, &texts, diag);
  if (status == BYOC_OK) status = put_rank(&options.expected, communicator->rank, &texts, diag);
  if (options.output_directory != NULL) {
    options.output_directory = byoc_arena_format(&texts, "%s/%d", options.output_directory, communicator->rank);
    if (options.output_directory == NULL) status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) status = run(&session, &options, diag);
  if (status != BYOC_OK) byoc_diag_context(diag, status, "running %s", options.file);
  byoc_session_close(&session);
  byoc_arena_deinit(&texts);
  return status;
}

// Several ranks may have a file each.
static bool is_for_ranks(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    if (byoc_starts_with(argv[i], "--ranks") || byoc_starts_with(argv[i], "--communicator")) return true;
  }
  return false;
}

// The exit code.
static int run_ranks(run_options_t *options, byoc_diag_t *diag) {
  int code = BYOC_EXIT_OK;
  byoc_status_t status = BYOC_OK;
  if (options->communicator_file != NULL) {
    status = byoc_ranks_join(options->communicator_file, run_rank, options, diag);
  } else {
    status = check_files(options, (size_t)options->session.rank_count, diag);
    if (status == BYOC_OK) {
      status = byoc_ranks_fork((int32_t)options->session.rank_count, run_rank, options, diag, &code);
    }
  }
  return status == BYOC_OK ? code : byoc_report(diag, status);
}

// Reads the words of options that the table of options leaves as they are.
static byoc_status_t read_words(run_options_t *options, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_runtime_words_read(&options->runtime_options, diag, &options->runtime_words));
  options->session.runtime_values = (byoc_runtime_values_t){options->runtime_words.items, options->runtime_words.count};
  if (options->labels != NULL && options->top == 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--labels goes with --top");
  }
  if (options->mean != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_image_channels(options->mean, "mean", diag, options->image.mean));
  }
  if (options->scale == NULL) return BYOC_OK;
  return byoc_image_channels(options->scale, "scale", diag, options->image.scale);
}

int byoc_main_run(int argc, char **argv) {
  run_options_t options = {.rtol = 1e-3, .atol = 1e-4, .image = BYOC_IMAGE_DEFAULTS};
  const byoc_option_row_t rows[] = {
      {"input", 'i', BYOC_OPT_LIST, &options.inputs, "[NAME=]FILE",
       "values of an input: .npy, .pb (a TensorProto), .raw (elements only), .png, .jpg; or .npz for all inputs"},
      {"mean", 0, BYOC_OPT_STRING, &options.mean, "X[,Y,Z]",
       "of images, whose bytes become (byte - mean) * scale (default 0; three numbers: red, green, blue)"},
      {"scale", 0, BYOC_OPT_STRING, &options.scale, "X[,Y,Z]", "of images (default 1/255)"},
      {"top", 0, BYOC_OPT_COUNT, &options.top, "N", "print the N largest elements of each row of the outputs"},
      {"labels", 0, BYOC_OPT_STRING, &options.labels, "FILE", "with --top: their names, one in each line"},
      {"random", 0, BYOC_OPT_FLAG, &options.random, "", "random values for inputs that are not given"},
      {"seed", 0, BYOC_OPT_COUNT, &options.seed, "N", "seed of --random (default 0)"},
      {"expect", 'e', BYOC_OPT_LIST, &options.expected, "[NAME=]FILE.npy", "expected values of an output"},
      {"rtol", 0, BYOC_OPT_NUMBER, &options.rtol, "X", "relative tolerance of --expect (default 1e-3)"},
      {"atol", 0, BYOC_OPT_NUMBER, &options.atol, "X", "absolute tolerance of --expect (default 1e-4)"},
      {"output-dir", 0, BYOC_OPT_STRING, &options.output_directory, "DIR", "save each output as DIR/NAME.npy"},
      BYOC_ENTRY_ROW(options.entry, "run this one"),
      {"threads", 0, BYOC_OPT_THREADS, &options.session.thread_count, "N",
       "threads (default: the artifact's choice; 1 with --evaluate)"},
      {"max-iterations", 0, BYOC_OPT_COUNT, &options.max_iterations, "N",
       "end the run if a Loop begins more iterations, in models with dynamic shapes or trip counts (default: no "
       "limit)"},
      {"timeout", 0, BYOC_OPT_SECONDS, &options.timeout, "SECONDS",
       "end the run if it takes longer, without the time to load and to prepare it (default: no limit)"},
      {"flush-subnormals", 0, BYOC_OPT_FLAG, &options.flush_subnormals, "",
       "treat subnormal numbers as zeros; some processors take a hundred times as long for them"},
      BYOC_RUNTIME_OPTION_ROW(options.runtime_options),
      {"evaluate", 0, BYOC_OPT_FLAG, &options.evaluate, "", "interpret the model in this process, no artifact"},
      {"trace", 0, BYOC_OPT_MAYBE, &options.trace, "FILE",
       "list the result of each instruction: name, type, hash, range of values (byoc debug diff compares such files)"},
      {"dump", 0, BYOC_OPT_LIST, &options.dumps, "NAME[=FILE.npy]",
       "save a tensor inside the model (default: NAME.npy here); all=FOLDER: all of them, and their trace"},
      BYOC_TARGET_ROWS(options.session, BYOC_INSTALLED_TARGETS),
      BYOC_DIM_ROW(options.session),
      BYOC_STRICT_ROWS(options.session),
      BYOC_ALIAS_ROW(options.session),
      BYOC_SHARD_ROWS(options.session),
      {"communicator", 0, BYOC_OPT_STRING, &options.communicator_file, "FILE.so",
       "be one rank, connected by this library (share/byoc/communicators), for example under mpirun"},
      BYOC_AXIS_ROWS(options.session),
      BYOC_FALLBACK_ROW(options.session),
      BYOC_PLAN_ROWS(options.session, BYOC_COLLAGE_PLAN),
      BYOC_ERROR_ROWS(options.session),
      BYOC_CHECK_ROW(options.session),
  };
  static const char *const operands[] = {"an artifact (.so) or a model (.onnx)", NULL};
  const byoc_usage_t usage = {
      .command = "byoc run",
      .synopsis = "ARTIFACT|MODEL ... [--input [NAME=]FILE] [--expect [NAME=]FILE.npy] [options]",
      .summary = "run an artifact or a model once, and compare its results",
      .operands = operands,
      .more_operands = is_for_ranks(argc, argv) ? &options.files : NULL,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "With -v it reports the run's peak of memory and the copied bytes, and the steps of the build.\n"
          "Symbolic dimensions take their values from the given inputs; --dim fixes one, and gives --random its size.\n"
          "A model is compiled into a temporary artifact first, or interpreted with --evaluate.\n"
          "Names are those of the model. In file names '/', ':', leading dots and unsafe characters become '_'.\n"
          "A sequence is a folder of 0.npy, 1.npy, ...: --input NAME=FOLDER, DIR/NAME. An optional is its value;\n"
          "--input NAME= gives an empty one, and an empty output saves nothing.\n"
          "--trace and --dump need an artifact that was built with --trace. Values in a loop go into one file for\n"
          "each iteration: NAME@ITERATION.npy.\n"
          "--ranks N starts a process for each of N ranks, which share memory. The files are one artifact for each\n"
          "rank (byoc build --shard --rank), one artifact for all, or a model with --shard. In NAME=FILE.npy, %r "
          "means\n"
          "the rank; outputs go to DIR/RANK/NAME.npy. The first rank prints.\n",
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  bool done = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &options.file, &done);
  if (status == BYOC_OK && !done) status = read_words(&options, &diag);
  if (status == BYOC_OK && !done && usage.more_operands != NULL) {
    const int code = run_ranks(&options, &diag);
    byoc_runtime_words_deinit(&options.runtime_words);
    return code;
  }
  if (status == BYOC_OK && !done) {
    status = run(&session, &options, &diag);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "running %s", options.file);
    byoc_session_close(&session);
  }
  byoc_runtime_words_deinit(&options.runtime_words);
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
