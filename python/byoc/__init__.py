# SPDX-License-Identifier: Apache-2.0
"""byoc compiles neural-network models into shared objects, and runs them.

    import byoc, numpy

    built = byoc.build("model.onnx", "model.so", target="cutlass; c")
    model = byoc.load("model.so")
    scores = model(numpy.zeros((1, 1, 28, 28), numpy.float32))

Running needs the artifact only. Building needs libbyoc and a C compiler.
"""

from ._compiler import Build, Diagnostic, Progress, build, explain, version
from ._errors import BuildError, Error
from ._model import Context, Model, load
from ._plan import Node, Plan, Region
from ._profile import Profile, ProfileRow, ProfileStep, ProfileTotal
from ._session import TensorInfo
from ._version import __version__

__all__ = [
    "Build",
    "BuildError",
    "Context",
    "Diagnostic",
    "Error",
    "Model",
    "Node",
    "Plan",
    "Profile",
    "ProfileRow",
    "ProfileStep",
    "ProfileTotal",
    "Progress",
    "Region",
    "TensorInfo",
    "__version__",
    "build",
    "explain",
    "load",
    "version",
]
