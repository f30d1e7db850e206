"""Makes the package of the driver: `python3 build.py <folder>`.

The folder gets the sources, what they need from the package index, and the messages of osm.driver.v1, generated from the .proto file. It can be moved, and runs
with the Python that has made it: with the interpreter that ran this script, or another one of its version.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROTO = "osm/driver/v1/driver.proto"
SOURCES = ("package.json", "main.py", "osm_driver_python")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes", "--only-binary=:all:")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="is made; must not exist")
    parser.add_argument(
        "--proto",
        type=Path,
        default=HERE.parent.parent / "packages/driver-process/proto",
        help=f"folder with {PROTO}, which comes with @osm-ts/driver-process",
    )
    options = parser.parse_args()
    if sys.version_info < (3, 11):
        sys.exit(f"the driver needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    if options.folder.exists():
        sys.exit(f"{options.folder} exists; name a folder that does not")
    build(options.folder, options.proto)


def build(folder: Path, proto: Path) -> None:
    library = folder / "lib"
    library.mkdir(parents=True)
    for name in SOURCES:
        source = HERE / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    with tempfile.TemporaryDirectory(prefix="osm-driver-python-") as temporary:
        venv.create(temporary, with_pip=True)
        python = Path(temporary, "bin/python")
        run(python, *PIP, "-r", HERE / "requirements-build.txt")
        run(python, *PIP, "--no-compile", "--target", library, "-r", HERE / "requirements.txt")
        run(python, "-m", "grpc_tools.protoc", f"-I{proto}", f"--python_out={library}", f"--grpc_python_out={library}", PROTO)


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    main()
