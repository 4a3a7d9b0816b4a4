"""Probes and metrics."""

from fastapi import APIRouter, Response, status
from prometheus_client import CONTENT_TYPE_LATEST

from service.errors import StoreUnavailableError
from service.inference.catalogue import Model
from service.routes.dependencies import Services, ServicesDep
from service.schemas import Dependencies, Dependency, Health

router = APIRouter(tags=["operation"])

_UNAVAILABLE = status.HTTP_503_SERVICE_UNAVAILABLE


@router.get("/health/live", operation_id="isLive", summary="Whether the process answers")
async def live() -> Health:
    """A process that does not answer this should be started anew."""
    return Health(status="ok")


@router.get(
    "/health/ready",
    operation_id="isReady",
    summary="Whether to send requests here",
    responses={_UNAVAILABLE: {"model": Health, "description": "Not now; the reasons are named."}},
)
async def ready(parts: ServicesDep, response: Response) -> Health:
    """Every model has a living worker, and the process is not about to end. Redis being away does not count."""
    reasons = [f"no worker of {model.name} is alive" for model in parts.catalogue.models if model.pool.alive == 0]
    if parts.draining:
        reasons.append("draining")
    if reasons:
        response.status_code = _UNAVAILABLE
    return Health(status="unavailable" if reasons else "ok", reasons=reasons)


@router.get(
    "/health/dependencies",
    operation_id="readDependencies",
    summary="Whether each thing that the service needs is there",
    responses={_UNAVAILABLE: {"model": Dependencies, "description": "One of them is down."}},
)
async def dependencies(parts: ServicesDep, response: Response) -> Dependencies:
    """Redis, and the workers of each model."""
    found = [await _redis(parts), *(_workers(model) for model in parts.catalogue.models)]
    down = any(dependency.status == "down" for dependency in found)
    if down:
        response.status_code = _UNAVAILABLE
    return Dependencies(status="degraded" if down else "ok", dependencies=found)


@router.get("/metrics", operation_id="readMetrics", summary="Prometheus metrics", response_class=Response)
async def metrics(parts: ServicesDep) -> Response:
    """In Prometheus's text format."""
    return Response(parts.metrics.render(), media_type=CONTENT_TYPE_LATEST)


async def _redis(parts: Services) -> Dependency:
    try:
        await parts.redis.ping()
    except StoreUnavailableError:
        return Dependency(name="redis", status="down", detail="sessions answer 503; whole documents are served")
    return Dependency(name="redis", status="up", detail="answers")


def _workers(model: Model) -> Dependency:
    alive, size = model.pool.alive, model.pool.size
    return Dependency(name=f"workers:{model.name}", status="up" if alive else "down", detail=f"{alive} of {size} alive")
