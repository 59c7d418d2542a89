// SPDX-License-Identifier: Apache-2.0
// What user_machine.c does, in C++, through the header that byoc build writes beside the artifact.
#include <cstdio>
#include <cstdint>
#include <vector>

#include "host.h"

int main(int, char **argv) {
  std::vector<float> image(MODEL_IMAGE_COUNT), scores(MODEL_SCORES_COUNT);
  std::uint32_t seed = 1;
  for (float &x : image) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<std::int32_t>(seed >> 16)) / 32768.0f - 1.0f;
  }
  model_model_t model;
  model_context_t context;
  if (model_load(argv[1], &model) != 0 || model_create(&model, nullptr, &context) != 0) {
    std::fprintf(stderr, "%s\n", model_error(nullptr, &model));
    return 1;
  }
  const std::int32_t status = model_run(&context, image.data(), scores.data());
  model_destroy(&context);
  model_unload(&model);
  for (const float score : scores) std::printf("%.9g\n", static_cast<double>(score));
  return status;
}
