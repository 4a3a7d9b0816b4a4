"""The image as the Dockerfile describes it; `make image-check` examines one that has been built."""

import json
import os
import re
import runpy
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
import typing
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from service.settings import PREFIX, Settings
from tests.support.image import compose, environment, health_check, last_stage, release, services, stages, value
from tests.support.servers import ROOT, Replicas


def _program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _make(*arguments: str) -> str:
    return subprocess.run(["make", "-n", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_linter_has_nothing_to_say() -> None:
    """The linter hadolint finds nothing in the Dockerfile, not even in style."""
    done = subprocess.run([_program("hadolint"), "Dockerfile"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_bases_are_pinned_by_digest() -> None:
    """Every stage begins from the base image, which is pinned by its digest, from another stage or from nothing."""
    (base,) = [instruction.value for instruction in stages()[""] if instruction.name == "ARG"]
    assert re.fullmatch(r"BASE_IMAGE=[\w./:-]+@sha256:[0-9a-f]{64}", base)
    begun = [instructions[0].value.partition(" AS ")[0] for name, instructions in stages().items() if name]
    assert set(begun) - set(stages()) == {"${BASE_IMAGE}", "scratch"}


def test_image_runs_as_somebody_who_may_nothing() -> None:
    """The user is a number, by which Kubernetes knows that it is not root; stages install only requested packages."""
    assert value("USER") == "10001:10001"
    commands = [instruction.value for stage in stages().values() for instruction in stage if instruction.name == "RUN"]
    (installing,) = [command for command in commands if re.search(r"\b(apt|apt-get|dpkg|aptitude)\b", command)]
    assert "install --yes --no-install-recommends ${PACKAGES}" in installing
    assert [instruction.value for instruction in stages()["service"] if "PACKAGES=" in instruction.value] == [
        "PACKAGES="
    ]


def test_settings_of_the_image() -> None:
    """The image sets only variables that are settings of the service, and listens on the port that it exposes."""
    ours = {name: setting for name, setting in environment().items() if name.startswith(PREFIX)}
    assert {name.removeprefix(PREFIX).lower() for name in ours} <= Settings.model_fields.keys()
    assert ours["ANTECEDENT_PORT"] == value("EXPOSE")
    assert services()["antecedent"]["ports"][0].rpartition(":")[2] == value("EXPOSE")


def test_context_is_what_is_copied() -> None:
    """The build context contains only what the Dockerfile copies, so no secret gets in by accident."""
    first, *others = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    copied = [
        source
        for stage in stages().values()
        for instruction in stage
        if instruction.name == "COPY" and not instruction.value.startswith("--from")
        for source in instruction.value.split()[:-1]
    ]
    assert first == "*"
    assert sorted(line[1:] for line in others if line.startswith("!")) == sorted(copied)


def test_package_is_whole(tmp_path: Path) -> None:
    """The wheel has every file of models and service, except notes and the bundles, which are in /models."""
    packages = ["models", "service"]
    listing = subprocess.run(["git", "ls-files", *packages], cwd=ROOT, check=True, capture_output=True, text=True)
    others = ("models/pretrained/*", "*.md")
    sources = [file for file in map(Path, listing.stdout.splitlines()) if not any(map(file.match, others))]
    for file in [*sources, "LICENSE", "NOTICE", "pyproject.toml"]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "."]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = {Path(name) for name in ZipFile(wheel).namelist() if name.split("/")[0] in packages}
    assert packed == set(sources)


def test_start_may_take_as_long_as_in_kubernetes() -> None:
    """`docker compose up --wait` does not give up a container whose workers may still be loading."""
    minutes = re.search(r"--start-period=(\d+)m ", value("HEALTHCHECK"))
    assert minutes is not None
    assert int(minutes[1]) * 60 >= 2 * Settings.model_fields["worker_start_seconds"].default


def test_health_check(replicas: Replicas) -> None:
    """The image's health check passes while the service is ready, and fails once it is gone."""
    replica = replicas.new().start()
    variables = {"ANTECEDENT_PORT": replica.url.rpartition(":")[2]}
    command = [sys.executable if word == "python" else word for word in health_check()]
    assert subprocess.run(command, env=variables, check=False).returncode == 0
    replica.close()
    assert subprocess.run(command, env=variables, check=False, capture_output=True).returncode != 0


def test_release_has_one_version() -> None:
    """The Makefile, the compose file and its GPU override tag the image with the project's version."""
    assert f"--tag antecedent:{release()} " in _make("image")
    assert services()["antecedent"]["image"] == f"antecedent:{release()}"
    assert compose("docker-compose.gpu.yml")["services"]["antecedent"]["image"] == f"antecedent:{release()}-cuda"


@pytest.mark.parametrize("flavour", ["cuda", "ray"])
def test_flavours(flavour: str) -> None:
    """An image for GPUs or Ray has the matching extra of `pyproject.toml`; compose builds the GPU one the same way."""
    words = shlex.split(_make("image", f"FLAVOUR={flavour}"))
    arguments = dict(word.split("=", 1) for before, word in pairwise(words) if before == "--build-arg")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert flavour in arguments["EXTRAS"].split(",")
    assert set(arguments["EXTRAS"].split(",")) <= extras.keys()
    if flavour == "cuda":
        built = compose("docker-compose.gpu.yml")["services"]["antecedent"]["build"]["args"]
        assert built.items() <= arguments.items()


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg-query, of Debian, is not installed")
def test_bill_of_materials(tmp_path: Path) -> None:
    """It is valid CycloneDX, and lists Debian packages along with the Python ones."""
    python = {"type": "library", "name": "torch", "version": "2.13.0"}
    given, made = tmp_path / "python.json", tmp_path / "made.json"
    given.write_text(json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [python]}))
    runpy.run_path(str(ROOT / "deploy" / "image" / "sbom.py"))["main"](given, made)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(made.read_text()) is None
    found = {component["name"]: component for component in json.loads(made.read_text())["components"]}
    assert found["torch"]["version"] == "2.13.0"
    assert found["libc6"]["purl"].startswith("pkg:deb/debian/libc6@")


def test_last_stage_copies_from_stages_alone() -> None:
    """Everything in the image besides its base was made by an earlier stage."""
    copies = [instruction.value for instruction in last_stage() if instruction.name == "COPY"]
    assert copies
    assert all(copy.startswith("--from=build ") for copy in copies)


_NO_IMAGE = "echo []; echo 'Error: No such image: none:1' >&2; exit 1"
_NO_START = """
case "$1" in
    image) echo '["CMD", "true"]' ;;
    *) echo "Error: $1 is refused" >&2; exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        pytest.param(None, ["cannot be run: No such file or directory"], id="no engine"),
        pytest.param(_NO_IMAGE, ["does not show none:1: Error: No such image: none:1"], id="no image"),
        pytest.param(
            _NO_START,
            ["Error: run is refused", "Error: rm is refused", "does not start a container of it"],
            id="no container",
        ),
    ],
)
def test_image_that_cannot_be_checked(tmp_path: Path, engine: str | None, said: list[str]) -> None:
    """The status is 2, with one line after the engine's own messages and no traceback."""
    program = tmp_path / "engine"
    if engine is not None:
        program.write_text(f"#!/bin/sh\n{engine}\n")
        program.chmod(0o755)
    command = [sys.executable, "deploy/image/check.py", "--engine", str(program), "none:1"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (2, len(said))
    assert all(part in line for part, line in zip(said, lines, strict=True))
    assert lines[-1].startswith("check.py: ")


def test_check_runs_with_an_older_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building an image requires only Docker, so `python3` may be older than 3.11, which introduced `Self`."""
    monkeypatch.delattr(typing, "Self")
    program = runpy.run_path(str(ROOT / "deploy" / "image" / "check.py"))
    assert program["Container"].run.__annotations__["given"] == "str | None"  # which Python 3.9 could not evaluate


def test_check_looks_for_every_compiler(tmp_path: Path) -> None:
    """It looks for every name; the shell's own search would stop at the first."""
    search = runpy.run_path(str(ROOT / "deploy" / "image" / "check.py"))["COMPILER"]

    def found() -> bool:
        done = subprocess.run(["/bin/sh", "-c", search], env={"PATH": str(tmp_path)}, check=False, capture_output=True)
        return done.returncode == 0

    assert not found()
    (tmp_path / "clang").touch(0o755)
    assert found()


def test_password_can_be_read_in_the_container() -> None:
    """The container's user is not the owner of the file, whose umask may deny access to others."""
    mounted = runpy.run_path(str(ROOT / "deploy" / "image" / "check.py"))["mounted"]
    before = os.umask(0o077)
    try:
        with mounted("a password", "/run/password") as option:
            file = Path(option.removeprefix("--volume=").partition(":")[0])
            assert file.read_text() == "a password"
            assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o644, 0o755]
    finally:
        os.umask(before)


@pytest.mark.slow
def test_image_that_has_been_built() -> None:
    """The image of this release, if one has been built with buildah, serves offline on a read-only file system."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    if subprocess.run(["podman", "image", "exists", f"antecedent:{release()}"], check=False).returncode != 0:
        pytest.skip("no image has been built: make image BUILD=deploy/image/build.sh")
    done = subprocess.run(
        ["make", "image-check", "ENGINE=podman"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
