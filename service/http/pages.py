"""The pages for people: `/`, to translate, and `/docs`, the API in the Swagger UI of an installed package.

Neither needs the internet, nor a key to view it. All addresses in them are relative, so that a proxy may put a path
before them.
"""

from typing import Final

from fastapi import FastAPI, Request, Response
from starlette.staticfiles import StaticFiles

_PAGES: Final = {"/": "index.html", "/docs": "docs.html"}
_FOLDERS: Final = {
    "/docs/assets": ("fastapi_offline", "static"),
    "/page/samples": ("service", "samples"),
    "/page": ("service", "page"),
}
"""What the pages load: the path, and the package and folder that it is in; the innermost path first."""


def is_page(path: str) -> bool:
    """Return whether a path is a page or what a page loads, which is the same for everybody."""
    return path in _PAGES or path.startswith(tuple(f"{folder}/" for folder in _FOLDERS))


def install(app: FastAPI) -> None:
    """Serve the pages and what they load."""
    folders = {path: StaticFiles(packages=[folder]) for path, folder in _FOLDERS.items()}
    for path, file in _PAGES.items():
        _add_page(app, path, folders["/page"], file)
    for path, served in folders.items():
        app.mount(path, served, name=path)


def _add_page(app: FastAPI, path: str, folder: StaticFiles, file: str) -> None:
    @app.api_route(path, methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return await folder.get_response(file, request.scope)
