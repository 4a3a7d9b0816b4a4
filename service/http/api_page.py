"""The page at /docs: Swagger UI as an installed package carries it, so that it needs no internet."""

from typing import Final

from fastapi import FastAPI
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

PATH: Final = "/docs"
_ASSETS: Final = ("fastapi_offline", "static")
_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Antecedent: API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
_START: Final = """\
SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, tryItOutEnabled: true});
"""
"""A file of its own, because the page's Content-Security-Policy lets no script stand in it."""


def install(app: FastAPI) -> None:
    """Serve the page and what it loads; all addresses are relative, so that a proxy may put a path before them."""
    app.mount(f"{PATH}/assets", StaticFiles(packages=[_ASSETS]), name="docs-assets")

    @app.api_route(PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE)

    @app.api_route(f"{PATH}/start.js", methods=["GET", "HEAD"], include_in_schema=False)
    async def start() -> Response:
        return Response(_START, media_type="text/javascript")
