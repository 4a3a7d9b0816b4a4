"""Whole documents, and the models that translate them."""

from fastapi import APIRouter, Request

from service.http.json_body import StrictRoute
from service.http.responses import problems
from service.routes.dependencies import CallerDep, ServicesDep, admitted, unless_client_leaves
from service.routes.raised import BY_CHOICE, BY_LIMITS, BY_TRANSLATING
from service.schemas import DocumentAnswer, DocumentRequest, ModelInfo, ModelList

router = APIRouter(prefix="/v1", tags=["documents"], route_class=StrictRoute)


@router.post(
    "/documents",
    operation_id="translateDocument",
    summary="Translate a whole document",
    responses=problems(*BY_LIMITS, *BY_CHOICE, *BY_TRANSLATING, body=True),
)
async def translate_document(
    body: DocumentRequest, request: Request, who: CallerDep, parts: ServicesDep
) -> DocumentAnswer:
    """Each sentence is translated with those before it. Needs no session."""
    prepared = parts.documents.prepare(body)
    async with admitted(request, parts, who, len(prepared.sentences)):
        return await unless_client_leaves(request, parts.documents.translate(prepared))


@router.get("/models", operation_id="listModels", summary="List the models")
async def list_models(parts: ServicesDep) -> ModelList:
    """The bundles that are loaded; of several with one language pair the first is the pair's default."""
    return ModelList(
        models=[
            ModelInfo(
                name=model.name,
                source_lang=model.pair[0],
                target_lang=model.pair[1],
                window=model.window,
                licence=model.manifest.licence,
                attribution=model.manifest.attribution,
            )
            for model in parts.catalogue.models
        ]
    )
