"""The script that the user's own interpreter runs: bounded, and one JSON object whatever happens."""

import ast
import json
import subprocess
import sys
from pathlib import Path

from rigwise.probes.software import framework_probe
from rigwise.probes.software.interpreter import PROBE, choose_interpreter, decoded

OLDEST_PYTHON = (3, 8)


def run(*arguments: str, paths: str = "") -> dict[str, object]:
    """What the probe prints when run with `paths` before everything else on the module path."""
    code = f"import sys, runpy; sys.path.insert(0, {paths!r}); runpy.run_path({str(PROBE)!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, *arguments, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    answer = done.stdout.strip().splitlines()[-1]
    decoded(answer)
    return dict(json.loads(answer))


def fake_torch(folder: Path, body: str) -> str:
    """A folder with a torch of our own; it is the user's side of a process boundary."""
    (folder / "torch-9.9.dist-info").mkdir()
    (folder / "torch-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(body)
    return str(folder)


def only_framework(answer: dict[str, object]) -> dict[str, object]:
    frameworks = answer["frameworks"]
    assert isinstance(frameworks, list)
    return dict(next(framework for framework in frameworks if framework["name"] == "torch"))


def test_it_is_written_for_old_interpreters() -> None:
    tree = ast.parse(PROBE.read_text(encoding="utf-8"), feature_version=OLDEST_PYTHON)
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert not {module for module in modules if module and module.startswith("rigwise")}
    assert "__future__" in modules


def test_a_python_without_frameworks_says_so() -> None:
    answer = run("-I", "-S")
    assert answer["frameworks"] == []
    assert answer["version"] == ".".join(map(str, sys.version_info[:3]))


def test_an_import_that_raises_is_told_in_its_own_words(tmp_path: Path) -> None:
    folder = fake_torch(tmp_path, "raise ImportError('libcudnn.so.9: cannot open shared object file\\nmore')")
    torch = only_framework(run(paths=folder))
    assert torch["error"] == "ImportError: libcudnn.so.9: cannot open shared object file"
    assert torch["version"] == "9.9"


def test_an_import_that_exits_is_told_too(tmp_path: Path) -> None:
    torch = only_framework(run(paths=fake_torch(tmp_path, "raise SystemExit('no licence')")))
    assert torch["error"] == "SystemExit: no licence"


GPU_TORCH = """
import warnings
__version__ = "9.9+cu130"
class version: cuda = "13.0"
class Tensor:
    def mul_(self, factor): return self
    def sum(self): return self
    def item(self): return {total}
def ones(size, device): return Tensor()
class cuda:
    @staticmethod
    def get_arch_list(): return ["sm_90"]
    @staticmethod
    def is_available():
        warnings.warn("CUDA initialization: the driver is too old (found version 11040)")
        print("a library that prints")
        return {available}
    @staticmethod
    def device_count(): return 1
    @staticmethod
    def get_device_capability(device): return (9, 0)
"""


def test_a_working_gpu(tmp_path: Path) -> None:
    folder = fake_torch(tmp_path, GPU_TORCH.format(total=512, available=True))
    torch = only_framework(run(paths=folder))
    assert torch["kernel_ok"] is True
    assert torch["device_capabilities"] == [[9, 0]]
    assert torch["arch_list"] == ["sm_90"]
    assert "error" not in torch


def test_a_wrong_sum_is_a_failed_kernel(tmp_path: Path) -> None:
    torch = only_framework(run(paths=fake_torch(tmp_path, GPU_TORCH.format(total=511, available=True))))
    assert torch["kernel_ok"] is False
    assert torch["error"] == "cuda:0 adds 256 twos to 511"


def test_a_gpu_that_is_not_available_comes_with_torch_s_warning(tmp_path: Path) -> None:
    torch = only_framework(run(paths=fake_torch(tmp_path, GPU_TORCH.format(total=0, available=False))))
    assert torch["error"] == "CUDA initialization: the driver is too old (found version 11040)"
    assert torch["cpu_only"] is False


def test_a_hang_is_told_with_its_place() -> None:
    code = f"""
import sys, time
sys.path.insert(0, {str(PROBE.parent)!r})
import framework_probe as probe

def hang(facts):
    facts.update(name="torch", version="9.9", stage="first kernel on cuda:0")
    time.sleep(30)

probe.LIMIT_SECONDS = 0.2
probe.read_torch = hang
probe.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    framework = json.loads(done.stdout.strip().splitlines()[-1])["frameworks"][0]
    assert framework["error"] == "no answer after 0 s in: first kernel on cuda:0"


def test_its_own_folder_does_not_shadow_the_user_s_modules(tmp_path: Path) -> None:
    folder = fake_torch(tmp_path, "import host\n__version__ = host.VERSION\nclass version: cuda = None\n")
    (tmp_path / "host.py").write_text("VERSION = 'the user s'\n")
    own = str(PROBE.parent)
    code = (
        f"import sys, runpy; sys.path[:0] = [{own!r}, {folder!r}]; runpy.run_path({str(PROBE)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert only_framework(json.loads(done.stdout.strip().splitlines()[-1]))["version"] == "the user s"


def test_jax_without_a_plugin_has_only_the_cpu(tmp_path: Path) -> None:
    distribution(tmp_path, "jax", "0.9.0")
    assert frameworks_at(tmp_path) == [{"name": "jax", "version": "0.9.0", "cuda_build": None, "cpu_only": True}]
    distribution(tmp_path, "jax-cuda13-plugin", "0.9.0")
    assert frameworks_at(tmp_path)[0]["cuda_build"] == "13"


def test_tensorflow_tells_its_cuda_by_what_it_asks_for(tmp_path: Path) -> None:
    distribution(tmp_path, "tensorflow", "2.18.0", "nvidia-cuda-runtime-cu12==12.5.82; extra == 'and-cuda'")
    assert frameworks_at(tmp_path)[0]["cuda_build"] == "12.5"


def distribution(folder: Path, name: str, version: str, *needs: str) -> None:
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir()
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")


def frameworks_at(folder: Path) -> list[dict[str, object]]:
    code = f"import sys, runpy; sys.path[:0] = [{str(folder)!r}]; runpy.run_path({str(PROBE)!r}, run_name='__main__')"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return list(json.loads(done.stdout.strip().splitlines()[-1])["frameworks"])


def test_first_line_of_an_exception() -> None:
    assert framework_probe.first_line(RuntimeError("one\ntwo")) == "RuntimeError: one"
    assert framework_probe.first_line(MemoryError()) == "MemoryError"


def test_the_interpreter_that_was_given_wins(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch()
    active = {"VIRTUAL_ENV": str(tmp_path), "CONDA_PREFIX": "/nowhere"}
    assert choose_interpreter("/given", active) == "/given"
    assert choose_interpreter(None, active) == str(python)
    assert choose_interpreter(None, {"CONDA_PREFIX": str(tmp_path)}) == str(python)
    assert choose_interpreter(None, {"VIRTUAL_ENV": "/deleted", "PATH": ""}) == sys.executable


def test_packages_and_variables_that_matter_are_told(tmp_path: Path) -> None:
    distribution(tmp_path, "nvidia-cudnn-cu12", "9.10.2.21")
    distribution(tmp_path, "requests", "2.0")
    answer = run("-S", paths=str(tmp_path))
    assert ["nvidia-cudnn-cu12", "9.10.2.21"] in answer["packages"]  # type: ignore[operator]
    assert "requests" not in json.dumps(answer["packages"])
    assert "PATH" not in answer["environment"]  # type: ignore[operator]


def test_versions_of_cudnn_and_nccl_are_told(tmp_path: Path) -> None:
    libraries = """
class backends:
    class cudnn:
        @staticmethod
        def version(): return 91002
cuda.nccl = type("nccl", (), {"version": staticmethod(lambda: (2, 28, 9))})
"""
    folder = fake_torch(tmp_path, GPU_TORCH.format(total=512, available=True) + libraries)
    torch = only_framework(run(paths=folder))
    assert (torch["cudnn"], torch["nccl"]) == ("9.10.2", "2.28.9")


FAKE_JAX = """
__version__ = "0.9.0"
class numpy:
    pass
class Device: platform = "{platform}"
def devices(): return [Device()]
"""
FAKE_NUMPY = """
class Array(float):
    def sum(self): return self * 256
def ones(size): return Array({one})
Array.__mul__ = lambda self, factor: Array(float(self) * factor)
"""


def fake_jax(folder: Path, platform: str, one: float) -> str:
    distribution(folder, "jax", "0.9.0")
    distribution(folder, "jax-cuda13-plugin", "0.9.0")
    (folder / "jax").mkdir()
    (folder / "jax" / "__init__.py").write_text(FAKE_JAX.format(platform=platform))
    (folder / "jax" / "numpy.py").write_text(FAKE_NUMPY.format(one=one))
    return str(folder)


def deep_jax(folder: str) -> dict[str, object]:
    command = [sys.executable, "-S", str(PROBE), "--deep"]
    environment = {"PYTHONPATH": folder, "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment)
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    return dict(next(framework for framework in answer["frameworks"] if framework["name"] == "jax"))


def test_a_deep_look_runs_a_kernel_of_jax(tmp_path: Path) -> None:
    jax = deep_jax(fake_jax(tmp_path, "gpu", 1.0))
    assert (jax["cuda_available"], jax["kernel_ok"]) == (True, True)


def test_a_deep_look_tells_a_wrong_sum_and_a_cpu(tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "cpu").mkdir()
    assert deep_jax(fake_jax(tmp_path / "wrong", "gpu", 3.0))["kernel_ok"] is False
    on_cpu = deep_jax(fake_jax(tmp_path / "cpu", "cpu", 1.0))
    assert on_cpu["cuda_available"] is False
    assert "kernel_ok" not in on_cpu


def test_a_deep_look_tells_why_an_import_failed(tmp_path: Path) -> None:
    folder = fake_jax(tmp_path, "gpu", 1.0)
    (tmp_path / "jax" / "__init__.py").write_text("raise RuntimeError('jaxlib is too old')")
    assert deep_jax(folder)["error"] == "RuntimeError: jaxlib is too old"
