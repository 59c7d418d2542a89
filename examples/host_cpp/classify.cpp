// SPDX-License-Identifier: Apache-2.0
// Runs one model on several threads, from C++.
#include <array>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lenet.h"

using Image = std::array<float, LENET_INPUT_COUNT>;
using Scores = std::array<float, LENET_OUTPUT_COUNT>;

class Model {
public:
  explicit Model(const char *path) {
    if (lenet_load(path, &model_) != BYOC_OK) throw std::runtime_error(model_.message);
  }
  ~Model() { lenet_unload(&model_); }
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  const lenet_model_t *get() const { return &model_; }

private:
  lenet_model_t model_;
};

// For one thread at a time; the model must outlive it.
class Context {
public:
  explicit Context(const Model &model) {
    byoc_context_options_t options = {};
    options.struct_size = sizeof(options);
    options.thread_count = 1;
    if (lenet_create(model.get(), &options, &context_) != BYOC_OK) {
      throw std::runtime_error(lenet_error(nullptr, model.get()));
    }
    model_ = model.get();
  }
  ~Context() { lenet_destroy(&context_); }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  Scores run(const Image &image) {
    Scores scores;
    if (lenet_run(&context_, image.data(), scores.data()) != BYOC_OK) {
      throw std::runtime_error(lenet_error(&context_, model_));
    }
    return scores;
  }

private:
  const lenet_model_t *model_ = nullptr;
  lenet_context_t context_ = {};
};

int main(int argc, char **argv) try {
  const Model model(argc > 1 ? argv[1] : "./lenet.so");
  Image image;
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 28) / 28;
  std::vector<Scores> results(4);
  std::vector<std::thread> threads;
  for (Scores &result : results) {
    threads.emplace_back([&model, &image, &result] { result = Context(model).run(image); });
  }
  for (std::thread &thread : threads) thread.join();
  for (const Scores &result : results) {
    if (result != results[0]) throw std::runtime_error("the threads disagree");
  }
  std::printf("%zu threads agree\n", results.size());
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
