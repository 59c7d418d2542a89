// SPDX-License-Identifier: Apache-2.0
// translate.h - from nodes of the model to those of a draft.
//
// One function per operator decides whether the engine can run the node and, given a draft, translates it, so that the
// two cannot drift apart. A translator returns NULL if it claims the node, otherwise the reason why not, in static
// storage.
#ifndef BYOC_DNNL_TRANSLATE_H_
#define BYOC_DNNL_TRANSLATE_H_

#include "source.h"

typedef const char *(*byoc_dnnl_translator_t)(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft);

// All operators that have one, in the table's order.
byoc_text_list_t byoc_dnnl_translated_operators(void);
// Checks the node in general, then asks its translator.
const char *byoc_dnnl_translate(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft);

// A recurrent network, as BYOC_DNNL_RECURRENT_PATTERN matches it: `source` has its last node.
const char *byoc_dnnl_translate_recurrent(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft);
#define BYOC_DNNL_RECURRENT_RULE "dnnl.recurrent"
#define BYOC_DNNL_RECURRENT_PATTERN                                                                                    \
  "steps:{byoc::LSTMSteps|byoc::GRUSteps|byoc::RNNSteps}(Add?(MatMul(%x<f32, 3>, @w<f32>), @b<f32>), @r<f32>, ...)"

#define BYOC_DNNL_TRANSLATOR(op, name)                                                                                 \
  const char *byoc_dnnl_translate_##name(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft);
#include "translators.def"
#undef BYOC_DNNL_TRANSLATOR

#endif // BYOC_DNNL_TRANSLATE_H_
