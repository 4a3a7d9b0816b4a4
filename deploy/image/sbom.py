"""Completes the bill of materials of an image: `sbom.py PYTHON.json OUT.json`, within the image.

`cyclonedx-py` lists the distributions of a Python environment; beside them belong the Debian packages of the base.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

_FIELDS = "${Package}\t${Version}\t${Architecture}\n"


def main(python: Path, out: Path) -> None:
    """Write the bill of materials `python` again, as `out`, with what dpkg has installed here."""
    bom = Bom.from_json(json.loads(python.read_text()))  # type: ignore[attr-defined]  # made by a decorator
    bom.components.update(debian_packages())
    make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_to_file(str(out), allow_overwrite=True, indent=2)


def debian_packages() -> Iterator[Component]:
    """Every installed package, named as vulnerability databases name it."""
    system = platform.freedesktop_os_release()
    distribution = {"distro": f"{system['ID']}-{system['VERSION_ID']}"}
    listing = subprocess.run(
        ["dpkg-query", "--show", f"--showformat={_FIELDS}"], check=True, capture_output=True, text=True
    )
    for line in listing.stdout.splitlines():
        name, version, architecture = line.split("\t")
        qualifiers = {"arch": architecture} | distribution
        url = PackageURL("deb", system["ID"], name, version, qualifiers)
        yield Component(type=ComponentType.LIBRARY, name=name, version=version, purl=url, bom_ref=url.to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
