// SPDX-License-Identifier: Apache-2.0
// The driver `sim` keeps what sim.h promises beyond the driver's interface: memory that the host cannot touch, faults,
// orders, the log. What every driver promises is checked by the suite.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/devices/sim.h"
#include "tests/support/support.h"

static char last_error[512];

static void keep_error(void *self, const char *message) {
  (void)self;
  snprintf(last_error, sizeof(last_error), "%s", message);
}

static const byoc_runtime_t runtime = {.struct_size = sizeof(runtime), .thread_count = 1, .set_error = keep_error};
static const byoc_driver_t *const driver = &sim_driver;

enum { COUNT = 1000, BYTES = COUNT * sizeof(float) };

// A device, a queue, an event, the kernels "scale" and "fail", and two buffers.
typedef struct stage_t {
  byoc_device_t *device;
  byoc_device_queue_t *queue;
  byoc_device_event_t *event;
  byoc_device_module_t *module;
  byoc_device_entry_t *scale, *fail;
  byoc_device_buffer_t *x, *y;
} stage_t;

static int32_t try_open(const char *options, byoc_device_t **out_device) {
  sim_configure(options);
  byoc_device_init_t init = {.struct_size = sizeof(init), .flags = BYOC_DEVICE_TIMES, .runtime = &runtime};
  return driver->open(&init, out_device);
}

static byoc_device_buffer_t *allocate(byoc_device_t *device) {
  byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = BYTES};
  byoc_device_buffer_t *buffer = NULL;
  assert_int_equal(driver->allocate(device, &allocation, &buffer), BYOC_OK);
  return buffer;
}

static byoc_device_module_t *load(byoc_device_t *device, const char *format, const void *data, size_t size) {
  byoc_device_code_t code = {sizeof(code), 0, format, data, size, ""};
  byoc_device_module_t *module = NULL;
  assert_int_equal(driver->module_load(device, &code, &module), BYOC_OK);
  return module;
}

static stage_t set_stage(const char *options) {
  stage_t stage = {0};
  assert_int_equal(try_open(options, &stage.device), BYOC_OK);
  assert_int_equal(driver->queue_create(stage.device, BYOC_QUEUE_OWN, NULL, &stage.queue), BYOC_OK);
  assert_int_equal(driver->event_create(stage.device, &stage.event), BYOC_OK);
  stage.module = load(stage.device, "sim", "scale fail", strlen("scale fail"));
  assert_int_equal(driver->module_entry(stage.device, stage.module, "scale", &stage.scale), BYOC_OK);
  assert_int_equal(driver->module_entry(stage.device, stage.module, "fail", &stage.fail), BYOC_OK);
  stage.x = allocate(stage.device);
  stage.y = allocate(stage.device);
  return stage;
}

static void strike_stage(stage_t *stage) {
  driver->release(stage->device, stage->x);
  driver->release(stage->device, stage->y);
  driver->module_unload(stage->device, stage->module);
  driver->event_destroy(stage->device, stage->event);
  driver->queue_destroy(stage->device, stage->queue);
  driver->close(stage->device);
  sim_counts_t counts;
  sim_count(&counts);
  assert_memory_equal(&counts, &(sim_counts_t){0}, sizeof(counts));
}

static int32_t put_scale(const stage_t *stage, byoc_device_entry_t *entry, float factor,
                         const byoc_device_order_t *order) {
  const byoc_device_argument_t arguments[] = {
      {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = stage->x},
      {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = stage->y},
      {.kind = BYOC_DEVICE_ARGUMENT_F32, .real = (double)factor},
      {.kind = BYOC_DEVICE_ARGUMENT_I64, .integer = COUNT},
  };
  byoc_device_launch_t launch = {
      .struct_size = sizeof(launch),
      .argument_count = 4,
      .entry = entry,
      .grid = {(COUNT + 63) / 64, 1, 1},
      .block = {64, 1, 1},
      .arguments = arguments,
  };
  return driver->launch(stage->device, stage->queue, &launch, order);
}

static int32_t put_copy(const stage_t *stage, void *host, byoc_device_buffer_t *buffer, int to_host,
                        const byoc_device_order_t *order) {
  byoc_device_bytes_t outside = {.host = host}, inside = {.buffer = buffer};
  return driver->copy(stage->device, stage->queue, to_host ? &inside : &outside, to_host ? &outside : &inside, BYTES,
                      order);
}

// y = 3 x, from the host and back; the first status that is not BYOC_OK.
static int32_t run_scale(const stage_t *stage) {
  static float x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; ++i) x[i] = (float)i;
  memset(y, 0, sizeof(y));
  byoc_device_event_t *const events[] = {stage->event};
  byoc_device_order_t signals = {.signal = stage->event}, waits = {.waits = events, .wait_count = 1};
  int32_t status = put_copy(stage, x, stage->x, 0, &signals);
  if (status == BYOC_OK) status = put_scale(stage, stage->scale, 3, &waits);
  if (status == BYOC_OK) status = put_copy(stage, y, stage->y, 1, &signals);
  if (status == BYOC_OK) status = driver->event_wait(stage->device, stage->event);
  int32_t waited = driver->queue_wait(stage->device, stage->queue);
  if (status == BYOC_OK) status = waited;
  for (int i = 0; status == BYOC_OK && i < COUNT; ++i) assert_float_equal(y[i], 3 * x[i], 0);
  return status;
}

static void test_run(void **state) {
  (void)state;
  stage_t stage = set_stage("");
  assert_int_equal(run_scale(&stage), BYOC_OK);
  strike_stage(&stage);
}

static void test_options(void **state) {
  (void)state;
  byoc_device_t *device = NULL;
  assert_int_equal(try_open("speed=9", &device), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(last_error, "'speed=9'"));
  assert_int_equal(try_open("fail=late-allocate:1", &device), BYOC_INVALID_ARGUMENT);
  assert_int_equal(try_open("devices=0", &device), BYOC_NOT_FOUND);
  assert_non_null(strstr(last_error, "set devices=1 in BYOC_SIM"));
  assert_null(device);
  assert_int_equal(try_open("fail=open:2", &device), BYOC_OK);
  driver->close(device);
  byoc_device_init_t init = {.struct_size = sizeof(init), .runtime = &runtime};
  assert_int_equal(driver->open(&init, &device), BYOC_INTERNAL);

  assert_int_equal(try_open("memory=1000,architecture=sim_9,version=7", &device), BYOC_OK);
  byoc_device_info_t info = {.struct_size = sizeof(info)};
  assert_int_equal(driver->describe(device, &info), BYOC_OK);
  assert_string_equal(info.architecture, "sim_9");
  assert_string_equal(info.driver_version, "7");
  byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = 1001};
  byoc_device_buffer_t *buffer = NULL;
  assert_int_equal(driver->allocate(device, &allocation, &buffer), BYOC_OUT_OF_MEMORY);
  driver->close(device);
}

// Runs `crime` in a child; the signal that ended it.
static int signal_of(void (*crime)(void)) {
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); // a sanitizer would exit instead
    signal(SIGABRT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    crime();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_handle(void) {
  stage_t stage = set_stage("");
  *(volatile float *)stage.x = 1;
}

static size_t read_elf(char *bytes, size_t capacity) {
  FILE *file = fopen(SIM_ELF_KERNELS, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, capacity, file);
  fclose(file);
  assert_in_range(size, 64, capacity - 1);
  return size;
}

static char elf[1 << 20];

static void write_between_rows(void) {
  stage_t stage = set_stage("");
  byoc_device_module_t *module = load(stage.device, "elf", elf, read_elf(elf, sizeof(elf)));
  byoc_device_entry_t *careless = NULL;
  assert_int_equal(driver->module_entry(stage.device, module, "careless", &careless), BYOC_OK);
  const int64_t dims[] = {COUNT / 10, 10};
  byoc_device_allocation_t allocation = {sizeof(allocation), 2, BYTES, dims, 2, 4};
  byoc_device_buffer_t *texture = NULL;
  assert_int_equal(driver->allocate(stage.device, &allocation, &texture), BYOC_OK);
  byoc_device_argument_t argument = {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = texture};
  byoc_device_launch_t launch = {sizeof(launch), 1, careless, {1, 1, 1}, {1, 1, 1}, &argument};
  assert_int_equal(driver->launch(stage.device, stage.queue, &launch, NULL), BYOC_OK);
  driver->release(stage.device, texture);
}

static void close_too_early(void) {
  stage_t stage = set_stage("");
  driver->close(stage.device);
}

static void test_mistakes(void **state) {
  (void)state;
  assert_int_equal(signal_of(touch_handle), SIGSEGV);
  assert_int_equal(signal_of(close_too_early), SIGABRT);
  assert_int_equal(signal_of(write_between_rows), SIGABRT);
}

// Each call fails once; the next run on the same device is right.
static void test_faults(void **state) {
  (void)state;
  static const struct {
    const char *option;
    int32_t status;
  } faults[] = {
      {"fail=copy:1", BYOC_INTERNAL},      {"fail=copy:2", BYOC_INTERNAL},        {"fail=launch:1", BYOC_INTERNAL},
      {"fail=wait:1", BYOC_INTERNAL},      {"fail=wait:2", BYOC_INTERNAL},        {"fail=late-copy:1", BYOC_INTERNAL},
      {"fail=late-copy:2", BYOC_INTERNAL}, {"fail=late-launch:1", BYOC_INTERNAL}, {"fail=copy:3", BYOC_OK}};
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); ++i) {
    stage_t stage = set_stage(faults[i].option);
    assert_int_equal(run_scale(&stage), faults[i].status);
    if (faults[i].status) assert_int_equal(run_scale(&stage), BYOC_OK);
    strike_stage(&stage);
  }
}

static void test_slow(void **state) {
  (void)state;
  stage_t stage = set_stage("delay=3000");
  assert_int_equal(run_scale(&stage), BYOC_OK);
  strike_stage(&stage);
}

// Two queues that nothing orders: every order of them is drawn by some seed, and always the same one by the same seed.
static void test_order(void **state) {
  (void)state;
  int first_wins = 0, second_wins = 0;
  for (int seed = 0; seed < 12; ++seed) {
    float results[2][2];
    for (int turn = 0; turn < 2; ++turn) {
      char options[32];
      snprintf(options, sizeof(options), "order=%d", seed);
      stage_t stage = set_stage(options);
      byoc_device_queue_t *other = NULL;
      assert_int_equal(driver->queue_create(stage.device, BYOC_QUEUE_OWN, NULL, &other), BYOC_OK);
      static const float one = 1, two = 2;
      assert_int_equal(driver->fill(stage.device, stage.queue, stage.x, 0, BYTES, &one, 4, NULL), BYOC_OK);
      assert_int_equal(driver->fill(stage.device, other, stage.x, 0, BYTES, &two, 4, NULL), BYOC_OK);
      assert_int_equal(driver->queue_wait(stage.device, stage.queue), BYOC_OK);
      assert_int_equal(driver->queue_wait(stage.device, other), BYOC_OK);
      static float x[COUNT];
      assert_int_equal(put_copy(&stage, x, stage.x, 1, NULL), BYOC_OK);
      assert_int_equal(driver->queue_wait(stage.device, stage.queue), BYOC_OK);
      results[turn][0] = x[0];
      results[turn][1] = x[COUNT - 1];
      driver->queue_destroy(stage.device, other);
      strike_stage(&stage);
    }
    assert_memory_equal(results[0], results[1], sizeof(results[0]));
    first_wins += results[0][0] == 1;
    second_wins += results[0][0] == 2;
  }
  assert_int_equal(first_wins + second_wins, 12);
  assert_true(first_wins > 0 && second_wins > 0);
}

static void test_elf(void **state) {
  (void)state;
  size_t size = read_elf(elf, sizeof(elf));
  stage_t stage = set_stage("");
  byoc_device_module_t *module = load(stage.device, "elf", elf, size);
  byoc_device_entry_t *twice = NULL;
  assert_int_equal(driver->module_entry(stage.device, module, "thrice", &twice), BYOC_NOT_FOUND);
  assert_int_equal(driver->module_entry(stage.device, module, "twice", &twice), BYOC_OK);
  static float x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; ++i) x[i] = (float)i;
  const byoc_device_argument_t arguments[] = {
      {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = stage.x},
      {.kind = BYOC_DEVICE_ARGUMENT_BUFFER, .buffer = stage.y},
      {.kind = BYOC_DEVICE_ARGUMENT_I32, .integer = COUNT},
  };
  byoc_device_launch_t launch = {sizeof(launch), 3, twice, {1, 1, 1}, {COUNT, 1, 1}, arguments};
  assert_int_equal(put_copy(&stage, x, stage.x, 0, NULL), BYOC_OK);
  assert_int_equal(driver->launch(stage.device, stage.queue, &launch, NULL), BYOC_OK);
  assert_int_equal(put_copy(&stage, y, stage.y, 1, NULL), BYOC_OK);
  assert_int_equal(driver->queue_wait(stage.device, stage.queue), BYOC_OK);
  for (int i = 0; i < COUNT; ++i) assert_float_equal(y[i], 2 * x[i], 0);
  driver->module_unload(stage.device, module);

  byoc_device_code_t broken = {sizeof(broken), 0, "elf", elf, size / 2, ""};
  assert_int_equal(driver->module_load(stage.device, &broken, &module), BYOC_INVALID_DATA);
  assert_null(module);
  strike_stage(&stage);
}

static void test_log(void **state) {
  (void)state;
  char path[] = BYOC_TEST_BUILD_DIR "/tests/tmp/sim-log-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  char options[sizeof(path) + 16];
  snprintf(options, sizeof(options), "log=%s", path);
  stage_t stage = set_stage(options);
  assert_int_equal(run_scale(&stage), BYOC_OK);
  strike_stage(&stage);
  char text[2048];
  ssize_t size = read(descriptor, text, sizeof(text) - 1);
  assert_true(size > 0);
  text[size] = 0;
  close(descriptor);
  unlink(path);
  assert_string_equal(text, "open 0\n"
                            "queue 0\n"
                            "event\n"
                            "module sim 10\n"
                            "allocate global 4000\n"
                            "allocate global 4000\n"
                            "copy host>device 4000 on q0 after 0 signals\n"
                            "launch scale 16,1,1 of 64,1,1 on q0 after 1\n"
                            "copy device>host 4000 on q0 after 0 signals\n"
                            "close 0\n");
}

static void test_log_of_times(void **state) {
  (void)state;
  char path[] = BYOC_TEST_BUILD_DIR "/tests/tmp/sim-times-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  char options[sizeof(path) + 16], text[4096], name[16];
  snprintf(options, sizeof(options), "times,log=%s", path);
  stage_t stage = set_stage(options);
  assert_int_equal(run_scale(&stage), BYOC_OK);
  strike_stage(&stage);
  ssize_t size = read(descriptor, text, sizeof(text) - 1);
  close(descriptor);
  unlink(path);
  assert_true(size > 0);
  text[size] = 0;
  unsigned long long begin = 0, end = 0, last = 0;
  int count = 0;
  for (const char *line = text; (line = strstr(line, "ran ")) != NULL; ++line) {
    assert_int_equal(sscanf(line, "ran %15s on q0 from %llu to %llu", name, &begin, &end), 3);
    assert_string_equal(name, count++ == 1 ? "launch" : "copy");
    assert_true(begin >= last && end >= begin); // one queue runs one command at a time
    last = end;
  }
  assert_int_equal(count, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run),    cmocka_unit_test(test_options), cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_faults), cmocka_unit_test(test_slow),    cmocka_unit_test(test_order),
      cmocka_unit_test(test_elf),    cmocka_unit_test(test_log),     cmocka_unit_test(test_log_of_times),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
