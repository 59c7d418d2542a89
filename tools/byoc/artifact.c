// SPDX-License-Identifier: Apache-2.0
// Loads an artifact for a subcommand, with its ports and one context.
#include "artifact.h"

#include <stddef.h>
#include <string.h>

#include "core/base/log.h"
#include "port_memory.h"

// Artifacts of an older byoc have tensors of known shapes only, and a shorter table.
static bool knows_arguments(const byoc_artifact_t *table) {
  return table->struct_size >= offsetof(byoc_artifact_t, run_arguments) + sizeof(table->run_arguments);
}

bool byoc_artifact_is_dynamic(const byoc_artifact_t *table) {
  return knows_arguments(table) && table->is_dynamic != 0;
}

static byoc_status_t fill_ports(byoc_ports_t *ports, const byoc_tensor_info_t *infos, const char *const *kinds,
                                uint32_t count, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_ports_init(ports, count, diag));
  for (uint32_t i = 0; i < count; ++i) {
    byoc_port_t *port = &ports->items[i];
    bool is_ranked = infos[i].rank != BYOC_ARGUMENT_ANY_RANK;
    if (is_ranked && infos[i].rank > BYOC_MAX_RANK) {
      return byoc_diag_error(diag, BYOC_UNSUPPORTED, "'%s' has %u dimensions", infos[i].name, infos[i].rank);
    }
    port->name = infos[i].name;
    port->dtype = infos[i].dtype;
    port->rank = is_ranked ? (int32_t)infos[i].rank : BYOC_RANK_UNKNOWN;
    port->dim_names = is_ranked ? infos[i].dim_names : NULL;
    port->kinds = kinds != NULL ? kinds[i] : NULL;
    if (is_ranked && infos[i].rank > 0) memcpy(port->dims, infos[i].dims, infos[i].rank * sizeof(port->dims[0]));
  }
  return byoc_ports_allocate(ports, diag);
}

static const byoc_artifact_run_t *running; // for explain

// For signal handlers.
static const char *explain(const void *address, const char **out_name) {
  const byoc_ports_t *const ports[] = {&running->inputs, &running->outputs};
  static const char *const past[] = {"it went past the end of the input '", "it went past the end of the output '"};
  for (int p = 0; p < 2; ++p) {
    for (size_t i = 0; i < ports[p]->count; ++i) {
      const byoc_port_t *port = &ports[p]->items[i];
      *out_name = port->name;
      if (byoc_port_memory_ends_at(port->data, (size_t)port->size_bytes, address)) return past[p];
      if (byoc_port_memory_holds(port->data, (size_t)port->size_bytes, address)) return "it wrote into the input '";
    }
  }
  return NULL;
}

static byoc_foreign_t enter(const byoc_artifact_run_t *run, const char *where) {
  const byoc_foreign_t entered = {
      .kind = run->kind, .name = run->name, .where = where, .is_run = true, .explain = explain};
  running = run;
  return byoc_foreign_enter(&entered);
}

// True if an output may be written over the input.
static bool is_written_over(const byoc_artifact_t *table, size_t input) {
  if (table->struct_size < offsetof(byoc_artifact_t, outputs_over) + sizeof(table->outputs_over)) return false;
  for (uint32_t i = 0; i < table->output_count; ++i) {
    if (table->outputs_over[i] == (int64_t)input) return true;
  }
  return false;
}

enum { UNTOUCHED = 0xA5, TELLING_BYTES = 8 }; // so many bytes are not equal to UNTOUCHED by chance

byoc_foreign_t byoc_artifact_run_enter(const byoc_artifact_run_t *run) {
  for (size_t i = 0; i < run->outputs.count; ++i) {
    const byoc_port_t *port = &run->outputs.items[i];
    if (port->data != NULL) memset(port->data, UNTOUCHED, (size_t)port->size_bytes);
  }
  for (size_t i = 0; i < run->inputs.count; ++i) {
    const byoc_port_t *port = &run->inputs.items[i];
    if (!is_written_over(run->artifact.table, i)) byoc_port_memory_protect(port->data, (size_t)port->size_bytes);
  }
  return enter(run, "run");
}

// ---- run-time options ----

byoc_status_t byoc_runtime_words_read(const byoc_string_items_t *words, byoc_diag_t *diag,
                                      byoc_runtime_words_t *out_words) {
  *out_words = (byoc_runtime_words_t){0};
  byoc_arena_init(&out_words->arena, byoc_allocator_system());
  for (size_t i = 0; i < words->count; ++i) {
    const char *word = words->items[i], *equals = strchr(word, '=');
    if (equals == NULL || equals == word) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "--runtime-option takes NAME=VALUE, not '%s'", word);
    }
    const char *name = byoc_arena_format(&out_words->arena, "%.*s", (int)(equals - word), word);
    if (name == NULL) return byoc_diag_out_of_memory(diag);
    out_words->items[out_words->count++] = (byoc_option_value_t){.name = name, .value = equals + 1};
  }
  return BYOC_OK;
}

void byoc_runtime_words_deinit(byoc_runtime_words_t *words) {
  byoc_arena_deinit(&words->arena);
  *words = (byoc_runtime_words_t){0};
}

// An artifact of an older byoc would not read them.
static byoc_status_t check_options(const byoc_artifact_run_t *run, const byoc_context_options_t *options,
                                   byoc_diag_t *diag) {
  const byoc_artifact_t *table = run->artifact.table;
  if (options->runtime_option_count == 0 || table->struct_size > offsetof(byoc_artifact_t, set_counter_sink)) {
    return BYOC_OK;
  }
  return byoc_diag_error(diag, BYOC_UNSUPPORTED,
                         "%s was built by a byoc that has no run-time options: build it again to set '%s'", run->name,
                         options->runtime_options[0].name);
}

byoc_status_t byoc_artifact_run_context(const byoc_artifact_run_t *run, const byoc_context_options_t *options,
                                        byoc_diag_t *diag, byoc_context_t **out_context) {
  const byoc_artifact_t *table = run->artifact.table;
  BYOC_RETURN_IF_ERROR(check_options(run, options, diag));
  const byoc_foreign_t outer = enter(run, "function create");
  byoc_status_t status = table->create(options, out_context);
  byoc_foreign_leave(&outer);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, status, "%s: cannot make a context: %s", run->name, table->last_error(NULL));
}

void byoc_artifact_run_end_context(const byoc_artifact_run_t *run, byoc_context_t *context) {
  const byoc_foreign_t outer = enter(run, "function destroy");
  run->artifact.table->destroy(context);
  byoc_foreign_leave(&outer);
}

static byoc_status_t open_run(const char *path, const char *entry, const byoc_context_options_t *options,
                              byoc_diag_t *diag, byoc_artifact_run_t *run) {
  BYOC_RETURN_IF_ERROR(byoc_artifact_load(path, diag, &run->artifact));
  BYOC_RETURN_IF_ERROR(byoc_artifact_choose(&run->artifact, entry, diag));
  BYOC_RETURN_IF_ERROR(byoc_artifact_run_context(run, options, diag, &run->context));
  const byoc_artifact_t *table = run->artifact.table;
  const char *note = table->last_error(run->context); // which plan runs, if there are two
  if (note[0] != '\0') byoc_log(BYOC_LOG_WARNING, "%s", note);
  bool knows = knows_arguments(table);
  BYOC_RETURN_IF_ERROR(
      fill_ports(&run->inputs, table->inputs, knows ? table->input_kinds : NULL, table->input_count, diag));
  return fill_ports(&run->outputs, table->outputs, knows ? table->output_kinds : NULL, table->output_count, diag);
}

byoc_status_t byoc_artifact_run_open(const char *path, const char *entry, int32_t thread_count, byoc_diag_t *diag,
                                     byoc_artifact_run_t *run) {
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = thread_count};
  return byoc_artifact_run_open_with(path, entry, NULL, &options, diag, run);
}

byoc_status_t byoc_artifact_run_open_with(const char *path, const char *entry, const char *model,
                                          const byoc_context_options_t *options, byoc_diag_t *diag,
                                          byoc_artifact_run_t *run) {
  *run = (byoc_artifact_run_t){.kind = model != NULL ? "model" : "artifact", .name = model != NULL ? model : path};
  byoc_status_t status = open_run(path, entry, options, diag, run);
  if (status != BYOC_OK) byoc_artifact_run_close(run);
  return status;
}

void byoc_artifact_run_close(byoc_artifact_run_t *run) {
  byoc_ports_deinit(&run->inputs);
  byoc_ports_deinit(&run->outputs);
  if (run->artifact.table != NULL) {
    byoc_artifact_run_end_context(run, run->context);
    byoc_artifact_unload(&run->artifact);
  }
  *run = (byoc_artifact_run_t){0};
}

// How a run of arguments is watched: by a sink, or by a clock, which then gets the run alone; the results of that are
// not taken.
typedef struct {
  byoc_trace_sink_t sink;
  void *argument;
  int64_t *duration_ns;
} watch_t;

static byoc_status_t run_arguments(byoc_artifact_run_t *run, const watch_t *watch, byoc_diag_t *diag) {
  const byoc_artifact_t *table = run->artifact.table;
  byoc_argument_t *inputs = NULL, *outputs = NULL;
  byoc_status_t status = byoc_ports_arguments(&run->inputs, diag, &inputs);
  if (status == BYOC_OK) status = byoc_ports_arguments(&run->outputs, diag, &outputs);
  if (status == BYOC_OK) {
    const int64_t start_ns = byoc_now_ns();
    status = watch->sink != NULL ? table->trace(run->context, inputs, outputs, watch->sink, watch->argument)
                                 : table->run_arguments(run->context, inputs, outputs);
    if (watch->duration_ns != NULL) *watch->duration_ns = byoc_now_ns() - start_ns;
    if (status != BYOC_OK) {
      byoc_diag_error(diag, status, "the run failed: %s", table->last_error(run->context));
    } else if (watch->duration_ns == NULL) {
      status = byoc_ports_take(&run->outputs, outputs, diag);
    }
  }
  byoc_free(byoc_allocator_system(), inputs);
  byoc_free(byoc_allocator_system(), outputs);
  return status;
}

// Outputs that may be written over inputs are; what they become is then copied to the output's port.
static void take_in_place(byoc_artifact_run_t *run, bool is_done) {
  const byoc_artifact_t *table = run->artifact.table;
  const bool has_pairs = table->struct_size >= offsetof(byoc_artifact_t, outputs_over) + sizeof(table->outputs_over);
  for (uint32_t i = 0; has_pairs && i < table->output_count; ++i) {
    if (table->outputs_over[i] < 0) continue;
    const byoc_port_t *input = &run->inputs.items[table->outputs_over[i]], *output = &run->outputs.items[i];
    if (is_done && output->size_bytes > 0) memcpy(output->data, input->data, output->size_bytes);
    run->outputs.pointers[i] = is_done ? output->data : input->data;
  }
}

static bool is_untouched(const byoc_port_t *port) {
  const uint8_t *bytes = port->data;
  size_t i = 0;
  while (i < port->size_bytes && bytes[i] == UNTOUCHED) ++i;
  return i == port->size_bytes && i >= TELLING_BYTES;
}

static byoc_status_t check_outputs(const byoc_artifact_run_t *run, byoc_diag_t *diag) {
  for (size_t i = 0; i < run->outputs.count; ++i) {
    const byoc_port_t *port = &run->outputs.items[i];
    if (byoc_port_memory_is_overrun(port->data, (size_t)port->size_bytes)) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "the run wrote past the end of the output '%s'", port->name);
    }
    if (is_untouched(port)) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA, "the run left the output '%s' as it was", port->name);
    }
  }
  return BYOC_OK;
}

byoc_status_t byoc_artifact_run_once(byoc_artifact_run_t *run, byoc_diag_t *diag) {
  const byoc_artifact_t *table = run->artifact.table;
  if (byoc_artifact_is_dynamic(table)) return run_arguments(run, &(watch_t){.sink = NULL}, diag);
  take_in_place(run, false);
  byoc_status_t status = table->run(run->context, (const void *const *)run->inputs.pointers, run->outputs.pointers);
  take_in_place(run, true);
  if (status == BYOC_OK) return check_outputs(run, diag);
  return byoc_diag_error(diag, status, "the run failed: %s", table->last_error(run->context));
}

byoc_status_t byoc_artifact_run_traced(byoc_artifact_run_t *run, byoc_trace_sink_t sink, void *argument,
                                       byoc_diag_t *diag) {
  return run_arguments(run, &(watch_t){.sink = sink, .argument = argument}, diag);
}

byoc_status_t byoc_artifact_run_timed(byoc_artifact_run_t *run, byoc_diag_t *diag, int64_t *out_duration_ns) {
  *out_duration_ns = 0;
  if (byoc_artifact_is_dynamic(run->artifact.table)) {
    return run_arguments(run, &(watch_t){.duration_ns = out_duration_ns}, diag);
  }
  const int64_t start_ns = byoc_now_ns();
  byoc_status_t status = byoc_artifact_run_once(run, diag);
  *out_duration_ns = byoc_now_ns() - start_ns;
  return status;
}
