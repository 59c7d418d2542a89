// SPDX-License-Identifier: Apache-2.0
// Counts processors by affinity and by the quotas of control groups, which containers set (docker --cpus, Kubernetes
// limits).
#define _GNU_SOURCE
#include "core/runtime/processors.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/runtime/pool.h"

enum { PATH_BYTES = 1024, MEMBERSHIP_BYTES = 8192 };

// Reads the beginning of a small file as text.
static bool read_text(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t got = read(fd, text, size - 1);
  (void)close(fd);
  if (got <= 0) return false;
  text[got] = '\0';
  return true;
}

static bool read_text_in(const char *folder, const char *name, char text[64]) {
  char path[PATH_BYTES + 32];
  int size = snprintf(path, sizeof(path), "%s/%s", folder, name);
  return size > 0 && size < (int)sizeof(path) && read_text(path, text, 64);
}

// The quota of one group, in processors; 0 if it has none. Version 2 has one file with "QUOTA PERIOD" or "max PERIOD",
// version 1 has two files, and a quota of -1 for none.
static long long quota_of(const char *folder) {
  char text[64];
  long long quota = 0, period = 0;
  if (read_text_in(folder, "cpu.max", text)) {
    char *end = text;
    quota = strtoll(text, &end, 10);
    period = strtoll(end, NULL, 10);
  } else if (read_text_in(folder, "cpu.cfs_quota_us", text)) {
    quota = strtoll(text, NULL, 10);
    period = read_text_in(folder, "cpu.cfs_period_us", text) ? strtoll(text, NULL, 10) : 0;
  }
  return quota > 0 && period > 0 ? (quota - 1) / period + 1 : 0;
}

// 0 stands for no quota.
static long long smaller(long long least, long long quota) {
  return quota > 0 && (least == 0 || quota < least) ? quota : least;
}

// The least quota from <mounted>[/<controller>]<group> up to <mounted>[/<controller>]. In a container the group's name
// may be that of the host, and only the last of these folders exists.
static long long least_quota(const char *mounted, const char *controller, const char *group) {
  char folder[PATH_BYTES];
  int size = snprintf(folder, sizeof(folder), "%s%s%s", mounted, controller[0] != '\0' ? "/" : "", controller);
  if (size < 0 || (size_t)size + strlen(group) >= sizeof(folder)) return 0;
  strcpy(folder + size, group);
  long long least = 0;
  for (;;) {
    least = smaller(least, quota_of(folder));
    char *slash = strrchr(folder + size, '/');
    if (slash == NULL) return least;
    *slash = '\0';
  }
}

static bool has_word(const char *list, const char *word) {
  const size_t size = strlen(word);
  for (const char *at = list; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
    if (strncmp(at, word, size) == 0 && (at[size] == ',' || at[size] == '\0')) return true;
  }
  return false;
}

// Reads lines "0::GROUP" of version 2 and "NUMBER:CONTROLLERS:GROUP" of version 1.
int32_t byoc_model_quota_processors(const char *mounted, const char *membership) {
  char text[MEMBERSHIP_BYTES];
  if (!read_text(membership, text, sizeof(text))) return 0;
  long long least = 0;
  char *next = NULL;
  for (char *line = strtok_r(text, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) continue;
    *controllers++ = *group++ = '\0';
    if (controllers[0] != '\0' && !has_word(controllers, "cpu")) continue;
    // "cpu,cpuacct" is mounted under that name, under "cpu", or under both.
    least = smaller(least, least_quota(mounted, controllers, group));
    if (controllers[0] != '\0') least = smaller(least, least_quota(mounted, "cpu", group));
  }
  return least > BYOC_MODEL_MAX_THREADS ? BYOC_MODEL_MAX_THREADS : (int32_t)least;
}

int32_t byoc_model_processor_count(void) {
  long count = 0;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = CPU_COUNT(&set);
  if (count < 1) count = sysconf(_SC_NPROCESSORS_ONLN);
  if (count < 1) count = 1;
  if (count > BYOC_MODEL_MAX_THREADS) count = BYOC_MODEL_MAX_THREADS;
  const int32_t quota = count > 1 ? byoc_model_quota_processors("/sys/fs/cgroup", "/proc/self/cgroup") : 0;
  return quota > 0 && quota < count ? quota : (int32_t)count;
}
