// SPDX-License-Identifier: Apache-2.0
// Process groups: children that end together with all processes that they have started, and before this process ends.
//
// Programs that a leader (made by byoc_group_fork) starts by byoc_process_run stay in its group. A caller that has
// reaped a leader calls byoc_group_forget before it reads how the leader ended. Any thread may call these functions.
// When SIGINT or SIGTERM ends the process, every group is killed first, and these calls never return: nothing more is
// started, and no caller takes a killed process for a failed one.
//
// SIGKILL cannot be handled. Leaders made by byoc_group_fork ask the kernel to die with their parent
// (PR_SET_PDEATHSIG), but children of a compiler do not inherit this. A tool therefore starts a guard: a small process
// that sees the end of a pipe when the tool is gone, and kills the remaining groups. It does not know a program that
// had been started and was not yet in the table.
#ifndef BYOC_CORE_BASE_GROUP_H_
#define BYOC_CORE_BASE_GROUP_H_

#include <stdbool.h>
#include <sys/types.h>

// Starts the guard. Call it in main, before there are threads and before much memory is used. Without it, or if it
// cannot be started, programs outlive a tool that is killed.
void byoc_group_guard_start(void);
// Ends the guard and waits for it. Call it at the end of main.
void byoc_group_guard_stop(void);

// fork() whose child leads a group, has default signal handlers and no blocked signals, writes no core file, and dies
// with the thread that forked it.
pid_t byoc_group_fork(void);
// Starts a process by `spawn(argument, lead, &pid)`, which returns an errno. With `lead` set, the process must lead a
// new group. *out_leads says whether it does.
int byoc_group_spawn(int (*spawn)(void *argument, bool lead, pid_t *out_pid), void *argument, pid_t *out_pid,
                     bool *out_leads);
void byoc_group_kill(pid_t leader);
void byoc_group_forget(pid_t leader);

#endif // BYOC_CORE_BASE_GROUP_H_
