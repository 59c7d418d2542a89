// SPDX-License-Identifier: Apache-2.0
// The options of the driver `sim`: read from a text, and kept apart from the devices that were opened with older ones.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/devices/sim_internal.h"

enum { TEXT_BYTES = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_configured;            // with sim_configure
static char configured[TEXT_BYTES];  // if so
static char opened_with[TEXT_BYTES]; // the text at the last open
static uint64_t open_count;          // with that text

void sim_configure(const char *options) {
  pthread_mutex_lock(&lock);
  is_configured = options != NULL;
  snprintf(configured, sizeof(configured), "%s", options ? options : "");
  opened_with[0] = 0;
  open_count = 0;
  pthread_mutex_unlock(&lock);
}

static int read_number(const char *text, uint64_t *out_number) {
  char *end = NULL;
  errno = 0;
  *out_number = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && !*end && !errno;
}

static int read_fault(const char *text, sim_options_t *options) {
  static const struct {
    const char *name;
    int late;
  } calls[] = {
#define SIM_CALL_ROW(name, late) {#name, late},
      SIM_CALL_LIST(SIM_CALL_ROW)
#undef SIM_CALL_ROW
  };
  options->fail_late = strncmp(text, "late-", 5) == 0;
  if (options->fail_late) text += 5;
  const char *colon = strchr(text, ':');
  if (!colon || !read_number(colon + 1, &options->fail_number)) return 0;
  for (size_t i = 0; i < SIM_CALL_COUNT; ++i) {
    if (strlen(calls[i].name) != (size_t)(colon - text) || strncmp(calls[i].name, text, (size_t)(colon - text)) != 0) {
      continue;
    }
    options->fail_call = (sim_call_t)i;
    return calls[i].late || !options->fail_late;
  }
  return 0;
}

// One option, "name" or "name=value".
static int read_option(char *text, sim_options_t *options) {
  char *value = strchr(text, '=');
  if (!value) {
    int *flag = strcmp(text, "unified") == 0 ? &options->unified
                : strcmp(text, "times") == 0 ? &options->times
                : strcmp(text, "nan") == 0   ? &options->nan
                                             : NULL;
    if (flag) *flag = 1;
    return flag != NULL;
  }
  *value++ = 0;
  if (strcmp(text, "devices") == 0) return read_number(value, &options->devices);
  if (strcmp(text, "memory") == 0) return read_number(value, &options->memory_bytes);
  if (strcmp(text, "delay") == 0) return read_number(value, &options->delay_us);
  if (strcmp(text, "stamps") == 0) {
    options->has_stamps = 1;
    return read_number(value, &options->stamp_ns);
  }
  if (strcmp(text, "fail") == 0) return read_fault(value, options);
  if (strcmp(text, "order") == 0) {
    options->ordered = 1;
    return read_number(value, &options->order_seed);
  }
  if (strcmp(text, "architecture") == 0) {
    snprintf(options->architecture, sizeof(options->architecture), "%s", value);
    return 1;
  }
  if (strcmp(text, "version") == 0) {
    snprintf(options->version, sizeof(options->version), "%s", value);
    return 1;
  }
  if (strcmp(text, "log") == 0) {
    if (options->log >= 0) close(options->log);
    options->log = open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return options->log >= 0;
  }
  return 0;
}

int32_t sim_options_read(sim_options_t *out_options, char *error, size_t error_size) {
  *out_options = (sim_options_t){.devices = 2,
                                 .memory_bytes = UINT64_C(4) << 30,
                                 .fail_call = SIM_CALL_COUNT,
                                 .architecture = "sim_1",
                                 .version = "1",
                                 .log = -1};
  char text[TEXT_BYTES];
  pthread_mutex_lock(&lock);
  const char *environment = getenv("BYOC_SIM");
  snprintf(text, sizeof(text), "%s", is_configured ? configured : environment ? environment : "");
  if (strcmp(text, opened_with) != 0) open_count = 0;
  ++open_count;
  snprintf(opened_with, sizeof(opened_with), "%s", text);
  pthread_mutex_unlock(&lock);

  char *rest = NULL;
  for (char *option = strtok_r(text, ",", &rest); option; option = strtok_r(NULL, ",", &rest)) {
    char told[SIM_NAME_BYTES];
    snprintf(told, sizeof(told), "%s", option);
    if (read_option(option, out_options)) continue;
    snprintf(error, error_size,
             "the driver 'sim' cannot read the option '%s' of BYOC_SIM; tests/devices/sim.h lists them", told);
    sim_options_close(out_options);
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

void sim_options_close(sim_options_t *options) {
  if (options->log >= 0) close(options->log);
  options->log = -1;
}

int sim_options_fail_open(const sim_options_t *options) {
  pthread_mutex_lock(&lock);
  int fails = options->fail_call == SIM_CALL_open && options->fail_number == open_count;
  pthread_mutex_unlock(&lock);
  return fails;
}

void sim_log(const byoc_device_t *device, const char *format, ...) {
  if (device->options.log < 0) return;
  char line[SIM_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  int size = vsnprintf(line, sizeof(line) - 1, format, list);
  va_end(list);
  if (size > (int)sizeof(line) - 2) size = (int)sizeof(line) - 2;
  line[size++] = '\n';
  if (write(device->options.log, line, (size_t)size) != size) sim_mistake("the log of BYOC_SIM cannot be written");
}
