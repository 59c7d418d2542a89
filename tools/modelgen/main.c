// SPDX-License-Identifier: Apache-2.0
// byoc-modelgen: writes well-known models with seeded weights as ONNX files.
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/interrupt.h"
#include "core/base/standard_streams.h"
#include "core/base/string.h"
#include "modelgen.h"
#include "tools/common/options.h"
#include "tools/common/print.h"
#include "tools/common/report.h"

const modelgen_model_t modelgen_models[] = {
    {"mlp", "perceptron for 784 inputs, 10 classes; --layers hidden layers (2)", TAKES_LAYERS, 2, 64, 0, 0,
     modelgen_build_mlp},
    {"lenet", "LeNet-5 for 28x28 digits", 0, 0, 0, 0, 0, modelgen_build_lenet},
    {"resnet50", "ResNet-50 v1.5 for 224x224 images, 1000 classes", 0, 0, 0, 0, 0, modelgen_build_resnet50},
    {"mobilenet_v2", "MobileNet v2 for 224x224 images, 1000 classes", 0, 0, 0, 0, 0, modelgen_build_mobilenet_v2},
    {"shufflenet_v2", "ShuffleNet v2 for 224x224 images, 1000 classes", 0, 0, 0, 0, 0, modelgen_build_shufflenet_v2},
    {"densenet121", "DenseNet-121 for 224x224 images, 1000 classes", 0, 0, 0, 0, 0, modelgen_build_densenet121},
    {"bert_base", "BERT base encoder; --layers (12), --sequence tokens (128)",
     TAKES_LAYERS | TAKES_SEQUENCE | TAKES_VOCABULARY, 12, 512, 128, 512, modelgen_build_bert_base},
    {"gpt2_step", "one decoding step of GPT-2; --layers (12), --sequence tokens in the cache (128)",
     TAKES_LAYERS | TAKES_SEQUENCE | TAKES_VOCABULARY, 12, 12, 128, 1023, modelgen_build_gpt2_step},
    {"gpt2_cached",
     "the same with a cache of fixed size, of which a step writes one row; --layers, --sequence rows (128)",
     TAKES_LAYERS | TAKES_SEQUENCE | TAKES_VOCABULARY | FIXES_SEQUENCE, 12, 12, 128, 1024, modelgen_build_gpt2_cached},
    {"gpt2_nbits", "gpt2_step with weights of four bits, by MatMulNBits of com.microsoft; --layers, --sequence",
     TAKES_LAYERS | TAKES_SEQUENCE | TAKES_VOCABULARY, 12, 12, 128, 1023, modelgen_build_gpt2_nbits},
    {"gpt2_bytes", "the same with data rounded to bytes, accuracy_level 4; --layers, --sequence",
     TAKES_LAYERS | TAKES_SEQUENCE | TAKES_VOCABULARY, 12, 12, 128, 1023, modelgen_build_gpt2_bytes},
    {"gpt2_blocked", "gpt2_nbits by DequantizeLinear in blocks, for operator set 21; --layers, --sequence",
     TAKES_LAYERS | TAKES_SEQUENCE | TAKES_VOCABULARY | NEEDS_BLOCKS, 12, 12, 128, 1023, modelgen_build_gpt2_blocked},
    {"greedy_decoder", "greedy decoding in a Loop with a growing cache; prompt and steps vary", 0, 0, 0, 0, 0,
     modelgen_build_greedy_decoder},
    {"detector", "one-stage detector with NonMaxSuppression for images of any size", 0, 0, 0, 0, 0,
     modelgen_build_detector},
    {"lstm", "bidirectional LSTM over sequences of different lengths", 0, 0, 0, 0, 0, modelgen_build_lstm},
};
const size_t modelgen_model_count = sizeof(modelgen_models) / sizeof(modelgen_models[0]);

enum { MOST_OF_AN_OPTION = 1000000 };

typedef struct arguments_t {
  const char *name, *output;
  int64_t seed, layers, sequence, batch, vocabulary; // -1 of the last four: not given
  bool lists, external, done;
} arguments_t;

static void append_models(byoc_string_t *out) {
  for (size_t i = 0; i < modelgen_model_count; ++i) {
    byoc_string_appendf(out, "  %-14s %s\n", modelgen_models[i].name, modelgen_models[i].summary);
  }
}

static byoc_status_t parse(int argc, char **argv, arguments_t *arguments, byoc_diag_t *diag) {
  byoc_string_items_t words = {.count = 0};
  const byoc_option_row_t rows[] = {
      {"output", 'o', BYOC_OPT_STRING, &arguments->output, "FILE.onnx", "where to write"},
      {"seed", 0, BYOC_OPT_COUNT, &arguments->seed, "N", "seed of the weights (default: 0)"},
      {"batch", 0, BYOC_OPT_COUNT, &arguments->batch, "B",
       "batch size (default: 1); 0 leaves it symbolic, named 'batch'"},
      {"layers", 0, BYOC_OPT_COUNT, &arguments->layers, "L", "number of layers"},
      {"sequence", 0, BYOC_OPT_COUNT, &arguments->sequence, "S", "sequence length; 0 leaves it symbolic"},
      {"vocabulary", 0, BYOC_OPT_COUNT, &arguments->vocabulary, "V",
       "words that BERT and GPT-2 know (default: as many as they do)"},
      {"external", 0, BYOC_OPT_FLAG, &arguments->external, "",
       "put the weights into FILE.onnx.data, which models of more than 2 GiB need"},
      {"list", 0, BYOC_OPT_FLAG, &arguments->lists, "", "print the names of the models, one per line"},
  };
  byoc_string_t more;
  byoc_string_init(&more, byoc_allocator_system());
  byoc_string_append(&more,
                     "The model is one of operator set 17, or of the one that its line names, with seeded weights.\n"
                     "The same arguments give the same bytes on every machine.\n\nmodels:\n");
  append_models(&more);
  static const char *const operands[] = {NULL};
  const byoc_usage_t usage = {
      .command = "byoc-modelgen",
      .synopsis = "NAME -o FILE.onnx [options]",
      .summary = "write a well-known model with seeded weights as an ONNX file",
      .operands = operands,
      .more_operands = &words,
      .rows = rows,
      .row_count = sizeof(rows) / sizeof(rows[0]),
      .more = more.data,
  };
  *arguments = (arguments_t){.layers = -1, .sequence = -1, .batch = -1, .vocabulary = -1};
  byoc_status_t status = more.failed ? byoc_diag_out_of_memory(diag)
                                     : byoc_options_parse(&usage, argc, argv, diag, NULL, &arguments->done);
  byoc_string_deinit(&more);
  if (status == BYOC_OK && words.count > 1) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "one model at a time: '%s' and '%s'", words.items[0],
                           words.items[1]);
  }
  if (words.count == 1) arguments->name = words.items[0];
  return status;
}

static byoc_status_t find_model(const char *name, const modelgen_model_t **out_model, byoc_diag_t *diag) {
  const char *names[sizeof(modelgen_models) / sizeof(modelgen_models[0])];
  if (name == NULL) {
    byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "name a model");
    return byoc_diag_hint(diag, "byoc-modelgen --help lists them"), BYOC_INVALID_ARGUMENT;
  }
  for (size_t i = 0; i < modelgen_model_count; ++i) {
    names[i] = modelgen_models[i].name;
    if (strcmp(name, names[i]) != 0) continue;
    *out_model = &modelgen_models[i];
    return BYOC_OK;
  }
  const char *nearest = byoc_nearest_match(name, names, modelgen_model_count);
  byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "no model is named '%s'", name);
  byoc_diag_hint(diag, "%s%s%sbyoc-modelgen --list names them all", nearest != NULL ? "did you mean '" : "",
                 nearest != NULL ? nearest : "", nearest != NULL ? "'? " : "");
  return BYOC_INVALID_ARGUMENT;
}

// The value of an option of the model, or its default; refused where the model has no use for it or it is too large.
static byoc_status_t settle_count(const modelgen_model_t *model, const char *option, bool takes, int64_t given,
                                  int64_t otherwise, int64_t most, int64_t *out, byoc_diag_t *diag) {
  if (given >= 0 && !takes) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s has no --%s", model->name, option);
  }
  *out = given >= 0 ? given : otherwise;
  if (!takes || *out <= most) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--%s of %s is at most %lld", option, model->name,
                         (long long)most);
}

static byoc_status_t settle(const modelgen_model_t *model, const arguments_t *arguments, modelgen_t *gen,
                            byoc_diag_t *diag) {
  if (arguments->output == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "say where to write %s: -o %s.onnx", model->name, model->name);
  }
  BYOC_RETURN_IF_ERROR_IN(diag, byoc_file_check_place(arguments->output, diag), "-o");
  gen->random = (uint64_t)arguments->seed;
  BYOC_RETURN_IF_ERROR(settle_count(model, "batch", true, arguments->batch, 1, MOST_OF_AN_OPTION, &gen->batch, diag));
  BYOC_RETURN_IF_ERROR(settle_count(model, "layers", (model->takes & TAKES_LAYERS) != 0, arguments->layers,
                                    model->default_layers, model->max_layers, &gen->layers, diag));
  BYOC_RETURN_IF_ERROR(settle_count(model, "sequence", (model->takes & TAKES_SEQUENCE) != 0, arguments->sequence,
                                    model->default_sequence, model->max_sequence, &gen->sequence, diag));
  BYOC_RETURN_IF_ERROR(settle_count(model, "vocabulary", (model->takes & TAKES_VOCABULARY) != 0, arguments->vocabulary,
                                    0, MOST_OF_AN_OPTION, &gen->vocabulary, diag));
  if (gen->sequence > 0 || (model->takes & FIXES_SEQUENCE) == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s needs a --sequence", model->name);
}

static byoc_status_t keep_data_apart(byoc_onnx_model_t *model, const char *output, byoc_diag_t *diag) {
  char path[4096];
  if ((size_t)snprintf(path, sizeof(path), "%s.data", output) >= sizeof(path)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "the path '%s' is too long", output);
  }
  return byoc_onnx_model_keep_data_in(model, path, diag);
}

static byoc_status_t write_model(const modelgen_model_t *model, modelgen_t *gen, const char *path, bool external,
                                 byoc_diag_t *diag) {
  const bool needs_blocks = (model->takes & NEEDS_BLOCKS) != 0;
  gen->model = byoc_onnx_model_create(byoc_allocator_system(), model->name, needs_blocks ? 21 : 17);
  if (gen->model == NULL) return byoc_diag_out_of_memory(diag);
  if (needs_blocks) byoc_onnx_model_set_ir_version(gen->model, 10); // the first with integers of four bits and blocks
  gen->graph = byoc_onnx_model_graph(gen->model);
  byoc_status_t status = external ? keep_data_apart(gen->model, path, diag) : BYOC_OK;
  if (status == BYOC_OK) {
    model->build(gen);
    status = byoc_onnx_model_write(gen->model, path, diag);
  }
  byoc_onnx_model_destroy(gen->model);
  return status;
}

static byoc_status_t run(int argc, char **argv, byoc_diag_t *diag) {
  arguments_t arguments;
  const modelgen_model_t *model = NULL;
  modelgen_t gen = {0};
  BYOC_RETURN_IF_ERROR(parse(argc, argv, &arguments, diag));
  if (arguments.done) return BYOC_OK;
  if (arguments.lists) {
    for (size_t i = 0; i < modelgen_model_count; ++i) byoc_print("%s\n", modelgen_models[i].name);
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(find_model(arguments.name, &model, diag));
  BYOC_RETURN_IF_ERROR(settle(model, &arguments, &gen, diag));
  return write_model(model, &gen, arguments.output, arguments.external, diag);
}

int main(int argc, char **argv) {
  byoc_diag_t diag = {0};
  if (!byoc_standard_streams_open()) return BYOC_EXIT_FAILED;
  byoc_interrupt_install();
  byoc_status_t status = run(argc, argv, &diag);
  const int code = status == BYOC_OK ? BYOC_EXIT_OK : byoc_report(&diag, status);
  byoc_remove_temporaries();
  return byoc_finish_output(code);
}
