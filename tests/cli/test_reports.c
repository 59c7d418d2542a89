// SPDX-License-Identifier: Apache-2.0
// What backends show of themselves, and let users set, by the targets reporter and simdev (tests/plugins): reports in
// artifacts and pages, and run-time options.
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "tests/support/command.h"

#define GOOD     "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "
#define REPORTER "--target 'reporter; c' --plan greedy --check-budget 0 "

static void write_file(const char *path, const char *text) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path, text, strlen(text), &diag), &diag);
}

static void write_model(void) {
  write_file("model.byoc", "module {\n"
                           "  func @main(%x : f32[4,8]) -> (%y : f32[4,8]) {\n"
                           "    %s = Softmax@13(%x) : f32[4,8]\n"
                           "    %n = Neg@13(%s) : f32[4,8]\n"
                           "    %r = Relu@14(%n) : f32[4,8]\n"
                           "    %y = Softmax@13(%r) : f32[4,8]\n"
                           "    return %y\n"
                           "  }\n"
                           "}\n");
}

static void test_reports_are_listed_and_printed(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "-o model.so");
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed("report schedule: json, 30 bytes, by 'reporter");
  byoc_test_printed("report log: text, 38 bytes, by 'reporter");
  byoc_test_printed("report chip: html, 33 bytes, by 'reporter");
  byoc_test_shell(0, "byoc inspect model.so --report log");
  byoc_test_printed("scheduled <b>2</b> steps\nin 12 cycles\n");
  byoc_test_shell(0, "byoc inspect model.so --report chip");
  byoc_test_printed("<table><tr><th>units</th><td>4</td></tr></table>\n");
  byoc_test_shell(0, "byoc inspect model.so --report schedule");
  byoc_test_printed("{\"cycles\": 12, \"</script>\": 1}\n");
  byoc_test_shell(2, "byoc inspect model.so --report nothing");
  byoc_test_printed("it has no report 'nothing'; it has schedule, log, chip");
  byoc_test_shell(2, "byoc inspect model.byoc --report log");
  byoc_test_printed("--report is for artifacts; this is a model");
  byoc_test_shell(0, "byoc inspect model.so --json | grep -c '\"report\": \"schedule\"'");
  byoc_test_printed("1\n");
  // Reports are no code: they change no result and no hash of it.
  byoc_test_shell(0,
                  "byoc run model.so --random > got.txt && byoc run model.byoc --target c --random | diff got.txt -");
}

// A report of a function that the backend declines says nothing about the artifact.
static void test_reports_of_declined_functions_are_dropped(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc --target 'reporter -decline; c' --plan greedy -o model.so");
  byoc_test_shell(0, "byoc inspect model.so | grep -c '^report schedule'; byoc inspect model.so | grep '^report'");
  byoc_test_printed("0\n");
  byoc_test_printed("report log: ");
}

// The text of a host program keeps reports.
static void test_reports_in_text(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER
                          "--emit host --constants > model.host && byoc build model.host -o text.so");
  byoc_test_shell(0, "byoc inspect text.so --report schedule");
  byoc_test_printed("{\"cycles\": 12, \"</script>\": 1}\n");
}

// Pages show them; what could run or load something is not there.
static void test_reports_on_pages(void **state) {
  (void)state;
  write_model();
  write_file("hostile.html", "<p>kept<script>alert(1)</script><img src=x onerror=alert(2)></p>"
                             "<a href='javascript:alert(3)'>link</a><div style='background:url(//evil.example)'>box"
                             "</div></div></section></details></body><iframe src=//evil.example></iframe>");
  byoc_test_shell(0, GOOD "byoc build model.byoc --target 'reporter -page=hostile.html; c' --plan greedy --profile "
                          "-o model.so --html build.html");
  byoc_test_shell(0, GOOD "byoc explain model.byoc --target 'reporter -page=hostile.html; c' --plan greedy "
                          "--html explain.html");
  byoc_test_printed("report chip: html, ");
  byoc_test_shell(0, "byoc profile model.so --runs 1 --warm-up 0 --html profile.html");
  static const char *const pages[] = {"build.html", "explain.html", "profile.html"};
  for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); ++i) {
    byoc_test_shell(0, "grep -c '<div class=\"report\"><p>kept</p>link<div>box</div></div>' %s", pages[i]);
    byoc_test_shell(0, "grep -c 'scheduled &lt;b&gt;2&lt;/b&gt; steps' %s", pages[i]);
    byoc_test_shell(0, "grep -c '&quot;&lt;/script&gt;&quot;: 1' %s", pages[i]);
    byoc_test_shell(1, "grep -E 'alert|evil.example|onerror|javascript:' %s", pages[i]);
  }
  byoc_test_shell(0, GOOD "byoc build model.byoc -v --target 'reporter -page=hostile.html; c' --plan greedy -o v.so");
  byoc_test_printed("pages leave out 5 parts of the report 'chip' that reports cannot have; the first is <script>");
  // A saved plan has no reports, because nothing was generated for it.
  byoc_test_shell(
      0, GOOD
      "byoc explain model.byoc --target 'reporter; c' --plan greedy --save-plan plan.json && byoc explain plan.json "
      "--html saved.html && ! grep -q 'scheduled' saved.html");
}

// A wrong report ends the build with a sentence, even if the hook ignores the status.
static void test_wrong_reports(void **state) {
  (void)state;
  static const struct {
    const char *lie, *said;
  } cases[] = {
      {"null", "the report is NULL"},
      {"no_name", "the report lacks 'name', which byoc_report_t requires"},
      {"bad_name", "its name is not 1 to 64 letters, digits and . _ -"},
      {"long_name", "its name is not 1 to 64 letters, digits and . _ -"},
      {"bad_kind", "the report 'lie': its kind is 77, which byoc does not know"},
      {"empty", "the report 'lie': it has 0 bytes, and may have 1 to 1048576"},
      {"huge", "the report 'lie': it has 1073741824 bytes, and may have 1 to 1048576"},
      {"control", "the report 'lie': its byte 1, counted from 0, is a control character"},
      {"not_utf8", "the report 'lie': its byte 2, counted from 0, is not UTF-8"},
      {"not_json", "the report 'lie': it is not JSON: "},
      {"stranger", "the report 'lie': it is about a function that is not one of this run"},
      {"many", "the report 'many': there are 256 reports already"},
      {"all_huge", "the report 'many': with its 1048576 bytes all reports of this run have more than 4194304"},
  };
  write_model();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(1,
                    GOOD "byoc build model.byoc --target 'reporter -lie=%s; c' --plan greedy --check-budget 0 "
                         "-o wrong.so",
                    cases[i].lie);
    byoc_test_printed(cases[i].said);
    byoc_test_printed("target 'reporter' (plugin demo_reporter 1.0)");
  }
  byoc_test_shell(1, "test -e wrong.so");
}

// ---- run-time options ----

#define SAID      "BYOC_TEST_SAYS=$PWD/said.txt "
#define DEFAULTS  "power='1' 1 0\nmode='careful' 1 0\nclock='1.5' 0 1.5\ntrace='0' 0 0\nlabel='' 0 0\n"
#define SET_THREE "--runtime-option power=3 --runtime-option reporter.mode=fast --runtime-option clock=2.25 "

static void test_options_are_listed(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "-o model.so && byoc inspect model.so");
  byoc_test_printed("option reporter.power: int 0..3, default 1: the power mode\n"
                    "option reporter.mode: choice fast|careful, default careful\n"
                    "option reporter.clock: float 0.5..2.5, default 1.5: GHz\n"
                    "option reporter.trace: bool, default 0\n"
                    "option reporter.label: string, default \"\"\n");
  byoc_test_shell(0, "byoc inspect model.so --json | grep -c '\"owner\": \"reporter\"'");
  byoc_test_printed("5\n");
  // An option of the target of that name gives the default.
  byoc_test_shell(0, GOOD "byoc build model.byoc --target 'reporter -power=2; c' --plan greedy --check-budget 0 "
                          "-o two.so && byoc inspect two.so");
  byoc_test_printed("option reporter.power: int 0..3, default 2: the power mode\n");
  byoc_test_shell(1, GOOD "byoc build model.byoc --target 'reporter -power=7; c' --plan greedy --check-budget 0 "
                          "-o seven.so");
  byoc_test_printed(
      "the run-time options of 'reporter': the default of option 'power': option '-power' takes an integer "
      "from 0 to 3, not '7'");
}

// Each way of running passes them to the engine, which gets texts and numbers.
static void test_options_reach_the_engine(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "--profile -o model.so && " GOOD
                          "byoc build model.byoc " REPORTER
                          "--emit host --constants > model.host && byoc build model.host -o text.so");
  static const char *const commands[] = {"byoc run model.so --random", "byoc run text.so --random",
                                         "byoc bench model.so --runs 1", "byoc profile model.so --runs 1",
                                         GOOD "byoc run model.byoc " REPORTER "--evaluate --random"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(0, "rm -f said.txt; " SAID "%s > /dev/null; cat said.txt", commands[i]);
    byoc_test_printed(DEFAULTS);
    byoc_test_shell(0, "rm -f said.txt; " SAID "%s " SET_THREE "> /dev/null; cat said.txt", commands[i]);
    byoc_test_printed("power='3' 3 0\nmode='fast' 0 0\nclock='2.25' 0 2.25\ntrace='0' 0 0\nlabel='' 0 0\n");
  }
  // The last value of a name counts.
  byoc_test_shell(
      0, "rm -f said.txt; " SAID "byoc run model.so --random --runtime-option power=3 --runtime-option "
         "reporter.power=0 --runtime-option trace=true --runtime-option 'label=a=b' > /dev/null; cat said.txt");
  byoc_test_printed("power='0' 0 0\nmode='careful' 1 0\nclock='1.5' 0 1.5\ntrace='true' 1 0\nlabel='a=b' 0 0\n");
}

static void test_wrong_options(void **state) {
  (void)state;
  static const struct {
    const char *word, *said;
  } cases[] = {
      {"powr=3", "there is no run-time option 'powr'; there are reporter.power, reporter.mode, reporter.clock, "
                 "reporter.trace, reporter.label\n"},
      {"other.power=3", "there is no run-time option 'other.power'; there are reporter.power, "},
      {"power=4", "the run-time option 'reporter.power' takes an integer from 0 to 3, not '4'"},
      {"power=", "the run-time option 'reporter.power' takes an integer from 0 to 3, not ''"},
      {"power=1x", "the run-time option 'reporter.power' takes an integer from 0 to 3, not '1x'"},
      {"power=99999999999999999999", "takes an integer from 0 to 3, not '99999999999999999999'"},
      {"mode=slow", "the run-time option 'reporter.mode' takes one of fast|careful, not 'slow'"},
      {"mode=", "the run-time option 'reporter.mode' takes one of fast|careful, not ''"},
      {"clock=nan", "the run-time option 'reporter.clock' takes a number from 0.5 to 2.5, not 'nan'"},
      {"clock=9", "the run-time option 'reporter.clock' takes a number from 0.5 to 2.5, not '9'"},
      {"trace=yes", "the run-time option 'reporter.trace' takes 0, 1, false or true, not 'yes'"},
      {"label=123456789", "the run-time option 'reporter.label' takes at most 8 bytes, not '123456789'"},
  };
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "-o model.so");
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(2, "byoc run model.so --random --runtime-option %s", cases[i].word);
    byoc_test_printed(cases[i].said);
    byoc_test_shell(2, GOOD "byoc run model.byoc " REPORTER "--evaluate --random --runtime-option %s", cases[i].word);
    byoc_test_printed(cases[i].said);
  }
  byoc_test_shell(2, "byoc run model.so --random --runtime-option power");
  byoc_test_printed("--runtime-option takes NAME=VALUE, not 'power'");
  byoc_test_shell(0, "byoc build model.byoc --target c -o plain.so");
  byoc_test_shell(2, "byoc run plain.so --random --runtime-option power=3");
  byoc_test_printed("there is no run-time option 'power'; there are none\n");
}

// A driver gets them when its device is opened; the caller's numbers are in the device's time stamps.
static void test_options_reach_the_driver(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0,
                  GOOD "byoc build model.byoc --target 'simdev; c' --plan greedy --check-budget 0 --profile -o sim.so");
  byoc_test_shell(0, "byoc inspect sim.so");
  byoc_test_printed("option sim.stamp: int 0..1000000000, default 0: nanoseconds that each command takes, 0: as it is\n"
                    "option sim.power: choice low|high, default high: the power mode\n");
  byoc_test_shell(0, "byoc profile sim.so --runs 2 --warm-up 0 --runtime-option sim.stamp=12345000 | grep -c 12345.00");
  byoc_test_shell(0, GOOD "byoc run model.byoc --target 'simdev; c' --plan greedy --check-budget 0 --evaluate --random "
                          "--runtime-option stamp=7");
  byoc_test_shell(2, "byoc run sim.so --random --runtime-option stam=7");
  byoc_test_printed("there is no run-time option 'stam'; there are sim.stamp, sim.power\n");
}

static void test_wrong_declarations(void **state) {
  (void)state;
  static const struct {
    const char *lie, *said;
  } cases[] = {
      {"option_owner", "the run-time options of 'nobody': no engine and no driver of this name was added"},
      {"option_null", "the run-time options of 'reporter': an option is NULL"},
      {"option_huge", "the run-time options of 'reporter': 4294967295 options are declared; 1 to 64 may be"},
      {"option_cpu", "option 0: its type is CPU, which is for targets"},
      {"option_precision", "option 0: its type is PRECISION, which is for targets"},
      {"option_type", "option 0: its type is 77, which byoc does not know"},
      {"option_twice", "option 'power' is declared twice"},
      {"option_default", "the default of option 'other': option '-other' takes an integer from 0 to 3, not '4'"},
      {"option_name", "the run-time options of 'reporter': option 0: its name "},
      {"option_again", "it has other options, or other defaults, by target 'reporter"},
      {"option_stride", "the run-time options of 'reporter': "},
  };
  write_model();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(1, GOOD "byoc build model.byoc --target 'reporter -lie=%s; c' --plan greedy -o wrong.so",
                    cases[i].lie);
    byoc_test_printed(cases[i].said);
  }
}

// ---- counters and steps ----

static void test_counters_are_shown(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "--profile -o model.so");
  byoc_test_shell(0, "byoc profile model.so --runs 3 --warm-up 1 --json p.json --trace t.json --html p.html");
  byoc_test_printed("counters of its backend, in a run\n");
  byoc_test_printed("256 bytes moved, 71.5 % utilisation, 1.50 us device_time\n");
  byoc_test_printed("  neg                                    100 cycles\n");
  byoc_test_printed("  relu                                   50 cycles\n");
  byoc_test_shell(0, "tr -d ' \\n' < p.json | grep -c '\"nodes\":\\[{\"name\":\"neg\",\"median_us\":0.1,[^]]*"
                     "\"counters\":\\[{\"name\":\"cycles\",\"unit\":\"\",\"value\":100'");
  byoc_test_shell(0, "tr -d ' \\n' < p.json | grep -c '{\"name\":\"moved\",\"unit\":\"bytes\",\"value\":256'");
  byoc_test_shell(0, "grep -c '<td>256 bytes moved, 71.5 %% utilisation, 1.50 us device_time' p.html");
  byoc_test_shell(0, "grep -c '\"cycles\":100' t.json && grep -c '\"utilisation\":71.5' t.json");
  // An artifact that is not profiled asks for nothing.
  byoc_test_shell(0, "BYOC_TEST_LIE=nan byoc run model.so --random");
}

// The device's own time stands beside the time that the host took for the command.
static void test_counters_of_devices(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0,
                  GOOD "byoc build model.byoc --target 'simdev; c' --plan greedy --check-budget 0 --profile -o sim.so");
  byoc_test_shell(0, "byoc profile sim.so --runs 2 --warm-up 0 --runtime-option stamp=12345000 --json p.json");
  byoc_test_printed(" us host_time, 12345000 cycles, 50 % utilisation\n");
  byoc_test_shell(1, "BYOC_SIM=nan byoc profile sim.so --runs 1 --warm-up 0");
  byoc_test_printed("' reports the counter 'utilisation' as nan");
  byoc_test_shell(0, "BYOC_SIM=nan byoc run sim.so --random");
}

static void test_wrong_counters(void **state) {
  (void)state;
  static const struct {
    const char *lie, *said;
  } cases[] = {
      {"null_counter", "the run failed: the function 'reporter_0' reports a counter without a name\n"},
      {"null_step", "the function 'reporter_0' reports a step without a name\n"},
      {"long_step", "reports a step whose name has more than 200 bytes\n"},
      {"bytes_step", "reports a step whose name is not printable UTF-8\n"},
      {"control_counter", "reports a counter whose name is not printable UTF-8\n"},
      {"bytes_unit", "reports the counter 'a' in a unit that is too long or not printable UTF-8\n"},
      {"nan", "reports the counter 'a' as nan\n"},
      {"infinity", "reports the counter 'a' as -inf\n"},
      {"many_counters", "a backend reports more steps or counters than a profile can show: "},
      {"all_counters", "reports more than 1048576 steps, counters and tensors in one run\n"},
  };
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "--profile -o model.so");
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(1, "BYOC_TEST_LIE=%s byoc profile model.so --runs 1 --warm-up 0", cases[i].lie);
    byoc_test_printed(cases[i].said);
  }
}

// ---- tensors ----

static void test_tensors_inside_a_function(void **state) {
  (void)state;
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "--trace -o model.so");
  byoc_test_shell(0, "byoc run model.byoc --target 'c -fuse=0' --random --dump all=good > /dev/null");
  static const char *const commands[] = {"byoc run model.so --random", GOOD "byoc run model.byoc " REPORTER "--random",
                                         GOOD "byoc run model.byoc " REPORTER "--evaluate --random"};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) {
    byoc_test_shell(0,
                    "rm -rf n.npy state.npy all && %s --dump n --dump reporter/state=state.npy --dump all=all --trace",
                    commands[i]);
    byoc_test_printed("\"n\" f32[4,8] ");
    byoc_test_printed(" by inner \"reporter_0\" \"Neg+Relu\"\n");
    byoc_test_shell(0, "cmp n.npy state.npy && cmp n.npy all/n.npy");
    byoc_test_shell(0, "byoc debug diff good all --rtol 1e-4 --atol 1e-6");
    byoc_test_shell(2, "%s --dump reporter/stat=x.npy", commands[i]);
    byoc_test_printed("--dump: no instruction makes a tensor 'reporter/stat'");
  }
}

static void test_wrong_tensors(void **state) {
  (void)state;
  static const char *const lies[] = {"negative", "huge", "rank", "no_shape", "no_data", "strides", "type", "device"};
  write_model();
  byoc_test_shell(0, GOOD "byoc build model.byoc " REPORTER "--trace -o model.so");
  for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); ++i) {
    byoc_test_shell(1, "BYOC_TEST_LIE=%s byoc run model.so --random --dump all=wrong", lies[i]);
    byoc_test_printed("the function 'reporter_0' reports the tensor 't', which is not a dense tensor of numbers in the "
                      "host's memory\n");
  }
  byoc_test_shell(1, "BYOC_TEST_LIE=null_tensor byoc run model.so --random --dump n");
  byoc_test_printed("the function 'reporter_0' reports the tensor 't' as NULL\n");
  byoc_test_shell(1, GOOD "BYOC_TEST_LIE=rank byoc run model.byoc " REPORTER "--evaluate --random --dump n");
  byoc_test_printed("the function 'reporter_0' reports the tensor 't', which is not a dense tensor");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reports_are_listed_and_printed),
      cmocka_unit_test(test_reports_of_declined_functions_are_dropped),
      cmocka_unit_test(test_reports_in_text),
      cmocka_unit_test(test_reports_on_pages),
      cmocka_unit_test(test_wrong_reports),
      cmocka_unit_test(test_options_are_listed),
      cmocka_unit_test(test_options_reach_the_engine),
      cmocka_unit_test(test_wrong_options),
      cmocka_unit_test(test_options_reach_the_driver),
      cmocka_unit_test(test_wrong_declarations),
      cmocka_unit_test(test_counters_are_shown),
      cmocka_unit_test(test_counters_of_devices),
      cmocka_unit_test(test_wrong_counters),
      cmocka_unit_test(test_tensors_inside_a_function),
      cmocka_unit_test(test_wrong_tensors),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}
