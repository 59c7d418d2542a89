// SPDX-License-Identifier: Apache-2.0
// Files and folders, with a full disk, missing permissions and names that are taken.
#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/interrupt.h"

static char *folder; // fresh for every test

static int setup(void **state) {
  (void)state;
  folder = byoc_test_folder();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_remove_tree(folder, &diag), &diag);
  assert_false(byoc_file_exists(folder));
  free(folder);
  return 0;
}

static const char *in_folder(const char *name) {
  static char paths[4][600];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
  return path;
}

static void expect_content(const char *path, const char *expected) {
  byoc_diag_t diag = {0};
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size), &diag);
  assert_int_equal(size, strlen(expected));
  assert_string_equal(data, expected);
  free(data);
}

static void reads_and_writes(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  const char *path = in_folder("a");
  byoc_test_ok(byoc_file_write(path, "hello", 5, &diag), &diag);
  expect_content(path, "hello");
  const byoc_bytes_t parts[] = {{"one,", 4}, {NULL, 0}, {"two", 3}};
  byoc_test_ok(byoc_file_write_parts(path, parts, 3, &diag), &diag);
  expect_content(path, "one,two");
  byoc_test_ok(byoc_file_write_atomic(path, "", 0, 0644, &diag), &diag);
  expect_content(path, "");
  byoc_test_ok(byoc_file_write_atomic_parts(path, parts, 3, 0644, &diag), &diag);
  expect_content(path, "one,two");
  assert_int_equal(byoc_test_count_entries(folder), 1);
}

static void views(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_file_view_t view;
  const char *path = in_folder("a");
  byoc_test_ok(byoc_file_write(path, "hello", 5, &diag), &diag);
  byoc_test_ok(byoc_file_view_open(path, &diag, &view), &diag);
  assert_int_equal(view.size_bytes, 5);
  assert_memory_equal(view.data, "hello", 5);
  byoc_file_view_close(&view);
  byoc_file_view_close(&view);
  byoc_test_ok(byoc_file_write(path, "", 0, &diag), &diag);
  byoc_test_ok(byoc_file_view_open(path, &diag, &view), &diag);
  assert_non_null(view.data);
  assert_int_equal(view.size_bytes, 0);
  byoc_file_view_close(&view);
  byoc_test_ok(byoc_file_view_open("/proc/self/status", &diag, &view), &diag); // regular, of size 0 by stat
  assert_true(view.size_bytes > 20);
  byoc_file_view_close(&view);
}

static void reading_fails_with_the_path(void **state) {
  (void)state;
  byoc_file_view_t view;
  char *data = NULL;
  size_t size = 0;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_file_view_open(in_folder("none"), &diag, &view);
  byoc_test_error(status, BYOC_NOT_FOUND, &diag, "none': No such file or directory");
  assert_null(view.data);
  byoc_diag_clear(&diag);
  status = byoc_file_read(folder, byoc_allocator_system(), &diag, &data, &size);
  byoc_test_error(status, BYOC_IO, &diag, "Is a directory");
  assert_null(data);
}

// Opening one waited for somebody who writes into it. What a process is given as its standard input is read.
static void named_pipes_are_refused(void **state) {
  (void)state;
  byoc_file_view_t view;
  char *data = NULL;
  size_t size = 0;
  byoc_diag_t diag = {0};
  char path[600];
  snprintf(path, sizeof(path), "%s/pipe", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  byoc_test_error(byoc_file_view_open(path, &diag, &view), BYOC_INVALID_DATA, &diag, "it is a named pipe");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size), BYOC_INVALID_DATA, &diag,
                  "it is a named pipe");
  byoc_diag_clear(&diag);
  assert_int_equal(unlink(path), 0);
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
  assert_int_equal(write(fds[1], "text", 4), 4);
  assert_int_equal(close(fds[1]), 0);
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &data, &size), &diag);
  assert_string_equal(data, "text");
  byoc_free(byoc_allocator_system(), data);
  assert_int_equal(close(fds[0]), 0);
}

// Reading went on until no memory was left.
static void devices_without_end_are_refused(void **state) {
  (void)state;
  static const char *const devices[] = {"/dev/zero", "/dev/urandom"};
  byoc_file_view_t view;
  char *data = NULL;
  size_t size = 0;
  byoc_diag_t diag = {0};
  for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
    byoc_test_error(byoc_file_view_open(devices[i], &diag, &view), BYOC_INVALID_DATA, &diag, "it is a device");
    assert_null(view.data);
    byoc_diag_clear(&diag);
    byoc_status_t status = byoc_file_read(devices[i], byoc_allocator_system(), &diag, &data, &size);
    byoc_test_error(status, BYOC_INVALID_DATA, &diag, devices[i]);
    assert_null(data);
    byoc_diag_clear(&diag);
  }
  byoc_test_ok(byoc_file_read("/dev/null", byoc_allocator_system(), &diag, &data, &size), &diag);
  assert_int_equal(size, 0);
  byoc_free(byoc_allocator_system(), data);
}

static void mode_obeys_the_umask(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  mode_t before = umask(027);
  byoc_test_ok(byoc_file_write_atomic(in_folder("a"), "x", 1, 0755, &diag), &diag);
  byoc_test_ok(byoc_file_write(in_folder("b"), "x", 1, &diag), &diag);
  byoc_test_ok(byoc_file_install(in_folder("b"), in_folder("c"), 0777, &diag), &diag);
  umask(before);
  struct stat info;
  assert_int_equal(stat(in_folder("a"), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0750);
  assert_int_equal(stat(in_folder("c"), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0750);
}

static void links_stay_links(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(in_folder("target"), "old", 3, &diag), &diag);
  assert_int_equal(symlink("target", in_folder("link")), 0);
  byoc_test_ok(byoc_file_write_atomic(in_folder("link"), "new", 3, 0644, &diag), &diag);
  expect_content(in_folder("target"), "new");
  struct stat info;
  assert_int_equal(lstat(in_folder("link"), &info), 0);
  assert_true(S_ISLNK(info.st_mode));
}

// Runs `body` in a child whose files may not grow beyond 4096 bytes: write() then fails as on a full disk.
static void with_small_files(void (*body)(void)) {
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(99);
    body();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void write_too_much(void) {
  static char data[100000];
  byoc_diag_t diag = {0};
  char text[2000];
  if (byoc_file_write_atomic(in_folder("a"), data, sizeof(data), 0644, &diag) != BYOC_IO) _exit(1);
  byoc_diag_format(&diag, text, sizeof(text));
  if (strstr(text, "cannot write") == NULL || strstr(text, "/a'") == NULL) _exit(2);
  if (byoc_file_write_atomic(in_folder("new"), data, sizeof(data), 0644, NULL) != BYOC_IO) _exit(3);
  if (byoc_file_write(in_folder("plain"), data, sizeof(data), NULL) != BYOC_IO) _exit(4);
  if (byoc_file_exists(in_folder("plain"))) _exit(5);
}

static void failing_write_leaves_nothing(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(in_folder("a"), "old", 3, &diag), &diag);
  with_small_files(write_too_much);
  expect_content(in_folder("a"), "old");
  assert_int_equal(byoc_test_count_entries(folder), 1);
}

static void full_device_is_an_error_and_stays(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_status_t status = byoc_file_write_atomic("/dev/full", "x", 1, 0644, &diag);
  byoc_test_error(status, BYOC_IO, &diag, "cannot write '/dev/full': No space left on device");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_file_write("/dev/full", "x", 1, &diag), BYOC_IO, &diag, "No space left");
  struct stat info;
  assert_int_equal(stat("/dev/full", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  byoc_test_ok(byoc_file_write_atomic("/dev/null", "x", 1, 0644, &diag), &diag);
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

static void impossible_places(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_error(byoc_file_write_atomic(in_folder("no/such/a"), "x", 1, 0644, &diag), BYOC_NOT_FOUND, &diag,
                  "no/such/a'");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_file_write_atomic(folder, "x", 1, 0644, &diag), BYOC_IO, &diag, "Is a directory");
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_file_write(in_folder("file"), "x", 1, &diag), &diag);
  byoc_test_error(byoc_make_directories(in_folder("file/below"), &diag), BYOC_ALREADY_EXISTS, &diag,
                  "a file of that name");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_make_directories(in_folder("file"), &diag), BYOC_ALREADY_EXISTS, &diag, "file'");
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_file_write_atomic("/proc/byoc-test", "x", 1, 0644, &diag), BYOC_NOT_FOUND, &diag,
                  "/proc/byoc-test");
  assert_int_equal(byoc_test_count_entries(folder), 1);
}

static void write_without_permission(void) {
  if (geteuid() == 0 && setuid(65534) != 0) _exit(99);
  byoc_diag_t diag = {0};
  if (byoc_file_write_atomic(in_folder("locked/a"), "x", 1, 0644, &diag) != BYOC_PERMISSION) _exit(1);
  if (strstr(diag.message, "Permission denied") == NULL) _exit(2);
}

static void read_only_folder(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_folder("locked"), 0755), 0);
  assert_int_equal(chmod(in_folder("locked"), 0555), 0);
  assert_int_equal(chmod(folder, 0755), 0);
  with_small_files(write_without_permission);
  assert_int_equal(byoc_test_count_entries(in_folder("locked")), 0);
}

static void installs_by_rename_or_copy(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(in_folder("from"), "content", 7, &diag), &diag);
  byoc_test_ok(byoc_file_write(in_folder("to"), "old", 3, &diag), &diag);
  byoc_test_ok(byoc_file_install(in_folder("from"), in_folder("to"), 0755, &diag), &diag);
  expect_content(in_folder("to"), "content");
  struct stat info;
  assert_int_equal(stat(in_folder("to"), &info), 0);
  assert_int_equal(info.st_mode & 0700, 0700);
  byoc_test_error(byoc_file_install(in_folder("none"), in_folder("to"), 0755, &diag), BYOC_NOT_FOUND, &diag, "none'");
  expect_content(in_folder("to"), "content");
  // /dev/shm is a file system of its own on most machines.
  char across[] = "/dev/shm/byoc-test-XXXXXX";
  int fd = mkstemp(across);
  if (fd >= 0) {
    assert_int_equal(write(fd, "far", 3), 3);
    close(fd);
    byoc_diag_clear(&diag);
    byoc_test_ok(byoc_file_install(across, in_folder("to"), 0644, &diag), &diag);
    expect_content(in_folder("to"), "far");
    (void)unlink(across);
  }
  (void)byoc_remove_tree(in_folder("from"), NULL);
  assert_int_equal(byoc_test_count_entries(folder), 1);
}

static void folders(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_make_directories(in_folder("x/y//z/"), &diag), &diag);
  byoc_test_ok(byoc_make_directories(in_folder("x/y/z"), &diag), &diag);
  assert_true(byoc_is_directory(in_folder("x/y/z")));
  assert_false(byoc_is_directory(in_folder("w")));
  const char *const made[] = {"b", "a", ".hidden", "C"};
  for (size_t i = 0; i < 4; i++) byoc_test_ok(byoc_file_write(in_folder(made[i]), "", 0, &diag), &diag);
  char **names = NULL;
  size_t count = 0;
  byoc_test_ok(byoc_list_directory(folder, byoc_allocator_system(), &diag, &names, &count), &diag);
  const char *const expected[] = {".hidden", "C", "a", "b", "x"};
  assert_int_equal(count, 5);
  for (size_t i = 0; i < 5; i++) assert_string_equal(names[i], expected[i]);
  byoc_free_names(byoc_allocator_system(), names, count);
  byoc_free_names(byoc_allocator_system(), NULL, 0);
  byoc_test_error(byoc_list_directory(in_folder("none"), byoc_allocator_system(), &diag, &names, &count),
                  BYOC_NOT_FOUND, &diag, "none'");
  assert_null(names);
}

static void removing_does_not_follow_links(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_make_directories(in_folder("keep"), &diag), &diag);
  byoc_test_ok(byoc_file_write(in_folder("keep/a"), "x", 1, &diag), &diag);
  byoc_test_ok(byoc_make_directories(in_folder("gone/deep/er"), &diag), &diag);
  assert_int_equal(symlink("../keep", in_folder("gone/link")), 0);
  byoc_test_ok(byoc_remove_tree(in_folder("gone"), &diag), &diag);
  byoc_test_ok(byoc_remove_tree(in_folder("gone"), &diag), &diag); // it is no error that there is nothing
  assert_true(byoc_file_exists(in_folder("keep/a")));
  assert_false(byoc_file_exists(in_folder("gone")));
}

static void paths(void **state) {
  (void)state;
  byoc_allocator_t a = byoc_allocator_system();
  const char *const joins[][3] = {{"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"", "b", "b"}, {"/", "b", "/b"}};
  for (size_t i = 0; i < 4; i++) {
    char *path = byoc_path_join(a, joins[i][0], joins[i][1]);
    assert_string_equal(path, joins[i][2]);
    byoc_free(a, path);
  }
  const char *const directories[][2] = {{"a", "."}, {"/a", "/"}, {"a/b/c", "a/b"}};
  for (size_t i = 0; i < 3; i++) {
    char *path = byoc_path_directory(a, directories[i][0]);
    assert_string_equal(path, directories[i][1]);
    byoc_free(a, path);
  }
  assert_string_equal(byoc_path_base("a/b.c"), "b.c");
  assert_string_equal(byoc_path_base("b.c"), "b.c");
}

static void temporaries_go_at_exit_but_not_in_children(void **state) {
  (void)state;
  assert_int_equal(setenv("TMPDIR", folder, 1), 0);
  fflush(NULL);
  char *before = byoc_test_folder();
  pid_t pid = fork();
  if (pid == 0) {
    char *own = byoc_test_folder();
    byoc_remove_temporaries(); // as exit would, without cmocka's handlers
    bool right = !byoc_file_exists(own) && byoc_file_exists(before);
    free(own);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_true(byoc_file_exists(before));
  byoc_remove_temporaries();
  assert_false(byoc_file_exists(before));
  free(before);
  assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
  byoc_diag_t diag = {0};
  char *path = NULL;
  byoc_test_error(byoc_make_temporary_directory("x", byoc_allocator_system(), &diag, &path), BYOC_NOT_FOUND, &diag,
                  "TMPDIR");
  assert_null(path);
  assert_int_equal(unsetenv("TMPDIR"), 0);
}

// A process that is killed leaves what the next one removes; everything else stays.
static void what_dead_processes_left_is_swept(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  char *place = byoc_copy_string(byoc_allocator_system(), in_folder("swept"));
  byoc_test_ok(byoc_make_directories(place, &diag), &diag);
  assert_int_equal(setenv("TMPDIR", place, 1), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char *own = byoc_test_folder(), path[4096];
    snprintf(path, sizeof(path), "%s/inside", own);
    bool made = byoc_file_write(path, "x", 1, NULL) == BYOC_OK;
    snprintf(path, sizeof(path), "%s/model.so.byoc-tmp-%ld-7", place, (long)getpid());
    made = made && byoc_file_write(path, "x", 1, NULL) == BYOC_OK && write(fds[1], "m", 1) == 1;
    while (made) (void)pause();
    _exit(1);
  }
  char byte;
  assert_int_equal(read(fds[0], &byte, 1), 1);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_int_equal(byoc_test_count_entries(place), 2);

  const struct {
    const char *format;
    long pid;
  } kept[] = {{"model.so.byoc-tmp-%ld-7", (long)getpid()}, {"model.so.byoc-tmp-%ld", (long)pid},
              {"model.so.byoc-tmp-%ld-", (long)pid},       {"model.so.byoc-tmp-%ld-7.so", (long)pid},
              {"model.so.tmp-%ld-7", (long)pid},           {"locked.byoc-tmp-%ld-7", (long)pid}};
  enum { KEPT = sizeof(kept) / sizeof(kept[0]) };
  int locked = -1;
  for (size_t i = 0; i < KEPT; i++) {
    char name[64], path[4096];
    snprintf(name, sizeof(name), kept[i].format, kept[i].pid);
    snprintf(path, sizeof(path), "%s/%s", place, name);
    byoc_test_ok(byoc_file_write(path, "x", 1, &diag), &diag);
    if (i + 1 == KEPT) locked = open(path, O_RDONLY | O_CLOEXEC);
  }
  assert_int_equal(flock(locked, LOCK_EX), 0); // as a process of another container would hold it
  char link[4096];
  snprintf(link, sizeof(link), "%s/link.byoc-tmp-%ld-7", place, (long)pid);
  assert_int_equal(symlink("..", link), 0);
  char *file = byoc_path_join(byoc_allocator_system(), place, "new");
  byoc_test_ok(byoc_file_write_atomic(file, "new", 3, 0644, &diag), &diag);
  assert_int_equal(byoc_test_count_entries(place), KEPT + 2);
  expect_content(file, "new");
  byoc_free(byoc_allocator_system(), file);
  byoc_free(byoc_allocator_system(), place);
  assert_int_equal(unsetenv("TMPDIR"), 0);
  (void)close(locked);
  (void)close(fds[0]);
  (void)close(fds[1]);
}

// A child that outlives its killed parent for a moment does not keep the parent's folder from being swept.
static void what_a_parent_left_is_swept(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  char *place = byoc_copy_string(byoc_allocator_system(), in_folder("orphaned"));
  byoc_test_ok(byoc_make_directories(place, &diag), &diag);
  assert_int_equal(setenv("TMPDIR", place, 1), 0);
  const pid_t maker = fork();
  if (maker == 0) {
    char *own = NULL;
    if (byoc_make_temporary_directory("orphaned", byoc_allocator_system(), NULL, &own) != BYOC_OK) _exit(1);
    const pid_t child = fork();
    if (child == 0) {
      const pid_t self = getpid();
      if (write(fds[1], &self, sizeof(self)) != sizeof(self)) _exit(1);
    }
    for (;;) (void)pause();
  }
  pid_t child = 0;
  assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
  assert_int_equal(kill(maker, SIGKILL), 0);
  assert_int_equal(waitpid(maker, NULL, 0), maker);
  assert_int_equal(byoc_test_count_entries(place), 1);
  char *file = byoc_path_join(byoc_allocator_system(), place, "new");
  byoc_test_ok(byoc_file_write_atomic(file, "new", 3, 0644, &diag), &diag);
  const size_t left = byoc_test_count_entries(place);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(left, 1);
  byoc_free(byoc_allocator_system(), file);
  byoc_free(byoc_allocator_system(), place);
  assert_int_equal(unsetenv("TMPDIR"), 0);
  (void)close(fds[0]);
  (void)close(fds[1]);
}

static void a_long_name_is_written_whole(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char name[256] = "";
  memset(name, 'n', 255);
  byoc_test_ok(byoc_file_write_atomic(in_folder(name), "new", 3, 0644, &diag), &diag);
  expect_content(in_folder(name), "new");
}

static void expect_cache(const char *expected) {
  byoc_diag_t diag = {0};
  char *path = NULL;
  byoc_test_ok(byoc_cache_directory(byoc_allocator_system(), &diag, &path), &diag);
  assert_string_equal(path, expected);
  assert_true(byoc_is_directory(path));
  byoc_free(byoc_allocator_system(), path);
}

static void cache_folder_order(void **state) {
  (void)state;
  setenv("BYOC_CACHE_DIR", in_folder("own/cache"), 1);
  setenv("XDG_CACHE_HOME", in_folder("xdg"), 1);
  setenv("HOME", in_folder("home"), 1);
  setenv("TMPDIR", folder, 1);
  expect_cache(in_folder("own/cache"));
  unsetenv("BYOC_CACHE_DIR");
  expect_cache(in_folder("xdg/byoc"));
  setenv("XDG_CACHE_HOME", "relative", 1); // must be absolute to count
  expect_cache(in_folder("home/.cache/byoc"));
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/dev/null", 1); // no folder can be made there
  char expected[64];
  snprintf(expected, sizeof(expected), "byoc-%lu", (unsigned long)getuid());
  expect_cache(in_folder(expected));
  // A folder that others may write to is not used.
  assert_int_equal(chmod(in_folder(expected), 0777), 0);
  byoc_diag_t diag = {0};
  char *path = NULL;
  byoc_test_error(byoc_cache_directory(byoc_allocator_system(), &diag, &path), BYOC_PERMISSION, &diag,
                  "BYOC_CACHE_DIR");
  assert_null(path);
  setenv("BYOC_CACHE_DIR", "/dev/null/x", 1);
  byoc_diag_clear(&diag);
  byoc_test_error(byoc_cache_directory(byoc_allocator_system(), &diag, &path), BYOC_ALREADY_EXISTS, &diag,
                  "BYOC_CACHE_DIR");
  unsetenv("BYOC_CACHE_DIR");
  unsetenv("TMPDIR");
}

static byoc_status_t list_and_read(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  char **names = NULL;
  size_t count = 0;
  char *data = NULL;
  size_t size = 0;
  byoc_status_t status = byoc_list_directory(folder, allocator, NULL, &names, &count);
  if (status == BYOC_OK) status = byoc_file_read("/proc/cpuinfo", allocator, NULL, &data, &size); // grows while read
  byoc_free_names(allocator, names, count);
  byoc_free(allocator, data);
  return status;
}

static void each_allocation_fails(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    char name[8];
    snprintf(name, sizeof(name), "f%d", i);
    byoc_test_ok(byoc_file_write(in_folder(name), "x", 1, NULL), NULL);
  }
  byoc_test_each_allocation_fails(list_and_read, NULL, false);
}

// Reading goes on in a mapping of a file that somebody cuts short.
static void cut_files_end_a_tool_with_a_sentence(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  static const char bytes[1 << 16] = {1};
  byoc_test_ok(byoc_file_write(in_folder("data"), bytes, sizeof(bytes), &diag), &diag);
  pid_t child = fork();
  if (child == 0) {
    (void)signal(SIGBUS, SIG_DFL);
    byoc_interrupt_install();
    byoc_file_view_t view;
    int messages = open(in_folder("messages"), O_WRONLY | O_CREAT, 0600);
    if (messages < 0 || dup2(messages, STDERR_FILENO) < 0) _exit(7);
    if (byoc_file_view_open(in_folder("data"), NULL, &view) != BYOC_OK) _exit(8);
    if (truncate(in_folder("data"), 0) != 0) _exit(9);
    _exit(((const volatile uint8_t *)view.data)[sizeof(bytes) - 1]);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 1);
  char *text = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(in_folder("messages"), byoc_allocator_system(), &diag, &text, &size), &diag);
  assert_string_equal(text, "error: a file was cut short while it was being read\n");
  free(text);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      in_a_folder(reads_and_writes),
      in_a_folder(views),
      in_a_folder(cut_files_end_a_tool_with_a_sentence),
      in_a_folder(reading_fails_with_the_path),
      in_a_folder(named_pipes_are_refused),
      cmocka_unit_test(devices_without_end_are_refused),
      in_a_folder(mode_obeys_the_umask),
      in_a_folder(links_stay_links),
      in_a_folder(failing_write_leaves_nothing),
      in_a_folder(full_device_is_an_error_and_stays),
      in_a_folder(impossible_places),
      in_a_folder(read_only_folder),
      in_a_folder(installs_by_rename_or_copy),
      in_a_folder(folders),
      in_a_folder(removing_does_not_follow_links),
      cmocka_unit_test(paths),
      in_a_folder(temporaries_go_at_exit_but_not_in_children),
      in_a_folder(what_dead_processes_left_is_swept),
      in_a_folder(what_a_parent_left_is_swept),
      in_a_folder(a_long_name_is_written_whole),
      in_a_folder(cache_folder_order),
      in_a_folder(each_allocation_fails),
  };
  return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
