// Contexts: everything of a model that is not constant, created before the first run.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/runtime/artifact/context.h"
#include "core/runtime/artifact/cpu.h"
#include "core/runtime/artifact/huge_pages.h"
#include "core/runtime/artifact/pool.h"
#include "core/runtime/artifact/processors.h"
#include "core/runtime/artifact/stack.h"
#include "core/runtime/artifact/verify.h"

// Workspaces of this size or larger ask for huge pages: fewer page faults in the first run, fewer TLB misses in all
// runs.
#define HUGE_PAGE_BYTES (2u << 20)

// What a library keeps, in front of the memory itself.
struct byoc_kept_t {
  byoc_kept_t *next;
  const void *key;
  uint8_t padding[BYOC_BUFFER_ALIGNMENT - 2 * sizeof(void *)];
};

// ---- errors per thread ----

// The text of a thread's last failed create or check. It is not _Thread_local, because the dynamic linker ends the
// process if it gets no memory for that.
enum { THREAD_ERROR_BYTES = 1024 };
static pthread_key_t thread_key;
static bool has_thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static atomic_bool lost_error; // there was no memory for some thread's text

static void make_thread_key(void) {
  has_thread_key = pthread_key_create(&thread_key, free) == 0;
}

// Unloading deletes the key, because a process has only a thousand of them.
__attribute__((destructor)) static void delete_thread_key(void) {
  if (!has_thread_key) return;
  free(pthread_getspecific(thread_key));
  (void)pthread_key_delete(thread_key);
}

// NULL if out of memory.
static char *thread_error(bool make) {
  (void)pthread_once(&thread_key_once, make_thread_key);
  char *text = has_thread_key ? pthread_getspecific(thread_key) : NULL;
  if (text != NULL || !make) return text;
  text = has_thread_key ? calloc(1, THREAD_ERROR_BYTES) : NULL;
  if (text != NULL && pthread_setspecific(thread_key, text) != 0) {
    free(text);
    text = NULL;
  }
  if (text == NULL) atomic_store(&lost_error, true);
  return text;
}

__attribute__((format(printf, 2, 3))) static int32_t create_error(int32_t status, const char *format, ...) {
  char *text = thread_error(true);
  if (text == NULL) return status;
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, THREAD_ERROR_BYTES, format, arguments);
  va_end(arguments);
  return status;
}

static void set_error(void *self, const char *message) {
  byoc_model_context_t *context = self;
  (void)snprintf(context->reason, sizeof(context->reason), "%s", message);
}

static void *allocate_text(void *self, uint64_t size_bytes) {
  byoc_model_context_t *context = self;
  return byoc_frame_scratch(&context->shared.frame, size_bytes);
}

static void *keep(void *self, const void *key, uint64_t size_bytes) {
  byoc_model_context_t *context = self;
  byoc_kept_t *kept = context->kept;
  while (kept != NULL && kept->key != key) kept = kept->next;
  if (kept != NULL) return kept + 1;
  if (size_bytes > SIZE_MAX - 2 * sizeof(*kept)) return NULL;
  const size_t size = ((size_t)size_bytes + sizeof(*kept) - 1) / sizeof(*kept) * sizeof(*kept);
  kept = aligned_alloc(sizeof(*kept), sizeof(*kept) + size);
  if (kept == NULL) return NULL;
  kept->next = context->kept;
  kept->key = key;
  context->kept = kept;
  return kept + 1;
}

static void run_alone(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self;
  (void)grain;
  if (count > 0) body(argument, 0, count, 0);
}

static void run_in_pool(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  const byoc_model_context_t *context = self;
  byoc_model_pool_run(context->shared.runtime.thread_count, body, argument, count, grain);
}

static void run_in_user_pool(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  const byoc_model_context_t *context = self;
  if (count > 0) context->user_pool.parallel_for(context->user_pool.self, body, argument, count, grain);
}

int32_t byoc_model_check(const byoc_model_t *model, char *message, uint64_t size) {
  int32_t status = byoc_model_check_cpu(model->artifact->model_name, model->cpu_features, message, size);
  char *text = status != BYOC_OK ? thread_error(true) : NULL;
  if (text != NULL) {
    (void)byoc_model_check_cpu(model->artifact->model_name, model->cpu_features, text, THREAD_ERROR_BYTES);
  }
  return status;
}

const char *byoc_model_last_error(const byoc_context_t *shared) {
  if (shared == NULL) {
    const char *text = thread_error(false);
    return text != NULL ? text : atomic_load(&lost_error) ? "out of memory" : "";
  }
  const byoc_model_context_t *context = (const byoc_model_context_t *)shared;
  // The text itself belongs to the running thread.
  if (atomic_load(&context->misused)) {
    return "the context is used by two threads at once: give each thread a context of its own";
  }
  return context->error;
}

// Reads a number from the environment; *out_value is unchanged if the variable is not set.
static int32_t read_number(const char *name, long least, long most, int32_t *out_value) {
  const char *variable = getenv(name);
  if (variable == NULL || variable[0] == '\0') return BYOC_OK;
  char *end = NULL;
  errno = 0;
  long value = strtol(variable, &end, 10);
  if (errno != 0 || *end != '\0' || value < least || value > most) {
    return create_error(BYOC_INVALID_ARGUMENT, "%s is '%s'; a number from %ld to %ld is needed", name, variable, least,
                        most);
  }
  *out_value = (int32_t)value;
  return BYOC_OK;
}

// options->thread_count, else $BYOC_THREADS, else the number chosen when building, else the number of processors.
static int32_t choose_thread_count(const byoc_model_t *model, const byoc_context_options_t *options,
                                   int32_t *out_count) {
  int32_t count = options->thread_count;
  if (count < 0 || count > BYOC_MODEL_MAX_THREADS) {
    return create_error(BYOC_INVALID_ARGUMENT, "the thread count %d is not between 0 and %d", (int)count,
                        BYOC_MODEL_MAX_THREADS);
  }
  int32_t status = count == 0 ? read_number("BYOC_THREADS", 1, BYOC_MODEL_MAX_THREADS, &count) : BYOC_OK;
  if (status != BYOC_OK) return status;
  if (count == 0) count = model->thread_count;
  *out_count = count > 0 ? count : byoc_model_processor_count();
  return BYOC_OK;
}

static int32_t set_up_runtime(byoc_model_context_t *context, const byoc_context_options_t *options) {
  byoc_runtime_t *runtime = &context->shared.runtime;
  *runtime = (byoc_runtime_t){.struct_size = sizeof(*runtime),
                              .thread_count = 1,
                              .self = context,
                              .parallel_for = run_alone,
                              .set_error = set_error,
                              .allocate = allocate_text,
                              .keep = keep};
  char message[256];
  if (byoc_collective_check(options->communicator, context->model->rank_count, context->model->rank, message,
                            sizeof(message)) != BYOC_OK) {
    return create_error(BYOC_INVALID_ARGUMENT, "%s", message);
  }
  runtime->communicator = options->communicator;
  if (options->pool != NULL) {
    size_t size = options->pool->struct_size;
    memcpy(&context->user_pool, options->pool, size < sizeof(context->user_pool) ? size : sizeof(context->user_pool));
    if (context->user_pool.parallel_for == NULL || context->user_pool.thread_count < 1) {
      return create_error(BYOC_INVALID_ARGUMENT, "the thread pool needs parallel_for and at least one thread");
    }
    runtime->thread_count = context->user_pool.thread_count;
    runtime->parallel_for = run_in_user_pool;
    return BYOC_OK;
  }
  int32_t count = 1;
  int32_t status = choose_thread_count(context->model, options, &count);
  if (status != BYOC_OK) return status;
  int32_t spin_turns = -1;
  status = read_number("BYOC_SPIN_TURNS", 0, INT32_MAX, &spin_turns);
  if (status != BYOC_OK) return status;
  if (spin_turns >= 0) byoc_model_pool_set_spin((uint32_t)spin_turns);
  if (count > 1) {
    count = byoc_model_pool_acquire(count);
    context->pool_acquired = true;
    runtime->parallel_for = run_in_pool;
  }
  runtime->thread_count = count;
  return BYOC_OK;
}

static void *allocate_workspace(uint64_t size_bytes) {
  uint64_t alignment = size_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : BYOC_BUFFER_ALIGNMENT;
  if (size_bytes > SIZE_MAX - alignment) return NULL;
  size_t size = (size_t)((size_bytes + alignment - 1) / alignment * alignment);
  void *memory = aligned_alloc((size_t)alignment, size > 0 ? size : (size_t)alignment);
#ifdef MADV_HUGEPAGE
  if (memory != NULL && alignment == HUGE_PAGE_BYTES) (void)madvise(memory, size, MADV_HUGEPAGE);
#endif
  return memory;
}

static bool allocate_parts(byoc_model_context_t *context) {
  const byoc_model_t *model = context->model;
  byoc_context_t *shared = &context->shared;
  shared->tensors = calloc((size_t)model->tensor_count + 1, sizeof(*shared->tensors));
  shared->calls = calloc((size_t)model->call_count + 1, sizeof(*shared->calls));
  shared->instances = calloc((size_t)model->engine_count + 1, sizeof(*shared->instances));
  shared->workspace = allocate_workspace(model->artifact->workspace_size_bytes);
  for (uint32_t i = 0; shared->workspace != NULL && i < model->cached_count; i++) {
    memset(shared->workspace + model->cached[i].offset_bytes, 0, (size_t)model->cached[i].size_bytes);
  }
  const size_t ports = (size_t)model->artifact->input_count + model->artifact->output_count;
  context->checked = calloc(ports + 1, sizeof(*context->checked));
  context->spans = calloc(ports + 1, sizeof(*context->spans));
  context->placed = calloc((size_t)model->artifact->output_count + 1, sizeof(*context->placed));
  return context->placed != NULL && shared->tensors != NULL && shared->calls != NULL && shared->instances != NULL &&
         shared->workspace != NULL && context->checked != NULL && context->spans != NULL;
}

static int32_t set_up_frame(byoc_model_context_t *context, const byoc_context_options_t *options) {
  const byoc_model_t *model = context->model;
  byoc_frame_t *frame = &context->shared.frame;
  int32_t most_turns = 0;
  int32_t status = read_number("BYOC_MAX_ITERATIONS", 1, INT32_MAX, &most_turns);
  if (status != BYOC_OK) return status;
  status = byoc_frame_init(frame, &context->shared.runtime, model->cell_count, model->symbol_count);
  frame->most_turns = options->max_iterations > 0 ? options->max_iterations : (uint64_t)most_turns;
  for (uint32_t i = 0; i < model->constant_count && status == BYOC_OK; i++) {
    const byoc_model_constant_t *constant = &model->constants[i];
    status =
        byoc_frame_constant(frame, constant->cell, constant->data, constant->dtype, constant->rank, constant->dims);
  }
  return status == BYOC_OK ? BYOC_OK : create_error(status, "out of memory");
}

// Fills in the calls by the generated tables, with pointers into this context's workspace.
static void fill_calls(byoc_context_t *context, const byoc_model_t *model) {
  memcpy(context->tensors, model->tensors, model->tensor_count * sizeof(*context->tensors));
  for (uint32_t i = 0; i < model->place_count; i++) {
    context->tensors[model->places[i].tensor].data = context->workspace + model->places[i].offset_bytes;
  }
  for (uint32_t i = 0; i < model->call_count; i++) {
    const byoc_model_call_t *from = &model->calls[i];
    context->calls[i] = (byoc_call_t){
        .struct_size = sizeof(byoc_call_t),
        .input_count = from->input_count,
        .output_count = from->output_count,
        .tensors = context->tensors + from->first_tensor,
        .runtime = &context->runtime,
        .workspace = from->workspace_size_bytes > 0 ? context->workspace + from->workspace_offset : NULL,
        .workspace_size_bytes = from->workspace_size_bytes,
    };
  }
}

// $BYOC_HUGE_PAGES, else what was chosen when building. Done for the first context; all others share its constants.
static int32_t place_constants(const byoc_model_t *model) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static bool placed;
  int32_t wanted = model->huge_pages != 0;
  int32_t status = read_number("BYOC_HUGE_PAGES", 0, 1, &wanted);
  if (status != BYOC_OK) return status;
  (void)pthread_mutex_lock(&mutex);
  // If they cannot be moved, the constants stay where they are.
  if (!placed && wanted) (void)byoc_model_move_to_huge_pages(model->data, model->artifact->constants_size_bytes);
  placed = true;
  (void)pthread_mutex_unlock(&mutex);
  return BYOC_OK;
}

static int32_t verify_if_asked(const byoc_model_t *model) {
  int32_t wanted = 0;
  char message[512];
  int32_t status = read_number("BYOC_VERIFY", 0, 1, &wanted);
  if (status != BYOC_OK || !wanted || model->is_static) return status;
  status = byoc_model_verify_file(message, sizeof(message));
  return status == BYOC_OK ? BYOC_OK : create_error(status, "%s", message);
}

static int32_t create_engine(byoc_model_context_t *context, uint32_t index) {
  const byoc_model_engine_t *engine = &context->model->engines[index];
  const byoc_engine_t *table = engine->table;
  if (table->abi_version != BYOC_ENGINE_ABI_VERSION || table->struct_size < offsetof(byoc_engine_t, profile) ||
      table->create == NULL || table->destroy == NULL || table->run == NULL) {
    return create_error(BYOC_VERSION, "the engine '%s' has version %u, and this artifact runs version %d", engine->name,
                        (unsigned)table->abi_version, BYOC_ENGINE_ABI_VERSION);
  }
  byoc_engine_init_t init = {.struct_size = sizeof(init),
                             .function_count = engine->function_count,
                             .functions = engine->functions,
                             .blobs = engine->blobs,
                             .blob_count = engine->blob_count,
                             .runtime = &context->shared.runtime};
  int32_t status = table->create(&init, &context->shared.instances[index]);
  if (status == BYOC_OK) return BYOC_OK;
  context->shared.instances[index] = NULL;
  return create_error(status, "the engine '%s' cannot start: %s", engine->name, byoc_model_reason(context, status));
}

static int32_t open_devices(byoc_model_context_t *context, const byoc_context_options_t *options) {
  byoc_context_t *shared = &context->shared;
  for (uint32_t i = 0; i < options->queue_count; i++) {
    if (options->queues != NULL && options->queues[i].driver != NULL && options->queues[i].current != NULL) continue;
    return create_error(BYOC_INVALID_ARGUMENT, "the caller's queue %u needs `driver` and `current`", (unsigned)i);
  }
  int32_t status = byoc_devices_create(context->model->on_devices, &shared->runtime, options->queues,
                                       options->queue_count, &shared->devices);
  shared->runtime.has_devices = status == BYOC_OK;
  if (status == BYOC_OK) return BYOC_OK;
  if (!context->model->on_devices->has_fallback) {
    return create_error(status, "%s", byoc_model_reason(context, status));
  }
  (void)snprintf(context->error, sizeof(context->error), "%s; the plan without devices runs",
                 byoc_model_reason(context, status));
  return BYOC_OK;
}

static int32_t check_stack(void) {
  const size_t left = byoc_stack_left_bytes();
  if (left >= BYOC_STACK_BYTES) return BYOC_OK;
  return create_error(BYOC_UNSUPPORTED,
                      "this thread has %zu KiB of stack left, and %d KiB are needed: create it with a larger stack "
                      "(pthread_attr_setstacksize)",
                      left / 1024, BYOC_STACK_BYTES / 1024);
}

int32_t byoc_model_create(const byoc_model_t *model, const byoc_context_options_t *options,
                          byoc_context_t **out_context) {
  *out_context = NULL;
  byoc_context_options_t known = {.struct_size = sizeof(known)};
  if (options != NULL) {
    if (options->struct_size < sizeof(options->struct_size)) {
      return create_error(BYOC_INVALID_ARGUMENT, "struct_size of the context options is not set");
    }
    memcpy(&known, options, options->struct_size < sizeof(known) ? options->struct_size : sizeof(known));
  }
  int32_t status = check_stack();
  if (status == BYOC_OK) status = byoc_model_check(model, NULL, 0);
  if (status == BYOC_OK) status = verify_if_asked(model);
  if (status != BYOC_OK) return status;

  byoc_model_context_t *context = calloc(1, sizeof(*context));
  if (context == NULL) return create_error(BYOC_OUT_OF_MEMORY, "out of memory");
  context->model = model;
  context->fork_generation = byoc_model_fork_generation();
  if (!allocate_parts(context)) {
    status = create_error(BYOC_OUT_OF_MEMORY, "out of memory: the model '%s' needs a workspace of %llu bytes",
                          model->artifact->model_name, (unsigned long long)model->artifact->workspace_size_bytes);
    goto cleanup;
  }
  status = place_constants(model);
  if (status == BYOC_OK) status = set_up_runtime(context, &known);
  if (status == BYOC_OK) status = set_up_frame(context, &known);
  if (status != BYOC_OK) goto cleanup;
  fill_calls(&context->shared, model);
  for (uint32_t i = 0; i < model->setup_count && status == BYOC_OK; i++) {
    status = model->setups[i].function(&context->shared.runtime);
    if (status != BYOC_OK) {
      status = create_error(status, "setting up '%s': %s", model->setups[i].name, byoc_model_reason(context, status));
    }
  }
  for (uint32_t i = 0; i < model->engine_count && status == BYOC_OK; i++) status = create_engine(context, i);
  if (status == BYOC_OK && model->on_devices != NULL) status = open_devices(context, &known);
  if (status != BYOC_OK) goto cleanup;
  context->reason[0] = '\0';
  *out_context = &context->shared;
  context = NULL; // now the caller's
cleanup:
  byoc_model_destroy((byoc_context_t *)context);
  return status;
}

void byoc_model_destroy(byoc_context_t *shared) {
  if (shared == NULL) return;
  byoc_model_context_t *context = (byoc_model_context_t *)shared;
  // The threads of drivers stayed in the parent process, which closes the devices.
  const bool is_own = context->fork_generation == byoc_model_fork_generation();
  if (is_own) byoc_devices_destroy(shared->devices);
  for (uint32_t i = context->model->engine_count; i-- > 0;) {
    if (shared->instances != NULL && shared->instances[i] != NULL) {
      context->model->engines[i].table->destroy(shared->instances[i]);
    }
  }
  if (context->pool_acquired) byoc_model_pool_release();
  if (shared->frame.cells != NULL) byoc_frame_deinit(&shared->frame);
  for (byoc_kept_t *kept = context->kept; kept != NULL;) {
    byoc_kept_t *next = kept->next;
    free(kept);
    kept = next;
  }
  free(context->placed);
  free(context->spans);
  free(context->checked);
  free(shared->workspace);
  free(shared->instances);
  free(shared->calls);
  free(shared->tensors);
  free(context);
}
