"""The pages for people: `/`, to translate, and `/docs`, the API in Swagger UI as an installed package carries it.

Neither needs the internet, nor a key to be looked at. All addresses in them are relative, so that a proxy may put a
path before them.
"""

from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

_SERVICE: Final = Path(__file__).parents[1]
_PAGES: Final = {"/": "index.html", "/docs": "docs.html"}
_FOLDERS: Final = {
    "/docs/assets": ("fastapi_offline", "static"),
    "/page/samples": ("service", "samples"),
    "/page": ("service", "page"),
}
"""What they load: where it is asked for, and in which folder of which package it is; the innermost first."""


def is_page(path: str) -> bool:
    """Whether something is a page, or what a page loads: the same for everybody."""
    return path in _PAGES or path.startswith(tuple(f"{folder}/" for folder in _FOLDERS))


def install(app: FastAPI) -> None:
    """Serve the pages and what they load."""
    for path, file in _PAGES.items():
        _add_page(app, path, _SERVICE / "page" / file)
    for path, folder in _FOLDERS.items():
        app.mount(path, StaticFiles(packages=[folder]), name=path)


def _add_page(app: FastAPI, path: str, file: Path) -> None:
    @app.api_route(path, methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(file)
