"""Installs PyTorch for the CPU into a virtual environment: python torch_cpu.py ENVIRONMENT

For Linux, PyPI has only PyTorch with CUDA (0.5 GB). It does not load without all CUDA libraries, which are even larger,
although the CPU does not need them. This script installs PyTorch alone and a replacement for each of these libraries, whose
functions return "no device" (100, cudaErrorNoDevice). For tests: `torch.cuda.is_available()` is False. Needs gcc and readelf.
Does nothing if torch already loads.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# The imports of torch's Python code; `pip install --no-deps` omits them.
NEEDS = ["numpy", "filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools"]
# Libraries that cannot be recognised by the version of their symbols: prefix of the symbols -> library.
BEGINNINGS = {"cuFile": "libcufile", "nccl": "libnccl", "cusparseLt": "libcusparseLt", "nvshmem": "libnvshmem_host"}


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def missing_symbols(folder: pathlib.Path) -> dict[str, set[tuple[str, str]]]:
    """For each library that the libraries in `folder` need but do not find: (symbol, version or "") of each needed function."""
    libraries = [str(path) for path in folder.glob("*.so*")]
    missing = {line.split()[0] for line in output("ldd", *libraries).splitlines() if "not found" in line}
    wanted: dict[str, set[tuple[str, str]]] = {name: set() for name in missing}
    for library in libraries:
        owner, name = {}, ""
        for line in output("readelf", "-W", "--version-info", library).splitlines():
            if file := re.search(r"File: (\S+)", line):
                name = file[1]
            elif version := re.search(r"Name: (\S+)\s+Flags", line):
                owner[version[1]] = name
        for line in output("readelf", "-W", "--dyn-syms", library).splitlines():
            words = line.split()
            if len(words) < 8 or words[6] != "UND":
                continue
            symbol, _, version = words[7].partition("@")
            of = owner.get(version.strip("@"), "")
            if not version:
                begins = next((lib for start, lib in BEGINNINGS.items() if re.match(start + "[A-Z]", symbol)), "-")
                of = next((lib for lib in missing if lib.startswith(begins + ".so")), "")
            if of in missing:
                wanted[of].add((symbol, version.strip("@")))
    return wanted


def stand_in(path: pathlib.Path, symbols: set[tuple[str, str]]) -> None:
    versions = collections.defaultdict(list)
    for symbol, version in sorted(symbols):
        versions[version].append(symbol)
    with tempfile.TemporaryDirectory() as folder:
        source, script = pathlib.Path(folder, "none.c"), pathlib.Path(folder, "versions")
        source.write_text("".join(f"long {symbol}(void) {{ return 100; }}\n" for symbol, _ in sorted(symbols)))
        script.write_text("".join(f"{v} {{ global: {'; '.join(s)}; }};\n" for v, s in versions.items() if v))
        named = [f"-Wl,--version-script={script}"] if script.stat().st_size else []
        subprocess.run(["gcc", "-w", "-fno-builtin", "-shared", "-fPIC", str(source), "-o", str(path),
                        f"-Wl,-soname,{path.name}", *named], check=True)


def main(environment: str) -> None:
    python = str(pathlib.Path(environment, "bin", "python"))
    loads = [python, "-c", "import torch; torch.ones(2, requires_grad=True).sum().backward()"]
    if subprocess.run(loads, capture_output=True).returncode == 0:
        return
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *NEEDS], check=True)
    subprocess.run([*pip, "--no-deps", "torch"], check=True)
    if subprocess.run(loads, capture_output=True).returncode == 0:  # on other systems PyPI has PyTorch for the CPU
        return
    where = output(python, "-c", "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])")
    folder = pathlib.Path(where.strip(), "lib")
    for name, symbols in missing_symbols(folder).items():
        if name != "libcuda.so.1":  # of the driver: torch searches for it at run time, and must not find it
            stand_in(folder / name, symbols)
    subprocess.run(loads, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
