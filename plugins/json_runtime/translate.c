// SPDX-License-Identifier: Apache-2.0
// The table of translators, and the checks that every node must pass before its own translator runs.
#include "translate.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *op;
  byoc_dnnl_translator_t translate;
} translators[] = {
#define BYOC_DNNL_TRANSLATOR(op, name) {op, byoc_dnnl_translate_##name},
#include "translators.def"
#undef BYOC_DNNL_TRANSLATOR
};

static const char *const translator_names[] = {
#define BYOC_DNNL_TRANSLATOR(op, name) op,
#include "translators.def"
#undef BYOC_DNNL_TRANSLATOR
};

// The translator of an operator, "Op" of ai.onnx or "byoc::Op"; NULL if there is none.
static byoc_dnnl_translator_t find_translator(const char *op) {
  for (size_t i = 0; i < sizeof(translators) / sizeof(translators[0]); ++i)
    if (strcmp(translators[i].op, op) == 0) return translators[i].translate;
  return NULL;
}

byoc_text_list_t byoc_dnnl_translated_operators(void) {
  return (byoc_text_list_t){translator_names, sizeof(translator_names) / sizeof(translator_names[0])};
}

const char *byoc_dnnl_translate(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  const byoc_graph_api_t *graph = source->graph;
  const char *domain = graph->node_domain(source->node);
  const int is_ours = strcmp(domain, "byoc") == 0;
  if (domain[0] != '\0' && strcmp(domain, "ai.onnx") != 0 && !is_ours) return "oneDNN has only operators of ai.onnx";
  char name[64];
  (void)snprintf(name, sizeof(name), "%s%s", is_ours ? "byoc::" : "", graph->node_operator(source->node));
  byoc_dnnl_translator_t translate = find_translator(name);
  if (translate == NULL) return "oneDNN has no such operator";
  if (!byoc_dnnl_source_is_tensor(source, byoc_dnnl_source_operand(source, 0)) ||
      !byoc_dnnl_source_is_tensor(source, byoc_dnnl_source_result(source)))
    return "only f32 tensors of at most 6 dimensions are supported, none of which is 0";
  return translate(source, draft);
}
