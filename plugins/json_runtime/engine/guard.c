// SPDX-License-Identifier: Apache-2.0
// Ends C++ exceptions of oneDNN with the unwinder alone: the engine is C, and links no C++ library.
#include "guard.h"

#if defined(__x86_64__)
#include <stdatomic.h>
#include <unwind.h>

// Calls function(primitive, stream, count, arguments). If an exception comes out of it, the personality below stops it
// and execution goes on at the label in it.
int32_t byoc_dnnl_guarded_call(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                               const dnnl_exec_arg_t *arguments, __typeof__(dnnl_primitive_execute) *function)
    __attribute__((visibility("hidden")));
_Unwind_Reason_Code byoc_dnnl_guard_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                                struct _Unwind_Exception *exception, struct _Unwind_Context *context)
    __attribute__((visibility("hidden"), used));
extern const char byoc_dnnl_guard_landing[] __attribute__((visibility("hidden")));

_Static_assert(dnnl_out_of_memory == 1, "the result after an exception");
__asm__(".text\n"
        ".p2align 4\n"
        ".globl byoc_dnnl_guarded_call\n"
        ".hidden byoc_dnnl_guarded_call\n"
        ".type byoc_dnnl_guarded_call, @function\n"
        "byoc_dnnl_guarded_call:\n"
        "  .cfi_startproc\n"
        "  .cfi_personality 0x1b, byoc_dnnl_guard_personality\n" // a distance of four bytes
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call *%r8\n"
        "  jmp 1f\n"
        ".globl byoc_dnnl_guard_landing\n"
        ".hidden byoc_dnnl_guard_landing\n"
        "byoc_dnnl_guard_landing:\n"
        "  movl $1, %eax\n"
        "1:\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size byoc_dnnl_guarded_call, . - byoc_dnnl_guarded_call\n");

static _Atomic(const byoc_dnnl_api_t *) guard_api; // all instances have the same

// What the unwinder asks about the frame above (Itanium C++ ABI, exception handling, 1.6.2). The answer is that every
// exception has its handler there; only the forced unwinding of a cancelled thread passes through.
_Unwind_Reason_Code byoc_dnnl_guard_personality(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                                struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
  (void)class;
  if (version != 1 || (actions & _UA_FORCE_UNWIND) != 0) return _URC_CONTINUE_UNWIND;
  if ((actions & _UA_SEARCH_PHASE) != 0) return _URC_HANDLER_FOUND;
  const byoc_dnnl_api_t *api = atomic_load(&guard_api);
  (void)api->cxa_begin_catch(exception);
  api->cxa_end_catch(); // which frees it
  api->unwind_set_ip(context, (uintptr_t)byoc_dnnl_guard_landing);
  return _URC_INSTALL_CONTEXT;
}

dnnl_status_t byoc_dnnl_guarded_execute(const byoc_dnnl_api_t *api, const_dnnl_primitive_t primitive,
                                        dnnl_stream_t stream, int count, const dnnl_exec_arg_t *arguments) {
  const int can_catch = api->cxa_begin_catch != NULL && api->cxa_end_catch != NULL && api->unwind_set_ip != NULL;
  if (!can_catch) return api->dnnl_primitive_execute(primitive, stream, count, arguments);
  atomic_store_explicit(&guard_api, api, memory_order_relaxed);
  return (dnnl_status_t)byoc_dnnl_guarded_call(primitive, stream, count, arguments, api->dnnl_primitive_execute);
}

#else

dnnl_status_t byoc_dnnl_guarded_execute(const byoc_dnnl_api_t *api, const_dnnl_primitive_t primitive,
                                        dnnl_stream_t stream, int count, const dnnl_exec_arg_t *arguments) {
  return api->dnnl_primitive_execute(primitive, stream, count, arguments);
}

#endif
