// SPDX-License-Identifier: Apache-2.0
// Mutants of valid host programs: the verifier judges each, and what it accepts is evaluated. Under the sanitizers, any
// report is a finding: a hole in the verifier or in the evaluator.
//
//   random_host_programs [--count N] [--seed N] [--first N] [--compose N] [--passes LIST] [--print] [FILE ...]
//
// One in N of the mutants that need no backend is composed, too, and must agree with the evaluator (0: none).
// What ran must give the same outputs after the host passes of LIST.
// Mutant K depends on the seed and on K alone: --first K --count 1 makes it again, and --print shows it. FILEs, host
// programs or modules, take the place of the programs to begin with. Mutants run in child processes, so that one that
// ends its process does not end the others; one that takes too long is counted, because a loop may go on for ever.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/log.h"
#include "tests/random/host/host.h"

enum { REASONS = 256, REASON_SIZE = 120, FINDINGS_AT_MOST = 25, CPU_MS = 400 };

typedef enum stage_t { STAGE_MAKE, STAGE_VERIFY, STAGE_RUN } stage_t;

typedef struct count_t {
  char reason[REASON_SIZE];
  uint64_t count;
} count_t;

// Shared by all processes.
typedef struct shared_t {
  uint64_t next; // the mutant that is worked on
  stage_t stage;
  uint64_t unreadable, refused, accepted, composed, endless, findings;
  uint64_t outcomes[OUTCOME_COUNT];
  count_t reasons[REASONS];
} shared_t;

typedef struct options_t {
  uint64_t seed, first, count, compose;
  bool prints;
  const char *passes;
} options_t;

static shared_t *shared;

#if defined(__SANITIZE_ADDRESS__)
__attribute__((visibility("default"))) const char *__asan_default_options(void); // the sanitizer looks for it
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=1:handle_abort=0";
}
#endif

// ---- counting ----

// The reason without what differs from program to program: quoted names and numbers.
static void generalise(const char *message, char *out) {
  size_t size = 0;
  const char *at = strstr(message, "): ");
  at = at != NULL ? at + 3 : strncmp(message, "host program '", 14) == 0 ? strchr(message, ':') + 2 : message;
  while (*at != '\0' && size + 4 < REASON_SIZE) {
    const char *quote = *at == '\'' ? strchr(at + 1, '\'') : NULL;
    if (quote != NULL) {
      memcpy(out + size, "'_'", 3);
      size += 3;
      at = quote + 1;
    } else if (*at >= '0' && *at <= '9') {
      out[size++] = '#';
      while (*at >= '0' && *at <= '9') ++at;
    } else {
      out[size++] = *at++;
    }
  }
  out[size] = '\0';
}

static void count_reason(const char *message) {
  char reason[REASON_SIZE];
  generalise(message, reason);
  for (size_t k = 0; k < REASONS; ++k) {
    count_t *entry = &shared->reasons[k];
    if (entry->reason[0] == '\0') memcpy(entry->reason, reason, sizeof(reason));
    if (strcmp(entry->reason, reason) != 0) continue;
    entry->count++;
    return;
  }
}

static int compare_counts(const void *a, const void *b) {
  const uint64_t x = ((const count_t *)a)->count, y = ((const count_t *)b)->count;
  return x < y ? 1 : x > y ? -1 : 0;
}

// ---- one mutant ----

static byoc_test_random_t random_of(const options_t *options, uint64_t index) {
  byoc_test_random_t random = {options->seed * UINT64_C(0x9e3779b97f4a7c15) + index};
  random.state = byoc_test_next(&random);
  return random;
}

static void show(const byoc_host_program_t *program) {
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  byoc_host_program_print(program, NULL, &text);
  fprintf(stderr, "%s\n", text.data);
  byoc_string_deinit(&text);
}

// Changes a seed and gives its text.
static bool make_mutant(const seed_t *seed, byoc_test_random_t *random, byoc_string_t *out_text) {
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  if (byoc_host_program_parse(seed->text, seed->name, NULL, byoc_allocator_system(), &diag, &module, &program) !=
      BYOC_OK) {
    byoc_diag_print(&diag, stderr);
    exit(2);
  }
  size_t changes = 1;
  while (changes < 6 && byoc_test_below(random, 100) < 45) ++changes;
  bool ok = true;
  for (size_t k = 0; k < changes && ok; ++k) ok = mutate(program, random);
  byoc_host_program_print(program, NULL, out_text);
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  return ok && !out_text->failed;
}

static void finding(const options_t *options, const seed_t *seed, const char *reason) {
  shared->findings++;
  fprintf(stderr, "mutant %llu of seed %llu, from %s: %s\n", (unsigned long long)shared->next,
          (unsigned long long)options->seed, seed->name, reason);
}

static void limit_time(int cpu_ms) {
  const struct itimerval limit = {.it_value = {.tv_sec = cpu_ms / 1000, .tv_usec = cpu_ms % 1000 * 1000}};
  (void)setitimer(ITIMER_PROF, &limit, NULL);
}

static void judge(const options_t *options, const seed_t *seed, const byoc_host_program_t *program, const char *text) {
  byoc_diag_t diag = {0};
  shared->stage = STAGE_VERIFY;
  if (byoc_host_program_verify(program, &diag) != BYOC_OK) {
    shared->refused++;
    count_reason(diag.message);
    if (options->prints) fprintf(stderr, "refused: %s\n", diag.message);
    return;
  }
  shared->accepted++;
  shared->stage = STAGE_RUN;
  char reason[700] = "";
  bool composes = options->compose > 0 && shared->next % options->compose == 0;
  if (composes) limit_time(10 * CPU_MS);
  outcome_t outcome = run_program(program, options->seed + shared->next, &composes, reason, sizeof(reason));
  shared->outcomes[outcome]++;
  shared->composed += composes;
  if (outcome == OUTCOME_RAN && options->passes != NULL) {
    outcome = run_passes(program, text, options->passes, options->seed + shared->next, reason, sizeof(reason));
  }
  if (outcome == OUTCOME_WRONG) {
    finding(options, seed, reason);
    show(program);
  }
}

static void try_mutant(const options_t *options, const seeds_t *seeds) {
  byoc_test_random_t random = random_of(options, shared->next);
  const seed_t *seed = &seeds->data[byoc_test_below(&random, seeds->count)];
  byoc_diag_t diag = {0};
  byoc_graph_module_t *module = NULL;
  byoc_host_program_t *program = NULL;
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  shared->stage = STAGE_MAKE;
  if (!make_mutant(seed, &random, &text)) exit(2);
  if (options->prints) fprintf(stderr, "// from %s\n%s", seed->name, text.data);
  if (byoc_host_program_parse(text.data, "mutant", NULL, byoc_allocator_system(), &diag, &module, &program) ==
      BYOC_OK) {
    judge(options, seed, program, text.data);
  } else {
    shared->unreadable++;
    count_reason(diag.message);
  }
  byoc_host_program_destroy(program);
  byoc_graph_module_destroy(module);
  byoc_string_deinit(&text);
}

// ---- many ----

static void work(const options_t *options, const seeds_t *seeds) {
  for (; shared->next < options->first + options->count; shared->next++) {
    limit_time(CPU_MS);
    try_mutant(options, seeds);
  }
  seeds_t *mine = (seeds_t *)(uintptr_t)seeds;
  seeds_free(mine);
  exit(0);
}

// A child ended before its time.
static void judge_end(const options_t *options, const seeds_t *seeds, int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF && shared->stage == STAGE_RUN) {
    shared->endless++;
    return;
  }
  byoc_test_random_t random = random_of(options, shared->next);
  const seed_t *seed = &seeds->data[byoc_test_below(&random, seeds->count)];
  char reason[64];
  snprintf(reason, sizeof(reason), "%s %d ends the process", WIFSIGNALED(status) ? "signal" : "exit code",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  finding(options, seed, reason);
  byoc_string_t text;
  byoc_string_init(&text, byoc_allocator_system());
  if (make_mutant(seed, &random, &text)) fprintf(stderr, "%s\n", text.data);
  byoc_string_deinit(&text);
}

static void run_all(const options_t *options, const seeds_t *seeds) {
  shared->next = options->first;
  while (shared->next < options->first + options->count && shared->findings < FINDINGS_AT_MOST) {
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child < 0) exit(2);
    if (child == 0) work(options, seeds);
    int status = 0;
    if (waitpid(child, &status, 0) != child) exit(2);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    judge_end(options, seeds, status);
    shared->next++;
  }
}

static void report(const options_t *options, const seeds_t *seeds) {
  const uint64_t done = shared->next - options->first;
  printf("%llu mutants of %zu programs, seed %llu: %llu are not readable, %llu refused, %llu accepted\n",
         (unsigned long long)done, seeds->count, (unsigned long long)options->seed,
         (unsigned long long)shared->unreadable, (unsigned long long)shared->refused,
         (unsigned long long)shared->accepted);
  printf(
      "of those accepted: %llu ran, %llu stopped at their data, %llu in a kernel with indices from data, %llu took too "
      "long, %llu cannot be evaluated here\n",
      (unsigned long long)shared->outcomes[OUTCOME_RAN], (unsigned long long)shared->outcomes[OUTCOME_STOPPED],
      (unsigned long long)shared->outcomes[OUTCOME_OPEN], (unsigned long long)shared->endless,
      (unsigned long long)shared->outcomes[OUTCOME_UNPREPARED]);
  printf("%llu were composed, too\n", (unsigned long long)shared->composed);
  printf("findings: %llu\n", (unsigned long long)shared->findings);
  qsort(shared->reasons, REASONS, sizeof(shared->reasons[0]), compare_counts);
  for (size_t k = 0; k < REASONS && shared->reasons[k].count > 0; ++k) {
    printf("%8llu  %s\n", (unsigned long long)shared->reasons[k].count, shared->reasons[k].reason);
  }
}

static uint64_t number(const char *text) {
  char *rest = NULL;
  const uint64_t value = text != NULL ? strtoull(text, &rest, 10) : 0;
  if (text != NULL && *text != '\0' && *rest == '\0') return value;
  fprintf(stderr, "expected a number, not '%s'\n", text != NULL ? text : "");
  exit(2);
}

int main(int argc, char **argv) {
  options_t options = {.seed = 1, .count = 2000};
  seeds_t seeds = {0};
  byoc_log_set_level(BYOC_LOG_ERROR);
  for (int k = 1; k < argc; ++k) {
    if (strcmp(argv[k], "--count") == 0)
      options.count = number(argv[++k]);
    else if (strcmp(argv[k], "--seed") == 0)
      options.seed = number(argv[++k]);
    else if (strcmp(argv[k], "--first") == 0)
      options.first = number(argv[++k]);
    else if (strcmp(argv[k], "--compose") == 0)
      options.compose = number(argv[++k]);
    else if (strcmp(argv[k], "--passes") == 0)
      options.passes = argv[++k];
    else if (strcmp(argv[k], "--print") == 0)
      options.prints = true;
    else
      seeds_add(&seeds, argv[k]);
  }
#ifdef RANDOM_HOST_COMPILER
  (void)setenv("CC", RANDOM_HOST_COMPILER, 1);
#endif
  if (seeds.count == 0) seeds_collect(&seeds);
  shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  run_all(&options, &seeds);
  report(&options, &seeds);
  const int failed = shared->findings > 0;
  seeds_free(&seeds);
  return failed;
}
