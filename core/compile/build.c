// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a build; each works on the result of the one before.
#include "core/compile/build.h"

#include <assert.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/hostir/text/program_text.h"
#include "core/ir/module_text.h"
#include "core/module/runtime_module.h"
#include "core/op/limit.h"
#include "core/targets/cpu.h"

// Constants larger than this are elided when a module is printed on the way.
#define PRINTED_BYTES 256

void byoc_build_init(byoc_build_t *build, const byoc_build_options_t *options, byoc_allocator_t allocator) {
  *build = (byoc_build_t){.allocator = allocator, .options = *options};
  byoc_pipeline_result_init(&build->result, allocator);
}

void byoc_build_deinit(byoc_build_t *build) {
  if (build->allocator.resize == NULL) return; // it was never begun
  byoc_lineage_destroy(build->lineage);
  byoc_vector_deinit(&build->initializers, build->allocator);
  byoc_pipeline_result_deinit(&build->result);
  if (!build->is_lent) byoc_graph_module_destroy(build->module);
  *build = (byoc_build_t){0};
}

// ---- the model ----

static byoc_status_t begin(const byoc_build_t *build, const char *step, byoc_diag_t *diag) {
  return byoc_build_watcher_begin(&build->options.watcher, step, diag);
}

typedef enum file_form_t { FORM_ONNX, FORM_MODULE, FORM_HOST_PROGRAM } file_form_t;

// An ONNX model has no magic number; an ELF file, or one that begins as a text of ours, is not an ONNX file.
static byoc_status_t look_inside(const char *path, byoc_diag_t *diag, file_form_t *out_form) {
  static const struct {
    const char *ending, *words;
    file_form_t form;
  } texts[] = {{".byoc", "module ", FORM_MODULE}, {".host", "host program ", FORM_HOST_PROGRAM}};
  *out_form = FORM_ONNX;
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    if (byoc_ends_with(path, texts[i].ending)) *out_form = texts[i].form;
  }
  if (*out_form != FORM_ONNX) return BYOC_OK;
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    const size_t size = strlen(texts[i].words);
    if (view.size_bytes >= size && memcmp(view.data, texts[i].words, size) == 0) *out_form = texts[i].form;
  }
  bool is_elf = byoc_is_elf(view.data, view.size_bytes);
  byoc_file_view_close(&view);
  return is_elf ? byoc_diag_error(diag, BYOC_INVALID_DATA, "'%s' is a shared object; a model is wanted here", path)
                : BYOC_OK;
}

typedef struct domains_t {
  const byoc_op_source_t *source;
  byoc_diag_t *diag;
  byoc_status_t status;
} domains_t;

static bool load_domain(void *self, byoc_node_t *node) {
  domains_t *domains = self;
  const byoc_op_source_t *source = domains->source;
  if (node->callee != NULL || byoc_op_domain_is_reserved(node->domain)) return true;
  domains->status = source->load(source->self, node->domain, domains->diag);
  const char *refusal = source->refusal(source->self, node->domain);
  if (domains->status == BYOC_OK && refusal != NULL && !byoc_op_known(node->domain, node->op)) {
    domains->status = byoc_diag_error(domains->diag, BYOC_UNSUPPORTED, "operator '%s' of domain '%s' is not known",
                                      node->op, node->domain);
    byoc_diag_hint(domains->diag, "%s", refusal);
  }
  return domains->status == BYOC_OK;
}

// A text says only by its nodes which domains it uses.
static byoc_status_t load_domains(const byoc_build_t *build, byoc_diag_t *diag) {
  domains_t domains = {.source = &build->options.operators, .diag = diag};
  if (domains.source->load == NULL) return BYOC_OK;
  for (size_t i = 0; i < build->module->functions.count && domains.status == BYOC_OK; ++i) {
    (void)byoc_block_walk(build->module->functions.data[i]->body, load_domain, &domains);
  }
  return domains.status;
}

static bool clamps_indices(const byoc_build_t *build) {
  return strcmp(byoc_target_option_string(byoc_target_list_native(build->options.targets), "indices"), "clamp") == 0;
}

static byoc_status_t read_text(byoc_build_t *build, const char *path, file_form_t form,
                               const byoc_onnx_read_options_t *options, byoc_diag_t *diag) {
  if (options != NULL && options->binding_count + options->shape_count > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "dimensions can be given to ONNX models; '%s' is a %s", path,
                           form == FORM_HOST_PROGRAM ? "host program, whose dimensions were settled when it was made"
                                                     : "module in text form");
  }
  if (form == FORM_HOST_PROGRAM) {
    return byoc_host_program_read(path, build->allocator, diag, &build->module, &build->result.program);
  }
  char *text = NULL;
  size_t size = 0;
  BYOC_RETURN_IF_ERROR(byoc_file_read(path, build->allocator, diag, &text, &size));
  byoc_status_t status = byoc_graph_parse(text, path, build->allocator, diag, &build->module);
  byoc_free(build->allocator, text);
  if (status == BYOC_OK && clamps_indices(build) && !byoc_indices_set_clamped(build->module)) {
    return byoc_diag_out_of_memory(diag);
  }
  return status == BYOC_OK ? load_domains(build, diag) : status;
}

// Models find the operators of other domains through the build's operator source.
static byoc_onnx_read_options_t complete_read(const byoc_build_t *build, const byoc_onnx_read_options_t *options) {
  byoc_onnx_read_options_t read = options != NULL ? *options : (byoc_onnx_read_options_t){0};
  if (build->options.operators.load != NULL) read.operators = &build->options.operators;
  read.clamps_indices = clamps_indices(build);
  return read;
}

static byoc_status_t note_initializers(byoc_build_t *build, byoc_diag_t *diag) {
  for (size_t i = 0; build->module != NULL && i < build->module->constants.count; ++i) {
    byoc_constant_t *constant = build->module->constants.data[i];
    if (!byoc_vector_push(&build->initializers, build->allocator, constant)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static byoc_status_t read_file(byoc_build_t *build, const char *path, const byoc_onnx_read_options_t *options,
                               byoc_diag_t *diag) {
  file_form_t form = FORM_ONNX;
  BYOC_RETURN_IF_ERROR(look_inside(path, diag, &form));
  if (form != FORM_ONNX) return read_text(build, path, form, options, diag);
  int64_t start_ns = byoc_now_ns();
  const byoc_onnx_read_options_t read = complete_read(build, options);
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_file(path, &read, build->allocator, diag, &build->module));
  byoc_log(BYOC_LOG_INFO, "read %s in %.0f ms", path, (double)(byoc_now_ns() - start_ns) / 1e6);
  return BYOC_OK;
}

byoc_status_t byoc_build_read(byoc_build_t *build, const char *path, const byoc_onnx_read_options_t *options,
                              byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(begin(build, "read", diag));
  build->path = path;
  BYOC_RETURN_IF_ERROR(read_file(build, path, options, diag));
  return note_initializers(build, diag);
}

byoc_status_t byoc_build_read_memory(byoc_build_t *build, const void *data, size_t size_bytes, const char *name,
                                     const byoc_onnx_read_options_t *options, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(begin(build, "read", diag));
  const byoc_onnx_read_options_t read = complete_read(build, options);
  BYOC_RETURN_IF_ERROR(byoc_onnx_read_memory(data, size_bytes, name, &read, build->allocator, diag, &build->module));
  return note_initializers(build, diag);
}

void byoc_build_lend(byoc_build_t *build, byoc_graph_module_t *module, bool is_simplified) {
  build->module = module;
  build->is_lent = true;
  build->is_simplified = is_simplified;
}

// ---- the pipeline ----

// If no target is left whose code is right, the fault is byoc's or the compiler's.
static byoc_status_t blame_code(const byoc_build_t *build, byoc_status_t status, byoc_diag_t *diag) {
  if (status != BYOC_MISMATCH || diag == NULL || diag->status != BYOC_MISMATCH) return status;
  const byoc_target_list_t *targets = build->options.targets;
  byoc_string_t text;
  byoc_string_init(&text, build->allocator);
  for (size_t t = 0; t < targets->targets.count; ++t) {
    byoc_string_appendf(&text, "%s%s", t > 0 ? "; " : "", targets->targets.data[t]->text);
  }
  diag->status = BYOC_INTERNAL;
  byoc_diag_hint(diag, "byoc debug bisect %s --evaluate --target '%s' isolates it: please report what that prints",
                 build->path != NULL ? build->path : "MODEL", text.failed ? "c" : text.data);
  byoc_string_deinit(&text);
  return byoc_diag_context(diag, BYOC_INTERNAL, "internal error");
}

byoc_status_t byoc_build_compile(byoc_build_t *build, byoc_build_extent_t extent, byoc_diag_t *diag) {
  if (build->result.program != NULL && extent != BYOC_BUILD_ALL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "a model is wanted here; this is a host program");
  }
  if (build->result.program != NULL && build->options.stream_axis != NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "only models have axes to stream; this is a host program");
  }
  if (build->result.program != NULL && build->options.variant_count > 0) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "only models have dimensions to set; this is a host program");
  }
  const byoc_pipeline_options_t options = {.targets = build->options.targets,
                                           .passes = {.print_after = build->options.print_after,
                                                      .print_elide_bytes = PRINTED_BYTES,
                                                      .switches = build->options.switches,
                                                      .stream_axis = build->options.stream_axis},
                                           .extent = extent,
                                           .placer = build->options.placer,
                                           .is_simplified = build->is_simplified,
                                           .watcher = &build->options.watcher,
                                           .fallback = build->options.fallback,
                                           .pairs = build->options.pairs,
                                           .pair_count = build->options.pair_count,
                                           .queue_count = build->options.queue_count,
                                           .variants = build->options.variants,
                                           .variant_count = build->options.variant_count,
                                           .as_source = build->options.as_source,
                                           .checker = build->options.checker};
  if (build->result.program != NULL) return byoc_pipeline_finish(&options, diag, &build->result);
  if (build->options.trace) {
    BYOC_RETURN_IF_ERROR(byoc_lineage_create(build->module, build->allocator, diag, &build->lineage));
  }
  BYOC_RETURN_IF_ERROR(
      blame_code(build, byoc_pipeline_run(build->module, &options, build->allocator, diag, &build->result), diag));
  if (build->lineage == NULL || build->result.program == NULL) return BYOC_OK;
  return byoc_lineage_follow(build->lineage, build->result.program, diag, &build->fused, &build->fused_count);
}

// ---- from the host program ----

static byoc_compose_options_t complete(const byoc_build_t *build, const byoc_compose_options_t *output) {
  byoc_compose_options_t options = *output;
  options.targets = build->options.targets;
  options.thread_count = build->options.thread_count;
  options.cpu_features = build->result.required_cpu_features.data;
  options.trace = build->options.trace;
  options.fused = build->fused;
  options.fused_count = build->fused_count;
  options.initializers = build->initializers.data;
  options.initializer_count = build->initializers.count;
  // Code for another processor cannot be run here.
  if (byoc_target_list_foreign(build->options.targets) == NULL) options.checker = build->options.checker.kernels;
  return options;
}

byoc_status_t byoc_build_compose(const byoc_build_t *build, const byoc_compose_options_t *output, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(begin(build, "compose", diag));
  const byoc_compose_options_t options = complete(build, output);
  int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR(
      blame_code(build, byoc_compose_artifact(build->result.program, &options, build->allocator, diag), diag));
  byoc_log(BYOC_LOG_INFO, "composed %s in %.0f ms", options.output, (double)(byoc_now_ns() - start_ns) / 1e6);
  return BYOC_OK;
}

// The processor features that all models of an ISA level require.
static byoc_status_t list_features(const byoc_build_t *const *builds, size_t count, byoc_string_t *out,
                                   byoc_diag_t *diag) {
  uint64_t features = 0;
  for (size_t k = 0; k < count; ++k) {
    uint64_t own = 0;
    BYOC_RETURN_IF_ERROR(byoc_cpu_parse_list(builds[k]->result.required_cpu_features.data, diag, &own));
    features |= own;
  }
  byoc_cpu_print(features, out);
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

static byoc_status_t list_entries(const byoc_build_t *const *builds, const byoc_compose_place_t *place,
                                  const byoc_compose_options_t *output, byoc_diag_t *diag,
                                  byoc_compose_entry_t *entries) {
  const size_t total = byoc_compose_position_count(place), of_level = place->count > 0 ? place->count : 1;
  for (size_t k = 0; k < total; ++k) {
    BYOC_RETURN_IF_ERROR(begin(builds[k], "compose", diag));
    entries[k] = (byoc_compose_entry_t){.program = builds[k]->result.program, .options = complete(builds[k], output)};
    entries[k].options.place = *place;
    entries[k].options.place.index = k % of_level;
    entries[k].options.place.level = k / of_level;
  }
  return BYOC_OK;
}

byoc_status_t byoc_build_compose_entries(const byoc_build_t *const *builds, const char *const *names, size_t count,
                                         const byoc_compose_options_t *output, byoc_diag_t *diag) {
  const byoc_isa_levels_t *levels = &builds[0]->options.targets->levels;
  const size_t of_level = count > 0 ? count : 1;
  byoc_compose_entry_t entries[BYOC_COMPOSE_MOST_ENTRIES];
  byoc_compose_isa_level_t rows[BYOC_ISA_LEVELS_MOST];
  byoc_string_t features[BYOC_ISA_LEVELS_MOST];
  const byoc_compose_place_t place = {.names = names, .count = count, .levels = rows, .level_count = levels->count};
  byoc_status_t status = BYOC_OK;
  assert(byoc_compose_position_count(&place) <= BYOC_COMPOSE_MOST_ENTRIES);
  for (size_t l = 0; l < levels->count; ++l) {
    byoc_string_init(&features[l], builds[0]->allocator);
    if (status == BYOC_OK) status = list_features(builds + l * of_level, of_level, &features[l], diag);
    rows[l] = (byoc_compose_isa_level_t){.name = levels->levels[l].name, .cpu_features = features[l].data};
  }
  if (status == BYOC_OK) status = list_entries(builds, &place, output, diag, entries);
  const size_t total = byoc_compose_position_count(&place);
  const int64_t start_ns = byoc_now_ns();
  if (status == BYOC_OK) {
    status = blame_code(builds[0], byoc_compose_entries(entries, total, builds[0]->allocator, diag), diag);
  }
  if (status == BYOC_OK) {
    byoc_log(BYOC_LOG_INFO, "composed %zu program%s into %s in %.0f ms", total, byoc_plural(total), output->output,
             (double)(byoc_now_ns() - start_ns) / 1e6);
  }
  for (size_t l = 0; l < levels->count; ++l) byoc_string_deinit(&features[l]);
  return status;
}

// C sources of backends are compiled by themselves: here they follow the host's C for reading only.
static void append_sources(const byoc_graph_module_t *module, byoc_string_t *out) {
  for (size_t i = 0; i < module->runtime_modules.count; ++i) {
    const byoc_runtime_module_t *source = module->runtime_modules.data[i];
    if (source->kind != BYOC_RUNTIME_MODULE_C_SOURCE) continue;
    byoc_string_appendf(out, "\n#if 0 // C source '%s' of target '%s', flags:", source->name, source->target);
    for (size_t f = 0; f < source->flags.count; ++f) byoc_string_appendf(out, " %s", source->flags.data[f]);
    byoc_string_appendf(out, "\n%s%s#endif\n", source->source, byoc_ends_with(source->source, "\n") ? "" : "\n");
  }
}

byoc_status_t byoc_build_emit_c(const byoc_build_t *build, const byoc_compose_options_t *output, byoc_string_t *out,
                                byoc_diag_t *diag) {
  const byoc_compose_options_t options = complete(build, output);
  BYOC_RETURN_IF_ERROR(byoc_compose_emit_c(build->result.program, &options, out, diag));
  append_sources(build->module, out);
  return out->failed ? byoc_diag_out_of_memory(diag) : BYOC_OK;
}

byoc_status_t byoc_build_compose_temporary(const byoc_build_t *build, byoc_diag_t *diag,
                                           byoc_build_temporary_t *out_temporary) {
  *out_temporary = (byoc_build_temporary_t){0};
  byoc_build_temporary_t temporary = {.allocator = build->allocator};
  BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-build", build->allocator, diag, &temporary.folder));
  temporary.path = byoc_path_join(build->allocator, temporary.folder, "model.so");
  const byoc_compose_options_t output = {.output = temporary.path, .model_name = "model"};
  byoc_status_t status =
      temporary.path != NULL ? byoc_build_compose(build, &output, diag) : byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) byoc_build_temporary_remove(&temporary);
  if (status == BYOC_OK) *out_temporary = temporary;
  return status;
}

void byoc_build_temporary_remove(byoc_build_temporary_t *temporary) {
  if (temporary->folder == NULL) return;
  (void)byoc_remove_tree(temporary->folder, NULL);
  byoc_free(temporary->allocator, temporary->path);
  byoc_free(temporary->allocator, temporary->folder);
  *temporary = (byoc_build_temporary_t){0};
}

byoc_status_t byoc_build_evaluate(const byoc_build_t *build, int32_t thread_count, byoc_diag_t *diag,
                                  byoc_build_evaluation_t *out_evaluation) {
  *out_evaluation = (byoc_build_evaluation_t){.runtime = byoc_serial_runtime(thread_count)};
  const byoc_host_program_t *program = build->result.program;
  byoc_status_t status = byoc_resolver_create(program, build->options.targets, &out_evaluation->runtime,
                                              build->allocator, diag, &out_evaluation->resolver);
  if (status == BYOC_OK) {
    const byoc_symbol_resolver_t resolver = byoc_resolver_interface(out_evaluation->resolver);
    status = byoc_evaluator_create_with(program, &resolver, thread_count, build->options.runtime_values,
                                        build->allocator, diag, &out_evaluation->evaluator);
  }
  if (status != BYOC_OK) byoc_build_evaluation_end(out_evaluation);
  return status;
}

void byoc_build_evaluation_end(byoc_build_evaluation_t *evaluation) {
  byoc_evaluator_destroy(evaluation->evaluator);
  byoc_resolver_destroy(evaluation->resolver);
  *evaluation = (byoc_build_evaluation_t){0};
}
