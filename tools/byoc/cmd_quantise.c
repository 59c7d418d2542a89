// SPDX-License-Identifier: Apache-2.0
// byoc quantise: makes a model of integers from a model of floats.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "command.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/base/visible.h"
#include "core/compile/outputs.h"
#include "core/quantise/quantise.h"
#include "session.h"
#include "table.h"
#include "tools/common/json_print.h"
#include "tools/common/print.h"

enum { GENERATED_SAMPLES = 8, GROUP = 32, MOST_GROUP = 1024 };

typedef struct quantise_words_t {
  byoc_session_options_t session;
  byoc_string_items_t excluded;
  const char *file, *output, *samples, *scheme, *ranges, *activations, *smooth, *mean, *scale, *json;
  double percentile, least_db;
  int64_t sample_count, group;
  bool is_symmetric, per_tensor, has_feedback, is_dequantise, no_table;
  byoc_image_options_t image;
} quantise_words_t;

// ---- words ----

// The index of a word in a list of rows; an error names the list.
static byoc_status_t find_word(const char *option, const char *word, const char *const *words, size_t count,
                               byoc_diag_t *diag, int *out_index) {
  char list[160] = "";
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    *out_index = (int)i;
    if (strcmp(words[i], word) == 0) return BYOC_OK;
    used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "", words[i]);
  }
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s takes one of %s, not '%s'", option, list, word);
}

#define ROW_WORD(NAME, word, help) word,
static const char *const schemes[] = {BYOC_QUANTISE_SCHEME_LIST(ROW_WORD)};
static const char *const methods[] = {BYOC_RANGE_METHOD_LIST(ROW_WORD)};
#undef ROW_WORD

static byoc_status_t read_smoothing(const quantise_words_t *words, byoc_diag_t *diag, double *out_alpha) {
  char *end;
  *out_alpha = 0;
  if (words->smooth == NULL) return BYOC_OK;
  *out_alpha = strcmp(words->smooth, "-") == 0 ? 0.5 : strtod(words->smooth, &end);
  if (strcmp(words->smooth, "-") == 0 || (*end == '\0' && *out_alpha > 0 && *out_alpha < 1)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--smooth takes a number between 0 and 1, not '%s'",
                         words->smooth);
}

static byoc_status_t read_words(const quantise_words_t *words, byoc_diag_t *diag, byoc_quantise_options_t *out) {
  static const char *const types[] = {"u8", "i8", "u16", "i16"};
  static const byoc_dtype_t dtypes[] = {BYOC_DTYPE_U8, BYOC_DTYPE_I8, BYOC_DTYPE_U16, BYOC_DTYPE_I16};
  int scheme, method, type;
  BYOC_RETURN_IF_ERROR(find_word("scheme", words->scheme, schemes, BYOC_QUANTISE_SCHEME_COUNT, diag, &scheme));
  BYOC_RETURN_IF_ERROR(find_word("ranges", words->ranges, methods, BYOC_RANGE_METHOD_COUNT, diag, &method));
  BYOC_RETURN_IF_ERROR(find_word("activations", words->activations, types, 4, diag, &type));
  *out = (byoc_quantise_options_t){.scheme = (byoc_quantise_scheme_t)scheme,
                                   .activations = dtypes[type],
                                   .range = {.method = (byoc_range_method_t)method, .percentile = words->percentile},
                                   .is_symmetric = words->is_symmetric,
                                   .per_tensor = words->per_tensor,
                                   .group = (size_t)words->group,
                                   .has_feedback = words->has_feedback,
                                   .is_dequantise = words->is_dequantise,
                                   .excluded = words->excluded.items,
                                   .excluded_count = words->excluded.count,
                                   .least_db = words->least_db,
                                   .no_report = words->no_table,
                                   .thread_count = words->session.thread_count};
  BYOC_RETURN_IF_ERROR(read_smoothing(words, diag, &out->smoothing));
  if (!(words->percentile > 50 && words->percentile <= 100)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--percentile takes a number above 50, up to 100, not %g",
                           words->percentile);
  }
  const int64_t group = words->group;
  if (group < 16 || group > MOST_GROUP || (group & (group - 1)) != 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--block-size takes a power of two from 16 to %d, not %lld",
                           MOST_GROUP, (long long)group);
  }
  return BYOC_OK;
}

// An option that the scheme does not have would be ignored silently.
static byoc_status_t check_scheme(const quantise_words_t *words, const byoc_quantise_options_t *options,
                                  byoc_diag_t *diag) {
  const bool is_int8 = options->scheme == BYOC_QUANTISE_INT8;
  const bool is_groups = options->scheme == BYOC_QUANTISE_INT8_WEIGHTS || options->scheme == BYOC_QUANTISE_INT4_WEIGHTS;
  const struct {
    const char *name;
    bool given, fits;
  } rows[] = {
      {"ranges", strcmp(words->ranges, "minmax") != 0, is_int8},
      {"activations", strcmp(words->activations, "u8") != 0, is_int8},
      {"smooth", words->smooth != NULL, is_int8},
      {"per-tensor", words->per_tensor, is_int8},
      {"symmetric", words->is_symmetric, is_int8 || is_groups},
      {"block-size", words->group != GROUP, is_groups},
      {"gptq", words->has_feedback, is_groups},
      {"dequantise", words->is_dequantise, is_groups},
      {"least-snr", words->least_db > 0, is_int8 || is_groups},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (!rows[i].given || rows[i].fits) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s is not for --scheme %s", rows[i].name, words->scheme);
  }
  return BYOC_OK;
}

// ---- samples ----

// Runs are needed for ranges and feedback; for the comparison they are made if samples are given.
static bool needs_samples(const byoc_quantise_options_t *options) {
  return options->scheme == BYOC_QUANTISE_INT8 || options->has_feedback;
}

static byoc_status_t take_samples(const quantise_words_t *words, const byoc_graph_module_t *module,
                                  byoc_quantise_options_t *options, byoc_diag_t *diag, byoc_calibration_t *samples) {
  *samples = (byoc_calibration_t){0};
  if (words->samples == NULL && !needs_samples(options)) return BYOC_OK;
  byoc_ports_t inputs = {0};
  byoc_status_t status = byoc_ports_for_function(&inputs, byoc_graph_module_main(module), diag);
  const size_t count = (size_t)words->sample_count;
  if (status == BYOC_OK && words->samples != NULL) {
    status = byoc_calibration_read(&inputs, words->samples, &words->image, count, diag, samples);
    byoc_diag_context(diag, status, "reading samples");
  } else if (status == BYOC_OK) {
    byoc_log(BYOC_LOG_WARNING,
             "there is no --calibrate: scales come from made up inputs, in [-1, 1), and fit real ones "
             "by chance only");
    status = byoc_calibration_generate(&inputs, count > 0 ? count : GENERATED_SAMPLES, diag, samples);
  }
  byoc_ports_deinit(&inputs);
  options->samples = samples->arguments;
  options->sample_count = samples->count;
  return status;
}

// ---- the report ----

static void print_db(byoc_table_t *table, double db) {
  if (isnan(db)) {
    byoc_table_cell(table, "-");
  } else if (isinf(db)) {
    byoc_table_cell(table, db > 0 ? "exact" : "-inf");
  } else {
    byoc_table_cell(table, "%.1f", db);
  }
}

static void format_layers(const byoc_quantise_report_t *report, byoc_string_t *out) {
  static const byoc_table_column_t columns[] = {{"layer", false, true},      {"operator", false, false},
                                                {"weights dB", true, false}, {"alone dB", true, false},
                                                {"whole dB", true, false},   {"", false, false}};
  byoc_table_t table;
  byoc_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]), byoc_allocator_system());
  for (size_t i = 0; i < report->layer_count; i++) {
    const byoc_quantise_layer_t *layer = &report->layers[i];
    byoc_string_t name;
    byoc_string_init(&name, byoc_allocator_system());
    byoc_string_append_shown(&name, layer->name);
    byoc_table_cell(&table, "%s", name.data);
    byoc_string_deinit(&name);
    byoc_table_cell(&table, "%s", layer->op);
    print_db(&table, layer->weights_db);
    print_db(&table, layer->alone_db);
    print_db(&table, layer->whole_db);
    byoc_table_cell(&table, "%s", layer->is_left_out ? "left out" : layer->is_proposed ? "weak" : "");
  }
  byoc_table_print(&table, 0, out);
  byoc_table_deinit(&table);
}

static void format_proposal(const byoc_quantise_report_t *report, byoc_string_t *out) {
  bool is_first = true;
  for (size_t i = 0; i < report->layer_count; i++) {
    const byoc_quantise_layer_t *layer = &report->layers[i];
    if (!layer->is_proposed || layer->is_left_out) continue;
    byoc_string_append(out, is_first ? "proposed:" : "");
    byoc_string_append(out, " --exclude '");
    byoc_string_append_shown(out, layer->name);
    byoc_string_append(out, "'");
    is_first = false;
  }
  if (!is_first) byoc_string_append(out, "\n");
}

static byoc_status_t print_report(const byoc_quantise_report_t *report, const quantise_words_t *words,
                                  byoc_diag_t *diag) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  if (report->layer_count > 0 && !words->no_table) format_layers(report, &text);
  for (size_t i = 0; i < report->output_count; i++) {
    const byoc_quantise_output_t *output = &report->outputs[i];
    byoc_string_append(&text, "output ");
    byoc_string_append_shown(&text, output->name);
    if (isnan(output->whole_db)) {
      byoc_string_append(&text, ": it has NaN or infinite values in some sample, and its error is not known\n");
    } else if (isinf(output->whole_db) && output->whole_db > 0) {
      byoc_string_append(&text, ": exact\n");
    } else {
      byoc_string_appendf(&text, ": %.1f dB, relative error %.2e\n", output->whole_db, output->relative_error);
    }
  }
  format_proposal(report, &text);
  const char *what = strstr(words->scheme, "16-") != NULL ? "constant" : "product";
  byoc_string_appendf(&text, "%s: %zu %s%s %s, %zu in floats", words->output, report->product_count, what,
                      byoc_plural(report->product_count), what[0] == 'p' ? "quantised" : "stored", report->float_count);
  if (report->smoothed_count > 0) {
    byoc_string_appendf(&text, ", %zu input%s smoothed", report->smoothed_count, byoc_plural(report->smoothed_count));
  }
  byoc_string_appendf(&text, "; constants %.2f MiB, were %.2f; operator set %lld\n",
                      (double)report->bytes_after / 1048576, (double)report->bytes_before / 1048576,
                      (long long)report->opset);
  const byoc_status_t status = byoc_print_text(&text, diag);
  byoc_string_deinit(&text);
  return status;
}

// JSON has no infinity: null stands for what is not a number, and 1e9 for a result without an error.
static json_t *error_to_json(double error) {
  return isnan(error) ? json_null() : json_real(isinf(error) ? (error > 0 ? 1e9 : -1e9) : error);
}

static json_t *report_to_json(const byoc_quantise_report_t *report, const quantise_words_t *words,
                              const byoc_calibration_t *samples) {
  json_t *layers = json_array(), *outputs = json_array();
  for (size_t i = 0; i < report->layer_count; i++) {
    const byoc_quantise_layer_t *layer = &report->layers[i];
    json_array_append_new(layers,
                          json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:b, s:b}", "name", byoc_json_string(layer->name),
                                    "operator", layer->op, "result", byoc_json_string(layer->result), "weights_db",
                                    error_to_json(layer->weights_db), "alone_db", error_to_json(layer->alone_db),
                                    "whole_db", error_to_json(layer->whole_db), "proposed", layer->is_proposed,
                                    "left_out", layer->is_left_out));
  }
  for (size_t i = 0; i < report->output_count; i++) {
    const byoc_quantise_output_t *output = &report->outputs[i];
    json_array_append_new(outputs, json_pack("{s:o, s:o, s:o}", "name", byoc_json_string(output->name), "whole_db",
                                             error_to_json(output->whole_db), "relative_error",
                                             error_to_json(output->relative_error)));
  }
  return json_pack("{s:o, s:s, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "model",
                   byoc_json_string(words->output), "scheme", words->scheme, "samples", (json_int_t)samples->count,
                   "generated", samples->is_generated, "quantised", (json_int_t)report->product_count, "in_floats",
                   (json_int_t)report->float_count, "smoothed", (json_int_t)report->smoothed_count, "opset",
                   (json_int_t)report->opset, "constant_bytes_before", (json_int_t)report->bytes_before,
                   "constant_bytes", (json_int_t)report->bytes_after, "layers", layers, "outputs", outputs);
}

static byoc_status_t report(const byoc_quantise_report_t *results, const quantise_words_t *words,
                            const byoc_calibration_t *samples, byoc_diag_t *diag) {
  if (words->json == NULL) return print_report(results, words, diag);
  json_t *json = report_to_json(results, words, samples);
  if (byoc_option_is_stdout(words->json)) return byoc_json_print(json, diag);
  char *text = byoc_json_dump(json, JSON_INDENT(2));
  json_decref(json);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  const byoc_status_t status = byoc_file_write_atomic(words->json, text, strlen(text), 0644, diag);
  free(text);
  return status == BYOC_OK ? print_report(results, words, diag) : status;
}

// ---- the work ----

typedef struct watcher_t {
  byoc_progress_t progress;
  bool is_open;
} watcher_t;

static void end_step(watcher_t *watcher) {
  if (watcher->is_open) byoc_progress_end(&watcher->progress);
  watcher->is_open = false;
}

static void begin_step(void *self, const char *step, int64_t total) {
  watcher_t *watcher = self;
  end_step(watcher);
  byoc_log(BYOC_LOG_INFO, "%s", step);
  byoc_progress_begin(&watcher->progress, step, total);
  watcher->is_open = true;
}

static void advance(void *self, int64_t done) {
  byoc_progress_step(&((watcher_t *)self)->progress, done, NULL);
}

static byoc_status_t quantise(byoc_session_t *session, const quantise_words_t *words, byoc_quantise_options_t *options,
                              byoc_diag_t *diag) {
  const bool has_file = words->json != NULL && !byoc_option_is_stdout(words->json);
  const byoc_output_t outputs[] = {{"-o", words->output}, {"--json", has_file ? words->json : NULL}};
  BYOC_RETURN_IF_ERROR(byoc_outputs_check(outputs, 2, words->file, diag));
  BYOC_RETURN_IF_ERROR(byoc_session_open(&words->session, diag, session));
  options->dims = session->settings.dims;
  options->dim_count = session->settings.dim_count;
  watcher_t watcher = {.is_open = false};
  options->begin = begin_step;
  options->advance = advance;
  options->self = &watcher;
  byoc_quantise_t *work = NULL;
  byoc_calibration_t samples = {0};
  byoc_status_t status = byoc_quantise_open(words->file, options, session->registry, diag, &work);
  if (status == BYOC_OK) status = take_samples(words, byoc_quantise_module(work), options, diag, &samples);
  if (status == BYOC_OK) status = byoc_quantise_run(work, options, diag);
  end_step(&watcher);
  if (status == BYOC_OK) status = byoc_quantise_write(work, words->output, diag);
  if (status == BYOC_OK) status = report(byoc_quantise_report(work), words, &samples, diag);
  byoc_quantise_close(work);
  byoc_calibration_deinit(&samples);
  return status;
}

static byoc_status_t run(byoc_session_t *session, quantise_words_t *words, byoc_diag_t *diag) {
  byoc_quantise_options_t options;
  BYOC_RETURN_IF_ERROR(read_words(words, diag, &options));
  BYOC_RETURN_IF_ERROR(check_scheme(words, &options, diag));
  words->image = (byoc_image_options_t)BYOC_IMAGE_DEFAULTS;
  if (words->mean != NULL) BYOC_RETURN_IF_ERROR(byoc_image_channels(words->mean, "--mean", diag, words->image.mean));
  if (words->scale != NULL)
    BYOC_RETURN_IF_ERROR(byoc_image_channels(words->scale, "--scale", diag, words->image.scale));
  if (words->output == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "-o FILE.onnx is missing: the quantised model");
  }
  return quantise(session, words, &options, diag);
}

int byoc_main_quantise(int argc, char **argv) {
  quantise_words_t words = {
      .scheme = "int8", .ranges = "minmax", .activations = "u8", .percentile = 99.99, .group = GROUP};
  const byoc_option_row_t rows[] = {
      {"output", 'o', BYOC_OPT_STRING, &words.output, "FILE", "the quantised model"},
      {"calibrate", 0, BYOC_OPT_STRING, &words.samples, "PATH",
       "samples of the inputs: a folder, a .npz file, or a file for a single input (default: made up)"},
      {"samples", 0, BYOC_OPT_COUNT, &words.sample_count, "N", "use the first N (default: all; made up: 8)"},
      {"scheme", 's', BYOC_OPT_STRING, &words.scheme, "SCHEME",
       "int8 (default), int8-weights, int4-weights, f16-weights or bf16-weights"},
      {"ranges", 0, BYOC_OPT_STRING, &words.ranges, "HOW",
       "ranges of activations: minmax (default), percentile or entropy"},
      {"percentile", 0, BYOC_OPT_NUMBER, &words.percentile, "P", "percent of the values in the range (default: 99.99)"},
      {"activations", 0, BYOC_OPT_STRING, &words.activations, "TYPE", "u8 (default), i8, u16 or i16"},
      {"symmetric", 0, BYOC_OPT_FLAG, &words.is_symmetric, "", "zero points in the middle"},
      {"per-tensor", 0, BYOC_OPT_FLAG, &words.per_tensor, "", "one scale for all weights of a layer, not by channel"},
      {"smooth", 0, BYOC_OPT_MAYBE, &words.smooth, "ALPHA",
       "move outliers of activations into weights (SmoothQuant; default of ALPHA: 0.5)"},
      {"block-size", 0, BYOC_OPT_COUNT, &words.group, "N",
       "weights with one scale in int8-weights and int4-weights "
       "(default: 32)"},
      {"gptq", 0, BYOC_OPT_FLAG, &words.has_feedback, "", "round these weights with error feedback (GPTQ)"},
      {"dequantise", 0, BYOC_OPT_FLAG, &words.is_dequantise, "",
       "write them as DequantizeLinear with blocks, not as MatMulNBits"},
      {"exclude", 0, BYOC_OPT_LIST, &words.excluded, "NAME", "keep this layer in floats: its node or its result"},
      {"least-snr", 0, BYOC_OPT_NUMBER, &words.least_db, "DB", "keep layers in floats whose signal to noise is lower"},
      {"no-table", 0, BYOC_OPT_FLAG, &words.no_table, "", "do not measure errors"},
      {"json", 0, BYOC_OPT_MAYBE, &words.json, "FILE", "the table as JSON, in a file or instead of the text"},
      {"mean", 0, BYOC_OPT_STRING, &words.mean, "M", "pictures: subtract it from bytes, M or R,G,B (default: 0)"},
      {"scale", 0, BYOC_OPT_STRING, &words.scale, "S", "pictures: multiply by it, S or R,G,B (default: 1/255)"},
      {"threads", 0, BYOC_OPT_THREADS, &words.session.thread_count, "N", "threads of the runs (default: all cores)"},
      {"plugin", 0, BYOC_OPT_LIST, &words.session.plugins, "FILE", "load this plugin too"},
      {"verbose", 'v', BYOC_OPT_FLAG, &words.session.verbose, "", "report each step"},
      {"dim", 0, BYOC_OPT_LIST, &words.session.dims, "NAME=VALUE", "give a symbolic dimension its value in the runs"},
  };
  static const char *const operands[] = {"a model of floats (.onnx)", NULL};
  const byoc_usage_t usage = {
      .command = "byoc quantise",
      .synopsis = "MODEL.onnx --calibrate PATH -o FILE.onnx [options]",
      .summary = "make a model of integers from a model of floats and samples of its inputs",
      .operands = operands,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more =
          "The result is standard ONNX: int8 has QuantizeLinear and DequantizeLinear (operator set 13; 21 for 16\n"
          "bits); weights in blocks have com.microsoft.MatMulNBits, or with --dequantise DequantizeLinear of operator\n"
          "set 21; f16 and bf16 have Cast (bf16: operator set 13). Older models are raised to it.\n"
          "The table has signal to noise in decibels: of weights, of each layer alone on the inputs that it has in\n"
          "the model of floats, and in the whole quantised model. docs/quantise.md explains samples and the table.\n",
  };
  byoc_diag_t diag = {0};
  byoc_session_t session = {0};
  bool done = false;
  byoc_status_t status = byoc_options_parse(&usage, argc, argv, &diag, &words.file, &done);
  if (status == BYOC_OK && !done) {
    status = run(&session, &words, &diag);
    if (status != BYOC_OK) byoc_diag_context(&diag, status, "quantising %s", words.file);
    byoc_session_close(&session);
  }
  return status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
}
