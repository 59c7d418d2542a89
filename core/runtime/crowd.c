// SPDX-License-Identifier: Apache-2.0
// Leaves out threads whose processors work for other programs.
#include "core/runtime/crowd.h"

int32_t byoc_crowd_threads(byoc_crowd_t *crowd, int32_t threads, int64_t now_ns) {
  if (crowd->left_out > 0) {
    const int64_t since_ns = now_ns - crowd->seen_ns;
    crowd->seen_ns = now_ns;
    crowd->left_ns -= since_ns < BYOC_CROWD_PAUSE_NS ? since_ns : BYOC_CROWD_PAUSE_NS;
    if (crowd->left_ns <= 0) crowd->left_out = 0, crowd->balance_ns = crowd->held_ns = 0;
  }
  return threads - crowd->left_out > 1 ? threads - crowd->left_out : 1;
}

static void leave_out(byoc_crowd_t *crowd, int64_t now_ns) {
  if (crowd->left_out == 0) {
    const int64_t twice_ns = 2 * crowd->left_out_ns;
    crowd->left_out_ns = twice_ns < BYOC_CROWD_FIRST_NS     ? BYOC_CROWD_FIRST_NS
                         : twice_ns > BYOC_CROWD_LONGEST_NS ? BYOC_CROWD_LONGEST_NS
                                                            : twice_ns;
  }
  crowd->left_out += 1;
  crowd->left_ns = crowd->left_out_ns;
  crowd->seen_ns = now_ns;
  crowd->balance_ns = 0;
}

void byoc_crowd_note(byoc_crowd_t *crowd, const byoc_crowd_loop_t *loop, int64_t now_ns) {
  // With one thread fewer, the loop would take as long as its largest chunk, if no thread waited for a processor.
  const int64_t largest = (loop->count - 1) / (loop->shares - 1) + 1;
  const int64_t fewer_ns = (int64_t)(loop->quickest_ns * (double)largest);
  const bool differs = loop->taken_ns > fewer_ns && loop->taken_ns < fewer_ns / 2 * 3 && !loop->has_lost;
  if (!differs) crowd->balance_ns += fewer_ns - loop->taken_ns;
  if (crowd->balance_ns > BYOC_CROWD_CREDIT_NS) crowd->balance_ns = BYOC_CROWD_CREDIT_NS;
  if (crowd->balance_ns < -BYOC_CROWD_DEBT_NS) {
    leave_out(crowd, now_ns);
  } else if (crowd->left_out == 0) {
    crowd->held_ns += loop->taken_ns;
    if (crowd->held_ns > BYOC_CROWD_HELD_NS) crowd->left_out_ns = 0;
  }
}
