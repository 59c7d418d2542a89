// SPDX-License-Identifier: Apache-2.0
// Hashes the code of an artifact: everything in it but its weights.
#include <string.h>

#include "byoc/artifact.h"
#include "core/compose/artifact/composing.h"
#include "core/compose/artifact/metadata.h"

static void add_number(byoc_hasher_t *hasher, uint64_t number) {
  byoc_hasher_update(hasher, &number, sizeof(number));
}

static void add_job(byoc_hasher_t *hasher, const byoc_compile_job_t *job) {
  byoc_hasher_update_string(hasher, job->name);
  byoc_hasher_update_string(hasher, job->source);
  add_number(hasher, job->flag_count);
  for (size_t i = 0; i < job->flag_count; i++) byoc_hasher_update_string(hasher, job->flags[i]);
}

// Hashes the layout, and the content of every piece that is no weight.
static void add_layout(byoc_hasher_t *hasher, const byoc_data_layout_t *layout) {
  add_number(hasher, layout->constant_count);
  for (size_t i = 0; i < layout->entries.count; i++) {
    const byoc_data_entry_t *entry = layout->entries.data[i];
    add_number(hasher, entry->offset_bytes);
    add_number(hasher, entry->size_bytes);
    if (i >= layout->constant_count && entry != layout->wanted) {
      byoc_hasher_update(hasher, &entry->hash, sizeof(entry->hash));
    }
  }
  add_number(hasher, layout->weights.count);
  for (size_t i = 0; i < layout->weights.count; i++) add_number(hasher, layout->weights.data[i]->size_bytes);
}

static void add_modules(byoc_hasher_t *hasher, const byoc_host_program_t *program) {
  const byoc_graph_module_t *module = program->module;
  for (size_t i = 0; module != NULL && i < module->runtime_modules.count; i++) {
    if (module->runtime_modules.data[i]->kind == BYOC_RUNTIME_MODULE_REPORT) continue; // it is no code
    byoc_compose_hash_module(module->runtime_modules.data[i], hasher);
  }
  for (size_t i = 0; i < program->libraries.count; i++) byoc_compose_hash_module(program->libraries.data[i], hasher);
  for (size_t i = 0; i < program->engines.count; i++) {
    const byoc_host_engine_t *engine = &program->engines.data[i];
    byoc_compose_hash_module(engine->engine, hasher);
    for (size_t f = 0; f < engine->functions.count; f++) byoc_compose_hash_module(engine->functions.data[f], hasher);
  }
}

byoc_status_t byoc_composing_sign_code(byoc_composing_t *composing) {
  byoc_hasher_t hasher;
  char digits[sizeof(BYOC_CODE_UNKNOWN)];
  byoc_hasher_init(&hasher);
  byoc_hasher_update_string(&hasher, BYOC_VERSION_TEXT);
  for (size_t i = 0; i < composing->jobs.count; i++) add_job(&hasher, &composing->jobs.data[i]);
  add_layout(&hasher, &composing->layout);
  for (size_t k = 0; k < composing->entry_count; k++) add_modules(&hasher, composing->programs[k]);
  byoc_content_hash_format(byoc_hasher_finish(&hasher), digits);
  for (size_t k = 0; k < composing->entry_count; k++) {
    char *text = composing->metadata.data + composing->entries[k].metadata.offset_bytes;
    char *at = strstr(text, BYOC_CODE_KEY BYOC_CODE_UNKNOWN);
    if (at == NULL)
      return byoc_diag_error(composing->diag, BYOC_INTERNAL, "the metadata have no room for the hash of the code");
    memcpy(at + strlen(BYOC_CODE_KEY), digits, strlen(digits));
  }
  return BYOC_OK;
}
