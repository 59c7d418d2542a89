// SPDX-License-Identifier: Apache-2.0
// Decodes with a cache that stays where it is.
#include "gpt.h"

enum { TOKENS = 12 };

static float logits[GPT_LOGITS_COUNT];
static float keys[GPT_PAST_KEY_0_COUNT], values[GPT_PAST_VALUE_0_COUNT];
static float new_keys[GPT_PAST_KEY_0_COUNT], new_values[GPT_PAST_VALUE_0_COUNT];

static int64_t likeliest(void) {
  int64_t best = 0;
  for (int64_t i = 1; i < GPT_LOGITS_COUNT; ++i) best = logits[i] > logits[best] ? i : best;
  return best;
}

// Fills in the tokens that follow the first one. `in_place`: the new cache is the memory of the old one.
static int32_t decode(gpt_context_t *context, int in_place, int64_t tokens[TOKENS]) {
  memset(keys, 0, sizeof(keys));
  memset(values, 0, sizeof(values));
  for (int64_t position = 0; position + 1 < TOKENS; ++position) {
    const int32_t status = gpt_run(context, &tokens[position], &position, keys, values, logits,
                                   in_place ? keys : new_keys, in_place ? values : new_values);
    if (status != BYOC_OK) return status;
    tokens[position + 1] = likeliest();
    if (in_place) continue;
    memcpy(keys, new_keys, sizeof(keys));
    memcpy(values, new_values, sizeof(values));
  }
  return BYOC_OK;
}

int main(int argc, char **argv) {
  gpt_model_t model;
  gpt_context_t context;
  int64_t tokens[TOKENS] = {42}, others[TOKENS] = {42};
  if (gpt_load(argc > 1 ? argv[1] : "./gpt.so", &model) != BYOC_OK || gpt_create(&model, NULL, &context) != BYOC_OK) {
    fprintf(stderr, "%s\n", gpt_error(NULL, &model));
    return 1;
  }
  int32_t status = decode(&context, 1, tokens);
  if (status == BYOC_OK) status = decode(&context, 0, others);
  if (status != BYOC_OK) fprintf(stderr, "%s\n", gpt_error(&context, &model));
  printf("%d tokens:", (int)TOKENS);
  for (int i = 0; i < TOKENS; ++i) printf(" %lld", (long long)tokens[i]);
  const int is_same = memcmp(tokens, others, sizeof(tokens)) == 0;
  printf("\n%s\n", is_same ? "the same tokens by a cache that is copied" : "other tokens by a cache that is copied");
  gpt_destroy(&context);
  gpt_unload(&model);
  return status != BYOC_OK || !is_same;
}
