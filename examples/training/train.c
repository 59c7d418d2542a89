// SPDX-License-Identifier: Apache-2.0
// Trains a small network: a loop over an artifact that computes one step, with the weights in the program's memory.
#include <math.h>

#include "step.h"

enum { BATCH = 64, STEPS = 3000, SHOWN = 1000 };

// What the steps change in place: weights, and what Adam keeps of their gradients.
static float w1[STEP_W1_COUNT], w2[STEP_W2_COUNT];
static float v1[STEP_V1_COUNT], v2[STEP_V2_COUNT], h1[STEP_H1_COUNT], h2[STEP_H2_COUNT];
static float points[STEP_POINTS_COUNT], wanted[STEP_WANTED_COUNT], said[STEP_SAID_COUNT];

static float random_number(void) { // from -1 to 1
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1.0f;
}

// Points of the square, each with a 1 behind it, which makes the first row of weights an offset.
static void make_batch(void) {
  for (int i = 0; i < BATCH; ++i) {
    const float x = random_number(), y = random_number();
    points[3 * i] = x;
    points[3 * i + 1] = y;
    points[3 * i + 2] = 1;
    wanted[i] = sqrtf(x * x + y * y) < 0.7f;
  }
}

static int count_right(void) {
  int count = 0;
  for (int i = 0; i < BATCH; ++i) count += (said[i] > 0.5f) == (wanted[i] > 0.5f);
  return count;
}

int main(int argc, char **argv) {
  step_model_t model;
  step_context_t context;
  if (step_load(argc > 1 ? argv[1] : "./step.so", &model) != BYOC_OK ||
      step_create(&model, NULL, &context) != BYOC_OK) {
    fprintf(stderr, "%s\n", step_error(NULL, &model));
    return 1;
  }
  for (int i = 0; i < STEP_W1_COUNT; ++i) w1[i] = random_number();
  for (int i = 0; i < STEP_W2_COUNT; ++i) w2[i] = random_number();
  int right = 0;
  for (int64_t step = 0; step < STEPS; ++step) {
    float loss;
    make_batch();
    if (step_run(&context, points, wanted, &step, w1, w2, v1, v2, h1, h2, &loss, said, w1, w2, v1, v2, h1, h2) !=
        BYOC_OK) {
      fprintf(stderr, "%s\n", step_error(&context, &model));
      return 1;
    }
    right += count_right();
    if ((step + 1) % SHOWN != 0) continue;
    printf("steps %d to %d: %.1f%% right\n", (int)(step + 2 - SHOWN), (int)step + 1, 100.0 * right / (SHOWN * BATCH));
    right = 0;
  }
  step_destroy(&context);
  step_unload(&model);
  return 0;
}
