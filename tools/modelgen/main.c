// byoc-modelgen: writes well-known models with seeded weights as ONNX files.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/interrupt.h"
#include "core/base/standard_streams.h"
#include "modelgen.h"

const modelgen_model_t modelgen_models[] = {
    {"mlp", "perceptron for 784 inputs, 10 classes; --layers hidden layers (2)", TAKES_LAYERS, 2, 64, 0, 0,
     modelgen_build_mlp},
    {"lenet", "LeNet-5 for 28x28 digits", 0, 0, 0, 0, 0, modelgen_build_lenet},
    {"resnet50", "ResNet-50 v1.5 for 224x224 images, 1000 classes", 0, 0, 0, 0, 0, modelgen_build_resnet50},
    {"mobilenet_v2", "MobileNet v2 for 224x224 images, 1000 classes", 0, 0, 0, 0, 0, modelgen_build_mobilenet_v2},
    {"bert_base", "BERT base encoder; --layers (12), --sequence tokens (128)", TAKES_LAYERS | TAKES_SEQUENCE, 12, 48,
     128, 512, modelgen_build_bert_base},
    {"gpt2_step", "one decoding step of GPT-2; --layers (12), --sequence tokens in the cache (128)",
     TAKES_LAYERS | TAKES_SEQUENCE, 12, 12, 128, 1023, modelgen_build_gpt2_step},
    {"gpt2_cached",
     "the same with a cache of fixed size, of which a step writes one row; --layers, --sequence rows (128)",
     TAKES_LAYERS | TAKES_SEQUENCE | FIXES_SEQUENCE, 12, 12, 128, 1024, modelgen_build_gpt2_cached},
    {"gpt2_nbits", "gpt2_step with weights of four bits, by MatMulNBits of com.microsoft; --layers, --sequence",
     TAKES_LAYERS | TAKES_SEQUENCE, 12, 12, 128, 1023, modelgen_build_gpt2_nbits},
    {"gpt2_bytes", "the same with data rounded to bytes, accuracy_level 4; --layers, --sequence",
     TAKES_LAYERS | TAKES_SEQUENCE, 12, 12, 128, 1023, modelgen_build_gpt2_bytes},
    {"gpt2_blocked", "gpt2_nbits by DequantizeLinear in blocks, for operator set 21; --layers, --sequence",
     TAKES_LAYERS | TAKES_SEQUENCE | NEEDS_BLOCKS, 12, 12, 128, 1023, modelgen_build_gpt2_blocked},
    {"greedy_decoder", "greedy decoding in a Loop with a growing cache; prompt and steps vary", 0, 0, 0, 0, 0,
     modelgen_build_greedy_decoder},
    {"detector", "one-stage detector with NonMaxSuppression for images of any size", 0, 0, 0, 0, 0,
     modelgen_build_detector},
    {"lstm", "bidirectional LSTM over sequences of different lengths", 0, 0, 0, 0, 0, modelgen_build_lstm},
};
const size_t modelgen_model_count = sizeof(modelgen_models) / sizeof(modelgen_models[0]);

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_MISUSE = 2 };

static void print_models(FILE *stream) {
  for (size_t i = 0; i < modelgen_model_count; i++) {
    fprintf(stream, "  %-14s %s\n", modelgen_models[i].name, modelgen_models[i].summary);
  }
}

static void print_help(FILE *stream) {
  fputs("usage: byoc-modelgen NAME -o FILE.onnx [--seed N] [--batch B] [--layers L] [--sequence S]\n"
        "\n"
        "Writes a model of ONNX operator set 17, or of the one that its line names, with seeded weights. The same\n"
        "arguments give the same bytes on every machine.\n"
        "\n"
        "  -o, --output FILE  where to write\n"
        "  --seed N           seed of the weights (0)\n"
        "  --batch B          batch size (1); 0 leaves it symbolic, named 'batch'\n"
        "  --layers L         number of layers\n"
        "  --sequence S       sequence length; 0 leaves it symbolic\n"
        "  --list             print the names of the models, one per line\n"
        "  --help             print this text\n"
        "\n"
        "models:\n",
        stream);
  print_models(stream);
}

static int finish_output(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_FINE;
  fprintf(stderr, "byoc-modelgen: error: writing standard output: %s\n", strerror(errno));
  return EXIT_FAILED;
}

static int misuse(const char *format, const char *what, const char *value) {
  fprintf(stderr, "byoc-modelgen: error: ");
  fprintf(stderr, format, what, value);
  fprintf(stderr, "\nTry 'byoc-modelgen --help'.\n");
  return EXIT_MISUSE;
}

typedef struct arguments_t {
  const char *name, *output;
  modelgen_options_t options;
  bool help, list;
} arguments_t;

static const char *const option_names[] = {"--output", "--seed", "--layers", "--sequence",
                                           "--batch",  "--list", "--help"};

static bool parse_number(const char *text, uint64_t *out_value) {
  char *end = NULL;
  errno = 0;
  *out_value = strtoull(text, &end, 0);
  return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

// Stores the value of a numeric option; false if there is no such option.
static int store_number(arguments_t *arguments, const char *option, const char *value, bool *out_known) {
  *out_known = true;
  int64_t *to = strcmp(option, "--layers") == 0     ? &arguments->options.layers
                : strcmp(option, "--sequence") == 0 ? &arguments->options.sequence
                : strcmp(option, "--batch") == 0    ? &arguments->options.batch
                                                    : NULL;
  if (!to && strcmp(option, "--seed") != 0) {
    *out_known = false;
    return EXIT_FINE;
  }
  uint64_t number;
  if (!parse_number(value, &number) || (to && number > 1000000)) {
    return misuse("%s needs a whole number%s", option, to ? " up to 1000000" : "");
  }
  if (to) {
    *to = (int64_t)number;
  } else {
    arguments->options.seed = number;
  }
  return EXIT_FINE;
}

static int unknown_option(const char *option) {
  const char *nearest = byoc_nearest_match(option, option_names, sizeof(option_names) / sizeof(option_names[0]));
  if (nearest) return misuse("unknown option '%s'; did you mean '%s'?", option, nearest);
  return misuse("unknown option '%s'%s", option, "");
}

static int parse_arguments(int argc, char **argv, arguments_t *arguments) {
  *arguments = (arguments_t){.options = {.layers = -1, .sequence = -1, .batch = -1}};
  for (int i = 1; i < argc; i++) {
    const char *argument = argv[i];
    if (argument[0] != '-') {
      if (arguments->name) return misuse("one model at a time: '%s' and '%s'", arguments->name, argument);
      arguments->name = argument;
      continue;
    }
    if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
      arguments->help = true;
      return EXIT_FINE;
    }
    if (strcmp(argument, "--list") == 0) {
      arguments->list = true;
      continue;
    }
    // "--option value" or "--option=value".
    char option[32];
    const char *equals = strncmp(argument, "--", 2) == 0 ? strchr(argument, '=') : NULL;
    const size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    snprintf(option, sizeof(option), "%.*s", (int)(length < 31 ? length : 31), argument);
    bool known = strcmp(option, "-o") == 0;
    for (size_t k = 0; k < 5; k++) known |= strcmp(option, option_names[k]) == 0;
    if (!known) return unknown_option(option);
    const char *value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
    if (!value || value[0] == '\0') return misuse("%s needs a value%s", option, "");
    if (strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0) {
      arguments->output = value;
      continue;
    }
    const int code = store_number(arguments, option, value, &known);
    if (code != EXIT_FINE) return code;
  }
  return EXIT_FINE;
}

static int find_model(const char *name, const modelgen_model_t **out_model) {
  const char *names[sizeof(modelgen_models) / sizeof(modelgen_models[0])];
  for (size_t i = 0; i < modelgen_model_count; i++) {
    names[i] = modelgen_models[i].name;
    if (strcmp(name, names[i]) == 0) {
      *out_model = &modelgen_models[i];
      return EXIT_FINE;
    }
  }
  const char *nearest = byoc_nearest_match(name, names, modelgen_model_count);
  if (nearest) return misuse("no model is named '%s'; did you mean '%s'?", name, nearest);
  fprintf(stderr, "byoc-modelgen: error: no model is named '%s'; there are:\n", name);
  print_models(stderr);
  return EXIT_MISUSE;
}

// Fills in the defaults and refuses options that the model has no use for.
static int settle(const modelgen_model_t *model, const modelgen_options_t *options, modelgen_t *gen) {
  if (options->layers >= 0 && !(model->takes & TAKES_LAYERS)) return misuse("%s has no %s", model->name, "--layers");
  if (options->sequence >= 0 && !(model->takes & TAKES_SEQUENCE)) {
    return misuse("%s has no %s", model->name, "--sequence");
  }
  gen->random = options->seed;
  gen->batch = options->batch >= 0 ? options->batch : 1;
  gen->layers = options->layers >= 0 ? options->layers : model->default_layers;
  gen->sequence = options->sequence >= 0 ? options->sequence : model->default_sequence;
  if (gen->sequence == 0 && (model->takes & FIXES_SEQUENCE)) return misuse("%s needs a %s", model->name, "--sequence");
  char limit[32];
  snprintf(limit, sizeof(limit), "%lld", (long long)model->max_layers);
  if (gen->layers > model->max_layers) return misuse("%s has at most %s layers", model->name, limit);
  snprintf(limit, sizeof(limit), "%lld", (long long)model->max_sequence);
  if (gen->sequence > model->max_sequence) return misuse("%s takes sequences of at most %s", model->name, limit);
  return EXIT_FINE;
}

int main(int argc, char **argv) {
  if (!byoc_standard_streams_open()) return EXIT_FAILED;
  byoc_interrupt_install();
  arguments_t arguments;
  int code = parse_arguments(argc, argv, &arguments);
  if (code != EXIT_FINE) return code;
  if (arguments.help) {
    print_help(stdout);
    return finish_output();
  }
  if (arguments.list) {
    for (size_t i = 0; i < modelgen_model_count; i++) printf("%s\n", modelgen_models[i].name);
    return finish_output();
  }
  if (!arguments.name) return misuse("name a %s%s", "model", "");
  const modelgen_model_t *model = NULL;
  code = find_model(arguments.name, &model);
  if (code != EXIT_FINE) return code;
  if (!arguments.output) return misuse("say where to write %s: -o %s.onnx", model->name, model->name);
  modelgen_t gen = {0};
  code = settle(model, &arguments.options, &gen);
  if (code != EXIT_FINE) return code;

  byoc_diag_t diag = {0};
  const bool needs_blocks = (model->takes & NEEDS_BLOCKS) != 0;
  gen.model = byoc_onnx_model_create(byoc_allocator_system(), model->name, needs_blocks ? 21 : 17);
  byoc_status_t status = gen.model ? BYOC_OK : byoc_diag_out_of_memory(&diag);
  if (status == BYOC_OK) {
    if (needs_blocks) byoc_onnx_model_set_ir_version(gen.model, 10); // the first with integers of four bits and blocks
    gen.graph = byoc_onnx_model_graph(gen.model);
    model->build(&gen);
    status = byoc_onnx_model_write(gen.model, arguments.output, &diag);
  }
  if (status != BYOC_OK) {
    byoc_diag_print(&diag, stderr);
    code = EXIT_FAILED;
  }
  byoc_onnx_model_destroy(gen.model);
  byoc_remove_temporaries();
  return code;
}
