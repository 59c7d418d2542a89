// SPDX-License-Identifier: Apache-2.0
// Process groups: children that end together with whatever they started, and before this process does.
//
// If byoc_group_fork made the leader of a group, what that leader starts by byoc_process_run stays in its group.
// Whoever reaps a leader calls byoc_group_forget before acting on how the leader ended. Any thread may call these
// functions. When SIGINT or SIGTERM ends the process, every group is killed first, and these calls never return:
// nothing more is started, and nobody mistakes a process that was killed for one that failed.
//
// SIGKILL cannot be handled. Leaders made by byoc_group_fork ask the kernel to die with their parent
// (PR_SET_PDEATHSIG), but a compiler's own children inherit no such wish. A tool therefore starts a guard: a small
// process that learns from the end of a pipe that the tool is gone, and kills every group that is left. It does not
// know a program that was started in the very moment in which the tool was killed, before that was in the table.
#ifndef BYOC_CORE_BASE_GROUP_H_
#define BYOC_CORE_BASE_GROUP_H_

#include <stdbool.h>
#include <sys/types.h>

// Starts the guard. Call it in main, before there are threads and before much memory is used. Without it, or if it
// cannot be started, programs that were started outlive a tool that is killed.
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
