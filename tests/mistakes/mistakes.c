// The table of mistakes.
#include "tests/mistakes/mistakes.h"

#define IN_ACCEPT " in its hook accept for the target 'mistaken', rule 'mistaken.relu'"

const row_t mistakes[] = {
    // ---- what no hook may do ----
    {"accept:fork", .code = 0, .message = "mistaken 1 operator in 1 region"}, // no mistake
    {"accept:exit", .code = 1, .message = "error: the plugin mistaken 1.0 called exit()" IN_ACCEPT},
    {"accept:_exit", .code = 1, .message = "error: the plugin mistaken 1.0 called _exit()" IN_ACCEPT},
    {"accept:_Exit", .code = 1, .message = "error: the plugin mistaken 1.0 called _exit()" IN_ACCEPT},
    {"accept:quick_exit", .code = 1, .message = "error: the plugin mistaken 1.0 called exit()" IN_ACCEPT},
    {"accept:pthread_exit", .code = 1, .message = "1.0 ended the thread that it was called by" IN_ACCEPT},
    {"accept:crash", .code = 1, .message = "1.0 crashed" IN_ACCEPT ": SIGSEGV (Segmentation fault)"},
    {"accept:crash in a thread", .code = 1, .message = "1.0 crashed" IN_ACCEPT ": SIGSEGV (Segmentation fault)"},
    {"accept:trap", .code = 1,
     .message = "1.0 crashed" IN_ACCEPT ": SIG"}, // SIGILL or SIGTRAP, as the processor has it
    {"accept:abort", .code = 1, .message = "1.0 crashed" IN_ACCEPT ": SIGABRT (Aborted)\nhint: leave the plugin out"},
    {"accept:overflow", .code = 1, .message = "1.0 crashed" IN_ACCEPT ": SIGSEGV (Segmentation fault)"},
    {"accept:throw", .code = 1, .message = "(Aborted)\nit printed:\n  terminate called after throwing an instance"},
    {"accept:print and crash", .code = 1, .message = "SIGABRT (Aborted)\nit printed:\n  assertion failed: x > 0\n"},
    {"accept:hang", .code = 1, .message = "has neither called the host nor come back from its hook accept for the"},
    {"accept:sleep", .code = 1, .message = "within 1 s\nhint: BYOC_HOOK_TIMEOUT=SECONDS gives hooks more time"},
    {"accept:printf", .code = 1, .message = "1.0 printed" IN_ACCEPT ":\n  hello from a hook\n"},
    {"accept:write to stderr", .code = 1, .message = "1.0 printed" IN_ACCEPT ":\n  \\x1b[31mhello from a hook\n"},
    {"accept:close stdout", .code = 1, .message = "1.0 closed standard output" IN_ACCEPT},
    {"accept:locale", .code = 1, .message = "1.0 changed the locale of the process" IN_ACCEPT},
    {"accept:chdir", .code = 1, .message = "1.0 changed the working folder of the process" IN_ACCEPT},
    {"accept:umask", .code = 1, .message = "1.0 changed the umask of the process" IN_ACCEPT},
    {"accept:setenv", .code = 1, .message = "1.0 changed the environment of the process" IN_ACCEPT},
    {"accept:signal", .code = 1, .message = "1.0 changed a signal handler of the process" IN_ACCEPT},
    {"accept:rounding", .code = 1, .message = "1.0 changed the floating-point mode of the process" IN_ACCEPT},
    {"query:crash", .code = 1, .message = "it crashes while it is loaded: SIGSEGV (Segmentation fault)"},
    {"query:crash later", .code = 1, .message = "error: the plugin mistaken 1.0 crashed in its hook query: SIGSEGV"},
    {"query:exit", .code = 1, .message = "it ends the process while it is loaded"},
    {"query:printf", .code = 1, .message = "it prints while it is loaded: hello from a hook"},
    {"prepare:exit", .code = 1, .message = "1.0 called exit() in its hook prepare for the target 'mistaken'\n"},
    {"prepare:crash", .code = 1, .message = "1.0 crashed in its hook prepare for the target 'mistaken': SIGSEGV"},
    {"prepare:printf", .code = 1, .message = "1.0 printed in its hook prepare for the target 'mistaken':\n  hello"},
    {"generate:_exit", .code = 1, .message = "1.0 called _exit() in its hook generate for the target 'mistaken'\n"},
    {"generate:throw", .code = 1, .message = "1.0 crashed in its hook generate for the target 'mistaken': SIGABRT"},
    {"generate:hang", .code = 1, .message = "come back from its hook generate for the target 'mistaken' within 1 s"},
    {"generate:printf", .code = 1, .message = "1.0 printed in its hook generate for the target 'mistaken':\n  hello"},
    {"generate:chdir", .code = 1, .message = "1.0): its generate hook: it changed the working folder of"},
    {"generate_function:exit", .target = "mistaken_by_function", .code = 1,
     .message =
         "1.0 called exit() in its hook generate_function for the target 'mistaken_by_function', function 'mist"},
    {"generate_function:abort", .target = "mistaken_by_function", .code = 1,
     .message = "crashed in its hook generate_function for the target 'mistaken_by_function', function 'mistaken_by_f"},
    {"runs_on_device:exit", .target = "mistaken_device", .code = 1,
     .message = "1.0 called exit() in its hook runs_on_device for the target 'mistaken_device'\n"},
    {"runs_on_device:crash", .target = "mistaken_device", .code = 1,
     .message = "1.0 crashed in its hook runs_on_device for the target 'mistaken_device': SIGSEGV"},
    {"destroy:exit", .code = 1, .is_late = true,
     .message = "the plugin mistaken 1.0 called exit() in its hook destroy\n"},
    {"destroy:crash", .code = 1, .is_late = true,
     .message = "the plugin mistaken 1.0 crashed in its hook destroy: SIG"},
};
const size_t mistake_count = sizeof(mistakes) / sizeof(mistakes[0]);
