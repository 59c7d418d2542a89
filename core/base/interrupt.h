// What SIGINT and SIGTERM do to a tool: processes that it started end, its temporary files go, then the signal does
// what it always does.
#ifndef BYOC_CORE_BASE_INTERRUPT_H_
#define BYOC_CORE_BASE_INTERRUPT_H_

// Call it first in main, before there are threads. A signal that is ignored stays ignored.
void byoc_interrupt_install(void);

#endif // BYOC_CORE_BASE_INTERRUPT_H_
