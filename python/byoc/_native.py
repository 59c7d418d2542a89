# SPDX-License-Identifier: Apache-2.0
"""The structs of byoc/artifact.h and byoc/compiler.h for ctypes.

A class has the name of its struct; tests/test_layout.py compares sizes and places with those that a C compiler sees.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)

ARTIFACT_ABI = 1
ANY_RANK = 0xFFFFFFFF
TENSOR, SEQUENCE, OPTIONAL = 0, 1, 2

# ---- byoc/artifact.h ----


class byoc_tensor_info_t(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_uint32),
        ("rank", c_uint32),
        ("dims", POINTER(c_int64)),
        ("dim_names", POINTER(c_char_p)),
        ("size_bytes", c_uint64),
    ]


class byoc_context_options_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("thread_count", c_int32),
        ("pool", c_void_p),
        ("queues", c_void_p),
        ("queue_count", c_uint32),
        ("reserved", c_uint32),
        ("communicator", c_void_p),
        ("max_iterations", c_uint64),
        ("weights", c_char_p),
        ("timeout_ms", c_uint64),
        ("cancel", c_void_p),
    ]


class byoc_argument_t(Structure):
    pass


byoc_argument_t._fields_ = [
    ("kind", c_uint32),
    ("dtype", c_uint32),
    ("rank", c_uint32),
    ("reserved", c_uint32),
    ("dims", POINTER(c_int64)),
    ("data", c_void_p),
    ("count", c_uint64),
    ("items", POINTER(byoc_argument_t)),
]


class byoc_buffer_t(Structure):
    _fields_ = [("data", c_void_p), ("size_bytes", c_uint64)]


ALLOCATE = CFUNCTYPE(c_void_p, c_void_p, c_uint32, POINTER(byoc_argument_t), c_uint64)


class byoc_run_options_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("outputs", POINTER(byoc_buffer_t)),
        ("self", c_void_p),
        ("allocate", ALLOCATE),
    ]


PROFILE_SINK = CFUNCTYPE(None, c_void_p, c_char_p, c_uint64)
_arguments = POINTER(byoc_argument_t)
_pointers = POINTER(c_void_p)


class byoc_artifact_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("abi_version", c_uint32),
        ("model_name", c_char_p),
        ("input_count", c_uint32),
        ("output_count", c_uint32),
        ("inputs", POINTER(byoc_tensor_info_t)),
        ("outputs", POINTER(byoc_tensor_info_t)),
        ("workspace_size_bytes", c_uint64),
        ("constants_size_bytes", c_uint64),
        ("metadata", c_char_p),
        ("metadata_size_bytes", c_uint64),
        ("check", CFUNCTYPE(c_int32, c_char_p, c_uint64)),
        ("create", CFUNCTYPE(c_int32, POINTER(byoc_context_options_t), POINTER(c_void_p))),
        ("run", CFUNCTYPE(c_int32, c_void_p, _pointers, _pointers)),
        ("destroy", CFUNCTYPE(None, c_void_p)),
        ("last_error", CFUNCTYPE(c_char_p, c_void_p)),
        ("profile", CFUNCTYPE(c_int32, c_void_p, _pointers, _pointers, PROFILE_SINK, c_void_p)),
        ("input_kinds", POINTER(c_char_p)),
        ("output_kinds", POINTER(c_char_p)),
        ("is_dynamic", c_uint32),
        ("reserved", c_uint32),
        ("run_arguments", CFUNCTYPE(c_int32, c_void_p, _arguments, _arguments)),
        ("signature_hash", c_uint64),
        ("peak_bytes", CFUNCTYPE(c_uint64, c_void_p)),
        ("trace", c_void_p),
        ("profile_arguments", CFUNCTYPE(c_int32, c_void_p, _arguments, _arguments, PROFILE_SINK, c_void_p)),
        ("outputs_over", POINTER(c_int32)),
        ("run_with", CFUNCTYPE(c_int32, c_void_p, _arguments, _arguments, POINTER(byoc_run_options_t))),
        ("entry", c_char_p),
        ("entries", POINTER(c_void_p)),  # each a byoc_artifact_t
        ("entry_count", c_uint32),
        ("reserved_entries", c_uint32),
    ]


# ---- byoc/compiler.h ----

ERROR, WARNING, NOTE = 1, 2, 3
READ_USUAL, READ_STRICT, READ_LENIENT = 0, 1, 2


class byoc_compiler_diagnostic_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("severity", c_int32),
        ("status", c_int32),
        ("line", c_int32),
        ("column", c_int32),
        ("reserved", c_uint32),
        ("message", c_char_p),
        ("context", c_char_p),
        ("hint", c_char_p),
        ("file", c_char_p),
        ("source", c_char_p),
    ]


class byoc_compiler_progress_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("step", c_char_p),
        ("title", c_char_p),
        ("detail", c_char_p),
        ("done", c_int64),
        ("total", c_int64),
    ]


class byoc_compiler_options_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("plugins", POINTER(c_char_p)),
        ("plugin_count", c_uint64),
        ("preferred", POINTER(c_char_p)),
        ("preferred_count", c_uint64),
        ("plugin_folder", c_char_p),
    ]


class byoc_compiler_dim_t(Structure):
    _fields_ = [("name", c_char_p), ("value", c_int64)]


class byoc_compiler_alias_t(Structure):
    _fields_ = [("output", c_char_p), ("input", c_char_p)]


PROGRESS = CFUNCTYPE(c_int32, c_void_p, POINTER(byoc_compiler_progress_t))
HEARD = CFUNCTYPE(None, c_void_p, POINTER(byoc_compiler_diagnostic_t))


class byoc_compiler_entry_t(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("model_path", c_char_p),
        ("model_data", c_void_p),
        ("model_size_bytes", c_uint64),
        ("data_folder", c_char_p),
    ]


class byoc_compiler_build_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("thread_count", c_int32),
        ("model_path", c_char_p),
        ("model_data", c_void_p),
        ("model_size_bytes", c_uint64),
        ("data_folder", c_char_p),
        ("name", c_char_p),
        ("output", c_char_p),
        ("targets", POINTER(c_char_p)),
        ("target_count", c_uint64),
        ("dims", POINTER(byoc_compiler_dim_t)),
        ("dim_count", c_uint64),
        ("aliases", POINTER(byoc_compiler_alias_t)),
        ("alias_count", c_uint64),
        ("disabled_passes", POINTER(c_char_p)),
        ("disabled_pass_count", c_uint64),
        ("plan", c_char_p),
        ("cost", c_char_p),
        ("cost_budget_s", c_double),
        ("layout", c_char_p),
        ("stream_axis", c_char_p),
        ("queue_count", c_int32),
        ("profile", c_uint32),
        ("trace", c_uint32),
        ("fallback", c_uint32),
        ("huge_pages", c_uint32),
        ("verbosity", c_int32),
        ("self", c_void_p),
        ("progress", PROGRESS),
        ("diagnostic", HEARD),
        ("weights", c_char_p),
        ("triple", c_char_p),
        ("size_price", c_char_p),
        ("entries", POINTER(byoc_compiler_entry_t)),
        ("entry_count", c_uint64),
        ("plan_threads", POINTER(c_int32)),
        ("plan_thread_count", c_uint64),
        ("reading", c_int32),
        ("reserved_2", c_uint32),
        ("optional_inputs", POINTER(c_char_p)),
        ("optional_input_count", c_uint64),
        ("check_budget_s", c_double),
    ]


class byoc_compiler_result_t(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("diagnostics", POINTER(POINTER(byoc_compiler_diagnostic_t))),
        ("diagnostic_count", c_uint64),
        ("artifact", c_void_p),
        ("artifact_size_bytes", c_uint64),
        ("header", c_char_p),
        ("header_size_bytes", c_uint64),
        ("plan", c_char_p),
        ("placement", c_char_p),
        ("plans", POINTER(c_char_p)),
        ("placements", POINTER(c_char_p)),
        ("plan_count", c_uint64),
    ]


# ---- DLPack ----


class DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint32),  # of the type; its bits and lanes are in the upper bytes
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


DLPACK_READ_ONLY, DLPACK_IS_COPIED = 1, 2  # of DLManagedTensorVersioned.flags


class DLManagedTensorVersioned(Structure):
    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", DLTensor),
    ]
