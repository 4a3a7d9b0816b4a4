"""The models, and how an administrator changes them."""

from typing import Annotated

from fastapi import APIRouter, Path, status

from service.http.json_body import StrictRoute
from service.http.responses import problems
from service.inference.catalogue import Catalogue, Model
from service.routes.dependencies import AdminDep, KeyHolderDep, ServicesDep
from service.routes.raised import BY_ADMINISTRATION, BY_ANY_KEY, BY_LOADING
from service.schemas.models import ModelInfo, ModelList, ModelRequest, ModelState, ModelToLoad

router = APIRouter(prefix="/v1/models", tags=["models"], route_class=StrictRoute)

Name = Annotated[str, Path(min_length=1, max_length=128, description="Name of a model.")]


@router.head("", include_in_schema=False)
@router.get("", operation_id="listModels", summary="List the models", responses=problems(*BY_ANY_KEY, checked=False))
async def list_models(_who: KeyHolderDep, parts: ServicesDep) -> ModelList:
    """The models that the answering replica has loaded, and those that it should have loaded but could not."""
    catalogue = parts.models.catalogue
    return ModelList(
        models=[_info(model, catalogue) for model in catalogue.models],
        not_loaded=[ModelToLoad(name=each.name, code=each.code) for each in parts.models.not_loaded],
    )


@router.post(
    "",
    operation_id="loadModel",
    summary="Load or replace a model",
    responses=problems(*BY_ADMINISTRATION, *BY_LOADING, body=True),
)
async def load_model(body: ModelRequest, _who: AdminDep, parts: ServicesDep) -> ModelInfo:
    """Answers once the bundle has been loaded, has passed its self-test, and serves new requests at this replica.

    It replaces a model of the same name, which finishes the work it has; otherwise it is added to the others. The other
    replicas follow. A bundle that fails changes nothing. The request is safe to repeat.
    """
    return _info(await parts.models.load(body.bundle), parts.models.catalogue)


@router.delete(
    "/{name}",
    status_code=status.HTTP_204_NO_CONTENT,
    operation_id="unloadModel",
    summary="Unload a model",
    responses=problems(*BY_ADMINISTRATION),
)
async def unload_model(name: Name, _who: AdminDep, parts: ServicesDep) -> None:
    """New requests no longer find the model; it finishes the work it has. The last model cannot be unloaded."""
    await parts.models.unload(name)


def _info(model: Model, catalogue: Catalogue) -> ModelInfo:
    manifest = model.manifest
    return ModelInfo(
        name=model.name,
        source_lang=model.pair[0],
        target_lang=model.pair[1],
        window=model.window,
        reads_target_context=manifest.reads_target_context,
        serves_sessions=manifest.serves_sessions,
        licence=manifest.licence,
        attribution=manifest.attribution,
        fingerprint=model.fingerprint,
        unsure_below=manifest.unsure_below,
        default=catalogue.is_default(model),
        state=_state(model),
    )


def _state(model: Model) -> ModelState:
    return "serving" if model.pool.alive else "no_worker"
