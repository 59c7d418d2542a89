// SPDX-License-Identifier: Apache-2.0
// Discovery and loading: every refusal with its message, the order, the plugins that remain usable, and clean-up.
#include "tests/support/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/plugin/codegen.h"
#include "core/plugin/host.h"
#include "core/plugin/library.h"
#include "core/plugin/region.h"
#include "core/plugin/registry.h"

#define GOOD BYOC_TEST_BUILD_DIR "/tests/plugins/good/"
#define BAD  BYOC_TEST_BUILD_DIR "/tests/plugins/bad/"

// ---- folders of plugins ----

typedef struct fixture_t {
  char *folder;
} fixture_t;
static fixture_t fixture;

static int setup(void **state) {
  (void)state;
  fixture.folder = byoc_test_folder();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_remove_tree(fixture.folder, &diag), &diag);
  free(fixture.folder);
  return 0;
}

static char *path_in(const char *folder, const char *name) {
  char *path = byoc_path_join(byoc_allocator_system(), folder, name);
  assert_non_null(path);
  return path;
}

static void place_in(const char *folder, const char *from, const char *name) {
  byoc_diag_t diag = {0};
  char *path = path_in(folder, name), *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(from, byoc_allocator_system(), &diag, &data, &size), &diag);
  byoc_test_ok(byoc_file_write_atomic(path, data, size, 0755, &diag), &diag);
  free(data);
  free(path);
}

static void place(const char *from, const char *name) {
  place_in(fixture.folder, from, name);
}

static byoc_plugin_registry_t *open_folder(const char *environment) {
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  const byoc_plugin_options_t options = {.environment = environment, .load_timeout_ms = 1000};
  byoc_test_ok(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), &diag);
  return registry;
}

// The one plugin in the fixture's folder is refused, as found or when it is loaded, with `part` in its reason.
static void expect_refused(const char *part) {
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  assert_int_equal(byoc_plugin_registry_count(registry), 1);
  (void)byoc_plugin_registry_load_all(registry);
  const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, 0);
  if (entry->state != BYOC_PLUGIN_REFUSED || strstr(entry->reason, part) == NULL) {
    fail_msg("state %d, reason '%s', expected '%s'", (int)entry->state, entry->reason, part);
  }
  assert_null(entry->library);
  byoc_plugin_registry_destroy(registry);
}

// Every bad plugin, with the reason for which it is refused.
static void test_bad_plugins(void **state) {
  (void)state;
  static const struct {
    const char *variant, *reason;
  } cases[] = {
      {"no_note", "it is not a byoc plugin: it has no identity note"},
      {"truncated_note", "its identity note is damaged: it has 16 bytes and claims 328, where 328 are needed"},
      {"wrong_major", "it was built for plugin ABI 999.3, this host has 1.5 (build it again with this host's headers)"},
      {"newer_minor", "it needs plugin ABI 1.77, this host has 1.5"},
      {"endless_text", "its identity note is damaged: its name has no end"},
      {"control_characters", "its description is not printable text"},
      {"plugin_name", "its name '../../name' is not a letter, then letters"},
      {"version", "its version '1/0' has other characters"},
      {"claims_c", "it claims the target 'c', which is the host's own"},
      {"target_name", "it announces 'not good', which cannot be a target's name"},
      {"second_symbol", "it exports 'helper_everybody_has' beside byoc_plugin_query"},
      {"shared_template", "it exports '_ZN8RegistryI4ItemE3allE' beside byoc_plugin_query (all plugins of the process"},
      {"no_query", "it does not export byoc_plugin_query"},
      {"constructor_traps", "it crashes while it is loaded: SIG"},
      {"constructor_exits", "it ends the process while it is loaded"},
      {"constructor_prints", "it prints while it is loaded: hello from a constructor"},
      {"changes_folder", "it changed the working folder of the process"},
      {"handles_signals", "it changed a signal handler of the process"},
      {"changes_environment", "it changed the environment of the process"},
      {"unresolved", "undefined symbol: nobody_defines_this"},
      {"destructor_crashes", "it crashes while it is loaded: SIGABRT"},
      {"query_fails", "its query failed (unsupported): the licence has expired"},
      {"query_hangs", "loading it took more than 1000 ms; it was stopped"},
      {"query_stops", "something stopped the process that was loading it"},
      {"query_crashes", "it crashes while it is loaded: SIGSEGV"},
      {"no_backends", "its query returned no backends"},
      {"writes_too_much", "its query wrote past the "},
      {"null_generate",
       "backend 0 ('bad') has neither 'generate' nor 'generate_function', one of which byoc_backend_t requires"},
      {"null_target", "backend 0 lacks 'target', which byoc_backend_t requires"},
      {"other_target", "it has a backend for 'unannounced', which its note does not announce (bad)"},
      {"missing_target", "its note announces 'promised', for which it has no backend"},
      {"no_header", "backend 0 has struct_size 0 (fill its header by BYOC_HEADER)"},
      {"device_type", "target 'bad': its driver 'mine' is for devices of type 1, which is the host's processor"},
      {"driver_missing", "target 'bad': it runs on devices of type 2 and names no driver"},
      {"driver_name", "target 'bad': its driver is called '../mine', which is not a name"},
      {"option_type", "target 'bad': option 'level' has unknown type 99"},
      {"option_default", "the default of option 'level': option '-level' takes an integer from 1 to 3, not '7'"},
      {"option_stride", "option 0 has struct_size "},
      {"rule_name", "rule 'other.relu' is not named 'bad.<what>'"},
      {"rule_empty", "rule 0 ('bad.relu') has neither 'pattern' nor 'operators', one of which byoc_rule_t requires"},
      {"rule_pattern", "pattern of rule 'bad.relu': expected ')' at column 18, before ''"},
      {"rule_operator", "rule 'bad.group': 'com.example::' is not an operator's name"},
      {"rule_operator_word", "rule 'bad.group': 'com.example::Max Pool' is not an operator's name"},
      {"code_empty",
       "runtime code 0 ('mine') has neither 'archives' nor 'sources', one of which byoc_runtime_code_t requires"},
      {"code_name", "target 'bad': runtime code 'mine': file 0 of its sources is called '../engine.c', which is not a "
                    "file name"},
      {"code_language", "file 0 of its sources is called 'engine.cc': sources are C, in files *.c"},
      {"code_unnamed", "file 0 of its sources is given as bytes, without a name"},
      {"code_twice", "it announces the runtime code 'mine' twice"},
      {"code_machines", "its archives are for the machines 'aarch64-linux-gnu;riscv64', which are not triples"},
      {"code_folder", "its archives are for the machines '..', which are not triples"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    char from[512];
    snprintf(from, sizeof(from), "%sbad_%s.so", BAD, cases[i].variant);
    place(from, "plugin.so");
    expect_refused(cases[i].reason);
  }
}

// Cut anywhere, and with bits flipped, a plugin's file is refused or read; nothing of it runs while it is listed.
static void test_damaged_files(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  char *data = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(BAD "bad_constructor_traps.so", byoc_allocator_system(), &diag, &data, &size), &diag);
  char *path = path_in(fixture.folder, "plugin.so");
  byoc_test_random_t random = {11};
  for (int i = 0; i < 300; ++i) {
    const size_t kept = i < 100 ? byoc_test_below(&random, size) : size;
    const size_t at = byoc_test_below(&random, i % 2 == 0 ? 4096 : size);
    const char old = data[at];
    if (i >= 100) data[at] = (char)(old ^ (1 << byoc_test_below(&random, 8)));
    byoc_test_ok(byoc_file_write(path, data, kept, &diag), &diag);
    assert_int_equal(chmod(path, 0755), 0);
    byoc_plugin_registry_destroy(open_folder(fixture.folder));
    data[at] = old;
  }
  free(path);
  free(data);
}

// ---- files and folders ----

static void test_file_permissions(void **state) {
  (void)state;
  place(GOOD "demo_negate.so", "plugin.so");
  char *path = path_in(fixture.folder, "plugin.so");
  assert_int_equal(chmod(path, 0777), 0);
  expect_refused("is world-writable (chmod go-w '");
  assert_int_equal(chmod(path, 0775), 0);
  expect_refused("is group-writable (chmod g-w '");
  assert_int_equal(chmod(path, 0755), 0);
  assert_int_equal(chmod(fixture.folder, 0777), 0);
  expect_refused("the folder '");
  assert_int_equal(chmod(fixture.folder, 01777), 0); // sticky is not enough for the folder itself
  expect_refused("is world-writable");
  assert_int_equal(chmod(fixture.folder, 0770), 0);
  expect_refused("is group-writable");
  assert_int_equal(chmod(fixture.folder, 0700), 0);
  if (geteuid() == 0) {
    assert_int_equal(chown(path, 12345, 0), 0);
    expect_refused("belongs to another user (12345)");
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chown(fixture.folder, 12345, 0), 0);
    expect_refused("belongs to another user (12345)");
    assert_int_equal(chown(fixture.folder, 0, 0), 0);
  }
  free(path);
}

// A folder further up that others may write to could be swapped for another, unless it is sticky.
static void test_parent_permissions(void **state) {
  (void)state;
  char *outer = path_in(fixture.folder, "outer"), *inner = path_in(outer, "inner");
  assert_int_equal(mkdir(outer, 0700), 0);
  assert_int_equal(mkdir(inner, 0700), 0);
  place_in(inner, GOOD "demo_negate.so", "plugin.so");
  assert_int_equal(chmod(outer, 0777), 0);
  byoc_plugin_registry_t *registry = open_folder(inner);
  assert_int_equal(byoc_plugin_registry_at(registry, 0)->state, BYOC_PLUGIN_REFUSED);
  assert_non_null(strstr(byoc_plugin_registry_at(registry, 0)->reason, "outer' is world-writable"));
  byoc_plugin_registry_destroy(registry);
  assert_int_equal(chmod(outer, 01777), 0);
  registry = open_folder(inner);
  assert_int_equal(byoc_plugin_registry_at(registry, 0)->state, BYOC_PLUGIN_FOUND);
  byoc_plugin_registry_destroy(registry);
  free(outer);
  free(inner);
}

static void test_odd_files(void **state) {
  (void)state;
  char *path = path_in(fixture.folder, "plugin.so"), *other = path_in(fixture.folder, "other.so");
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_refused("it is a FIFO");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  expect_refused("it is a folder");
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(symlink("nowhere.so", path), 0);
  expect_refused("it is a symbolic link to nothing");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink("plugin.so", path), 0);
  expect_refused("its symbolic links lead in a circle");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink("/dev/null", path), 0);
  expect_refused("it is a symbolic link to a device");
  assert_int_equal(unlink(path), 0);
  const int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  close(fd);
  expect_refused("is not an ELF file");
  assert_int_equal(unlink(path), 0);
  // A link into a folder that others may write to is refused like a file there.
  char *open_one = path_in(fixture.folder, "open");
  assert_int_equal(mkdir(open_one, 0700), 0);
  place_in(open_one, GOOD "demo_negate.so", "real.so");
  assert_int_equal(chmod(open_one, 0777), 0);
  assert_int_equal(symlink("open/real.so", path), 0);
  expect_refused("open' is world-writable");
  assert_int_equal(chmod(open_one, 0700), 0);
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  assert_int_equal(byoc_plugin_registry_at(registry, 0)->state, BYOC_PLUGIN_FOUND);
  byoc_plugin_registry_destroy(registry);
  free(open_one);
  free(path);
  free(other);
}

// ---- order and names ----

static void expect_list(const byoc_plugin_registry_t *registry, const char *expected) {
  byoc_string_t got;
  byoc_string_init(&got, byoc_allocator_system());
  for (size_t i = 0; i < byoc_plugin_registry_count(registry); ++i) {
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, i);
    const char *path = strncmp(entry->path, fixture.folder, strlen(fixture.folder)) == 0
                           ? entry->path + strlen(fixture.folder)
                           : entry->path;
    byoc_string_appendf(&got, "%s %s\n", path,
                        entry->state == BYOC_PLUGIN_REFUSED  ? "refused"
                        : entry->state == BYOC_PLUGIN_LOADED ? "loaded"
                                                             : "found");
  }
  byoc_test_same_text(got.data, expected);
  byoc_string_deinit(&got);
}

static void test_order(void **state) {
  (void)state;
  char *a = path_in(fixture.folder, "a"), *b = path_in(fixture.folder, "b");
  assert_int_equal(mkdir(a, 0700), 0);
  assert_int_equal(mkdir(b, 0700), 0);
  place_in(b, GOOD "demo_negate.so", "z.so");
  place_in(b, GOOD "demo_hooks.so", "m.so");
  place_in(b, GOOD "demo_hooks.so", "notes.txt");
  place_in(b, GOOD "demo_hooks.so", ".hidden.so");
  place_in(a, GOOD "demo_negate.so", "copy.so");
  place_in(fixture.folder, BAD "bad_good_larger_note.so", "first.so");
  char *explicit_path = path_in(fixture.folder, "first.so");
  const char *const paths[] = {explicit_path};
  char environment[4096];
  snprintf(environment, sizeof(environment), "%s::relative:/nowhere/at/all:%s/.", b, b);
  const byoc_plugin_options_t options = {
      .paths = paths, .path_count = 1, .environment = environment, .installation = a};
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  byoc_test_ok(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), &diag);
  expect_list(registry, "/first.so found\n/b/m.so found\n/b/z.so found\n refused\nrelative refused\n"
                        "/nowhere/at/all refused\n/b/. refused\n/a/copy.so refused\n");
  assert_string_equal(byoc_plugin_registry_at(registry, 6)->reason, "the folder has been searched already");
  assert_non_null(strstr(byoc_plugin_registry_at(registry, 3)->reason, "an empty entry in BYOC_PLUGIN_PATH"));
  assert_non_null(strstr(byoc_plugin_registry_at(registry, 4)->reason,
                         "a relative folder in BYOC_PLUGIN_PATH is passed over (name folders by their whole path"));
  const byoc_plugin_entry_t *copy = byoc_plugin_registry_at(registry, 7);
  assert_non_null(strstr(copy->reason, "it is a copy of '"));
  assert_non_null(strstr(copy->reason, "/b/z.so'"));
  // Nothing has been loaded yet; asking for a target loads its plugin alone.
  byoc_target_registry_t targets = byoc_plugin_registry_targets(registry);
  assert_string_equal(targets.names[0], "c");
  assert_string_equal(targets.names[1], "bad");
  assert_string_equal(targets.names[2], "each");
  assert_int_equal(targets.name_count, 14);
  assert_non_null(targets.lookup(targets.self, "negate"));
  assert_ptr_equal(targets.lookup(targets.self, "c"), byoc_target_kind_native());
  assert_null(targets.lookup(targets.self, "nothing"));
  expect_list(registry, "/first.so found\n/b/m.so found\n/b/z.so loaded\n refused\nrelative refused\n"
                        "/nowhere/at/all refused\n/b/. refused\n/a/copy.so refused\n");
  byoc_plugin_registry_destroy(registry);
  free(explicit_path);
  free(a);
  free(b);
}

// What a C++ plugin exports of the standard library's templates is no reason to refuse it.
static void test_a2_standard_templates_may_be_exported(void **state) {
  (void)state;
  place(BAD "bad_good_standard_template.so", "plugin.so");
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  (void)byoc_plugin_registry_load_all(registry);
  const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, 0);
  if (entry->state != BYOC_PLUGIN_LOADED) fail_msg("it is refused: %s", entry->reason);
  byoc_plugin_registry_destroy(registry);
}

static void test_explicit_paths(void **state) {
  (void)state;
  char *path = path_in(fixture.folder, "missing.so");
  const char *const paths[] = {path};
  const byoc_plugin_options_t options = {.paths = paths, .path_count = 1, .environment = ""};
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  byoc_test_error(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), BYOC_NOT_FOUND,
                  &diag, "missing.so' is refused: there is no such file");
  assert_null(registry);
  free(path);
  // Naming the same file twice is no error.
  place(GOOD "demo_negate.so", "plugin.so");
  path = path_in(fixture.folder, "plugin.so");
  const char *const twice[] = {path, path};
  const byoc_plugin_options_t both = {.paths = twice, .path_count = 2, .environment = fixture.folder};
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_plugin_registry_create(&both, byoc_allocator_system(), &diag, &registry), &diag);
  expect_list(registry, "/plugin.so found\n/plugin.so refused\n/plugin.so refused\n");
  byoc_plugin_registry_destroy(registry);
  free(path);
}

// ---- plugins that announce the same target ----

// Row A21: of two plugins with one target neither is used; whoever asks for it reads the paths of both.
static void test_a21_two_plugins_for_one_target_are_an_error(void **state) {
  (void)state;
  place(BAD "bad_good_larger_structs.so", "one.so");
  place(BAD "bad_good_larger_note.so", "two.so");
  place(BAD "bad_query_crashes.so", "zero.so");
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  expect_list(registry, "/one.so refused\n/two.so refused\n/zero.so refused\n");
  for (size_t i = 0; i < 3; ++i) {
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, i);
    assert_non_null(strstr(entry->reason, "its target 'bad' is announced by '"));
    assert_non_null(strstr(entry->reason, i == 0 ? "/two.so', too" : "/one.so', too"));
    assert_non_null(strstr(entry->reason, "choose one of them: --prefer FILE"));
    assert_false(entry->is_passed_over);
  }
  assert_int_equal(byoc_plugin_registry_load_all(registry), 3);
  byoc_target_registry_t targets = byoc_plugin_registry_targets(registry);
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  const char *text = "bad";
  byoc_test_error(byoc_target_list_parse(&text, 1, &targets, byoc_allocator_system(), &diag, &list), BYOC_INVALID_DATA,
                  &diag, "two plugins announce the target 'bad', '");
  assert_non_null(strstr(diag.message, "/one.so' and '"));
  assert_non_null(strstr(diag.message, "/two.so' (choose one of them: --prefer FILE)"));
  byoc_plugin_registry_destroy(registry);
}

static void expect_chosen(const byoc_plugin_options_t *options, const char *expected) {
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  byoc_test_ok(byoc_plugin_registry_create(options, byoc_allocator_system(), &diag, &registry), &diag);
  expect_list(registry, expected);
  byoc_target_registry_t targets = byoc_plugin_registry_targets(registry);
  assert_non_null(targets.lookup(targets.self, "bad"));
  for (size_t i = 0; i < byoc_plugin_registry_count(registry); ++i) {
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, i);
    assert_int_equal(entry->is_passed_over, entry->state == BYOC_PLUGIN_REFUSED);
    if (entry->is_passed_over) assert_non_null(strstr(entry->reason, "its target 'bad' is taken by '"));
  }
  byoc_plugin_registry_destroy(registry);
}

// --plugin and --prefer decide, the latter first.
static void test_a21_the_user_chooses(void **state) {
  (void)state;
  char *a = path_in(fixture.folder, "a"), *b = path_in(fixture.folder, "b");
  assert_int_equal(mkdir(a, 0700), 0);
  assert_int_equal(mkdir(b, 0700), 0);
  place_in(a, BAD "bad_good_larger_structs.so", "one.so");
  place_in(b, BAD "bad_good_larger_note.so", "two.so");
  char *two = path_in(b, "two.so"), *one = path_in(a, "one.so");
  const char *const file[] = {two}, *const folder[] = {b}, *const both[] = {a, b}, *const named[] = {one};
  byoc_plugin_options_t options = {.environment = a, .installation = b, .preferred = file, .preferred_count = 1};
  expect_chosen(&options, "/a/one.so refused\n/b/two.so found\n");
  options.preferred = folder;
  expect_chosen(&options, "/a/one.so refused\n/b/two.so found\n");
  options.paths = named, options.path_count = 1, options.environment = "", options.preferred_count = 0;
  expect_chosen(&options, "/a/one.so found\n/b/two.so refused\n");

  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  options = (byoc_plugin_options_t){.environment = a, .installation = b, .preferred = both, .preferred_count = 2};
  byoc_test_ok(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), &diag);
  expect_list(registry, "/a/one.so refused\n/b/two.so refused\n"); // both are no choice
  byoc_plugin_registry_destroy(registry);
  const char *const two_named[] = {one, two};
  options = (byoc_plugin_options_t){.paths = two_named, .path_count = 2, .environment = ""};
  byoc_test_error(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), BYOC_ALREADY_EXISTS,
                  &diag, "two plugins announce the target 'bad', '");
  byoc_diag_clear(&diag);
  options = (byoc_plugin_options_t){.environment = a, .preferred = folder, .preferred_count = 1};
  byoc_test_error(byoc_plugin_registry_create(&options, byoc_allocator_system(), &diag, &registry), BYOC_NOT_FOUND,
                  &diag, "/b': no plugin was found there");
  free(one);
  free(two);
  free(a);
  free(b);
}

// Built-in names cannot be shadowed.
static void test_a21_c_is_the_hosts_own(void **state) {
  (void)state;
  place(BAD "bad_claims_c.so", "one.so");
  expect_refused("it claims the target 'c', which is the host's own");
}

// The others keep working beside each kind of bad plugin; asking for its target gives the reason why it is missing.
static void test_refusal_of_a_target(void **state) {
  (void)state;
  place(BAD "bad_constructor_traps.so", "bad.so");
  place(GOOD "demo_negate.so", "good.so");
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  expect_list(registry, "/bad.so found\n/good.so found\n");
  assert_null(byoc_plugin_registry_refusal(registry, "bad"));
  byoc_target_registry_t targets = byoc_plugin_registry_targets(registry);
  const char *text = "negate -O=1; bad";
  byoc_diag_t diag = {0};
  byoc_target_list_t list;
  byoc_test_error(byoc_target_list_parse(&text, 1, &targets, byoc_allocator_system(), &diag, &list), BYOC_INVALID_DATA,
                  &diag, "bad.so' is refused: it crashes while it is loaded: SIG");
  expect_list(registry, "/bad.so refused\n/good.so loaded\n");
  text = "negate -O=1";
  byoc_diag_clear(&diag);
  byoc_test_ok(byoc_target_list_parse(&text, 1, &targets, byoc_allocator_system(), &diag, &list), &diag);
  assert_string_equal(list.targets.data[0]->text, "negate -O=1");
  assert_string_equal(list.targets.data[0]->kind->plugin_name, "demo_negate");
  byoc_target_list_deinit(&list);
  byoc_plugin_registry_destroy(registry);
}

// ---- structs of other sizes ----

static void test_struct_sizes(void **state) {
  (void)state;
  static const char *const variants[] = {"larger_structs", "smaller_structs", "larger_note"};
  for (size_t i = 0; i < 3; ++i) {
    char from[512];
    snprintf(from, sizeof(from), "%sbad_good_%s.so", BAD, variants[i]);
    place(from, "plugin.so");
    byoc_plugin_registry_t *registry = open_folder(fixture.folder);
    (void)byoc_plugin_registry_load_all(registry);
    const byoc_plugin_entry_t *entry = byoc_plugin_registry_at(registry, 0);
    if (entry->state != BYOC_PLUGIN_LOADED) fail_msg("%s: %s", variants[i], entry->reason);
    const byoc_target_kind_t *kind = &entry->kinds[0];
    assert_int_equal(kind->backend->header.struct_size, sizeof(byoc_backend_t));
    assert_int_equal(kind->option_count, i < 2 ? 2 : 0);
    if (i < 2) {
      assert_string_equal(kind->options[0].name, "first");
      assert_string_equal(kind->options[0].default_value, "3");
      assert_string_equal(kind->options[1].name, "second");
      assert_string_equal(kind->options[1].help, "");
      assert_int_equal(kind->options[1].header.struct_size, sizeof(byoc_option_t));
    }
    byoc_plugin_registry_destroy(registry);
  }
}

// Plugins may rely on this: no slot of a host table is empty.
static void expect_full_table(const void *table, const char *what) {
  byoc_header_t header;
  memcpy(&header, table, sizeof(header));
  for (size_t at = sizeof(header); at + sizeof(void *) <= header.struct_size; at += sizeof(void *)) {
    uintptr_t slot = 0;
    memcpy(&slot, (const char *)table + at, sizeof(slot));
    if (slot == 0) fail_msg("%s has an empty slot at byte %zu", what, at);
  }
}

static void test_host_tables(void **state) {
  (void)state;
  expect_full_table(byoc_host_target_api(), "byoc_target_api_t");
  expect_full_table(byoc_host_graph_api(), "byoc_graph_api_t");
  expect_full_table(byoc_host_region_api(), "byoc_region_api_t");
  expect_full_table(byoc_host_edit_api(), "byoc_edit_api_t");
  expect_full_table(byoc_host_codegen_api(), "byoc_codegen_api_t");
  place(GOOD "demo_negate.so", "plugin.so");
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  (void)byoc_plugin_registry_load_all(registry);
  const byoc_host_t *host = &byoc_plugin_registry_at(registry, 0)->library->host;
  assert_true(host->version[0] != '\0' && host->resize != NULL && host->error != NULL && host->extension != NULL);
  assert_ptr_equal(host->target, byoc_host_target_api());
  assert_ptr_equal(host->graph, byoc_host_graph_api());
  assert_ptr_equal(host->region, byoc_host_region_api());
  assert_ptr_equal(host->edit, byoc_host_edit_api());
  assert_ptr_equal(host->codegen, byoc_host_codegen_api());
  assert_int_equal(host->abi_major, BYOC_ABI_MAJOR);
  assert_int_equal(host->abi_minor, BYOC_ABI_MINOR);
  assert_null(host->extension(host, "nothing.yet", 1));
  char *memory = host->resize(host, NULL, 4);
  assert_non_null(memory);
  memcpy(memory, "abc", 4);
  memory = host->resize(host, memory, 4096);
  assert_string_equal(memory, "abc");
  assert_null(host->resize(host, memory, 0));
  byoc_plugin_registry_destroy(registry);
}

// A plugin built with the headers of minor 0 sees that version, and nothing is read beyond the end of its structs.
static void test_older_plugin(void **state) {
  (void)state;
  place(GOOD "demo_older.so", "plugin.so");
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  (void)byoc_plugin_registry_load_all(registry);
  const byoc_plugin_library_t *library = byoc_plugin_registry_at(registry, 0)->library;
  assert_non_null(library);
  assert_int_equal(library->host.abi_minor, 0);
  byoc_plugin_registry_destroy(registry);
}

// ---- what is left behind ----

static byoc_status_t find_and_load(void *argument, byoc_allocator_t allocator) {
  (void)argument;
  byoc_diag_t diag = {0};
  byoc_plugin_registry_t *registry = NULL;
  const byoc_plugin_options_t options = {.environment = fixture.folder};
  BYOC_RETURN_IF_ERROR(byoc_plugin_registry_create(&options, allocator, &diag, &registry));
  const byoc_target_registry_t targets = byoc_plugin_registry_targets(registry);
  const byoc_target_kind_t *kind = targets.lookup(targets.self, "negate");
  byoc_plugin_registry_destroy(registry);
  return kind != NULL && targets.name_count == 2 ? BYOC_OK : BYOC_OUT_OF_MEMORY;
}

static void test_out_of_memory(void **state) {
  (void)state;
  place(GOOD "demo_negate.so", "plugin.so");
  byoc_test_each_allocation_fails(find_and_load, NULL, true);
}

static size_t resident_pages(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  unsigned long total = 0, resident = 0;
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%lu %lu", &total, &resident), 2);
  assert_int_equal(fclose(file), 0);
  return resident;
}

static size_t count_descriptors(void) {
  return byoc_test_count_entries("/proc/self/fd");
}

// A thousand loads and unloads, good ones and failed ones, leave no memory, no descriptor and no mapping behind.
static void test_cycles_are_flat(void **state) {
  (void)state;
  char *good = path_in(fixture.folder, "good.so"), *failing = path_in(fixture.folder, "failing.so");
  place(GOOD "demo_hooks.so", "good.so");
  place(BAD "bad_query_fails.so", "failing.so");
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  const byoc_plugin_note_t bad_note = byoc_plugin_registry_at(registry, 0)->note;
  const byoc_plugin_note_t good_note = byoc_plugin_registry_at(registry, 1)->note;
  byoc_plugin_registry_destroy(registry);
  int destroyed = 0;
  char address[32];
  snprintf(address, sizeof(address), "%llx", (unsigned long long)(uintptr_t)&destroyed);
  assert_int_equal(setenv("BYOC_TEST_DESTROYED", address, 1), 0);
  size_t pages = 0, descriptors = 0;
  enum { WARM_UP = 100, CYCLES = 1000 };
  for (int i = 0; i < WARM_UP + CYCLES; ++i) {
    if (i == WARM_UP) {
      pages = resident_pages();
      descriptors = count_descriptors();
    }
    byoc_diag_t diag = {0};
    byoc_plugin_library_t *library = NULL;
    byoc_test_ok(
        byoc_plugin_library_load(good, &good_note, byoc_host_fill_tables, byoc_allocator_system(), &diag, &library),
        &diag);
    byoc_plugin_library_release(library);
    byoc_test_error(
        byoc_plugin_library_load(failing, &bad_note, byoc_host_fill_tables, byoc_allocator_system(), &diag, &library),
        BYOC_INVALID_DATA, &diag, "the licence has expired");
    assert_null(library);
  }
  assert_int_equal(destroyed, WARM_UP + CYCLES); // once a load
  assert_int_equal(unsetenv("BYOC_TEST_DESTROYED"), 0);
  assert_int_equal(count_descriptors(), descriptors);
  const size_t grown = resident_pages() - pages;
#if defined(BYOC_SANITIZED)
  (void)grown; // sanitizers keep freed memory
#else
  if (resident_pages() > pages && grown > 64) fail_msg("%zu pages more after %d cycles", grown, CYCLES);
#endif
  // The whole pipeline with its child process, a few times.
  for (int i = 0; i < 20; ++i) {
    registry = open_folder(fixture.folder);
    (void)byoc_plugin_registry_load_all(registry);
    byoc_plugin_registry_destroy(registry);
  }
  assert_int_equal(count_descriptors(), descriptors);
  free(good);
  free(failing);
}

// A module made by a plugin keeps its code until it is released.
static void test_unload_waits(void **state) {
  (void)state;
  place(GOOD "demo_hooks.so", "plugin.so");
  int destroyed = 0;
  char address[32];
  snprintf(address, sizeof(address), "%llx", (unsigned long long)(uintptr_t)&destroyed);
  assert_int_equal(setenv("BYOC_TEST_DESTROYED", address, 1), 0);
  byoc_plugin_registry_t *registry = open_folder(fixture.folder);
  (void)byoc_plugin_registry_load_all(registry);
  byoc_plugin_library_t *library = byoc_plugin_registry_at(registry, 0)->library;
  assert_non_null(library);
  byoc_plugin_library_retain(library);
  byoc_plugin_registry_destroy(registry);
  assert_int_equal(destroyed, 0);
  byoc_plugin_library_release(library);
  assert_int_equal(destroyed, 1);
  assert_int_equal(unsetenv("BYOC_TEST_DESTROYED"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void test_a_process_that_cannot_start_says_why(void **state) {
  (void)state;
  struct rlimit few, former;
  byoc_diag_t diag = {0};
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &former), 0);
  few = former;
  few.rlim_cur = 3; // a pipe needs two more
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  const byoc_status_t status = byoc_plugin_try(GOOD "demo_negate.so", &(byoc_plugin_note_t){0}, 1000, &diag);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &former), 0);
  byoc_test_error(status, BYOC_IO, &diag,
                  "cannot start a process to try it in: cannot make a pipe: Too many open files");
}

int main(void) {
  byoc_log_set_level(BYOC_LOG_ERROR);
  const struct CMUnitTest tests[] = {
      TEST(test_bad_plugins),
      TEST(test_damaged_files),
      TEST(test_file_permissions),
      TEST(test_parent_permissions),
      TEST(test_odd_files),
      TEST(test_order),
      TEST(test_a2_standard_templates_may_be_exported),
      TEST(test_explicit_paths),
      TEST(test_a21_two_plugins_for_one_target_are_an_error),
      TEST(test_a21_the_user_chooses),
      TEST(test_a21_c_is_the_hosts_own),
      TEST(test_a_process_that_cannot_start_says_why),
      TEST(test_refusal_of_a_target),
      TEST(test_struct_sizes),
      TEST(test_host_tables),
      TEST(test_older_plugin),
      TEST(test_out_of_memory),
      TEST(test_cycles_are_flat),
      TEST(test_unload_waits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
