# SPDX-License-Identifier: Apache-2.0
"""The engines: each opens a model with a number of threads and runs it. byoc is one of them.

An engine is a class with __init__(path, threads, precision), bind(inputs by name) and run(), and outputs() after a run.
It is made inside a worker process, so that engines do not get into each other's way. `precisions` are those of
entries.py that it has; byoc's are in its artifacts.
"""
import ctypes
import importlib

import numpy as np


class OnnxRuntime:
    provider = "CPUExecutionProvider"
    precisions = ["f32", "qdq"]  # its default is f32

    def __init__(self, path, threads, precision):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(str(path), options, providers=[self.provider])

    def bind(self, inputs):
        self.binding = self.session.io_binding()
        for port in self.session.get_inputs():
            self.binding.bind_cpu_input(port.name, inputs[port.name])
        for port in self.session.get_outputs():
            self.binding.bind_output(port.name)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class OnnxRuntimeDnnl(OnnxRuntime):
    provider = "DnnlExecutionProvider"


class OpenVino:
    # Without a hint it computes in bf16 on processors with AMX or AVX512-BF16, otherwise in f32.
    precisions = ["f32", "default", "bf16", "f16", "qdq"]

    def __init__(self, path, threads, precision):
        import openvino
        options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        if precision in ("f32", "bf16", "f16"):
            options["INFERENCE_PRECISION_HINT"] = precision
        core = openvino.Core()
        model = core.read_model(str(path))
        self.tensor = openvino.Tensor
        self.names = [port.get_any_name() for port in model.outputs]
        self.request = core.compile_model(model, "CPU", options).create_infer_request()

    def bind(self, inputs):
        for name, value in inputs.items():
            self.request.set_tensor(name, self.tensor(value, shared_memory=True))

    def run(self):
        self.request.infer()

    def outputs(self):
        return [self.request.get_output_tensor(i).data for i in range(len(self.names))]


class Tvm:
    precisions = ["f32"]

    def __init__(self, path, threads, precision):
        import os
        os.environ["TVM_NUM_THREADS"] = str(threads)
        import onnx
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx
        module = from_onnx(onnx.load(str(path)), keep_params_in_input=False)
        processor = tvm.get_global_func("target.llvm_get_system_cpu")()
        target = tvm.target.Target({"kind": "llvm", "mcpu": processor, "num-cores": threads})
        self.tvm = tvm
        with target:
            compiled = tvm.compile(module, target)  # TVM's default pipeline, no tuning
        self.machine = relax.VirtualMachine(compiled, tvm.cpu())
        self.order = [getattr(parameter, "name_hint", None) or parameter.name for parameter in module["main"].params]

    def bind(self, inputs):
        self.arguments = [self.tvm.runtime.tensor(inputs[name]) for name in self.order]

    def run(self):
        self.result = self.machine["main"](*self.arguments)

    def outputs(self):
        results = self.result if isinstance(self.result, (list, tuple)) or hasattr(self.result, "__len__") else [
            self.result]
        return [item.numpy() for item in results]


# ---- byoc: the table of include/byoc/artifact.h ----

class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("dim_names", ctypes.POINTER(ctypes.c_char_p)),
                ("size_bytes", ctypes.c_uint64)]


class ContextOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("thread_count", ctypes.c_int32), ("pool", ctypes.c_void_p)]


# Of BYOC_DTYPE_* in include/byoc/dtype.h; inputs and outputs of other types cannot be timed here.
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
          10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}
POINTERS = ctypes.POINTER(ctypes.c_void_p)


class Artifact(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("abi_version", ctypes.c_uint32), ("model_name", ctypes.c_char_p),
                ("input_count", ctypes.c_uint32), ("output_count", ctypes.c_uint32),
                ("inputs", ctypes.POINTER(TensorInfo)), ("outputs", ctypes.POINTER(TensorInfo)),
                ("workspace_size_bytes", ctypes.c_uint64), ("constants_size_bytes", ctypes.c_uint64),
                ("metadata", ctypes.c_char_p), ("metadata_size_bytes", ctypes.c_uint64), ("check", ctypes.c_void_p),
                ("create", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ContextOptions), POINTERS)),
                ("run", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, POINTERS, POINTERS)),
                ("destroy", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p))]


class Byoc:
    def __init__(self, path, threads, precision):
        library = ctypes.CDLL(str(path))
        library.byoc_artifact_entry.restype = ctypes.POINTER(Artifact)
        self.table = library.byoc_artifact_entry(1).contents
        options = ContextOptions(ctypes.sizeof(ContextOptions), threads, None)
        self.context = ctypes.c_void_p()
        if self.table.create(ctypes.byref(options), ctypes.byref(self.context)) != 0:
            raise RuntimeError(self.table.last_error(None).decode())

    def ports(self, infos, count):
        return [(infos[i].name.decode(), [infos[i].dims[d] for d in range(infos[i].rank)], infos[i].size_bytes,
                 infos[i].dtype)
                for i in range(count)]

    def bind(self, inputs):
        self.kept = [inputs[name] for name, *_ in self.ports(self.table.inputs, self.table.input_count)]
        ports = self.ports(self.table.outputs, self.table.output_count)
        self.buffers = [np.zeros(size + 64, np.uint8) for _, _, size, _ in ports]
        places = [buffer.ctypes.data + -buffer.ctypes.data % 64 for buffer in self.buffers]
        self.shapes = [(place - buffer.ctypes.data, shape, size, dtype)
                       for place, buffer, (_, shape, size, dtype) in zip(places, self.buffers, ports)]
        self.inputs = (ctypes.c_void_p * len(self.kept))(*[value.ctypes.data for value in self.kept])
        self.results = (ctypes.c_void_p * len(places))(*places)

    def run(self):
        if self.table.run(self.context, self.inputs, self.results) != 0:
            raise RuntimeError(self.table.last_error(self.context).decode())

    def outputs(self):
        return [buffer[start:start + size].view(DTYPES[dtype]).reshape(shape)
                for buffer, (start, shape, size, dtype) in zip(self.buffers, self.shapes)]


ENGINES = {"onnxruntime": OnnxRuntime, "onnxruntime-dnnl": OnnxRuntimeDnnl, "openvino": OpenVino,
           "tvm": Tvm, "byoc": Byoc}
PEERS = {"onnxruntime": "onnxruntime", "onnxruntime-dnnl": "onnxruntime", "openvino": "openvino", "tvm": "tvm"}


def why_missing(name):
    """None where the peer can be used."""
    try:
        module = importlib.import_module(PEERS[name])
    except ImportError:
        hint = f"pip install {PEERS[name]}" if name != "tvm" else "see tvm.apache.org for how to install it"
        return f"this Python has no {PEERS[name]} ({hint})"
    if name == "onnxruntime-dnnl" and OnnxRuntimeDnnl.provider not in module.get_available_providers():
        return f"this onnxruntime has no {OnnxRuntimeDnnl.provider}"
    return None
