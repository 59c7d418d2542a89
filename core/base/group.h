// Process groups: children that end together with whatever they started, and before this process does.
//
// The leader of a group that byoc_group_fork made keeps what it starts by byoc_process_run in its own group. Whoever
// reaps a leader calls byoc_group_forget before it acts on how the leader ended. Any thread may call these. When SIGINT
// or SIGTERM ends the process, every group is killed first, and these calls never return: nothing is started any more,
// and nobody takes a process that was killed for one that failed.
#ifndef BYOC_CORE_BASE_GROUP_H_
#define BYOC_CORE_BASE_GROUP_H_

#include <stdbool.h>
#include <sys/types.h>

// fork() whose child leads a group, has default handlers for signals and none blocked, writes no core file, and dies
// with the thread that forked it.
pid_t byoc_group_fork(void);
// Starts a process by `spawn(argument, lead, &pid)`, which gives errno; where `lead` is set the process is to lead a
// group of its own. *out_leads says whether it does.
int byoc_group_spawn(int (*spawn)(void *argument, bool lead, pid_t *out_pid), void *argument, pid_t *out_pid,
                     bool *out_leads);
void byoc_group_kill(pid_t leader);
void byoc_group_forget(pid_t leader);

#endif // BYOC_CORE_BASE_GROUP_H_
