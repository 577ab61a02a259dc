# SPDX-License-Identifier: Apache-2.0
"""kernels.native: calling kernels from Python on NumPy arrays, in child processes of the Python that runs the tests."""
import re
import subprocess
import sys

import pytest

import hub_api
import python_child


@pytest.fixture
def python(run, build_dir, environment, jax_environment, data):
    """python(code) runs it with `native`, `numpy` as `np`, the sample kernel as `k` and an array `x`."""
    plugin = jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so"
    variables = {"PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{plugin}", **python_child.variables(build_dir)}
    prelude = (f"import kernels.native as native, numpy as np\nk = native.load_local({str(data / 'aot' / 'sample')!r})\n"
               "x = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)\nrelu = np.maximum(x, 0)\n")

    def run_python(code: str, env=None, prelude=prelude, **more) -> str:
        done = run(sys.executable, "-c", prelude + code, env={**environment, **variables, **(env or {})}, **more)
        return done.stdout.strip()

    return run_python


def test_importing_pulls_in_nothing(python):
    said = python("import sys, kernels, kernels.native\n"
                  "print(kernels.__version__, [n for n in ('numpy', 'torch', 'jax', 'logging', 'json', 'ctypes')"
                  " if n in sys.modules])", prelude="")
    assert said == "0.17.2 []"


def test_numpy_arrays_in_and_out(python):
    assert python("""
y = k.relu(x)
assert (y.shape, y.dtype, y.__dlpack_device__()) == ((4, 8), "f32", (1, 0))
assert np.array_equal(np.from_dlpack(y), relu) and np.array_equal(np.asarray(y), relu)
total, dot = k.sum_and_dot(np.ones((3, 2), "f4"), np.full((3, 2), 2, "f4"))
assert np.array_equal(np.asarray(total), np.full((3, 2), 3, "f4"))
assert np.asarray(dot).shape == () and np.asarray(dot) == 12
flags = np.array([True, False, True, False, True])
assert np.array_equal(np.asarray(k.unchanged_flags(flags)), ~flags)
assert np.asarray(k.relu(np.int32(-4))) == 0
assert np.asarray(k.relu(np.zeros((0, 8), "f4"))).shape == (0, 8)
print(k.relu.platform, repr(y), k.variant, k.verified)
""") == "cpu <kernels.native.Tensor f32(4, 8)> torch-tpu False"


def test_plugins_are_found_where_modules_are(python, build_dir, jax_environment, tmp_path):
    """In any folder of sys.path, not in that of the interpreter alone."""
    (tmp_path / "xla_plugins").symlink_to(jax_environment / "xla_plugins")
    env = {"PJRT_NAMES_AND_LIBRARY_PATHS": "", "PYTHONPATH": f"{build_dir / 'python'}:{tmp_path}"}
    assert python("print(np.array_equal(np.asarray(k.relu(x)), relu))", env=env) == "True"


def test_other_sources_of_arrays(python):
    assert python("""
import array
x.flags.writeable = False
assert np.array_equal(np.asarray(k.relu(x)), relu)
assert np.array_equal(np.asarray(k.relu(memoryview(x))), relu)
class Old:  # the first form of the protocol, without a version
    def __dlpack__(self, stream=None):
        return relu.__dlpack__()
assert np.array_equal(np.asarray(k.relu(Old())), relu)
assert np.array_equal(np.asarray(k.relu(k.relu(x))), relu)
print("ok")
""") == "ok"


def test_results_live_as_long_as_their_users(python):
    assert python("""
import gc
y = k.relu(x)
views = [np.from_dlpack(y), np.from_dlpack(y), np.asarray(y)]
unused = y.__dlpack__(), y.__dlpack__(max_version=(1, 0))
del y, unused
gc.collect()
for _ in range(200):
    k.relu(x + 1)
assert all(np.array_equal(view, relu) for view in views)
print("ok")
""") == "ok"


def test_bf16_goes_through_dlpack_alone(python):
    assert python("""
import ctypes
y = k.relu(x)
class BF16:  # the bits of an array of 16-bit integers, called bf16
    def __dlpack__(self, **more):
        bits = np.full((4, 8), 0x3f80, "u2")
        capsule = bits.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # DLTensor: data, device (2 x int32), ndim, then dtype.code
        ctypes.c_uint8.from_address(get(capsule, b"dltensor") + 8 + 8 + 4).value = 4
        return capsule
y = k.relu(BF16())
assert y.dtype == "bf16" and y.shape == (4, 8)
try:
    y.__array_interface__
except AttributeError as error:
    print(error)
""") == "bf16 is no NumPy type; use __dlpack__"


@pytest.mark.parametrize("code, raised", [
    ("k.gelu", 'AttributeError FUNCTION_NOT_FOUND: the kernel in {path} has no function "gelu"; it has: relu, '),
    ("k.relu(x.T)", "ValueError MISMATCH: argument 0 (x) of relu: expected a compact row-major tensor, given strides"),
    ("k.relu(x[:2])", "ValueError SPECIALISATION_NOT_FOUND: relu was not exported for (f32[2,8]) on platform cpu; "
                      "exported were:\n  relu(f32[4,8]) -> (f32[4,8])\n  relu(bf16[4,8])"),
    ("k.relu(x.astype('f8'))", "ValueError SPECIALISATION_NOT_FOUND: relu was not exported for (f64[4,8])"),
    ("k.relu(x.astype('c8'))", "ValueError MISMATCH: argument 0 (x) of relu: element type "),
    ("k.relu()", "ValueError MISMATCH: relu: expected 1 argument (x), given 0"),
    ("k.relu([1.0])", "TypeError None: argument 0: expected an object with __dlpack__ or the buffer protocol, given "
                      "<class 'list'>"),
    ("k.relu(x=x)", "TypeError None: arguments are given by position"),
    ("native.load_local('/no/such/kernel')", "FileNotFoundError NO_VARIANT: "),
    ("native.load_local(k.path, plugin='/no/such.so').relu", "FileNotFoundError PLUGIN_NOT_FOUND: no PJRT plugin for"),
    ("native.load('acme/k')", "ValueError INVALID_ARGUMENT: "),
    ("native.load('acme/k', version=-1)", "ValueError None: version: expected a number from 0"),
    ("native.load('no owner', version=1)", "ValueError INVALID_ARGUMENT: "),
    ("native.load('acme/k', version=1)", "ValueError UNTRUSTED: could not verify publisher trust status"),
    ("native.load('acme/k', version=1, trust_remote_code=True)", "ConnectionError NETWORK: "),
])
def test_errors(python, data, code, raised):
    said = python(f"""
try:
    {code}
except Exception as error:
    print(f"{{type(error).__name__}} {{getattr(error, 'status', None)}}: {{error}}")
""")
    assert said.startswith(raised.format(path=data / "aot" / "sample" / "build" / "torch-tpu")), said


def test_threads(python):
    assert python("""
import threading
failed = []
def work(seed):
    r = np.random.default_rng(seed)
    for _ in range(100):
        a = r.standard_normal((4, 8), dtype=np.float32)
        if not np.array_equal(np.asarray(k.relu(a)), np.maximum(a, 0)):
            failed.append(seed)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
print(failed)
""") == "[]"


def test_fork(python):
    """The plugin's threads stay in the parent: a call of its function must end with an error, not never."""
    assert python("""
import gc, os, signal
f = k.relu
f(x)
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        f(x)
        os._exit(1)
    except RuntimeError as error:
        assert "fork()" in str(error), error
    again = native.load_local(k.path)
    assert np.array_equal(np.asarray(again.relu(x)), relu)
    del f, k, again
    gc.collect()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(np.asarray(f(x)), relu)
print("ok")
""") == "ok"


def test_by_name_from_a_hub_and_then_offline(python, data, start_hub):
    hub = start_hub("--trusted", "kernels-test").url
    folder = data / "aot" / "sample" / "build" / "torch-tpu"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.parent != folder}
    published = {"main": {}, "v1": hub_api.variant("torch-tpu", files, name="sample", backend="tpu")}
    hub_api.publish(hub, "kernels-test/sample", published)
    hub_api.publish(hub, "somebody/sample", published)
    code = """
k = native.load("kernels-test/sample", version=1)
assert k.verified and k.repo_id == "kernels-test/sample" and len(k.revision) == 40
assert sorted(k.functions) == ["relu", "sum_and_dot", "unchanged_flags"] and "relu" in dir(k)
assert np.array_equal(np.asarray(k.relu(x)), relu)
print(k)
"""
    expected = "<kernels.native.Kernel kernels-test/sample (torch-tpu)>"
    assert python(code, env={"HF_ENDPOINT": hub}) == expected
    assert python(code, env={"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "1"}) == expected
    assert python("""
try:
    native.load("somebody/sample", version=1)
except ValueError as error:
    print(error.status)
print(native.load("somebody/sample", version=1, trust_remote_code=True).verified)
""", env={"HF_ENDPOINT": hub}) == "UNTRUSTED\nTrue"


def test_the_extension_uses_the_stable_abi(build_dir):
    """Undefined Python symbols must be in CPython's stable ABI of 3.10: the ones we use, by name."""
    module = build_dir / "python" / "kernels" / "_native.abi3.so"
    symbols = subprocess.run(["nm", "-D", "--undefined-only", module], check=True, capture_output=True, text=True).stdout
    used = set(re.findall(r"\bU (_?Py\w+)", symbols))
    not_stable = {"PyObject_GetBuffer", "PyBuffer_Release", "PyObject_CheckBuffer", "PyUnicode_AsUTF8"}
    assert used and not used & not_stable
    private = {name for name in used if name.startswith("_") and not name.endswith("_SizeT")}
    assert private <= {"_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_Py_Dealloc"}
