// SPDX-License-Identifier: Apache-2.0
// The mistakes that any hook can make: it ends the process, does not come back, prints, or changes the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mistaken.h"

static void on_signal(int number) {
  (void)number;
}

static int overflow(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth < INT_MAX ? overflow(depth + 1) + frame[0] : 0;
}

static void crash(void) {
  volatile int *volatile nowhere = (volatile int *)8;
  *nowhere = 1;
}

static void *crash_in_a_thread(void *self) {
  crash();
  return self;
}

static void crash_elsewhere(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, crash_in_a_thread, NULL) == 0) (void)pthread_join(thread, NULL);
}

// throw 1;
static void throw_exception(void) {
  void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return;
  void *(*allocate)(size_t);
  void (*throw_it)(void *, void *, void (*)(void *));
  *(void **)&allocate = dlsym(library, "__cxa_allocate_exception");
  *(void **)&throw_it = dlsym(library, "__cxa_throw");
  int *value = allocate(sizeof(*value));
  *value = 1;
  throw_it(value, dlsym(library, "_ZTIi"), NULL);
}

// What code compiled with the address sanitizer does at a wrong address, where the sanitizer is loaded.
static void read_what_a_sanitizer_forbids(void) {
  static const char byte = 0;
  void (*report)(const void *address);
  *(void **)&report = dlsym(RTLD_DEFAULT, "__asan_report_load1");
  if (report != NULL) report(&byte);
}

// What a child process does is its own affair.
static void fork_children(void) {
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0 && i == 0) exit(0);
    if (child == 0 && i == 1) _exit(127);
    if (child == 0) abort();
    (void)waitpid(child, NULL, 0);
  }
}

// Query has run in a trial before: this is not its first call.
static bool is_second_call(void) {
  return mkdir("queried", 0700) != 0 && errno == EEXIST;
}

void mistaken_deed(const char *where) {
  if (mistaken_is(where, "exit")) exit(0);
  if (mistaken_is(where, "_exit")) _exit(0);
  if (mistaken_is(where, "_Exit")) _Exit(0);
  if (mistaken_is(where, "quick_exit")) quick_exit(0);
  if (mistaken_is(where, "pthread_exit")) pthread_exit(NULL);
  if (mistaken_is(where, "crash")) crash();
  if (mistaken_is(where, "sanitizer")) read_what_a_sanitizer_forbids();
  if (mistaken_is(where, "crash later") && is_second_call()) crash();
  if (mistaken_is(where, "crash in a thread")) crash_elsewhere();
  if (mistaken_is(where, "trap")) __builtin_trap();
  if (mistaken_is(where, "abort")) abort();
  if (mistaken_is(where, "overflow")) (void)overflow(0);
  if (mistaken_is(where, "throw")) throw_exception();
  while (mistaken_is(where, "hang")) continue;
  while (mistaken_is(where, "sleep")) (void)pause();
  if (mistaken_is(where, "printf")) printf("hello from a hook\n");
  if (mistaken_is(where, "write to stderr")) (void)fputs("\033[31mhello from a hook\n", stderr);
  if (mistaken_is(where, "print and crash")) {
    (void)fputs("assertion failed: x > 0\n", stderr);
    abort();
  }
  if (mistaken_is(where, "close stdout")) (void)close(STDOUT_FILENO);
  if (mistaken_is(where, "locale")) (void)setlocale(LC_NUMERIC, "C.UTF-8");
  if (mistaken_is(where, "chdir") && chdir("/") != 0) abort();
  if (mistaken_is(where, "umask")) (void)umask(077);
  if (mistaken_is(where, "setenv")) (void)setenv("BYOC_TEST_OF_HYGIENE", "1", 1);
  if (mistaken_is(where, "signal")) (void)signal(SIGUSR2, on_signal);
  if (mistaken_is(where, "rounding")) (void)fesetround(FE_UPWARD);
  if (mistaken_is(where, "fork")) fork_children(); // right
}
