// SPDX-License-Identifier: Apache-2.0
// Several files that appear together or not at all.
#include "tests/support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file_set.h"
#include "core/base/temporary.h"

static int setup(void **state) {
  *state = byoc_test_folder();
  return chdir(*state);
}

static int teardown(void **state) {
  byoc_diag_t diag = {0};
  assert_int_equal(chdir("/"), 0);
  byoc_test_ok(byoc_remove_tree(*state, &diag), &diag);
  free(*state);
  return 0;
}

static void put(const char *path, const char *text) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path, text, strlen(text), &diag), &diag);
}

static void add(byoc_file_set_t *set, const char *path, const char *text) {
  byoc_diag_t diag = {0};
  const byoc_bytes_t bytes = {.data = text, .size_bytes = strlen(text)};
  byoc_test_ok(byoc_file_set_add(set, path, &bytes, 1, 0644, &diag), &diag);
}

static void expect(const char *path, const char *expected) {
  byoc_diag_t diag = {0};
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size), &diag);
  assert_string_equal(data, expected);
  byoc_free(byoc_allocator_system(), data);
}

static void all_appear(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  put("a", "old a");
  put("linked", "new c");
  assert_int_equal(symlink("a", "link"), 0);
  add(&set, "link", "new a");
  add(&set, "b", "new b");
  byoc_test_ok(byoc_file_set_add_file(&set, "linked", "c", 0755, &diag), &diag);
  expect("a", "old a"); // not before the commit
  assert_false(byoc_file_exists("b"));
  byoc_test_ok(byoc_file_set_commit(&set, &diag), &diag);
  byoc_file_set_abandon(&set);
  expect("a", "new a");
  expect("b", "new b");
  expect("c", "new c");
  struct stat info;
  assert_true(lstat("link", &info) == 0 && S_ISLNK(info.st_mode));
  assert_true(stat("c", &info) == 0 && (info.st_mode & 0100) != 0);
  assert_int_equal(byoc_test_count_entries("."), 4); // a, b, c, link
}

static void none_is_left_of_an_abandoned_set(void **state) {
  (void)state;
  byoc_file_set_t set = {0};
  put("a", "old a");
  add(&set, "a", "new a");
  add(&set, "b", "new b");
  byoc_file_set_abandon(&set);
  byoc_file_set_abandon(&set);
  expect("a", "old a");
  assert_int_equal(byoc_test_count_entries("."), 1);
  byoc_diag_t diag = {0};
  add(&set, "c", "new c"); // it is empty, and may be filled again
  byoc_test_ok(byoc_file_set_commit(&set, &diag), &diag);
  expect("a", "old a");
  expect("c", "new c");
  assert_int_equal(byoc_test_count_entries("."), 2);
}

// The third place becomes a folder after the files were added: what was put in place before is taken back.
static void a_failing_commit_changes_nothing(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  put("a", "old a");
  add(&set, "a", "new a");
  add(&set, "b", "new b");
  add(&set, "c", "new c");
  add(&set, "d", "new d");
  assert_int_equal(mkdir("c", 0755), 0);
  byoc_test_error(byoc_file_set_commit(&set, &diag), BYOC_IO, &diag, "cannot write 'c'");
  byoc_file_set_abandon(&set);
  expect("a", "old a");
  assert_int_equal(byoc_test_count_entries("."), 2); // a, and the folder c
  assert_int_equal(byoc_test_count_entries("c"), 0);
}

static void a_failing_addition_leaves_the_rest(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  const byoc_bytes_t bytes = {.data = "x", .size_bytes = 1};
  add(&set, "a", "new a");
  byoc_test_error(byoc_file_set_add(&set, "none/b", &bytes, 1, 0644, &diag), BYOC_NOT_FOUND, &diag, "none/b");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_file_set_add_file(&set, "missing", "b", 0644, &diag), BYOC_NOT_FOUND, &diag, "missing");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_file_set_add(&set, "/dev/null", &bytes, 1, 0644, &diag), &diag);
  byoc_test_ok(byoc_file_set_commit(&set, &diag), &diag);
  expect("a", "new a");
  assert_int_equal(byoc_test_count_entries("."), 1);
}

// ---- several processes ----

// Everything that has a temporary name is locked: to a process of another container, which does not see this one, it
// would otherwise be left over.
static void expect_locked_temporaries(size_t expected) {
  DIR *folder = opendir(".");
  assert_non_null(folder);
  size_t count = 0;
  for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    if (strstr(entry->d_name, BYOC_TEMPORARY_MARK) == NULL) continue;
    int fd = open(entry->d_name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    count++;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) fail_msg("'%s' is not locked", entry->d_name);
    assert_int_equal(close(fd), 0);
  }
  assert_int_equal(closedir(folder), 0);
  assert_int_equal(count, expected);
}

static void files_that_were_moved_are_locked(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  put("linked", "new b");
  add(&set, "a", "new a");
  byoc_test_ok(byoc_file_set_add_file(&set, "linked", "b", 0755, &diag), &diag);
  expect_locked_temporaries(2);
  byoc_file_set_abandon(&set);
  expect_locked_temporaries(0);
}

// Also where they replace older ones, whose locks the commit takes.
static void no_file_stays_open(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  for (int i = 0; i < 2; ++i) {
    const size_t before = byoc_test_count_entries("/proc/self/fd");
    byoc_file_set_t set = {0};
    add(&set, "a", "some a");
    add(&set, "b", "some b");
    byoc_test_ok(byoc_file_set_commit(&set, &diag), &diag);
    assert_int_equal(byoc_test_count_entries("/proc/self/fd"), before);
  }
}

enum { SHARED_FILES = BYOC_FILE_SET_MAX, SHARED_ROUNDS = 60 };

static char shared_letter(char name) {
  char letter = 0;
  int fd = open((char[]){name, 0}, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, &letter, 1) != 1) _exit(3);
  (void)close(fd);
  return letter;
}

// In a process of its own: puts its letter into all files at the same time as the other process. All that stay are of
// one of the two. In every other round there are no older files.
static void commit_often(char letter, pthread_barrier_t *barrier) {
  for (int round = 0; round < SHARED_ROUNDS; round++) {
    byoc_file_set_t set = {0};
    const byoc_bytes_t bytes = {.data = &letter, .size_bytes = 1};
    for (char name = 'a'; name < 'a' + SHARED_FILES; name++) {
      if (byoc_file_set_add(&set, (char[]){name, 0}, &bytes, 1, 0644, NULL) != BYOC_OK) _exit(1);
    }
    (void)pthread_barrier_wait(barrier);
    if (byoc_file_set_commit(&set, NULL) != BYOC_OK) _exit(2);
    (void)pthread_barrier_wait(barrier);
    for (char name = 'a'; name < 'a' + SHARED_FILES; name++) {
      if (shared_letter(name) != shared_letter('a')) _exit(4);
    }
    (void)pthread_barrier_wait(barrier);
    for (char name = 'a'; name < 'a' + SHARED_FILES && round % 2 == 0; name++) (void)unlink((char[]){name, 0});
  }
  _exit(0);
}

static void processes_commit_one_after_the_other(void **state) {
  (void)state;
  pthread_barrierattr_t attributes;
  pthread_barrier_t *barrier = mmap(NULL, sizeof(*barrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(barrier, MAP_FAILED);
  assert_int_equal(pthread_barrierattr_init(&attributes), 0);
  assert_int_equal(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
  assert_int_equal(pthread_barrier_init(barrier, &attributes, 2), 0);
  pid_t children[2];
  for (int i = 0; i < 2; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      (void)alarm(60);
      commit_often(i == 0 ? 'x' : 'y', barrier);
    }
  }
  for (int i = 0; i < 2; i++) {
    int status = 0;
    pid_t ended = waitpid(-1, &status, 0);
    for (int other = 0; other < 2 && status != 0; other++) {
      if (children[other] != ended) (void)kill(children[other], SIGKILL); // it would wait for the one that failed
    }
    assert_int_equal(status, 0);
  }
  assert_int_equal(munmap(barrier, sizeof(*barrier)), 0);
  assert_int_equal(byoc_test_count_entries("."), SHARED_FILES);
}

// Makes the last file of a set, sooner in some rounds than in others.
static void *make_last_file(void *argument) {
  pthread_barrier_t *barrier = argument;
  for (int round = 0; round < SHARED_ROUNDS; round++) {
    (void)pthread_barrier_wait(barrier);
    for (volatile int spin = 0; spin < (round % 50) * 1000; spin++) {}
    const int fd = open((char[]){'a' + SHARED_FILES - 1, 0}, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0) (void)close(fd);
    (void)pthread_barrier_wait(barrier);
  }
  return NULL;
}

// The files before it are put in place once more then.
static void the_last_file_appears_meanwhile(void **state) {
  (void)state;
  pthread_barrier_t barrier;
  pthread_t thread;
  assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
  assert_int_equal(pthread_create(&thread, NULL, make_last_file, &barrier), 0);
  byoc_status_t failed = BYOC_OK;
  for (int round = 0; round < SHARED_ROUNDS; round++) {
    byoc_file_set_t set = {0};
    for (char name = 'a'; name < 'a' + SHARED_FILES; name++) add(&set, (char[]){name, 0}, "x");
    (void)pthread_barrier_wait(&barrier);
    const byoc_status_t status = byoc_file_set_commit(&set, NULL);
    if (status != BYOC_OK) failed = status;
    byoc_file_set_abandon(&set);
    (void)pthread_barrier_wait(&barrier);
    for (char name = 'a'; name < 'a' + SHARED_FILES; name++) (void)unlink((char[]){name, 0});
  }
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_barrier_destroy(&barrier), 0);
  assert_int_equal(failed, BYOC_OK);
}

// No order of moves puts two files at one path. Meanwhile the commit does not wait for the lock that it holds itself.
static void two_files_at_one_path_change_nothing(void **state) {
  (void)state;
  enum { TRIES_FOR_A_LOCK = 3000 };
  byoc_diag_t diag = {0};
  byoc_file_set_t set = {0};
  struct rusage before, after;
  put("a", "old a");
  add(&set, "a", "new a");
  add(&set, "b", "one b");
  add(&set, "b", "another b");
  assert_int_equal(getrusage(RUSAGE_THREAD, &before), 0);
  byoc_test_error(byoc_file_set_commit(&set, &diag), BYOC_ALREADY_EXISTS, &diag, "b");
  assert_int_equal(getrusage(RUSAGE_THREAD, &after), 0);
  assert_true(after.ru_nvcsw - before.ru_nvcsw < TRIES_FOR_A_LOCK); // of which each one sleeps
  byoc_file_set_abandon(&set);
  expect("a", "old a");
  assert_int_equal(byoc_test_count_entries("."), 1);
}

// A file made from an older one does not take the place of a third one; without a change between, it does.
static void a_followed_file_changes_meanwhile(void **state) {
  static const char *const olders[] = {NULL, "older"};
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    byoc_diag_t diag = {0};
    byoc_file_set_t mine = {0}, theirs = {0};
    if (olders[i] != NULL) put("all", olders[i]);
    const byoc_file_identity_t older = byoc_file_identity("all");
    add(&mine, "artifact", "mine");
    add(&mine, "all", "older and mine");
    byoc_file_set_follow(&mine, older);
    add(&theirs, "all", "older and theirs");
    byoc_file_set_follow(&theirs, older);
    byoc_test_ok(byoc_file_set_commit(&theirs, &diag), &diag);
    assert_int_equal(byoc_file_set_commit(&mine, &diag), BYOC_ALREADY_EXISTS);
    assert_non_null(strstr(diag.message, "all' was changed by another program meanwhile"));
    expect("all", "older and theirs");
    assert_false(byoc_file_exists("artifact"));
    const byoc_file_identity_t newer = byoc_file_identity("all");
    add(&mine, "all", "older, theirs and mine");
    byoc_file_set_follow(&mine, newer);
    byoc_file_set_supersede(&mine);
    assert_int_equal(mine.count, 2);
    byoc_diag_clear(&diag);
    byoc_test_ok(byoc_file_set_commit(&mine, &diag), &diag);
    expect("all", "older, theirs and mine");
    expect("artifact", "mine");
    assert_int_equal(unlink("all") + unlink("artifact"), 0);
  }
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_a_folder(all_appear),
      in_a_folder(none_is_left_of_an_abandoned_set),
      in_a_folder(a_failing_commit_changes_nothing),
      in_a_folder(a_failing_addition_leaves_the_rest),
      in_a_folder(files_that_were_moved_are_locked),
      in_a_folder(no_file_stays_open),
      in_a_folder(processes_commit_one_after_the_other),
      in_a_folder(the_last_file_appears_meanwhile),
      in_a_folder(two_files_at_one_path_change_nothing),
      in_a_folder(a_followed_file_changes_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
